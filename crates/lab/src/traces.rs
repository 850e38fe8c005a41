//! Link traces by a model, a seed, a mean rate and a length: what `slackwater trace make` writes.
//!
//! Fading comes from the links to learn on ([`Pattern`], with the recordings that shaped it). Handovers, steps and outages are
//! laid over it, and the whole is scaled to the mean. The numbers of these three are ours; they resemble no operator's network.

use slackwater_core::{Draw, Duration, Rate};
use slackwater_wire::trace::MahimahiTrace;

use crate::gym::pattern::{Family, Pattern};

/// Bits of one opportunity (Mahimahi, `mm-link`: 1,504 bytes).
const OPPORTUNITY_BITS: f64 = 1504.0 * 8.0;
/// Levels of `steps` and of cells after a handover, as multiples of one another.
const LEVELS: [f64; 5] = [0.25, 0.5, 1.0, 1.5, 2.0];

/// What a trace resembles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Fading of someone who sits: small, slow changes.
    Still,
    /// Fading of someone who walks.
    Walking,
    /// Fading of someone who drives: large changes on two time scales, and outages.
    Driving,
    /// Fading in a cell that others share: the rate jumps as they come and go.
    Shared,
    /// Fading, with a gap and another level at each handover.
    Handover,
    /// A constant rate that jumps between levels.
    Steps,
    /// Fading, with gaps in which nothing is carried.
    Outage,
}

impl Model {
    /// Every model.
    pub const ALL: [Self; 7] = [
        Self::Still,
        Self::Walking,
        Self::Driving,
        Self::Shared,
        Self::Handover,
        Self::Steps,
        Self::Outage,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Still => "still",
            Self::Walking => "walking",
            Self::Driving => "driving",
            Self::Shared => "shared",
            Self::Handover => "handover",
            Self::Steps => "steps",
            Self::Outage => "outage",
        }
    }

    /// One line about it.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Still => "fading of someone who sits: small, slow changes",
            Self::Walking => "fading of someone who walks",
            Self::Driving => "fading of someone who drives: large changes, and outages",
            Self::Shared => "fading in a cell that others share: jumps as they come and go",
            Self::Handover => "fading, with a gap and another level at each handover",
            Self::Steps => "a constant rate that jumps between levels",
            Self::Outage => "fading, with gaps in which nothing is carried",
        }
    }

    /// Length of its gaps where none is named: 50 ms of a handover, 1 s of an outage.
    pub const fn gap(self) -> Duration {
        match self {
            Self::Outage => Duration::from_millis(1000),
            Self::Handover => Duration::from_millis(50),
            _ => Duration::ZERO,
        }
    }

    const fn family(self) -> Option<Family> {
        match self {
            Self::Still | Self::Outage => Some(Family::Still),
            Self::Walking | Self::Handover => Some(Family::Walking),
            Self::Driving => Some(Family::Driving),
            Self::Shared => Some(Family::Shared),
            Self::Steps => None,
        }
    }
}

/// What a trace is made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recipe {
    /// What it resembles.
    pub model: Model,
    /// Its mean rate, gaps included, to within one opportunity.
    pub mean: Rate,
    /// Its length, in whole milliseconds.
    pub length: Duration,
    /// The seed of its draws.
    pub seed: u64,
    /// Time between two handovers, steps or outages; the first comes after half of it.
    pub every: Duration,
    /// Length of each gap.
    pub gap: Duration,
}

/// Purposes of the draws, beside those of a pattern.
mod purpose {
    pub(super) const PATTERN: u64 = 100;
    pub(super) const LEVEL: u64 = 101;
}

impl Recipe {
    /// The trace; `None` where its length carries no opportunity.
    pub fn make(&self) -> Option<MahimahiTrace> {
        let ms = self.length.as_millis();
        let (mean, draw) = (self.mean.as_mbps(), Draw::new(self.seed));
        let wanted = (mean * 1e6 * ms as f64 / 1e3 / OPPORTUNITY_BITS).round();
        if ms == 0 || wanted < 1.0 {
            return None;
        }
        let weights = self.weights(ms, draw);
        let total: f64 = weights.iter().sum();
        if total <= 0.0 {
            return None;
        }
        let mut times = Vec::with_capacity(wanted as usize + 1);
        let (mut credit, scale) = (0.0, wanted / total);
        for (t, weight) in weights.iter().enumerate() {
            credit += weight * scale;
            // A sum of many parts may end a hair below the whole number that it stands for.
            let n = (credit + 1e-6).floor();
            credit -= n;
            times.extend(core::iter::repeat_n(t as u64 + 1, n as usize));
        }
        // The last opportunity is the period of the loop.
        if times.last() != Some(&ms) {
            times.pop();
            times.push(ms);
        }
        MahimahiTrace::from_millis(times)
    }

