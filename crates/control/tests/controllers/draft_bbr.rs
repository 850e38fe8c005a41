//! The example test cases of draft-ietf-ccwg-bbr, appendix A, against `bbr3`.

use slackwater_control::registry::modes;
use slackwater_control::{AnyController, Config, build};
use slackwater_core::{Draw, Duration};

use crate::wire::{MSS, Wire};

const STARTUP: usize = 0;
const DRAIN: usize = 1;
const DOWN: usize = 2;
const CRUISE: usize = 3;
const REFILL: usize = 4;
const UP: usize = 5;
const PROBE_RTT: usize = 6;

type Flow = Wire<AnyController>;

/// A flow over `mbps` and `rtt_ms`, with a buffer of `bdps` bandwidth-delay products.
fn flow(mbps: f64, rtt_ms: u64, bdps: f64) -> Flow {
    let c = build("bbr3", &Config::new(MSS as u32, Draw::new(7))).expect("it is registered");
    let bdp = mbps * 1e6 / 8.0 * rtt_ms as f64 / 1e3;
    Wire::new(c, mbps, rtt_ms, bdp * bdps)
}

fn reach(w: &mut Flow, mode: usize) -> u64 {
    let name = modes("bbr3").expect("it has modes")[mode];
    w.until(20_000, name, |w| w.mode() == mode)
}

/// Mbit/s delivered in the next `ms`.
fn goodput(w: &mut Flow, ms: u64) -> f64 {
    let before = w.delivered;
    w.run(ms);
    (w.delivered - before) as f64 * 8.0 / ms as f64 / 1e3
}

fn share(w: &Flow, name: &str, of: f64) -> f64 {
    w.get(name).unwrap_or(f64::INFINITY) / of
}

#[test]
fn a1_startup_ends_on_a_bandwidth_plateau() {
    for (mbps, rtt) in [(10.0, 40), (100.0, 10), (1.0, 200), (500.0, 100)] {
        let mut w = flow(mbps, rtt, 10.0);
        assert_eq!(w.mode(), STARTUP);
        w.until(60_000, "drain", |w| w.mode() == DRAIN);
        let share = share(&w, "max_bw", w.rate);
        assert!((0.98..=1.02).contains(&share), "{mbps} Mbit/s: {share}");
        assert_eq!(w.get("full_bw_reached"), Some(1.0));
        assert_eq!(w.lost, 0);
    }
}

#[test]
fn a2_startup_ends_on_loss_where_the_application_limits() {
    let mut w = flow(50.0, 40, 10.0);
    w.app = Some(20e6);
    w.run(3000);
    assert_eq!(w.mode(), STARTUP);
    w.lose_one_in = 12;
    w.until(2000, "drain", |w| w.mode() != STARTUP);
    assert_eq!(w.get("full_bw_reached"), Some(1.0));
    assert!(w.get("inflight_longterm").is_some());
}

#[test]
fn a3_drain_ends_when_the_queue_is_gone() {
    let mut w = flow(20.0, 40, 10.0);
    reach(&mut w, DRAIN);
    assert_eq!(w.get("pacing_gain"), Some(0.5));
    assert!(w.in_flight as f64 > 1.2 * w.bdp());
    // Down, and with no queue left at once on to cruising.
    let ms = w.until(2000, "its end", |w| w.mode() != DRAIN);
    assert!(matches!(w.mode(), DOWN | CRUISE));
    assert!(w.in_flight as f64 <= 1.02 * w.bdp(), "{}", w.in_flight);
    assert!(ms < 150, "{ms}");
}

#[test]
fn a4_drain_ends_in_time_where_the_bandwidth_fell() {
    let mut w = flow(20.0, 40, 10.0);
    reach(&mut w, DRAIN);
    // So much that half the estimate still fills the link.
    w.rate *= 0.45;
    reach(&mut w, DOWN);
    assert!(w.in_flight as f64 > 1.5 * w.bdp(), "{}", w.in_flight);
}

#[test]
fn a5_a_probe_ends_on_a_bandwidth_plateau() {
    let mut w = flow(20.0, 40, 10.0);
    reach(&mut w, UP);
    assert_eq!(w.get("pacing_gain"), Some(1.25));
    let ms = reach(&mut w, DOWN);
    assert!(
        (3 * 40..8 * 60).contains(&ms),
        "{ms} ms are not three rounds"
    );
    assert_eq!(w.lost, 0);
}

