use super::*;
use crate::testing::Feed;

fn flow(window: u32) -> Feed<Copa> {
    Feed::new(Copa::new(1000, window, DELTA))
}

/// A flow out of slow start with a window of `window` packets, on a path of 40 ms.
fn steady(window: f64) -> Feed<Copa> {
    let mut feed = flow(10);
    feed.round_at(40);
    feed.c.cwnd = window;
    feed.c.slow_start = false;
    feed.c.velocity.reset(window);
    feed
}

#[test]
fn slow_start_doubles_while_the_queue_is_empty() {
    let mut feed = flow(10);
    feed.round_at(40);
    assert_eq!(feed.cwnd(), 20);
    feed.round_at(40);
    assert_eq!(feed.cwnd(), 40);
    assert!(feed.c.slow_start);
}

#[test]
fn slow_start_ends_where_the_rate_exceeds_the_target() {
    // 40 packets in 50 ms are 0.8 per ms; the target is 1 / (0.5 * 10 ms) = 0.2 per ms.
    let mut feed = flow(10);
    feed.round_at(40);
    feed.round_at(40);
    feed.segments_over(45, 60, 50);
    assert!(!feed.c.slow_start);
    assert!(feed.c.cwnd() < 80.0);
}

#[test]
fn an_ack_moves_the_window_by_v_over_delta_and_window() {
    // 2.1: cwnd + v / (delta * cwnd) = 20 + 1 / (0.5 * 20).
    let mut feed = steady(20.0);
    feed.ack(1, 40);
    assert!((feed.c.cwnd() - 20.1).abs() < 1e-9, "{}", feed.c.cwnd());
    // dq = 5 ms: target 0.4 packets per ms; 20 in 45 ms are 0.444. The standing RTT must be 45 ms by then.
    let mut feed = steady(20.0);
    feed.now += Duration::from_millis(30);
    feed.ack(1, 45);
    assert!((feed.c.cwnd() - 19.9).abs() < 1e-9, "{}", feed.c.cwnd());
    // dq = 4 ms: target 0.5; 20 in 44 ms are 0.4545.
    let mut feed = steady(20.0);
    feed.now += Duration::from_millis(30);
    feed.ack(1, 44);
    assert!((feed.c.cwnd() - 20.1).abs() < 1e-9, "{}", feed.c.cwnd());
}

#[test]
fn the_standing_rtt_leaves_out_jitter() {
    // One ACK in four without a queue within half a smoothed RTT: the queue counts as empty.
    let mut feed = steady(20.0);
    for k in 0..40 {
        feed.now += Duration::from_millis(4);
        feed.ack(1, if k % 4 == 0 { 40 } else { 60 });
        assert!(feed.c.queueing().is_zero());
    }
    feed.now += Duration::from_millis(31);
    feed.ack(1, 60);
    assert_eq!(feed.c.queueing(), Duration::from_millis(20));
}

#[test]
fn the_least_rtt_is_forgotten_after_ten_seconds() {
    let mut feed = steady(20.0);
    for _ in 0..101 {
        feed.now += Duration::from_millis(100);
        feed.ack(1, 60);
    }
    assert!(feed.c.queueing().is_zero());
}

#[test]
fn it_paces_at_twice_the_window_per_standing_rtt() {
    let feed = steady(20.0);
    let rate = feed.c.intent().pacing.expect("paced").as_bps();
    assert_eq!(rate, 2 * 20 * 1052 * 8 * 1000 / 40);
    // Not before the first RTT sample.
    assert_eq!(Copa::new(1000, 10, DELTA).intent().pacing, None);
}

#[test]
fn delta_sets_the_step() {
    let mut feed = Feed::new(Copa::fixed(1000, 20, 0.1));
    feed.c.slow_start = false;
    feed.ack(0, 40);
    feed.send();
    feed.ack(1, 40);
    assert!((feed.c.cwnd() - 20.5).abs() < 1e-9, "{}", feed.c.cwnd());
}

#[test]
fn the_default_mode_ignores_losses_up_to_a_third() {
    let mut feed = steady(40.0);
    feed.lose();
    assert_eq!(feed.c.cwnd(), 40.0);
    assert_eq!(feed.c.delta(), 0.5);
    let mut share = LossShare::default();
    let at = Instant::from_millis;
    let rtt = Duration::from_millis(40);
    assert!(!share.count(at(100), rtt, 20.0, 8.0), "below 30 percent");
    assert!(!share.count(at(150), rtt, 20.0, 20.0), "within two RTTs");
    assert!(share.count(at(190), rtt, 0.0, 0.0));
}

#[test]
fn a_timeout_starts_over_and_can_be_undone() {
    let mut feed = steady(40.0);
    feed.time_out();
    assert_eq!(feed.cwnd(), 1);
    feed.ack(1, 40);
    assert!(feed.c.slow_start && feed.cwnd() == 2);
    feed.undo();
    assert_eq!(feed.cwnd(), 40);
}

#[test]
fn a_window_that_is_not_used_up_does_not_grow() {
    let mut feed = steady(20.0);
    feed.cwnd_limited = false;
    feed.ack(1, 40);
    assert_eq!(feed.c.cwnd(), 20.0);
}
