//! aL4S-CC (Son, Sanchez, Hellge, Schierl: "Adaptable L4S Congestion Control for Cloud-Based Real-Time Streaming Over
//! 5G", IEEE Open Journal of the Communications Society, 2024).
//!
//! The paper's testbed streamed real video through the Jens simulator; ours has a model encoder and its own link and
//! cell. `docs/al4s.md` says how what the paper leaves open was decided.

mod averages;
mod causes;
mod cells;
mod claims;
mod fairness;
mod feedback;
mod frames;
mod jain;
mod live;
mod mixed;
mod opponents;
mod places;
mod published;
mod radio;
mod recorder;
mod series;
mod tables;
mod tail;
mod thresholds;

use super::study::{Part, Study};

use prelude::*;

/// What every figure's file uses.
mod prelude {
    pub(super) use super::super::draw::{Entry, table};
    pub(super) use super::super::measure as m;
    pub(super) use super::super::study::{
        Experiment, Measure, Options, Outcome, Outcomes, Part, Runs, StudyError,
    };
    pub(super) use super::published::{CASES, SERVICES};
    pub(super) use super::{
        CL4S, CL4S_DEFAULT, GCC, IETF, Kind, L4S_CC, PUBLISHED, QUICK_S, SCREAM, SCREAM_BURSTS,
        SL4S, SL4S_DEFAULT, beside, difference, experiment, keep, mean_of, ms, of_kind, ramp,
        words,
    };
    pub(super) use crate::ledger::Profile;
    pub(super) use slackwater_lab::run::RunResult;
    pub(super) use slackwater_report::paper::{Axis, Drawing, Figure, Guide, Line, Panel, Role};
    pub(super) use slackwater_report::{
        Better, Cell, Column, Row, SummaryTable, TradeOff, TradeOffPoint,
    };
    pub(super) use slackwater_results::check::{Check, Tolerance};
    pub(super) use slackwater_results::metrics::Estimate;
}

/// Table 2 on real packets, each run of `seconds`.
pub(crate) fn live(seconds: u32) -> Result<crate::live::Live, StudyError> {
    live::live(seconds)
}

/// The paper's figures, claims and what is beyond them.
pub const STUDY: Study = Study {
    name: "al4s",
    title: "aL4S-CC reproduced",
    citation: "J. Son, Y. Sanchez, C. Hellge, T. Schierl: Adaptable L4S Congestion Control for Cloud-Based Real-Time \
               Streaming Over 5G. IEEE Open Journal of the Communications Society, 2024",
    about: &[
        "The base station marks packets on a linear ramp of their queue delay; the sender of a video stream raises and lowers \
         its rate by the share of marks (sL4S), and by what it knows of the ramp (cL4S), so that the service's target delay is \
         kept.",
    ],
    notes: &[
        "Two profiles: `paper` is the published equations, each ambiguity resolved as docs/al4s.md lists; `default` is what we \
         ship, with a fair rate that flows converge to and a guard for paths without marks. Cells show ours with its 95 % \
         interval, the paper's value, and the difference.",
        "The paper's \"IETF\" pattern is not published. Known: it rests on RFC 8867, has a sudden rise at about 40 s and a sudden \
         drop at about 60 s, linear increases and decreases were added and the capacity enlarged. Assumed by us: 10, 25, 6 and \
         10 Mbit/s from 0, 40, 60 and 80 s (RFC 8867, 5.1, times ten), straight lines from 10 to 25 from 100 to 130 s and from \
         25 to 6 until 160 s. Digits cannot be expected to agree; orders can.",
        "\"RealTrack\" is not published either. In its place: two drive tests of Deutsche Telekom (Munich, motorway and \
         outskirts; aml-jens, Apache-2.0), the first 160 s, where SLACKWATER_TRACES names a folder that holds them.",
        "Link utilisation is what arrived of a flow's IP packets over what the link could have carried. TDQ(x): time during \
         which packets waited longer than x ms. Link: one FIFO of 250 kB, base round trip 7.5 ms; encoder: 60 frames a \
         second whose sizes deviate by 5 %, 0.3 to 100 Mbit/s from 2 Mbit/s; one report a frame.",
    ],
    claims: include_str!("../claims/al4s.toml"),
    parts: |options| {
        let mut parts = vec![averages::part(options)?, jain::part(options)?];
        parts.extend(tables::parts(options)?);
        parts.push(mixed::part(options)?);
        parts.extend(mixed::drives(options)?);
        parts.push(series::part(options)?);
        parts.push(fairness::starts(options)?);
        parts.push(fairness::joiners(options)?);
        parts.push(thresholds::part(options)?);
        parts.push(opponents::part(options)?);
        parts.push(feedback::part(options)?);
        parts.push(radio::part(options)?);
        parts.push(places::part(options)?);
        parts.push(tail::part(options)?);
        parts.push(frames::part(options)?);
        parts.push(causes::part(options)?);
        Ok(parts as Vec<Part>)
    },
};

