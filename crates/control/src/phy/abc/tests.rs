use slackwater_core::{Bytes, Duration, Instant};

use super::*;
use crate::EcnDelta;

const MSS: u32 = 1000;

/// A connection with a flight of `flight` packets.
struct Host {
    abc: Abc,
    now: Instant,
    path: PathView,
    flight: u64,
}

impl Host {
    fn new(abc: Abc, flight: u64) -> Self {
        let path = PathView {
            mss: MSS,
            wire_mss: MSS + 52,
            srtt: Duration::from_millis(50),
            min_rtt: Duration::from_millis(50),
            in_flight: Bytes(flight * u64::from(MSS)),
            ..PathView::default()
        };
        Self {
            abc,
            now: Instant::from_millis(100),
            path,
            flight,
        }
    }

    /// An ACK of `accelerates` and `brakes`, in the recovery state `recovery`.
    fn ack_in(&mut self, recovery: Recovery, accelerates: u32, brakes: u32) {
        self.now += Duration::from_millis(1);
        let bytes = Bytes(u64::from(accelerates + brakes) * u64::from(MSS));
        let ack = Ack {
            newly_acked: bytes,
            cumulative: bytes,
            prior_in_flight: Bytes(self.flight * u64::from(MSS)),
            rtt: Some(Duration::from_millis(50)),
            ecn: EcnDelta {
                ce: brakes,
                ect0: 0,
                ect1: accelerates,
            },
            cwnd_limited: true,
            recovery,
            ..Ack::default()
        };
        self.abc.on_ack(self.now, &self.path, &ack);
    }

    fn ack(&mut self, accelerates: u32, brakes: u32) {
        self.ack_in(Recovery::Open, accelerates, brakes);
    }

    fn lose(&mut self, kind: Cause) {
        let event = CongestionEvent::new(kind, Bytes(1000), self.path.in_flight, 1_000_000);
        self.abc.on_congestion(self.now, &self.path, &event);
    }

    fn packets(&self) -> u64 {
        self.abc.intent().window.expect("a window").0 / u64::from(MSS)
    }
}

#[test]
fn an_accelerate_adds_a_packet_and_a_brake_takes_one() {
    // 3.1.3: W + 1 + 1/W, W - 1 + 1/W.
    let mut host = Host::new(Abc::basic(MSS, 100), 100);
    host.ack(1, 0);
    assert!((host.abc.window() - (101.0 + 1.0 / 101.0)).abs() < 1e-9);
    host.ack(0, 1);
    assert!((host.abc.window() - 100.02).abs() < 1e-3);
    // A round of accelerates doubles the window, a round of brakes empties it to the floor (3.1.1).
    let mut host = Host::new(Abc::basic(MSS, 100), 200);
    for _ in 0..50 {
        host.ack(2, 0);
    }
    assert!((200.0..202.0).contains(&host.abc.window()));
    for _ in 0..150 {
        host.ack(0, 2);
    }
    assert!((5.0..7.5).contains(&host.abc.window()));
}

#[test]
fn half_accelerates_keep_the_window_but_for_a_packet_a_round() {
    let mut host = Host::new(Abc::basic(MSS, 100), 100);
    for _ in 0..50 {
        host.ack(1, 1);
    }
    assert!((host.abc.window() - 101.0).abs() < 0.02);
}

#[test]
fn the_smaller_window_counts_and_both_follow_the_flight() {
    // Nobody brakes: CUBIC's window grows by a half at most, and both stay within two flights and five packets (4.1).
    let mut host = Host::new(Abc::new(MSS, 10), 10);
    for _ in 0..100 {
        host.ack(1, 0);
    }
    assert_eq!(host.packets(), 25);
    assert!(host.abc.window() <= 25.0);
    // A loss counts for CUBIC's window, and a mark for ABC's alone.
    host.lose(Cause::Ecn);
    assert_eq!(host.packets(), 25);
    host.lose(Cause::Loss);
    assert_eq!(host.packets(), 17);
    // Brakes bring ABC's below it.
    for _ in 0..10 {
        host.ack_in(Recovery::Fast, 0, 1);
    }
    assert!(host.packets() < 17);
}

#[test]
fn marks_do_not_hold_up_the_window_for_other_queues() {
    let window = |recovery| {
        let mut host = Host::new(Abc::new(MSS, 10), 100);
        for _ in 0..20 {
            host.ack_in(recovery, 1, 0);
        }
        let mut out = Vec::new();
        host.abc.snapshot(&mut out);
        out[1].1
    };
    assert!(window(Recovery::Open) > 20.0);
    assert!((window(Recovery::Cwr) - window(Recovery::Open)).abs() < 1e-9);
}

#[test]
fn without_counts_of_marks_it_is_cubic() {
    let mut host = Host::new(Abc::new(MSS, 10), 100);
    let mut cubic = Windowed::new(Cubic::linux(), MSS, 10);
    for _ in 0..40 {
        host.now += Duration::from_millis(1);
        let ack = Ack {
            newly_acked: Bytes(1000),
            cumulative: Bytes(1000),
            prior_in_flight: Bytes(100_000),
            cwnd_limited: true,
            ..Ack::default()
        };
        host.abc.on_ack(host.now, &host.path, &ack);
        cubic.on_ack(host.now, &host.path, &ack);
    }
    assert_eq!(host.abc.intent().window, cubic.intent().window);
    assert!(host.packets() > 40);
}

#[test]
fn it_is_paced_at_twice_its_window() {
    let mut host = Host::new(Abc::basic(MSS, 100), 100);
    assert_eq!(host.abc.intent().pacing, None);
    host.ack(1, 1);
    let bps = host.abc.intent().pacing.expect("an RTT").as_bps();
    // 100 packets of 1052 bytes each 50 ms, twice.
    assert_eq!(bps, 2 * 100 * 1052 * 8 * 20);
}
