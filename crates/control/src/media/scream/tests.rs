use slackwater_core::Bytes;

use super::*;
use crate::PacketReport;
use crate::media::al4s::rival::RivalRule;

/// A sender at 10 Mbit/s with ten packets each 10 ms over a path of 20 ms.
struct Host {
    c: Scream,
    now: Instant,
    seq: u64,
    path: PathView,
}

impl Host {
    fn new(params: Params) -> Self {
        let encoder = Encoder {
            start: Rate::from_mbps(10.0),
            ..Encoder::DEFAULT
        };
        let path = PathView {
            mss: 1160,
            wire_mss: 1200,
            in_flight: Bytes(100_000),
            ..PathView::default()
        };
        Self {
            c: Scream::new("scream", params, &encoder),
            now: Instant::from_millis(1000),
            seq: 0,
            path,
        }
    }

    fn feedback(&mut self, way_ms: u64, marks: usize, losses: usize) {
        self.now += Duration::from_millis(10);
        let sent = self.now.saturating_sub(Duration::from_millis(way_ms + 5));
        let arrived = self.now.saturating_sub(Duration::from_millis(5));
        let reports: Vec<_> = (0..10)
            .map(|i| {
                self.seq += 1;
                let ecn = if i < marks { Ecn::Ce } else { Ecn::Ect1 };
                if i < losses {
                    return PacketReport::lost(self.seq, sent, Bytes(1200));
                }
                PacketReport::received(self.seq, sent, arrived, Bytes(1200), ecn)
            })
            .collect();
        let feedback = Feedback::new(&reports);
        self.c.on_feedback(self.now, &self.path, &feedback);
    }
}

fn near(found: f64, expected: f64, within: f64) {
    assert!(
        (found - expected).abs() <= within,
        "found {found}, expected {expected}"
    );
}

#[test]
fn the_first_feedback_sets_the_window_for_the_first_rate() {
    let mut host = Host::new(Params::ERICSSON);
    assert_eq!(host.c.intent().window, None);
    host.feedback(15, 0, 0);
    // 10 Mbit/s over 21 ms, and a little growth.
    near(host.c.window, 26_250.0, 1300.0);
    assert!(host.c.intent().window.unwrap().0 > 26_250);
    assert_eq!(host.c.intent().ecn, EcnMode::L4s);
}

#[test]
fn growth_is_a_packet_per_virtual_rtt_after_congestion() {
    let mut host = Host::new(Params::ERICSSON);
    host.feedback(15, 0, 0);
    host.c.congested = Some(host.now);
    host.c.maxima = [200_000.0; MAXIMA];
    host.c.alpha.set(0.1);
    host.c.window = 60_000.0;
    let before = host.c.window;
    host.feedback(15, 0, 0);
    // ratio 0.02, RTT 20 of 25 ms, little multiplicative growth 10 ms after congestion.
    let plain = 12_000.0 * 0.02 * 0.98 * 0.8;
    let multiplicative = 1.0 + 0.05 * 50.0 * 0.01 / (200.0 * 0.025);
    near(host.c.window - before, plain * multiplicative, 0.2);
}

#[test]
fn marks_reduce_the_window_by_half_their_average_fraction() {
    let mut host = Host::new(Params::ERICSSON);
    host.feedback(15, 0, 0);
    host.c.window = 60_000.0;
    host.c.congested = Some(host.now);
    // The queue is above a quarter of the target: no easing.
    for _ in 0..4 {
        host.feedback(35, 0, 0);
    }
    host.c.window = 60_000.0;
    host.c.alpha.set(0.4);
    host.feedback(35, 4, 0);
    let intervals = (host.c.delay.srtt() / 0.03).max(1.0);
    let alpha = 0.4 - 0.4 / 128.0;
    near(
        host.c.window,
        60_000.0 * (1.0 - alpha / 2.0 / intervals * 0.98),
        300.0,
    );
}

#[test]
fn a_loss_takes_three_tenths_once_per_round_trip() {
    let mut host = Host::new(Params::ERICSSON);
    host.feedback(15, 0, 0);
    host.c.window = 60_000.0;
    host.feedback(15, 0, 1);
    near(host.c.window, 42_000.0, 400.0);
    host.feedback(15, 0, 1);
    assert!(host.c.window > 41_900.0);
}

#[test]
fn queue_delay_is_a_virtual_mark() {
    let mut host = Host::new(Params::ERICSSON);
    host.feedback(15, 0, 0);
    host.c.window = 60_000.0;
    for _ in 0..20 {
        host.feedback(75, 0, 0);
    }
    assert!(host.c.window < 45_000.0, "{}", host.c.window);
}

#[test]
fn the_fraction_rises_fast_and_falls_slowly() {
    let p = Params::ERICSSON;
    let mut alpha = Alpha::new(&p);
    let rtt = Duration::from_millis(20);
    let mut now = Instant::from_millis(100);
    let mut tell = |received, marked| {
        now += Duration::from_millis(10);
        alpha.update(now, &p, rtt, received, marked);
        alpha.get()
    };
    near(tell(10, 10), 0.1 + 0.9 / 8.0, 1e-12);
    near(tell(10, 0), 0.2125 * 127.0 / 128.0, 1e-12);
    let w = Params::WEBRTC;
    let mut alpha = Alpha::new(&w);
    alpha.update(now, &w, rtt, 10, 5);
    near(alpha.get(), 0.5 / 16.0, 1e-12);
    alpha.update(now, &w, rtt, 10, 0);
    near(alpha.get(), 0.5 / 16.0 * 15.0 / 16.0, 1e-12);
}

