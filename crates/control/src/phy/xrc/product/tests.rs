//! Each addition, and each rule in the default profile.

use proptest::prelude::*;

use super::super::Xrc;
use super::super::tests::{Bench, C, MIN_RTT, MSS, TWND, near};
use super::*;
use crate::{Controller as _, PathReport, Recovery};

impl Bench<Product> {
    fn new(params: Params) -> Self {
        Self::window(params, 10)
    }

    fn window(params: Params, initial: u32) -> Self {
        Self::with(Xrc::new("xrc", params, MSS, initial))
    }

    /// Past START, at the target, with a peak that believes `C`.
    fn settled(params: Params) -> Self {
        let mut b = Self::window(params, 108);
        for _ in 0..4 {
            b.round(MIN_RTT);
        }
        assert_eq!(b.c.mode(), Mode::Probe);
        b
    }
}

/// The default profile without slack and floors, so that windows are the paper's numbers.
fn bare() -> Params {
    Params {
        theta: 0.0,
        jitter: 0.0,
        spread: 0.0,
        least_segments: 0.0,
        lambda: 0.010,
        ..Params::DEFAULT
    }
}

#[test]
fn the_target_is_rate_times_least_rtt_in_whole_packets() {
    let mut b = Bench::settled(bare());
    near(b.c.s.twnd, 107.667);
    b.reported = Some((C / 4.0, 0, true));
    b.ack(MIN_RTT);
    near(b.c.s.twnd, TWND / 4.0);
    // Never below two segments.
    b.reported = Some((1_000.0, 1_000, true));
    b.ack(MIN_RTT);
    assert_eq!(b.c.s.twnd, 2.0);
    // With 3 ms of slack: 34 Mbit/s in 41 ms.
    let b = Bench::settled(Params {
        theta: 0.003,
        ..bare()
    });
    near(b.c.s.twnd, 116.167);
}

#[test]
fn start_goes_from_ten_segments_to_the_target_in_a_round_paced_at_it() {
    let mut b = Bench::new(bare());
    b.send();
    b.ack(MIN_RTT);
    assert_eq!(b.c.mode(), Mode::Start);
    let pacing = b.c.intent().pacing.expect("START is paced");
    near(pacing.as_bps() as f64, C);
    for _ in 1..9 {
        b.ack(MIN_RTT);
    }
    assert!(b.cwnd() < TWND);
    b.ack(MIN_RTT);
    near(b.cwnd(), TWND);
    // At the target for an RTT, from then on a little faster.
    b.now += Duration::from_micros(MIN_RTT + 1);
    b.ack(MIN_RTT);
    let pacing = b.c.intent().pacing.expect("a large window is paced");
    near(pacing.as_bps() as f64, 1.2 * C * b.cwnd() / TWND);
}

#[test]
fn a_large_window_is_paced_while_reports_steer_it_and_nobody_shares_the_queue() {
    let paced = |b: &mut Bench<Product>| {
        // Past FAST's own pacing.
        b.now += Duration::from_micros(2 * MIN_RTT);
        b.ack(MIN_RTT);
        b.c.intent().pacing.is_some()
    };
    let settled = || {
        let mut b = Bench::new(bare());
        for _ in 0..5 {
            b.round(MIN_RTT);
        }
        assert_eq!(b.c.mode(), Mode::Probe);
        b
    };
    let mut b = settled();
    assert!(paced(&mut b));
    // Two initial windows are ten segments each.
    b.narrow(20.0);
    assert!(!paced(&mut b));
    b.narrow(20.5);
    assert!(paced(&mut b));
    // Another flow's packets in the queue.
    b.reported = Some((C, 0, true));
    assert!(!paced(&mut b));
    b.reported = Some((C, 0, false));
    assert!(paced(&mut b));
    // Slow start after a timeout, and no reports: as any TCP sender.
    b.lose(Cause::Timeout);
    assert_eq!(b.c.intent().pacing, None);
    let mut b = settled();
    b.reported = None;
    b.now += Duration::from_millis(300);
    assert!(!paced(&mut b));
}

#[test]
fn start_ignores_a_queue_until_the_target_was_near_and_without_start_a_queue_stops() {
    for (start, mode) in [(true, Mode::Start), (false, Mode::Reset)] {
        let mut b = Bench::new(Params { start, ..bare() });
        // Others fill the queue: 40 ms.
        b.reported = Some((C / 2.0, 40_000, true));
        b.send();
        b.ack(78_000);
        assert_eq!(b.c.mode(), mode);
    }
    let mut b = Bench::new(bare());
    b.reported = Some((C / 2.0, 40_000, true));
    b.round(78_000);
    b.round(78_000);
    assert!(!b.c.algorithm.start && b.cwnd() >= 0.9 * b.c.s.twnd);
    b.round(78_000);
    assert_ne!(b.c.mode(), Mode::Start);
}

