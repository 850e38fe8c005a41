//! A claim, our value beside it, and a verdict.

use serde::Serialize;

/// How far ours may lie from the reference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
    /// How far ours may lie from it.
    pub tolerance: Tolerance,
    /// The verdict.
    pub holds: bool,
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
            tolerance,
            holds,
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
}
