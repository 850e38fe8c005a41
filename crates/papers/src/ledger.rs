//! The ledger of claims: what a paper says that can be tested, as data, one file a paper in `claims/`.
//!
//! A bound is never chosen here. It is the number as the paper prints it, wide by half a unit of its last digit, unless an entry
//! states another tolerance and why. What is measured for a claim stands with the figures ([`super::study::Measure`]).

use serde::Deserialize;
use slackwater_results::check::Tolerance;

/// Which of our systems a claim is tested with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// The paper's own, end to end: its agent, its sender, its reading of every rule.
    Paper,
    /// What ships: the defaults of the product.
    Product,
}

impl Profile {
    /// Its name on pages and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Product => "product",
        }
    }
}

/// On which side of the paper's number ours may lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sense {
    /// At or above it: the paper praises a large value.
    AtLeast,
    /// At or below it.
    AtMost,
    /// Above it, exactly: an order ("lower than" as a ratio below 1), "more than".
    Above,
    /// Below it, exactly.
    Below,
    /// At it, on neither side: a number that describes and does not praise.
    Equal,
}

/// A number as it is printed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Printed {
    /// Its value.
    pub value: f64,
    /// Half a unit of its last printed digit.
    pub half_unit: f64,
}

impl TryFrom<String> for Printed {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let finite = text.parse().ok().filter(|v: &f64| v.is_finite());
        let value = finite.ok_or_else(|| {
            format!("found \"{text}\", expected a number as it is printed, for example \"0.997\"")
        })?;
        let decimals = text.split_once('.').map_or(0, |(_, digits)| digits.len());
        let half_unit = 0.5 * (0..decimals).fold(1.0, |unit, _| unit / 10.0);
        Ok(Self { value, half_unit })
    }
}

/// Why a claim misses in a profile, as an experiment has shown it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Causes {
    /// With the paper's own system.
    pub paper: Option<String>,
    /// With the product.
    pub product: Option<String>,
}

/// One claim.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its name: `fig5-jain-cubic`.
    pub id: String,
    /// The figure that measures it: the name of a `Part`.
    pub figure: String,
    /// Where the paper says it: `Abstract; IV-C, Fig. 5(a)`.
    pub place: String,
    /// What the paper says, in our words.
    pub says: String,
    /// The paper's number as printed; for an order, 0 of a difference or 1 of a ratio.
    pub value: Printed,
    /// Unit of the number.
    #[serde(default)]
    pub unit: String,
    /// On which side ours may lie.
    pub sense: Sense,
    /// How far from the printed number the bound lies, in its unit, where that is not its printed precision.
    pub tolerance: Option<f64>,
    /// Where the tolerance comes from.
    pub because: Option<String>,
    /// What a reader of its verdict has to know: how the bound follows from the words, what else decides the number.
    pub note: Option<String>,
    /// Who must meet it.
    #[serde(default = "both")]
    pub profiles: Vec<Profile>,
    /// Why it misses, where an experiment has shown that.
    #[serde(default)]
    pub cause: Causes,
    /// Why it cannot be tested at all: the arithmetic.
    pub impossible: Option<String>,
}

fn both() -> Vec<Profile> {
    vec![Profile::Paper, Profile::Product]
}

impl Claim {
    /// The bound: reference and how far ours may lie from it.
    pub fn bound(&self) -> (f64, Tolerance) {
        let slack = self.tolerance.unwrap_or(self.value.half_unit);
        match self.sense {
            Sense::AtLeast => (self.value.value - slack, Tolerance::AtLeast),
            Sense::AtMost => (self.value.value + slack, Tolerance::AtMost),
            // The next number there is: an equal is no order.
            Sense::Above => (self.value.value.next_up(), Tolerance::AtLeast),
            Sense::Below => (self.value.value.next_down(), Tolerance::AtMost),
            Sense::Equal => (self.value.value, Tolerance::Absolute(slack)),
        }
    }

    /// Where the bound comes from and what else is noted, for a reader of the verdict.
    pub fn remark(&self) -> Option<String> {
        match (&self.because, &self.note) {
            (Some(because), Some(note)) => Some(format!("{because}; {note}")),
            (one, other) => one.clone().or_else(|| other.clone()),
        }
    }

