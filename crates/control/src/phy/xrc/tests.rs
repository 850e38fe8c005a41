//! A sender driven by hand, and what both profiles have in common.

use proptest::prelude::*;
use slackwater_core::{Bytes, Duration, Instant, Rate};

use super::sender::Algorithm;
use super::*;
use crate::{
    Ack, Cause, CongestionEvent, Controller as _, PathReport, PathView, RateSample, Recovery, Sent,
};

pub(super) const MSS: u32 = 1448;
pub(super) const WIRE: f64 = 1500.0;
/// A cell of 34 Mbit/s behind 38 ms: a target of 107.7 segments without slack.
pub(super) const C: f64 = 34e6;
/// Microseconds.
pub(super) const MIN_RTT: u64 = 38_000;
/// `34 Mbit/s * 38 ms / 1500 B`.
pub(super) const TWND: f64 = C * 0.038 / (8.0 * WIRE);

/// A sender with reports, driven by hand: a round is one window of ACKs.
pub(super) struct Bench<A> {
    pub(super) c: Sender<A>,
    pub(super) now: Instant,
    pub(super) path: PathView,
    una: u64,
    pub(super) next: u64,
    delivered: u64,
    pub(super) recovery: Recovery,
    pub(super) limited: bool,
    pub(super) app_limited: bool,
    /// What the agent reports now: bit/s, head-of-line delay in us, others.
    pub(super) reported: Option<(f64, u64, bool)>,
}

impl<A: Algorithm> Bench<A> {
    pub(super) fn with(c: Sender<A>) -> Self {
        let path = PathView {
            mss: MSS,
            wire_mss: WIRE as u32,
            srtt: Duration::from_micros(MIN_RTT),
            min_rtt: Duration::from_micros(MIN_RTT),
            ..PathView::default()
        };
        Self {
            c,
            now: Instant::from_millis(1_000),
            path,
            una: 0,
            next: 0,
            delivered: 0,
            recovery: Recovery::Open,
            limited: true,
            app_limited: false,
            reported: Some((C, 0, false)),
        }
    }

    pub(super) fn send(&mut self) {
        let window = self.c.intent().window.expect("a window").0;
        self.next = self.next.max(self.una + window);
        self.path.in_flight = Bytes(self.next - self.una);
    }

    pub(super) fn report(&mut self) {
        if let Some((bps, hol_us, shared)) = self.reported {
            let report = PathReport::Share {
                rate: Rate::from_bps(bps as u64),
                hol_delay: Duration::from_micros(hol_us),
                seq: (self.now.as_nanos() / 1_000_000) as u16,
                shared,
            };
            self.c.on_report(self.now, &self.path, &report);
        }
    }

    /// An ACK of one segment.
    pub(super) fn ack(&mut self, rtt_us: u64) {
        self.report();
        let prior = self.path.in_flight;
        self.una += u64::from(MSS);
        self.delivered += u64::from(MSS);
        self.next = self.next.max(self.una);
        self.path.in_flight = Bytes(self.next - self.una);
        let ack = Ack {
            newly_acked: Bytes(u64::from(MSS)),
            cumulative: Bytes(u64::from(MSS)),
            prior_in_flight: prior,
            rtt: Some(Duration::from_micros(rtt_us)),
            rate: Some(RateSample::default()),
            delivered: Bytes(self.delivered),
            cwnd_limited: self.limited,
            app_limited: self.app_limited,
            recovery: self.recovery,
            una: self.una,
            next: self.next,
            ..Ack::default()
        };
        self.c.on_ack(self.now, &self.path, &ack);
        self.send();
    }

    /// Acknowledges what is in flight over `rtt_us`, so that the next ACK ends the window of data; then that ACK.
    pub(super) fn round(&mut self, rtt_us: u64) {
        self.path.srtt = Duration::from_micros(rtt_us);
        self.send();
        let rounds = self.c.s.round.count;
        let n = ((self.next - self.una) / u64::from(MSS)).max(1);
        let gap = Duration::from_micros(rtt_us) / n;
        for _ in 0..2 * n {
            self.now += gap;
            self.ack(rtt_us);
            if self.c.s.round.count > rounds {
                return;
            }
        }
        panic!("a round ends within two windows of ACKs");
    }

    pub(super) fn lose(&mut self, kind: Cause) {
        let event = CongestionEvent::new(kind, Bytes(1), self.path.in_flight, self.next);
        self.c.on_congestion(self.now, &self.path, &event);
    }

