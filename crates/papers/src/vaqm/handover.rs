//! Beyond the article: a path that changes as by handovers.

use slackwater_report::paper::Role;

use super::prelude::*;

const DETOUR: (&str, &str) = ("upf.detour.extra", "12.5 ms");

const PATHS: [Variant; 5] = [
    Variant::new("none", "no AQM", "no-aqm", &[DETOUR]),
    Variant::new("vaqm", "vAQM", "vaqm", &[DETOUR, VAQM]),
    Variant::new(
        "literal",
        "the article's shaper",
        "vaqm-literal",
        &[DETOUR, LITERAL],
    ),
    Variant::new(
        "told",
        "vAQM, notified of each change",
        "vaqm-told",
        &[DETOUR, VAQM, ("upf.detour.notice", "true")],
    ),
    Variant::new(
        "codel",
        "CoDel in the radio",
        "codel",
        &[DETOUR, ("cell.rlc.law", "codel")],
    ),
];

const COLUMNS: [Entry; 4] = [
    Entry::less("RTT p50 of bulk", "ms", "bulk_p50"),
    Entry::less("RTT p95 of bulk", "ms", "bulk_p95"),
    Entry::more("bulk", "Mbit/s", "bulk_rate"),
    Entry::more("rate", "Mbit/s", "rate"),
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
        for variant in &PATHS {
            let mut changes = vec![
                ("duration", if options.quick { "40 s" } else { "60 s" }),
                ("ue.channel.mcs", *mcs),
            ];
            changes.extend(variant.changes);
            let name = format!("handover/{signal}-{}", variant.key);
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
    let runs = |signal: &str, variant: &str| o.get(&format!("handover/{signal}-{variant}"));
    let mut rows: Vec<(String, &str, &Runs)> = vec![];
    let mut checks = vec![];
    for (signal, title, _) in &SIGNALS[..2] {
        for w in &PATHS {
            rows.push((
                format!("{title}, {}", w.title),
                w.colour,
                runs(signal, w.key),
            ));
        }
        for variant in ["vaqm", "told"] {
            let share = runs(signal, variant).ratio("rate", runs(signal, "none"), "rate");
            let what = if variant == "told" { ", told" } else { "" };
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
    let p = |variant: &str, value: &str| runs("strong", variant).mean(value);
    Figure {
        title: "Beyond: a path that changes".to_owned(),
        setup: "As in the first figure; in every second stretch of 10 s the way between UPF and base station is 25 ms longer there \
                and back, as after a handover."
            .to_owned(),
        claim: "\"Due to the varying nature of radio networks, the Path RTT must be occasionally revalidated.\"".to_owned(),
        seen: format!(
            "Strong signal: median RTT and rate {:.0} ms and {:.1} Mbit/s without AQM, {:.0} and {:.1} with vAQM, {:.0} and {:.1} where \
             it is notified, {:.0} and {:.1} with CoDel in the radio.",
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
                "What vAQM holds for the path, strong signal, not notified",
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
