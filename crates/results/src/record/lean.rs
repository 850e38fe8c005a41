//! Counters only: what training and sweeps need, at next to no cost.

use slackwater_core::record::PacketEvent;
use slackwater_core::{Direction, Instant, NodeId, Packet, Recorder};

/// Totals of one flow's data packets, over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeanFlow {
    /// Packets emitted.
    pub sent: u64,
    /// Packets that reached the receiver.
    pub delivered: u64,
    /// Their payload bytes.
    pub payload: u64,
    /// Sum of their one-way delays in nanoseconds.
    pub one_way: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets marked CE.
    pub marked: u64,
}

/// Counts, and asks for no samples.
#[derive(Clone, Debug, Default)]
pub struct LeanRecorder {
    /// By flow.
    pub flows: Vec<LeanFlow>,
    /// By flow, which way its data goes.
    ways: Vec<Direction>,
}

impl LeanRecorder {
    /// A recorder for flows whose data goes from the UE where `up` says so.
    pub fn new(up: impl IntoIterator<Item = bool>) -> Self {
        let way = |up| if up { Direction::Up } else { Direction::Down };
        let ways: Vec<Direction> = up.into_iter().map(way).collect();
        Self {
            flows: vec![LeanFlow::default(); ways.len()],
            ways,
        }
    }
}

impl Recorder for LeanRecorder {
    #[inline]
    fn packet(&mut self, now: Instant, _node: NodeId, packet: &Packet, event: PacketEvent) {
        let at = packet.flow.index();
        let (Some(flow), Some(way)) = (self.flows.get_mut(at), self.ways.get(at)) else {
            return;
        };
        if packet.dir != *way || packet.payload() == 0 {
            return;
        }
        match event {
            PacketEvent::Sent => flow.sent += 1,
            PacketEvent::Delivered => {
                flow.delivered += 1;
                flow.payload += u64::from(packet.payload());
                flow.one_way += now.since(packet.created).as_nanos();
            }
            PacketEvent::Dropped(_) => flow.dropped += 1,
            PacketEvent::Marked => flow.marked += 1,
            PacketEvent::Dequeued { .. } => {}
        }
    }
}
