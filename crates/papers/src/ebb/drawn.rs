//! Cells that nobody chose: radio, user, path, buffer, losses and reports are drawn at random.

use slackwater_core::{Draw, Duration};
use slackwater_scenario::Scenario;

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

/// Values of one scenario, one after the other.
pub(super) struct Dice {
    draw: Draw,
    drawn: u64,
}

impl Dice {
    /// Those of scenario `number`.
    pub(super) fn new(number: u64) -> Self {
        Self {
            draw: Draw::new(number),
            drawn: 0,
        }
    }

    fn uniform(&mut self) -> f64 {
        self.drawn += 1;
        self.draw.uniform(self.drawn)
    }

    /// One of `all`; what stands there twice comes twice as often.
    pub(super) fn one<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.uniform() * all.len() as f64) as usize]
    }

    /// Between `low` and `high`: each factor is as likely as any other.
    pub(super) fn factor(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.uniform())
    }
}

/// A scenario with what it is, in words.
pub(super) struct Drawn {
    pub(super) label: String,
    pub(super) scenario: Scenario,
}

/// A cell with its path, its reports and its users.
pub(super) struct Place {
    /// The radio, in words.
    pub(super) rat: String,
    pub(super) rtt: Duration,
    pub(super) buffer: &'static str,
    pub(super) users: u32,
    /// Which way data go.
    pub(super) direction: &'static str,
    /// The scenario but for its head and its flows.
    pub(super) text: String,
}

/// A cell whose user is where it has a rate.
pub(super) fn place(dice: &mut Dice) -> Place {
    let rtt = Duration::from_micros((dice.factor(4.0, 200.0) * 1e3) as u64);
    let loss = dice.one(&["0 %", "0 %", "0 %", "0.01 %", "0.1 %", "1 %"]);
    let jitter = dice.one(&["0 ms", "0 ms", "1 ms", "5 ms"]);
    let lte = dice.one(&[true, false]);
    let (rat, air) = if lte {
        let bandwidth = dice.one(&["3", "5", "10", "15", "20"]);
        let fading = dice.one(&["none", "flat", "epa", "eva", "etu"]);
        (
            format!("LTE {bandwidth} MHz {fading}"),
            format!("rat = \"lte\"\nbandwidth = \"{bandwidth} MHz\"\nfading = \"{fading}\"\n"),
        )
    } else {
        let (bandwidth, scs) = dice.one(&[
            ("10", "15"),
            ("20", "15"),
            ("40", "30"),
            ("80", "30"),
            ("100", "60"),
        ]);
        let fading = dice.one(&["none", "tdl-a", "tdl-b", "tdl-c", "tdl-d", "tdl-e"]);
        let duplex = dice.one(&["fdd", "tdd"]);
        (
            format!("NR {duplex} {bandwidth} MHz {fading}"),
            format!(
                "rat = \"nr\"\nbandwidth = \"{bandwidth} MHz\"\nscs = \"{scs} kHz\"\nfading = \"{fading}\"\nduplex = \"{duplex}\"\n"
            ),
        )
    };
    let buffer = dice.one(&[
        "30 packets",
        "100 packets",
        "192 kB",
        "500 kB",
        "1 MB",
        "4 MB",
    ]);
    let mode = dice.one(&["am", "am", "um"]);
    let scheduler = dice.one(&["pf", "rr"]);
    let shadowing = dice.one(&["0 dB", "4 dB"]);
    let users = dice.one(&[1, 1, 1, 2, 4, 8]);
    let speed = dice.one(&["1", "3", "15", "60", "120"]);
    let distance = dice.factor(50.0, 250.0) as u64;
    let mobility = dice.one(&["static", "walk", "steps"]);
    let moves = match mobility {
        "walk" => format!("min = \"20 m\", max = \"{distance} m\", speed = \"{speed} km/h\""),
        "steps" => format!("min = \"40 m\", max = \"{distance} m\""),
        _ => format!("distance = \"{distance} m\""),
    };
    let every = dice.one(&["1 ms", "5 ms", "5 ms", "10 ms", "20 ms"]);
    let late = dice.one(&["0 ms", "0 ms", "5 ms", "20 ms"]);
    let lost = dice.one(&["0 %", "0 %", "20 %"]);
    let direction = dice.one(&["down", "down", "down", "up"]);

    let text = format!(
        "[path]\nrtt = \"{rtt}\"\nloss = \"{loss}\"\njitter = \"{jitter}\"\n\
         [cell]\n{air}shadowing = \"{shadowing}\"\nscheduler = \"{scheduler}\"\nrlc = {{ mode = \"{mode}\", buffer = \"{buffer}\" }}\n\
         [feedback]\ndelay = \"{late}\"\nebb = {{ every = \"{every}\" }}\nfaults = {{ loss = \"{lost}\" }}\n\
         [[ue]]\ncount = {users}\nspeed = \"{speed} km/h\"\nmobility = {{ kind = \"{mobility}\", {moves} }}\n"
    );
    Place {
        rat,
        rtt,
        buffer,
        users,
        direction,
        text,
    }
}

impl Drawn {
    /// What is called `label`, of `text`.
    pub(super) fn new(label: String, text: &str) -> Result<Self, StudyError> {
        Ok(Self {
            scenario: read(&label, text)?,
            label,
        })
    }
}

/// Scenario number `number`.
fn scenario(number: u64) -> Result<Drawn, StudyError> {
    let mut dice = Dice::new(number);
    let place = place(&mut dice);
    let (users, direction) = (place.users, place.direction);
    let flows = dice.one(&[1, 1, 2, 4]);

    let label = format!(
        "{number}: {}, {users} x {flows} {direction}, {:.1} ms, {}",
        place.rat,
        place.rtt.as_millis_f64(),
        place.buffer
    );
    let text = format!(
        "name = \"drawn\"\nduration = \"15 s\"\nwarmup = \"3 s\"\n{}\
         [[flow]]\ncontroller = \"cubic\"\nue = \"each\"\ncount = {flows}\ndirection = \"{direction}\"\n[record]\nqlog = false\n",
        place.text
    );
    Drawn::new(label, &text)
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
    let all = (1..=count).map(scenario);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_scenarios_that_may_be_drawn_are_well_formed_and_differ() {
        let mut labels: Vec<_> = (1..=300)
            .map(|n| {
                let label = scenario(n).expect("well-formed").label;
                let (_, what) = label.split_once(": ").expect("a number");
                what.to_owned()
            })
            .collect();
        labels.sort();
        labels.dedup();
        assert_eq!(labels.len(), 300);
    }
}
