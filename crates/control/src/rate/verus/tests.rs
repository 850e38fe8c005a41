use super::*;
use crate::phy::testing::{Link, steady, varying};

fn verus() -> Verus {
    Verus::new(R, 1448)
}

#[test]
fn slow_start_doubles_from_one_packet_and_ends_at_half_a_second() {
    let mut link = Link::new(verus(), 20, steady);
    link.run(45);
    assert!(link.c.is_slow_start() && (link.c.window() - 2.0).abs() < 1e-9);
    link.run(80);
    assert!(
        (8.0..=16.0).contains(&link.c.window()),
        "{}",
        link.c.window()
    );
    // A packet per ms: half a second of delay needs a window near 500.
    let mut worst = 0.0_f64;
    while link.c.is_slow_start() {
        link.step();
        worst = worst.max(link.c.window());
        assert!(link.now < 5000);
    }
    assert!((500.0..1100.0).contains(&worst), "{worst}");
    assert!(link.c.window() < worst && link.c.profile.delay(100.0) > 40.0);
}

#[test]
fn after_slow_start_the_ratio_bounds_the_delay() {
    let mut link = Link::new(verus(), 20, steady);
    link.run(15_000);
    link.forget();
    link.run(30_000);
    assert!(link.utilisation() > 0.9, "{}", link.utilisation());
    // 40 ms unloaded: six times that is 200 ms of queue; the smoothed maximum may pass it.
    assert!(link.delay(0.5) < 260, "{}", link.delay(0.5));
    let mut low = Link::new(Verus::new(2.0, 1448), 20, steady);
    low.run(15_000);
    low.forget();
    low.run(30_000);
    assert!(
        low.delay(0.5) < link.delay(0.5),
        "{} {}",
        low.delay(0.5),
        link.delay(0.5)
    );
}

#[test]
fn on_a_varying_link_it_takes_most_of_it() {
    let mut link = Link::new(verus(), 20, varying);
    link.run(40_000);
    assert!(link.utilisation() > 0.8, "{}", link.utilisation());
    assert!(link.delay(0.95) < 1000, "{}", link.delay(0.95));
}

#[test]
fn a_decision_follows_the_greatest_delay() {
    let mut v = verus();
    for w in 1..200 {
        v.profile.sample(w, 40.0 + w as f64);
    }
    assert!(v.profile.fit());
    let at = |v: &Verus| v.aim;
    v.slow_start = false;
    v.least = 41.0;
    v.smoothed = 50.0;
    v.aim = 100.0;
    v.most = Some(90.0);
    // Not risen: up by 2.
    v.newest_most = Some(90.0);
    v.decide(Instant::from_millis(5));
    assert!((at(&v) - 102.0).abs() < 1e-9);
    assert!((v.window - 62.0).abs() <= 2.0, "{}", v.window);
    // Ten epochs to the delay; nothing in flight: the whole window.
    assert_eq!(v.allowance, v.window as u64 * 1448);
    // Risen: down by 1; the average keeps a fifth.
    v.newest_most = Some(140.0);
    v.decide(Instant::from_millis(10));
    assert!((at(&v) - 101.0).abs() < 1e-9);
    assert!((v.most.expect("decided") - (90.0 * 0.2 + 140.0 * 0.8)).abs() < 1e-9);
    // Beyond the ratio: down by 2.
    v.most = Some(41.0 * 7.0);
    v.newest_most = Some(100.0);
    v.decide(Instant::from_millis(15));
    assert!((at(&v) - 99.0).abs() < 1e-9);
    // Equation 5 with 90 in flight and ten epochs: W - 90 * 8 / 9.
    v.in_flight = 90.0;
    v.most = Some(90.0);
    v.newest_most = Some(90.0);
    v.decide(Instant::from_millis(20));
    let left = (v.window - 80.0).max(0.0) as u64;
    assert_eq!(v.allowance, left * 1448);
    // At the least delay nothing leaves while two packets are out; with fewer the least delay is doubted.
    v.aim = v.least;
    v.most = Some(41.0 * 7.0);
    v.newest_most = Some(100.0);
    v.decide(Instant::from_millis(25));
    assert_eq!((v.allowance, v.least), (0, 41.0));
    v.in_flight = 0.0;
    v.most = Some(41.0 * 7.0);
    v.newest_most = Some(100.0);
    v.decide(Instant::from_millis(30));
    assert_eq!(v.least, 51.0);
}

#[test]
fn a_loss_cuts_the_window_of_the_lost_packet_once_per_phase() {
    let mut link = Link::new(verus(), 20, steady);
    link.run(10_000);
    let w = f64::from(link.c.log.oldest().expect("in flight"));
    let path = PathView {
        mss: 1448,
        in_flight: link.c.log.out(),
        ..PathView::default()
    };
    let event = CongestionEvent::new(Cause::Loss, Bytes(1448), path.in_flight, 0);
    let before = link.c.window();
    link.c
        .on_congestion(Instant::from_millis(link.now), &path, &event);
    assert!((link.c.window() - (DECREASE * w).min(before)).abs() < 1e-9);
    let after = link.c.window();
    link.c
        .on_congestion(Instant::from_millis(link.now), &path, &event);
    assert_eq!(link.c.window(), after);
    assert!(link.c.loss_phase);
    // It ends with the first packet that left under the reduced window.
    link.run(3000);
    assert!(!link.c.loss_phase);
}

#[test]
fn silence_gives_up_what_is_in_flight() {
    let mut link = Link::new(verus(), 20, |ms| u64::from(ms < 10_000));
    link.run(9_900);
    let out = link.c.in_flight;
    assert!(out > 10.0);
    link.run(1_500);
    assert!(link.c.loss_phase && link.c.aim <= link.c.least + 2.0);
}

#[test]
fn an_idle_sender_sets_no_timer() {
    let mut v = verus();
    let path = PathView {
        mss: 1448,
        ..PathView::default()
    };
    assert_eq!(v.next_timer(), None);
    v.slow_start = false;
    v.allow(4.0);
    v.epoch = Some(Instant::from_millis(5));
    v.timeout = Some(Instant::from_millis(5));
    v.on_timer(Instant::from_millis(5), &path);
    assert_eq!(v.next_timer(), None);
}
