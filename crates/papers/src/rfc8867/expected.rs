//! What RFC 8867 and RFC 8869 expect of a candidate, as numbers.
//!
//! The RFCs describe behaviour and name no numbers; each expectation below cites the sentence it stands for, and its bound
//! is ours.

use slackwater_lab::run::RunResult;
use slackwater_results::check::{Check, Tolerance};

use super::super::measure as m;
use super::super::study::{Outcome, Outcomes};
use super::{CASES, CONTROLLERS, Way};

/// The encoder's bounds in every case, Mbit/s.
const RATES: (f64, f64) = (0.15, 1.5);
/// A flow follows a change of capacity once it has this share of what it may have.
const FOLLOWED: f64 = 0.8;
/// Case 5.1: the capacity rises, drops to [`DROPPED`] Mbit/s, and comes back, at these seconds.
const RISE: f64 = 40.0;
const DROP: f64 = 60.0;
const BACK: f64 = 80.0;
/// The queue of a drop counts as drained when packets wait less than this, ms (a third of the cases' buffer).
const DRAINED: f64 = 100.0;
/// Case 5.8: what the two others take while the first pauses, once they had 5 s to grow.
const PAUSE: (f64, f64) = (45.0, 60.0);

/// One expectation of one case.
struct Expectation {
    case: &'static str,
    /// What is measured, and the name of the value.
    what: &'static str,
    value: &'static str,
    unit: &'static str,
    bound: f64,
    least: bool,
    /// Where the RFC asks for it.
    source: &'static str,
}

const fn at_least(
    case: &'static str,
    what: &'static str,
    value: &'static str,
    unit: &'static str,
    bound: f64,
    source: &'static str,
) -> Expectation {
    Expectation {
        case,
        what,
        value,
        unit,
        bound,
        least: true,
        source,
    }
}

const fn at_most(
    case: &'static str,
    what: &'static str,
    value: &'static str,
    unit: &'static str,
    bound: f64,
    source: &'static str,
) -> Expectation {
    Expectation {
        least: false,
        ..at_least(case, what, value, unit, bound, source)
    }
}

const TAKEN: &str = "share taken of what the media could use";
const LEAST: &str = "rate of the least media flow";
const JAIN: &str = "Jain's index over the last quarter";
const LOSS: &str = "packets lost";

/// RFC 8867, 5.6 and 5.7: "in the worst case" the media falls to its least rate. A hundredth is left for rounding.
const WORST: f64 = 0.99 * RATES.0;

const EXPECTED: [Expectation; 27] = [
    at_least(
        "5.1",
        TAKEN,
        "taken",
        "%",
        70.0,
        "RFC 8867, 5.1: converges to the capacity",
    ),
    at_most(
        "5.1",
        "time to take 80 % after the rise",
        "rise",
        "s",
        15.0,
        "RFC 8867, 5.1: adapts to the capacity",
    ),
    at_most(
        "5.1",
        "time until the queue of the drop has drained",
        "drain",
        "s",
        5.0,
        "RFC 8867, 5.1: detects the constraint",
    ),
    at_most("5.1", LOSS, "loss", "%", 2.0, "RFC 8867, 3: losses"),
    at_least(
        "5.2",
        TAKEN,
        "taken",
        "%",
        70.0,
        "RFC 8867, 5.2: adapts to the capacity",
    ),
    at_least(
        "5.2",
        JAIN,
        "jain",
        "",
        0.9,
        "RFC 8867, 5.2: flows share fairly",
    ),
    at_most("5.2", LOSS, "loss", "%", 2.0, "RFC 8867, 3: losses"),
    at_least(
        "5.3",
        LEAST,
        "least",
        "Mbit/s",
        0.5,
        "RFC 8867, 5.3: copes with delayed and lost feedback",
    ),
    at_most("5.3", LOSS, "loss", "%", 2.0, "RFC 8867, 3: losses"),
    at_least(
        "5.4",
        TAKEN,
        "taken",
        "%",
        75.0,
        "RFC 8867, 5.4: rates that accommodate all flows",
    ),
    at_least(
        "5.4",
        JAIN,
        "jain",
        "",
        0.9,
        "RFC 8867, 5.4: flows converge",
    ),
    at_most(
        "5.4",
        LOSS,
        "loss",
        "%",
        1.0,
        "RFC 8867, 5.4: minimum latency and loss",
    ),
    at_least(
        "5.5",
        TAKEN,
        "taken",
        "%",
        75.0,
        "RFC 8867, 5.5: rates that accommodate all flows",
    ),
    at_least(
        "5.5",
        JAIN,
        "jain",
        "",
        0.9,
        "RFC 8867, 5.5: same rate whatever the round trip",
    ),
    at_most(
        "5.5",
        LOSS,
        "loss",
        "%",
        1.0,
        "RFC 8867, 5.5: minimum latency and loss",
    ),
    at_least(
        "5.6",
        LEAST,
        "least",
        "Mbit/s",
        WORST,
        "RFC 8867, 5.6: at worst the least media rate",
    ),
    at_least(
        "5.6",
        "rate of the TCP flow",
        "others",
        "Mbit/s",
        0.5,
        "RFC 8867, 5.6: half of a fair share",
    ),
    at_least(
        "5.7",
        LEAST,
        "least",
        "Mbit/s",
        WORST,
        "RFC 8867, 5.7: at worst the least media rate",
    ),
    at_most(
        "5.7",
        "90 % of TCP's transfers take less than",
        "transfer",
        "s",
        5.0,
        "RFC 8867, 5.7: short transfers go through",
    ),
    at_least(
        "5.8",
        "rate of the two others while one pauses",
        "paused",
        "Mbit/s",
        FOLLOWED * RATES.1,
        "RFC 8867, 5.8: they rise to their maximum",
    ),
    at_least(
        "5.8",
        JAIN,
        "jain",
        "",
        0.9,
        "RFC 8867, 5.8: back to the fair share",
    ),
    at_most("5.8", LOSS, "loss", "%", 1.0, "RFC 8867, 3: losses"),
    at_least(
        "3.1",
        LEAST,
        "least",
        "Mbit/s",
        WORST,
        "RFC 8869, 3.1: users satisfied at each load",
    ),
    at_most("3.1", LOSS, "loss", "%", 2.0, "RFC 8869, 3.1: losses"),
    at_least(
        "3.2",
        "use of the cell",
        "utilisation",
        "%",
        75.0,
        "RFC 8869, 3.2: coverage limits, not the controller",
    ),
    at_least(
        "3.2",
        LEAST,
        "least",
        "Mbit/s",
        WORST,
        "RFC 8869, 3.2: users satisfied in bad coverage",
    ),
    at_most("3.2", LOSS, "loss", "%", 2.0, "RFC 8869, 3.2: losses"),
];