/// One media flow on the pattern.
const IETF: &str = include_str!("../scenarios/al4s/ietf.toml");

/// Keys and values that make an experiment of a scenario.
type Changes = Vec<(String, String)>;

/// A way to send.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// In names of experiments.
    id: &'static str,
    /// In tables.
    title: &'static str,
    controller: &'static str,
    /// It goes by a service's target delay.
    served: bool,
    changes: &'static [(&'static str, &'static str)],
}

const fn kind(id: &'static str, title: &'static str, controller: &'static str) -> Kind {
    Kind {
        id,
        title,
        controller,
        served: true,
        changes: &[],
    }
}

const CL4S: Kind = kind("cl4s", "cL4S", "al4s-c:paper");
const SL4S: Kind = kind("sl4s", "sL4S", "al4s-s:paper");
const L4S_CC: Kind = kind("l4s-cc", "L4S-CC", "l4s-cc");
const CL4S_DEFAULT: Kind = kind("cl4s-default", "cL4S, default", "al4s-c");
const SL4S_DEFAULT: Kind = kind("sl4s-default", "sL4S, default", "al4s-s");
const GCC: Kind = Kind {
    served: false,
    ..kind("gcc", "GCC", "gcc")
};
const SCREAM: Kind = Kind {
    served: false,
    ..kind("scream", "SCReAMv2", "scream")
};
/// `SCReAMv2` whose frames leave almost at once, as in the paper's testbed by its own account.
const SCREAM_BURSTS: Kind = Kind {
    served: false,
    changes: &[("flow.app.pacing", "20")],
    ..kind("scream-bursts", "SCReAMv2, frames in bursts", "scream")
};

/// The published forms and the shipped ones.
const PUBLISHED: [(Kind, Kind); 2] = [(CL4S, CL4S_DEFAULT), (SL4S, SL4S_DEFAULT)];

fn ms(n: u64) -> String {
    format!("{n} ms")
}

/// The marker of the link.
fn ramp(low: u64, high: u64) -> (String, String) {
    let law = format!("{{ kind = \"ramp\", low = \"{low} ms\", high = \"{high} ms\" }}");
    ("link.queue.law".to_owned(), law)
}

/// What makes a flow of `kind`, for a service.
fn of_kind(kind: &Kind, service: u64) -> Changes {
    let mut changes = words(&[("flow.controller", kind.controller)]);
    changes.push(("flow.app.service".to_owned(), ms(service)));
    changes.extend(words(kind.changes));
    changes
}

fn words(changes: &[(&str, &str)]) -> Changes {
    changes
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect()
}

fn experiment(
    name: String,
    text: &str,
    changes: &Changes,
    reduce: impl Fn(&RunResult, &mut Outcome) + Send + Sync + 'static,
) -> Result<Experiment, StudyError> {
    let changes = changes.iter().map(|(k, v)| (k.as_str(), v.as_str()));
    Experiment::new(name, text, changes, reduce)
}

/// A quick look at the pattern: its rise, its drop and what follows.
const QUICK_S: f64 = 90.0;
/// The pattern's capacity is high for so long, in s.
const RISE: (f64, f64) = (40.0, 60.0);

