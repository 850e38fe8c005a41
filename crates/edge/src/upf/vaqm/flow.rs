//! The flows of an instance: what measures each, and the queue it waits in.

use slackwater_core::{Bytes, Duration, FlowId, Instant, PacketView, Rate, TcpHeader};
use slackwater_queue::{AnyLaw, FlowQueue};

use super::l4s::CeWatch;
use super::police::Police;
use crate::upf::even::Accumulator;
use crate::upf::passive::{ServerRtt, SpinFlow, SpinState, TcpFlow, UplinkClock};

/// Flows of one instance; those beyond share a slot and are not measured.
const MOST_FLOWS: usize = 4096;
/// The key that they share.
const OTHERS: u32 = u32::MAX;
/// How long a rate is counted at least.
const RATE_SPAN: Duration = Duration::from_millis(200);
/// Flows that sent within it are active.
pub(super) const ACTIVE: Duration = Duration::from_millis(200);

/// What shows a flow's round-trip time. In place, not boxed: a pointer less to follow for each packet.
#[derive(Debug)]
pub(super) enum Observer {
    Tcp(TcpFlow, ServerRtt),
    Quic(SpinFlow),
    /// Nothing seen so far.
    Opaque,
}

/// A rate from whole spans.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SpanRate {
    since: Instant,
    bytes: u64,
    rate: Rate,
}

impl SpanRate {
    pub(super) fn add(&mut self, now: Instant, bytes: u64) {
        let span = now.since(self.since);
        if span >= RATE_SPAN {
            self.rate = Rate::from_bytes_over(Bytes(self.bytes), span);
            self.since = now;
            self.bytes = 0;
        }
        self.bytes += bytes;
    }

    pub(super) const fn get(&self) -> Rate {
        self.rate
    }

    /// Bytes of the span that is not over yet.
    pub(super) const fn counting(&self) -> u64 {
        self.bytes
    }
}

/// In an order that lays together what a packet uses: with thousands of sessions each line is fetched anew.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Flow<P> {
    pub(super) key: u32,
    pub(super) last_seen: Instant,
    pub(super) last_down: Instant,
    pub(super) arrivals: SpanRate,
    pub(super) first_seen: Instant,
    /// Decides about what waits; in a place of its own, as most flows never wait.
    pub(super) law: Option<Box<AnyLaw>>,
    /// Since when its queue has been far too long for a flow that answers.
    pub(super) stuck_since: Option<Instant>,
    /// When it was last found not to slow down at the direct variant's signals.
    pub(super) deaf: Option<Instant>,
    pub(super) observer: Observer,
    /// What waits, and its place among the turns.
    pub(super) queue: FlowQueue<P>,
    /// Its name in reports.
    pub(super) named: Option<FlowId>,
    /// Chances of marks and of coupled signals not yet used.
    pub(super) owed: Accumulator,
    pub(super) ce: Option<Box<CeWatch>>,
    pub(super) police: Option<Box<Police>>,
    /// What its packets wait in the uplink, by their time stamps.
    pub(super) clock: UplinkClock,
    /// When the direct variant last signalled to it.
    pub(super) signalled: Option<Instant>,
}

impl<P: PacketView> Flow<P> {
    fn new(now: Instant, key: u32) -> Self {
        Self {
            key,
            named: None,
            observer: Observer::Opaque,
            first_seen: now,
            last_down: now,
            last_seen: now,
            arrivals: SpanRate {
                since: now,
                ..SpanRate::default()
            },
            queue: FlowQueue::default(),
            law: None,
            owed: Accumulator::default(),
            ce: None,
            clock: UplinkClock::default(),
            stuck_since: None,
            police: None,
            signalled: None,
            deaf: None,
        }
    }

    /// Bytes known to be in flight.
    pub(super) fn flight(&self) -> u64 {
        match &self.observer {
            Observer::Tcp(tcp, _) => tcp.flight(),
            _ => 0,
        }
    }

    /// Bytes in flight, by Little's law where acknowledgments are hidden.
    pub(super) fn flight_estimate(&self, average: Duration) -> u64 {
        match &self.observer {
            Observer::Tcp(tcp, _) => tcp.flight(),
            _ => self.arrivals.get().bytes_in(average).get(),
        }
    }

    pub(super) fn server_rtt(&self) -> Option<Duration> {
        match &self.observer {
            Observer::Tcp(_, server) => server.get(),
            _ => None,
        }
    }

    /// True where its acknowledgments are seen, or may still be.
    pub(super) fn measurable(&self, now: Instant) -> bool {
        match &self.observer {
            Observer::Tcp(tcp, _) => {
                tcp.acknowledged() || now.since(self.first_seen) < Duration::from_secs(2)
            }
            _ => false,
        }
    }

