use proptest::prelude::*;
use slackwater_core::{Body, FlowId, Packet, Rtcp, Segment, SeqNum, TcpFlags};

use super::*;

const UE: UeId = UeId(0);
const LEN: u16 = 1500;

fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

/// The acknowledgment's number.
fn number(p: &Packet) -> u32 {
    p.segment().expect("an acknowledgment").ack.0
}

fn data(flow: u32, n: u32) -> Packet {
    Packet {
        flow: FlowId(flow),
        len: LEN,
        body: Body::Tcp(Segment {
            seq: SeqNum(n),
            payload: LEN - 52,
            ..Segment::default()
        }),
        ..Packet::default()
    }
}

fn ack(flow: u32, n: u32) -> Packet {
    Packet {
        flow: FlowId(flow),
        len: 52,
        dir: Direction::Up,
        body: Body::Tcp(Segment {
            ack: SeqNum(n),
            flags: TcpFlags::ACK,
            ..Segment::default()
        }),
        ..Packet::default()
    }
}

/// A cell that serves `rate` packets a millisecond behind a Zhuge, in steps of a millisecond, without any way between.
struct Bench {
    zhuge: Zhuge<Packet>,
    now: u64,
    sent: u32,
    queue: Vec<u64>,
    /// When held packets came out, and which.
    out: Vec<(u64, u32)>,
}

impl Bench {
    fn new() -> Self {
        Self {
            zhuge: Zhuge::new(ZhugeConfig::default()),
            now: 0,
            sent: 0,
            queue: Vec::new(),
            out: Vec::new(),
        }
    }

    /// `sent` packets come, `served` leave, and the cell reports.
    fn step(&mut self, sent: u32, served: usize) {
        self.now += 1;
        let now = ms(self.now);
        for _ in 0..sent {
            self.sent += 1;
            let verdict = self
                .zhuge
                .on_packet(now, Direction::Down, UE, data(1, self.sent));
            assert!(matches!(verdict, Verdict::Forward(_)));
            self.queue.push(self.now);
        }
        let served = served.min(self.queue.len());
        self.queue.drain(..served);
        let report = RanReport::Backlog {
            at: now,
            ue: UE,
            flow: FlowId(1),
            bytes: Bytes(self.queue.len() as u64 * u64::from(LEN)),
        };
        EdgeFunction::<Packet>::on_report(&mut self.zhuge, now, &report);
        while let Some((direction, p)) = self.zhuge.release(now) {
            assert_eq!(direction, Direction::Up);
            self.out.push((self.now, number(&p)));
        }
    }

    fn steps(&mut self, n: u64, sent: u32, served: usize) {
        for _ in 0..n {
            self.step(sent, served);
        }
    }

    /// Milliseconds for which an ACK that comes now is held.
    fn hold(&mut self) -> f64 {
        let now = ms(self.now);
        let before = self.zhuge.stats().time;
        let serial = self.zhuge.serial as u32;
        let _ = self.zhuge.on_packet(now, Direction::Up, UE, ack(1, serial));
        self.zhuge
            .stats()
            .time
            .saturating_sub(before)
            .as_millis_f64()
    }
}

#[test]
fn connections_that_fell_silent_make_room_for_new_ones() {
    let mut zhuge: Zhuge<Packet> = Zhuge::new(ZhugeConfig::default());
    let mut comes = |at: u64, flow: u32| {
        let _ = zhuge.on_packet(ms(at), Direction::Down, UE, data(flow, 1));
        zhuge.flows.len()
    };
    let most = FLOWS as u32;
    for flow in 0..most {
        comes(0, flow);
    }
    comes(30_000, 7);
    assert_eq!(comes(30_001, most), FLOWS, "all may go on yet");
    // Of those before, the eighth alone was heard within a minute.
    assert_eq!(comes(60_000, most + 1), 2);
}

#[test]
fn a_queue_that_stands_holds_nothing_back() {
    let mut bench = Bench::new();
    // Ten packets wait, one comes and one leaves each millisecond: what comes waits as long as what leaves did.
    bench.step(10, 0);
    bench.steps(200, 1, 1);
    assert!(bench.hold() <= 1.0, "{}", bench.hold());
    // An empty queue neither.
    bench.steps(200, 1, 2);
    assert!(bench.hold() < 1e-9);
}

#[test]
fn a_slower_link_shows_in_the_next_acknowledgment() {
    let mut bench = Bench::new();
    bench.step(20, 0);
    bench.steps(200, 4, 4);
    let before = bench.hold();
    // A quarter of the rate: 40 ms later 140 packets wait, which take 140 ms, and what leaves has waited 35: its ACK would say
    // so, and says 105 ms more.
    bench.steps(40, 4, 1);
    let late = bench.hold();
    assert!(before <= 1.0, "{before} ms");
    assert!((100.0..110.0).contains(&late), "{late} ms");
}

#[test]
fn a_link_that_stops_shows_while_it_stands() {
    let mut bench = Bench::new();
    bench.step(20, 0);
    bench.steps(100, 4, 4);
    let mut last = 0.0;
    for _ in 0..4 {
        // What comes makes the queue longer, and nothing leaves.
        bench.steps(5, 2, 0);
        let (delay, _) = {
            bench.hold();
            bench.zhuge.tellers[0].told()
        };
        assert!(delay.as_millis_f64() > last + 5.0, "{delay} after {last}");
        last = delay.as_millis_f64();
    }
}