#[test]
fn fast_stops_where_a_queue_of_its_own_is_above_the_budget() {
    for (shared, stops) in [(false, true), (true, false)] {
        let mut b = Bench::new(bare());
        b.send();
        b.ack(MIN_RTT);
        b.reported = Some((C, 15_000, shared));
        let before = b.cwnd();
        b.ack(MIN_RTT);
        assert_eq!(b.cwnd() == before, stops);
        assert_eq!(b.c.algorithm.start, !stops);
    }
}

#[test]
fn at_the_target_a_segment_per_rtt() {
    let mut b = Bench::settled(bare());
    let before = b.cwnd();
    for _ in 0..5 {
        b.round(MIN_RTT);
    }
    assert!((4.9..=5.1).contains(&(b.cwnd() - before)));
}

#[test]
fn a_queue_above_the_budget_resets_then_slows_then_turns_unfair_where_others_are() {
    for (shared, last) in [(true, Mode::Unfair), (false, Mode::Reset)] {
        let mut b = Bench::settled(bare());
        b.c.s.cwnd = 130.0;
        b.reported = Some((C, 12_000, shared));
        b.round(50_000);
        assert_eq!((b.c.mode(), b.c.s.high), (Mode::Reset, 1));
        near(b.cwnd(), TWND);
        for k in 2..=11 {
            // Whatever grew meanwhile, the cap holds.
            b.c.s.cwnd = 140.0;
            b.round(50_000);
            assert_eq!((b.c.mode(), b.c.s.high), (Mode::Slow, k));
            let over = b.cwnd() - (b.c.s.twnd + f64::from(k - 1));
            assert!((0.0..=0.1).contains(&over), "{over}");
        }
        b.round(50_000);
        assert_eq!(b.c.mode(), last);
        if shared {
            near(b.c.s.growth.alpha, TWND);
            let before = b.cwnd();
            b.round(50_000);
            let grown = b.cwnd() - before;
            assert!((TWND * 0.97..=TWND * 1.03).contains(&grown), "{grown}");
            // The queue is gone: back to the target.
            b.reported = Some((C, 1_000, true));
            b.round(MIN_RTT);
            assert!(b.cwnd() <= b.c.s.twnd + 1.1);
        }
    }
}

#[test]
fn a_loss_in_the_unfairness_mode_leads_to_the_target_any_other_to_half() {
    let mut b = Bench::settled(bare());
    b.reported = Some((C, 12_000, true));
    for _ in 0..13 {
        b.round(50_000);
    }
    assert_eq!(b.c.mode(), Mode::Unfair);
    assert!(b.cwnd() > 200.0);
    b.lose(Cause::Loss);
    near(b.cwnd(), TWND);
    near(b.c.s.ssthresh, TWND);
    assert_eq!((b.c.mode(), b.c.s.high), (Mode::Recovery, 0));

    let mut b = Bench::settled(bare());
    let before = b.cwnd();
    b.lose(Cause::Loss);
    near(b.cwnd(), before / 2.0);
    // Once per window, and no growth until recovery ends.
    b.lose(Cause::Loss);
    b.recovery = Recovery::Fast;
    b.ack(MIN_RTT);
    near(b.cwnd(), before / 2.0);
    // A spurious one is undone.
    b.c.on_undo(b.now, &b.path);
    near(b.cwnd(), before);
}

#[test]
fn a_timeout_leads_to_slow_start_up_to_the_target() {
    let mut b = Bench::settled(Params {
        resume: false,
        ..bare()
    });
    b.lose(Cause::Timeout);
    assert_eq!((b.cwnd(), b.c.mode()), (1.0, Mode::SlowStart));
    near(b.c.s.ssthresh, TWND);
    b.recovery = Recovery::Timeout;
    b.ack(MIN_RTT);
    b.ack(MIN_RTT);
    near(b.cwnd(), 3.0);
    for _ in 0..105 {
        b.ack(MIN_RTT);
    }
    near(b.cwnd(), TWND);
    assert!(!b.c.s.slow_start);
    // Reports that are gone by then say nothing of the threshold.
    let mut b = Bench::settled(bare());
    let half = b.cwnd() / 2.0;
    b.now += Duration::from_millis(201);
    b.lose(Cause::Timeout);
    near(b.c.s.ssthresh, half);
}

