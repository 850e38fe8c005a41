//! An encoder that follows a target rate: late, and not exactly.

use slackwater_core::{Draw, Duration, Instant, Rate};

/// No frame is smaller, in bytes.
const LEAST_FRAME: f64 = 100.0;
/// Frame sizes deviate by no more than so many standard deviations.
const SIGMAS: f64 = 3.0;
/// What a frame took above its share is saved by the frames of about this time (a rate control's window; ours).
const REPAY: Duration = Duration::from_secs(1);
/// Of a frame's share, at most this part is saved.
const REPAY_MOST: f64 = 0.5;

/// How frame sizes deviate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sizes {
    /// Around each frame's share alone: normal, with this coefficient of variation, and within three deviations.
    Even(f64),
    /// Log-normal with this coefficient of variation in all, part of which stays for seconds: a scene's. As measured of
    /// Chromium, see [`Sizes::CHROMIUM`].
    Scenes(f64),
}

impl Sizes {
    /// Chromium 156's VP8 at 640x360 over an LTE cell for 60 s: frame sizes had a coefficient of variation of 0.53, and
    /// rates of a second one of 0.20.
    pub const CHROMIUM: Self = Self::Scenes(0.53);
}

/// The part that stays, as coefficient of variation: with frames of their own of [`Sizes::CHROMIUM`] at 30 a second it
/// makes rates of a second that deviate by 20 %...
const SCENE: f64 = 0.19;
/// ...while it fades with this time constant (ours: a second's mean keeps most of it).
const SCENE_TIME: Duration = Duration::from_secs(2);

/// An encoder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SourceConfig {
    /// Frames per second, above zero.
    pub fps: f64,
    /// Least payload rate.
    pub least: Rate,
    /// Greatest payload rate.
    pub most: Rate,
    /// Rate until a controller names one.
    pub start: Rate,
    /// Time constant with which the encoder follows; zero: at the next frame.
    pub lag: Duration,
    /// How frame sizes deviate.
    pub sizes: Sizes,
    /// Time between key frames; `None`: the first frame, and those that are asked for.
    pub key_interval: Option<Duration>,
    /// Size of a key frame in units of the mean.
    pub key_scale: f64,
    /// Shifts the first frame by a uniform share of the interval, so that flows do not start in step.
    pub random_phase: bool,
    /// No frame is captured from the first of these instants until the second: the media is paused.
    pub pause: Option<(Instant, Instant)>,
}

impl Default for SourceConfig {
    fn default() -> Self {
        Self {
            fps: 60.0,
            least: Rate::from_bps(300_000),
            most: Rate::from_bps(100_000_000),
            start: Rate::from_bps(2_000_000),
            lag: Duration::ZERO,
            // The study's prototype.
            sizes: Sizes::Even(0.05),
            key_interval: None,
            key_scale: 1.0,
            random_phase: true,
            pause: None,
        }
    }
}

/// A frame as it leaves the encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Encoded {
    pub(super) number: u32,
    pub(super) captured: Instant,
    pub(super) bytes: u64,
    pub(super) key: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Source {
    config: SourceConfig,
    draw: Draw,
    first: Instant,
    stop: Instant,
    count: u32,
    next: Instant,
    rate: f64,
    /// Bytes above the share that the next frames save.
    debt: f64,
    next_key: Instant,
    /// The scene's normal deviate.
    scene: f64,
}

/// Key of the phase: no frame's.
const PHASE: u64 = u64::MAX;
/// Keys of the scenes' deviates: the first and those that follow, apart from the frames'.
const SCENES: u64 = 1 << 40;

impl Source {
    pub(super) fn new(config: SourceConfig, start: Instant, stop: Instant, draw: Draw) -> Self {
        let phase = if config.random_phase {
            draw.uniform(PHASE) / config.fps
        } else {
            0.0
        };
        let first = start + Duration::from_secs_f64(phase);
        let mut source = Self {
            config,
            draw,
            first,
            stop,
            count: 0,
            next: first,
            rate: config.start.as_bps() as f64,
            debt: 0.0,
            next_key: first,
            scene: draw.normal(SCENES),
        };
        source.skip_pause();
        source.next_key = source.next;
        source
    }

