use super::*;
use crate::testing::Feed;
use crate::window::Windowed;
use crate::{Controller, Recovery};

type Flow = Feed<Windowed<Prague>>;

fn flow(window: u32) -> Flow {
    let mut feed = Feed::new(Windowed::new(Prague::default(), 1000, window));
    feed.ce_of = Some(0);
    feed
}

/// A flow out of slow start, by a first mark in a window of twice `window`.
fn steady(window: u32, rtt_ms: u64) -> Flow {
    let mut feed = flow(window);
    feed.round_at(rtt_ms);
    feed.mark();
    assert_eq!(feed.cwnd(), window);
    calm(&mut feed);
    feed
}

/// The reduction by marks is over; what is in flight stays there.
fn calm(feed: &mut Flow) {
    feed.c.on_recovered(feed.now, &feed.path.clone());
    feed.recovery = Recovery::Open;
}

#[test]
fn the_first_mark_ends_slow_start_with_half_the_window() {
    // Alpha is one until the first mark.
    let mut feed = flow(10);
    feed.round_at(50);
    assert_eq!(feed.cwnd(), 20);
    assert_eq!(feed.c.law().alpha(), 1.0);
    feed.mark();
    assert_eq!((feed.cwnd(), feed.ssthresh()), (10, Some(10)));
}

#[test]
fn growth_is_a_segment_per_window_of_unmarked_segments() {
    let mut feed = steady(10, 50);
    feed.una = feed.next - 10_000;
    feed.segments_over(10, 50, 50);
    let grown = feed.c.law().window();
    // Ten ACKs of 1/W each, W growing from 10 to 11.
    assert!((10.9..11.0).contains(&grown), "{grown}");
    assert_eq!(feed.cwnd(), 11);
}

#[test]
fn the_window_grows_in_a_reduction_and_its_end_takes_nothing_back() {
    // Draft, 2.4.3.
    let mut feed = steady(10, 50);
    feed.mark();
    let low = feed.c.law().window();
    feed.segments_over(5, 25, 50);
    let high = feed.c.law().window();
    assert!((high - low - 5.0 / low).abs() < 0.1, "{low} {high}");
    calm(&mut feed);
    assert_eq!(feed.c.law().window(), high);
}

#[test]
fn marked_segments_do_not_grow_the_window() {
    let mut feed = steady(10, 50);
    feed.ce_of = Some(1);
    let before = feed.c.law().window();
    feed.segments_over(10, 50, 50);
    assert_eq!(feed.c.law().window(), before);
    feed.ce_of = Some(2);
    feed.segments_over(10, 50, 50);
    let grown = feed.c.law().window() - before;
    assert!((0.4..0.5).contains(&grown), "{grown}");
}

#[test]
fn the_decrease_is_half_of_alpha_with_its_fraction() {
    let mut feed = steady(40, 50);
    feed.cwnd_limited = false;
    feed.app_limited = true;
    feed.ce_of = Some(20);
    for _ in 0..200 {
        feed.round_at(50);
    }
    let alpha = feed.c.law().alpha();
    assert!((alpha - 0.05).abs() < 0.01, "{alpha}");
    let before = feed.c.law().window();
    feed.mark();
    let after = feed.c.law().window();
    assert!((after - before * (1.0 - alpha / 2.0)).abs() < 1e-9);
    // 2.5 % of 40 segments is one.
    assert_eq!(feed.cwnd(), 39 + u32::from(after > 39.0));
    assert_eq!(feed.c.intent().ecn, EcnMode::L4s);
}

#[test]
fn alpha_is_not_learnt_before_the_first_mark() {
    let mut feed = flow(10);
    feed.cwnd_limited = false;
    feed.app_limited = true;
    for _ in 0..50 {
        feed.round_at(50);
    }
    assert_eq!(feed.c.law().alpha(), 1.0);
    feed.ce_of = Some(10);
    feed.round_at(50);
    feed.round_at(50);
    assert!(feed.c.law().alpha() < 1.0);
}

#[test]
fn short_round_trips_act_as_25_ms_after_500_rounds() {
    // Draft, 2.4.4: at 5 ms, (5 / 25)^2 = 0.04 segments per window.
    let mut feed = steady(10, 5);
    assert_eq!(feed.c.law().increase, 1.0);
    feed.cwnd_limited = false;
    feed.app_limited = true;
    while feed.c.law().increase == 1.0 {
        feed.round_at(5);
        assert!(feed.c.law().rounds <= RTT_TRANSITION);
    }
    assert!(feed.c.law().rounds >= RTT_TRANSITION);
    assert!((feed.c.law().increase - 0.04).abs() < 1e-9);
    // Alpha and the decrease go by the target, too.
    feed.ce_of = Some(1);
    feed.mark();
    let once = feed.c.law().window();
    calm(&mut feed);
    feed.segments_over(10, 5, 5);
    feed.mark();
    assert_eq!(feed.c.law().window(), once);
    calm(&mut feed);
    for _ in 0..5 {
        feed.round_at(5);
    }
    feed.mark();
    assert!(feed.c.law().window() < once);
}

#[test]
fn longer_round_trips_are_left_alone() {
    let mut feed = steady(10, 40);
    feed.cwnd_limited = false;
    feed.app_limited = true;
    for _ in 0..510 {
        feed.round_at(40);
    }
    assert_eq!(feed.c.law().increase, 1.0);
}

#[test]
fn a_loss_costs_half_even_right_after_a_mark() {
    let mut feed = steady(40, 50);
    feed.cwnd_limited = false;
    feed.app_limited = true;
    feed.ce_of = Some(20);
    for _ in 0..200 {
        feed.round_at(50);
    }
    feed.mark();
    let before = feed.c.law().window();
    feed.lose();
    assert!((feed.c.law().window() - before / 2.0).abs() < 1e-9);
    feed.recover();
    assert_eq!(feed.cwnd(), 20);
}

#[test]
fn it_paces_the_window_per_round_trip_and_twice_that_in_slow_start() {
    let mut feed = flow(10);
    feed.round_at(100);
    // 20 packets of 1052 B in 100 ms, times two.
    let rate = feed.c.intent().pacing.expect("paced").as_bps();
    assert_eq!(rate, 2 * 20 * 1052 * 8 * 10);
    feed.mark();
    let rate = feed.c.intent().pacing.expect("paced").as_bps();
    assert_eq!(rate, 10 * 1052 * 8 * 10);
    // 2^-12 s at this rate is less than a packet.
    assert_eq!(feed.c.intent().burst, Bytes(1052));
}

#[test]
fn it_is_reno_without_accurate_feedback() {
    let mut feed = flow(10);
    feed.ce_of = None;
    feed.round_at(5);
    assert_eq!((feed.cwnd(), feed.c.intent().pacing), (20, None));
    feed.lose();
    feed.recover();
    assert_eq!(feed.cwnd(), 10);
    for round in 1..=3 {
        feed.round_at(5);
        assert!((10 + round..=11 + round).contains(&feed.cwnd()));
    }
    for _ in 0..600 {
        feed.cwnd_limited = false;
        feed.round_at(5);
    }
    assert_eq!(feed.c.law().increase, 1.0);
}

#[test]
fn a_timeout_starts_over_from_one_segment() {
    let mut feed = steady(20, 50);
    feed.time_out();
    assert_eq!((feed.cwnd(), feed.ssthresh()), (1, Some(10)));
    feed.segments_over(4, 50, 50);
    assert_eq!(feed.cwnd(), 5);
    assert_eq!(feed.c.law().window(), 5.0);
}
