//! Which flows are active: those whose last packet came at most a timeout ago.

use std::collections::BTreeMap;

use slackwater_core::{BearerId, Duration, FlowId, Instant, UeId};

/// Flow numbers below this are looked up in an array, those of real packets (hashes) in a tree.
const DENSE: u32 = 1 << 12;
const NONE: u32 = u32::MAX;
/// What a flow takes is counted over this time: a frame of a video lasts as long at 25 a second.
const SPAN: Duration = Duration::from_millis(40);
/// A flow that takes half of its fair part or more is on its way to it; less is all that it wants.
const HEADROOM: u64 = 2;

/// An active flow, linked in the order of last packets.
#[derive(Clone, Copy, Debug)]
struct Entry {
    flow: FlowId,
    ue: UeId,
    bearer: BearerId,
    last: Instant,
    /// Bytes of the present span and of the one before.
    bytes: [u64; 2],
    /// When the present span began.
    since: Instant,
    older: u32,
    newer: u32,
}

impl Entry {
    /// A packet of `bytes`.
    #[inline]
    fn take(&mut self, now: Instant, bytes: u64) {
        self.last = now;
        let passed = now.since(self.since);
        if passed >= SPAN {
            let before = if passed < SPAN + SPAN {
                self.bytes[0]
            } else {
                0
            };
            self.bytes = [0, before];
            self.since = now;
        }
        self.bytes[0] += bytes;
    }

    /// What the flow takes, bit/s: the better of the last two spans.
    fn demand(&self, now: Instant) -> u64 {
        let passed = now.since(self.since);
        let bytes = if passed < SPAN {
            self.bytes[0].max(self.bytes[1])
        } else if passed < SPAN + SPAN {
            self.bytes[0]
        } else {
            0
        };
        // A span has less than 2^63 / 10^9 bytes.
        bytes * 8 * 1_000_000_000 / SPAN.as_nanos()
    }
}

/// Active flows of one UE.
#[derive(Clone, Debug, Default)]
struct Count {
    all: u32,
    /// By bearer.
    queues: Vec<u32>,
    /// Their entries.
    members: Vec<u32>,
}

/// Active flows as seen from one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Company {
    /// Active flows of the UE, at least 1 (`af` of XRC, eq. 1).
    pub(super) flows: u32,
    /// UEs with an active flow, the asking one included.
    pub(super) ues: u32,
    /// Another flow is active in the same queue.
    pub(super) shared: bool,
}

/// The active flows. Memory follows their number; every call takes constant time on average.
#[derive(Clone, Debug)]
pub(super) struct ActiveFlows {
    timeout: Duration,
    entries: Vec<Entry>,
    unused: Vec<u32>,
    dense: Vec<u32>,
    sparse: BTreeMap<FlowId, u32>,
    oldest: u32,
    newest: u32,
    /// No flow times out before or at this time.
    sure_until: Instant,
    ues: Vec<Count>,
    active_ues: u32,
}

