//! Marks L4S packets at the UPF as the radio network's congestion reports say (TS 23.501, 5.37.3).
//!
//! The queue is in the RLC, the marker is not: a base station that cannot mark (its PDCP ciphers what RLC holds) tells the
//! UPF the share of a `QoS` flow's packets to mark, in the PDU session container (TS 38.415, DL Congestion Information).
//! A mark is therefore late by the report's period and way, and early by the packet's own wait.

use std::collections::BTreeMap;

use slackwater_core::{Direction, Duration, Ecn, FlowId, Instant, PacketView, UeId};

use super::even::Accumulator;
use crate::{EdgeFunction, RanReport, Verdict};

/// What the marker can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct L4sMarkerConfig {
    /// A report says nothing any more this long after the cell read it: without news nothing is marked.
    pub hold: Duration,
}

impl Default for L4sMarkerConfig {
    fn default() -> Self {
        Self {
            hold: Duration::from_millis(200),
        }
    }
}

/// Counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct L4sMarkerStats {
    /// ECT(1) packets on their way down.
    pub seen: u64,
    /// Of them, marked here.
    pub marked: u64,
    /// Reports taken.
    pub reports: u64,
    /// Reports older than one taken before, or about more than all packets.
    pub refused: u64,
}

#[derive(Clone, Copy, Debug)]
struct Told {
    /// When the cell read the value.
    at: Instant,
    chance: f64,
    owed: Accumulator,
}

/// The marker.
#[derive(Clone, Debug)]
pub struct L4sMarker {
    config: L4sMarkerConfig,
    /// By flow, as reports name it.
    told: BTreeMap<FlowId, Told>,
    /// The chance that the last packet of each UE met, for plots.
    last: Vec<f64>,
    stats: L4sMarkerStats,
}

/// Flows that were reported on and are silent are forgotten beyond this many.
const FLOWS: usize = 16_384;

impl L4sMarker {
    /// A marker that has heard nothing.
    pub const fn new(config: L4sMarkerConfig) -> Self {
        Self {
            config,
            told: BTreeMap::new(),
            last: Vec::new(),
            stats: L4sMarkerStats {
                seen: 0,
                marked: 0,
                reports: 0,
                refused: 0,
            },
        }
    }

    /// Counters.
    pub const fn stats(&self) -> &L4sMarkerStats {
        &self.stats
    }

    /// Forgets what no longer holds where a new flow would be one too many.
    fn make_room(&mut self, now: Instant) {
        if self.told.len() >= FLOWS {
            let hold = self.config.hold;
            self.told.retain(|_, told| now.since(told.at) <= hold);
        }
    }

    /// True where a packet of `flow` is to be marked now.
    fn picks(&mut self, now: Instant, ue: UeId, flow: FlowId) -> bool {
        let hold = self.config.hold;
        let told = self
            .told
            .get_mut(&flow)
            .filter(|told| now.since(told.at) <= hold);
        let chance = told.as_ref().map_or(0.0, |told| told.chance);
        if self.last.len() <= ue.index() {
            self.last.resize(ue.index() + 1, 0.0);
        }
        self.last[ue.index()] = chance;
        told.is_some_and(|told| told.owed.fires(chance))
    }
}

impl<P: PacketView> EdgeFunction<P> for L4sMarker {
    fn on_packet(&mut self, now: Instant, direction: Direction, ue: UeId, packet: P) -> Verdict<P> {
        if direction != Direction::Down || packet.ecn() != Ecn::Ect1 {
            return Verdict::Forward(packet);
        }
        self.stats.seen += 1;
        if packet.flow().is_some_and(|flow| self.picks(now, ue, flow)) {
            self.stats.marked += 1;
            Verdict::Mark(packet)
        } else {
            Verdict::Forward(packet)
        }
    }

    fn on_report(&mut self, now: Instant, report: &RanReport) {
        let RanReport::Congestion { at, flow, per_10k } = *report else {
            return;
        };
        let late = self.told.get(&flow).is_some_and(|told| at < told.at);
        if late || per_10k > 10_000 || at > now {
            self.stats.refused += 1;
            return;
        }
        self.stats.reports += 1;
        if !self.told.contains_key(&flow) {
            self.make_room(now);
        }
        let told = self.told.entry(flow).or_insert_with(|| Told {
            at,
            chance: 0.0,
            owed: Accumulator::default(),
        });
        (told.at, told.chance) = (at, f64::from(per_10k) / 10_000.0);
    }

