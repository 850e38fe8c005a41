//! Two real stacks and a path between them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use slackwater_control::{
    Ack, AnyController, Config as ControlConfig, CongestionEvent, Controller, Intent, PathReport,
    PathView, Sent, build,
};
use slackwater_core::{Bytes, Draw, Duration, Ecn, FlowId, Instant, Packet, PacketView as _, Rate};
use slackwater_signal::ReportBody;

use crate::end::Mailboxes;
use crate::{Config, Receiver, Sender};

const MS: fn(u64) -> Duration = Duration::from_millis;
const AT: fn(u64) -> Instant = Instant::from_millis;

/// A sender over 12 Mbit/s (one packet a millisecond, 60 may wait) and 20 ms each way to a receiver.
struct Pair {
    now: Instant,
    sender: Sender,
    receiver: Receiver,
    boxes: Mailboxes,
    loss: f64,
    /// A capable packet is marked where so many wait.
    step: usize,
    marked: u64,
    bleach: bool,
    draw: Draw,
    count: u64,
    waiting: Vec<usize>,
    queue: VecDeque<Packet>,
    wire: BinaryHeap<Reverse<(Instant, u64)>>,
    flying: Vec<(usize, Packet)>,
    out: Vec<Packet>,
    /// Time, end and first bytes of all that left, hashed.
    hash: u64,
    trace: Vec<(Instant, usize, Packet)>,
}

impl Pair {
    fn new(cfg: &Config, name: &str, seed: u64, loss: f64) -> Self {
        let mss = u32::from(Sender::mss(cfg));
        let cc = build(name, &ControlConfig::new(mss, Draw::new(7))).unwrap();
        Self::of(cfg, cc, seed, loss)
    }

    fn of(cfg: &Config, cc: AnyController, seed: u64, loss: f64) -> Self {
        let draw = Draw::new(seed);
        let boxes = Mailboxes::default();
        let sender = Sender::new(FlowId(0), false, 0, cfg, cc, draw.fork(1, 0), boxes.clone());
        Self {
            now: Instant::ZERO,
            sender,
            receiver: Receiver::new(FlowId(0), true, cfg, draw.fork(1, 1), boxes.clone()),
            boxes,
            loss,
            step: usize::MAX,
            marked: 0,
            bleach: false,
            waiting: Vec::new(),
            draw: draw.fork(2, 0),
            count: 0,
            queue: VecDeque::new(),
            wire: BinaryHeap::new(),
            flying: Vec::new(),
            out: Vec::new(),
            hash: 0,
            trace: Vec::new(),
        }
    }

    fn launch(&mut self, from: usize) {
        for mut p in std::mem::take(&mut self.out) {
            let bytes = self.boxes[from].lock().unwrap().get(p.number()).unwrap();
            for chunk in bytes.chunks(8) {
                let word = chunk.iter().fold(0, |w, b| w << 8 | u64::from(*b));
                self.hash = Draw::new(self.hash ^ word).bits(self.now.as_nanos());
            }
            self.trace.push((self.now, from, p));
            self.count += 1;
            if self.draw.uniform(self.count) < self.loss {
                continue;
            }
            if from == 1 {
                self.put(1 - from, p);
            } else if self.queue.len() < 60 {
                self.waiting.push(self.queue.len());
                if self.bleach {
                    p.ecn = Ecn::NotEct;
                }
                if self.queue.len() >= self.step && p.ecn != Ecn::NotEct {
                    p.ecn = Ecn::Ce;
                    self.marked += 1;
                }
                self.queue.push_back(p);
            }
        }
    }

    fn put(&mut self, to: usize, p: Packet) {
        let at = self.now + MS(20);
        self.wire.push(Reverse((at, self.flying.len() as u64)));
        self.flying.push((to, p));
    }

    fn run(&mut self, until: Instant) {
        loop {
            let wire = self.wire.peek().map(|Reverse(e)| e.0);
            let turn = (!self.queue.is_empty())
                .then(|| (self.now + Duration::from_nanos(1)).round_up(MS(1)));
            let timers = [self.sender.next_timer(), self.receiver.next_timer()];
            let next = [wire, turn, timers[0], timers[1]]
                .into_iter()
                .flatten()
                .min();
            let Some(next) = next.filter(|t| *t <= until) else {
                break;
            };
            assert!(next >= self.now, "time does not run back");
            self.now = next;
            if turn == Some(next) {
                let p = self.queue.pop_front().unwrap();
                self.put(1, p);
            } else if wire == Some(next) {
                let Reverse((_, n)) = self.wire.pop().unwrap();
                let (to, p) = self.flying[n as usize];
                if to == 0 {
                    self.sender.on_packet(next, &p, &mut self.out);
                } else {
                    self.receiver.on_packet(next, &p, &mut self.out);
                }
                self.launch(to);
            } else if timers[0] == Some(next) {
                self.sender.on_timer(next, &mut self.out);
                self.launch(0);
            } else {
                self.receiver.on_timer(next, &mut self.out);
                self.launch(1);
            }
        }
        self.now = until;
    }