#[test]
fn alone_with_a_standing_queue_the_target_shrinks_to_what_arrives_and_heals() {
    let mut b = Bench::settled(bare());
    // Reported 1.5 times too high: the window of 161 holds a queue of 19 ms.
    b.reported = Some((C * 1.5, 19_000, false));
    b.c.s.cwnd = TWND * 1.5;
    for _ in 0..12 {
        b.round(57_000);
    }
    assert_eq!(b.c.mode(), Mode::Reset);
    assert!(
        (0.63..=0.72).contains(&b.c.algorithm.gamma),
        "{}",
        b.c.algorithm.gamma
    );
    near(b.c.s.twnd, TWND * 1.5 * b.c.algorithm.gamma);
    // Each window with a short queue that delivers what the factor leaves gives back a hundredth.
    let gamma = b.c.algorithm.gamma;
    b.reported = Some((C * 1.5, 1_000, false));
    b.round(MIN_RTT);
    b.round(MIN_RTT);
    let healed = b.c.algorithm.gamma - gamma;
    assert!((0.009..=0.021).contains(&healed), "{healed}");
    // A loss cuts at once where the queue stood for three windows, and not before.
    for (windows, cut) in [(2, false), (3, true)] {
        let mut b = Bench::settled(bare());
        b.reported = Some((C * 2.0, 20_000, false));
        for _ in 0..windows {
            b.round(MIN_RTT + 20_000);
        }
        b.lose(Cause::Loss);
        assert_eq!(b.c.algorithm.gamma < 0.9, cut, "{}", b.c.algorithm.gamma);
    }
    // But not for one window in which the receiver held everything back.
    let mut b = Bench::settled(bare());
    b.now += Duration::from_millis(80);
    b.round(MIN_RTT);
    b.reported = Some((C, 20_000, false));
    b.ack(MIN_RTT);
    assert!(b.c.s.round.measured().rate * 2.0 < b.c.s.round.steady_rate());
    b.lose(Cause::Loss);
    assert!(b.c.algorithm.gamma > 0.95, "{}", b.c.algorithm.gamma);
}

#[test]
fn a_queue_that_reports_do_not_show_lies_beyond_the_radio() {
    let mut b = Bench::settled(Params::PAPER);
    // 30 ms of delay, none of it the radio's: below the target a segment per RTT, at it none; never back to it.
    b.c.s.cwnd = 60.0;
    b.reported = Some((C, 0, false));
    b.round(68_000);
    assert_eq!((b.c.mode(), b.c.s.growth.alpha), (Mode::Internet, 1.0));
    assert!((60.0..=61.1).contains(&b.cwnd()));
    b.c.s.cwnd = 130.0;
    b.round(68_000);
    assert_eq!((b.c.mode(), b.c.s.growth.alpha), (Mode::Internet, 0.0));
    assert!(b.cwnd() >= 130.0);
    // Between one and two budgets more than the radio's: a high round like any other.
    b.reported = Some((C, 9_000, false));
    b.round(55_000);
    assert_eq!(b.c.mode(), Mode::Reset);

    let mut b = Bench::settled(bare());
    b.narrow(60.0);
    // One window may be jitter: the one before it brought the reported rate.
    b.round(68_000);
    assert_eq!((b.c.mode(), b.c.s.growth.alpha), (Mode::Internet, 0.0));
    assert!(b.cwnd() > 59.0);
    b.round(68_000);
    // 60 segments in 68 ms are 34 in 38 ms: a cut to what arrives.
    assert_eq!((b.c.mode(), b.c.s.growth.alpha), (Mode::Internet, 0.0));
    assert!((32.0..=36.0).contains(&b.cwnd()), "{}", b.cwnd());
    // What was sent before the cut still shows the queue; then it is gone: the bottleneck is confirmed. No FAST, a probe
    // that doubles.
    b.round(66_000);
    assert_eq!((b.c.mode(), b.c.s.growth.alpha), (Mode::Internet, 0.0));
    b.round(MIN_RTT);
    assert_eq!((b.c.mode(), b.c.s.growth.alpha), (Mode::InternetProbe, 1.0));
    b.round(MIN_RTT);
    assert!(
        (1.9..=2.3).contains(&b.c.s.growth.alpha),
        "{}",
        b.c.s.growth.alpha
    );
    assert_eq!(b.c.intent().pacing, None);
    // A queue of the radio's makes it forget.
    b.reported = Some((C, 12_000, false));
    b.round(50_000);
    b.reported = Some((C, 0, false));
    b.round(MIN_RTT);
    assert_eq!(b.c.mode(), Mode::Fast);
}

