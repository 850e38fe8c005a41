//! The rules that a learned controller must beat: a window straight from the transport blocks.

use slackwater_core::Instant;

pub use super::margin::{Q, Z_ACKS, Z_PHY};
use super::observe::Signals;
use super::steered::{MODES, Steer, steered};
use super::track::Source;
use crate::registry::{AnyController, Entry, Parameter, Parameters, Reports};

/// What the registry knows of them.
pub(crate) const ENTRIES: &[Entry] = &[
    Entry {
        name: "rule",
        title: "rule",
        about: "window = g * mean of the transport blocks * least RTT; rule:g=1.25",
        reports: Reports::Blocks,
        modes: Some(MODES),
        parameters: &GAIN,
        make: |cfg, p| {
            let [gain] = p.numbers(&GAIN)?;
            Ok(AnyController::Rule(steered(Rule { gain }, cfg)))
        },
        ..Entry::TRANSPORT
    },
    Entry {
        name: "rule2",
        title: "rule2",
        about: "rule with a margin by the link's variability: rule2:z=0.5,q=8 (ms)",
        reports: Reports::Blocks,
        modes: Some(MODES),
        parameters: &PHY,
        make: |cfg, p| {
            let rule = Rule2::PHY.with(&PHY, p)?;
            Ok(AnyController::Rule2(steered(rule, cfg)))
        },
        ..Entry::TRANSPORT
    },
    Entry {
        name: "rule2-acks",
        title: "rule2 without PHY",
        about: "rule2 without the radio: rates from the ACKs of a busy link",
        modes: Some(MODES),
        parameters: &ACKS,
        make: |cfg, p| {
            let rule = Rule2::ACKS.with(&ACKS, p)?;
            Ok(AnyController::Rule2(steered(rule, cfg)))
        },
        ..Entry::TRANSPORT
    },
];

/// What may follow `rule:`.
const GAIN: [Parameter; 1] = [Parameter::number(
    "g",
    G,
    (0.1, 10.0),
    "",
    "gain of the window over the mean of the transport blocks times the least RTT",
)];
/// What may follow `rule2:` and `rule2-acks:`.
const PHY: [Parameter; 2] = margins(Rule2::PHY);
const ACKS: [Parameter; 2] = margins(Rule2::ACKS);

const fn margins(of: Rule2) -> [Parameter; 2] {
    [
        Parameter::number(
            "z",
            of.z,
            (-2.0, 5.0),
            "",
            "margin on the mean rate, in standard deviations of 20 ms",
        ),
        Parameter::number(
            "q",
            of.q * 1e3,
            (0.0, 1000.0),
            "ms",
            "time added to the least RTT",
        ),
    ]
}

/// Gain of the one-line rule.
pub const G: f64 = 1.25;

/// `W = g * EWMA50(TBS) * min RTT`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The gain g.
    pub gain: f64,
}

impl Steer for Rule {
    fn name(&self) -> &'static str {
        "rule"
    }

    #[inline]
    fn window(&mut self, _now: Instant, s: &Signals, _window: f64) -> f64 {
        self.gain * s.segments(s.tbs(), s.min_rtt)
    }
}

/// `W = (m + z sd) (min RTT + q)`, m the mean over 100 ms and sd the deviation of 20 ms from it: a margin in proportion to
/// how much the link varies, instead of a fixed gain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule2 {
    /// The margin z.
    pub z: f64,
    /// The time q, seconds.
    pub q: f64,
    /// Where the rates come from.
    pub source: Source,
}

impl Rule2 {
    /// With transport blocks.
    pub const PHY: Self = Self {
        z: Z_PHY,
        q: Q,
        source: Source::Phy,
    };
    /// With ACKs only.
    pub const ACKS: Self = Self {
        z: Z_ACKS,
        q: Q,
        source: Source::Acks,
    };

    /// These constants changed by `z=..,q=..` (q in ms).
    fn with(self, known: &[Parameter; 2], p: Parameters<'_>) -> Result<Self, String> {
        let [z, q] = p.numbers(known)?;
        // Without parameters not a bit changes.
        let q = if p.text().is_empty() { self.q } else { q / 1e3 };
        Ok(Self { z, q, ..self })
    }

    /// The window in segments.
    #[inline]
    pub fn target(&self, s: &Signals) -> f64 {
        s.segments(s.mean100() + self.z * s.sd, s.min_rtt + self.q)
    }
}

impl Steer for Rule2 {
    fn name(&self) -> &'static str {
        match self.source {
            Source::Phy => "rule2",
            Source::Acks => "rule2-acks",
        }
    }

    fn source(&self) -> Source {
        self.source
    }

    #[inline]
    fn window(&mut self, _now: Instant, s: &Signals, _window: f64) -> f64 {
        self.target(s)
    }
}
