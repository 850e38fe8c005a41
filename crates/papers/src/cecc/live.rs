//! Figures 6 and 7 on real packets: this kernel's CUBIC sends the frames, a user plane function with CECC stands before the cell
//! behind N3.

use super::measures::ALLOWED;
use super::prelude::*;
use crate::live::{Column, Curves, Late, Live, Place, Seen, SeenFlow, case};

const SHOWN: [Variant; 3] = [OFF, PAPER, HOLD];

fn delays(seen: &Seen) -> Vec<f64> {
    seen.pooled("", |f| &f.delays)
}

/// How many flows are satisfied.
fn satisfied(seen: &Seen, of: impl Fn(&SeenFlow) -> f64) -> Option<f64> {
    let satisfied = seen.flows.iter().filter(|f| of(f) <= ALLOWED).count();
    (!seen.flows.is_empty()).then_some(satisfied as f64)
}

/// The mean share of late bytes, in percent.
fn late(seen: &Seen, of: impl Fn(&SeenFlow) -> Late) -> Option<f64> {
    let shares: Vec<f64> = seen.flows.iter().map(|f| of(f).steady * 100.0).collect();
    m::mean(&shares)
}

/// What the paper says of `n` flows (Figures 6 and 7, IV-B and IV-C).
fn paper(way: &str, n: &str) -> &'static str {
    match (way, n) {
        ("off", "1") => "3.25 to 6.1 ms",
        ("off", "4") => "none satisfied, slow start included",
        ("off", "5") => "beyond 10 ms; fewer satisfied",
        ("paper", "4" | "5") => "all satisfied",
        ("paper", "6") => "5 satisfied, slow start included",
        ("paper", "7") => "none satisfied",
        _ => "",
    }
}

/// The cases: one to seven flows in the paper's cell (scenario A), under CUBIC alone and with CECC.
pub(super) fn live(seconds: u32) -> Result<Live, StudyError> {
    let length = format!("{seconds} s");
    let mut cases = vec![];
    for n in COUNTS {
        for way in &SHOWN {
            let mut all = vec![
                ("warmup", "2 s"),
                ("duration", length.as_str()),
                ("ue.count", n),
                ("upf.n3", "0.3 ms"),
                ("record.interval", "100 ms"),
            ];
            all.extend(way.changes);
            cases.push(case(
                format!("{n}-{}", way.key),
                format!("{n}: {}", way.title),
                paper(way.key, n),
                SCENARIO,
                &all,
            )?);
        }
    }
    let column = |label, unit, digits, of| Column {
        label,
        unit,
        digits,
        of,
    };
    let curves = |id, title, n: &str| Curves {
        id,
        title,
        axis: Axis::new("Network delay", "ms").from(2.0).top(16.0),
        cases: SHOWN
            .iter()
            .map(|v| (format!("{n}-{}", v.key), v.colour))
            .collect(),
        of: delays,
    };
    Ok(Live {
        title: "CECC's Figures 6 and 7 on real packets",
        setup: "Scenario A, one to seven flows of 50 Mbit/s and 60 frames a second over the kernel's CUBIC; 0.6 ms of wired RTT between \
                function and cell, in the simulation as well. Satisfied is a flow of whose bytes at most 0.01 % came later than 10 ms.",
        place: Place::CoreNetwork,
        columns: vec![
            column("network delay, p50", "ms", 2, |s| {
                m::quantiles(&delays(s)).map(|q| q.p50)
            }),
            column("p99", "ms", 2, |s| m::quantiles(&delays(s)).map(|q| q.p99)),
            column("largest", "ms", 1, |s| {
                m::quantiles(&delays(s)).map(|q| q.max)
            }),
            column("late, network", "%", 3, |s| late(s, |f| f.late_packets)),
            column("late, frames", "%", 3, |s| late(s, |f| f.late_frames)),
            column("satisfied, network, whole", "", 1, |s| {
                satisfied(s, |f| f.late_packets.whole)
            }),
            column("network, steady", "", 1, |s| {
                satisfied(s, |f| f.late_packets.steady)
            }),
            column("frames, whole", "", 1, |s| {
                satisfied(s, |f| f.late_frames.whole)
            }),
            column("frames, steady", "", 1, |s| {
                satisfied(s, |f| f.late_frames.steady)
            }),
        ],
        cases,
        curves: vec![
            curves("n3", "Three flows", "3"),
            curves("n5", "Five flows", "5"),
        ],
    })
}
