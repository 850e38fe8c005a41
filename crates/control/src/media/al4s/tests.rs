use proptest::prelude::*;
use slackwater_core::{Bytes, Duration, Rate};
use slackwater_signal::MarkingScheme;

use super::congestion::GRADIENT;
use super::rate_controller::{alpha, drop, gamma};
use super::*;
use crate::PacketReport;

const FRAME: f64 = 1.0 / 60.0;

fn encoder(start: f64) -> Encoder {
    Encoder {
        start: Rate::from_mbps(start),
        ..Encoder::DEFAULT
    }
}

/// The rate in Mbit/s after one feedback `dt` seconds on.
fn after(params: &Params, aware: bool, start: f64, signs: Signs, dt: f64) -> f64 {
    let controller = RateController::new(params, aware);
    let mut scaler = RateScaler::new(&encoder(start));
    let over = params
        .share
        .map_or(1.0, |r0| (start * 1e6 / r0).clamp(OVER.0, OVER.1));
    scaler.apply(controller.vary(&signs, over), dt);
    scaler.rate() / 1e6
}

fn signs(fce: f64, gradient: f64, free: f64, pdv: f64) -> Signs {
    Signs {
        fce,
        gradient,
        free,
        pdv,
    }
}

fn near(found: f64, expected: f64, within: f64) {
    assert!(
        (found - expected).abs() <= within,
        "found {found}, expected {expected}"
    );
}

fn case(n: usize) -> MarkingScheme {
    let (low, high) = [(2, 10), (5, 20), (20, 50)][n - 1];
    MarkingScheme {
        low: Duration::from_millis(low),
        high: Duration::from_millis(high),
    }
}

#[test]
fn growth_follows_the_time_without_marks() {
    let rate = after(
        &Params::PAPER,
        false,
        10.0,
        signs(0.0, 0.5, 1.0, 0.0),
        FRAME,
    );
    near((rate - 10.0) * 1e6, 5000.0, 1e-3);
    near(alpha(AlphaMap::Direct, 0.5), 1.03, 1e-12);
    near(alpha(AlphaMap::Direct, 4.5), 1.07, 1e-12);
    near(alpha(AlphaMap::Inverse, 0.5), 1.07, 1e-12);
}

#[test]
fn some_marks_lower_the_rate_in_proportion() {
    let half = signs(0.5, 2.0, 0.0, 0.0);
    near(
        after(&Params::PAPER, false, 10.0, half, FRAME),
        10.0 - 10.0 / 60.0,
        1e-9,
    );
    let conscious = Params {
        scheme: Some(case(2)),
        ..Params::PAPER
    };
    near(after(&conscious, true, 10.0, half, FRAME), 9.9394, 5e-5);
    // Only cL4S knows.
    near(after(&conscious, false, 10.0, half, FRAME), 9.8333, 5e-5);
}

#[test]
fn all_marks_lower_it_by_the_delay_variation() {
    let all = |pdv_ms: f64| {
        let rate = after(
            &Params::PAPER,
            false,
            10.0,
            signs(1.0, 2.0, 0.0, pdv_ms * 1e-3),
            FRAME,
        );
        rate / 10.0 - 1.0
    };
    near(all(45.0), 6.0 / 45.0 - 1.0, 1e-12);
    near(10.0 * (1.0 + all(45.0)), 1.3333, 5e-5);
    near(all(12.0), -0.2063, 5e-5);
    near(10.0 * (1.0 + all(12.0)), 7.937, 5e-4);
    near(all(30.0), -0.5528, 5e-5);
    near(drop(0.2, 0.06), -0.97, 1e-12);
    near(all(200.0), -0.95, 1e-12);
    near(all(3.0), -2.0 / 60.0, 1e-12);
    near(all(-10_000.0), -2.0 / 60.0, 1e-12);
}

#[test]
fn gamma_for_each_service_and_marker() {
    let expected = [
        (20, [0.5, 1.0, 11.0]),
        (55, [0.1818, 0.3636, 0.9091]),
        (145, [0.1, 0.1379, 0.3448]),
    ];
    for (tq, row) in expected {
        for (n, expected) in row.into_iter().enumerate() {
            near(
                gamma(Duration::from_millis(tq), case(n + 1)),
                expected,
                5e-5,
            );
        }
    }
    // Between the thresholds, and its bound.
    near(gamma(Duration::from_millis(30), case(3)), 3.0, 1e-9);
    near(gamma(Duration::from_millis(21), case(3)), 10.0, 1e-9);
    near(gamma(Duration::from_millis(1), case(3)), 20.0, 1e-9);
}

