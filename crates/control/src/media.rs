//! Control of real-time media: the rate of an encoder, from reports about each packet.
//!
//! These controllers take [`crate::Feedback`] and set [`Intent::target`] and [`Intent::pacing`]; the self-clocked ones
//! also [`Intent::window`], which like [`PathView::in_flight`] counts IP bytes here. What a report must not do, whatever
//! it holds: raise the rate where it tells nothing new, or panic. Where no news come the rate falls by 30 % after 0.5 s
//! and two round trips, and again each 0.5 s.

mod acked;
pub mod al4s;
pub mod feedback;
pub mod gcc;
mod inbox;
pub mod l4s_cc;
pub mod scream;
mod silence;

use slackwater_core::Rate;

use crate::{EcnMode, Intent, PathView};

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
