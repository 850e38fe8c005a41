//! How near the forecast is to the ceiling: the mean of 50 ms, the mixture of rule 3, what is learned on top of it or was trained
//! beforehand, and an oracle that knows what the radio will offer over the next round.

use std::sync::{Arc, Mutex, PoisonError};

use slackwater_control::phy::ebb::{Ebb, Oracle, Params};
use slackwater_control::registry::Plugin;
use slackwater_core::{Duration, Rate};
use slackwater_lab::run::{Control, run_scenario};
use slackwater_scenario::{Plugins, Scenario};

use super::drives;
use super::prelude::*;

/// Cells of a flow that is alone: what an oracle knows holds whatever it sends.
const ALONE: [&str; 5] = [
    "lte-steps",
    "lte-fading",
    "nr-fading",
    "wired-hop",
    "lossy-feedback",
];

/// Cells of several flows, or of several base stations. There is no oracle: what each one does changes what is offered to the others.
const OTHERS: [&str; 6] = [
    "handover",
    "lte-ten",
    "nr-fifty",
    "rival",
    "rival-users",
    "web",
];

/// Name, what it is called.
const FORECASTS: [(&str, &str); 5] = [
    ("ebb:mix=0", "mean of 50 ms"),
    ("ebb", "mixture (ebb)"),
    ("ebb:learn=1", "mixture, corrected by what is learned"),
    (
        "ebb:margins=trained",
        "mixture, with margins that were trained",
    ),
    (ORACLE, "oracle that knows the next round"),
];

/// Those that need no oracle.
const PLAIN: usize = FORECASTS.len() - 1;
/// What is held against the mixture on recordings.
const TRIED: [(&str, &str); 2] = [
    ("ebb:learn=1", "what is learned"),
    ("ebb:margins=trained", "trained margins"),
];

/// The sender that an oracle tells what comes.
const ORACLE: &str = "ebb-oracle";
/// Seconds of a stamp's step.
const STEP: f64 = 0.000_125;

fn name(cell: &str, variant: &str) -> String {
    match variant {
        "ebb" => format!("cells/{cell}-ebb"),
        "ebb:mix=0" if super::rules::WHERE.contains(&cell) => format!("rules/{cell}-{variant}"),
        _ => format!("ceiling/{cell}-{variant}"),
    }
}

/// What was offered until each stamp of a run, seconds and bytes.
#[derive(Default)]
struct Notes {
    /// The last stamp and sum, as the counters have them.
    last: Option<(u32, u32)>,
    /// Time and bytes since the first.
    sums: Vec<(f64, f64)>,
}

impl Notes {
    fn note(&mut self, stamp: u32, offered: u32) {
        let (mut at, mut bytes) = self.sums.last().copied().unwrap_or_default();
        if let Some((before, sum)) = self.last {
            at += f64::from(stamp.wrapping_sub(before)) * STEP;
            bytes += f64::from(offered.wrapping_sub(sum));
        }
        self.last = Some((stamp, offered));
        self.sums.push((at, bytes));
    }

    /// Bytes offered until `at`; `None` after the end of the run.
    fn until(&self, at: f64) -> Option<f64> {
        let next = self.sums.partition_point(|(t, _)| *t <= at);
        let (t1, b1) = *self.sums.get(next)?;
        let (t0, b0) = self.sums[next.checked_sub(1)?];
        Some(b0 + (b1 - b0) * (at - t0) / (t1 - t0))
    }

    /// The rate that was offered from `at` on, over `round`.
    fn rate(&self, at: f64, round: Duration) -> Option<Rate> {
        let seconds = round.as_secs_f64();
        let bytes = self.until(at + seconds)? - self.until(at)?;
        Some(Rate::from_bps((bytes * 8.0 / seconds) as u64))
    }
}

/// `scenario` with `ebb` and an oracle in place of its sender.
fn with_oracle(scenario: &Scenario, oracle: Oracle) -> Scenario {
    let plugin =
        Plugin::with_parameters(ORACLE, "ebb, which knows the next round", move |cfg, _| {
            Ok(Box::new(
                Ebb::new(Params::DEFAULT, cfg).with_oracle(oracle.clone()),
            ))
        });
    let plugins = Plugins::new()
        .with_controller(plugin)
        .expect("the name is free");
    scenario
        .clone()
        .with_plugins(&plugins)
        .with("flow[0].controller", ORACLE)
        .expect("it has a flow")
}

/// Runs `scenario` once to see what is offered, and gives its sender an oracle that knows it.
fn foreseen(scenario: &mut Scenario, seed: u64) {
    let notes = Arc::new(Mutex::new(Notes::default()));
    let noting = Arc::clone(&notes);
    let scribe = Oracle::new(move |counters, _| {
        let mut notes = noting.lock().unwrap_or_else(PoisonError::into_inner);
        notes.note(counters.stamp, counters.offered);
        None
    });
    run_scenario(&with_oracle(scenario, scribe), seed, &mut |_| {
        Control::Continue
    })
    .expect("nothing interrupts it");
    let known = std::mem::take(&mut *notes.lock().unwrap_or_else(PoisonError::into_inner));

    // The channel of a seed is the same in both runs, and so are its stamps.
    let first = Mutex::new(None);
    let oracle = Oracle::new(move |counters, round| {
        let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
        let first = *first.get_or_insert(counters.stamp);
        known.rate(f64::from(counters.stamp.wrapping_sub(first)) * STEP, round)
    });
    *scenario = with_oracle(scenario, oracle);
}