#[test]
fn the_fair_share_bends_growth_and_decrease() {
    let p = Params::DEFAULT;
    near(
        after(&p, false, 10.0, signs(0.5, 2.0, 0.0, 0.0), FRAME),
        10.0 * (1.0 - 1.1 / 60.0),
        5e-5,
    );
    near(
        after(&p, false, 2.5, signs(0.0, 0.5, FRAME, 0.0), FRAME),
        2.50835,
        5e-6,
    );
    near(
        after(&p, false, 2.5, signs(0.5, 2.0, 0.0, 0.0), FRAME),
        2.5 * (1.0 - 0.5 / 60.0),
        5e-5,
    );
    let paper = after(
        &Params::PAPER,
        false,
        10.0,
        signs(0.5, 2.0, 0.0, 0.0),
        FRAME,
    );
    near(paper, 9.8333, 5e-5);
}

#[test]
fn the_gradient_rises_with_new_marks_and_falls_without() {
    let mut c = CongestionTracker::new(10);
    assert_eq!((c.gradient(), c.free()), (0.5, 0.0));
    c.update(0.4, FRAME);
    near(c.gradient(), 0.9, 1e-12);
    c.update(0.4, FRAME);
    near(c.gradient(), 1.3, 1e-12);
    for _ in 0..8 {
        c.update(0.4, FRAME);
    }
    near(c.gradient(), 4.5, 1e-12);
    // Ten feedbacks ago it was the same: no trend.
    let before = c.gradient();
    c.update(0.4, FRAME);
    near(c.gradient(), before, 1e-12);
    c.update(0.0, 0.1);
    near(c.gradient(), 4.4, 1e-12);
    c.update(0.0, 0.1);
    near(c.gradient(), 4.2, 1e-12);
    near(c.free(), 0.2, 1e-12);
    for _ in 0..100 {
        c.update(0.0, 0.1);
    }
    assert_eq!(c.gradient(), GRADIENT.0);
    c.update(0.01, 0.1);
    assert_eq!(c.free(), 0.0);
}

#[test]
fn delay_variation_is_between_groups() {
    let ms = Instant::from_millis;
    let mut pdv = PdvTracker::default();
    assert_eq!(pdv.update(ms(0), ms(1000)), 0.0);
    near(pdv.update(ms(16), ms(1031)), 0.015, 1e-12);
    near(pdv.update(ms(33), ms(1038)), -0.010, 1e-12);
    assert_eq!(
        pdv.update(ms(20), ms(2000)),
        0.0,
        "a group from before the last"
    );
    near(pdv.update(ms(43), ms(1048)), 0.0, 1e-12);
}

/// A sender, its path of `delay`, and a clock of the receiver an hour ahead.
struct Host {
    c: Al4s,
    now: Instant,
    seq: u64,
}

impl Host {
    fn new(params: Params) -> Self {
        Self {
            c: Al4s::standard(params, &encoder(10.0)),
            now: Instant::from_millis(1000),
            seq: 0,
        }
    }

    fn rate(&self) -> f64 {
        self.c.intent().target.unwrap().as_mbps()
    }

    /// Ten packets 20 ms on; the first `marks` of them marked, `delay_ms` on the way.
    fn frame(&mut self, delay_ms: u64, ecn: Ecn, marks: usize, lost: usize) -> Vec<PacketReport> {
        let path = PathView::default();
        self.now += Duration::from_millis(20);
        let sent = self.now.saturating_sub(Duration::from_millis(delay_ms));
        let report: Vec<_> = (0..10)
            .map(|i| {
                self.seq += 1;
                let ecn = if i < marks { Ecn::Ce } else { ecn };
                if i < lost {
                    return PacketReport::lost(self.seq, sent, Bytes(1200));
                }
                let arrived = self.now + Duration::from_secs(3600);
                PacketReport::received(self.seq, sent, arrived, Bytes(1200), ecn)
            })
            .collect();
        self.c.on_sent(sent, &path, &Sent::default());
        self.c.on_feedback(self.now, &path, &Feedback::new(&report));
        report
    }
}

