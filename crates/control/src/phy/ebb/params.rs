//! What can be set of `ebb`: its dials, and which rules are in force.

use slackwater_core::Duration;

use super::network::Margins;
use crate::registry::{Parameter, Parameters};

/// What may follow `ebb:`.
pub(crate) const PARAMETERS: [Parameter; 11] = [
    Parameter::number(
        "z",
        Params::DEFAULT.z,
        (0.0, 5.0),
        "",
        "mean errors of the forecast that are added to it (ours)",
    ),
    Parameter::number(
        "q",
        Params::DEFAULT.q * 1e3,
        (-100.0, 1000.0),
        "ms",
        "the queue that the radio should hold; below zero, less is in flight than a round takes (ours)",
    ),
    Parameter::number(
        "within",
        Params::DEFAULT.within * 1e3,
        (1.0, 1000.0),
        "ms",
        "time within which what is too much or too little is made up (ours)",
    ),
    Parameter::number(
        "advice",
        0.0,
        (0.0, 600_000.0),
        "ms",
        "the offered rate of so long alone, as SCONE carries it, bounds CUBIC; 0: the counters steer (ours)",
    ),
    rule(
        "gone",
        "what is on its way is sent less gone; 0: what the host has in flight",
    ),
    rule("mix", "the forecast is a mixture; 0: the mean of 50 ms"),
    Parameter::number(
        "learn",
        0.0,
        (0.0, 1.0),
        "",
        "1: a correction of the forecast is learned from what came (ours)",
    )
    .whole(),
    rule(
        "pace",
        "what is too much or too little changes the pace; 0: the window alone bounds",
    ),
    rule(
        "elsewhere",
        "bottlenecks that are not the radio are looked for",
    ),
    rule("company", "others that fill the queue are met"),
    rule("trust", "what is offered is held against what leaves"),
];

/// What was trained, in place of a number.
const WORDS: [Parameter; 2] = [
    Parameter::word(
        "forecast",
        "FILE",
        &["FILE"],
        "a forecast by a network, with its margins: a file (.safetensors, see docs/training.md), at the end and in scenarios alone",
    )
    .without("the mixture"),
    Parameter::word(
        "margins",
        "trained",
        &["trained"],
        "z, q and within as they were trained without a network",
    )
    .without("z, q and within as they stand"),
];

/// z, q and within that `slackwater train ebb` found without a network, at 655fd2b9 with seed 5 (docs/design/0131).
pub(super) const TRAINED: Margins = Margins {
    z: 1.115_111_508_297_054_6,
    q_ms: -0.342_461_572_731_488_6,
    within_ms: 69.781_963_780_127_13,
};

/// All that may follow `ebb:`.
pub(super) const LISTED: [Parameter; 13] = {
    let [a, b, c, d, e, f, g, h, i, j, k] = PARAMETERS;
    let [forecast, margins] = WORDS;
    [a, b, c, d, e, f, g, h, i, j, k, forecast, margins]
};

/// Whether `text` takes the margins that were trained, and what stands beside that.
pub(super) fn trained(text: &str) -> Result<(bool, String), String> {
    let mut margins = false;
    let mut rest = vec![];
    for part in text.split(',').filter(|_| !text.is_empty()) {
        match part.split_once('=') {
            Some(("margins", "trained")) if !margins => margins = true,
            Some(("margins", value)) => {
                return Err(format!(
                    "found \"{value}\" for margins, expected trained, once"
                ));
            }
            Some(("forecast", value)) => {
                return Err(format!(
                    "found \"{value}\" for forecast, expected none: senders of scenarios alone read a file"
                ));
            }
            _ => rest.push(part),
        }
    }
    Ok((margins, rest.join(",")))
}

/// A rule that 0 leaves out.
const fn rule(key: &'static str, about: &'static str) -> Parameter {
    Parameter::number(key, 1.0, (0.0, 1.0), "", about).whole()
}

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// Mean errors of the forecast that are added to it.
    pub z: f64,
    /// The queue that the radio should hold, seconds. Below zero, less is in flight than a round takes: where others share the cell, it
    /// serves them meanwhile.
    pub q: f64,
    /// Time within which what is too much or too little is made up, seconds.
    pub within: f64,
    /// Of the reports the offered rate alone is heard, as its mean of so long; zero: all of them.
    pub advice: Duration,
    /// The rules that are in force, to see what each of them is worth.
    pub rules: Rules,
}

