//! Two endpoints and a pipe between them, with a script for what happens to each packet.
#![expect(dead_code, reason = "each test binary uses its part of the harness")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use slackwater_control::{AnyController, Config as ControlConfig, build};
use slackwater_core::{Draw, Duration, FlowId, Instant, Packet};
use slackwater_transport::tcp::{Config, Endpoint};

/// What the script does to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Pass,
    Drop,
    /// Twice, the copy this much later.
    Twice(Duration),
    /// This much later than the rest.
    Late(Duration),
}

pub(crate) type Script = Box<dyn FnMut(u64, &mut Packet) -> Fate>;

/// A link of fixed opportunities (one packet of up to 1,504 bytes each `gap`) with a drop-tail queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bottleneck {
    pub(crate) gap: Duration,
    pub(crate) limit: usize,
}

/// 0 is the client, 1 the server; packets of end `i` go through `scripts[i]`.
pub(crate) struct Pair {
    pub(crate) now: Instant,
    pub(crate) ends: [Endpoint; 2],
    pub(crate) delay: Duration,
    pub(crate) scripts: [Script; 2],
    /// Packets emitted by each end.
    pub(crate) emitted: [u64; 2],
    pub(crate) bottleneck: Option<Bottleneck>,
    queue: std::collections::VecDeque<Packet>,
    wire: BinaryHeap<Reverse<(Instant, u64, usize, Slot)>>,
    order: u64,
    out: Vec<Packet>,
    pub(crate) trace: Option<Vec<(Instant, usize, Packet)>>,
    pub(crate) drops: u64,
    /// Adds to each packet's delay, without reordering.
    pub(crate) jitter: Option<Box<dyn FnMut(u64) -> Duration>>,
    last: [Instant; 2],
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Slot(Packet);

impl PartialOrd for Slot {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Slot {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

pub(crate) fn controller(name: &str, mss: u16) -> AnyController {
    build(name, &ControlConfig::new(u32::from(mss), Draw::new(7))).expect("a known controller")
}

impl Pair {
    /// Client and server of one configuration; one-way delay `delay`.
    pub(crate) fn new(cfg: &Config, name: &str, delay: Duration) -> Self {
        Self::with(cfg, cfg, controller(name, cfg.mss), delay)
    }

    pub(crate) fn with(
        client: &Config,
        server: &Config,
        cc: AnyController,
        delay: Duration,
    ) -> Self {
        let draw = Draw::new(1);
        Self {
            now: Instant::ZERO,
            ends: [
                Endpoint::client(FlowId(0), true, client, cc.clone(), draw.fork(1, 0)),
                Endpoint::server(FlowId(0), false, server, cc, draw.fork(1, 1)),
            ],
            delay,
            scripts: [Box::new(|_, _| Fate::Pass), Box::new(|_, _| Fate::Pass)],
            emitted: [0; 2],
            bottleneck: None,
            queue: std::collections::VecDeque::new(),
            wire: BinaryHeap::new(),
            order: 0,
            out: Vec::new(),
            trace: None,
            drops: 0,
            jitter: None,
            last: [Instant::ZERO; 2],
        }
    }

    /// The client connects, and the handshake goes through.
    pub(crate) fn connected(mut self) -> Self {
        self.on(0, Endpoint::connect);
        let limit = self.now + Duration::from_secs(2000);
        while !(self.ends[0].is_established() && self.ends[1].is_established()) {
            assert!(self.now < limit && self.step(limit), "the handshake ends");
        }
        self
    }

    /// Calls `f` on end `i` and carries off what it emits.
    pub(crate) fn on<R>(
        &mut self,
        i: usize,
        f: impl FnOnce(&mut Endpoint, Instant, &mut Vec<Packet>) -> R,
    ) -> R {
        let mut out = std::mem::take(&mut self.out);
        let r = f(&mut self.ends[i], self.now, &mut out);
        for p in out.drain(..) {
            self.launch(i, p);
        }
        self.out = out;
        r
    }

    fn launch(&mut self, i: usize, mut p: Packet) {
        let n = self.emitted[i];
        self.emitted[i] += 1;
        if let Some(trace) = &mut self.trace {
            trace.push((self.now, i, p));
        }
        let fate = (self.scripts[i])(n, &mut p);
        if i == 0
            && let Some(b) = self.bottleneck
        {
            if fate == Fate::Drop || self.queue.len() >= b.limit {
                self.drops += 1;
            } else {
                self.queue.push_back(p);
            }
            return;
        }
        let at = self.now + self.delay;
        match fate {
            Fate::Pass => self.put(at, 1 - i, p),
            Fate::Drop => self.drops += 1,
            Fate::Late(d) => self.put(at + d, 1 - i, p),
            Fate::Twice(d) => {
                self.put(at, 1 - i, p);
                self.put(at + d, 1 - i, p);
            }
        }
    }

    fn put(&mut self, mut at: Instant, to: usize, p: Packet) {
        self.order += 1;
        if let Some(jitter) = &mut self.jitter {
            at = (at + jitter(self.order)).max(self.last[to]);
            self.last[to] = at;
        }
        self.wire.push(Reverse((at, self.order, to, Slot(p))));
    }

    /// Next opportunity of the bottleneck, where something waits.
    fn opportunity(&self) -> Option<Instant> {
        let b = self.bottleneck?;
        (!self.queue.is_empty()).then(|| (self.now + Duration::from_nanos(1)).round_up(b.gap))
    }

    /// Handles the next event at or before `until`; false where there is none.
    pub(crate) fn step(&mut self, until: Instant) -> bool {
        let wire = self.wire.peek().map(|Reverse(e)| e.0);
        let timers = [self.ends[0].next_timer(), self.ends[1].next_timer()];
        let opportunity = self.opportunity();
        let Some(next) = [wire, timers[0], timers[1], opportunity]
            .into_iter()
            .flatten()
            .min()
        else {
            return false;
        };
        if next > until {
            return false;
        }
        assert!(
            next >= self.now,
            "time does not run back: {next} {}",
            self.now
        );
        self.now = next;
        if opportunity == Some(next) {
            let p = self.queue.pop_front().expect("something waits");
            self.put(next + self.delay, 1, p);
        } else if wire == Some(next) {
            let Reverse((_, _, to, Slot(p))) = self.wire.pop().expect("it was there");
            self.on(to, |e, now, out| e.on_packet(now, &p, out));
        } else {
            let i = usize::from(timers[0] != Some(next));
            self.on(i, Endpoint::on_timer);
        }
        true
    }

    /// Runs up to `until`.
    pub(crate) fn run(&mut self, until: Instant) {
        while self.step(until) {}
        self.now = self.now.max(until);
    }

    pub(crate) fn run_ms(&mut self, ms: u64) {
        self.run(self.now + Duration::from_millis(ms));
    }

    /// Packets of end `i` that the trace holds.
    pub(crate) fn sent_by(&self, i: usize) -> Vec<(Instant, Packet)> {
        let trace = self.trace.as_ref().expect("the trace is on");
        trace
            .iter()
            .filter(|(_, from, _)| *from == i)
            .map(|&(at, _, p)| (at, p))
            .collect()
    }
}