#[test]
fn a_queue_without_marks_counts_after_five_seconds() {
    let mut host = Host::new(Params::DEFAULT);
    for _ in 0..25 {
        host.frame(10, Ecn::Ect1, 0, 0);
    }
    let before = host.rate();
    for _ in 0..100 {
        host.frame(60, Ecn::Ect1, 0, 0);
    }
    assert!(host.rate() > before, "marks may come yet");
    for _ in 0..150 {
        host.frame(60, Ecn::Ect1, 0, 0);
    }
    assert!(host.rate() < 0.5 * before, "{}", host.rate());
    // The paper's equations go by marks alone.
    let mut paper = Host::new(Params::PAPER);
    for _ in 0..25 {
        paper.frame(10, Ecn::Ect1, 0, 0);
    }
    let before = paper.rate();
    for _ in 0..300 {
        paper.frame(60, Ecn::Ect1, 0, 0);
    }
    assert!(paper.rate() > before);
}

#[test]
fn a_path_that_bleaches_is_known_at_once() {
    let mut host = Host::new(Params::DEFAULT);
    for _ in 0..3 {
        host.frame(10, Ecn::NotEct, 0, 0);
    }
    let before = host.rate();
    host.frame(60, Ecn::NotEct, 0, 0);
    assert!(host.rate() < before);
}

/// The guard's fractions over a path of 20 ms, packets each 10 ms, a feedback each 50 ms: `queue` in ms at a time in ms.
fn fractions(jitter_ms: f64, ms: u64, queue: impl Fn(u64) -> f64) -> Vec<f64> {
    let mut guard = DelayGuard::new(Params::DEFAULT.guard.unwrap());
    let draw = slackwater_core::Draw::new(7);
    let mut fractions = vec![];
    for at in (10..=ms).step_by(10) {
        let sent = Instant::from_millis(at);
        let way = 20.0 + queue(at) + jitter_ms * draw.uniform(at);
        let arrived = sent + Duration::from_secs_f64(way * 1e-3);
        guard.on_packet(arrived, sent, arrived, 1200, false);
        if at % 50 == 0 {
            fractions.push(guard.fraction(arrived, 0.0));
        }
    }
    fractions
}

#[test]
fn the_guard_tells_a_queue_from_jitter() {
    // Jitter of up to 30 ms, whose mean alone is at the low bound.
    let jitter = fractions(30.0, 60_000, |_| 0.0);
    let taken = jitter.iter().filter(|f| **f > 0.0).count();
    assert!(taken * 100 <= jitter.len(), "{taken} of {}", jitter.len());
    // A queue of 60 ms on top of it stands from 5 s on: it is seen within half a second.
    let stands = |at| if at > 5000 { 60.0 } else { 0.0 };
    let seen = fractions(30.0, 8000, stands);
    assert!(seen[110..].iter().all(|f| *f > 0.5), "{:?}", &seen[100..]);
    // Without jitter it is seen by the next feedback, and so is its end.
    let passes = |at| {
        if (5000..6000).contains(&at) {
            60.0
        } else {
            0.0
        }
    };
    let smooth = fractions(0.0, 8000, passes);
    assert!(smooth[..98].iter().all(|f| *f == 0.0));
    assert!(smooth[102..119].iter().all(|f| *f == 1.0));
    assert!(
        smooth[121..].iter().all(|f| *f == 0.0),
        "{:?}",
        &smooth[119..]
    );
}

#[test]
fn a_loss_falls_back_to_what_arrives_and_at_most_once_in_100_ms() {
    let mut host = Host::new(Params::DEFAULT);
    for _ in 0..50 {
        host.frame(10, Ecn::Ect1, 0, 0);
    }
    // Ten packets of 1200 bytes each 20 ms are 4.8 Mbit/s; with one lost, 4.7 in the last 100 ms.
    host.frame(10, Ecn::Ect1, 0, 1);
    near(host.rate(), 0.85 * 4.704, 1e-3);
    let after = host.rate();
    host.frame(10, Ecn::Ect1, 0, 1);
    near(host.rate(), after, 1e-9);
    let mut paper = Host::new(Params::PAPER);
    let before = paper.rate();
    paper.frame(10, Ecn::Ect1, 0, 5);
    assert!(paper.rate() >= before, "the paper does not speak of loss");
}

