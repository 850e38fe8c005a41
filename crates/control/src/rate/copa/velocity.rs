//! How fast the window moves (2.1 of the paper): `v` doubles each RTT once the direction has held for three.

/// Rounds in one direction before the velocity doubles: in steady state a direction holds for two and a half.
const ROUNDS: u32 = 3;
/// Largest velocity: keeps the arithmetic in range.
const VELOCITY_MAX: f64 = (1u64 << 30) as f64;

/// The velocity and what it is decided by.
#[derive(Clone, Copy, Debug)]
pub struct Velocity {
    value: f64,
    /// Window at the start of the round.
    start: f64,
    up: bool,
    /// Rounds in this direction.
    rounds: u32,
}

impl Velocity {
    /// A velocity of one, at a window of `cwnd` packets.
    pub const fn new(cwnd: f64) -> Self {
        Self {
            value: 1.0,
            start: cwnd,
            up: true,
            rounds: 0,
        }
    }

    /// The velocity.
    #[inline]
    pub const fn get(&self) -> f64 {
        self.value
    }

    /// Starts over.
    pub const fn reset(&mut self, cwnd: f64) {
        *self = Self::new(cwnd);
    }

    /// A round ended with a window of `cwnd` packets; `used` where the window limited the sender.
    pub fn round(&mut self, cwnd: f64, used: bool) {
        let up = cwnd > self.start;
        self.start = cwnd;
        if up != self.up || !used {
            self.up = up;
            self.rounds = 0;
            self.value = 1.0;
        }
        self.rounds = self.rounds.saturating_add(1);
        if self.rounds > ROUNDS {
            self.value = (self.value * 2.0).min(VELOCITY_MAX);
        }
    }

    /// The target lies in another direction than the one that the window gathered speed in: it must not overshoot
    /// until the round ends (mvfst `Copa::checkAndUpdateDirection`).
    #[inline]
    pub fn turn(&mut self, up: bool) {
        if self.value > 1.0 && up != self.up {
            self.value = 1.0;
            self.up = up;
            self.rounds = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_from_the_fourth_round_in_one_direction() {
        let mut v = Velocity::new(10.0);
        let mut cwnd = 10.0;
        let mut seen = Vec::new();
        for _ in 0..6 {
            cwnd += 2.0;
            v.round(cwnd, true);
            seen.push(v.get());
        }
        assert_eq!(seen, [1.0, 1.0, 1.0, 2.0, 4.0, 8.0]);
        // Another direction starts over.
        v.round(cwnd - 1.0, true);
        assert_eq!(v.get(), 1.0);
    }

    #[test]
    fn steady_state_keeps_it_at_one() {
        // 2.5 RTTs up and 2.5 down (figure 1 of the paper).
        let mut v = Velocity::new(10.0);
        for k in 0..30 {
            let cwnd = [10.0, 12.0, 14.0, 13.0, 11.0][k % 5];
            v.round(cwnd, true);
            assert_eq!(v.get(), 1.0);
        }
    }

    #[test]
    fn a_target_on_the_other_side_stops_it_at_once() {
        let mut v = Velocity::new(10.0);
        for k in 1..=5 {
            v.round(10.0 + f64::from(k), true);
        }
        assert_eq!(v.get(), 4.0);
        v.turn(true);
        assert_eq!(v.get(), 4.0);
        v.turn(false);
        assert_eq!(v.get(), 1.0);
    }

    #[test]
    fn an_unused_window_gathers_no_speed() {
        let mut v = Velocity::new(10.0);
        for k in 1..=9 {
            v.round(10.0 + f64::from(k), false);
            assert_eq!(v.get(), 1.0);
        }
    }
}
