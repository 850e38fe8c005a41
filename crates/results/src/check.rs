//! A claim, our value beside it, and a verdict.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::stats::{Estimate, Interval, seeds_for};

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

/// What a comparison came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval keeps the bound.
    Holds,
    /// The whole interval breaks it, or there is no value.
    Misses,
    /// The interval lies on both sides of the bound: more seeds may decide.
    CannotTell,
    /// The claim cannot be a test; the note says why.
    NotTested,
}

impl Verdict {
    /// In words.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Misses => "misses",
            Self::CannotTell => "cannot tell",
            Self::NotTested => "not tested",
        }
    }

    /// In one word, as a class of the page's style.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Holds => "ok",
            Self::Misses => "miss",
            Self::CannotTell => "open",
            Self::NotTested => "untested",
        }
    }
}

/// Whose bound a comparison has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The paper's: an entry of its ledger.
    Claim,
    /// A standard's.
    Standard,
    /// Measured with another program.
    Peer,
    /// Our own aim. A miss is shown, and never counts; neither does a success.
    Target,
}

/// One comparison with a reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// What is compared.
    pub name: String,
    /// Unit of both values.
    pub unit: Cow<'static, str>,
    /// The reference's value.
    pub reference: f64,
    /// Our value (the mean where there are several seeds).
    pub ours: f64,
    /// Our 95 % interval, where there are several seeds.
    pub interval: Option<Interval>,
    /// Half-width of the reference's 95 % interval, where it was repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_interval: Option<f64>,
    /// How far ours may lie from it.
    pub tolerance: Tolerance,
    /// The mean keeps the bound.
    pub holds: bool,
    /// A miss counts; false for a claim that is explained and not tested.
    pub tested: bool,
    /// What the reference's authors report, where that is another number than what is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed: Option<f64>,
    /// Whose bound it is.
    pub origin: Origin,
    /// Name of the claim in the paper's ledger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// Values behind our mean, where they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seeds: Option<usize>,
    /// Which profile of ours was run, where there are several: `paper` or `product`.
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
    /// The note of a miss that no experiment has explained.
    pub const UNKNOWN: &str = "The cause is not known.";

    /// Compares; a value that is not finite never holds.
    pub fn new(
        name: impl Into<String>,
        unit: impl Into<Cow<'static, str>>,
        reference: f64,
        ours: f64,
        interval: Option<Interval>,
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
            unit: unit.into(),
            reference,
            ours,
            interval,
            reference_interval: None,
            tolerance,
            holds,
            tested: true,
            claimed: None,
            origin: Origin::Target,
            claim: None,
            seeds: None,
            profile: None,
            source: None,
            note: None,
        }
    }

    /// The mean of `ours` with its interval against `reference`; no value never holds.
    pub fn of(
        name: impl Into<String>,
        unit: impl Into<Cow<'static, str>>,
        reference: f64,
        ours: Option<Estimate>,
        tolerance: Tolerance,
    ) -> Self {
        let (mean, interval) = ours.map_or((f64::NAN, None), |e| (e.mean, e.interval));
        Self {
            seeds: ours.map(|e| e.n),
            ..Self::new(name, unit, reference, mean, interval, tolerance)
        }
    }

    /// The same as a claim of the paper, `id` in its ledger.
    #[must_use]
    pub fn of_claim(self, id: impl Into<String>) -> Self {
        Self {
            origin: Origin::Claim,
            claim: Some(id.into()),
            ..self
        }
    }

    /// The same with the clause of the standard whose bound it is.
    #[must_use]
    pub fn standard(self, clause: impl Into<String>) -> Self {
        Self {
            origin: Origin::Standard,
            ..self.source(clause)
        }
    }

    /// The same with the program that the bound was measured with.
    #[must_use]
    pub fn peer(self, program: impl Into<String>) -> Self {
        Self {
            origin: Origin::Peer,
            ..self.source(program)
        }
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
    pub fn misses(&self) -> bool {
        self.verdict() == Verdict::Misses
    }

    /// True where the verdict counts: targets of our own do not.
    pub fn counts(&self) -> bool {
        self.tested && self.origin != Origin::Target
    }

    /// The verdict. With an interval, that of the whole interval; a single value stands for itself.
    pub fn verdict(&self) -> Verdict {
        if !self.tested {
            return Verdict::NotTested;
        }
        let (low, high) = self.ends();
        if !self.ours.is_finite() || !low.is_finite() || !high.is_finite() {
            return Verdict::Misses;
        }
        let (from, to) = self.band();
        if from <= low && high <= to {
            Verdict::Holds
        } else if high < from || to < low {
            Verdict::Misses
        } else {
            Verdict::CannotTell
        }
    }

    /// Ends of our interval; the mean twice where there is none.
    fn ends(&self) -> (f64, f64) {
        self.interval
            .map_or((self.ours, self.ours), |i| (i.low, i.high))
    }

    /// From where to where ours may lie.
    fn band(&self) -> (f64, f64) {
        let by = |by: f64| (self.reference - by, self.reference + by);
        match self.tolerance {
            Tolerance::Relative(share) => by(share * self.reference.abs()),
            Tolerance::Absolute(width) => by(width),
            Tolerance::AtMost => (f64::NEG_INFINITY, self.reference),
            Tolerance::AtLeast => (self.reference, f64::INFINITY),
        }
    }

    /// With how many seeds an open verdict would be decided, if our mean and its scatter stay what they are; `None` where it is decided,
    /// or where no number of seeds that one would run decides it.
    pub fn seeds_to_decide(&self) -> Option<usize> {
        if self.verdict() != Verdict::CannotTell {
            return None;
        }
        let (n, (low, high), (from, to)) = (self.seeds?, self.ends(), self.band());
        // The side of the interval that crosses an end of the band has to become shorter than the way there.
        let side = |end: f64| {
            if end < self.ours {
                self.ours - low
            } else {
                high - self.ours
            }
        };
        let needed = |end: f64| seeds_for(side(end), n, (end - self.ours).abs());
        let crossed = [from, to].into_iter().filter(|end| end.is_finite());
        let within = from < self.ours && self.ours < to;
        let near = |a: &f64, b: &f64| (a - self.ours).abs().total_cmp(&(b - self.ours).abs());
        if within {
            // Inside, both ends have to be cleared.
            crossed
                .map(needed)
                .try_fold(0, |most, n| Some(most.max(n?)))
        } else {
            crossed.min_by(near).and_then(needed)
        }
    }

    /// The verdict in words, with the seeds that would decide an open one.
    pub fn verdict_text(&self) -> String {
        match self.seeds_to_decide() {
            Some(n) => format!("cannot tell (about {n} seeds would)"),
            None => self.verdict().word().to_owned(),
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

/// How many comparisons came to which verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Those that hold.
    pub holds: usize,
    /// Those that miss.
    pub misses: usize,
    /// Those whose interval decides nothing.
    pub cannot_tell: usize,
    /// Those that cannot be a test.
    pub not_tested: usize,
}

impl Tally {
    /// Of `verdicts`.
    pub fn of(verdicts: impl IntoIterator<Item = Verdict>) -> Self {
        let mut tally = Self::default();
        for verdict in verdicts {
            let n = match verdict {
                Verdict::Holds => &mut tally.holds,
                Verdict::Misses => &mut tally.misses,
                Verdict::CannotTell => &mut tally.cannot_tell,
                Verdict::NotTested => &mut tally.not_tested,
            };
            *n += 1;
        }
        tally
    }

    /// How many were tested.
    pub const fn tested(self) -> usize {
        self.holds + self.misses + self.cannot_tell
    }

    /// `12 of 15 hold, 1 cannot be told`; what is nought is left out.
    pub fn text(self) -> String {
        let mut text = format!("{} of {} hold", self.holds, self.tested());
        if self.cannot_tell > 0 {
            let _ = write!(text, ", {} cannot be told", self.cannot_tell);
        }
        if self.not_tested > 0 {
            let _ = write!(text, ", {} cannot be tested", self.not_tested);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Bounds;

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
    fn an_interval_on_both_sides_of_the_bound_decides_nothing() {
        let c = |ours, half, tol| {
            let interval = Interval::around(ours, half, Bounds::Real);
            Check::new("x", "ms", 100.0, ours, Some(interval), tol).verdict()
        };
        assert_eq!(c(98.0, 2.0, Tolerance::AtMost), Verdict::Holds);
        assert_eq!(c(98.0, 3.0, Tolerance::AtMost), Verdict::CannotTell);
        assert_eq!(c(101.0, 3.0, Tolerance::AtMost), Verdict::CannotTell);
        assert_eq!(c(104.0, 3.0, Tolerance::AtMost), Verdict::Misses);
        assert_eq!(c(104.0, 3.0, Tolerance::AtLeast), Verdict::Holds);
        assert_eq!(c(102.0, 3.0, Tolerance::Absolute(5.0)), Verdict::Holds);
        assert_eq!(
            c(104.0, 3.0, Tolerance::Relative(0.05)),
            Verdict::CannotTell
        );
        assert_eq!(c(90.0, 3.0, Tolerance::Absolute(5.0)), Verdict::Misses);
        // An interval wider than the band holds both ends of it: nothing is known.
        assert_eq!(c(100.0, 9.0, Tolerance::Absolute(5.0)), Verdict::CannotTell);
    }

    #[test]
    fn an_open_verdict_names_the_seeds_that_would_decide() {
        let c = |ours, half, tol| {
            Check::of(
                "x",
                "ms",
                100.0,
                Some(Estimate::symmetric(ours, half, 5)),
                tol,
            )
        };
        // At 99 of at most 100 the half-width of 2 has to become 1.
        let open = c(99.0, 2.0, Tolerance::AtMost);
        let needed = open.seeds_to_decide().expect("an open verdict");
        assert_eq!(Some(needed), seeds_for(2.0, 5, 1.0));
        assert!(open.verdict_text().contains(&needed.to_string()));
        assert_eq!(c(97.0, 2.0, Tolerance::AtMost).seeds_to_decide(), None);
        assert_eq!(c(103.0, 2.0, Tolerance::AtMost).seeds_to_decide(), None);
        // A mean beyond a band needs to clear its near end alone; one within needs both.
        let beyond = c(106.0, 2.0, Tolerance::Absolute(5.0)).seeds_to_decide();
        let within = c(104.0, 2.0, Tolerance::Absolute(5.0)).seeds_to_decide();
        assert_eq!((beyond, within), (Some(needed), Some(needed)));
    }

    #[test]
    fn a_tally_says_what_is_open() {
        use Verdict::{CannotTell, Holds, Misses, NotTested};
        let tally = Tally::of([Holds, Misses, Holds, CannotTell, NotTested]);
        assert_eq!(tally.tested(), 4);
        assert_eq!(
            tally.text(),
            "2 of 4 hold, 1 cannot be told, 1 cannot be tested"
        );
        assert_eq!(Tally::of([Holds]).text(), "1 of 1 hold");
    }

    #[test]
    fn a_target_never_counts() {
        let c = Check::new("x", "ms", 1.0, 2.0, None, Tolerance::AtMost);
        assert!(c.misses() && !c.counts());
        assert!(c.clone().standard("RFC 9438, 4.2").counts() && c.clone().peer("pion").counts());
        let c = c.of_claim("fig1");
        assert!(c.counts() && !c.untested("impossible").counts());
    }

    #[test]
    fn what_is_not_tested_cannot_miss() {
        let c = Check::of("x", "ms", 1.0, Estimate::of(&[2.0, 2.0]), Tolerance::AtMost);
        assert!(c.misses() && c.verdict() == Verdict::Misses);
        assert!(c.clone().where_missed("slow").note.is_some());
        let c = c.untested("the paper's own parameters forbid it");
        assert!(!c.misses() && !c.holds && c.verdict() == Verdict::NotTested);
        assert!(Check::of("x", "ms", 1.0, None, Tolerance::AtLeast).misses());
        let json = serde_json::to_value(c.source("a paper, Fig. 1").claimed(3.0))
            .expect("a check is JSON");
        assert_eq!(json["claimed"], 3.0);
        assert_eq!(json["source"], "a paper, Fig. 1");
        assert!(json.get("profile").is_none());
    }
}
