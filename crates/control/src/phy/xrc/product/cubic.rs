//! CUBIC (RFC 9438) for a queue beyond the radio that others fill as well. In segments and seconds, as the standard has it;
//! the sender's own `NewReno` serves while reports are missing, so slow start and recovery are not here.

use slackwater_core::Instant;

/// C, segments per second cubed (RFC 9438, 5).
const C: f64 = 0.4;
/// Multiplicative decrease (RFC 9438, 4.6).
pub(super) const BETA: f64 = 0.7;
/// Growth of the Reno estimate, segments per RTT (RFC 9438, 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// The state of congestion avoidance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cubic {
    /// `W_max`, segments.
    w_max: f64,
    /// The window before the last decrease (`cwnd_prior`), segments.
    prior: f64,
    /// The present epoch.
    epoch: Option<Epoch>,
}

/// An epoch of congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Epoch {
    /// When it began.
    start: Instant,
    /// Seconds until the window is `W_max` again (K).
    k: f64,
    /// Where the curve is flat, segments.
    origin: f64,
    /// `W_est`, segments.
    reno: f64,
}

impl Cubic {
    /// A loss at a window of `cwnd` segments.
    pub(super) fn lost(&mut self, cwnd: f64) {
        // Fast convergence (RFC 9438, 4.7).
        self.w_max = if cwnd < self.w_max {
            cwnd * (1.0 + BETA) / 2.0
        } else {
            cwnd
        };
        self.prior = cwnd;
        self.epoch = None;
    }

    /// The window stood still: that time is no growth.
    pub(super) fn pause(&mut self) {
        self.epoch = None;
    }

    /// The window after `acked` segments were acknowledged, at a smoothed RTT of `srtt` seconds.
    pub(super) fn grow(&mut self, now: Instant, cwnd: f64, acked: f64, srtt: f64) -> f64 {
        let w_max = self.w_max;
        let epoch = self.epoch.get_or_insert_with(|| Epoch {
            start: now,
            // RFC 9438, 4.2, eq. 2.
            k: libm::cbrt((w_max - cwnd).max(0.0) / C),
            origin: w_max.max(cwnd),
            reno: cwnd,
        });
        // RFC 9438, 4.3: from the window before the decrease on as Reno.
        let alpha = if epoch.reno < self.prior { ALPHA } else { 1.0 };
        epoch.reno += alpha * acked / cwnd;

        let t = now.since(epoch.start).as_secs_f64() + srtt - epoch.k;
        let curve = epoch.origin + C * t * t * t;
        // RFC 9438, 4.2: between the window and one and a half of it, an RTT ahead.
        let target = curve.clamp(cwnd, 1.5 * cwnd);
        (cwnd + (target - cwnd) * acked / cwnd).max(epoch.reno)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of `rtt` seconds from `cwnd` segments for `seconds`, and the window after each.
    fn rounds(cubic: &mut Cubic, mut cwnd: f64, rtt: f64, seconds: f64) -> Vec<f64> {
        let mut now = 0.0;
        let mut windows = vec![];
        while now < seconds {
            let acks = cwnd;
            for k in 0..acks as u32 {
                let at = now + rtt * f64::from(k) / acks;
                cwnd = cubic.grow(Instant::from_nanos((at * 1e9) as u64), cwnd, 1.0, rtt);
            }
            now += rtt;
            windows.push(cwnd);
        }
        windows
    }

    #[test]
    fn the_window_is_back_after_k_and_flat_there() {
        // RFC 9438, 4.2: W_max 100, from 70: K = cbrt(30 / 0.4) = 4.2 s.
        let mut cubic = Cubic::default();
        cubic.lost(100.0);
        let windows = rounds(&mut cubic, 70.0, 0.3, 4.2);
        let last = windows[windows.len() - 1];
        assert!((97.0..=101.0).contains(&last), "{last}");
        // Concave: the first second brings more than the last.
        assert!(windows[3] - 70.0 > 3.0 * (last - windows[windows.len() - 4]));
    }

    #[test]
    fn short_paths_grow_as_reno_does() {
        // RFC 9438, 4.3: 0.53 segments per RTT up to the window before the loss, then one.
        let mut cubic = Cubic::default();
        cubic.lost(20.0);
        let windows = rounds(&mut cubic, 14.0, 0.01, 0.1);
        let grown = windows[9] - 14.0;
        assert!((4.5..=6.0).contains(&grown), "{grown}");
    }

    #[test]
    fn a_second_loss_below_the_first_makes_room() {
        let mut cubic = Cubic::default();
        cubic.lost(100.0);
        cubic.lost(70.0);
        // RFC 9438, 4.7.
        assert_eq!(cubic.w_max, 70.0 * 0.85);
        assert_eq!(cubic.prior, 70.0);
    }
}
