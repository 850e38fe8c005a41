//! CECC (Yang, Du, Zhao, Ren, Sun, Xu: "Cross-Layer Assisted Early Congestion Control for Cloud VR Services in 5G Edge
//! Network").
//!
//! The paper's runs were made with ns-3 and code that is not public; ours use our own cell and TCP. `docs/cecc.md` says
//! how what the paper leaves open was decided.

mod delays;
mod reports;
mod satisfied;

use super::study::{Outcome, Part, Study};
use crate::record::BIN;
use crate::run::RunResult;

/// What every figure's file uses.
mod prelude {
    pub(super) use super::super::draw::{Entry, grid, table};
    pub(super) use super::super::measure as m;
    pub(super) use super::super::study::{
        Experiment, Options, Outcome, Outcomes, Part, Runs, StudyError,
    };
    pub(super) use super::{SCENARIO, SETTLED, keep, length};
    pub(super) use crate::check::{Check, Tolerance};
    pub(super) use crate::report::Better;
    pub(super) use crate::report::paper::{Axis, Drawing, Figure, Guide, Panel};
    pub(super) use crate::run::RunResult;
}

/// The study.
pub const STUDY: Study = Study {
    name: "cecc",
    title: "CECC reproduced",
    citation: "Wanghong Yang, Wenji Du, Baosen Zhao, Yongmao Ren, Jianan Sun, Xu Zhou: Cross-Layer Assisted Early Congestion \
               Control for Cloud VR Services in 5G Edge Network",
    about: &[
        "The base station reports what waits in RLC; the UPF predicts each flow's delay and lets the frames of concurrent VR \
         flows go one after the other, by holding acknowledgments back (the paper) or packets (ours).",
    ],
    notes: &[
        "A flow is satisfied where at most 0.01 % of its bytes came later than 10 ms. Four measures, always together: network \
         delay (a packet from the server's network interface to the UE) and frame delay (a frame from the server's socket to \
         its last byte at the UE; all of a late frame's bytes count), each over the whole run and from 2 s on.",
        "The paper's two numbers for CUBIC and CECC are of different kinds: 0.11 to 0.14 % late is frame delay over a whole run \
         of 60 s, 0.006 % can only be network delay. Holding acknowledgments back moves the waiting into the server, where \
         network delay does not see it: without frame delay no result is evidence.",
        "Scenario A: frames of all users at once, each off its grid by 0.5 ms (standard deviation), cell of about 860 Mbit/s \
         whose UEs share each slot. D: random phases, gaps of 1 ms deviation, 64QAM (about 640 Mbit/s). E: as D with 860 Mbit/s, \
         where nothing is to gain. Rates are of TCP payload.",
    ],
    parts: |options| {
        let mut parts: Vec<Part> = Vec::new();
        for place in satisfied::PLACES {
            parts.push(satisfied::part(options, place)?);
        }
        parts.push(delays::part(options)?);
        parts.push(reports::part(options)?);
        Ok(parts)
    },
};

/// The base of every scenario.
const SCENARIO: &str = include_str!("../../../../scenarios/papers/cecc/vr.toml");

/// Measures called steady begin here, in seconds.
const SETTLED: f64 = 2.0;

/// Length of a run: at 60 frames a second, one late frame of a minute is 0.028 %.
const fn length(quick: bool) -> &'static str {
    if quick { "10 s" } else { "60 s" }
}

/// The share of bytes that may come late (CECC, IV).
const ALLOWED: f64 = 1e-4;

/// The share of flow `i`'s bytes whose packets were late, from `from` seconds on.
fn late_network(run: &RunResult, i: usize, from: f64) -> f64 {
    let first = (from / BIN.as_secs_f64() + 1e-6) as usize;
    let bins = run.records.flows[i].bins.iter().skip(first);
    let (late, all) = bins.fold((0, 0), |(l, a), b| (l + b.late, a + b.delivered));
    late as f64 / all.max(1) as f64
}

/// The share of flow `i`'s bytes whose frames were late, from `from` seconds on.
fn late_frames(run: &RunResult, i: usize, from: f64) -> f64 {
    let limit = run.scenario.record.late;
    let frames = run.records.flows[i]
        .transfers
        .iter()
        .filter(|t| t.start.as_secs_f64() >= from);
    let (late, all) = frames.fold((0, 0), |(l, a), t| {
        let late = t.end.since(t.start) > limit;
        (l + if late { t.bytes.get() } else { 0 }, a + t.bytes.get())
    });
    late as f64 / all.max(1) as f64
}

/// The share of a flow's late bytes from some second on.
type Measure = fn(&RunResult, usize, f64) -> f64;

/// The four measures: how many flows are satisfied (`net_all`, `net_steady`, `frame_all`, `frame_steady`), and the mean
/// share of late bytes in percent (`late_` before each).
fn keep(run: &RunResult, out: &mut Outcome) {
    let n = run.layout.labels.len();
    let kinds: [(&str, Measure); 2] = [("net", late_network), ("frame", late_frames)];
    for (kind, late) in kinds {
        for (span, from) in [("all", 0.0), ("steady", SETTLED)] {
            let shares: Vec<f64> = (0..n).map(|i| late(run, i, from)).collect();
            let satisfied = shares.iter().filter(|s| **s <= ALLOWED).count();
            out.value(format!("{kind}_{span}"), Some(satisfied as f64));
            let mean = shares.iter().sum::<f64>() / n.max(1) as f64;
            out.value(format!("late_{kind}_{span}"), Some(mean * 100.0));
        }
    }
    let rate: f64 = (0..n)
        .map(|i| super::measure::rate(run, i, (SETTLED, super::measure::all(run).1)))
        .sum();
    out.value("rate", Some(rate));
}