    /// Why it misses with `profile`; `None` where no experiment has shown it.
    pub fn cause(&self, profile: Profile) -> Option<&str> {
        match profile {
            Profile::Paper => self.cause.paper.as_deref(),
            Profile::Product => self.cause.product.as_deref(),
        }
    }
}

/// A paper's claims, in the paper's order.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// The claims.
    #[serde(rename = "claim", default)]
    pub claims: Vec<Claim>,
}

impl Ledger {
    /// The ledger that `text`, the file `name`, holds.
    ///
    /// # Errors
    /// Where a key is missing or unknown, a number is none, a name stands twice, a tolerance has no reason, or a claim has no profile.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let found: Self = toml::from_str(text).map_err(|e| format!("{name}: {e}"))?;
        for (i, claim) in found.claims.iter().enumerate() {
            let wrong = |what: &str| Err(format!("{name}: {}: {what}", claim.id));
            if found.claims[..i].iter().any(|c| c.id == claim.id) {
                return wrong("found a second claim of this name, expected one");
            }
            if claim.tolerance.is_some() != claim.because.is_some() {
                return wrong("found one of `tolerance` and `because`, expected both or neither");
            }
            if claim
                .tolerance
                .is_some_and(|t| !(0.0..f64::INFINITY).contains(&t))
            {
                return wrong("tolerance: found a negative number, expected 0 or more");
            }
            if claim.tolerance.is_some() && matches!(claim.sense, Sense::Above | Sense::Below) {
                return wrong("found a tolerance of an order, expected none");
            }
            if claim.profiles.is_empty() {
                return wrong("profiles: found none, expected `paper`, `product` or both");
            }
        }
        Ok(found)
    }

    /// The claim called `id`.
    pub fn find(&self, id: &str) -> Option<&Claim> {
        self.claims.iter().find(|c| c.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = r#"
        [[claim]]
        id = "a"
        figure = "fig1"
        place = "Fig. 1"
        says = "It is fair."
        value = "0.997"
        sense = "at_least"
    "#;

    #[test]
    fn a_bound_is_the_printed_number_to_its_last_digit() {
        let ledger = Ledger::parse("x.toml", ONE).expect("a ledger");
        let claim = ledger.find("a").expect("it is there");
        assert_eq!(claim.profiles, [Profile::Paper, Profile::Product]);
        let (reference, tolerance) = claim.bound();
        assert!((reference - 0.9965).abs() < 1e-12 && tolerance == Tolerance::AtLeast);

        let printed = |text: &str| Printed::try_from(text.to_owned());
        assert_eq!(printed("400").map(|p| p.half_unit), Ok(0.5));
        assert_eq!(printed("15.20").map(|p| p.value), Ok(15.2));
        assert!((printed("15.20").expect("a number").half_unit - 0.005).abs() < 1e-12);
        assert!(printed("about 3").is_err() && printed("inf").is_err());
    }

    #[test]
    fn a_tolerance_needs_its_reason() {
        let with = |more: &str| Ledger::parse("x.toml", &format!("{ONE}\n{more}"));
        let e = with("tolerance = 0.01").expect_err("no reason");
        assert!(e.contains("x.toml: a:") && e.contains("because"), "{e}");
        let stated = with("tolerance = 0.01\nbecause = \"read off the plot\"").expect("a reason");
        assert!((stated.claims[0].bound().0 - 0.987).abs() < 1e-12);
        assert!(with("tolerance = -1.0\nbecause = \"x\"").is_err());
        assert!(with("profiles = []").is_err());
        let order = ONE.replace("at_least", "above");
        let order = Ledger::parse("x.toml", &order).expect("an order");
        let (reference, _) = order.claims[0].bound();
        assert!(
            reference > 0.997 && reference < 0.997 + 1e-12,
            "an equal is no order"
        );
        let noted = with("note = \"long queue\"").expect("a note");
        assert_eq!(noted.claims[0].remark().as_deref(), Some("long queue"));
        let both = with("tolerance = 0.01\nbecause = \"by the plot\"\nnote = \"long queue\"");
        let both = both.expect("both").claims[0].remark();
        assert_eq!(both.as_deref(), Some("by the plot; long queue"));
        assert!(with("bound = 3").is_err(), "an unknown key");
        assert!(
            Ledger::parse("x.toml", &format!("{ONE}{ONE}")).is_err(),
            "a name twice"
        );
    }
}
