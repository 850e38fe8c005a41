//! Two ends and a path between them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use proptest::prelude::*;
use slackwater_control::{Config as ControlConfig, PathReport, Recovery, build};
use slackwater_core::{
    Body, Bytes, Draw, Duration, Ecn, FlowId, Instant, Packet, QuicBits, QuicData, Rate, SeqNum,
};
use slackwater_signal::ReportBody;

use super::{AckRule, Config, Receiver, Sender, Spin};

const MS: fn(u64) -> Duration = Duration::from_millis;
const AT: fn(u64) -> Instant = Instant::from_millis;

enum Fate {
    Pass,
    Drop,
    Twice(Duration),
    Late(Duration),
}

/// `p` is of the handshake.
const fn is_long(p: &Packet) -> bool {
    matches!(p.body, Body::QuicLong(_))
}

type Script = Box<dyn FnMut(Instant, u64, &mut Packet) -> Fate>;

/// 0 is the sender, 1 the receiver.
struct Pair {
    now: Instant,
    sender: Sender,
    receiver: Receiver,
    delay: Duration,
    scripts: [Script; 2],
    /// A bottleneck of the sender's packets: time of one and packets that may wait.
    bottleneck: Option<(Duration, usize)>,
    queue: VecDeque<Packet>,
    wire: BinaryHeap<Reverse<(Instant, u64)>>,
    packets: Vec<(usize, Packet)>,
    emitted: [u64; 2],
    out: Vec<Packet>,
    trace: Vec<(Instant, usize, Packet)>,
    tracing: bool,
}

impl Pair {
    fn new(cfg: &Config, name: &str, delay: Duration) -> Self {
        let mss = u32::from(cfg.mss());
        let cc = build(name, &ControlConfig::new(mss, Draw::new(7))).unwrap();
        Self {
            now: Instant::ZERO,
            sender: Sender::new(FlowId(0), false, 0, cfg, cc, Draw::new(1)),
            receiver: Receiver::new(FlowId(0), true, cfg),
            delay,
            scripts: [
                Box::new(|_, _, _| Fate::Pass),
                Box::new(|_, _, _| Fate::Pass),
            ],
            bottleneck: None,
            queue: VecDeque::new(),
            wire: BinaryHeap::new(),
            packets: Vec::new(),
            emitted: [0; 2],
            out: Vec::new(),
            trace: Vec::new(),
            tracing: false,
        }
    }

    fn launch(&mut self, from: usize) {
        for mut p in std::mem::take(&mut self.out) {
            if self.tracing {
                self.trace.push((self.now, from, p));
            }
            let n = self.emitted[from];
            self.emitted[from] += 1;
            let fate = (self.scripts[from])(self.now, n, &mut p);
            let at = self.now + self.delay;
            match (fate, self.bottleneck) {
                (Fate::Drop, _) => {}
                (_, Some((_, limit))) if from == 0 => {
                    if self.queue.len() < limit {
                        self.queue.push_back(p);
                    }
                }
                (Fate::Pass, _) => self.put(at, 1 - from, p),
                (Fate::Late(by), _) => self.put(at + by, 1 - from, p),
                (Fate::Twice(by), _) => {
                    self.put(at, 1 - from, p);
                    self.put(at + by, 1 - from, p);
                }
            }
        }
    }

    fn put(&mut self, at: Instant, to: usize, p: Packet) {
        self.wire.push(Reverse((at, self.packets.len() as u64)));
        self.packets.push((to, p));
    }

    fn on_sender(&mut self, f: impl FnOnce(&mut Sender, Instant, &mut Vec<Packet>)) {
        let mut out = std::mem::take(&mut self.out);
        f(&mut self.sender, self.now, &mut out);
        self.out = out;
        self.launch(0);
    }

    fn on_receiver(&mut self, f: impl FnOnce(&mut Receiver, Instant, &mut Vec<Packet>)) {
        let mut out = std::mem::take(&mut self.out);
        f(&mut self.receiver, self.now, &mut out);
        self.out = out;
        self.launch(1);
    }

