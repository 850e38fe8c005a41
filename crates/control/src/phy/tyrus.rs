//! Tyrus: a policy sets the window at fixed intervals (Tyrus, section 2).

use std::sync::Arc;

use slackwater_core::{Duration, Instant};

use super::action::Action;
use super::observe::Signals;
use super::policy::{Policy, TbsMode};
use super::rule::Rule2;
use super::seat::{Look, Seat};
use super::steered::MODES;
use super::steered::Steer;
use super::track::Source;
use crate::registry::{self, Entry, Parameter, Reports};

/// What the registry knows of it.
pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "tyrus",
    title: "Tyrus",
    about: "Tyrus (SIGCOMM 2019): a small network sets the window by transport blocks; tyrus:policy=FILE, or poster for a trained network of the poster's form",
    reports: Reports::Blocks,
    modes: Some(MODES),
    parameters: &PARAMETERS,
    make: |cfg, p| {
        let policy = match p.text() {
            "policy=poster" => registry::poster(),
            _ => p.none().map(|()| registry::shipped())?,
        };
        Ok(registry::tyrus(policy, cfg))
    },
    ..Entry::TRANSPORT
}];

/// What may follow `:` in the name.
const PARAMETERS: [Parameter; 1] = [Parameter::word(
    "policy",
    "poster",
    &["poster", "FILE"],
    "the policy: the trained network of the poster's form, or a file (.safetensors, see docs/training.md)",
)
.without("the shipped policy")];

/// Time between decisions of an agent outside (the poster leaves it open).
pub const INTERVAL: Duration = Duration::from_millis(20);

/// Who decides.
#[derive(Clone, Debug)]
enum Mind {
    Policy(Arc<Policy>),
    Seat(Seat, Duration),
}

/// Tyrus's pilot: what is seen goes to a policy, or to an agent outside, whose action moves the window.
#[derive(Clone, Debug)]
pub struct Pilot {
    mind: Mind,
    base: Rule2,
    /// The action that the last look gave.
    action: Action,
    /// The relative change that the last action made.
    last: f64,
    decisions: u64,
    /// Decisions without a usable answer.
    held: u64,
}

impl Pilot {
    /// Steered by `policy`.
    pub fn new(policy: Arc<Policy>) -> Self {
        let source = match policy.tbs() {
            TbsMode::Absent => Source::Acks,
            _ => Source::Phy,
        };
        let base = Rule2 {
            z: policy.z(),
            source,
            ..Rule2::PHY
        };
        Self::with(Mind::Policy(policy), base)
    }

    /// Steered from `seat` every `interval`; residual actions correct `base`.
    pub fn external(seat: Seat, interval: Duration, base: Rule2) -> Self {
        Self::with(Mind::Seat(seat, interval), base)
    }

    const fn with(mind: Mind, base: Rule2) -> Self {
        Self {
            mind,
            base,
            action: Action::Hold,
            last: 0.0,
            decisions: 0,
            held: 0,
        }
    }

    /// Decisions without a usable answer, in which the window stayed.
    pub const fn held(&self) -> u64 {
        self.held
    }
}

impl Steer for Pilot {
    fn name(&self) -> &'static str {
        "tyrus"
    }

    fn source(&self) -> Source {
        self.base.source
    }

    fn interval(&self) -> Duration {
        match &self.mind {
            Mind::Policy(policy) => policy.interval(),
            Mind::Seat(_, interval) => *interval,
        }
    }

    fn look(&mut self, look: &Look) {
        match &self.mind {
            Mind::Policy(policy) => {
                let action = policy.act(&look.signals, self.decisions);
                self.held += u64::from(action.is_none());
                self.action = action.unwrap_or_default();
            }
            Mind::Seat(seat, _) => seat.show(*look),
        }
        self.decisions += 1;
    }

    fn window(&mut self, _now: Instant, s: &Signals, window: f64) -> f64 {
        if let Mind::Seat(seat, _) = &self.mind {
            let action = seat.answer();
            self.held += u64::from(action.is_none());
            self.action = action.unwrap_or_default();
        }
        let wanted = match self.action {
            Action::Hold => window,
            Action::LogRatio(ratio) => window * libm::exp(ratio),
            Action::Residual(y) => self.base.target(s) * libm::exp(y),
        };
        if wanted.is_finite() && window > 0.0 {
            self.last = (wanted / window - 1.0).clamp(-1.0, 1.0);
        }
        wanted
    }

    fn last_action(&self) -> f64 {
        self.last
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("decisions", self.decisions as f64));
        out.push(("held", self.held as f64));
        out.push(("action", self.last));
    }
}