    /// The window is `segments`, and as many are in flight.
    pub(super) fn narrow(&mut self, segments: f64) {
        self.c.s.cwnd = segments;
        self.next = self.una + segments as u64 * u64::from(MSS);
        self.path.in_flight = Bytes(self.next - self.una);
        self.c.s.round.cut_short();
        self.c.end_round(
            self.now,
            &self.path,
            &Ack {
                next: self.next,
                una: self.una,
                delivered: Bytes(self.delivered),
                ..Ack::default()
            },
        );
        self.c.s.cwnd = segments;
        self.c.s.enter(Mode::Probe, 0.0);
    }

    pub(super) fn cwnd(&self) -> f64 {
        self.c.s.cwnd
    }
}

pub(super) fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-3 * b.abs().max(1.0), "{a} is not {b}");
}

#[test]
fn modes_have_names() {
    assert_eq!(MODES.len(), Mode::Compete as usize + 1);
    assert_eq!(mode_name(Mode::Unfair as u8), "UNFAIR");
    assert_eq!(mode_name(Mode::SlowStart as u8), "SLOW_START");
    assert_eq!(mode_name(200), "?");
}

/// What may happen to a sender.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// An ACK after so many us: RTT in us, what the host says of its recovery, use of the window.
    Ack(u64, u64, Recovery, bool),
    /// A report: bit/s, head-of-line delay in us, other flows.
    Report(u64, u64, bool),
    /// A congestion event.
    Loss(Cause),
    /// The last one was spurious.
    Undo,
    /// Recovery ended.
    Recovered,
    /// A packet after an idle time of so many ms.
    Sent(u64),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    use Event as E;
    let recovery = prop_oneof![
        6 => Just(Recovery::Open),
        1 => Just(Recovery::Fast),
        1 => Just(Recovery::Timeout),
    ];
    let loss = prop_oneof![Just(Cause::Loss), Just(Cause::Ecn), Just(Cause::Timeout)];
    let event = prop_oneof![
        30 => (0u64..5_000, 38_000u64..90_000, recovery, prop::bool::weighted(0.9))
            .prop_map(|(after, rtt, recovery, used)| E::Ack(after, rtt, recovery, used)),
        8 => (1_000_000u64..60_000_000, 0u64..40_000, any::<bool>())
            .prop_map(|(bps, hol, shared)| E::Report(bps, hol, shared)),
        1 => loss.prop_map(E::Loss),
        1 => Just(E::Undo),
        1 => Just(E::Recovered),
        1 => (0u64..900).prop_map(E::Sent),
    ];
    prop::collection::vec(event, 1..600)
}

impl<A: Algorithm> Bench<A> {
    fn apply(&mut self, event: Event) {
        match event {
            Event::Ack(after, rtt, recovery, used) => {
                self.now += Duration::from_micros(after);
                self.path.srtt = Duration::from_micros(rtt);
                self.recovery = recovery;
                self.limited = used;
                self.app_limited = !used;
                self.ack(rtt);
            }
            Event::Report(bps, hol, shared) => {
                self.reported = Some((bps as f64, hol, shared));
                self.report();
                self.reported = None;
            }
            Event::Loss(kind) => self.lose(kind),
            Event::Undo => self.c.on_undo(self.now, &self.path),
            Event::Recovered => self.c.on_recovered(self.now, &self.path),
            Event::Sent(idle) => {
                self.now += Duration::from_millis(idle);
                let sent = Sent {
                    after_idle: true,
                    ..Sent::default()
                };
                self.c.on_sent(self.now, &self.path, &sent);
            }
        }
    }

    /// Each internal by its name, as bits.
    fn internals(&self) -> std::collections::BTreeMap<&'static str, u64> {
        let mut out = vec![];
        self.c.snapshot(&mut out);
        out.into_iter()
            .map(|(name, v)| (name, v.to_bits()))
            .collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// The product with every addition off is the paper's sender, to the last bit, whatever happens.
    #[test]
    fn without_its_additions_the_product_is_the_paper(events in events()) {
        let mut paper = Bench::with(Sender::paper(MSS, 10));
        let mut product = Bench::with(Xrc::new("xrc-paper", Params::PAPER, MSS, 10));
        for event in events {
            paper.apply(event);
            product.apply(event);
            prop_assert_eq!(paper.c.intent(), product.c.intent());
            let (ours, theirs) = (paper.internals(), product.internals());
            for (name, value) in &ours {
                prop_assert_eq!(Some(value), theirs.get(name), "{} after {:?}", name, event);
            }
        }
    }
}