    /// What each millisecond carries, beside the others.
    fn weights(&self, ms: u64, draw: Draw) -> Vec<f64> {
        let mut weights = vec![0.0; ms as usize];
        match self.model.family() {
            None => weights.fill(1.0),
            Some(family) => {
                let draw = draw.fork(purpose::PATTERN, 0);
                let mean = self.mean.as_mbps();
                let pattern = Pattern::draw(family, [mean, mean], draw);
                for t in pattern.opportunities(ms, draw) {
                    weights[(t - 1) as usize] += 1.0;
                }
            }
        }
        let (levels, gaps) = match self.model {
            Model::Steps => (true, false),
            Model::Handover => (true, true),
            Model::Outage => (false, true),
            _ => return weights,
        };
        let (every, gap) = (self.every.as_millis().max(1), self.gap.as_millis());
        let level = draw.fork(purpose::LEVEL, 0);
        for (t, weight) in weights.iter_mut().enumerate() {
            // From the first event on, so many have been.
            let since = t as u64 + every - every / 2;
            let (event, within) = (since / every, since % every);
            if levels {
                *weight *= LEVELS[level_of(level, event)];
            }
            if gaps && event > 0 && within < gap {
                *weight = 0.0;
            }
        }
        weights
    }
}

/// The level after `event` events: one that differs from the last.
fn level_of(draw: Draw, event: u64) -> usize {
    let n = LEVELS.len() as u64;
    // A walk over the levels by 1 to 4 places, so that no two neighbours are equal.
    let steps = (0..=event).map(|k| 1 + (draw.uniform(k) * (n - 1) as f64) as u64);
    (steps.sum::<u64>() % n) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(model: Model) -> Recipe {
        Recipe {
            model,
            mean: Rate::from_mbps(12.0),
            length: Duration::from_secs(20),
            seed: 1,
            every: Duration::from_secs(4),
            gap: model.gap(),
        }
    }

    #[test]
    fn each_model_has_its_mean_and_length_and_goes_by_its_seed() {
        for model in Model::ALL {
            let trace = recipe(model).make().expect("it carries something");
            assert_eq!(trace.period(), Duration::from_secs(20), "{model:?}");
            let off = trace.mean_rate().as_mbps() - 12.0;
            // One opportunity in 20 s is 0.0006 Mbit/s.
            assert!(off.abs() < 0.002, "{model:?}: {off}");
            assert_eq!(Some(&trace), recipe(model).make().as_ref());
            let other = Recipe {
                seed: 2,
                ..recipe(model)
            };
            assert_ne!(Some(&trace), other.make().as_ref(), "{model:?}");
        }
    }

    #[test]
    fn handovers_and_outages_leave_their_gaps_and_steps_their_levels() {
        for (model, least) in [(Model::Handover, 50), (Model::Outage, 1000)] {
            let trace = recipe(model).make().expect("it carries something");
            for k in 0..5u64 {
                let at = 2000 + 4000 * k;
                let inside = |t: &&u64| **t > at && **t <= at + least;
                assert_eq!(
                    trace.times_ms().iter().find(inside),
                    None,
                    "{model:?} at {at}"
                );
            }
        }
        let trace = recipe(Model::Steps).make().expect("it carries something");
        let count = |from: u64| {
            let times = trace.times_ms().iter();
            times.filter(|t| **t > from && **t <= from + 1000).count()
        };
        for at in [2000, 6000, 10_000, 14_000] {
            let (before, after) = (count(at - 1000) as f64, count(at) as f64);
            assert!((before / after - 1.0).abs() > 0.2, "{before} and {after}");
        }
    }

    #[test]
    fn what_carries_nothing_is_none() {
        let empty = Recipe {
            mean: Rate::from_bps(1000),
            length: Duration::from_millis(10),
            ..recipe(Model::Steps)
        };
        assert_eq!(empty.make(), None);
    }
}