/// Rules that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// What is on its way is sent less gone; else what the host has in flight.
    pub gone: bool,
    /// The forecast is a mixture; else the mean of 50 ms.
    pub mix: bool,
    /// A correction of the forecast is learned from what came: an option, and no part of the system as it is measured.
    pub learn: bool,
    /// What is too much or too little changes the pace; else the pace is twice the forecast and the window bounds alone.
    pub pace: bool,
    /// Bottlenecks that are not the radio are looked for.
    pub elsewhere: bool,
    /// Others that fill the queue are met.
    pub company: bool,
    /// What is offered is held against what leaves.
    pub trust: bool,
}

impl Rules {
    /// All of them, without what is an option.
    pub const ALL: Self = Self {
        gone: true,
        mix: true,
        learn: false,
        pace: true,
        elsewhere: true,
        company: true,
        trust: true,
    };
}

impl Params {
    /// As measured best.
    pub const DEFAULT: Self = Self {
        z: 0.3,
        q: 0.002,
        within: 0.010,
        advice: Duration::ZERO,
        rules: Rules::ALL,
    };

    /// As they stand after the name: `z=0.3,q=2,within=10` (ms), and `gone=0` for a rule that is left out.
    pub(super) fn read(p: Parameters<'_>) -> Result<Self, String> {
        // The last two are words, which [`trained`] has taken out.
        let [z, q, within, advice, rules @ .., _, _] = p.numbers(&LISTED)?;
        let [gone, mix, learn, pace, elsewhere, company, trust] = rules.map(|on| on != 0.0);
        Ok(Self {
            z,
            q: q / 1e3,
            within: within / 1e3,
            advice: Duration::from_secs_f64(advice / 1e3),
            rules: Rules {
                gone,
                mix,
                learn,
                pace,
                elsewhere,
                company,
                trust,
            },
        })
    }

    /// The same beside a network, whose `margins` hold where `text` does not set others.
    pub(super) fn read_with(text: &str, margins: Margins) -> Result<Self, String> {
        let own = Self {
            z: margins.z,
            q: margins.q_ms / 1e3,
            within: margins.within_ms / 1e3,
            ..Self::DEFAULT
        };
        if text.is_empty() {
            return Ok(own);
        }
        let read = Self::read(Parameters(text))?;
        let sets = |key: &str| {
            let mut parts = text.split(',');
            parts.any(|part| part.split('=').next().is_some_and(|k| k.trim() == key))
        };
        Ok(Self {
            z: if sets("z") { read.z } else { own.z },
            q: if sets("q") { read.q } else { own.q },
            within: if sets("within") {
                read.within
            } else {
                own.within
            },
            ..read
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::network::Network;
    use super::*;

    #[test]
    fn times_are_given_in_milliseconds_and_kept_in_seconds() {
        assert_eq!(Params::read(Parameters("")), Ok(Params::DEFAULT));
        let read = Params::read(Parameters("z=0.5,q=-4,within=20,advice=1000,mix=0,learn=1"))
            .expect("it is right");
        let expected = Params {
            z: 0.5,
            q: -0.004,
            within: 0.020,
            advice: Duration::from_secs(1),
            rules: Rules {
                mix: false,
                learn: true,
                ..Rules::ALL
            },
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn margins_of_a_network_hold_where_none_are_set() {
        let margins = Margins {
            z: 0.7,
            q_ms: -3.0,
            within_ms: 20.0,
        };
        let own = Params::read_with("", margins).expect("it is right");
        assert_eq!((own.z, own.q, own.within), (0.7, -0.003, 0.020));
        let set = Params::read_with("q=5,pace=0", margins).expect("it is right");
        assert_eq!((set.z, set.q, set.within), (0.7, 0.005, 0.020));
        assert!(!set.rules.pace);
        assert!(Params::read_with("zz=1", margins).is_err());
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a test reads the file that the numbers come from"
    )]
    fn trained_margins_are_those_of_the_file_beside_its_card() {
        let models = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
        let Ok(file) = std::fs::read(models.join("ebb.safetensors")) else {
            eprintln!("skipped: no models/ outside of the checkout");
            return;
        };
        let network = Network::from_safetensors(&file).expect("it is whole");
        assert_eq!(network.margins_alone(), TRAINED);
    }

    #[test]
    fn what_was_trained_stands_among_the_numbers() {
        assert_eq!(trained("z=0.3,q=2"), Ok((false, "z=0.3,q=2".to_owned())));
        assert_eq!(trained(""), Ok((false, String::new())));
        let both = Ok((true, "z=0.3,q=2".to_owned()));
        assert_eq!(trained("z=0.3,margins=trained,q=2"), both);
        for wrong in [
            "forecast=x.st",
            "forecast=trained",
            "margins=mine",
            "margins=trained,margins=trained",
        ] {
            let found = trained(wrong).expect_err(wrong);
            assert!(found.contains("expected"), "{found}");
        }
    }
}