#[test]
fn beside_a_queue_that_others_hold_losses_count() {
    let mut host = Host::new(Params::DEFAULT);
    for _ in 0..25 {
        host.frame(10, Ecn::Ect1, 0, 0);
    }
    // A queue of 90 ms marks all packets, whatever the rate does.
    let mut ms = 0;
    while host.c.intent().ecn == EcnMode::L4s {
        host.frame(100, Ecn::Ect1, 10, 0);
        ms += 20;
        assert!(ms <= 2100, "two seconds suffice");
    }
    assert!(ms >= 2000, "{ms}");
    let fallen = host.rate();
    near(fallen, 0.3, 1e-9);
    assert!(fallen < 0.31, "a queue of more than TE came at once");
    for _ in 0..100 {
        host.frame(100, Ecn::NotEct, 0, 0);
    }
    // Below a quarter of R0, 4 K per second.
    near(
        host.rate(),
        fallen * libm::pow(1.0 + 0.4 * 0.02, 100.0),
        1e-3,
    );
    let before = host.rate();
    host.frame(100, Ecn::NotEct, 0, 1);
    near(host.rate(), 0.7 * before, 1e-6);
    host.frame(100, Ecn::NotEct, 0, 1);
    assert!(host.rate() >= 0.7 * before, "once in 100 ms");
    // The queue drains: marks count again, as soon as the average of its delays tells.
    for _ in 0..25 {
        host.frame(10, Ecn::NotEct, 0, 0);
    }
    assert_eq!(host.c.intent().ecn, EcnMode::L4s);
    let mut without = Host::new(Params {
        rival: rival::RivalRule::Off,
        ..Params::DEFAULT
    });
    for _ in 0..400 {
        without.frame(100, Ecn::Ect1, 10, 0);
    }
    assert_eq!(without.c.intent().ecn, EcnMode::L4s);
}

/// 60 s of a queue of 11 ms that is empty for `dip` each `period`, as told each 20 ms. When the flow began to go by losses.
fn beside_dips(rule: rival::RivalRule, period: u64, dip: u64, fce: f64) -> Option<u64> {
    let mut rival = rival::Rival::new(rule).unwrap();
    (0..60_000).step_by(20).find(|ms| {
        let empty = ms % period < dip;
        let queue = if empty { 0.5e6 } else { 11e6 };
        let seen = rival::Standing {
            fce: if empty { 0.0 } else { fce },
            lost: 0.0,
            queue,
            newest: queue,
            dt: 0.02,
        };
        rival.update(Instant::from_millis(1000 + ms), &seen, 1e6, 3e5)
    })
}

#[test]
fn three_dips_of_bbr_tell_of_it() {
    use rival::RivalRule::{Dips, Marked};
    // The third dip ends then.
    assert_eq!(beside_dips(Dips, 10_260, 240, 0.4), Some(20_760));
    assert_eq!(beside_dips(Marked, 10_260, 240, 0.4), None);
    for (period, dip, fce, why) in [
        (
            10_260,
            60,
            0.4,
            "too short, as the drain phases of its gain",
        ),
        (10_260, 900, 0.4, "a queue that drained"),
        (5_130, 240, 0.4, "another period"),
        (1_000, 240, 0.4, "a queue that comes and goes"),
        (10_260, 240, 0.0, "nothing holds the flow down"),
    ] {
        assert_eq!(beside_dips(Dips, period, dip, fce), None, "{why}");
    }
}

#[test]
fn silence_lowers_the_rate_in_steps() {
    let mut host = Host::new(Params::DEFAULT);
    host.frame(10, Ecn::Ect1, 0, 0);
    let before = host.rate();
    assert_eq!(host.c.next_timer(), None);
    let path = PathView::default();
    let start = host.now;
    host.c.on_sent(start, &path, &Sent::default());
    for step in 1..=4u64 {
        let at = host.c.next_timer().unwrap();
        assert_eq!(at, start + Duration::from_millis(500) * step);
        host.c.on_timer(at, &path);
        host.c.on_sent(at, &path, &Sent::default());
    }
    near(host.rate(), before * libm::pow(0.7, 4.0), 1e-6);
}

#[test]
fn reports_of_the_network_steer_what_they_should() {
    let mut c = Al4s::conscious(Params::DEFAULT, &encoder(10.0));
    let mut s = Al4s::standard(Params::PAPER, &encoder(10.0));
    let scheme = PathReport::MarkingScheme(case(2));
    let share = PathReport::Share {
        rate: Rate::from_mbps(7.0),
        hol_delay: Duration::ZERO,
        seq: 0,
        shared: true,
    };
    for report in [scheme, share] {
        c.on_report(Instant::ZERO, &PathView::default(), &report);
        s.on_report(Instant::ZERO, &PathView::default(), &report);
    }
    near(c.controller.gamma(), 20.0 / 55.0, 1e-12);
    assert_eq!(c.params.share, Some(7e6));
    assert_eq!((s.controller.gamma(), s.params.share), (1.0, None));
}

