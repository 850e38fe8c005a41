//! Is the pipe full? Three rounds in which the delivery rate does not grow by a quarter (5.3.1.2).

/// Growth that a round must show (5.3.1.2).
const GROWTH: f64 = 1.25;
/// Rounds without it that mean a plateau (5.3.1.2).
const ROUNDS: u8 = 3;

/// The search for a plateau.
#[derive(Clone, Copy, Debug, Default)]
pub struct FullBw {
    level: f64,
    rounds: u8,
    now: bool,
    reached: bool,
}

impl FullBw {
    /// The pipe was full once in the connection's life (`full_bw_reached`).
    #[inline]
    pub const fn reached(&self) -> bool {
        self.reached
    }

    /// The pipe is full by the search that is under way (`full_bw_now`).
    pub const fn now(&self) -> bool {
        self.now
    }

    /// Searches anew above `level` bytes per second (`ResetFullBW`).
    pub const fn restart(&mut self, level: f64) {
        self.level = level;
        self.rounds = 0;
        self.now = false;
    }

    /// A round that the application did not limit ended with a delivery rate of `rate`.
    pub fn round(&mut self, rate: f64) {
        if self.now {
            return;
        }
        if rate >= self.level * GROWTH {
            self.restart(rate);
            return;
        }
        self.rounds += 1;
        if self.rounds >= ROUNDS {
            self.fill();
        }
    }

    /// Losses say that the pipe is full (5.3.1.3).
    pub const fn fill(&mut self) {
        self.now = true;
        self.reached = true;
    }

    /// The verdict on start-up was wrong (5.5.11.2).
    pub const fn forget(&mut self) {
        self.reached = false;
    }
}
