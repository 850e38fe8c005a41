//! Scenarios that nobody chose: `drawn/bulk-17` is the seventeenth of its kind, the same on every machine.
//!
//! A generator with the scenario's number as its seed draws radio, user, path, buffer, losses, reports and application. So a
//! comparison meets worlds that no part of the product was set on, and any of them runs by its name.

mod app;
mod dice;
mod link;
mod media;
mod place;

use dice::Dice;

/// What stands before the name of a drawn scenario.
pub const PREFIX: &str = "drawn/";

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Bulk flows of one or more users of a cell.
    Bulk,
    /// Pages, transfers, chunks of video or frames of VR in a cell.
    Apps,
    /// Bulk flows to a cell through a wired hop, which may be the narrower one.
    Hop,
    /// A bulk flow beside a CUBIC flow of the same user or of another.
    Rival,
    /// Bulk flows on a link without a base station.
    Link,
    /// VR frames of users of a cell.
    Vr,
    /// Real-time media in a cell or on a link.
    Media,
}

impl Kind {
    /// Every kind, with its name and what it is.
    pub const ALL: [(Self, &'static str, &'static str); 7] = [
        (
            Self::Bulk,
            "bulk",
            "bulk flows of one or more users of a cell",
        ),
        (
            Self::Apps,
            "apps",
            "pages, transfers, chunks of video or frames of VR in a cell",
        ),
        (
            Self::Hop,
            "hop",
            "bulk flows to a cell through a wired hop, which may be the narrower one",
        ),
        (
            Self::Rival,
            "rival",
            "a bulk flow beside a CUBIC flow of the same user or of another",
        ),
        (
            Self::Link,
            "link",
            "bulk flows on a link without a base station",
        ),
        (Self::Vr, "vr", "VR frames of users of a cell"),
        (
            Self::Media,
            "media",
            "real-time media in a cell or on a link",
        ),
    ];

    /// The kind called `name`.
    pub fn find(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, n, _)| *n == name);
        found.map(|(kind, ..)| *kind)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(kind, ..)| *kind == self);
        found.map_or("", |(_, name, _)| name)
    }
}

/// A scenario that was drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// What it is, in words.
    pub about: String,
    /// The scenario. Its flow 0 is the one whose controller a comparison changes.
    pub text: String,
}

impl Drawn {
    /// Scenario `number` of `kind`.
    pub fn new(kind: Kind, number: u64) -> Self {
        let mut dice = Dice::new(number);
        let world = match kind {
            Kind::Bulk => place::bulk(&mut dice),
            Kind::Apps => app::apps(&mut dice),
            Kind::Hop => place::hop(&mut dice),
            Kind::Rival => place::rival(&mut dice),
            Kind::Link => link::link(&mut dice),
            Kind::Vr => app::vr(&mut dice),
            Kind::Media => media::media(&mut dice),
        };

        let name = kind.name();
        let (about, seconds, warmup) = (world.about, world.seconds, world.warmup);
        let text = format!(
            "# Drawn: number {number} of its kind.\nname = \"drawn-{name}-{number}\"\ntitle = \"{about}\"\nduration = \"{seconds} s\"\nwarmup = \"{warmup} s\"\n\n{}\n[record]\nqlog = false\n",
            world.text
        );
        Self { about, text }
    }

    /// The scenario called `name`, for example `drawn/bulk-17`.
    pub fn named(name: &str) -> Option<Self> {
        let (kind, number) = name.strip_prefix(PREFIX)?.split_once('-')?;
        // One name a scenario: neither `+7` nor `007`.
        let plain = number.bytes().all(|b| b.is_ascii_digit()) && !number.starts_with('0');
        let number = number.parse().ok().filter(|_| plain)?;
        Some(Self::new(Kind::find(kind)?, number))
    }
}

/// A scenario but for its head.
struct World {
    about: String,
    seconds: u32,
    warmup: u32,
    text: String,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::Scenario;

    #[test]
    fn all_scenarios_that_may_be_drawn_are_well_formed_and_differ() {
        for (kind, name, _) in Kind::ALL {
            let mut labels = BTreeSet::new();
            let mut texts = BTreeSet::new();
            for number in 1..=300 {
                let drawn = Drawn::new(kind, number);
                let file = format!("{PREFIX}{name}-{number}");
                let scenario = Scenario::parse(&file, &drawn.text, Path::new("."));
                if let Err(e) = scenario {
                    panic!("{e}\n{}", drawn.text);
                }
                let (_, body) = drawn.text.split_once("duration").expect("a length");
                texts.insert(body.to_owned());
                labels.insert(drawn.about);
            }
            assert_eq!(texts.len(), 300, "{name}");
            assert!(labels.len() > 295, "{name}: {}", labels.len());
        }
    }

    #[test]
    fn a_name_is_one_scenario() {
        let of = |name: &str| Drawn::named(name);
        assert_eq!(of("drawn/bulk-17"), Some(Drawn::new(Kind::Bulk, 17)));
        for wrong in [
            "drawn/bulk",
            "drawn/bulk-",
            "drawn/bulk-017",
            "drawn/bulk-+7",
            "drawn/bulk-0",
            "drawn/none-1",
            "bulk-17",
            "drawn/bulk-99999999999999999999",
        ] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