#[test]
fn a6_a_probe_ends_on_loss_where_the_application_limits() {
    let mut w = flow(20.0, 40, 10.0);
    reach(&mut w, REFILL);
    w.app = Some(15e6);
    reach(&mut w, UP);
    w.run(200);
    assert_eq!(w.mode(), UP);
    w.lose_one_in = 10;
    // Down, and with so little in flight at once on to cruising.
    let ms = w.until(2000, "its end", |w| w.mode() != UP);
    assert!(ms < 150, "{ms}");
    assert_eq!(
        w.get("inflight_longterm"),
        None,
        "limited flights bound nothing"
    );
}

#[test]
fn a7_no_loss_and_a_limited_application_end_nothing() {
    let mut w = flow(50.0, 40, 10.0);
    w.app = Some(10e6);
    let mut worst = 0;
    for _ in 0..400 {
        w.run(10);
        worst = worst.max(w.mode());
    }
    assert_eq!(worst, STARTUP);

    let mut w = flow(20.0, 20, 10.0);
    reach(&mut w, PROBE_RTT);
    reach(&mut w, REFILL);
    w.app = Some(10e6);
    reach(&mut w, UP);
    // Until the next look at the round trip.
    for _ in 0..150 {
        w.run(10);
        assert_eq!(w.mode(), UP);
    }
}

#[test]
fn a8_down_ends_on_a_small_flight() {
    let mut w = flow(20.0, 40, 10.0);
    reach(&mut w, UP);
    reach(&mut w, DOWN);
    assert_eq!(w.get("pacing_gain"), Some(0.9));
    assert!(w.in_flight as f64 > 1.05 * w.bdp());
    reach(&mut w, CRUISE);
    assert!(w.in_flight as f64 <= 1.01 * w.bdp());
}

#[test]
fn a9_down_ends_in_time_where_the_queue_stays() {
    let mut w = flow(20.0, 10, 20.0);
    reach(&mut w, UP);
    reach(&mut w, DOWN);
    w.rate *= 0.85;
    let ms = w.until(5000, "refill", |w| {
        assert_ne!(w.mode(), CRUISE);
        w.mode() == REFILL
    });
    // Sooner than by the wait of two to three seconds: by the rounds that a Reno flow of 17 packets gets.
    assert!((150..=600).contains(&ms), "{ms}");
}

#[test]
fn a10_a_look_at_the_round_trip_comes_and_goes() {
    let mut w = flow(20.0, 40, 10.0);
    reach(&mut w, CRUISE);
    let ms = w.until(9000, "a look", |w| w.mode() == PROBE_RTT);
    assert!(ms > 3000, "{ms}");
    assert_eq!(w.get("cwnd_gain"), Some(0.5));
    w.run(100);
    assert!(w.in_flight as f64 <= 0.55 * w.bdp());
    let ms = 100 + w.until(1000, "its end", |w| w.mode() != PROBE_RTT);
    assert!((200..400).contains(&ms), "{ms}");
    assert_eq!(w.mode(), CRUISE);
    assert!(goodput(&mut w, 1000) > 19.0);
}

#[test]
fn a11_idleness_stands_for_a_look() {
    let mut w = flow(20.0, 40, 10.0);
    reach(&mut w, CRUISE);
    // A packet each seven seconds.
    w.app = Some(MSS as f64 * 8.0 / 7.0);
    w.run(1000);
    assert_eq!(w.in_flight, 0);
    w.until(8000, "an ACK", |w| w.in_flight > 0);
    for _ in 0..300 {
        w.run(1);
        assert_ne!(w.mode(), PROBE_RTT);
    }
}

#[test]
fn a12_startup_finds_the_bandwidth_behind_batched_acks() {
    let mut w = flow(50.0, 40, 10.0);
    w.batch = Duration::from_millis(20);
    reach(&mut w, DRAIN);
    let bw = share(&w, "max_bw", w.rate);
    assert!((0.95..1.15).contains(&bw), "{bw}");
    assert!(w.get("extra_acked").expect("a value") > 0.2 * w.bdp());
    assert!(w.get("cwnd").expect("a value") * MSS as f64 > 2.0 * w.bdp());
}

