//! Cells of the arena that nobody chose.

use std::ops::RangeInclusive;
use std::str::FromStr;

use slackwater_scenario::drawn::{Drawn, Kind};

use super::set::{Class, Place};

/// Scenarios of one kind that are drawn at a time, at most.
const MOST: u64 = 10_000;
/// The length of a quick run.
const QUICK: &str = "8 s";

/// Drawn scenarios of one kind: `bulk:1-60`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    kind: Kind,
    numbers: RangeInclusive<u64>,
}

impl FromStr for Drawing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            let kinds: Vec<&str> = Kind::ALL.iter().map(|(_, name, _)| *name).collect();
            format!(
                "found {text:?}, expected KIND:FIRST-LAST with KIND one of {}, and at most {MOST} numbers from 1 on",
                kinds.join(", ")
            )
        };
        let (kind, numbers) = text.split_once(':').ok_or_else(wrong)?;
        let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
        let [first, last] = [first, last].map(|n| n.parse::<u64>().ok());
        let (Some(kind), Some(first), Some(last)) = (Kind::find(kind), first, last) else {
            return Err(wrong());
        };
        if first == 0 || last < first || last - first >= MOST {
            return Err(wrong());
        }
        Ok(Self {
            kind,
            numbers: first..=last,
        })
    }
}

impl Drawing {
    /// Its cells.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        let numbers = self.numbers.clone();
        numbers.map(|number| place(self.kind, number))
    }
}

/// Scenario `number` of `kind` as a cell.
fn place(kind: Kind, number: u64) -> Place {
    let drawn = Drawn::new(kind, number);
    let front = match kind {
        Kind::Bulk | Kind::Hop | Kind::Rival | Kind::Link => ["goodput", "delay_p95"],
        Kind::Apps => ["fct_p50", "fct_p95"],
        Kind::Vr => ["satisfied", "late"],
        Kind::Media => ["received", "frame_p95"],
    };
    // No base station reports to XRC on a link.
    let without: &[&str] = if kind == Kind::Link {
        &["xrc", "xrc-paper"]
    } else {
        &[]
    };
    Place {
        name: format!("{}-{number}", kind.name()),
        class: match kind {
            Kind::Vr => Class::Vr,
            Kind::Media => Class::Media,
            _ => Class::Sender,
        },
        scenario: None,
        trace: None,
        about: format!("{}.", drawn.about),
        without: without.iter().map(|s| (*s).to_owned()).collect(),
        quick: Some(QUICK.to_owned()),
        wired: kind == Kind::Hop,
        rival: (kind == Kind::Rival).then_some(1),
        players: vec![0],
        front: front.map(str::to_owned),
        drawn: Some(drawn.text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_names_its_scenarios() {
        let names = |text: &str| -> Vec<String> {
            let drawing: Drawing = text.parse().expect("a drawing");
            drawing.places().map(|p| p.scenario_name()).collect()
        };
        assert_eq!(names("bulk:3-4"), ["drawn/bulk-3", "drawn/bulk-4"]);
        assert_eq!(names("media:7"), ["drawn/media-7"]);
        for wrong in [
            "bulk",
            "bulk:",
            "bulk:0-3",
            "bulk:4-3",
            "bulk:1-20000",
            "x:1-2",
        ] {
            let error = wrong.parse::<Drawing>().expect_err(wrong);
            assert!(error.contains(wrong), "{error}");
        }
    }
}
