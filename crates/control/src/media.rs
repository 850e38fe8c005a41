//! Control of real-time media: the rate of an encoder, from reports about each packet.
//!
//! These controllers take [`crate::Feedback`] and set [`Intent::target`] and [`Intent::pacing`]; the self-clocked ones
//! also [`Intent::window`], which like [`PathView::in_flight`] counts IP bytes here. What a report must not do, whatever
//! it holds: raise the rate where it tells nothing new, or panic. Where no news come the rate falls by 30 % after 0.5 s
//! and two round trips, and again each 0.5 s.

mod acked;
pub mod al4s;
pub mod ebb;
pub mod feedback;
pub mod gcc;
mod inbox;
pub mod l4s_cc;
pub mod scream;
mod silence;

use slackwater_core::{Instant, Rate};

use crate::registry::{AnyMedia, Entry};
use crate::{EcnMode, Feedback, Intent, PathReport, PathView, Sent};

/// A controller of an encoder, by reports about each packet. Calls come in time order; `now` comes first.
///
/// It keeps the laws of [`Controller`](crate::Controller): rates are finite, nothing panics, and a report that tells nothing
/// new raises no rate.
pub trait MediaController: Send + core::fmt::Debug {
    /// A packet was sent. Hot path.
    fn on_sent(&mut self, _now: Instant, _path: &PathView, _sent: &Sent) {}
    /// Feedback that speaks of each packet arrived: one RTCP report.
    fn on_feedback(&mut self, now: Instant, path: &PathView, feedback: &Feedback<'_>);
    /// True where the sender asks the network for explicit feedback.
    fn takes_reports(&self) -> bool {
        false
    }
    /// True where the sender wants the base station to count its flow and to report on a way of its own.
    fn takes_counters(&self) -> bool {
        false
    }
    /// True where a frame leaves before the next one is captured, faster than by the pacing rate where it must.
    fn is_prompt(&self) -> bool {
        false
    }
    /// Explicit feedback arrived.
    fn on_report(&mut self, _now: Instant, _path: &PathView, _report: &PathReport) {}
    /// The timer asked for by [`MediaController::next_timer`] ran out.
    fn on_timer(&mut self, _now: Instant, _path: &PathView) {}
    /// When [`MediaController::on_timer`] should be called.
    fn next_timer(&self) -> Option<Instant> {
        None
    }
    /// What the encoder and the sender may do now.
    fn intent(&self) -> Intent;
    /// Named internals for plots and records. Names are the paper's or the draft's.
    fn snapshot(&self, _out: &mut Vec<(&'static str, f64)>) {}
    /// The name under which the registry knows this controller.
    fn name(&self) -> &str;
    /// A copy with the same state.
    fn clone_box(&self) -> Box<dyn MediaController>;
}

impl Clone for Box<dyn MediaController> {
    fn clone(&self) -> Self {
        self.clone_box()
    }
}

/// The controllers of this family.
pub(crate) const TABLE: &[&[Entry<AnyMedia>]] = &[
    al4s::ENTRIES,
    l4s_cc::ENTRIES,
    scream::ENTRIES,
    gcc::ENTRIES,
    ebb::ENTRIES,
];

/// No IP packet is longer, whatever a report says (RFC 791, 3.1).
const LONGEST: u64 = 65_535;

/// How much a packet's headers add.
#[derive(Clone, Copy, Debug, Default)]
struct Packets {
    mss: u32,
    wire: u32,
}

impl Packets {
    fn see(&mut self, path: &PathView) {
        if path.mss != 0 {
            self.mss = path.mss;
            self.wire = path.wire_mss.max(path.mss);
        }
    }

    /// IP bytes per payload byte.
    fn overhead(self) -> f64 {
        f64::from(self.wire.max(1)) / f64::from(self.mss.max(1))
    }
}

/// The intent of a rate-based controller with an encoder at `target`.
fn media_intent(target: Rate, pace: f64, packets: Packets, ecn: EcnMode) -> Intent {
    Intent {
        target: Some(target),
        pacing: Some(target.mul_f64(pace * packets.overhead())),
        ecn,
        ..Intent::default()
    }
}
