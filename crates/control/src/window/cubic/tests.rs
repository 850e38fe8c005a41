use super::*;
use crate::testing::Feed;
use crate::window::Windowed;

fn feed(law: Cubic, cwnd: u32) -> Feed<Windowed<Cubic>> {
    Feed::new(Windowed::new(law, 1000, cwnd))
}

#[test]
fn a_loss_keeps_seven_tenths() {
    // RFC 9438, 4.6; 717/1024 of 100 is 70.
    let mut f = feed(Cubic::plain(), 100);
    f.lose();
    assert_eq!((f.cwnd(), f.ssthresh()), (70, Some(70)));
    assert_eq!(f.c.law().last_max, 100);
    f.recover();
    // RFC 9438, 4.7: below the last maximum, the next one is lowered to 0.85 of the window.
    f.lose();
    assert_eq!(f.c.law().last_max, 70 * (1024 + 717) / 2048);
}

#[test]
fn the_window_is_back_at_the_maximum_after_k() {
    // RFC 9438, 4.2: K = cbrt(W_max (1 - beta) / C) = cbrt(30 / 0.4) = 4.2 s for W_max 100, C 0.4. RTTs of 300 ms keep
    // the Reno estimate below the curve.
    let mut f = feed(Cubic::plain(), 100);
    f.round_at(300);
    f.lose();
    f.recover();
    let w_max = f.c.law().last_max;
    let start = f.now;
    let mut at_k = None;
    for _ in 0..24 {
        f.round_at(300);
        let t = f.now.since(start).as_secs_f64();
        let k = libm::cbrt(f64::from(w_max) * 0.3 / 0.4);
        if t >= k && at_k.is_none() {
            at_k = Some(f.cwnd());
        }
    }
    let at_k = f64::from(at_k.expect("the run is longer than K"));
    assert!(
        (at_k / f64::from(w_max) - 1.0).abs() < 0.04,
        "{at_k} of {w_max}"
    );
    // Convex after: above the maximum.
    assert!(f.cwnd() > w_max);
}

#[test]
fn without_the_reno_friendly_region_a_short_path_grows_slower() {
    let grown = |law| {
        let mut f = feed(law, 40);
        f.round_at(10);
        f.lose();
        f.recover();
        let before = f.cwnd();
        for _ in 0..40 {
            f.round_at(10);
        }
        f.cwnd() - before
    };
    // RFC 9438, 4.2: 0.4 s into the epoch the curve has gained 4 of the 12 segments; Reno gains half a segment per RTT.
    let (with, without) = (
        grown(Cubic::plain()),
        grown(Cubic::plain().reno_friendly(false)),
    );
    assert!(without < with, "{without} {with}");
}

#[test]
fn short_paths_grow_like_reno() {
    // RFC 9438, 4.3: with an RTT of 10 ms the curve is flat, and alpha = 3 (1 - beta) / (1 + beta) = 0.53 segments a
    // round come from the Reno estimate.
    let mut f = feed(Cubic::plain(), 20);
    f.lose();
    f.recover();
    let before = f.cwnd();
    for _ in 0..40 {
        f.round_at(10);
    }
    let grown = f64::from(f.cwnd() - before);
    assert!((grown - 40.0 * 0.53).abs() < 4.0, "{grown}");
}

#[test]
fn growth_is_bounded_by_half_a_window_per_round() {
    // RFC 9438, 4.4; Linux keeps cnt at two or more.
    let mut f = feed(Cubic::plain(), 100);
    f.lose();
    f.recover();
    f.now += Duration::from_secs(60);
    f.round_at(100);
    let before = f.cwnd();
    f.now += Duration::from_secs(60);
    f.round_at(100);
    assert!(f.cwnd() <= before + before / 2 + 1, "{before} {}", f.cwnd());
    assert!(f.cwnd() >= before + before / 3, "{before} {}", f.cwnd());
}

#[test]
fn idle_time_is_not_growth() {
    // RFC 9438, 5.8.
    let mut f = feed(Cubic::plain(), 100);
    f.lose();
    f.recover();
    f.round_at(100);
    let epoch = f.c.law().epoch.expect("congestion avoidance");
    let idle = Duration::from_secs(5);
    let now = f.now + idle;
    let mut w = f.c.cwnd().clone();
    let mut law = f.c.law().clone();
    law.restarted(now, &mut w, idle);
    assert_eq!(law.epoch, Some(epoch + idle));
}

#[test]
fn hystart_ends_slow_start_on_delay_and_ns3_does_not() {
    // Linux: 100 ms / 8 = 12.5 ms of increase are enough; ns-3 wants a whole RTT more. Rounds of 64 ACKs each more
    // than 2 ms apart are no train.
    let slow = |law| {
        let mut f = feed(law, 20);
        f.segments_over(20, 100, 100);
        f.segments_over(40, 200, 100);
        f.segments_over(80, 400, 114);
        f.ssthresh()
    };
    assert!(slow(Cubic::linux()).is_some());
    assert!(slow(Cubic::ns3()).is_none());
    assert!(slow(Cubic::plain()).is_none());
}

#[test]
fn hystart_ends_slow_start_on_a_train_of_half_the_rtt() {
    // ACKs 1 ms apart for more than half of 100 ms, with a flat RTT; ns-3 waits for a whole RTT.
    let train = |law, acks| {
        let mut f = feed(law, 40);
        f.segments_over(40, 120, 100);
        f.segments_over(acks, acks, 100);
        f.ssthresh()
    };
    assert!(train(Cubic::linux(), 45).is_none());
    assert!(train(Cubic::linux(), 65).is_some());
    assert!(train(Cubic::ns3(), 65).is_none());
}

#[test]
fn hystart_pp_slows_down_and_comes_back() {
    // RFC 9406, 4.2: a round at 114 ms after one at 100 ms starts CSS, which grows by a quarter.
    let mut f = feed(Cubic::hystart_pp(), 20);
    f.round_at(100);
    f.round_at(100);
    assert_eq!(f.cwnd(), 80);
    f.round_at(114);
    let css = f.cwnd();
    assert!(css < 120, "{css}");
    f.round_at(114);
    let next = f.cwnd();
    assert!((css / 5..css / 3).contains(&(next - css)), "{css} {next}");
    assert!(f.ssthresh().is_none());
    // The delay was no queue: a round below the baseline resumes slow start.
    let mut g = Feed::new(f.c.clone());
    (g.now, g.una, g.next, g.path) = (f.now, f.una, f.next, f.path);
    g.round_at(100);
    g.round_at(100);
    assert!(g.cwnd() > next + next / 2, "{next} {}", g.cwnd());
    // It was: after five rounds slow start ends.
    for _ in 0..5 {
        f.round_at(114);
    }
    assert!(f.ssthresh().is_some());
}

#[test]
fn a_timeout_forgets_the_epoch() {
    // RFC 9438, 4.8; Linux bictcp_reset.
    let mut f = feed(Cubic::linux(), 100);
    f.lose();
    f.recover();
    f.round_at(100);
    f.time_out();
    assert_eq!(f.cwnd(), 1);
    assert_eq!(f.c.law().last_max, 0);
    assert_eq!(f.c.law().epoch, None);
}
