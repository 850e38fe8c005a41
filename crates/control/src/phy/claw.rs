//! CLAW: the window is what the radio could carry in a least RTT (Xie, Zhang, Zhu: "Accelerating Mobile Web Loading Using
//! Cellular Link Information", `MobiSys` 2017). No code was published; this follows the paper's words.
//!
//! The UE reads the resource blocks that are free and its own share of them over some 100 ms, multiplies by the bytes of a
//! block, and the sender takes that rate times the least RTT for its window. Mean and product are all there is: no margin
//! for what varies, so the queue runs dry (Tyrus, section 1, finds "a clear gap with the channel capacity").

use slackwater_core::Instant;

use super::observe::Signals;
use super::steered::MODES;
use super::steered::Steer;
use super::steered::steered;
use crate::registry::{AnyController, Entry, Reports};

/// What the registry knows of it.
pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "claw",
    title: "CLAW",
    about: "CLAW (MobiSys 2017): window = mean of the transport blocks over 100 ms * least RTT",
    reports: Reports::Blocks,
    modes: Some(MODES),
    make: |cfg, p| {
        p.none()?;
        Ok(AnyController::Claw(steered(Claw, cfg)))
    },
    ..Entry::TRANSPORT
}];

/// CLAW's window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Claw;

impl Steer for Claw {
    fn name(&self) -> &'static str {
        "claw"
    }

    #[inline]
    fn window(&mut self, _now: Instant, s: &Signals, _window: f64) -> f64 {
        s.segments(s.mean100(), s.min_rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::super::rule::Rule2;
    use super::super::steered::Steered;
    use super::super::testing::{Link, steady, varying};
    use super::*;

    #[test]
    fn the_window_is_the_product() {
        let mut link = Link::new(Steered::new(Claw, 1448, 10), 20, steady);
        link.run(3000);
        // 12 Mbit/s for 40 ms.
        assert!(link.window().abs_diff(40) <= 1, "{}", link.window());
    }

    #[test]
    fn on_a_varying_link_it_leaves_capacity_that_a_margin_takes() {
        let mut claw = Link::new(Steered::new(Claw, 1448, 10), 20, varying);
        let mut rule = Link::new(Steered::new(Rule2::PHY, 1448, 10), 20, varying);
        claw.run(20_000);
        rule.run(20_000);
        assert!(claw.utilisation() < rule.utilisation() - 0.03);
        assert!(claw.delay(0.95) < rule.delay(0.95));
    }
}