    fn step(&mut self, until: Instant) -> bool {
        let wire = self.wire.peek().map(|Reverse(e)| e.0);
        let timers = [self.sender.next_timer(), self.receiver.next_timer()];
        let turn = self.bottleneck.filter(|_| !self.queue.is_empty());
        let turn = turn.map(|(gap, _)| (self.now + Duration::from_nanos(1)).round_up(gap));
        let next = [wire, timers[0], timers[1], turn]
            .into_iter()
            .flatten()
            .min();
        let Some(next) = next.filter(|t| *t <= until) else {
            return false;
        };
        assert!(next >= self.now, "time does not run back");
        self.now = next;
        if turn == Some(next) {
            let p = self.queue.pop_front().unwrap();
            self.put(next + self.delay, 1, p);
        } else if wire == Some(next) {
            let Reverse((_, n)) = self.wire.pop().unwrap();
            let (to, p) = self.packets[n as usize];
            if to == 0 {
                self.on_sender(|s, now, out| s.on_packet(now, &p, out));
            } else {
                self.on_receiver(|r, now, out| r.on_packet(now, &p, out));
            }
        } else if timers[0] == Some(next) {
            self.on_sender(Sender::on_timer);
        } else {
            self.on_receiver(Receiver::on_timer);
        }
        true
    }

    fn run(&mut self, until: Instant) {
        while self.step(until) {}
        self.now = self.now.max(until);
    }

    fn connected(mut self) -> Self {
        self.on_sender(Sender::connect);
        let limit = self.now + Duration::from_secs(3000);
        while !(self.sender.is_established() && self.receiver.is_established()) {
            assert!(self.step(limit), "the handshake ends");
        }
        self
    }

    fn write(&mut self, bytes: u64) {
        self.on_sender(|s, now, out| assert_eq!(s.write(now, bytes, out), bytes));
    }

    fn bulk(&mut self) {
        self.sender.set_bulk(true);
        self.on_sender(Sender::kick);
    }
}

#[test]
fn the_handshake_takes_one_round_trip_and_its_first_datagrams_are_padded() {
    let mut pair = Pair::new(&Config::default(), "cubic", MS(20));
    pair.tracing = true;
    pair.on_sender(Sender::connect);
    pair.on_sender(|s, now, out| assert_eq!(s.write(now, 100_000, out), 100_000));
    pair.run(AT(59));
    let long: Vec<_> = pair
        .trace
        .iter()
        .filter(|(_, _, p)| is_long(p))
        .map(|(at, from, p)| (at.since(Instant::ZERO).as_millis(), *from, p.len))
        .collect();
    assert_eq!(
        long,
        [
            (0, 0, 1228),
            (20, 1, 1228),
            (20, 1, 1228),
            (20, 1, 628),
            (40, 0, 1228)
        ]
    );
    let first = pair.trace.iter().find(|(_, _, p)| p.payload() > 0).unwrap();
    assert_eq!((first.0, first.2.len), (AT(40), 1500));
    assert_eq!(pair.sender.sample().srtt, MS(40));
    pair.run(AT(1000));
    assert_eq!(pair.receiver.delivered(), 100_000);
    assert!(pair.sender.is_idle() && pair.sender.confirmed);
    assert_eq!(pair.sender.next_timer().map(|t| t > pair.now), None);
}

#[test]
fn a_long_flow_fills_the_path_by_any_controller() {
    for name in ["reno", "cubic", "bbr", "bbr3", "copa", "vegas"] {
        let mut pair = Pair::new(&Config::default(), name, MS(20));
        // 12 Mbit/s and one and a half bandwidth-delay products of queue.
        pair.bottleneck = Some((MS(1), 60));
        let mut pair = pair.connected();
        pair.bulk();
        pair.run(AT(10_000));
        let rate = pair.receiver.delivered() as f64 * 8.0 / 10.0 / 1e6;
        let most = 12.0 * 1435.0 / 1500.0;
        assert!(rate > 0.9 * most && rate <= most, "{name}: {rate}");
        let stats = pair.sender.stats();
        assert_eq!(stats.persistent, 0, "{name}");
        // What was declared lost was lost: nothing arrives twice but what probes repeat.
        let twice = pair.receiver.stats().duplicate_bytes;
        assert!(twice <= 1435 * stats.timeouts * 2, "{name}: {twice}");
    }
}