    fn internals(&self, ue: UeId, out: &mut Vec<(&'static str, f64)>) {
        if let Some(&chance) = self.last.get(ue.index()) {
            out.push(("l4s_marker_chance", chance));
        }
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::{Datagram, Packet};

    use super::*;

    const UE: UeId = UeId(3);

    fn ms(n: u64) -> Instant {
        Instant::from_millis(n)
    }

    fn report(marker: &mut L4sMarker, now: u64, at: u64, flow: u32, per_10k: u16) {
        let report = RanReport::Congestion {
            at: ms(at),
            flow: FlowId(flow),
            per_10k,
        };
        EdgeFunction::<Packet>::on_report(marker, ms(now), &report);
    }

    fn packet(flow: u32, ecn: Ecn) -> Packet {
        Packet {
            flow: FlowId(flow),
            body: Datagram::default().into(),
            ecn,
            ..Packet::default()
        }
    }

    fn marks(marker: &mut L4sMarker, now: u64, flow: u32, n: u32) -> u32 {
        (0..n)
            .filter(|_| {
                let packet = packet(flow, Ecn::Ect1);
                matches!(
                    marker.on_packet(ms(now), Direction::Down, UE, packet),
                    Verdict::Mark(_)
                )
            })
            .count() as u32
    }

    #[test]
    fn each_flow_is_marked_as_often_as_its_report_says() {
        let mut marker = L4sMarker::new(L4sMarkerConfig::default());
        assert_eq!(marks(&mut marker, 0, 1, 1000), 0, "nothing was reported");
        report(&mut marker, 1, 0, 1, 2_500);
        report(&mut marker, 1, 0, 2, 10_000);
        for (flow, want) in [(1, 250), (2, 1000), (3, 0)] {
            assert_eq!(marks(&mut marker, 2, flow, 1000), want, "flow {flow}");
        }
        report(&mut marker, 3, 3, 2, 0);
        assert_eq!(marks(&mut marker, 3, 2, 1000), 0);
        let mut out = Vec::new();
        EdgeFunction::<Packet>::internals(&marker, UE, &mut out);
        assert_eq!(out, [("l4s_marker_chance", 0.0)]);
    }

    #[test]
    fn other_fields_and_the_way_up_are_left_alone() {
        let mut marker = L4sMarker::new(L4sMarkerConfig::default());
        report(&mut marker, 0, 0, 1, 10_000);
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ce] {
            let sent = packet(1, ecn);
            assert_eq!(
                marker.on_packet(ms(0), Direction::Down, UE, sent),
                Verdict::Forward(sent)
            );
        }
        let sent = packet(1, Ecn::Ect1);
        assert_eq!(
            marker.on_packet(ms(0), Direction::Up, UE, sent),
            Verdict::Forward(sent)
        );
        assert_eq!(marker.stats().seen, 0);
    }

    #[test]
    fn a_report_holds_for_a_time_and_not_beyond() {
        let mut marker = L4sMarker::new(L4sMarkerConfig::default());
        report(&mut marker, 40, 10, 1, 10_000);
        // 200 ms from when the cell read it, whenever it came.
        assert_eq!(marks(&mut marker, 210, 1, 10), 10);
        assert_eq!(marks(&mut marker, 211, 1, 10), 0);
    }

    #[test]
    fn overtaken_early_and_impossible_reports_change_nothing() {
        let mut marker = L4sMarker::new(L4sMarkerConfig::default());
        report(&mut marker, 50, 50, 1, 5_000);
        report(&mut marker, 51, 40, 1, 0);
        report(&mut marker, 51, 51, 1, 10_001);
        report(&mut marker, 51, 99, 1, 0);
        assert_eq!(marks(&mut marker, 52, 1, 1000), 500);
        assert_eq!((marker.stats().reports, marker.stats().refused), (1, 3));
    }

    #[test]
    fn flows_that_went_silent_are_forgotten() {
        let mut marker = L4sMarker::new(L4sMarkerConfig::default());
        for flow in 0..3 * FLOWS as u32 {
            report(&mut marker, u64::from(flow), u64::from(flow), flow, 1);
        }
        assert!(marker.told.len() <= FLOWS);
    }
}