/// The runs of one variant in a cell.
fn of_cell(options: &Options, place: &str, variant: &str) -> Result<Experiment, StudyError> {
    let cell = cell(place);
    let name = name(place, variant);
    if variant == ORACLE {
        return Ok(cell
            .experiment(options, name, "ebb", &[])?
            .prepared(foreseen));
    }
    cell.experiment(options, name, variant, &[])
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let alone: Vec<&str> = ALONE
        .iter()
        .copied()
        .filter(|c| shown(options, c))
        .collect();
    let others: Vec<&str> = OTHERS
        .iter()
        .copied()
        .filter(|c| shown(options, c))
        .collect();
    let mut experiments = vec![];
    for (places, variants) in [(&alone, &FORECASTS[..]), (&others, &FORECASTS[..PLAIN])] {
        for place in places {
            for (variant, _) in variants {
                experiments.push(of_cell(options, place, variant)?);
            }
        }
    }
    let recordings = drives::found(options);
    for (place, path) in &recordings {
        let scenario = drives::link(place, path)?;
        for (variant, _) in FORECASTS {
            if variant == ORACLE {
                let mut experiment = drives::experiment(&scenario, place, "ebb")?;
                experiment.name = drives::name(place, ORACLE);
                experiments.push(experiment.prepared(foreseen));
            } else {
                experiments.push(drives::experiment(&scenario, place, variant)?);
            }
        }
    }
    let recordings: Vec<&'static str> = recordings.into_iter().map(|(name, _)| name).collect();
    Ok(Part {
        id: "ceiling",
        measures: vec![],
        experiments,
        draw: Box::new(move |o| draw(o, &alone, &others, &recordings)),
    })
}

/// A quick look leaves some cells out.
fn shown(options: &Options, name: &str) -> bool {
    !options.quick || cell(name).quick.is_some()
}

/// S with `variant` less S of the mixture: the mean over seeds of each recording, and the interval over recordings.
fn over_recordings(o: &Outcomes, recordings: &[&'static str], variant: &str) -> Option<Estimate> {
    let means: Vec<f64> = recordings
        .iter()
        .filter_map(|place| {
            let [ours, plain] = [variant, "ebb"].map(|v| o.get(&drives::name(place, v)));
            Some(difference(ours, plain, SCORE)?.mean)
        })
        .collect();
    Estimate::of(&means)
}

fn draw(o: &Outcomes, alone: &[&str], others: &[&str], recordings: &[&'static str]) -> Figure {
    let mut panels = vec![];
    for (id, title, places, variants) in [
        ("alone", "a flow alone", alone, &FORECASTS[..]),
        (
            "others",
            "several flows or base stations",
            others,
            &FORECASTS[..PLAIN],
        ),
    ] {
        if places.is_empty() {
            continue;
        }
        let rows: Vec<(String, &str)> = variants
            .iter()
            .map(|(_, label)| ((*label).to_owned(), "ebb"))
            .collect();
        let of = |r: usize, c: usize| o.get(&name(places[c], variants[r].0));
        for (short, heading, value) in [
            ("score", "S", SCORE),
            ("use", "Utilisation, %", "use"),
            ("delay", "p95 queue delay, ms", "delay"),
        ] {
            let columns: Vec<(String, &'static str)> =
                places.iter().map(|c| ((*c).to_owned(), value)).collect();
            let panel = grid(
                &format!("ceiling-{id}-{short}"),
                &format!("{heading}: {title}"),
                "forecast",
                &columns,
                &rows,
                of,
            );
            panels.push(if value == "delay" {
                lower(panel)
            } else {
                panel
            });
        }
    }
    let mut lines = vec![];
    for (variant, label) in FORECASTS {
        if variant == "ebb" {
            continue;
        }
        let oracle = variant == ORACLE;
        let places = alone.iter().chain(others.iter().filter(|_| !oracle));
        let cells = places.filter_map(|place| {
            let change = difference(
                o.get(&name(place, variant)),
                o.get(&name(place, "ebb")),
                SCORE,
            )?;
            Some(stated(place, change))
        });
        let drives = over_recordings(o, recordings, variant)
            .map(|change| stated(&format!("{} recordings", recordings.len()), change));
        let all: Vec<String> = cells.chain(drives).collect();
        lines.push(format!("{label}: {}.", all.join(", ")));
    }
    let ahead = TRIED.iter().filter_map(|(variant, label)| {
        let change = over_recordings(o, recordings, variant)?;
        Some(Check::of(
            format!("recordings: S by {label} less that of the mixture"),
            "",
            0.0,
            Some(change),
            Tolerance::AtLeast,
        ))
    });
    Figure {
        title: "How near the forecast is to the ceiling".to_owned(),
        setup: "The oracle is told what the radio offered over the next least loop in a first run of the same seed. It has no margin z."
            .to_owned(),
        claim: "What is learned becomes a part of the system if it is ahead of the mixture on recordings, by an interval that separates. What was trained ships on the same condition, as an option."
            .to_owned(),
        seen: format!("Change of S from the mixture: {}", lines.join(" ")),
        panels,
        checks: ahead.collect(),
        notes: drives::missing().into_iter().collect(),
        ..Figure::default()
    }
}

fn stated(place: &str, change: Estimate) -> String {
    let half = change.half_width().unwrap_or(0.0);
    format!("{place} {:+.3} ± {half:.3}", change.mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_that_wrap_around_are_followed_and_nothing_is_known_beyond_the_end() {
        let mut notes = Notes::default();
        for k in 0..10_u32 {
            let stamp = (u32::MAX - 100).wrapping_add(40 * k);
            notes.note(stamp, (u32::MAX - 4_000).wrapping_add(5_000 * k));
        }
        let rate = |at, round| {
            notes
                .rate(at, Duration::from_millis(round))
                .map(Rate::as_bps)
        };
        assert_eq!(rate(0.0, 10), Some(8_000_000));
        assert_eq!(rate(0.0125, 20), Some(8_000_000));
        assert_eq!(rate(0.030, 20), None);
    }
}
