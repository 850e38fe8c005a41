//! What the function thinks, for plots.

use slackwater_core::{Bytes, Duration, Instant, PacketView, UeId};

use super::Cecc;
use super::ack_manager::Phase;
use super::flow::Style;

/// The state of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct FlowSnapshot {
    /// The UE.
    pub ue: UeId,
    /// The downlink flow key of its packets.
    pub key: u32,
    /// It belongs to the set M of the last cycle, or waits for nothing.
    pub admitted: bool,
    /// It waits to be admitted.
    pub waits: bool,
    /// It is governed: neither bypassed nor released for want of reports.
    pub governed: bool,
    /// Reported bytes in the radio network (its UE's).
    pub rbs: Bytes,
    /// `FrameSize`.
    pub frame: Bytes,
    /// Beat of its frames; zero while unknown.
    pub interval: Duration,
    /// Bytes held at the UPF.
    pub held: Bytes,
    /// Bytes granted and not seen yet.
    pub granted: Bytes,
    /// The server's window is closed but for the knock.
    pub closed: bool,
    /// When bytes that leave now are predicted to be with the UE.
    pub predicted: Instant,
}

/// The state of all.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Reports are missing: everything passes.
    pub stale: bool,
    /// Backlog of the cell when bytes that leave now arrive there, as air time of full slots.
    pub backlog: Duration,
    /// Measured `WiredD`.
    pub wired: Duration,
    /// Measured share of the nominal capacity.
    pub share: f64,
    /// Flows in order of their first packet.
    pub flows: Vec<FlowSnapshot>,
}

impl<P: PacketView + Clone> Cecc<P> {
    /// What it thinks at `now`.
    pub fn snapshot(&mut self, now: Instant) -> Snapshot {
        let stale = self.check(now);
        let wired = self.radio.wired();
        let arrive = now + wired;
        let backlog = Duration::from_nanos(self.radio.backlog(now, arrive));
        let busy = self.radio.collect(now);
        let mut flows = Vec::new();
        for k in self.flows.indices() {
            let governed = self.style(k, stale) != Style::Pass;
            let frame = self.flows[k].frames.size();
            let flow = &self.flows[k];
            let ahead = self.radio.held_by(now, flow.ue, busy);
            let rate = u128::from(self.radio.throughput(flow.ue).max(1));
            let queue = u128::from(ahead) * 1_000_000_000 * u128::from(busy.max(1)) / rate;
            let wait = Duration::from_nanos(queue.min(1 << 50) as u64);
            flows.push(FlowSnapshot {
                ue: flow.ue,
                key: flow.key,
                admitted: flow.place.is_none() || self.admitted.contains(&k),
                waits: flow.place.is_some(),
                governed,
                rbs: self.radio.rbs(flow.ue),
                frame: Bytes(frame),
                interval: flow.frames.interval().unwrap_or(Duration::ZERO),
                held: Bytes(flow.fifo.bytes()),
                granted: Bytes(flow.tcp.as_ref().map_or(0, |t| t.reserved())),
                closed: flow
                    .tcp
                    .as_ref()
                    .is_some_and(|t| t.phase() == Phase::Closed),
                predicted: arrive + wait + self.radio.grid.processing(arrive + wait),
            });
        }
        Snapshot {
            stale,
            backlog,
            wired,
            share: self.radio.share(),
            flows,
        }
    }

    /// The flows of `ue` together, for [`crate::EdgeFunction::internals`]: what can be told without a change.
    pub(super) fn tell(&self, ue: UeId, out: &mut Vec<(&'static str, f64)>) {
        let (mut waits, mut held, mut governed, mut interval) = (false, 0, false, Duration::ZERO);
        let mut made = 0;
        for k in self.flows.indices() {
            let flow = &self.flows[k];
            if flow.ue == ue {
                waits |= flow.place.is_some();
                held += flow.fifo.bytes();
                made += flow.tcp.as_ref().map_or(0, |tcp| tcp.made());
                governed |= self.governed.contains(&k) || flow.place.is_some();
                interval = interval.max(flow.frames.interval().unwrap_or(Duration::ZERO));
            }
        }
        out.extend([
            ("cecc_waits", f64::from(waits)),
            ("cecc_governed", f64::from(governed)),
            ("cecc_held_kb", held as f64 / 1e3),
            ("cecc_made_acks", made as f64),
            ("cecc_rbs_kb", self.radio.rbs(ue).get() as f64 / 1e3),
            ("cecc_interval_ms", interval.as_millis_f64()),
            ("cecc_share", self.radio.share()),
            ("cecc_wired_ms", self.radio.wired().as_millis_f64()),
        ]);
    }
}
