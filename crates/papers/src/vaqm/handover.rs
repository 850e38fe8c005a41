//! Beyond the article: a path that changes as by handovers.

use slackwater_report::paper::Role;

use super::prelude::*;

const DETOUR: (&str, &str) = ("upf.detour.extra", "12.5 ms");

const PATHS: [Way; 5] = [
    ("none", "no AQM", "no-aqm", &[DETOUR]),
    ("vaqm", "vAQM", "vaqm", &[DETOUR, VAQM]),
    (
        "literal",
        "the article's shaper",
        "vaqm-literal",
        &[DETOUR, LITERAL],
    ),
    (
        "told",
        "vAQM, told of each change",
        "vaqm-told",
        &[DETOUR, VAQM, ("upf.detour.notice", "true")],
    ),
    (
        "codel",
        "CoDel in the radio",
        "codel",
        &[DETOUR, ("cell.rlc.law", "codel")],
    ),
];

const COLUMNS: [Entry; 4] = [
    (
        "RTT p50 of bulk",
        "ms",
        "bulk_p50",
        1.0,
        Some(Better::Lower),
    ),
    (
        "RTT p95 of bulk",
        "ms",
        "bulk_p95",
        1.0,
        Some(Better::Lower),
    ),
    ("bulk", "Mbit/s", "bulk_rate", 1.0, Some(Better::Higher)),
    ("rate", "Mbit/s", "rate", 1.0, Some(Better::Higher)),
];

/// By how much the path RTT that the first user's vAQM holds is larger on the longer way, ms; the second half of each stretch.
fn path_rise(run: &RunResult) -> Option<f64> {
    let stretches = (run.scenario.duration.as_secs_f64() / 20.0) as u32;
    let learned = |shift: f64| {
        let values = (0..stretches).flat_map(|k| {
            let from = 20.0 * f64::from(k) + shift + 5.0;
            m::internal(run, 0, "vaqm_path_ms", (from, from + 5.0))
        });
        m::mean(&values.collect::<Vec<f64>>())
    };
    Some(learned(10.0)? - learned(0.0)?)
}

/// The learned path, and the average and target RTT, of the first user.
fn reduce(run: &RunResult, out: &mut Outcome) {
    keep(run, out);
    out.value("path_rise", path_rise(run));
    for (name, label) in [
        ("vaqm_average_ms", "average RTT"),
        ("vaqm_target_ms", "target RTT"),
        ("vaqm_path_ms", "path RTT"),
    ] {
        let mut line = m::internal_line(run, 0, name, 1.0, label);
        if !line.t.is_empty() {
            let colour = match name {
                "vaqm_average_ms" => "vaqm",
                "vaqm_target_ms" => "vaqm-drain",
                _ => "no-aqm",
            };
            colour.clone_into(&mut line.controller);
            line.role = Role::default();
            // Before the first rate is known two packets' time makes the target large.
            let from = run.scenario.warmup.as_secs_f64();
            let settled = line.t.partition_point(|t| *t < from);
            line.t.drain(..settled);
            line.y.drain(..settled);
            out.line("model", line);
        }
    }
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for (signal, _, mcs) in &SIGNALS[..2] {
        for way in &PATHS {
            let mut changes = vec![
                ("duration", if options.quick { "40 s" } else { "60 s" }),
                ("ue.channel.mcs", *mcs),
            ];
            changes.extend(way.3);
            let name = format!("handover/{signal}-{}", way.0);
            experiments.push(Experiment::new(name, SIGNAL, changes, reduce)?);
        }
    }
    Ok(Part {
        id: "handover",
        measures: vec![
            Measure::paper("revalidated", |o| {
                o.get("handover/strong-literal").estimate("path_rise")
            }),
            Measure::product("revalidated", |o| {
                o.get("handover/strong-vaqm").estimate("path_rise")
            }),
        ],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |signal: &str, way: &str| o.get(&format!("handover/{signal}-{way}"));
    let mut rows: Vec<(String, &str, &Runs)> = vec![];
    let mut checks = vec![];
    for (signal, title, _) in &SIGNALS[..2] {
        for w in &PATHS {
            rows.push((format!("{title}, {}", w.1), w.2, runs(signal, w.0)));
        }
        for way in ["vaqm", "told"] {
            let share = runs(signal, way).ratio("rate", runs(signal, "none"), "rate");
            let what = if way == "told" { ", told" } else { "" };
            checks.push(Check::of(
                format!(
                    "{title} signal, RTT jumps by 25 ms: rate with vAQM{what} over that without"
                ),
                "",
                0.7,
                share,
                Tolerance::AtLeast,
            ));
        }
    }
    let p = |way: &str, value: &str| runs("strong", way).mean(value);
    Figure {
        title: "Beyond: a path that changes".to_owned(),
        setup: "As in the first figure; in every second stretch of 10 s the way between UPF and base station is 25 ms longer there \
                and back, as after a handover."
            .to_owned(),
        claim: "\"Due to the varying nature of radio networks, the Path RTT must be occasionally revalidated.\"".to_owned(),
        seen: format!(
            "Strong signal: median RTT and rate {:.0} ms and {:.1} Mbit/s without AQM, {:.0} and {:.1} with vAQM, {:.0} and {:.1} where \
             it is told, {:.0} and {:.1} with CoDel in the radio.",
            p("none", "bulk_p50"),
            p("none", "rate"),
            p("vaqm", "bulk_p50"),
            p("vaqm", "rate"),
            p("told", "bulk_p50"),
            p("told", "rate"),
            p("codel", "bulk_p50"),
            p("codel", "rate"),
        ),
        panels: vec![
            Panel::new(
                "model",
                "What vAQM holds for the path, strong signal, not told",
                "",
                Drawing::Time {
                    axis: Axis::new("RTT to the UE", "ms"),
                    lines: runs("strong", "vaqm").lines("model"),
                    tracks: vec![],
                    guides: vec![],
                },
            )
            .wide(),
            table("table", "A path that changes", "signal, queue", &COLUMNS, &rows).wide(),
        ],
        checks,
        ..Figure::default()
    }
}
