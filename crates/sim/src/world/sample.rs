//! The recorder's samples of flows, links, cells and edge functions.

use slackwater_core::record::FlowSample;
use slackwater_core::{FlowId, Instant, Recorder};
use slackwater_signal::PathReport;

use super::World;
use super::cell::CellNode;
use super::edge::EdgeNode;
use super::path::LinkNode;
use crate::arena::Idx;

/// A node of which there are samples.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sampled {
    /// Its queue and what it carried.
    Link(Idx<LinkNode>),
    /// Its queues and what it carried, and the last report to each flow's sender.
    Cell(Idx<CellNode>),
    /// What it holds, and its estimates for each flow.
    Edge(Idx<EdgeNode>),
}

impl<R: Recorder> World<R> {
    /// Records the state of all flows, and of all nodes in the order of their numbers.
    pub(super) fn sample(&mut self, now: Instant) {
        self.catch_up_cells(now);
        for (i, flow) in self.flows.iter().enumerate() {
            let id = FlowId(i as u32);
            let sender = &flow.hosts[flow.sender];
            self.values.clear();
            let state = sender.sample();
            if state.is_some() {
                sender.internals(&mut self.values);
            }
            let mut sample = state.unwrap_or_else(FlowSample::default);
            sample.delivered = flow.hosts[1 - flow.sender].delivered();
            self.recorder.flow(now, id, &sample);

            for node in &self.sampled {
                match *node {
                    Sampled::Link(_) => {}
                    Sampled::Cell(cell) => {
                        let senders = self.cells[cell].senders.as_ref();
                        if let Some(report) = senders.and_then(|s| s.last(id)) {
                            list_report(&report, &mut self.values);
                        }
                    }
                    Sampled::Edge(edge) => self.edges[edge].internals(id, &mut self.values),
                }
            }
            if !self.values.is_empty() {
                self.recorder.internals(now, id, &self.values);
            }
        }

        for node in &self.sampled {
            match *node {
                Sampled::Link(link) => {
                    let node = &mut self.links[link];
                    self.recorder.link(now, node.id, 0, &node.link.sample(now));
                }
                Sampled::Cell(cell) => {
                    let node = &mut self.cells[cell];
                    let id = node.id;
                    node.sample(now, |index, s| self.recorder.link(now, id, index, s));
                }
                Sampled::Edge(edge) => {
                    let node = &self.edges[edge];
                    self.recorder.link(now, node.id, 0, &node.sample());
                }
            }
        }
    }
}

/// The report that last left the cell, as internals of the flow.
fn list_report(report: &PathReport, out: &mut Vec<(&'static str, f64)>) {
    if let PathReport::Share {
        rate, hol_delay, ..
    } = report
    {
        out.push(("reported_rate_mbps", rate.as_mbps()));
        out.push(("reported_hol_ms", hol_delay.as_secs_f64() * 1e3));
    }
}