/// Of each flow, and as means over the flows: utilisation (%), quantiles of the queue delay (ms), TDQ (s), packets over
/// the service's target queue delay (%), loss (%), frame delay (ms), late frames (%). Of the run: Jain's indices, and the first
/// flow's rate while the pattern's capacity is high.
fn keep(run: &RunResult, out: &mut Outcome) {
    let span = (run.scenario.warmup.as_secs_f64(), m::end(run));
    let capacity = m::capacity(run, span);
    let mut sums: Vec<(&str, Vec<f64>)> = vec![];
    let flows = &run.summary.flows;
    let specs = run.scenario.expanded_flows();
    for (i, flow) in flows.iter().enumerate() {
        let record = &run.records.flows[i];
        let received = record.media.wire as f64 * 8e-6 / (flow.to_s - flow.from_s).max(1e-9);
        let queue = flow.queue_delay_ms;
        let media = flow.media.as_ref();
        let service = specs[i].spec.app.media().map(|m| m.service);
        let target = service.map(|s| s.saturating_sub(slackwater_core::Duration::from_millis(5)));
        let frame = media.and_then(|m| m.frame_delay_ms);
        let values = [
            ("util", capacity.map(|c| received / c * 100.0)),
            ("rate", Some(received)),
            ("p50", queue.map(|q| q.p50)),
            ("p95", queue.map(|q| q.p95)),
            ("p99", queue.map(|q| q.p99)),
            ("max", queue.map(|q| q.max)),
            ("tdq20", media.map(|m| m.over_s[0])),
            ("tdq55", media.map(|m| m.over_s[1])),
            ("tdq145", media.map(|m| m.over_s[2])),
            (
                "over",
                target.map(|t| record.queue_delay.share_above(t) * 100.0),
            ),
            ("loss", Some(flow.loss * 100.0)),
            ("marks", Some(flow.mark_share * 100.0)),
            ("frame50", frame.map(|q| q.p50)),
            ("frame95", frame.map(|q| q.p95)),
            ("late", media.map(|m| m.late_share * 100.0)),
            ("freezes", media.map(|m| m.freezes as f64)),
        ];
        for (name, value) in values {
            out.value(format!("{name}_{i}"), value);
            let Some(value) = value else { continue };
            match sums.iter_mut().find(|s| s.0 == name) {
                Some((_, all)) => all.push(value),
                None => sums.push((name, vec![value])),
            }
        }
    }
    for (name, all) in sums {
        out.value(name, m::mean(&all));
    }
    out.value("jain", run.summary.jain.and_then(|j| j.mean_100ms));
    out.value("jain_long", run.summary.jain.map(|j| j.long_term));
    out.value("jain_1s", run.summary.jain.and_then(|j| j.mean_1s));
    if m::end(run) >= RISE.1 {
        out.value("rise", Some(m::rate(run, 0, RISE)));
    }
    series::draw_lines(run, out);
}

/// The mean of `name` over experiments; NaN where one has none.
fn mean_of<'a>(runs: impl Iterator<Item = &'a Runs>, name: &str) -> f64 {
    let values: Vec<f64> = runs.map(|r| r.mean(name)).collect();
    m::mean(&values).unwrap_or(f64::NAN)
}

/// The value `name` of `a` less that of `b`, seed by seed.
fn difference(a: &Runs, b: &Runs, name: &str) -> Option<Estimate> {
    let (a, b) = (a.values(name), b.values(name));
    let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
    Estimate::of(&differences)
}

/// Ours, the paper's and the difference in one cell; the paper's is left out where it is NaN.
fn beside(ours: Option<Estimate>, paper: f64, decimals: usize) -> Cell {
    let Some(ours) = ours else {
        return Cell::Missing;
    };
    let text = ours.text(decimals);
    Cell::Text(if paper.is_nan() {
        text
    } else {
        let off = ours.mean - paper;
        format!("{text} · {paper} · {off:+.decimals$}")
    })
}
