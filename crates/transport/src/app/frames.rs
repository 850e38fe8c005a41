//! VR and game frames as the CECC paper models them (section II): a frame rate, normally distributed frame intervals
//! and sizes.

use slackwater_core::{Draw, Duration, Instant, Rate};

use super::Message;

/// Whether frames drift from their clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrameClock {
    /// Gaps between frames are independent: the phase drifts (CECC, section II-B: Y = sum of X).
    #[default]
    Gaps,
    /// Each frame deviates from its place in a fixed grid.
    Grid,
}

/// Frames of video.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FramesConfig {
    /// Frames per second.
    pub fps: f64,
    /// Mean bit rate.
    pub rate: Rate,
    /// Coefficient of variation of the frame size.
    pub size_cv: f64,
    /// Standard deviation of the frame interval.
    pub interval_sigma: Duration,
    /// What the deviation is of.
    pub clock: FrameClock,
    /// From the start of the flow, when its connection opens, to the first frame.
    pub lead: Duration,
    /// Shifts the first frame by a uniform share of the interval, so that flows do not start in step.
    pub random_phase: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Frames {
    config: FramesConfig,
    draw: Draw,
    count: u64,
    /// Place of the current frame in the grid.
    grid: Instant,
    next: Instant,
}

/// Keys of the draws of one frame.
const PER_FRAME: u64 = 2;
/// Key of the phase: no frame's.
const PHASE: u64 = u64::MAX;

impl Frames {
    pub(super) fn new(config: FramesConfig, start: Instant, draw: Draw) -> Self {
        let phase = if config.random_phase {
            draw.uniform(PHASE) / config.fps
        } else {
            0.0
        };
        let first = start + config.lead + Duration::from_secs_f64(phase);
        Self {
            config,
            draw,
            count: 0,
            grid: first,
            next: first,
        }
    }

    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    pub(super) fn take(&mut self) -> Message {
        let c = &self.config;
        let key = PER_FRAME * self.count;
        let mean = c.rate.as_bps() as f64 / 8.0 / c.fps;
        let size = (mean * (1.0 + c.size_cv * self.draw.normal(key))).max(1.0) as u64;
        let message = Message {
            bytes: size,
            ends: Some(self.next),
            total: size,
        };
        self.count += 1;
        let interval = 1.0 / c.fps;
        let deviation = c.interval_sigma.as_secs_f64() * self.draw.normal(key + 1);
        // Frames keep their order: a gap is never negative.
        self.next = match c.clock {
            FrameClock::Gaps => self.next + Duration::from_secs_f64(interval + deviation),
            FrameClock::Grid => {
                self.grid += Duration::from_secs_f64(interval);
                let at = self.grid.as_secs_f64() + deviation;
                (Instant::ZERO + Duration::from_secs_f64(at)).max(self.next)
            }
        };
        message
    }
}