/// Leaves what the expectations need beside the tables' values; `media` are the media flows.
pub(super) fn keep(case: &str, run: &RunResult, media: &[usize], out: &mut Outcome) {
    let end = m::end(run);
    let flows = &run.summary.flows;
    let least = media.iter().map(|i| flows[*i].goodput_mbps);
    out.value("least", least.reduce(f64::min));
    match case {
        "5.1" | "5.2" | "5.4" | "5.5" => {
            out.value("taken", taken(run, media, end).map(|t| t * 100.0));
        }
        "5.7" => {
            let mut times: Vec<f64> = (0..flows.len())
                .filter(|i| !media.contains(i))
                .flat_map(|i| m::transfer_times(run, i))
                .collect();
            times.sort_by(f64::total_cmp);
            let at = (times.len() as f64 * 0.9) as usize;
            out.value("transfer", times.get(at).map(|t| t * 1e-3));
        }
        "5.8" => {
            let others: Vec<f64> = media[1..].iter().map(|i| m::rate(run, *i, PAUSE)).collect();
            out.value("paused", m::mean(&others));
        }
        _ => {}
    }
    if case == "5.1" {
        let flow = media[0];
        let wanted = FOLLOWED * RATES.1;
        let rise = |k: u32| m::rate(run, flow, second(RISE, k)) >= wanted;
        // What does not come counts as long as it was waited for.
        out.value("rise", Some(first(DROP - RISE, rise)));
        let drain = |k: u32| {
            let waits = m::hol(run, flow, second(DROP, k));
            waits.iter().all(|w| *w < DRAINED)
        };
        out.value("drain", Some(first(BACK - DROP, drain)));
    }
}

fn second(from: f64, k: u32) -> m::Span {
    (from + f64::from(k), from + f64::from(k + 1))
}

/// Whole seconds until `is` is true, `most` at most.
fn first(most: f64, is: impl Fn(u32) -> bool) -> f64 {
    let found = (0..most as u32).find(|k| is(*k));
    found.map_or(most, f64::from)
}

/// What media of at most its greatest rate took of the link, as a share of what it could have used each second.
fn taken(run: &RunResult, media: &[usize], end: f64) -> Option<f64> {
    let (mut took, mut could) = (0.0, 0.0);
    for k in 0..end as u32 {
        let span = second(0.0, k);
        let on = media.iter().filter(|i| {
            let (from, to) = m::life(run, **i);
            from <= span.0 && to >= span.1
        });
        let on: Vec<usize> = on.copied().collect();
        let most = on.len() as f64 * RATES.1;
        could += m::capacity(run, span)?.min(most);
        took += on.iter().map(|i| m::rate(run, *i, span)).sum::<f64>();
    }
    (could > 0.0).then(|| took / could)
}

/// The expectations of all controllers over `way`.
pub(super) fn checks(o: &Outcomes, way: &Way) -> Vec<Check> {
    let mut checks = vec![];
    for case in &CASES {
        for e in EXPECTED.iter().filter(|e| e.case == case.id) {
            for (_, title, name) in CONTROLLERS {
                let runs = o.get(&format!("{}/{}-{name}", way.id, case.id));
                let tolerance = if e.least {
                    Tolerance::AtLeast
                } else {
                    Tolerance::AtMost
                };
                let check = Check::of(
                    format!("{}, {title}: {}", case.id, e.what),
                    e.unit,
                    e.bound,
                    runs.estimate(e.value),
                    tolerance,
                )
                .source(format!("{}; the bound is ours", e.source));
                checks.push(if way.marks || name != "l4s-cc" {
                    check
                } else {
                    check.untested("as published L4S-CC goes by marks alone and has none here")
                });
            }
        }
    }
    checks
}