#[test]
fn names_carry_the_profile_and_parameters() {
    assert_eq!(Params::parse("default").unwrap(), Params::DEFAULT);
    assert_eq!(Params::parse("paper").unwrap(), Params::PAPER);
    let p = Params::parse("paper,te=25,low=5,high=20,w=20,alpha=inverse,pace=1").unwrap();
    assert_eq!(p.target, Duration::from_millis(25));
    assert_eq!(p.scheme, Some(case(2)));
    assert_eq!((p.history, p.alpha, p.pace), (20, AlphaMap::Inverse, 1.0));
    assert_eq!((p.share, p.guard), (None, None));
    for off in [Params::parse("rival=off").unwrap(), Params::PAPER] {
        assert_eq!(off.rival, rival::RivalRule::Off);
    }
    let standing = Params::parse("rival=standing").unwrap();
    assert_eq!(standing.rival, rival::RivalRule::Standing);
    let dips = Params::parse("rival=dips").unwrap();
    assert_eq!(dips.rival, rival::RivalRule::Dips);
    let p = Params::parse("r0=2.5,guard=wired").unwrap();
    assert_eq!(p.share, Some(2.5e6));
    assert_eq!(p.guard.unwrap().low, Duration::from_millis(10));
    for wrong in [
        "te=0",
        "low=5",
        "low=9,high=3",
        "te=25,paper",
        "r0=x",
        "what=1",
        "",
    ] {
        assert!(Params::parse(wrong).is_err(), "{wrong}");
    }
}

proptest! {
    /// One step obeys its bounds for any signs.
    #[test]
    fn a_step_stays_within_its_bounds(
        fce in prop_oneof![Just(0.0), 0.0..1.0, Just(1.0)],
        gradient in 0.5..4.5,
        free in 0.0..1e4,
        pdv in -1e9..1e9,
        start in 0.3..100.0,
        dt in 5e-4..0.1,
        share in any::<bool>(),
    ) {
        let params = if share { Params::DEFAULT } else { Params::PAPER };
        let rate = after(&params, true, start, signs(fce, gradient, free, pdv), dt);
        prop_assert!(rate.is_finite() && (0.3..=100.0).contains(&rate));
        prop_assert!(rate >= 0.049_999 * start || rate <= 0.3);
        if fce > 0.0 {
            prop_assert!(rate <= start);
        } else {
            prop_assert!(rate >= start);
        }
        let once = Variation::AtOnce { share: drop(pdv, 0.06), at_least: 0.0 };
        let mut scaler = RateScaler::new(&encoder(start));
        scaler.apply(once, dt);
        prop_assert!(scaler.rate() <= start * 1e6 + 1.0);
    }
}

#[test]
fn r0_is_what_counters_promise_and_the_shipped_one_without_them() {
    let counted = Params::parse("r0=ebb").expect("it is right");
    assert_eq!(
        (counted.share, counted.counted),
        (Params::DEFAULT.share, true)
    );
    let mut c = Al4s::conscious(counted, &encoder(2.0));
    assert!(c.takes_counters());
    assert!(!Al4s::conscious(Params::DEFAULT, &encoder(2.0)).takes_counters());
    let rtt = Duration::from_millis(40);
    let path = PathView {
        srtt: rtt,
        min_rtt: rtt,
        mss: 1160,
        wire_mss: 1200,
        // Ten reports' worth.
        in_flight: Bytes(60_000),
        ..PathView::default()
    };
    let mut counters = slackwater_signal::Counters::default();
    // 12 Mbit/s of 1,200 bytes each 0.8 ms, all of them leave, and a radio of 24.
    for n in 1..=500u32 {
        let at = Instant::from_millis(u64::from(4 * n));
        let sent = Sent {
            bytes: Bytes(6000),
            ..Sent::default()
        };
        c.on_sent(at, &path, &sent);
        counters.stamp = slackwater_signal::Counters::stamp_of(at);
        counters.gone = 6000 * n.saturating_sub(10);
        counters.offered = 12_000 * n;
        c.on_report(at, &path, &PathReport::Counters(counters));
    }
    let r0 = c.params().share.expect("it has one") / 1e6;
    assert!((20.0..40.0).contains(&r0), "{r0}");
    assert!(c.next_timer().is_some(), "reports may end");
    c.on_timer(Instant::from_millis(2200), &path);
    assert_eq!(c.params().share, Params::DEFAULT.share);
}
