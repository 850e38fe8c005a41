//! Claims and what is measured for them.

use std::collections::BTreeSet;

use slackwater_results::check::{Check, Verdict};
use slackwater_results::metrics::Estimate;

use super::{Options, Outcomes, Part, Study, StudyError};
use crate::ledger::{Ledger, Profile};

type Value = dyn Fn(&Outcomes) -> Option<Estimate>;

/// What is measured for a claim, with one profile.
pub struct Measure {
    /// The claim's name in the ledger.
    pub claim: String,
    /// Whose system is measured.
    pub profile: Profile,
    value: Box<Value>,
}

impl Measure {
    /// `value` for the claim `claim`, in the claim's unit. It may look at experiments of its part alone; those that it looks at get
    /// more seeds where the verdict stays open.
    pub fn new(
        claim: impl Into<String>,
        profile: Profile,
        value: impl Fn(&Outcomes) -> Option<Estimate> + 'static,
    ) -> Self {
        Self {
            claim: claim.into(),
            profile,
            value: Box::new(value),
        }
    }

    /// With the paper's system.
    pub fn paper(
        claim: impl Into<String>,
        value: impl Fn(&Outcomes) -> Option<Estimate> + 'static,
    ) -> Self {
        Self::new(claim, Profile::Paper, value)
    }

    /// With the product.
    pub fn product(
        claim: impl Into<String>,
        value: impl Fn(&Outcomes) -> Option<Estimate> + 'static,
    ) -> Self {
        Self::new(claim, Profile::Product, value)
    }
}

/// A claim with one profile, and the experiments behind it.
pub(super) struct Judged {
    /// The figure that measures it.
    pub(super) figure: &'static str,
    /// The verdict.
    pub(super) check: Check,
    /// Experiments that the measure looked at.
    pub(super) experiments: BTreeSet<String>,
}

impl Judged {
    /// True where more seeds may decide.
    pub(super) fn is_open(&self) -> bool {
        self.check.verdict() == Verdict::CannotTell
    }
}

/// The claims of `parts`, in the ledger's order, judged by `outcomes`.
///
/// # Panics
/// Where the ledger and the measures of a figure do not name the same claims: a defect, and a test compares them.
pub(super) fn judge(ledger: &Ledger, parts: &[Part], outcomes: &Outcomes) -> Vec<Judged> {
    let mut judged = vec![];
    for claim in &ledger.claims {
        let Some(part) = parts.iter().find(|p| p.id == claim.figure) else {
            continue;
        };
        let (reference, tolerance) = claim.bound();
        let check = |ours| {
            Check::of(&claim.says, claim.unit.clone(), reference, ours, tolerance)
                .of_claim(&claim.id)
                .claimed(claim.value.value)
                .source(&claim.place)
        };

        if let Some(why) = &claim.impossible {
            judged.push(Judged {
                figure: part.id,
                check: check(None).untested(why),
                experiments: BTreeSet::new(),
            });
            continue;
        }
        for profile in &claim.profiles {
            let measure = part
                .measures
                .iter()
                .find(|m| m.claim == claim.id && m.profile == *profile)
                .unwrap_or_else(|| {
                    panic!("nothing is measured for {} ({})", claim.id, profile.name())
                });
            drop(outcomes.looked_at());
            let check = check((measure.value)(outcomes)).profile(profile.name());
            let check = match claim.cause(*profile) {
                Some(cause) if check.misses() => check.note(cause),
                None if check.misses() => check.note(Check::UNKNOWN),
                _ => match claim.remark() {
                    Some(remark) => check.note(remark),
                    None => check,
                },
            };
            judged.push(Judged {
                figure: part.id,
                check,
                experiments: outcomes.looked_at(),
            });
        }
    }
    judged
}

impl Study {
    /// Where the ledger and the measures of the figures of `options` disagree, a line each: claims of a figure that is none, claims without
    /// a measure, measures without a claim.
    ///
    /// # Errors
    /// Where a scenario of the paper is broken.
    pub fn disagreements(&self, options: &Options) -> Result<Vec<String>, StudyError> {
        let (ledger, parts) = (self.ledger(), self.plan(options)?);
        let figures: BTreeSet<&str> = parts.iter().map(|p| p.id).collect();
        let lost = ledger
            .claims
            .iter()
            .filter(|c| !figures.contains(&*c.figure));
        let mut found: Vec<String> = lost
            .map(|c| format!("{}: no figure is named {}", c.id, c.figure))
            .collect();

        for part in &parts {
            let claims = ledger.claims.iter().filter(|c| c.figure == part.id);
            let claims = claims.filter(|c| c.impossible.is_none());
            let wanted: BTreeSet<(&str, Profile)> = claims
                .flat_map(|c| c.profiles.iter().map(|p| (c.id.as_str(), *p)))
                .collect();
            let there: BTreeSet<(&str, Profile)> = part
                .measures
                .iter()
                .map(|m| (&*m.claim, m.profile))
                .collect();
            let text = |what: &str, (claim, profile): &(&str, Profile)| {
                format!("{}: {what} {claim} ({})", part.id, profile.name())
            };
            found.extend(wanted.difference(&there).map(|c| text("no measure of", c)));
            found.extend(there.difference(&wanted).map(|c| text("no claim", c)));
            if there.len() != part.measures.len() {
                found.push(format!("{}: a measure stands twice", part.id));
            }
        }
        Ok(found)
    }
}