#[test]
fn a13_cruising_fills_the_link_behind_batched_acks() {
    let mut w = flow(50.0, 40, 10.0);
    reach(&mut w, CRUISE);
    w.batch = Duration::from_millis(60);
    w.run(2000);
    let extra = w.get("extra_acked").expect("a value");
    assert!(extra > 0.8 * 50e6 / 8.0 * 0.06, "{extra}");
    let rate = goodput(&mut w, 4000);
    assert!(rate > 0.92 * 50.0, "{rate}");
}

#[test]
fn a14_less_than_a_packet_of_bandwidth_and_delay() {
    // 64 kbit/s and 1 ms are 8 bytes.
    let mut w = flow(0.064, 1, 4000.0);
    w.until(120_000, "a probe", |w| w.mode() >= DOWN);
    w.run(20_000);
    for _ in 0..50 {
        w.run(100);
        assert!(w.get("cwnd").expect("a value") >= 4.0);
    }
    let rate = goodput(&mut w, 60_000);
    assert!(rate > 0.06, "{rate}");
}

#[test]
fn a15_ten_times_the_bandwidth_is_found_in_few_rounds() {
    let mut w = flow(10.0, 40, 40.0);
    reach(&mut w, CRUISE);
    w.rate *= 10.0;
    reach(&mut w, UP);
    let ms = w.until(4000, "the bandwidth", |w| share(w, "max_bw", w.rate) > 0.95);
    assert!(ms < 40 * 20, "{ms}");
    assert!(goodput(&mut w, 4000) > 90.0);
}

#[test]
fn a15_the_long_term_bound_grows_by_powers_of_two() {
    let mut w = flow(10.0, 40, 0.3);
    // Losses of a shallow buffer set the bound.
    w.until(30_000, "a bound", |w| w.get("inflight_longterm").is_some());
    reach(&mut w, CRUISE);
    w.rate *= 10.0;
    w.buffer = 10.0 * w.bdp();
    let ms = w.until(20_000, "the bandwidth", |w| {
        share(w, "max_bw", w.rate) > 0.9
    });
    assert!(ms < 12_000, "{ms}");
}

#[test]
fn a16_a_tenth_of_the_bandwidth_is_found_in_two_cycles() {
    let mut w = flow(100.0, 40, 1.0);
    reach(&mut w, CRUISE);
    w.rate /= 10.0;
    w.until(1000, "the short-term bound", |w| {
        share(w, "bw_shortterm", 100e6) < 0.8
    });
    w.run(12_000);
    let share = share(&w, "max_bw", w.rate);
    assert!((0.95..1.1).contains(&share), "{share}");
}

#[test]
fn a17_a_policer_is_obeyed() {
    let mut w = flow(100.0, 40, 4.0);
    w.policer = Some((10e6 / 8.0, 100_000.0));
    w.until(10_000, "a cycle", |w| w.mode() == CRUISE);
    w.until(5000, "the short-term bound", |w| {
        w.get("bw_shortterm").is_some() && w.get("inflight_shortterm").is_some()
    });
    w.run(10_000);
    let (lost, sent) = (w.lost, w.sent);
    let rate = goodput(&mut w, 20_000);
    let loss = (w.lost - lost) as f64 / (w.sent - sent) as f64;
    assert!(rate > 8.5, "{rate}");
    assert!(loss < 0.1, "{loss}");
}

#[test]
fn a18_a_spurious_recovery_is_undone() {
    let mut w = flow(20.0, 40, 10.0);
    reach(&mut w, UP);
    let longterm = w.get("inflight_longterm");
    w.lose_one_in = 10;
    reach(&mut w, DOWN);
    assert!(w.get("inflight_longterm").is_some());
    w.lose_one_in = 0;
    let cwnd = w.get("cwnd").expect("a window");
    w.undo();
    assert_eq!(w.mode(), REFILL, "on the way back to the probe");
    assert_eq!(w.get("inflight_longterm"), longterm);
    assert!(w.get("cwnd").expect("a window") >= cwnd);
    reach(&mut w, UP);
}

#[test]
fn a20_a_look_during_startup_returns_there() {
    let mut w = flow(50.0, 40, 10.0);
    // A slow application keeps it in start-up, with a standing queue of some other flow: no new least RTT.
    w.app = Some(10e6);
    w.rtt = Duration::from_millis(60);
    w.run(1000);
    w.rtt = Duration::from_millis(61);
    w.until(9000, "a look", |w| w.mode() == PROBE_RTT);
    w.until(1000, "its end", |w| w.mode() != PROBE_RTT);
    assert_eq!(w.mode(), STARTUP);
    assert_eq!(w.get("full_bw_reached"), Some(0.0));
}

