//! The gain cycle of bandwidth probing.

use slackwater_core::{Draw, Instant};

/// Probe, drain, six phases at the estimate (`bbr_pacing_gain`).
const GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// The first phase is any but the draining one (`bbr_cycle_rand`).
const FIRST_PHASES: u64 = 7;

/// Phase and since when.
#[derive(Clone, Copy, Debug)]
pub struct Cycle {
    phase: u8,
    since: Instant,
    draw: Draw,
    restarts: u64,
}

impl Cycle {
    /// A cycle whose first phases come from `draw`.
    pub const fn new(draw: Draw) -> Self {
        Self {
            phase: 0,
            since: Instant::ZERO,
            draw,
            restarts: 0,
        }
    }

    /// The pacing gain.
    pub fn gain(&self) -> f64 {
        GAINS[usize::from(self.phase)]
    }

    /// In the phase that raises the rate.
    pub const fn is_probing_up(&self) -> bool {
        self.phase == 0
    }

    /// When the phase began.
    pub const fn since(&self) -> Instant {
        self.since
    }

    /// The next phase.
    pub const fn advance(&mut self, now: Instant) {
        self.phase = (self.phase + 1) % GAINS.len() as u8;
        self.since = now;
    }

    /// A random first phase, so that flows do not probe together.
    pub fn restart(&mut self, now: Instant) {
        let pick = self.draw.bits(self.restarts) % FIRST_PHASES;
        self.restarts += 1;
        // One before the phase picked among 2..=7 and 0.
        self.phase = 7 - pick as u8;
        self.advance(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_phase_is_random_and_never_drains() {
        let mut seen = [false; 8];
        let mut cycle = Cycle::new(Draw::new(1));
        for _ in 0..200 {
            cycle.restart(Instant::ZERO);
            seen[usize::from(cycle.phase)] = true;
        }
        assert_eq!(
            seen,
            [true, false, true, true, true, true, true, true],
            "phase 1 drains a queue that was never built"
        );
    }
}