    /// When the next frame is captured.
    pub(super) fn next(&self) -> Option<Instant> {
        (self.next < self.stop).then_some(self.next)
    }

    /// No frame is captured from `now` on.
    pub(super) fn end(&mut self, now: Instant) {
        self.stop = self.stop.min(now);
    }

    /// The next frame is to be a key frame.
    pub(super) fn want_key(&mut self) {
        self.next_key = self.next_key.min(self.next);
    }

    /// `bytes` left beside the frames; the next ones save them.
    pub(super) fn spend(&mut self, bytes: u16) {
        self.debt += f64::from(bytes);
    }

    /// Payload bit/s that the encoder aims at.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// Frames that fall into the pause come after it.
    fn skip_pause(&mut self) {
        if let Some((from, until)) = self.config.pause
            && (from..until).contains(&self.next)
        {
            self.first = self.first.saturating_add(until - self.next);
            self.next = until;
        }
    }

    /// The frame that is due, by an encoder that was told `target`.
    pub(super) fn take(&mut self, target: Rate) -> Encoded {
        let c = &self.config;
        let interval = 1.0 / c.fps;
        let target = target.clamp(c.least, c.most).as_bps() as f64;
        let follow = if c.lag.is_zero() {
            1.0
        } else {
            1.0 - libm::exp(-interval / c.lag.as_secs_f64())
        };
        self.rate += (target - self.rate) * follow;
        let key = self.next >= self.next_key;
        let share = self.rate / 8.0 * interval;
        let noise = self.draw.normal(u64::from(self.count));
        let (noise, expected) = match c.sizes {
            Sizes::Even(cv) => (1.0 + cv * noise.clamp(-SIGMAS, SIGMAS), 1.0),
            Sizes::Scenes(cv) => {
                let kept = libm::exp(-interval / SCENE_TIME.as_secs_f64());
                let fresh = self.draw.normal(SCENES + 1 + u64::from(self.count));
                self.scene = kept * self.scene + (1.0 - kept * kept).sqrt() * fresh;
                let slow = SCENE.min(cv);
                // Factors multiply: (1 + cv^2) = (1 + slow^2) (1 + own^2).
                let own = ((1.0 + cv * cv) / (1.0 + slow * slow) - 1.0)
                    .max(0.0)
                    .sqrt();
                let noise = lognormal(own, noise) * lognormal(slow, self.scene);
                (noise, noise)
            }
        };
        let scale = if key { c.key_scale } else { 1.0 };
        let saved = (self.debt * interval / REPAY.as_secs_f64()).min(share * REPAY_MOST);
        let size = (share * noise * scale - saved).max(LEAST_FRAME);
        // A scene's size is not paid back: the controller's target is a mean over scenes.
        self.debt += size - share * expected;
        if key {
            let pause = c.key_interval.unwrap_or(Duration::MAX);
            self.next_key = self.next.saturating_add(pause);
        }
        let frame = Encoded {
            number: self.count,
            captured: self.next,
            bytes: size as u64,
            key,
        };
        self.count += 1;
        // From the first, so that roundings do not add up.
        let since = Duration::from_secs_f64(f64::from(self.count) * interval);
        self.next = self.first.saturating_add(since);
        self.skip_pause();
        frame
    }
}

