//! A claim, our value beside it, and a verdict.

use serde::{Deserialize, Serialize};

use crate::metrics::Estimate;

/// How far ours may lie from the reference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tolerance {
    /// By this share of the reference's magnitude.
    Relative(f64),
    /// By this much, in the reference's unit.
    Absolute(f64),
    /// Ours is at most the reference.
    AtMost,
    /// Ours is at least the reference.
    AtLeast,
}

/// One comparison with a reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// What is compared.
    pub name: String,
    /// Unit of both values.
    pub unit: &'static str,
    /// The reference's value.
    pub reference: f64,
    /// Our value (the mean where there are several seeds).
    pub ours: f64,
    /// Half-width of our 95 % interval, where there are several seeds.
    pub interval: Option<f64>,
    /// Half-width of the reference's 95 % interval, where it was repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_interval: Option<f64>,
    /// How far ours may lie from it.
    pub tolerance: Tolerance,
    /// The verdict.
    pub holds: bool,
    /// A miss counts; false for a claim that is explained and not tested.
    pub tested: bool,
    /// What the reference's authors report, where that is another number than what is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed: Option<f64>,
    /// Which profile of ours was run, where there are several: `paper` or `default`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<&'static str>,
    /// Where the relation stands: `XRC, Fig. 5`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Why it misses, or why it is not tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Check {
    /// Compares; a value that is not finite never holds.
    pub fn new(
        name: impl Into<String>,
        unit: &'static str,
        reference: f64,
        ours: f64,
        interval: Option<f64>,
        tolerance: Tolerance,
    ) -> Self {
        let holds = ours.is_finite()
            && match tolerance {
                Tolerance::Relative(share) => (ours - reference).abs() <= share * reference.abs(),
                Tolerance::Absolute(by) => (ours - reference).abs() <= by,
                Tolerance::AtMost => ours <= reference,
                Tolerance::AtLeast => ours >= reference,
            };
        Self {
            name: name.into(),
            unit,
            reference,
            ours,
            interval,
            reference_interval: None,
            tolerance,
            holds,
            tested: true,
            claimed: None,
            profile: None,
            source: None,
            note: None,
        }
    }

    /// The mean of `ours` with its interval against `reference`; no value never holds.
    pub fn of(
        name: impl Into<String>,
        unit: &'static str,
        reference: f64,
        ours: Option<Estimate>,
        tolerance: Tolerance,
    ) -> Self {
        let (mean, half) = ours.map_or((f64::NAN, None), |e| (e.mean, e.half_width));
        Self::new(name, unit, reference, mean, half, tolerance)
    }

    /// The same with the number that the reference's authors report.
    #[must_use]
    pub fn claimed(self, value: f64) -> Self {
        Self {
            claimed: Some(value),
            ..self
        }
    }

    /// The same beside a reference with an interval of its own.
    #[must_use]
    pub fn reference_interval(self, half_width: Option<f64>) -> Self {
        Self {
            reference_interval: half_width,
            ..self
        }
    }

    /// The same for one profile.
    #[must_use]
    pub fn profile(self, profile: &'static str) -> Self {
        Self {
            profile: Some(profile),
            ..self
        }
    }

    /// The same with the place where the relation stands.
    #[must_use]
    pub fn source(self, source: impl Into<String>) -> Self {
        Self {
            source: Some(source.into()),
            ..self
        }
    }

    /// The same with an explanation.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Self {
        Self {
            note: Some(note.into()),
            ..self
        }
    }

    /// The same with an explanation where it misses.
    #[must_use]
    pub fn where_missed(self, why: &str) -> Self {
        if self.misses() { self.note(why) } else { self }
    }

    /// The same, shown and explained, but with no weight in the verdict.
    #[must_use]
    pub fn untested(self, why: impl Into<String>) -> Self {
        Self {
            tested: false,
            ..self.note(why)
        }
    }

    /// True where a tested relation does not hold.
    pub const fn misses(&self) -> bool {
        self.tested && !self.holds
    }

    /// The verdict in a word.
    pub const fn verdict(&self) -> &'static str {
        match (self.tested, self.holds) {
            (true, true) => "holds",
            (true, false) => "MISSES",
            (false, _) => "not tested",
        }
    }

    /// The tolerance in words.
    pub fn tolerance_text(&self) -> String {
        match self.tolerance {
            Tolerance::Relative(share) => format!("+-{:.1} %", share * 100.0),
            Tolerance::Absolute(by) => format!("+-{by} {}", self.unit),
            Tolerance::AtMost => "at most".to_owned(),
            Tolerance::AtLeast => "at least".to_owned(),
        }
    }

    /// Ours against the reference in percent of it.
    pub fn difference_percent(&self) -> f64 {
        (self.ours - self.reference) / self.reference * 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances_mean_what_they_say() {
        let c = |ours, tol| Check::new("x", "ms", 100.0, ours, None, tol).holds;
        assert!(c(108.0, Tolerance::Relative(0.08)) && !c(108.1, Tolerance::Relative(0.08)));
        assert!(c(99.8, Tolerance::Absolute(0.3)) && !c(99.6, Tolerance::Absolute(0.3)));
        assert!(c(100.0, Tolerance::AtMost) && !c(100.1, Tolerance::AtMost));
        assert!(c(100.0, Tolerance::AtLeast) && !c(99.9, Tolerance::AtLeast));
        assert!(!c(f64::NAN, Tolerance::AtMost) && !c(f64::INFINITY, Tolerance::AtLeast));
    }

    #[test]
    fn what_is_not_tested_cannot_miss() {
        let c = Check::of("x", "ms", 1.0, Estimate::of(&[2.0, 2.0]), Tolerance::AtMost);
        assert!(c.misses() && c.verdict() == "MISSES");
        assert!(c.clone().where_missed("slow").note.is_some());
        let c = c.untested("the paper's own parameters forbid it");
        assert!(!c.misses() && !c.holds && c.verdict() == "not tested");
        assert!(Check::of("x", "ms", 1.0, None, Tolerance::AtLeast).misses());
        let json = serde_json::to_value(c.source("a paper, Fig. 1").claimed(3.0))
            .expect("a check is JSON");
        assert_eq!(json["claimed"], 3.0);
        assert_eq!(json["source"], "a paper, Fig. 1");
        assert!(json.get("profile").is_none());
    }
}