/// A verdict of 30 ms that a cut does not end by the delay `left` ms.
fn after_a_cut(left: u64) -> Bench<Product> {
    let mut b = Bench::settled(bare());
    b.narrow(60.0);
    b.round(68_000);
    b.round(68_000);
    b.round(66_000);
    b.round(MIN_RTT + left * 1_000);
    b
}

#[test]
fn a_delay_that_stays_after_the_cut_is_a_longer_path() {
    let b = after_a_cut(30);
    // At once to the target of the longer path: 34 Mbit/s in 68 ms.
    assert_eq!(b.c.mode(), Mode::Fast);
    near(b.c.s.twnd, TWND * 68.0 / 38.0);
    // And back when the path is short again.
    let mut b = b;
    b.ack(MIN_RTT);
    near(b.c.s.twnd, TWND);
}

#[test]
fn a_delay_of_which_the_cut_ends_a_part_is_a_queue_of_others_too_and_met_by_cubic() {
    let mut b = after_a_cut(15);
    assert_eq!(b.c.mode(), Mode::Compete);
    // Seven tenths of the window before (RFC 9438, 4.6), by slow start.
    b.round(60_000);
    assert!((41.0..=43.5).contains(&b.cwnd()), "{}", b.cwnd());
    // From there 0.53 segments per RTT, as on any short path (RFC 9438, 4.3).
    for _ in 0..30 {
        b.round(60_000);
    }
    assert!((54.0..=62.0).contains(&b.cwnd()), "{}", b.cwnd());
    let before = b.cwnd();
    b.lose(Cause::Loss);
    near(b.cwnd(), before * 0.7);
    b.c.on_recovered(b.now, &b.path);
    b.round(60_000);
    assert_eq!(b.c.mode(), Mode::Compete);
    // They are gone: ten windows within the budget, and the probe of a flow alone.
    for _ in 0..12 {
        b.round(MIN_RTT);
    }
    assert_eq!(b.c.mode(), Mode::InternetProbe);
}

#[test]
fn after_a_timeout_straight_to_the_target_where_reports_are_fresh() {
    for (resume, mode) in [(true, Mode::Fast), (false, Mode::SlowStart)] {
        let mut b = Bench::settled(Params { resume, ..bare() });
        b.lose(Cause::Timeout);
        assert_eq!((b.cwnd(), b.c.mode()), (1.0, Mode::SlowStart));
        b.recovery = Recovery::Timeout;
        b.now += Duration::from_millis(1);
        b.ack(MIN_RTT);
        assert_eq!(b.c.mode(), mode);
    }
    // Not into a bottleneck that is known.
    let mut b = after_a_cut(0);
    b.lose(Cause::Timeout);
    b.recovery = Recovery::Timeout;
    b.now += Duration::from_millis(1);
    b.ack(MIN_RTT);
    assert_eq!(b.c.mode(), Mode::SlowStart);
}

#[test]
fn a_rate_that_varies_widens_target_and_budget_and_one_that_steps_does_not() {
    let play = |rates: &[f64]| {
        let mut b = Bench::settled(Params {
            spread: 0.7,
            ..bare()
        });
        for rate in rates.iter().cycle().take(60) {
            b.reported = Some((C * rate, 0, false));
            b.round(MIN_RTT);
        }
        let slack = b.c.s.twnd / TWND / rates[(60 - 1) % rates.len()] - 1.0;
        (slack, b.c.algorithm.budget(&b.c.s))
    };
    let (slack, budget) = play(&[1.0]);
    assert!(slack.abs() < 0.001 && (budget - 0.010).abs() < 1e-5);
    // Up and down by half of the greater rate each round; the last target goes by the round before, which had that rate.
    let (slack, budget) = play(&[1.0, 0.5]);
    assert!((slack - 0.7 * 0.5).abs() < 0.001, "{slack}");
    near(budget, 0.010 + 0.025);
    // Three rounds after a step there is nothing of it.
    let step: Vec<f64> = [1.0; 57].into_iter().chain([0.25; 3]).collect();
    let (slack, _) = play(&step);
    assert!(slack.abs() < 0.001, "{slack}");
}

