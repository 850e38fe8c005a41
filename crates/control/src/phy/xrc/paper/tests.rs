//! Section III-B, sentence by sentence.

use super::super::tests::{Bench, C, MIN_RTT, MSS, TWND, near};
use super::*;
use crate::Recovery;

impl Bench<Paper> {
    /// At the target, with reports that say so.
    fn settled() -> Self {
        let mut b = Self::with(Sender::paper(MSS, 108));
        for _ in 0..4 {
            b.round(MIN_RTT);
        }
        assert_eq!(b.c.mode(), Mode::Probe);
        b
    }
}

#[test]
fn equation_2_the_target_is_the_rate_times_the_least_rtt() {
    let mut b = Bench::settled();
    near(b.c.s.twnd, 107.667);
    b.reported = Some((C / 4.0, 0, true));
    b.ack(MIN_RTT);
    near(b.c.s.twnd, TWND / 4.0);
}

#[test]
fn equation_3_the_larger_of_the_mean_and_the_reported_delay_counts() {
    for (rtt, hol, sigma) in [
        (MIN_RTT + 4_000, 1_000, 0.004),
        (MIN_RTT + 4_000, 7_000, 0.007),
        (MIN_RTT, 0, 0.0),
    ] {
        let mut b = Bench::settled();
        b.reported = Some((C, hol, false));
        b.round(rtt);
        b.round(rtt);
        near(b.c.s.sigma, sigma);
    }
}

#[test]
fn the_bottleneck_is_where_the_paper_says() {
    for (end_to_end, hol, internet) in [
        (0.030, 0.000, true),
        (0.021, 0.009, true),
        // By no more than the budget.
        (0.018, 0.009, false),
        // "When the RLC HoL delay is larger than the queuing budget".
        (0.060, 0.011, false),
    ] {
        let found = bottleneck(end_to_end, hol);
        assert_eq!(found == Bottleneck::Internet, internet);
    }
}

#[test]
fn within_2_rtts_to_the_target_then_one_segment_per_rtt() {
    let mut b = Bench::with(Sender::paper(MSS, 10));
    b.round(MIN_RTT);
    assert_eq!(b.c.mode(), Mode::Fast);
    b.round(MIN_RTT);
    near(b.cwnd(), TWND);

    let mut b = Bench::settled();
    let before = b.cwnd();
    for _ in 0..5 {
        b.round(MIN_RTT);
    }
    assert!((4.9..=5.1).contains(&(b.cwnd() - before)));
}

#[test]
fn a_queue_above_the_budget_resets_slows_for_n_rtts_and_turns_unfair() {
    let mut b = Bench::settled();
    b.c.s.cwnd = 130.0;
    // Whoever fills the queue: the paper's sender does not know.
    b.reported = Some((C, 12_000, false));
    b.round(50_000);
    assert_eq!(b.c.mode(), Mode::Reset);
    near(b.cwnd(), TWND);
    for _ in 0..N {
        b.round(50_000);
        assert_eq!(b.c.mode(), Mode::Slow);
    }
    b.round(50_000);
    assert_eq!(b.c.mode(), Mode::Unfair);
    let before = b.cwnd();
    b.round(50_000);
    let grown = b.cwnd() - before;
    assert!((TWND * 0.97..=TWND * 1.03).contains(&grown), "{grown}");

    // "until the competing flows slow down": the queue is within the budget again.
    b.reported = Some((C, 1_000, false));
    b.round(MIN_RTT);
    assert!(b.cwnd() <= b.c.s.twnd + 1.1);
}

#[test]
fn an_internet_bottleneck_means_standard_tcp_and_then_a_steady_rate() {
    let mut b = Bench::settled();
    // 30 ms of delay, none of it the radio's.
    b.c.s.cwnd = 60.0;
    b.reported = Some((C, 0, false));
    b.round(68_000);
    assert_eq!((b.c.mode(), b.c.s.growth.alpha), (Mode::Internet, 1.0));
    assert!((60.0..=61.1).contains(&b.cwnd()));
    b.c.s.cwnd = 130.0;
    b.round(68_000);
    assert_eq!((b.c.mode(), b.c.s.growth.alpha), (Mode::Internet, 0.0));
    assert!(b.cwnd() >= 130.0);
}

#[test]
fn losses_are_standard_tcps() {
    let mut b = Bench::settled();
    let before = b.cwnd();
    b.lose(Cause::Loss);
    near(b.cwnd(), before / 2.0);
    // Once per window, and no growth until recovery ends.
    b.lose(Cause::Loss);
    b.recovery = Recovery::Fast;
    b.ack(MIN_RTT);
    near(b.cwnd(), before / 2.0);

    let mut b = Bench::settled();
    b.lose(Cause::Timeout);
    assert_eq!((b.cwnd(), b.c.mode()), (1.0, Mode::SlowStart));
    near(b.c.s.ssthresh, TWND);
}
