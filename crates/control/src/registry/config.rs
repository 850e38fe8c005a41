//! What a controller is built from.

use slackwater_core::{Draw, Duration, Rate};

/// What a controller is built from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_window: u32,
    /// Slow-start threshold before any congestion, in segments; `None`: infinite (RFC 5681, 3.1: "arbitrarily high").
    pub initial_ssthresh: Option<u32>,
    /// Bounds of an encoder, for media controllers.
    pub encoder: Encoder,
    /// Target end-to-end delay of the service, for the media controllers that go by one and are not told another by name.
    pub service: Option<Duration>,
    /// Source of the controller's random numbers; give each flow a fork of its own.
    pub draw: Draw,
}

/// The rates that an encoder can give, in payload bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoder {
    /// Rate before any feedback.
    pub start: Rate,
    /// Least rate.
    pub least: Rate,
    /// Greatest rate.
    pub most: Rate,
}

impl Encoder {
    /// 2 Mbit/s at first, then between 0.3 and 100 Mbit/s: our choice.
    pub const DEFAULT: Self = Self {
        start: Rate::from_bps(2_000_000),
        least: Rate::from_bps(300_000),
        most: Rate::from_bps(100_000_000),
    };
}

impl Default for Encoder {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Config {
    /// Ten segments of `mss` bytes (RFC 6928).
    pub const fn new(mss: u32, draw: Draw) -> Self {
        Self {
            mss,
            initial_window: 10,
            initial_ssthresh: None,
            encoder: Encoder::DEFAULT,
            service: None,
            draw,
        }
    }

    /// The same for an encoder with these rates.
    #[must_use]
    pub const fn with_encoder(self, encoder: Encoder) -> Self {
        Self { encoder, ..self }
    }

    /// The same for a service with this target end-to-end delay.
    #[must_use]
    pub const fn with_service(self, delay: Duration) -> Self {
        Self {
            service: Some(delay),
            ..self
        }
    }

    /// The same with an initial window of `segments`.
    #[must_use]
    pub const fn with_initial_window(self, segments: u32) -> Self {
        Self {
            initial_window: segments,
            ..self
        }
    }

    /// The same with a slow-start threshold from the start, for window laws.
    #[must_use]
    pub const fn with_initial_ssthresh(self, segments: Option<u32>) -> Self {
        Self {
            initial_ssthresh: segments,
            ..self
        }
    }
}