#[test]
fn a_verdict_compares_means_of_one_window() {
    for (verdict, mode) in [
        (Verdict::Mean, Mode::Reset),
        (Verdict::Latest, Mode::Internet),
    ] {
        let mut b = Bench::settled(Params { verdict, ..bare() });
        // All but the last report of the window show 30 ms; the last shows an empty queue.
        b.reported = Some((C, 30_000, false));
        b.path.srtt = Duration::from_micros(68_000);
        let rounds = b.c.s.round.count;
        for _ in 0..40 {
            b.now += Duration::from_micros(600);
            b.ack(68_000);
        }
        assert_eq!(b.c.s.round.count, rounds);
        b.reported = Some((C, 0, false));
        b.c.s.round.cut_short();
        b.ack(68_000);
        assert_eq!(b.c.mode(), mode);
    }
}

#[test]
fn reports_that_cease_leave_newreno_with_the_target_as_threshold() {
    let mut b = Bench::settled(bare());
    b.reported = None;
    b.c.s.cwnd = 50.0;
    for _ in 0..8 {
        b.round(MIN_RTT);
    }
    assert_eq!(b.c.mode(), Mode::NoFeedback);
    near(b.c.s.ssthresh, TWND);
    // Slow start reached the threshold; from there a segment per RTT.
    assert!((TWND..=TWND + 8.0).contains(&b.cwnd()), "{}", b.cwnd());
    let before = b.cwnd();
    b.round(MIN_RTT);
    b.round(MIN_RTT);
    assert!((1.8..=2.2).contains(&(b.cwnd() - before)));
    // They come back: decided at once.
    b.reported = Some((C / 2.0, 0, false));
    b.ack(MIN_RTT);
    assert_eq!(b.c.mode(), Mode::Probe);
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut b = Bench::settled(bare());
    b.limited = false;
    b.app_limited = true;
    let before = b.cwnd();
    b.round(MIN_RTT);
    b.round(MIN_RTT);
    assert_eq!(b.cwnd(), before);
    // FAST's pacing leaves room in the window; only an application without data holds it back.
    b.c.s.cwnd = 50.0;
    b.round(MIN_RTT);
    assert_eq!((b.cwnd(), b.c.mode()), (50.0, Mode::Fast));
    b.app_limited = false;
    b.round(MIN_RTT);
    assert!(b.cwnd() > 90.0);
}

#[test]
fn a_slow_flow_may_hold_three_packets_above_the_budget() {
    let mut b = Bench::settled(Params::DEFAULT);
    near(b.c.algorithm.budget(&b.c.s), 0.009);
    // 0.68 Mbit/s: three packets of 1500 bytes take 53 ms.
    b.reported = Some((0.68e6, 20_000, false));
    b.ack(MIN_RTT);
    near(b.c.algorithm.budget(&b.c.s), 0.05294);
    let mut b = Bench::settled(Params::PAPER);
    b.reported = Some((0.68e6, 20_000, false));
    b.ack(MIN_RTT);
    near(b.c.algorithm.budget(&b.c.s), 0.010);
}

#[test]
fn jitter_of_the_radio_widens_the_target_by_three_milliseconds_at_most() {
    let mut b = Bench::settled(Params {
        jitter: 0.003,
        ..bare()
    });
    assert_eq!(b.c.algorithm.slack.jitter(), 0.0);
    // 2 ms of retransmissions that no queue shows.
    for _ in 0..60 {
        b.round(MIN_RTT + 2_000);
    }
    assert!(
        (0.0019..=0.002).contains(&b.c.algorithm.slack.jitter()),
        "{}",
        b.c.algorithm.slack.jitter()
    );
    for _ in 0..60 {
        b.round(MIN_RTT + 7_000);
    }
    assert!(b.c.algorithm.slack.jitter() > 0.0029 && b.c.algorithm.slack.jitter() <= 0.003);
}

#[test]
fn a_rate_is_believed_up_to_four_times_what_arrived() {
    let mut b = Bench::settled(bare());
    b.reported = Some((C * 100.0, 0, false));
    b.ack(MIN_RTT);
    let peak = b.c.s.sizes.ip_rate(b.c.s.reports.peak.get());
    near(b.c.s.r_exp(), 4.0 * peak);
    // What arrives in a round is the window, a segment more each.
    assert!((C * 0.95..C * 4.3).contains(&peak), "{peak}");
    // Two per cent a round fade.
    let before = b.c.s.reports.peak.get();
    b.c.s.reports.peak.round();
    near(b.c.s.reports.peak.get(), before * 0.98);
}