/// A log-normal factor of mean 1 and coefficient of variation `cv`, of the normal deviate `z`.
fn lognormal(cv: f64, z: f64) -> f64 {
    let variance = libm::log1p(cv * cv);
    libm::exp(variance.sqrt() * z - 0.5 * variance)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(config: SourceConfig) -> Source {
        Source::new(config, Instant::ZERO, Instant::MAX, Draw::new(3))
    }

    fn mean(source: &mut Source, target: f64, frames: u32) -> f64 {
        let target = Rate::from_mbps(target);
        let bytes: u64 = (0..frames).map(|_| source.take(target).bytes).sum();
        bytes as f64 * 8.0 * source.config.fps / f64::from(frames) / 1e6
    }

    #[test]
    fn the_rate_is_kept_by_noisy_sizes_and_key_frames() {
        let mut s = source(SourceConfig {
            sizes: Sizes::Even(0.2),
            key_interval: Some(Duration::from_secs(2)),
            key_scale: 8.0,
            ..SourceConfig::default()
        });
        let rate = mean(&mut s, 5.0, 6000);
        assert!((rate - 5.0).abs() < 0.02, "{rate}");
        assert!(s.debt.abs() < 8.0 * 5e6 / 8.0 / 60.0, "{}", s.debt);
    }

    #[test]
    fn scenes_deviate_as_chromiums_frames_do() {
        let mut s = source(SourceConfig {
            fps: 30.0,
            sizes: Sizes::CHROMIUM,
            ..SourceConfig::default()
        });
        let target = Rate::from_mbps(3.0);
        let sizes: Vec<f64> = (0..30 * 2000)
            .map(|_| s.take(target).bytes as f64)
            .collect();
        let cv = |values: &[f64]| {
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
            (mean, square.sqrt() / mean)
        };
        let (mean, frames) = cv(&sizes);
        assert!((mean / 12_500.0 - 1.0).abs() < 0.03, "{mean}");
        assert!((frames - 0.53).abs() < 0.03, "{frames}");
        let seconds: Vec<f64> = sizes.chunks(30).map(|c| c.iter().sum()).collect();
        let (_, rates) = cv(&seconds);
        assert!((rates - 0.20).abs() < 0.02, "{rates}");
    }

    #[test]
    fn the_encoder_follows_late() {
        let config = SourceConfig {
            lag: Duration::from_millis(200),
            sizes: Sizes::Even(0.0),
            ..SourceConfig::default()
        };
        let mut s = source(config);
        mean(&mut s, 10.0, 12);
        // One time constant: 63 % of the way from 2 to 10.
        assert!((s.rate() / 1e6 - 7.06).abs() < 0.02, "{}", s.rate());
        let mut s = source(SourceConfig {
            lag: Duration::ZERO,
            ..config
        });
        s.take(Rate::from_mbps(10.0));
        assert_eq!(s.rate(), 1e7);
        s.take(Rate::ZERO);
        assert_eq!(s.rate(), 300_000.0);
    }

    #[test]
    fn no_frame_is_captured_in_a_pause() {
        let at = Instant::from_millis;
        let mut s = source(SourceConfig {
            fps: 50.0,
            random_phase: false,
            pause: Some((at(100), at(1000))),
            ..SourceConfig::default()
        });
        let times: Vec<Instant> = (0..8).map(|_| s.take(Rate::ZERO).captured).collect();
        assert_eq!(
            times,
            [0, 20, 40, 60, 80, 1000, 1020, 1040].map(Instant::from_millis)
        );
    }

    #[test]
    fn frames_come_at_the_frame_rate_and_keys_when_asked_for() {
        let mut s = source(SourceConfig::default());
        let first = s.take(Rate::ZERO);
        assert!(first.key && first.captured < Instant::from_millis(17));
        assert!(!s.take(Rate::ZERO).key);
        s.want_key();
        assert!(s.take(Rate::ZERO).key && !s.take(Rate::ZERO).key);
        for _ in 4..600 {
            s.take(Rate::ZERO);
        }
        let ten = s.next().unwrap() - first.captured;
        assert_eq!(ten, Duration::from_secs(10));
        s.stop = Instant::from_millis(1);
        assert_eq!(s.next(), None);
    }
}