#[test]
fn growth_and_backoff_slow_near_the_last_maximum() {
    let mut host = Host::new(Params::ERICSSON);
    host.feedback(15, 0, 0);
    host.c.maxima = [60_000.0; MAXIMA];
    host.c.window = 60_000.0;
    near(host.c.near(), 0.1, 1e-12);
    host.c.window = 66_000.0;
    near(host.c.near(), 0.64, 1e-12);
    host.c.window = 90_000.0;
    near(host.c.near(), 1.0, 1e-12);
    host.c.p = Params::WEBRTC;
    host.c.window = 78_000.0;
    near(host.c.near(), 0.36, 1e-12);
}

/// Section 4.4 of the draft: the rate is a window per round trip, less headers of 20 bytes a packet, a tenth for frames of
/// different size, and up to a fifth where the window is few packets.
#[test]
fn the_encoder_gets_a_window_per_round_trip_less_headers_and_margin() {
    let mut host = Host::new(Params::ERICSSON);
    host.feedback(15, 0, 0);
    let payload = 1200.0 / 1220.0;
    // 26,250 bytes in 21 ms are 10 Mbit/s.
    for (window, wire) in [(26_250.0, 10e6), (52_500.0, 20e6)] {
        host.c.window = window;
        host.c.follow(host.now);
        near(host.c.target, wire * payload / 1.1, 1e3);
    }
    // Five packets: a packet's share of the window is a tenth above a tenth.
    host.c.window = 6_000.0;
    host.c.follow(host.now);
    near(
        host.c.target,
        6_000.0 * 8.0 / 0.021 * 0.9 * payload / 1.1,
        1e3,
    );
}

/// Ericsson's `getTargetBitrate`: a queue that never falls may be a base that is wrong, and half of the rate lets it show.
#[test]
fn the_rate_is_halved_while_a_standing_queue_is_drained() {
    let mut host = Host::new(Params::ERICSSON);
    host.feedback(15, 0, 0);
    while !host.c.delay.drains(host.now) {
        host.feedback(75, 0, 0);
        assert!(host.now < Instant::from_millis(5000), "60 ms of queue");
    }
    host.c.window = 60_000.0;
    host.c.follow(host.now);
    let drained = host.c.target;
    host.c.follow(host.now + Duration::from_secs(1));
    near(drained, 0.5 * host.c.target, 1.0);
}

#[test]
fn parameters_change_the_constants_and_say_what_is_wrong() {
    let p = Params::ERICSSON.changed("hi=400,rival=dips").unwrap();
    assert_eq!(p.target_most, Some(0.4));
    assert_eq!(p.rival, RivalRule::Dips);
    let p = p.changed("hi=off, rival=off").unwrap();
    assert_eq!(p, Params::ERICSSON);
    for wrong in ["hi=5", "rival=x", "what=1", "hi", ""] {
        assert!(Params::WEBRTC.changed(wrong).is_err(), "{wrong}");
    }
}

/// RFC 8298, 4.1.2.3: beside losses the target is half as much again as the queue, so a queue of 70 ms is no virtual mark.
#[test]
fn the_target_rises_beside_a_flow_that_fills_the_buffer() {
    let windows = ["hi=off", "hi=400"].map(|text| {
        let mut host = Host::new(Params::ERICSSON.changed(text).unwrap());
        host.feedback(15, 0, 0);
        for i in 0..1200 {
            host.feedback(85, 0, usize::from(i % 300 == 0));
        }
        host.c.window
    });
    assert!(windows[1] > windows[0], "{windows:?}");
}

#[test]
fn beside_a_queue_that_others_hold_losses_count() {
    let mut host = Host::new(Params::ERICSSON.changed("rival=on").unwrap());
    host.feedback(15, 0, 0);
    let mut ms = 0;
    while host.c.intent().ecn == EcnMode::L4s {
        host.feedback(115, 10, 0);
        ms += 10;
        assert!(ms <= 2100, "two seconds suffice");
    }
    assert!(ms >= 2000, "{ms}");
    let fallen = host.c.window;
    host.feedback(115, 0, 0);
    // Ten packets of the window, at 3 (1 - 0.7) / (1 + 0.7) of a packet a window.
    near(
        host.c.window - fallen,
        0.9 / 1.7 * 12_000.0 * 1200.0 / fallen,
        1.0,
    );
    let before = host.c.window;
    host.feedback(115, 0, 1);
    near(host.c.window, 0.7 * before, 1.0);
    host.feedback(115, 0, 1);
    near(host.c.window, 0.7 * before, 1.0);
    // The queue drains: marks count again.
    host.feedback(15, 0, 0);
    assert_eq!(host.c.intent().ecn, EcnMode::L4s);
}
