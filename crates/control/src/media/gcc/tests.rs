use slackwater_core::{Bytes, Ecn};

use super::*;
use crate::PacketReport;

/// A sender whose frames leave each 20 ms and arrive after a delay that the test sets.
struct Host {
    c: Gcc,
    now: Instant,
    seq: u64,
    path: PathView,
}

impl Host {
    fn new(c: Gcc) -> Self {
        let path = PathView {
            mss: 1160,
            wire_mss: 1200,
            srtt: Duration::from_millis(50),
            ..PathView::default()
        };
        Self {
            c,
            now: Instant::from_millis(1000),
            seq: 0,
            path,
        }
    }

    /// Five packets, 2.4 Mbit/s.
    fn frame(&mut self, delay: Duration, lost: usize) {
        self.now += Duration::from_millis(20);
        let reports: Vec<_> = (0..5u64)
            .map(|i| {
                self.seq += 1;
                if (i as usize) < lost {
                    return PacketReport::lost(self.seq, self.now, Bytes(1200));
                }
                let arrived = self.now + delay + Duration::from_micros(200) * i;
                PacketReport::received(self.seq, self.now, arrived, Bytes(1200), Ecn::NotEct)
            })
            .collect();
        let sent = Sent {
            bytes: Bytes(1200),
            ..Sent::default()
        };
        for _ in 0..5 {
            self.c.on_sent(self.now, &self.path, &sent);
        }
        let feedback = Feedback::new(&reports);
        self.c.on_feedback(self.now, &self.path, &feedback);
    }
}

fn both() -> [Host; 2] {
    let encoder = Encoder {
        start: Rate::from_mbps(2.0),
        ..Encoder::DEFAULT
    };
    [Gcc::webrtc(&encoder), Gcc::remb(&encoder)].map(Host::new)
}

#[test]
fn a_steady_delay_lets_the_rate_grow_to_half_above_what_arrives() {
    for mut host in both() {
        for _ in 0..1500 {
            host.frame(Duration::from_millis(30), 0);
        }
        let rate = host.c.target;
        assert!((3.3e6..3.7e6).contains(&rate), "{}: {rate}", host.c.name());
    }
}

#[test]
fn a_growing_delay_lowers_the_rate_below_what_arrives() {
    for mut host in both() {
        for _ in 0..250 {
            host.frame(Duration::from_millis(30), 0);
        }
        let before = host.c.target;
        // The queue grows by 3 ms per 20 ms: 2.4 Mbit/s over a link of 2.1.
        for i in 0..60 {
            host.frame(Duration::from_millis(30 + 3 * i), 0);
        }
        let after = host.c.target;
        assert!(
            after < before && after < 0.9 * 2.4e6,
            "{}: {before} {after}",
            host.c.name()
        );
        assert_eq!(host.c.detector.usage(), Usage::Over);
    }
}

#[test]
fn heavy_loss_lowers_the_rate() {
    for mut host in both() {
        for _ in 0..250 {
            host.frame(Duration::from_millis(30), 0);
        }
        let before = host.c.target;
        for _ in 0..250 {
            host.frame(Duration::from_millis(30), 2);
        }
        assert!(host.c.target < 0.7 * before, "{}", host.c.name());
    }
}

#[test]
fn a_rate_rises_by_reports_and_not_by_frames() {
    let [_, mut host] = both();
    let mut changes = Vec::new();
    let mut last = host.c.target;
    for _ in 0..250 {
        host.frame(Duration::from_millis(30), 0);
        if host.c.target != last {
            last = host.c.target;
            changes.push(host.now);
        }
    }
    // A REMB comes each second; receiver reports each 360 kbit of media (RFC 3550, 6.2).
    assert!(changes.len() >= 3, "{}", changes.len());
    let gaps = changes.windows(2).map(|w| w[1].since(w[0]));
    let least = gaps.min().expect("several changes");
    assert!(least >= Duration::from_millis(100), "{least:?}");
}
