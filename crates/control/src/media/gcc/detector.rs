//! Over-use detector with an adaptive threshold (draft-ietf-rmcat-gcc-02, 5.4).

use slackwater_core::{Duration, Instant};

/// Over-use must last longer.
const OVERUSE: f64 = 0.010;
/// Groups that an offset counts for at most.
const GROUPS: u32 = 60;
/// An offset so far above the threshold, in ms, does not move it.
const LEAP: f64 = 15.0;
/// The threshold's bounds and start in ms.
const BOUNDS: (f64, f64) = (6.0, 600.0);
const START: f64 = 12.5;
/// No more time than this counts between two updates.
const STEP: Duration = Duration::from_millis(100);

/// How the link is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Usage {
    Normal,
    Over,
    Under,
}

/// The detector.
#[derive(Clone, Debug)]
pub(crate) struct Detector {
    /// Speeds of the threshold per ms, up and down.
    speed: (f64, f64),
    threshold: f64,
    updated: Option<Instant>,
    groups: u32,
    /// Seconds above the threshold; negative: not above.
    over: f64,
    count: u32,
    last: f64,
    usage: Usage,
}

impl Detector {
    /// libwebrtc's: `k_up` 0.0087, `k_down` 0.039.
    pub(crate) const WEBRTC: (f64, f64) = (0.0087, 0.039);
    /// The draft's: `K_u` 0.01, `K_d` 0.00018.
    pub(crate) const DRAFT: (f64, f64) = (0.01, 0.00018);

    pub(crate) const fn new(speed: (f64, f64)) -> Self {
        Self {
            speed,
            threshold: START,
            updated: None,
            groups: 0,
            over: -1.0,
            count: 0,
            last: 0.0,
            usage: Usage::Normal,
        }
    }

    pub(crate) const fn usage(&self) -> Usage {
        self.usage
    }

    pub(crate) const fn threshold(&self) -> f64 {
        self.threshold
    }

    /// An `offset` in ms per group, with `sent` seconds between the last two; `at` is the receiver's time.
    pub(crate) fn update(&mut self, at: Instant, offset: f64, sent: f64) {
        self.groups = (self.groups + 1).min(GROUPS);
        if self.groups < 2 {
            return;
        }
        let modified = f64::from(self.groups) * offset;
        if modified > self.threshold {
            self.over = if self.over < 0.0 {
                // Over-used since halfway between the two.
                sent / 2.0
            } else {
                self.over + sent
            };
            self.count += 1;
            if self.over > OVERUSE && self.count > 1 && offset >= self.last {
                (self.over, self.count) = (0.0, 0);
                self.usage = Usage::Over;
            }
        } else {
            (self.over, self.count) = (-1.0, 0);
            self.usage = if modified < -self.threshold {
                Usage::Under
            } else {
                Usage::Normal
            };
        }
        self.last = offset;
        self.adapt(at, modified.abs());
    }

    fn adapt(&mut self, at: Instant, size: f64) {
        let last = self.updated.replace(at).unwrap_or(at);
        if size > self.threshold + LEAP {
            return;
        }
        let speed = if size < self.threshold {
            self.speed.1
        } else {
            self.speed.0
        };
        let ms = at.since(last).min(STEP).as_millis_f64();
        self.threshold += speed * (size - self.threshold) * ms;
        self.threshold = self.threshold.clamp(BOUNDS.0, BOUNDS.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overuse_takes_time_and_a_rising_offset() {
        let mut d = Detector::new(Detector::WEBRTC);
        let mut at = Instant::from_millis(1);
        let mut step = |d: &mut Detector, offset| {
            at += Duration::from_millis(5);
            d.update(at, offset, 0.005);
            d.usage()
        };
        assert_eq!(step(&mut d, 10.0), Usage::Normal, "one group is none");
        assert_eq!(step(&mut d, 10.0), Usage::Normal, "2.5 ms");
        assert_eq!(step(&mut d, 10.0), Usage::Normal, "7.5 ms");
        assert_eq!(step(&mut d, 9.9), Usage::Normal, "it falls");
        assert_eq!(step(&mut d, 10.0), Usage::Over);
        assert_eq!(step(&mut d, 0.0), Usage::Normal);
        assert_eq!(step(&mut d, -10.0), Usage::Under);
    }

    #[test]
    fn the_threshold_follows_the_offset_and_no_leap() {
        let mut d = Detector::new(Detector::WEBRTC);
        d.updated = Some(Instant::ZERO);
        d.adapt(Instant::from_millis(10), 22.5);
        assert!((d.threshold() - (12.5 + 0.0087 * 10.0 * 10.0)).abs() < 1e-12);
        let before = d.threshold();
        d.adapt(Instant::from_millis(20), before + 15.1);
        assert_eq!(d.threshold(), before);
        d.adapt(Instant::from_millis(30), before - 1.0);
        assert!((d.threshold() - (before - 0.39)).abs() < 1e-12);
        for i in 0..100 {
            d.adapt(Instant::from_millis(40 + 100 * i), 0.0);
        }
        assert_eq!(d.threshold(), 6.0);
    }
}
