//! Recorded links, each of which counts as a radio: `ebb` beside senders whose signals a link can make.

use std::path::{Path, PathBuf};

use slackwater_scenario::Scenario;

use super::prelude::*;
use crate::recordings::{self, recording, trace};
use crate::study::read;

/// Recordings of which each packet's time is known (Mahimahi's format), downlink, of a minute at least. Those that shaped the links on
/// which policies were trained (`gym::pattern::CALIBRATION`) are left out. No other choice was made.
const RECORDINGS: [&str; 13] = [
    "ATT-LTE-driving.down",
    "Verizon-EVDO-driving.down",
    "Verizon-LTE-short.down",
    "downlink-3g-no-cross-times-1.pps",
    "downlink-3g-with-cross-times-1.pps",
    "downlink-3g-with-cross-times-2.pps",
    "trace-3199718-timessquare",
    "trace-3201037-timessquare",
    "trace-3201711-timessquare",
    "trace-3202253-timessquare",
    "trace-3203600-timessquare",
    "trace-3204803-timessquare",
    "trace-3205967-timessquare",
];

/// The one of which a prototype's figures are known.
const DRIVE: &str = RECORDINGS[0];

/// `ebb` and those it is compared with. XRC needs a base station that computes shares, which a link has not.
const SENDERS: [&str; 12] = [
    "ebb",
    "tyrus",
    "rule2",
    "rule2-acks",
    "pbe",
    "sprout",
    "verus",
    "copa",
    "vegas",
    "bbr",
    "bbr3",
    "cubic",
];

pub(super) fn name(place: &str, sender: &str) -> String {
    format!("drives/{place}-{sender}")
}

/// The recordings that are there, with their files.
pub(super) fn found(options: &Options) -> Vec<(&'static str, PathBuf)> {
    let most = if options.quick { 2 } else { RECORDINGS.len() };
    RECORDINGS
        .iter()
        .filter_map(|name| Some((*name, recording(name)?)))
        .take(most)
        .collect()
}

/// Which recordings are missing, and why.
pub(super) fn missing() -> Option<String> {
    recordings::missing(RECORDINGS.into_iter())
}

/// The recording `place`, whose file is at `path`, as a link that counts.
pub(super) fn link(place: &str, path: &Path) -> Result<Scenario, StudyError> {
    let text = format!(
        "name = \"ebb\"\nduration = \"60 s\"\nwarmup = \"2 s\"\n[path]\nrtt = \"40 ms\"\n{}queue = {{ kind = \"fifo\", limit = \"1000 packets\" }}\n\
         [feedback]\n[[flow]]\ncontroller = \"cubic\"\n[record]\nqlog = false\n",
        trace(path)
    );
    read(place, &text)
}

/// Runs of `sender` on such a link.
pub(super) fn experiment(
    scenario: &Scenario,
    place: &str,
    sender: &str,
) -> Result<Experiment, StudyError> {
    let change = [("flow.controller", sender)];
    Experiment::of(name(place, sender), scenario, change, |run, out| {
        keep(&[0], run, out);
    })
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let found = found(options);
    let mut experiments = vec![];
    for (place, path) in &found {
        // Read once: a recording takes longer to unpack than any change to make.
        let scenario = link(place, path)?;
        for sender in SENDERS {
            experiments.push(experiment(&scenario, place, sender)?);
        }
    }
    let places = found.into_iter().map(|(name, _)| name).collect();
    Ok(Part {
        id: "drives",
        measures: vec![],
        experiments,
        draw: Box::new(move |o| draw(o, &places)),
    })
}

/// S of `ebb` less that of `other`: the mean over seeds of each of `places`, and the interval over places.
fn ahead(o: &Outcomes, places: &[&'static str], other: &str) -> Option<Estimate> {
    let means: Vec<f64> = places
        .iter()
        .filter_map(|place| {
            let [ours, theirs] = [SENDERS[0], other].map(|sender| o.get(&name(place, sender)));
            Some(difference(ours, theirs, SCORE)?.mean)
        })
        .collect();
    Estimate::of(&means)
}

/// The targets: the prototype's on one drive, and an S ahead of every other sender's over all.
fn checks(o: &Outcomes, places: &[&'static str]) -> Vec<Check> {
    let mut checks = vec![];
    if places.contains(&DRIVE) {
        let ours = o.get(&name(DRIVE, SENDERS[0]));
        checks.push(Check::of(
            format!("{DRIVE}: utilisation"),
            "%",
            93.0,
            ours.estimate("use"),
            Tolerance::AtLeast,
        ));
        checks.push(Check::of(
            format!("{DRIVE}: p95 queue delay"),
            "ms",
            30.0,
            ours.estimate("delay"),
            Tolerance::AtMost,
        ));
    }
    let others = SENDERS[1..].iter().filter(|_| places.len() > 1);
    checks.extend(others.map(|sender| {
        Check::of(
            format!("mean S less that of {}", title(sender)),
            "",
            0.0,
            ahead(o, places, sender),
            Tolerance::AtLeast,
        )
    }));
    checks
}

fn draw(o: &Outcomes, places: &Vec<&'static str>) -> Figure {
    let columns = |value: &'static str| -> Vec<(String, &'static str)> {
        let all = SENDERS.iter();
        all.map(|s| (title(s).to_owned(), value)).collect()
    };
    let rows: Vec<(String, &str)> = places.iter().map(|p| ((*p).to_owned(), "")).collect();
    let of = |r: usize, c: usize| o.get(&name(places[r], SENDERS[c]));
    let table = |id: &str, heading: &str, value: &'static str| {
        grid(id, heading, "recording", &columns(value), &rows, of)
    };
    let panels = if places.is_empty() {
        vec![]
    } else {
        vec![
            apart(table("drives-score", "S", SCORE)),
            apart(table("drives-use", "Utilisation, %", "use")),
            apart(table("drives-delay", "p95 queue delay, ms", "delay")),
        ]
    };
    let first = places.iter().filter(|place| {
        let score = |sender: &str| o.get(&name(place, sender)).mean(SCORE);
        SENDERS[1..]
            .iter()
            .all(|other| score(SENDERS[0]) > score(other))
    });
    Figure {
        title: "Recorded drives".to_owned(),
        setup: "The first minute of each recording as a link of 1,000 packets, which counts as the radio: it makes counters and transport \
                blocks as a base station does, without HARQ and without an uplink that stalls. RTT 40 ms. Intervals of the means are over recordings."
            .to_owned(),
        claim: "Targets: what a prototype reached on one drive, and a mean S ahead of every other sender's.".to_owned(),
        seen: format!("Its S is the highest in {} of {} recordings.", first.count(), places.len()),
        panels,
        checks: checks(o, places),
        notes: missing().into_iter().collect(),
        ..Figure::default()
    }
}

#[cfg(test)]
mod tests {
    use slackwater_lab::gym::pattern::CALIBRATION;

    use super::*;

    #[test]
    fn no_recording_shaped_the_links_of_training() {
        assert!(RECORDINGS.iter().all(|r| !CALIBRATION.contains(r)));
    }
}
