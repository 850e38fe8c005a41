//! What an environment hears of its world: counters of the learner's data and of the bottleneck, nothing else.

use slackwater_core::record::{LinkSample, PacketEvent};
use slackwater_core::{Direction, Duration, FlowId, Instant, NodeId, Packet, Recorder};
use slackwater_results::metrics::histogram::Histogram;

/// How often the bottleneck's counters are read.
const EVERY: Duration = Duration::from_millis(10);

/// Counts since the start of an episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// IP bytes of data that reached the receiver.
    pub bytes: u64,
    /// Packets of these.
    pub packets: u64,
    /// Sum of their one-way delays, nanoseconds.
    pub one_way: u64,
    /// Data packets dropped.
    pub dropped: u64,
    /// Bytes that the bottleneck could have carried, up to the last reading.
    pub capacity: u64,
    /// When that was.
    pub read_at: Instant,
}

/// Listens for one flow, the learner's.
#[derive(Clone, Debug)]
pub struct Listener {
    learner: FlowId,
    bottleneck: NodeId,
    index: u32,
    /// From here on delays count towards the score.
    warm: Instant,
    totals: Totals,
    at_warm: Totals,
    delays: Histogram,
    last: Instant,
}

impl Listener {
    /// Listens for `learner`'s data, which goes down, and for part `index` of `bottleneck`.
    pub fn new(learner: FlowId, bottleneck: NodeId, index: u32, warm: Instant) -> Self {
        Self {
            learner,
            bottleneck,
            index,
            warm,
            totals: Totals::default(),
            at_warm: Totals::default(),
            delays: Histogram::default(),
            last: Instant::ZERO,
        }
    }

    /// Counts so far.
    pub const fn totals(&self) -> Totals {
        self.totals
    }

    /// When data arrived last.
    pub const fn last_arrival(&self) -> Instant {
        self.last
    }

    /// Counts when the warm-up ended.
    pub const fn at_warm(&self) -> Totals {
        self.at_warm
    }

    /// One-way delays since the warm-up.
    pub const fn delays(&self) -> &Histogram {
        &self.delays
    }
}

impl Recorder for Listener {
    #[inline]
    fn packet(&mut self, now: Instant, _node: NodeId, packet: &Packet, event: PacketEvent) {
        if packet.flow != self.learner || packet.dir == Direction::Up || packet.payload() == 0 {
            return;
        }
        match event {
            PacketEvent::Delivered => {
                let delay = now.since(packet.created);
                self.totals.bytes += u64::from(packet.len);
                self.totals.packets += 1;
                self.totals.one_way += delay.as_nanos();
                self.last = now;
                if now >= self.warm {
                    self.delays.add(delay);
                }
            }
            PacketEvent::Dropped(_) => self.totals.dropped += 1,
            PacketEvent::Sent | PacketEvent::Dequeued { .. } | PacketEvent::Marked => {}
        }
    }

    fn in_order(&self) -> bool {
        // A decision may fall between a drop and the slot after it.
        true
    }

    fn sampling(&self) -> Option<Duration> {
        Some(EVERY)
    }

    fn link(&mut self, now: Instant, node: NodeId, index: u32, sample: &LinkSample) {
        if node == self.bottleneck && index == self.index {
            self.totals.capacity = sample.capacity.get();
            self.totals.read_at = now;
            if now <= self.warm {
                self.at_warm = self.totals;
            }
        }
    }
}
