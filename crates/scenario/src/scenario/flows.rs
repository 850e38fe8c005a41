//! Flows and UEs of a run: each entry of the file counts for several.

use slackwater_core::Duration;

use super::Scenario;
use crate::flow::{Flow, UeRef};
use crate::ue::Ue;

/// One flow of a run: a `[[flow]]` entry counts for several.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowInstance<'a> {
    /// Index into [`Scenario::flows`].
    pub entry: usize,
    /// The entry.
    pub spec: &'a Flow,
    /// The UE, where there is a cell.
    pub ue: Option<u32>,
    /// When it starts, `stagger` included.
    pub start: Duration,
    /// When it stops: at the end of the run at the latest.
    pub stop: Duration,
    /// Round-trip time of its wired part.
    pub rtt: Duration,
    /// Name in tables and plots, unique within the run.
    pub label: String,
    /// Which connection of its page; zero for other flows.
    pub connection: u32,
}

impl Scenario {
    /// Every UE, `count` spelled out.
    pub fn expanded_ues(&self) -> Vec<&Ue> {
        self.ues
            .iter()
            .flat_map(|ue| core::iter::repeat_n(ue, ue.count as usize))
            .collect()
    }

    /// Every flow, `count` and `ue = "each"` spelled out, in the order of the file.
    pub fn expanded_flows(&self) -> Vec<FlowInstance<'_>> {
        let ues: u32 = self.ues.iter().map(|u| u.count).sum();
        let mut out: Vec<FlowInstance<'_>> = Vec::new();
        for (entry, spec) in self.flows.iter().enumerate() {
            let targets: Vec<Option<u32>> = match (self.cell(), spec.ue) {
                (None, _) => vec![None],
                (Some(_), UeRef::Index(i)) => vec![Some(i)],
                (Some(_), UeRef::Each) => (0..ues).map(Some).collect(),
            };
            let mut n = 0;
            for ue in targets {
                for _ in 0..spec.count {
                    let start = spec.start + spec.stagger * n;
                    n += 1;
                    out.extend((0..spec.app.connections()).map(|connection| {
                        FlowInstance {
                            entry,
                            spec,
                            ue,
                            start,
                            stop: spec.stop.unwrap_or(self.duration).min(self.duration),
                            rtt: spec.rtt.unwrap_or(self.path.rtt),
                            label: spec
                                .label
                                .clone()
                                .unwrap_or_else(|| spec.default_label().to_owned()),
                            connection,
                        }
                    }));
                }
            }
        }
        number_labels(&mut out);
        out
    }
}

impl Flow {
    /// The name of a flow without a label.
    pub fn default_label(&self) -> &str {
        if self.protocol().is_controlled() {
            &self.controller
        } else {
            self.app.word()
        }
    }
}

/// Numbers labels that several flows share, so that each is unique.
fn number_labels(flows: &mut [FlowInstance<'_>]) {
    let mut seen: std::collections::BTreeMap<String, (usize, usize)> =
        std::collections::BTreeMap::new();
    for flow in flows.iter() {
        seen.entry(flow.label.clone()).or_default().0 += 1;
    }
    for flow in flows {
        if let Some((total, next)) = seen.get_mut(&flow.label)
            && *total > 1
        {
            *next += 1;
            flow.label = format!("{} {next}", flow.label);
        }
    }
}