#[test]
fn acknowledgments_keep_their_order_and_come_out_in_time() {
    let mut bench = Bench::new();
    bench.step(20, 0);
    bench.steps(100, 4, 4);
    bench.steps(40, 4, 1);
    let first = bench.hold();
    assert!(first > 5.0);
    let held = bench.zhuge.held.len();
    assert!(held > 0);
    // The queue drains: later ones would go at once, and wait for those before.
    bench.steps(3, 0, 20);
    for _ in 0..3 {
        bench.hold();
    }
    bench.steps(250, 0, 0);
    let numbers: Vec<u32> = bench.out.iter().map(|o| o.1).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    assert_eq!(EdgeFunction::<Packet>::held(&bench.zhuge), Bytes::ZERO);
    assert!(EdgeFunction::<Packet>::next_timer(&bench.zhuge).is_none());
}

#[test]
fn without_fresh_reports_everything_passes() {
    let mut bench = Bench::new();
    bench.step(20, 0);
    bench.steps(100, 4, 4);
    bench.steps(40, 4, 1);
    bench.now += 21;
    assert!(bench.hold() < 1e-9);
}

#[test]
fn what_is_no_acknowledgment_passes_or_keeps_its_place() {
    let mut bench = Bench::new();
    bench.step(20, 0);
    bench.steps(100, 4, 4);
    bench.steps(40, 4, 1);
    let now = ms(bench.now);
    // Another connection, whose data does not come by here.
    let other = ack(7, 1);
    assert_eq!(
        bench.zhuge.on_packet(now, Direction::Up, UE, other),
        Verdict::Forward(other)
    );
    // RTCP: its own times are in it.
    let mut rtcp = ack(1, 1);
    rtcp.body = Body::Rtcp(Rtcp::default());
    assert_eq!(
        bench.zhuge.on_packet(now, Direction::Up, UE, rtcp),
        Verdict::Forward(rtcp)
    );
    // Data upwards is not held for itself, but must not overtake an acknowledgment.
    let mut up = ack(1, 2);
    up.segment_mut().unwrap().payload = 1000;
    up.len = 1052;
    assert_eq!(
        bench.zhuge.on_packet(now, Direction::Up, UE, up),
        Verdict::Forward(up)
    );
    assert!(bench.hold() > 5.0);
    assert_eq!(
        bench.zhuge.on_packet(now, Direction::Up, UE, up),
        Verdict::Hold
    );
}

#[test]
fn other_sessions_queues_are_their_own() {
    let mut bench = Bench::new();
    bench.step(20, 0);
    bench.steps(100, 4, 4);
    bench.steps(40, 4, 1);
    let now = ms(bench.now);
    let _ = bench
        .zhuge
        .on_packet(now, Direction::Down, UeId(1), data(5, 1));
    let quiet = ack(5, 1);
    assert_eq!(
        bench.zhuge.on_packet(now, Direction::Up, UeId(1), quiet),
        Verdict::Forward(quiet)
    );
}

proptest! {
    /// Whatever comes and is reported: nothing is lost, nothing overtakes in its connection, no hold exceeds the limit.
    #[test]
    fn every_acknowledgment_comes_out_once_in_order_and_in_time(
        steps in prop::collection::vec((0_u64..30, 0_u32..20, 0_u64..60_000, 0_u32..4, any::<bool>()), 1..200),
    ) {
        let mut zhuge = Zhuge::<Packet>::new(ZhugeConfig::default());
        let (mut now, mut sent, mut acked) = (0, 0, 0);
        let mut out: Vec<u32> = Vec::new();
        let mut came: Vec<u64> = Vec::new();
        for (wait, packets, backlog, acks, told) in steps {
            for _ in 0..=wait {
                while let Some((_, p)) = zhuge.release(ms(now)) {
                    out.push(number(&p));
                    prop_assert!(now - came[number(&p) as usize] <= 201);
                }
                now += 1;
            }
            for _ in 0..packets {
                sent += 1;
                let _ = zhuge.on_packet(ms(now), Direction::Down, UE, data(1, sent));
            }
            if told {
                let report = RanReport::Backlog { at: ms(now), ue: UE, flow: FlowId(1), bytes: Bytes(backlog) };
                EdgeFunction::<Packet>::on_report(&mut zhuge, ms(now), &report);
            }
            for _ in 0..acks {
                came.push(now);
                let p = ack(1, acked);
                acked += 1;
                while let Some((_, p)) = zhuge.release(ms(now)) {
                    out.push(number(&p));
                }
                if let Verdict::Forward(p) = zhuge.on_packet(ms(now), Direction::Up, UE, p) {
                    out.push(number(&p));
                }
            }
        }
        for _ in 0..210 {
            now += 1;
            while let Some((_, p)) = zhuge.release(ms(now)) {
                out.push(number(&p));
            }
        }
        prop_assert_eq!(out, (0..acked).collect::<Vec<u32>>());
        prop_assert_eq!(EdgeFunction::<Packet>::held(&zhuge), Bytes::ZERO);
    }
}