#[test]
fn an_idle_window_decays_and_a_least_rtt_may_age() {
    let mut b = Bench::settled(Params::DEFAULT);
    b.c.on_sent(b.now, &b.path, &Sent::default());
    b.c.s.initial = 10.0;
    let before = b.cwnd();
    b.now += Duration::from_millis(500);
    let idle = Sent {
        after_idle: true,
        ..Sent::default()
    };
    b.c.on_sent(b.now, &b.path, &idle);
    near(b.cwnd(), before / 4.0);

    let mut b = Bench::settled(Params {
        rtt_window: 10.0,
        ..bare()
    });
    // No link bounds the window here: one that grew would refute the reports by what arrives.
    b.limited = false;
    for _ in 0..300 {
        b.round(60_000);
    }
    assert_eq!(b.c.s.rtt_min, Duration::from_micros(60_000));
}

#[test]
fn every_parameter_can_be_set_and_a_wrong_one_is_named() {
    let text = "lambda=8,least=off,n=3,theta=5,jitter=off,gamma=0.9,gain=off,pace=1.25,start=off,guard=off,gate=off,\
                owd=off,restart=off,resume=off,spread=1.5,alpha=srtt,post=half,internet=paper,verdict=latest,clamp=off,minrtt=10";
    let p = Params::DEFAULT.with(text).unwrap();
    let expected = Params {
        lambda: 0.008,
        least_segments: 0.0,
        rounds: 3,
        theta: 0.005,
        jitter: 0.0,
        gamma: 0.9,
        fast_gain: 0.0,
        pace: 1.25,
        start: false,
        guard: false,
        gate: false,
        alpha: Alpha::Srtt,
        post: Post::Half,
        beyond: Beyond::Paper,
        verdict: Verdict::Latest,
        clamp: 0.0,
        rtt_window: 10.0,
        restart: false,
        resume: false,
        spread: 1.5,
        owd: false,
    };
    assert_eq!(p, expected);
    for (text, key) in [
        ("n=1.5", "n"),
        ("theta=NaN", "theta"),
        ("alpha=big", "alpha"),
        ("start=yes", "start"),
        ("clamp=0", "clamp"),
    ] {
        let wrong = Params::PAPER.with(text).unwrap_err();
        assert!(wrong.starts_with(&format!("{key}: found")), "{wrong}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever reports say, replayed, shuffled or forged: the window stays within the clamp's reach of what arrived.
    #[test]
    fn reports_steer_no_further_than_the_clamp(
        reports in prop::collection::vec(
            (any::<u64>(), 0u64..20_000_000, any::<u16>(), any::<bool>(), 0u64..300),
            1..200,
        ),
        paper in any::<bool>(),
    ) {
        let profile = if paper { Params::PAPER } else { Params::DEFAULT };
        let mut b = Bench::new(profile);
        b.reported = None;
        b.send();
        let mut most = 10.0f64;
        for (bits, hol, seq, shared, wait) in reports {
            b.now += Duration::from_millis(wait);
            // Half of the rates are a radio's.
            let bps = if bits & 1 == 0 { bits } else { bits % 1_000_000_000 };
            let report = PathReport::Share {
                rate: Rate::from_bps(bps),
                hol_delay: Duration::from_micros(hol),
                seq,
                shared,
            };
            b.c.on_report(b.now, &b.path, &report);
            b.limited = bits & 2 == 0;
            b.app_limited = !b.limited;
            b.ack(MIN_RTT + hol % 50_000);
            // A change counts up to the rate itself.
            let reach = 0.038 * (1.0 + profile.spread) + profile.theta + profile.jitter;
            let bound = profile.clamp * b.c.s.sizes.segments(b.c.s.sizes.ip_rate(b.c.s.reports.peak.get()), reach);
            most = most.max(bound.max(2.0));
            // Steps of NewReno and of the rounds above the target come on top: an ACK each at most.
            prop_assert!(b.c.s.twnd <= most * 1.03 + 1.0, "{} above {most}", b.c.s.twnd);
            prop_assert!(b.cwnd() >= 1.0 && b.cwnd().is_finite());
            prop_assert!(b.cwnd() <= 2.0 * most + 210.0, "{} above {most}", b.cwnd());
            let mut values = vec![];
            b.c.snapshot(&mut values);
            prop_assert!(values.iter().all(|v| v.1.is_finite()));
        }
    }
}
