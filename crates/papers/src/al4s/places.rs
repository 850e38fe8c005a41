//! Beyond the paper (f): the marker in its right place on the cell, and in wrong ones.

use super::prelude::*;
use super::radio::keep_cell;

const SCENARIO: &str = include_str!("../../scenarios/al4s/cell.toml");

/// They go by the marks alone: no place gives cL4S another ramp.
const KINDS: [Kind; 2] = [SL4S, SL4S_DEFAULT];
const RAMPS: [(u64, u64); 2] = [(2, 10), (10, 30)];

/// Where a marker sits and what it goes by.
struct Place {
    id: &'static str,
    title: &'static str,
    /// Keys of the ramp beside its thresholds; `None` where the UPF marks.
    ramp: Option<&'static str>,
    /// Keys of the UPF beside the thresholds.
    upf: &'static str,
}

const fn at_cell(id: &'static str, title: &'static str, ramp: &'static str) -> Place {
    Place {
        id,
        title,
        ramp: Some(ramp),
        upf: "",
    }
}

const fn at_upf(id: &'static str, title: &'static str, upf: &'static str) -> Place {
    Place {
        id,
        title,
        ramp: None,
        upf,
    }
}

const RIGHT: Place = at_cell("rlc", "RLC, a packet's wait until it is first sent", "");
const REPORTED: Place = at_upf("upf", "UPF, by a report each ms", "");
const LATE: Place = at_upf(
    "upf-late",
    "UPF, by a report each 100 ms, 50 ms late",
    ", reports = { period = \"100 ms\", delay = \"50 ms\" }",
);
const DELIVERED: Place = at_cell(
    "delivery",
    "UE, time until delivery with retransmissions",
    ", delay = \"delivery\"",
);
const PEAK: Place = at_cell(
    "peak",
    "PDCP, what waits at the cell's peak of 75 Mbit/s",
    ", delay = \"nominal\", nominal = \"75 Mbit/s\"",
);
const PLACES: [Place; 7] = [
    RIGHT,
    REPORTED,
    at_cell(
        "arrival",
        "RLC, the oldest packet's age when one comes",
        ", delay = \"arrival\"",
    ),
    at_cell(
        "mean",
        "PDCP, what waits at the mean share of 18 Mbit/s",
        ", delay = \"nominal\", nominal = \"18 Mbit/s\"",
    ),
    PEAK,
    DELIVERED,
    LATE,
];

fn name(low: u64, place: &Place, kind: &Kind) -> String {
    format!("places/{low}-{}-{}", place.id, kind.id)
}

pub(super) fn part(_: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for (low, high) in RAMPS {
        for place in &PLACES {
            for kind in &KINDS {
                let mut changes = of_kind(kind, 60);
                if let Some(more) = place.ramp {
                    let law = format!(
                        "{{ kind = \"ramp\", low = \"{low} ms\", high = \"{high} ms\"{more} }}"
                    );
                    changes.push(("cell.rlc.law".to_owned(), law));
                } else {
                    let upf = format!(
                        "{{ l4s = {{ on = true, low = \"{low} ms\", high = \"{high} ms\" }}{} }}",
                        place.upf
                    );
                    changes.extend(words(&[("cell.rlc.law", "none")]));
                    changes.push(("upf".to_owned(), upf));
                }
                let name = name(low, place, kind);
                experiments.push(experiment(name, SCENARIO, &changes, keep_cell)?);
            }
        }
    }
    Ok(Part {
        id: "places",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |low, place: &Place, kind: &Kind| o.get(&name(low, place, kind));
    let columns: [Entry; 6] = [
        Entry::more("blocks used", "%", "used").times(100.0),
        Entry::more("a flow", "Mbit/s", "rate"),
        Entry::less("p95", "ms", "p95"),
        Entry::less("p99", "ms", "p99"),
        Entry::plain("marked", "%", "marks"),
        Entry::less("late frames", "%", "late"),
    ];
    let panels = RAMPS
        .iter()
        .map(|(low, high)| {
            let rows: Vec<(String, &str, &Runs)> = PLACES
                .iter()
                .flat_map(|place| KINDS.iter().map(move |kind| (place, kind)))
                .map(|(place, kind)| {
                    let label = format!("{}; {}", place.title, kind.title);
                    (label, kind.controller, runs(*low, place, kind))
                })
                .collect();
            let caption = format!("Ramp of {low}/{high} ms");
            table(
                &format!("ramp{low}"),
                &caption,
                "marker, kind",
                &columns,
                &rows,
            )
            .wide()
        })
        .collect();
    let used = |low, place: &Place| runs(low, place, &SL4S).mean("used") * 100.0;
    let p99 = |low, place: &Place| runs(low, place, &SL4S).mean("p99");
    let used_less = |low, place: &Place| {
        let (a, b) = (runs(low, &RIGHT, &SL4S), runs(low, place, &SL4S));
        let (a, b) = (a.values("used"), b.values("used"));
        let apart: Vec<f64> = a.iter().zip(&b).map(|(a, b)| (a - b) * 100.0).collect();
        Estimate::of(&apart)
    };
    Figure {
        title: "Beyond (f): the marker in the wrong place".to_owned(),
        setup: "The cell above with four UEs. Right: the RLC marks by a packet's own wait until its transmission first begins, or \
                reports its queue to the UPF each millisecond. Wrong: by the age of the oldest packet when another comes; by what \
                waits over a rate that is not the queue's (PDCP sees bytes and no drain); by the time until delivery, HARQ's \
                retransmissions included; at the UPF by rare and late reports."
            .to_owned(),
        claim: "The paper's marker knows the queue's delay at dequeue.".to_owned(),
        seen: format!(
            "sL4S at 2/10 ms uses {:.0} % of the blocks with the RLC's marker, {:.0} % where time until delivery counts, {:.0} % by rare \
             and late reports. By bytes over the cell's peak rate it uses {:.0} % with a p99 of {:.0} ms in place of {:.0}.",
            used(2, &RIGHT),
            used(2, &DELIVERED),
            used(2, &LATE),
            used(2, &PEAK),
            p99(2, &PEAK),
            p99(2, &RIGHT),
        ),
        panels,
        checks: vec![
            Check::of(
                "sL4S, 10/30 ms: blocks lost where the UPF marks by a report each ms",
                "points",
                3.0,
                used_less(10, &REPORTED),
                Tolerance::AtMost,
            )
            .profile("paper")
            .source("TS 23.501, 5.37.3: the UPF marks as the cell asks"),
        ],
        ..Figure::default()
    }
}
