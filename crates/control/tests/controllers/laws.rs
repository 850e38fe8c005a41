//! Model fuzz: whatever events arrive, every registered controller keeps the laws of `Controller`.

use proptest::prelude::*;
use slackwater_control::{
    Ack, AnyController, Cause, Config, CongestionEvent, Controller, Counters, PathReport, PathView,
    RateSample, Recovery, Sent, build, names,
};
use slackwater_core::{Bytes, Draw, Duration, Instant, Rate};

const MSS: u32 = 1448;

/// What may happen to a sender.
#[derive(Clone, Debug)]
enum Op {
    Advance(u64),
    Sent {
        packets: u32,
        after_idle: bool,
    },
    Ack {
        packets: u32,
        sacked: bool,
        rtt_us: Option<u32>,
        limited: bool,
        app: bool,
        ce: u32,
    },
    Loss(u8, u32),
    Undo,
    Recovered,
    Report {
        bps: u64,
        hol_us: u64,
        seq: u16,
        shared: bool,
    },
    Blocks {
        bytes: u64,
        span_us: u32,
        end: u16,
    },
    Counters(Counters),
    Timer,
    Resize(u32),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => (0u64..200_000_000).prop_map(Op::Advance),
        1 => (0u64..30_000_000_000).prop_map(Op::Advance),
        3 => (1u32..200, prop::bool::weighted(0.1))
            .prop_map(|(packets, after_idle)| Op::Sent { packets, after_idle }),
        8 => (
            0u32..100,
            any::<bool>(),
            prop::option::weighted(0.9, prop_oneof![Just(0u32), 1u32..200_000, any::<u32>()]),
            prop::bool::weighted(0.8),
            prop::bool::weighted(0.2),
            0u32..3,
        )
            .prop_map(|(packets, sacked, rtt_us, limited, app, ce)| Op::Ack {
                packets,
                sacked,
                rtt_us,
                limited,
                app,
                ce,
            }),
        2 => (0u8..3, 1u32..50).prop_map(|(kind, packets)| Op::Loss(kind, packets)),
        1 => Just(Op::Undo),
        1 => Just(Op::Recovered),
        4 => (
            // Rates of radios, of none, and of nothing.
            prop_oneof![6 => 1u64..200_000_000, 1 => any::<u64>(), 1 => Just(0)],
            prop_oneof![6 => 0u64..40_000, 1 => 0u64..20_000_000, 1 => Just(0)],
            // Mostly forward; any counter after a silence.
            prop_oneof![3 => 0u16..900, 1 => any::<u16>()],
            any::<bool>(),
        )
            .prop_map(|(bps, hol_us, seq, shared)| Op::Report {
                bps,
                hol_us,
                seq,
                shared,
            }),
        4 => (
            prop_oneof![6 => 0u64..100_000, 1 => any::<u64>(), 1 => Just(0)],
            prop_oneof![6 => 0u32..50_000, 1 => any::<u32>()],
            prop_oneof![3 => 0u16..900, 1 => any::<u16>()],
        )
            .prop_map(|(bytes, span_us, end)| Op::Blocks { bytes, span_us, end }),
        4 => (
            // Mostly forward; any clock after a silence or of another base station.
            prop_oneof![3 => 0u32..400, 1 => any::<u32>()],
            prop_oneof![6 => 0u32..200_000, 1 => any::<u32>()],
            prop_oneof![6 => 0u32..200_000, 1 => any::<u32>(), 1 => Just(0)],
            prop_oneof![6 => 0u32..100_000, 1 => any::<u32>()],
            prop_oneof![3 => Just(0), 1 => any::<u32>()],
            (any::<u16>(), 0u64..40_000, 0u8..4),
        )
            .prop_map(|(stamp, gone, offered, backlog, company, (dropped, hol_us, active))| {
                Op::Counters(Counters {
                    stamp,
                    gone,
                    offered,
                    dropped,
                    backlog,
                    company,
                    hol: Duration::from_micros(hol_us),
                    active,
                    instance: u8::from(stamp % 16 == 0),
                    upload: dropped % 4 == 0,
                })
            }),
        2 => Just(Op::Timer),
        1 => (1u32..9000).prop_map(Op::Resize),
    ]
}

