//! Cells that nobody chose: radio, user, path, buffer, losses and reports are drawn at random.

use slackwater_scenario::Scenario;
use slackwater_scenario::drawn::{self, Kind};

use super::prelude::*;
use crate::study::read;

/// The figure.
const ID: &str = "drawn";
/// Scenarios, and those of a quick look.
const SCENARIOS: u64 = 60;
const QUICK: u64 = 6;

/// `ebb` and those it is compared with.
const SENDERS: [&str; 8] = [
    "ebb", "xrc", "tyrus", "rule2", "copa", "bbr", "bbr3", "cubic",
];

/// A scenario with what it is, in words.
pub(super) struct Drawn {
    pub(super) label: String,
    pub(super) scenario: Scenario,
}

impl Drawn {
    /// Scenario `number` of `kind`.
    pub(super) fn new(kind: Kind, number: u64) -> Result<Self, StudyError> {
        let drawn = drawn::Drawn::new(kind, number);
        let label = format!("{number}: {}", drawn.about);
        Ok(Self {
            scenario: read(&label, &drawn.text)?,
            label,
        })
    }
}

/// The experiment of figure `id` that has `sender` in scenario `number`, from zero.
pub(super) fn name(id: &str, number: usize, sender: &str) -> String {
    format!("{id}/{}-{sender}", number + 1)
}

/// The experiments of figure `id`: each scenario of `all` under each of `senders`, reduced by `reduce`. Their labels come beside them.
pub(super) fn experiments(
    id: &str,
    senders: &[&str],
    all: impl Iterator<Item = Result<Drawn, StudyError>>,
    reduce: fn(&RunResult, &mut Outcome),
) -> Result<(Vec<Experiment>, Vec<String>), StudyError> {
    let mut experiments = vec![];
    let mut labels = vec![];
    for (number, drawn) in all.enumerate() {
        let drawn = drawn?;
        for sender in senders {
            let change = [("flow.controller", *sender)];
            let name = name(id, number, sender);
            experiments.push(Experiment::of(name, &drawn.scenario, change, reduce)?);
        }
        labels.push(drawn.label);
    }
    Ok((experiments, labels))
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let count = if options.quick { QUICK } else { SCENARIOS };
    let all = (1..=count).map(|number| Drawn::new(Kind::Bulk, number));
    let (experiments, labels) = experiments(ID, &SENDERS, all, |run, out| keep(&[0], run, out))?;
    Ok(Part {
        id: ID,
        measures: vec![],
        experiments,
        draw: Box::new(move |o| draw(o, &labels)),
    })
}

/// What `of` makes of the means of `ebb` and of `other`, for each scenario.
fn each(
    o: &Outcomes,
    scenarios: usize,
    other: &str,
    of: impl Fn(&Runs, &Runs) -> Option<f64>,
) -> Vec<f64> {
    let pair = |n| [SENDERS[0], other].map(|sender| o.get(&name(ID, n, sender)));
    (0..scenarios)
        .filter_map(|n| {
            let [ours, theirs] = pair(n);
            of(ours, theirs)
        })
        .collect()
}

/// S of `ebb` less that of `other` in each scenario: the mean over seeds.
fn ahead(o: &Outcomes, scenarios: usize, other: &str) -> Vec<f64> {
    each(o, scenarios, other, |ours, theirs| {
        Some(difference(ours, theirs, SCORE)?.mean)
    })
}

fn draw(o: &Outcomes, labels: &[String]) -> Figure {
    let scenarios = labels.len();
    let columns = |value: &'static str| -> Vec<(String, &'static str)> {
        let all = SENDERS.iter();
        all.map(|s| (title(s).to_owned(), value)).collect()
    };
    let rows: Vec<(String, &str)> = labels.iter().map(|label| (label.clone(), "")).collect();
    let of = |r: usize, c: usize| o.get(&name(ID, r, SENDERS[c]));
    let table = |id: &str, heading: &str, value: &'static str| {
        apart(grid(id, heading, "scenario", &columns(value), &rows, of))
    };

    let mut checks: Vec<Check> = SENDERS[1..]
        .iter()
        .map(|sender| {
            Check::of(
                format!("mean S less that of {}", title(sender)),
                "",
                0.0,
                Estimate::of(&ahead(o, scenarios, sender)),
                Tolerance::AtLeast,
            )
        })
        .collect();
    let over_cubic = each(o, scenarios, "cubic", |ours, theirs| {
        Some(ours.mean("rate") / theirs.mean("rate"))
    });
    let least = over_cubic.iter().copied().fold(f64::INFINITY, f64::min);
    checks.push(Check::new(
        "its rate over CUBIC's where that is least",
        "",
        0.5,
        least,
        None,
        Tolerance::AtLeast,
    ));

    let all: Vec<Vec<f64>> = SENDERS[1..]
        .iter()
        .map(|sender| ahead(o, scenarios, sender))
        .collect();
    let best = (0..scenarios).filter(|&n| all.iter().all(|of| of.get(n).is_some_and(|d| *d > 0.0)));
    Figure {
        title: "Cells that were drawn at random".to_owned(),
        setup: "Radio, user, path, buffer, losses and reports are drawn by a generator that has the scenario's number as its seed. A label has radio, users, \
                flows of each, direction, wired RTT and buffer. All flows have the same sender; each lasts 15 s. S is that of all flows. XRC, Tyrus and rule2 \
                have no reports of uploads, and fall back there. Intervals of the means are over scenarios."
            .to_owned(),
        claim: "Targets: a mean S ahead of every other sender's, and nowhere less than half of what CUBIC would have.".to_owned(),
        seen: format!("Its S is the highest in {} of {scenarios} scenarios.", best.count()),
        panels: vec![
            table("drawn-score", "S", SCORE),
            table("drawn-use", "Utilisation, %", "use"),
            table("drawn-delay", "p95 queue delay, ms", "delay"),
        ],
        checks,
        ..Figure::default()
    }
}
