//! Verus's delay profile: which window came with which delay (sections 4.2 and 5.2), and the curve through it.

use super::spline::Spline;

/// Windows that the profile knows (`MAX_W_DELAY_CURVE`).
pub const WINDOWS: usize = 40_000;
/// A point keeps so much of what it was (5.2; `updateUponReceivingPacket`).
const KEEP: f64 = 0.875;
/// Windows per node of the curve, at most (`delayProfile_thread`).
const PER_NODE: f64 = 15.0;
/// Nodes of the curve, at least: below that there are fewer windows to a node.
const NODES: f64 = 5.0;
/// How much smoothness counts against the points.
const RHO: f64 = 2.0;
/// Without a curve, a delay that no point exceeds is lowered by this, ms (`calcDelayCurve`).
const STEP: f64 = 2.0;

/// Points and curve.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Delay by window, ms; below zero where there is none.
    points: Vec<f64>,
    /// Points from here on are dropped with the next fit: what slow start showed beyond the loss that ended it.
    stop: Option<usize>,
    /// Computed by the last fit.
    curve: Option<Spline>,
}

impl Profile {
    /// A packet that left under window `w` took `delay` ms.
    #[inline]
    pub fn sample(&mut self, w: usize, delay: f64) {
        let w = w.min(WINDOWS - 1);
        if w >= self.points.len() {
            self.points.resize(w + 1, -1.0);
        }
        let point = &mut self.points[w];
        *point = if *point < 0.0 {
            delay
        } else {
            *point * KEEP + delay * (1.0 - KEEP)
        };
    }

    /// A curve was fitted.
    pub const fn has_curve(&self) -> bool {
        self.curve.is_some()
    }

    /// Points from window `w` on do not count.
    pub fn stop_at(&mut self, w: usize) {
        self.stop = Some(w);
    }

    /// Fits the curve anew; false where the windows are too few for one.
    pub fn fit(&mut self) -> bool {
        if let Some(stop) = self.stop.take() {
            self.points.truncate(stop);
        }
        let points: Vec<_> = (1..self.points.len())
            .filter(|&w| self.points[w] >= 0.0)
            .map(|w| (w as f64, self.points[w]))
            .collect();
        let largest = points.last().map_or(1.0, |p| p.0);
        let mut per = PER_NODE;
        while largest / per < NODES {
            per -= 1.0;
            if per < 1.0 {
                return false;
            }
        }
        let Some(curve) = Spline::fit(&points, (largest / per) as usize, RHO) else {
            return false;
        };
        self.curve = Some(curve);
        true
    }

    /// Delay of window `w`, ms (`calcDelayCurveInv`); below zero where nothing is known.
    pub fn delay(&self, w: f64) -> f64 {
        match &self.curve {
            Some(curve) => curve.at(w),
            None => self.points.get(w as usize).copied().unwrap_or(-1.0),
        }
    }

    /// The window below the first whose delay exceeds `delay` (`calcDelayCurve`); `None` where the curve never does.
    pub fn window(&self, delay: f64) -> Option<f64> {
        if let Some(curve) = &self.curve {
            let last = (curve.end() as usize).clamp(2, WINDOWS);
            if let Some(w) = (2..last).find(|&w| curve.at(w as f64) > delay) {
                return Some((w - 1) as f64);
            }
            // From here on the curve is straight.
            let from = last as f64;
            let (here, slope) = (curve.at(from), curve.at(from + 1.0) - curve.at(from));
            if here > delay {
                return Some(from - 1.0);
            }
            let ahead = libm::floor((delay - here) / slope);
            return (slope > 0.0 && from + ahead + 1.0 < WINDOWS as f64).then_some(from + ahead);
        }
        // Without one the delay is lowered step by step until a point exceeds it; a window that was never used has -1.
        let known = self.points.get(2..).unwrap_or_default();
        let most = known.iter().fold(-1.0_f64, |most, &d| most.max(d));
        let steps = libm::floor((delay - most) / STEP) + 1.0;
        let delay = if most > delay {
            delay
        } else {
            delay - STEP * steps
        };
        Some(
            known
                .iter()
                .position(|&d| d > delay)
                .map_or(1.0, |i| (i + 1) as f64),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_maps_delays_to_windows_and_back() {
        let mut p = Profile::default();
        // 40 ms up to 20 packets, then 4 ms a packet.
        for w in 1..120_usize {
            p.sample(w, 40.0 + 4.0 * w.saturating_sub(20) as f64);
        }
        assert!(!p.has_curve() && p.window(100.0) == Some(35.0));
        assert!(p.fit() && p.has_curve());
        let w = p.window(200.0).expect("on the curve");
        assert!((w - 60.0).abs() <= 3.0, "{w}");
        assert!((p.delay(w) - 200.0).abs() < 10.0, "{}", p.delay(w));
        // Straight on beyond the last point.
        assert!((p.delay(219.0) - 836.0).abs() < 30.0, "{}", p.delay(219.0));
        assert!(p.delay(w) <= 200.0 && p.delay(w + 1.0) > 200.0);
    }

    #[test]
    fn what_a_profile_without_enough_windows_says() {
        let mut p = Profile::default();
        assert!(!p.fit());
        assert_eq!(p.window(50.0), Some(1.0));
        for w in 1..4 {
            p.sample(w, 40.0);
        }
        assert!(!p.fit());
        for w in 4..30 {
            p.sample(w, 40.0);
        }
        assert!(p.fit());
        // A flat curve never exceeds what lies above it.
        assert_eq!(p.window(60.0), None);
    }

    #[test]
    fn points_beyond_a_loss_are_dropped_with_the_next_fit() {
        let mut p = Profile::default();
        for w in 1..100_usize {
            p.sample(w, 40.0 + w as f64);
        }
        p.stop_at(60);
        assert!(p.fit());
        assert_eq!(p.points.len(), 60);
        p.sample(10, 90.0);
        assert!(
            (p.delay(10.0) - 50.0).abs() < 1.0,
            "the curve is the last fit's"
        );
        assert!((p.points[10] - (50.0 * 0.875 + 90.0 * 0.125)).abs() < 1e-9);
    }
}