/// A host that is consistent where the contract asks for it, and arbitrary otherwise.
struct Host {
    now: Instant,
    path: PathView,
    una: u64,
    next: u64,
    flight: u64,
    delivered: u64,
    lost: u64,
    recovery: Recovery,
    counters: Counters,
}

impl Host {
    fn new() -> Self {
        let mut path = PathView::default();
        path.mss = MSS;
        path.wire_mss = MSS + 52;
        Self {
            now: Instant::from_millis(1),
            path,
            una: 0,
            next: 0,
            flight: 0,
            delivered: 0,
            lost: 0,
            recovery: Recovery::Open,
            counters: Counters::default(),
        }
    }

    fn apply(&mut self, c: &mut AnyController, op: &Op) {
        let mss = u64::from(self.path.mss);
        match *op {
            Op::Advance(ns) => self.now += Duration::from_nanos(ns),
            Op::Sent {
                packets,
                after_idle,
            } => {
                for i in 0..packets {
                    self.next += mss;
                    self.flight += mss;
                    self.path.in_flight = Bytes(self.flight);
                    let mut sent = Sent::default();
                    sent.bytes = Bytes(mss);
                    sent.after_idle = after_idle && i == 0;
                    c.on_sent(self.now, &self.path, &sent);
                }
            }
            Op::Ack {
                packets,
                sacked,
                rtt_us,
                limited,
                app,
                ce,
            } => {
                let bytes = (u64::from(packets) * mss).min(self.flight);
                let prior = self.flight;
                self.flight -= bytes;
                let prior_delivered = self.delivered.saturating_sub(prior);
                self.delivered += bytes;
                let moved = if sacked {
                    0
                } else {
                    bytes.min(self.next - self.una)
                };
                self.una += moved;
                let rtt = rtt_us.map(|us| Duration::from_micros(u64::from(us)));
                if let Some(rtt) = rtt {
                    self.path.srtt = rtt;
                    self.path.min_rtt = if self.path.min_rtt.is_zero() {
                        rtt
                    } else {
                        self.path.min_rtt.min(rtt)
                    };
                }
                self.path.in_flight = Bytes(self.flight);
                let mut ack = Ack::default();
                ack.newly_acked = Bytes(bytes);
                ack.cumulative = Bytes(moved);
                ack.newly_lost = if app { Bytes(mss) } else { Bytes::ZERO };
                ack.prior_in_flight = Bytes(prior);
                ack.rtt = rtt;
                let mut rate = RateSample::default();
                rate.delivered = Bytes(self.delivered - prior_delivered);
                rate.interval = rtt.unwrap_or_default();
                rate.prior_delivered = Bytes(prior_delivered);
                rate.app_limited = app;
                ack.rate = Some(rate);
                ack.ecn.ce = ce;
                ack.ecn.ect1 = packets.saturating_sub(ce);
                ack.delivered = Bytes(self.delivered);
                ack.lost = Bytes(self.lost);
                ack.app_limited = app;
                ack.cwnd_limited = limited;
                ack.recovery = self.recovery;
                ack.una = self.una;
                ack.next = self.next;
                c.on_ack(self.now, &self.path, &ack);
            }
            Op::Loss(kind, packets) => {
                let kind = [Cause::Loss, Cause::Ecn, Cause::Timeout][usize::from(kind)];
                let lost = u64::from(packets) * mss;
                self.lost += lost;
                let before = c.intent().window;
                let event = CongestionEvent::new(kind, Bytes(lost), Bytes(self.flight), self.next);
                c.on_congestion(self.now, &self.path, &event);
                // The segment size may have changed since; the law is about the same number of bytes.
                let after = c.intent().window;
                if let (Some(before), Some(after)) = (before, after) {
                    assert!(
                        after <= before.max(Bytes(mss)),
                        "{}: {kind:?} raised the window from {before} to {after}",
                        c.name()
                    );
                }
                self.recovery = match kind {
                    Cause::Loss => Recovery::Fast,
                    Cause::Ecn => Recovery::Cwr,
                    Cause::Timeout => Recovery::Timeout,
                };
                if kind == Cause::Timeout {
                    self.flight = 0;
                    self.path.in_flight = Bytes::ZERO;
                }
            }
            Op::Undo => {
                c.on_undo(self.now, &self.path);
                self.recovery = Recovery::Open;
            }
            Op::Recovered => {
                c.on_recovered(self.now, &self.path);
                self.recovery = Recovery::Open;
            }
            Op::Report {
                bps,
                hol_us,
                seq,
                shared,
            } => {
                let report = PathReport::Share {
                    rate: Rate::from_bps(bps),
                    hol_delay: Duration::from_micros(hol_us),
                    seq,
                    shared,
                };
                c.on_report(self.now, &self.path, &report);
            }
            Op::Blocks {
                bytes,
                span_us,
                end,
            } => {
                let report = PathReport::TransportBlocks {
                    bytes: Bytes(bytes),
                    span: Duration::from_micros(u64::from(span_us)),
                    end,
                };
                c.on_report(self.now, &self.path, &report);
            }
            // Stamp and counters of the operation are steps.
            Op::Counters(step) => {
                self.counters = Counters {
                    stamp: self.counters.stamp.wrapping_add(step.stamp),
                    gone: self.counters.gone.wrapping_add(step.gone),
                    offered: self.counters.offered.wrapping_add(step.offered),
                    ..step
                };
                c.on_report(self.now, &self.path, &PathReport::Counters(self.counters));
            }
            Op::Timer => {
                if c.next_timer().is_some() {
                    c.on_timer(self.now, &self.path);
                }
            }
            // Nothing is in flight across a change of the segment size, so that the counters stay whole.
            Op::Resize(mss) => {
                if self.flight == 0 {
                    self.path.mss = mss;
                    self.path.wire_mss = mss + 52;
                    // Controllers learn of it with the next event.
                    self.apply(
                        c,
                        &Op::Sent {
                            packets: 1,
                            after_idle: false,
                        },
                    );
                    self.apply(
                        c,
                        &Op::Ack {
                            packets: 1,
                            sacked: false,
                            rtt_us: Some(40_000),
                            limited: true,
                            app: false,
                            ce: 0,
                        },
                    );
                }
            }
        }
    }