impl ActiveFlows {
    pub(super) fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            entries: Vec::new(),
            unused: Vec::new(),
            dense: Vec::new(),
            sparse: BTreeMap::new(),
            oldest: NONE,
            newest: NONE,
            sure_until: Instant::MAX,
            ues: Vec::new(),
            active_ues: 0,
        }
    }

    #[inline]
    fn find(&self, flow: FlowId) -> Option<u32> {
        if flow.0 < DENSE {
            let at = *self.dense.get(flow.index())?;
            (at != NONE).then_some(at)
        } else {
            self.sparse.get(&flow).copied()
        }
    }

    fn enter(&mut self, flow: FlowId, at: u32) {
        if flow.0 >= DENSE {
            self.sparse.insert(flow, at);
            return;
        }
        if self.dense.len() <= flow.index() {
            self.dense.resize(flow.index() + 1, NONE);
        }
        self.dense[flow.index()] = at;
    }

    /// A packet of `flow` passed. Calls come in time order.
    #[inline]
    pub(super) fn on_packet(
        &mut self,
        now: Instant,
        ue: UeId,
        bearer: BearerId,
        flow: FlowId,
        bytes: u64,
    ) {
        self.expire(now);
        if let Some(entry) = self.entries.get_mut(self.newest as usize)
            && (entry.flow, entry.ue, entry.bearer) == (flow, ue, bearer)
        {
            // Packets come in trains.
            entry.take(now, bytes);
            return;
        }
        self.on_other(now, ue, bearer, flow, bytes);
    }

    /// A packet of `flow` passed, which is not the one whose packet passed before.
    fn on_other(&mut self, now: Instant, ue: UeId, bearer: BearerId, flow: FlowId, bytes: u64) {
        if let Some(at) = self.find(flow) {
            let entry = &mut self.entries[at as usize];
            entry.take(now, bytes);
            if (entry.ue, entry.bearer) != (ue, bearer) {
                let old = (entry.ue, entry.bearer);
                (entry.ue, entry.bearer) = (ue, bearer);
                self.uncount(old.0, old.1, at);
                self.count(ue, bearer, at);
            }
            if self.newest != at {
                self.unlink(at);
                self.link(at);
            }
            return;
        }
        let entry = Entry {
            flow,
            ue,
            bearer,
            last: now,
            bytes: [bytes, 0],
            since: now,
            older: NONE,
            newer: NONE,
        };
        let at = if let Some(at) = self.unused.pop() {
            self.entries[at as usize] = entry;
            at
        } else {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        };
        self.enter(flow, at);
        self.link(at);
        self.count(ue, bearer, at);
    }

    /// Forgets the flows whose last packet came longer ago than the timeout.
    #[inline]
    fn expire(&mut self, now: Instant) {
        if now > self.sure_until {
            self.expire_some(now);
        }
    }

    #[cold]
    #[inline(never)]
    fn expire_some(&mut self, now: Instant) {
        self.sure_until = Instant::MAX;
        while let Some(&entry) = self.entries.get(self.oldest as usize) {
            if entry.last + self.timeout >= now {
                self.sure_until = entry.last + self.timeout;
                return;
            }
            let at = self.oldest;
            self.unlink(at);
            self.unused.push(at);
            if entry.flow.0 < DENSE {
                self.dense[entry.flow.index()] = NONE;
            } else {
                self.sparse.remove(&entry.flow);
            }
            self.uncount(entry.ue, entry.bearer, at);
        }
    }

    /// Takes `at` out of the order.
    #[inline]
    fn unlink(&mut self, at: u32) {
        let Entry { older, newer, .. } = self.entries[at as usize];
        match older {
            NONE => self.oldest = newer,
            _ => self.entries[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            _ => self.entries[newer as usize].older = older,
        }
    }

    /// Puts `at` at the newest end of the order.
    #[inline]
    fn link(&mut self, at: u32) {
        let older = self.newest;
        match older {
            NONE => {
                self.oldest = at;
                self.sure_until = self.entries[at as usize].last + self.timeout;
            }
            _ => self.entries[older as usize].newer = at,
        }
        let entry = &mut self.entries[at as usize];
        entry.older = older;
        entry.newer = NONE;
        self.newest = at;
    }

    fn count(&mut self, ue: UeId, bearer: BearerId, at: u32) {
        if self.ues.len() <= ue.index() {
            self.ues.resize_with(ue.index() + 1, Count::default);
        }
        let count = &mut self.ues[ue.index()];
        self.active_ues += u32::from(count.all == 0);
        count.all += 1;
        if count.queues.len() <= bearer.index() {
            count.queues.resize(bearer.index() + 1, 0);
        }
        count.queues[bearer.index()] += 1;
        count.members.push(at);
    }

    fn uncount(&mut self, ue: UeId, bearer: BearerId, at: u32) {
        let count = &mut self.ues[ue.index()];
        count.all -= 1;
        if let Some(place) = count.members.iter().position(|m| *m == at) {
            count.members.swap_remove(place);
        }
        count.queues[bearer.index()] -= 1;
        self.active_ues -= u32::from(count.all == 0);
    }

    /// UEs with an active flow, `ue` among them in any case.
    pub(super) fn ues_with(&mut self, now: Instant, ue: UeId) -> u32 {
        self.expire(now);
        let asleep = self.ues.get(ue.index()).is_none_or(|count| count.all == 0);
        self.active_ues + u32::from(asleep)
    }

    /// What `flow` may take of a UE's `capacity`, bit/s, max-min: flows that take less than half of an equal part keep what
    /// they take, and the others share the rest. `flow` itself may want any rate.
    pub(super) fn fair(&mut self, now: Instant, ue: UeId, flow: FlowId, capacity: u64) -> u64 {
        self.expire(now);
        let Some(count) = self.ues.get(ue.index()) else {
            return capacity;
        };
        let others = || {
            let entries = count.members.iter().map(|m| &self.entries[*m as usize]);
            entries.filter(|e| e.flow != flow)
        };
        let mut level = capacity / (1 + others().count() as u64);
        // Each pass raises the level, and more flows count as thin; it ends where none is new.
        loop {
            let (mut thin, mut taken, mut full) = (0, 0, 1);
            for demand in others().map(|e| e.demand(now)) {
                if demand.saturating_mul(HEADROOM) < level {
                    thin += 1;
                    taken += demand;
                } else {
                    full += 1;
                }
            }
            let raised = capacity.saturating_sub(taken) / full;
            if thin == 0 || raised <= level {
                return level;
            }
            level = raised;
        }
    }

    /// Who is active beside `flow` in the queue of `bearer` of `ue`.
    #[inline]
    pub(super) fn company(
        &mut self,
        now: Instant,
        ue: UeId,
        bearer: BearerId,
        flow: FlowId,
    ) -> Company {
        self.expire(now);
        let (flows, queue) = match self.ues.get(ue.index()) {
            Some(count) => {
                let queue = count.queues.get(bearer.index()).copied();
                (count.all, queue.unwrap_or(0))
            }
            None => (0, 0),
        };
        let own = self.find(flow).is_some_and(|at| {
            let entry = &self.entries[at as usize];
            (entry.ue, entry.bearer) == (ue, bearer)
        });
        Company {
            flows: flows.max(1),
            ues: self.active_ues + u32::from(flows == 0),
            shared: queue > u32::from(own),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn company(flows: &mut ActiveFlows, ms: u64, ue: u32, flow: u32) -> (u32, u32, bool) {
        let c = flows.company(at(ms), UeId(ue), BearerId(0), FlowId(flow));
        (c.flows, c.ues, c.shared)
    }

    #[test]
    fn a_flow_is_active_for_the_timeout_after_its_last_packet() {
        let mut flows = ActiveFlows::new(Duration::from_millis(200));
        // A flow with no packet ever counts nowhere.
        assert_eq!(company(&mut flows, 0, 0, 1), (1, 1, false));
        flows.on_packet(at(0), UeId(0), BearerId(0), FlowId(1), 100);
        flows.on_packet(at(100), UeId(0), BearerId(0), FlowId(0x9000_0000), 100);
        assert_eq!(company(&mut flows, 200, 0, 1), (2, 1, true));
        assert_eq!(company(&mut flows, 201, 0, 0x9000_0000), (1, 1, false));
        // The asking flow went quiet; the other is still there.
        assert_eq!(company(&mut flows, 201, 0, 1), (1, 1, true));
        assert_eq!(company(&mut flows, 301, 0, 1), (1, 1, false));
        assert_eq!(flows.unused.len(), 2);
        assert!(flows.sparse.is_empty());
    }

    #[test]
    fn queues_of_a_ue_and_ues_are_counted_apart() {
        let mut flows = ActiveFlows::new(Duration::from_millis(200));
        flows.on_packet(at(0), UeId(0), BearerId(0), FlowId(1), 100);
        flows.on_packet(at(1), UeId(0), BearerId(1), FlowId(2), 100);
        flows.on_packet(at(2), UeId(3), BearerId(0), FlowId(3), 100);
        // Two flows share the UE's rate, and neither shares a queue.
        assert_eq!(company(&mut flows, 3, 0, 1), (2, 2, false));
        assert_eq!(company(&mut flows, 3, 3, 3), (1, 2, false));
        // A UE without active flows asks: it is one more.
        assert_eq!(company(&mut flows, 3, 1, 9), (1, 3, false));
        // A flow that moves is counted where it is.
        flows.on_packet(at(4), UeId(3), BearerId(0), FlowId(1), 100);
        assert_eq!(company(&mut flows, 4, 3, 1), (2, 2, true));
        assert_eq!(company(&mut flows, 4, 0, 2), (1, 2, false));
    }

    /// 34 Mbit/s at a UE, shared by what its flows took in the last second at `rates` Mbit/s: what the first is told.
    fn told_beside(rates: &[u64]) -> f64 {
        let mut flows = ActiveFlows::new(Duration::from_millis(200));
        for ms in 0..1000 {
            for (i, mbps) in rates.iter().enumerate() {
                // Packets of 250 bytes: one each millisecond is 2 Mbit/s.
                for _ in 0..mbps / 2 {
                    flows.on_packet(at(ms), UeId(0), BearerId(0), FlowId(i as u32 + 1), 250);
                }
            }
        }
        flows.fair(at(1000), UeId(0), FlowId(1), 34_000_000) as f64 * 1e-6
    }

    #[test]
    fn what_thin_flows_leave_goes_to_the_others() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 0.5, "{a} {b}");
        near(told_beside(&[34]), 34.0);
        // Half to each of two that want it, a third to each of three.
        near(told_beside(&[16, 18]), 17.0);
        near(told_beside(&[10, 12, 12]), 34.0 / 3.0);
        // One of 2 Mbit/s leaves the rest.
        near(told_beside(&[32, 2]), 32.0);
        near(told_beside(&[16, 16, 2]), 16.0);
        // A flow of seven tenths of its part (CUBIC after a loss) is on its way back to it, and so is one of six tenths.
        near(told_beside(&[22, 12]), 17.0);
        near(told_beside(&[24, 10]), 17.0);
        // A thin flow that asks is told the part that it may grow to.
        near(told_beside(&[2, 32]), 17.0);
    }

    #[test]
    fn twenty_pings_a_second_take_what_they_are() {
        let mut flows = ActiveFlows::new(Duration::from_millis(200));
        for ms in 0..1000 {
            flows.on_packet(at(ms), UeId(0), BearerId(0), FlowId(1), 4000);
            if ms % 50 == 0 {
                flows.on_packet(at(ms), UeId(0), BearerId(0), FlowId(2), 84);
            }
        }
        // By their number both are promised half.
        assert_eq!(company(&mut flows, 1000, 0, 1).0, 2);
        let told = flows.fair(at(1000), UeId(0), FlowId(1), 34_000_000);
        assert!(told > 33_900_000, "{told}");
    }

    #[test]
    fn agrees_with_a_plain_list() {
        let draw = slackwater_core::Draw::new(3);
        let timeout = 50;
        let mut flows = ActiveFlows::new(Duration::from_millis(timeout));
        let mut last = BTreeMap::new();
        let mut now = 0;
        for n in 0..20_000u64 {
            let bits = draw.bits(n);
            now += bits % 8;
            // Half of the flows have numbers of the array, half of the tree.
            let flow = (bits >> 8) as u32 % 40 * 200;
            let ue = flow / 200 % 7;
            flows.on_packet(at(now), UeId(ue), BearerId(0), FlowId(flow), 100);
            last.insert(flow, now);
            let active = |u: u32| {
                last.iter()
                    .filter(|&(&f, &t)| f / 200 % 7 == u && t + timeout >= now)
                    .count() as u32
            };
            let ues = (0..7).filter(|&u| active(u) > 0).count() as u32;
            let all = active(ue);
            assert_eq!(company(&mut flows, now, ue, flow), (all, ues, all > 1));
        }
        assert!(flows.entries.len() <= 40);
    }
}