    fn bulk(mut self, until: Instant) -> Self {
        self.sender.set_bulk(true);
        self.sender.connect(self.now, &mut self.out);
        self.launch(0);
        self.run(until);
        self
    }
}

/// RFC 9002, 7: bytes in flight may reach the window. quinn stops before that, so it is told of a byte more.
#[test]
fn the_whole_window_is_used() {
    let mut pair = Pair::new(&Config::default(), "copa-default", 1, 0.0).bulk(AT(1_000));
    let mut full = 0;
    for k in 0..30 {
        pair.run(AT(1_000 + 100 * k));
        let sample = pair.sender.sample();
        assert!(sample.in_flight <= sample.cwnd, "{sample:?}");
        full += u32::from(sample.in_flight == sample.cwnd);
    }
    assert!(full > 0, "no more than a packet less was ever in flight");
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_does_not() {
    let run = |seed| {
        let pair = Pair::new(&Config::default(), "cubic", seed, 0.01).bulk(AT(5_000));
        assert!(pair.trace.len() > 2_000);
        (pair.hash, pair.receiver.delivered(), pair.trace.len())
    };
    let first = run(3);
    assert_eq!(first, run(3));
    assert_ne!(first.0, run(4).0);
}

#[test]
fn our_controllers_fill_the_path_through_quinns_interface() {
    for name in ["reno", "cubic", "bbr", "bbr3", "copa", "vegas"] {
        let pair = Pair::new(&Config::default(), name, 1, 0.0).bulk(AT(10_000));
        let rate = pair.receiver.delivered() as f64 * 8.0 / 10.0 / 1e6;
        assert!((10.0..11.6).contains(&rate), "{name}: {rate} Mbit/s");
        let sample = pair.sender.sample();
        assert!(
            sample.min_rtt >= MS(40) && sample.min_rtt < MS(43),
            "{name}: {sample:?}"
        );
        assert!(sample.cwnd.get() > 20_000, "{name}");
    }
}

#[test]
fn a_written_message_arrives_whole_under_loss() {
    for loss in [0.0, 0.05, 0.2] {
        let mut pair = Pair::new(&Config::default(), "cubic", 2, loss);
        pair.sender.connect(pair.now, &mut pair.out);
        pair.launch(0);
        let now = pair.now;
        assert_eq!(pair.sender.write(now, 400_000, &mut pair.out), 400_000);
        pair.launch(0);
        pair.run(AT(120_000));
        assert_eq!(pair.receiver.delivered(), 400_000, "loss {loss}");
        assert_eq!(pair.sender.sample().in_flight.get(), 0, "loss {loss}");
    }
}

#[test]
fn the_path_sees_the_spin_bit_and_the_controller_its_reports() {
    let mut pair = Pair::new(&Config::default(), "xrc", 1, 0.0).bulk(AT(2_000));
    for end in 0..2 {
        let bits: Vec<bool> = pair
            .trace
            .iter()
            .filter(|(_, from, _)| *from == end)
            .filter_map(|(_, _, p)| p.spin_bit())
            .collect();
        let edges = bits.windows(2).filter(|w| w[0] != w[1]).count();
        assert!((15..50).contains(&edges), "{edges} edges in 2 s");
    }
    let report = PathReport::Share {
        rate: Rate::from_mbps(8.0),
        hol_delay: MS(5),
        seq: 7,
        shared: false,
    };
    let now = pair.now;
    let body = ReportBody::of(&report).unwrap();
    pair.receiver.send_report(now, body, &mut pair.out);
    pair.launch(1);
    pair.run(AT(2_100));
    assert_eq!(pair.sender.reports(), 1);
}

#[test]
fn the_handshake_has_the_lengths_of_one() {
    let pair = Pair::new(&Config::default(), "cubic", 1, 0.0).bulk(AT(62));
    let long: Vec<(u64, usize, u16)> = pair
        .trace
        .iter()
        .filter(|(_, _, p)| p.spin_bit().is_none())
        .map(|(at, from, p)| (at.since(Instant::ZERO).as_millis(), *from, p.len))
        .collect();
    assert_eq!(long[0], (0, 0, 1228), "{long:?}");
    let flight: u32 = long
        .iter()
        .filter(|l| l.1 == 1)
        .map(|l| u32::from(l.2))
        .sum();
    assert!((3_000..3_700).contains(&flight), "{long:?}");
    assert!(
        pair.trace
            .iter()
            .any(|(at, _, p)| p.payload() > 1000 && *at < AT(45))
    );
}

fn marked(name: &str, bleach: bool) -> Pair {
    let mut pair = Pair::new(&Config::default(), name, 1, 0.0);
    (pair.step, pair.bleach) = (5, bleach);
    pair.bulk(AT(10_000))
}

/// RFC 9331: ECT(1) on what leaves, an answer in proportion to the marks, hence a queue about the step. Classic CUBIC under
/// the same step answers each round's marks as a loss.
#[test]
fn prague_sends_ect1_and_keeps_a_marked_queue_short() {
    let mut pair = marked("prague", false);
    let rate = pair.receiver.delivered() as f64 * 8.0 / 10.0 / 1e6;
    assert!(rate > 10.5, "{rate} Mbit/s");
    let data = pair.trace.iter().filter(|(_, from, _)| *from == 0);
    assert!(data.map(|t| t.2.ecn).all(|ecn| ecn == Ecn::Ect1));
    // From 2 s on, without slow start.
    let late = &mut pair.waiting[2_000..];
    late.sort_unstable();
    let p95 = late[late.len() * 95 / 100];
    assert!(p95 <= 8, "95 % of packets found {p95} or fewer before them");
    assert_eq!(pair.sender.stats().unwrap().path.lost_packets, 0);
    // What arrived by now; a round's marks are on their way.
    let counted = pair.sender.control().get().counted();
    assert_eq!(counted.ect0, 0);
    assert!(
        pair.marked > 100 && (pair.marked - counted.ce) < 60,
        "{counted:?}"
    );
    let tcp = marked("cubic", false);
    assert_eq!(tcp.marked, 0, "CUBIC did not want ECN");
}

/// A path that wipes ECT(1): no marks come, so the sender stops to claim that it hears them.
#[test]
fn a_path_that_bleaches_ends_ect1() {
    let pair = marked("prague", true);
    let data: Vec<Ecn> = pair
        .trace
        .iter()
        .filter(|(_, from, _)| *from == 0)
        .map(|t| t.2.ecn)
        .collect();
    let last = data.iter().rposition(|ecn| *ecn == Ecn::Ect1).unwrap();
    assert!(last < 100, "packet {last} was still ECT(1)");
    assert!(
        pair.sender.stats().unwrap().path.lost_packets > 0,
        "losses steer"
    );
    let rate = pair.receiver.delivered() as f64 * 8.0 / 10.0 / 1e6;
    assert!(rate > 10.0, "{rate} Mbit/s");
}

/// The pacer spreads packets by the controller's rate: no row of ten leaves at once.
#[test]
fn packets_leave_at_the_controllers_rate() {
    for name in ["bbr", "prague", "cubic"] {
        let pair = marked(name, false);
        let times: Vec<Instant> = pair
            .trace
            .iter()
            .filter(|(at, from, _)| *from == 0 && *at > AT(5_000))
            .map(|t| t.0)
            .collect();
        let most = times.chunk_by(|a, b| a == b).map(<[Instant]>::len).max();
        // 1.25 of 12 Mbit/s in the pacer's millisecond are less than two packets; a late one is made good for by another.
        assert!(most.unwrap() <= 3, "{name}: {most:?} packets at once");
    }
}

/// Counts what it is told of; a window without end, paced at 10 Mbit/s.
#[derive(Clone, Debug, Default)]
struct Told(Arc<AtomicU64>);

impl Controller for Told {
    fn on_sent(&mut self, _now: Instant, _path: &PathView, sent: &Sent) {
        self.0.fetch_add(sent.bytes.0, Ordering::Relaxed);
    }
    fn on_ack(&mut self, _now: Instant, _path: &PathView, _ack: &Ack) {}
    fn on_congestion(&mut self, _now: Instant, _path: &PathView, _event: &CongestionEvent) {}
    fn intent(&self) -> Intent {
        Intent {
            window: Some(Bytes(1 << 30)),
            pacing: Some(Rate::from_mbps(10.0)),
            ..Intent::default()
        }
    }
    fn name(&self) -> &'static str {
        "told"
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

/// Bytes that left the sender and bytes that its controller was told of, QUIC's, in five seconds.
fn left_and_told(cfg: &Config) -> (u64, u64, Pair) {
    let told = Told::default();
    let cc = AnyController::Plugin(Box::new(told.clone()));
    let pair = Pair::of(cfg, cc, 1, 0.0).bulk(AT(5_000));
    let mine = pair.trace.iter().filter(|(_, from, _)| *from == 0);
    let left = mine.map(|(_, _, p)| u64::from(p.len - 28)).sum();
    (left, told.0.load(Ordering::Relaxed), pair)
}

/// quinn tells no controller of its probes of the path's MTU (RFC 8899). A base station counts them, and `ebb` compares its counts
/// with what was sent.
#[test]
fn a_controller_is_told_of_every_packet_that_leaves() {
    for mtu_discovery in [false, true] {
        let cfg = Config {
            mtu_discovery,
            ..Config::default()
        };
        let (left, told, pair) = left_and_told(&cfg);
        let probes = pair.sender.stats().unwrap().path.sent_plpmtud_probes;
        assert_eq!(probes > 0, mtu_discovery);
        assert!(left > 5_000_000, "{left}");
        // What left last of all may be a probe.
        assert!(
            left - told < 1500,
            "{left} left, of which {told} were told of"
        );
    }
}

/// Timers of a millisecond are up to two late, which costs a paced sender no rate.
#[test]
fn late_timers_cost_a_paced_sender_no_rate() {
    let mut rates = [0, 1].map(|step| {
        let cfg = Config {
            timer_step: MS(step),
            ..Config::default()
        };
        left_and_told(&cfg).0 as f64
    });
    rates.sort_by(f64::total_cmp);
    assert!(rates[1] / rates[0] < 1.01, "{rates:?}");
}