#[test]
fn an_ack_answers_two_packets_and_a_gap_at_once() {
    let cfg = Config {
        pacing: false,
        ..Config::default()
    };
    let mut pair = Pair::new(&cfg, "fixed:50", MS(20)).connected();
    pair.tracing = true;
    let acks = |pair: &Pair| -> Vec<(u64, usize)> {
        let of_receiver = pair.trace.iter().filter(|(_, from, _)| *from == 1);
        of_receiver
            .filter_map(|(at, _, p)| match &p.body {
                Body::QuicAck(q) if q.bits.contains(QuicBits::ACK) => {
                    Some((at.since(Instant::ZERO).as_millis(), q.ranges().len()))
                }
                _ => None,
            })
            .collect()
    };
    let start = pair.now.since(Instant::ZERO).as_millis();
    pair.write(1435 * 5);
    pair.run(AT(start + 200));
    // Two at once, one after 25 ms.
    assert_eq!(
        acks(&pair),
        [(start + 20, 1), (start + 20, 1), (start + 45, 1)]
    );
    assert_eq!(pair.sender.sample().rtt, MS(65));
    assert!(pair.sender.sample().srtt < MS(42), "the delay is taken off");
    pair.trace.clear();
    let first = pair.emitted[0];
    pair.scripts[0] = Box::new(move |_, n, _| {
        if n == first + 1 {
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    pair.write(1435 * 4);
    pair.run(AT(start + 205 + 20));
    assert_eq!(
        acks(&pair),
        [(start + 220, 2)],
        "at once, with the gap; then the fourth waits"
    );
    pair.run(AT(start + 600));
    assert_eq!(pair.receiver.delivered(), 1435 * 9);
}

#[test]
fn what_is_blocked_by_the_limit_goes_on_although_its_update_is_lost() {
    let cfg = Config {
        recv_window: Bytes(20_000),
        ..Config::default()
    };
    let mut pair = Pair::new(&cfg, "cubic", MS(10)).connected();
    // All that comes back is lost for a while, the updates with it.
    pair.scripts[1] = Box::new(|now, _, p| {
        if (AT(60)..AT(500)).contains(&now) && !is_long(p) {
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    pair.write(1_000_000);
    pair.run(AT(20_000));
    assert_eq!(pair.receiver.delivered(), 1_000_000);
    assert!(pair.sender.stats().timeouts > 0);
}

#[test]
fn a_long_silence_is_persistent_congestion_and_a_short_one_is_not() {
    for (until, persistent) in [(1_300, 0), (4_000, 1)] {
        let mut pair = Pair::new(&Config::default(), "cubic", MS(20));
        pair.bottleneck = Some((MS(1), 60));
        pair.scripts[0] = Box::new(move |now, _, _| {
            if (AT(1_000)..AT(until)).contains(&now) {
                Fate::Drop
            } else {
                Fate::Pass
            }
        });
        let mut pair = pair.connected();
        pair.bulk();
        pair.run(AT(12_000));
        assert_eq!(pair.sender.stats().persistent, persistent, "until {until}");
        let delivered = pair.receiver.delivered();
        pair.run(AT(14_000));
        let rate = (pair.receiver.delivered() - delivered) as f64 * 4e-6;
        assert!(rate > 9.0, "{rate} Mbit/s after the silence");
    }
}

fn ecn_run(name: &str, mut mark: impl FnMut(u64, &mut Packet) + 'static) -> Pair {
    let mut pair = Pair::new(&Config::default(), name, MS(20));
    pair.scripts[0] = Box::new(move |_, n, p| {
        mark(n, p);
        Fate::Pass
    });
    let mut pair = pair.connected();
    pair.bulk();
    pair.run(AT(3_000));
    pair
}

#[test]
fn marks_are_counted_and_answered_and_a_path_that_bleaches_ends_ecn() {
    let pair = ecn_run("prague", |n, p| {
        if p.payload() > 0 {
            assert_eq!(p.ecn, Ecn::Ect1);
            if n % 10 == 0 {
                p.ecn = Ecn::Ce;
            }
        }
    });
    let stats = pair.sender.stats();
    assert!(stats.ce_echoed > 50 && stats.lost == 0, "{stats:?}");
    assert!(pair.receiver.stats().ce - stats.ce_echoed < 20);
    assert!(pair.sender.ecn_works());
    let bleached = ecn_run("prague", |_, p| p.ecn = Ecn::NotEct);
    assert!(!bleached.sender.ecn_works());
}

#[test]
fn the_spin_bit_turns_once_a_round_trip_unless_it_is_off() {
    for (spin, least, most) in [(Spin::On, 20, 25), (Spin::Off, 0, 0)] {
        let cfg = Config {
            spin,
            ..Config::default()
        };
        let mut pair = Pair::new(&cfg, "fixed:40", MS(20)).connected();
        pair.tracing = true;
        pair.bulk();
        pair.run(pair.now + MS(1000));
        for end in 0..2 {
            let bits: Vec<bool> = pair
                .trace
                .iter()
                .filter(|(_, from, _)| *from == end)
                .filter_map(|(_, _, p)| slackwater_core::PacketView::spin_bit(p))
                .collect();
            let edges = bits.windows(2).filter(|w| w[0] != w[1]).count();
            assert!((least..=most).contains(&edges), "{spin:?}: {edges}");
        }
    }
    let cfg = Config {
        spin: Spin::Rfc,
        ..Config::default()
    };
    let off = (0..1600)
        .filter(|n| {
            let cc = build("cubic", &ControlConfig::new(1435, Draw::new(7))).unwrap();
            !Sender::new(FlowId(0), false, 0, &cfg, cc, Draw::new(*n)).spins
        })
        .count();
    assert!((70..130).contains(&off), "{off}");
}

/// A report of a rate, as a base station sends it.
fn share() -> PathReport {
    PathReport::Share {
        rate: Rate::from_mbps(20.0),
        hol_delay: MS(5),
        seq: 7,
        shared: false,
    }
}

#[test]
fn a_report_reaches_the_controller_in_a_datagram_frame() {
    let mut pair = Pair::new(&Config::default(), "xrc", MS(20)).connected();
    pair.bulk();
    pair.run(pair.now + MS(100));
    let report = share();
    pair.tracing = true;
    let body = ReportBody::of(&report).unwrap();
    pair.on_receiver(|r, now, out| r.send_report(now, body, out));
    let (_, _, p) = *pair.trace.last().unwrap();
    let both = QuicBits::DATAGRAM.with(QuicBits::ACK);
    assert!(p.quic().is_some_and(|bits| bits.contains(both)));
    pair.run(pair.now + MS(200));
    assert_eq!(pair.sender.stats().reports, 1);
    let acked = pair
        .trace
        .iter()
        .any(|(_, from, p)| *from == 0 && p.quic().is_some_and(|b| b.contains(QuicBits::ACK)));
    assert!(acked, "it asks for an acknowledgment (RFC 9221, 5.2)");
}

#[test]
fn another_connection_starts_anew_and_stragglers_of_the_old_one_do_no_harm() {
    let cfg = Config::default();
    let mut pair = Pair::new(&cfg, "cubic", MS(20)).connected();
    pair.write(50_000);
    pair.run(AT(105));
    let cc = build("cubic", &ControlConfig::new(1435, Draw::new(7))).unwrap();
    let before = pair.receiver.delivered();
    pair.sender = Sender::new(FlowId(0), false, 1, &cfg, cc, Draw::new(1));
    let mut pair = pair.connected();
    pair.write(70_000);
    pair.run(AT(3_000));
    assert!(pair.receiver.delivered() >= before + 70_000);
    assert_eq!(pair.sender.acked(), 70_000);
}

/// What a path does to packets, in parts of 1,000.
#[derive(Clone, Copy, Debug)]
struct Path {
    loss: u64,
    late: u64,
    twice: u64,
    by: u64,
}

fn script(path: Path, draw: Draw) -> Script {
    Box::new(move |_, n, _| {
        let roll = draw.bits(2 * n) % 1000;
        let by = Duration::from_micros(1 + draw.bits(2 * n + 1) % (path.by * 1000));
        if roll < path.loss {
            Fate::Drop
        } else if roll < path.loss + path.late {
            Fate::Late(by)
        } else if roll < path.loss + path.late + path.twice {
            Fate::Twice(by)
        } else {
            Fate::Pass
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn bytes_are_conserved_numbers_rise_and_nobody_stalls(
        path in (0..250u64, 0..250u64, 0..200u64, 1..100u64)
            .prop_map(|(loss, late, twice, by)| Path { loss, late, twice, by }),
        (bytes, window, packets, packet) in (1..600_000u64, 10..300u64, 1..6u16, 300..1500u16),
        (at_once, pacing, ecn) in any::<(bool, bool, bool)>(),
        seed in any::<u64>(),
        name in prop::sample::select(vec!["cubic", "reno", "bbr", "vegas", "prague"]),
    ) {
        let cfg = Config {
            packet,
            recv_window: Bytes(window * u64::from(packet)),
            ack: AckRule { packets, at_once, ..AckRule::default() },
            pacing,
            ecn: ecn.then_some(slackwater_control::EcnMode::Classic),
            ..Config::default()
        };
        let draw = Draw::new(seed);
        let mut pair = Pair::new(&cfg, name, MS(15));
        pair.scripts = [script(path, draw.fork(1, 0)), script(path, draw.fork(1, 1))];
        pair.tracing = true;
        let mut pair = pair.connected();
        pair.write(bytes);
        let limit = pair.now + Duration::from_secs(3600);
        while !pair.sender.is_idle() {
            prop_assert!(pair.step(limit), "stalled at {} of {bytes}", pair.receiver.delivered());
            prop_assert!(pair.receiver.delivered() <= bytes);
        }
        prop_assert_eq!(pair.receiver.delivered(), bytes);
        prop_assert_eq!(pair.sender.acked(), bytes);
        prop_assert_eq!(pair.sender.in_flight, 0);
        prop_assert_eq!(pair.sender.settled_total, pair.sender.sent_total);
        let mut last = [[None; 2]; 2];
        for (_, from, p) in &pair.trace {
            let space = usize::from(is_long(p));
            let before = last[*from][space].replace(p.number());
            prop_assert!(before.is_none_or(|b| b < p.number()), "a number used twice");
            prop_assert!(p.len <= packet.max(1228));
        }
    }
}

/// RFC 9000, 4.1: the peer's business, and no reason to stop.
#[test]
fn data_beyond_the_limit_is_not_taken() {
    let cfg = Config::default();
    let mut pair = Pair::new(&cfg, "reno", MS(10)).connected();
    let limit = pair.receiver.limit().0;
    let data = QuicData {
        pn: SeqNum(1_000),
        offset: SeqNum((limit - 10) as u32),
        payload: 100,
        bits: QuicBits::STREAM,
        ..QuicData::default()
    };
    let packet = Packet {
        len: 200,
        body: Body::QuicData(data),
        ..Packet::default()
    };
    let before = pair.receiver.delivered();
    let mut out = Vec::new();
    pair.receiver.on_packet(pair.now, &packet, &mut out);
    assert_eq!(pair.receiver.delivered(), before);
    assert_eq!(pair.receiver.stats().beyond_limit, 1);
}

/// RFC 9002, 7.3.2: a recovery period ends when a packet that left during it is acknowledged.
#[test]
fn a_recovery_period_ends_with_the_acknowledgment_of_what_left_in_it() {
    let mut pair = Pair::new(&Config::default(), "reno", MS(20)).connected();
    let lost = pair.emitted[0] + 2;
    pair.scripts[0] = Box::new(move |_, n, _| if n == lost { Fate::Drop } else { Fate::Pass });
    pair.write(1435 * 40);
    while pair.sender.stats().recoveries == 0 {
        assert_eq!(pair.sender.recovery(), Recovery::Open);
        assert!(pair.step(AT(1_000)), "the loss is found");
    }
    assert_eq!(pair.sender.recovery(), Recovery::Fast);
    let began = pair.now;
    while pair.sender.recovery() == Recovery::Fast {
        assert!(pair.step(AT(1_000)), "it ends");
    }
    // What leaves in it takes a round trip, and the ACK 25 ms more where it waits for a second packet.
    let took = pair.now.since(began);
    assert!((MS(40)..=MS(65)).contains(&took), "{took}");
    assert_eq!(pair.sender.recovery(), Recovery::Open);
    pair.run(AT(3_000));
    assert_eq!(pair.receiver.delivered(), 1435 * 40);
    assert_eq!(pair.sender.stats().recoveries, 1);
}

/// The server repeats its flight of three packets until it hears the end of the handshake: the client repeats that once for
/// the flight, and not for each packet of it.
#[test]
fn a_lost_end_of_the_handshake_is_repeated_once_for_a_flight() {
    let mut pair = Pair::new(&Config::default(), "reno", MS(20));
    pair.tracing = true;
    // The end of the handshake is lost, and so are the client's probes until the server asks by itself.
    pair.scripts[0] = Box::new(|now, n, _| {
        if n > 0 && now < AT(900) {
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    let mut pair = pair.connected();
    pair.run(AT(5_000));
    let long = |from| {
        let of_end = pair.trace.iter().filter(move |t| t.1 == from);
        of_end.filter(|t| is_long(&t.2)).map(|t| t.0)
    };
    // RFC 9002, 6.2.2: three initial RTTs of 333 ms after the first flight.
    let flights: Vec<Instant> = long(1).collect();
    assert_eq!(flights, [20, 20, 20, 1019, 1019, 1019].map(AT));
    let answers = long(0).filter(|at| *at == flights[5] + MS(20));
    assert_eq!(answers.count(), 1);
    assert!(pair.sender.confirmed);
}

/// RFC 9002, 6.2.2: without an answer the time to the next try doubles.
#[test]
fn an_unanswered_flight_is_repeated_after_times_that_double() {
    let mut pair = Pair::new(&Config::default(), "reno", MS(20));
    pair.tracing = true;
    pair.scripts[0] = Box::new(|_, n, _| if n > 0 { Fate::Drop } else { Fate::Pass });
    pair.on_sender(Sender::connect);
    pair.run(AT(8_000));
    let of_server = pair.trace.iter().filter(|t| t.1 == 1 && t.2.len == 628);
    let flights: Vec<Instant> = of_server.map(|t| t.0).collect();
    // 999, 1,998 and 3,996 ms apart.
    assert_eq!(flights, [20, 1019, 3017, 7013].map(AT));
}

/// Controllers reckon with what a link carries, headers included.
#[test]
fn a_controller_is_told_of_whole_packets() {
    for packet in [1300, 1500] {
        let cfg = Config {
            packet,
            ..Config::default()
        };
        let mut pair = Pair::new(&cfg, "reno", MS(20)).connected();
        pair.tracing = true;
        pair.write(100_000);
        let path = pair.sender.path();
        let (_, _, first) = pair.trace[0];
        assert_eq!(path.wire_mss, u32::from(first.len));
        assert_eq!(path.mss, u32::from(first.payload()));
        assert_eq!(first.len, packet);
    }
}

/// RFC 9000, 13.2.1: an ACK that is owed goes with data, whose frame leaves room for it.
#[test]
fn an_ack_that_is_owed_leaves_with_the_next_data() {
    // The ACK frame takes ten bytes of a full packet's 1,435.
    for (bytes, payload) in [(100, 100), (1435, 1425)] {
        let mut pair = Pair::new(&Config::default(), "reno", MS(20)).connected();
        pair.run(pair.now + MS(100));
        let report = share();
        let body = ReportBody::of(&report).unwrap();
        pair.on_receiver(|r, now, out| r.send_report(now, body, out));
        // It arrives after 20 ms, and its ACK may wait for 25 ms.
        pair.run(pair.now + MS(30));
        pair.tracing = true;
        pair.write(bytes);
        let (_, _, data) = pair.trace[0];
        assert_eq!(data.payload(), payload);
        assert!(data.quic().unwrap().contains(QuicBits::ACK));
        // It leaves once.
        pair.run(pair.now + MS(15));
        let acks = pair.trace.iter().filter(|(_, from, p)| {
            *from == 0 && p.quic().is_some_and(|bits| bits.contains(QuicBits::ACK))
        });
        assert_eq!(acks.count(), 1);
    }
}