#[test]
fn a21_loss_in_a_probe_lowers_the_long_term_bound() {
    let mut w = flow(20.0, 40, 0.4);
    w.until(30_000, "a bound", |w| w.get("inflight_longterm").is_some());
    // Room for a while, so that the bound is high, then less.
    reach(&mut w, CRUISE);
    reach(&mut w, UP);
    w.lose_one_in = 8;
    let before = w.get("inflight_longterm").expect("a bound");
    let ms = reach(&mut w, DOWN);
    let after = w.get("inflight_longterm").expect("a bound");
    assert!(ms < 120, "{ms}");
    assert!(
        after < before * 1.01 && after > 0.6 * before,
        "{after} {before}"
    );
}

#[test]
fn a22_a_limited_refill_teaches_nothing() {
    let mut w = flow(20.0, 40, 10.0);
    reach(&mut w, REFILL);
    let bw = w.get("max_bw");
    w.app = Some(2e6);
    reach(&mut w, UP);
    assert_eq!(w.get("max_bw"), bw);
    w.run(500);
    assert_eq!(w.get("max_bw"), bw);
    w.app = None;
    assert!(goodput(&mut w, 3000) > 18.5);
}

#[test]
fn random_loss_below_two_percent_costs_little() {
    let mut w = flow(20.0, 40, 10.0);
    w.lose_one_in = 100;
    w.run(5000);
    let rate = goodput(&mut w, 20_000);
    assert!(rate > 0.75 * 20.0, "{rate}");
}

#[test]
fn a_shallow_buffer_is_used_with_few_losses() {
    let mut w = flow(20.0, 40, 0.25);
    w.run(10_000);
    let (lost, sent) = (w.lost, w.sent);
    let rate = goodput(&mut w, 30_000);
    let loss = (w.lost - lost) as f64 / (w.sent - sent) as f64;
    assert!(rate > 0.85 * 20.0, "{rate}");
    assert!(loss < 0.02, "{loss}");
}

/// What became of a flow whose link fell from 20 Mbit/s to `mbps`, with room for any queue: seconds, largest bandwidth
/// estimate over the link's, smoothed RTT in seconds, times that it probed for bandwidth.
fn fallen(mbps: f64) -> Vec<(u64, f64, f64, u32)> {
    let mut w = flow(20.0, 40, 1e5);
    reach(&mut w, CRUISE);
    w.rate = mbps * 1e6;
    let (mut out, mut ups, mut was) = (vec![], 0, CRUISE);
    for s in 1..=60 {
        for _ in 0..100 {
            w.run(10);
            ups += u32::from(w.mode() == UP && was != UP);
            was = w.mode();
        }
        if s % 15 == 0 {
            out.push((s, share(&w, "max_bw", w.rate), w.srtt(), ups));
        }
    }
    out
}

/// The draft's letter in a buffer without end. A probe takes two to three seconds and five rounds or so; `ProbeRTT` each
/// five seconds begins it anew (5.3.4.4), and the round after it is marked as limited by the application (5.3.4.3), so
/// that it does not advance the filter either (5.3.3.9). Where a round takes longer than about half a second, the
/// bandwidth of before therefore stays; half a product of it leaves a queue in `ProbeRTT`, the least RTT of ten seconds
/// follows that queue (5.5.7), and the window follows the least RTT.
#[test]
#[expect(clippy::print_stdout, reason = "it is for reading")]
fn where_rounds_are_long_no_probe_ends_and_the_queue_grows() {
    let (near, far) = (fallen(8.0), fallen(1.0));
    for (to, rows) in [(8, &near), (1, &far)] {
        for (s, bw, srtt, ups) in rows {
            println!(
                "20 to {to} Mbit/s, {s:2} s: max_bw {bw:5.2} of the link's, srtt {srtt:6.2} s, {ups} probes"
            );
        }
    }
    let (_, bw, srtt, ups) = near[3];
    assert!(bw < 1.1 && srtt < 0.1 && ups > 10, "{bw} {srtt} {ups}");
    let (_, bw, srtt, ups) = far[3];
    assert!(bw > 19.0 && srtt > 10.0, "{bw} {srtt}");
    assert_eq!(ups, far[0].3, "no further probe");
}
