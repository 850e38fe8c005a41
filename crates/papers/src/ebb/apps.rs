//! Applications that do not always send, in cells that nobody chose.

use super::drawn::{Dice, Drawn, Place, place};
use super::prelude::*;
use crate::study::read;

/// Scenarios, and those of a quick look.
const SCENARIOS: u64 = 60;
const QUICK: u64 = 5;
/// The first one's number: these cells are others than those of `drawn`.
const FIRST: u64 = 1001;

/// `ebb` and those it is compared with.
const SENDERS: [&str; 7] = ["ebb", "tyrus", "rule2", "copa", "bbr", "bbr3", "cubic"];

/// Length of a run, seconds.
const LENGTH: f64 = 20.0;
/// What is compared, and its name.
const TIMES: [(&str, &str); 2] = [("fct_p50", "median"), ("fct_p95", "p95")];

/// An application, and what it is in words.
fn app(dice: &mut Dice) -> (String, String) {
    let kind = dice.one(&["page", "transfers", "video", "vr"]);
    let bytes = dice.factor(3e4, 3e6) as u64;
    let rate = dice.factor(1.0, 15.0);
    let transport = dice.one(&["tcp", "tcp", "quic"]);
    let gap = dice.one(&["200 ms", "1 s", "3 s"]);
    let often = dice.one(&[true, false]);
    let connections = dice.one(&[1, 6]);
    let keys = match kind {
        "page" => {
            let bytes = bytes.max(100_000);
            format!(
                "size = \"{bytes} B\", connections = {connections}, multiplexed = {often}, gap = \"{gap}\""
            )
        }
        "transfers" => {
            let least = bytes / 10;
            format!(
                "min = \"{least} B\", max = \"{bytes} B\", reconnect = {often}, gap = \"{gap}\""
            )
        }
        "video" => {
            let (on, period) = if often {
                ("500 ms", "2 s")
            } else {
                ("2 s", "5 s")
            };
            format!(
                "rate = \"{rate:.2} Mbit/s\", on = \"{on}\", period = \"{period}\", burst = true"
            )
        }
        _ => format!("rate = \"{rate:.2} Mbit/s\", transport = \"{transport}\""),
    };
    let carries = if kind == "vr" {
        String::new()
    } else {
        format!("transport = \"{transport}\"\n")
    };
    let words = format!("{kind} over {transport}");
    (
        format!("app = {{ kind = \"{kind}\", {keys} }}\n{carries}"),
        words,
    )
}

/// Scenario number `number`: each user has one application.
fn scenario(number: u64) -> Result<Drawn, StudyError> {
    let mut dice = Dice::new(number);
    let Place {
        rat,
        rtt,
        buffer,
        users,
        direction,
        text,
    } = place(&mut dice);
    let (app, words) = app(&mut dice);
    // A page's data come down.
    let direction = if words.starts_with("page") {
        "down"
    } else {
        direction
    };

    let label = format!(
        "{number}: {words}, {rat}, {users} {direction}, {:.1} ms, {buffer}",
        rtt.as_millis_f64()
    );
    let text = format!(
        "name = \"apps\"\nduration = \"{LENGTH} s\"\nwarmup = \"2 s\"\n{text}\
         [[flow]]\ncontroller = \"cubic\"\nue = \"each\"\ndirection = \"{direction}\"\n{app}[record]\nqlog = false\n"
    );
    Ok(Drawn {
        scenario: read(&label, &text)?,
        label,
    })
}

fn name(number: usize, sender: &str) -> String {
    format!("apps/{}-{sender}", number + 1)
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let count = if options.quick { QUICK } else { SCENARIOS };
    let mut experiments = vec![];
    let mut labels = vec![];
    for number in 0..count {
        let drawn = scenario(FIRST + number)?;
        for sender in SENDERS {
            let change = [("flow.controller", sender)];
            let name = name(number as usize, sender);
            let experiment = Experiment::of(name, &drawn.scenario, change, |run, out| {
                keep(&[0], run, out);
                // Nothing ended: it takes as long as the run, at least.
                if TIMES.iter().any(|(time, _)| out.kept(time).is_none()) {
                    for (time, _) in TIMES {
                        out.value(time, Some(LENGTH * 1e3));
                    }
                }
            });
            experiments.push(experiment?);
        }
        labels.push(drawn.label);
    }
    Ok(Part {
        id: "apps",
        measures: vec![],
        experiments,
        draw: Box::new(move |o| draw(o, &labels)),
    })
}

/// The logarithm of `ebb`'s time over that of `other`, by scenario: the mean over seeds.
fn over(o: &Outcomes, scenarios: usize, other: &str, time: &str) -> Vec<f64> {
    (0..scenarios)
        .filter_map(|n| {
            let [ours, theirs] = [SENDERS[0], other].map(|sender| o.get(&name(n, sender)));
            let pairs: Vec<f64> = ours
                .values(time)
                .into_iter()
                .zip(theirs.values(time))
                .map(|(a, b)| (a / b).ln())
                .collect();
            Some(Estimate::of(&pairs)?.mean)
        })
        .collect()
}

fn draw(o: &Outcomes, labels: &[String]) -> Figure {
    let scenarios = labels.len();
    let rows: Vec<(String, &str)> = labels.iter().map(|label| (label.clone(), "")).collect();
    let of = |r: usize, c: usize| o.get(&name(r, SENDERS[c]));
    let table = |id: &str, heading: &str, value: &'static str| {
        let columns: Vec<(String, &'static str)> = SENDERS
            .iter()
            .map(|s| (title(s).to_owned(), value))
            .collect();
        lower(grid(id, heading, "scenario", &columns, &rows, of))
    };

    let mut checks = vec![];
    for sender in &SENDERS[1..] {
        for (time, what) in TIMES {
            checks.push(Check::of(
                format!("log of the {what} time over that of {}", title(sender)),
                "",
                0.0,
                Estimate::of(&over(o, scenarios, sender, time)),
                Tolerance::AtMost,
            ));
        }
    }
    Figure {
        title: "Applications that do not always send".to_owned(),
        setup: "Cells as in `drawn`, others than those, in which each user has one application: pages, transfers, chunks of video or frames of VR. Times are those of \
                a page, a transfer, a chunk or a frame until its last byte arrived, in ms. All users have the same sender; each run lasts 20 s, and a run in which nothing ends counts as that. Tyrus and rule2 have no \
                reports of uploads, and fall back there. Intervals are over scenarios."
            .to_owned(),
        claim: "Targets: in the geometric mean no time longer than that of any other sender.".to_owned(),
        panels: vec![
            table("apps-median", "Median time, ms", "fct_p50"),
            table("apps-p95", "95th percentile, ms", "fct_p95"),
        ],
        checks,
        ..Figure::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_scenarios_that_may_be_drawn_are_well_formed_and_differ() {
        let mut labels: Vec<_> = (FIRST..FIRST + 300)
            .map(|n| {
                let label = scenario(n).expect("well-formed").label;
                let (_, what) = label.split_once(": ").expect("a number");
                what.to_owned()
            })
            .collect();
        let all = labels.len();
        labels.sort();
        labels.dedup();
        assert_eq!(labels.len(), all);
    }
}
