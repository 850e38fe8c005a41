//! Figure 2 on real packets: this kernel's senders through a user plane function with vAQM and the cell behind N3.

use super::prelude::*;
use crate::live::{Column, Curves, Live, Place, Seen, case};

/// The kernel's algorithms.
const ALGORITHMS: [(&str, &str); 3] = [("cubic", "CUBIC"), ("bbr", "BBR"), ("reno", "Reno")];
/// Name of the downloads.
const BULK: &str = "bulk";
/// Name of the loads beside them.
const LOADS: &str = "loads";

fn rtts(seen: &Seen) -> Vec<f64> {
    seen.pooled(BULK, |f| &f.rtts)
}

/// What the article says of a case (Figure 2; it measured CUBIC's default of its phones' kernel, and names no algorithm).
fn article(signal: &str, way: &str) -> &'static str {
    match (signal, way) {
        ("strong", "vaqm") => "median about a third of that without",
        ("weak", "none") => "p95 about 1 s",
        ("weak", "vaqm") => "median as in strong signal",
        _ => "",
    }
}

/// The cases: strong and weak signal, each algorithm, without AQM and with vAQM.
pub(super) fn live(seconds: u32) -> Result<Live, StudyError> {
    let length = format!("{seconds} s");
    // A short look has a short warm-up; the loads begin after it, as in simulation.
    let warmup = if seconds > 10 { "5 s" } else { "1 s" };
    let mut cases = vec![];
    for (signal, title, mcs) in &SIGNALS[..2] {
        for (algorithm, name) in ALGORITHMS {
            for way in &VARIANTS[..2] {
                let mut all = vec![
                    // First, since nothing begins after the end.
                    ("warmup", warmup),
                    ("flow[3].start", warmup),
                    ("duration", length.as_str()),
                    ("ue.channel.mcs", *mcs),
                    ("flow.controller", algorithm),
                    ("upf.n3", "10 ms"),
                ];
                all.extend(way.changes);
                cases.push(case(
                    format!("{signal}-{algorithm}-{}", way.key),
                    format!("{title}, {name}, {}", way.title),
                    article(signal, way.key),
                    SIGNAL,
                    &all,
                )?);
            }
        }
    }
    let column = |label, unit, digits, of| Column {
        label,
        unit,
        digits,
        of,
    };
    let curves = |id, title, signal: &str| Curves {
        id,
        title,
        axis: Axis::new("Smoothed RTT", "ms"),
        cases: VARIANTS[..2]
            .iter()
            .map(|v| (format!("{signal}-cubic-{}", v.key), v.colour))
            .collect(),
        of: rtts,
    };
    Ok(Live {
        title: "vAQM's Figure 2 on real packets",
        setup: "Three users download by the kernel's TCP, a fourth loads 2 MB every few seconds; 20 ms of wired RTT between \
                function and cell, in the simulation as well.",
        place: Place::CoreNetwork,
        columns: vec![
            column("RTT p50", "ms", 0, |s| {
                m::quantiles(&rtts(s)).map(|q| q.p50)
            }),
            column("RTT p95", "ms", 0, |s| {
                m::quantiles(&rtts(s)).map(|q| q.p95)
            }),
            column("rate of all", "Mbit/s", 1, |s| {
                Some(s.flows.iter().map(|f| f.rate).sum())
            }),
            column("2 MB, median", "s", 2, |s| {
                let times = s.pooled(LOADS, |f| &f.times);
                m::quantiles(&times).map(|q| q.p50 * 1e-3)
            }),
        ],
        cases,
        curves: vec![
            curves("strong", "Round-trip times, strong signal, CUBIC", "strong"),
            curves("weak", "Round-trip times, weak signal, CUBIC", "weak"),
        ],
    })
}
