//! Applications that do not always send, in cells that nobody chose.

use slackwater_scenario::drawn::Kind;

use super::drawn::{Drawn, experiments, name};
use super::prelude::*;

/// The figure.
const ID: &str = "apps";
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

/// Keeps the times of messages. Where none ended, one takes as long as the run, at least.
fn times(run: &RunResult, out: &mut Outcome) {
    keep(&[0], run, out);
    for (time, _) in TIMES {
        if out.kept(time).is_none() {
            out.value(time, Some(LENGTH * 1e3));
        }
    }
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let count = if options.quick { QUICK } else { SCENARIOS };
    let all = (FIRST..FIRST + count).map(|number| Drawn::new(Kind::Apps, number));
    let (experiments, labels) = experiments(ID, &SENDERS, all, times)?;
    Ok(Part {
        id: ID,
        measures: vec![],
        experiments,
        draw: Box::new(move |o| draw(o, &labels)),
    })
}

/// The logarithm of `ebb`'s time over that of `other`, by scenario: the mean over seeds.
fn over(o: &Outcomes, scenarios: usize, other: &str, time: &str) -> Vec<f64> {
    (0..scenarios)
        .filter_map(|n| {
            let [ours, theirs] = [SENDERS[0], other].map(|sender| o.get(&name(ID, n, sender)));
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
    let of = |r: usize, c: usize| o.get(&name(ID, r, SENDERS[c]));
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