    /// False where nothing tells how its packets fare: datagrams, and QUIC without a spin bit.
    pub(super) fn shows_round_trips(&self) -> bool {
        match &self.observer {
            Observer::Tcp(..) => true,
            Observer::Quic(spin) => spin.state() == SpinState::Live,
            Observer::Opaque => false,
        }
    }

    /// Chooses what measures the flow by what its packets show, and notes how reports name it.
    pub(super) fn observe_as<Q: PacketView>(&mut self, tcp: Option<&TcpHeader>, packet: &Q) {
        if self.key == OTHERS {
            return;
        }
        self.named = packet.flow();
        if let Observer::Opaque = self.observer {
            if tcp.is_some() {
                self.observer = Observer::Tcp(TcpFlow::default(), ServerRtt::default());
            } else if packet.spin_bit().is_some() {
                self.observer = Observer::Quic(SpinFlow::default());
            }
        }
    }

    fn is_stale(&self, now: Instant) -> bool {
        let patience = match &self.observer {
            Observer::Tcp(..) => Duration::from_secs(60),
            _ => Duration::from_secs(10),
        };
        self.queue.is_idle() && now.since(self.last_seen) >= patience
    }

    pub(super) fn heap(&self) -> usize {
        let segments = match &self.observer {
            Observer::Tcp(tcp, _) => tcp.heap(),
            _ => 0,
        };
        let law = self.law.as_ref().map_or(0, |_| size_of::<AnyLaw>());
        segments + law + self.queue.heap()
    }
}

/// Flows by key.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Flows<P> {
    /// Key and slot of the last look-up.
    last: (u32, u32),
    slots: Vec<Option<Flow<P>>>,
    /// (key, slot) in order of the keys.
    index: Vec<(u32, u32)>,
    free: Vec<u32>,
}

impl<P: PacketView> Flows<P> {
    pub(super) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            index: Vec::new(),
            last: (0, u32::MAX),
        }
    }

    pub(super) fn find(&mut self, key: u32) -> Option<u32> {
        if self.last.0 == key && self.last.1 != u32::MAX {
            return Some(self.last.1);
        }
        let at = self.index.binary_search_by_key(&key, |e| e.0).ok()?;
        self.last = self.index[at];
        Some(self.last.1)
    }

    pub(super) fn find_or_insert(&mut self, now: Instant, key: u32) -> u32 {
        if let Some(slot) = self.find(key) {
            return slot;
        }
        let key = if self.index.len() >= MOST_FLOWS {
            OTHERS
        } else {
            key
        };
        let at = match self.index.binary_search_by_key(&key, |e| e.0) {
            Ok(at) => return self.index[at].1,
            Err(at) => at,
        };
        let slot = self.free.pop().unwrap_or(self.slots.len() as u32);
        let flow = Some(Flow::new(now, key));
        if let Some(place) = self.slots.get_mut(slot as usize) {
            *place = flow;
        } else {
            // Most sessions have few flows at a time; room for four would be four times the memory of one.
            if self.slots.len() == self.slots.capacity() {
                self.slots.reserve_exact(self.slots.len().max(1));
            }
            self.slots.push(flow);
        }
        self.index.insert(at, (key, slot));
        self.last = (key, slot);
        slot
    }

    pub(super) fn get(&self, slot: u32) -> &Flow<P> {
        self.slots[slot as usize]
            .as_ref()
            .expect("a slot in use holds a flow")
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> &mut Flow<P> {
        self.slots[slot as usize]
            .as_mut()
            .expect("a slot in use holds a flow")
    }

    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Flow<P>)> {
        self.index.iter().map(|(_, slot)| (*slot, self.get(*slot)))
    }

    pub(super) fn for_each(&mut self, mut f: impl FnMut(&mut Flow<P>)) {
        for flow in self.slots.iter_mut().flatten() {
            f(flow);
        }
    }

    /// Forgets flows without traffic; returns the bytes that they had in flight.
    pub(super) fn sweep(&mut self, now: Instant) -> u64 {
        let mut landed = 0;
        let Self {
            slots, free, index, ..
        } = self;
        index.retain(|(_, slot)| {
            let place = &mut slots[*slot as usize];
            let stale = place.as_ref().is_some_and(|f| f.is_stale(now));
            if stale {
                landed += place.take().map_or(0, |f| f.flight());
                free.push(*slot);
            }
            !stale
        });
        self.last.1 = u32::MAX;
        if self.index.is_empty() {
            *self = Self::new();
        }
        landed
    }

    pub(super) fn heap(&self) -> usize {
        self.slots.capacity() * size_of::<Option<Flow<P>>>()
            + self.index.capacity() * 8
            + self.free.capacity() * 4
            + self.iter().map(|(_, f)| f.heap()).sum::<usize>()
    }
}
