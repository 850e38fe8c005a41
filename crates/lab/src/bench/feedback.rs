//! What one reported packet costs a media controller.

use std::hint::black_box;

use serde::Serialize;
use slackwater_control::{AnyMedia, Feedback, MediaController as _, PacketReport, PathView, Sent};
use slackwater_core::{Bytes, Duration, Ecn, Instant};

use crate::cpu::ThreadTime;

/// What a packet may cost, in nanoseconds (docs/performance.md, "Media").
pub const GOAL_NS: f64 = 200.0;
/// Packets of a frame, reported together.
const PACKETS: u64 = 10;
/// Frames of a measurement: some 20 ms of processor time at the goal.
const FRAMES: u64 = 10_000;

/// What a packet costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FeedbackCost {
    /// Name of the controller.
    pub controller: String,
    /// Processor time of a packet in nanoseconds, the least of all rounds.
    pub ns: f64,
    /// What it may be, in nanoseconds.
    pub goal_ns: f64,
    /// The one over the other.
    pub ratio: f64,
}

/// Measures `controller` in `rounds` rounds on this thread: `on_sent` of each packet, `on_feedback` of each frame of ten, and the `intent` that
/// a host reads after it. A frame comes each 16 ms (6 Mbit/s), with a wave in its delay, and every eighth is marked.
pub fn feedback(name: &str, mut controller: AnyMedia, rounds: u32) -> FeedbackCost {
    let mut path = PathView::default();
    path.srtt = Duration::from_millis(30);
    path.min_rtt = Duration::from_millis(20);
    path.mss = 1160;
    path.wire_mss = 1200;
    path.in_flight = Bytes(24_000);
    let mut sent = Sent::default();
    sent.bytes = Bytes(1200);

    let mut frame = 0;
    let mut reports = Vec::with_capacity(PACKETS as usize);
    let mut round = || {
        let start = ThreadTime::now();
        for _ in 0..FRAMES {
            frame += 1;
            send_and_report(frame, &path, &sent, &mut controller, &mut reports);
        }
        start.elapsed().as_nanos() as f64 / (FRAMES * PACKETS) as f64
    };
    let ns = (0..rounds.max(1))
        .map(|_| round())
        .fold(f64::INFINITY, f64::min);
    FeedbackCost {
        controller: name.to_owned(),
        ns,
        goal_ns: GOAL_NS,
        ratio: ns / GOAL_NS,
    }
}

fn send_and_report(
    frame: u64,
    path: &PathView,
    sent: &Sent,
    controller: &mut AnyMedia,
    reports: &mut Vec<PacketReport>,
) {
    let start = Instant::from_millis(1000 + 16 * frame);
    let way = Duration::from_micros(10_000 + 100 * (frame % 16));
    let ecn = if frame.is_multiple_of(8) {
        Ecn::Ce
    } else {
        Ecn::Ect1
    };
    reports.clear();
    for packet in 0..PACKETS {
        let at = start + Duration::from_micros(800) * packet;
        controller.on_sent(at, path, sent);
        let number = PACKETS * frame + packet;
        reports.push(PacketReport::received(
            number,
            at,
            at + way,
            Bytes(1200),
            ecn,
        ));
    }
    let now = start + way + Duration::from_millis(15);
    let feedback = Feedback::new(reports);
    controller.on_feedback(now, path, black_box(&feedback));
    black_box(controller.intent().target);
}

#[cfg(test)]
mod tests {
    use slackwater_control::{Config, build_media, media_names};
    use slackwater_core::Draw;

    use super::*;

    #[test]
    fn every_media_controller_has_a_cost_and_its_ratio() {
        for (name, _) in media_names() {
            let config = Config::new(1160, Draw::new(1));
            let cost = feedback(name, build_media(name, &config).unwrap(), 1);
            assert_eq!(cost.controller, name);
            assert!(cost.ns > 0.0 && cost.ns.is_finite(), "{cost:?}");
            assert!((cost.ratio * GOAL_NS - cost.ns).abs() < 1e-6, "{cost:?}");
        }
    }
}