    fn check(&self, c: &AnyController) {
        let intent = c.intent();
        let name = c.name();
        if let Some(window) = intent.window {
            assert!(
                window.0 >= u64::from(self.path.mss),
                "{name}: window {window}"
            );
            // Finite: a window is a number of segments below 2^31.
            assert!(
                window.0 <= u64::from(self.path.mss) << 31,
                "{name}: window {window}"
            );
        }
        if let Some(rate) = intent.pacing {
            assert!(
                rate.as_bps() > 0 && rate.as_bps() < u64::MAX,
                "{name}: pacing {rate}"
            );
        }
        let mut values = Vec::new();
        c.snapshot(&mut values);
        for (key, value) in values {
            assert!(value.is_finite(), "{name}: {key} is {value}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_controller_keeps_the_laws(
        ops in prop::collection::vec(op(), 1..120),
        cut in 0usize..120,
    ) {
        for (name, _) in names() {
            let cfg = Config::new(MSS, Draw::new(3));
            let mut c = build(name, &cfg).expect("a listed name builds");
            let mut host = Host::new();
            for op in &ops[..cut.min(ops.len())] {
                host.apply(&mut c, op);
                host.check(&c);
            }
            // From here a boxed copy runs the same events: same state, same intent.
            let mut copy = AnyController::from(c.clone_box());
            let mut twin = Host { ..host };
            for op in &ops[cut.min(ops.len())..] {
                host.apply(&mut c, op);
                twin.apply(&mut copy, op);
                host.check(&c);
                prop_assert_eq!(c.intent(), copy.intent(), "{}", name);
            }
        }
    }
}

#[test]
fn growth_and_decrease_of_illinois_can_be_bounded() {
    let config = Config::new(MSS, Draw::new(1));
    let alpha = |name: &str| {
        let mut values = vec![];
        build(name, &config)
            .expect("it is known")
            .snapshot(&mut values);
        values.iter().find(|(key, _)| *key == "alpha").map(|v| v.1)
    };
    assert_eq!(alpha("illinois"), Some(10.0));
    assert_eq!(alpha("illinois:growth=1,cut=0.5"), Some(1.0));
    for wrong in ["illinois:growth=11", "illinois:cut=0.1", "illinois:beta=1"] {
        assert!(build(wrong, &config).is_err(), "{wrong}");
    }
}
