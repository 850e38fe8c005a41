//! How long pages and images take, beside bulk downloads of others and of the same user.

use super::prelude::*;

const SCENARIO: &str = include_str!("../../../../../scenarios/papers/vaqm/signal.toml");
const SESSION: &str = include_str!("../../../../../scenarios/papers/vaqm/session.toml");

/// Name, title, size.
const SIZES: [(&str, &str, &str); 2] = [
    ("page", "a page of 2 MB", "2 MB"),
    ("image", "an image of 16 MB", "16 MB"),
];

fn keep(run: &RunResult, out: &mut Outcome) {
    let last = run.layout.labels.len() - 1;
    let mut times = m::transfer_times(run, last);
    for t in &mut times {
        *t *= 1e-3;
    }
    out.value("loads", Some(times.len() as f64));
    out.value("time", m::quantiles(&times).map(|q| q.p50));
    out.value("time_p95", m::quantiles(&times).map(|q| q.p95));
    let all = rtts(run, 0..last);
    out.value("p50", m::quantiles(&all).map(|q| q.p50));
    let span = (run.scenario.warmup.as_secs_f64(), m::all(run).1);
    out.value("bulk", Some((0..last).map(|i| m::rate(run, i, span)).sum()));
}

const COLUMNS: [Entry; 5] = [
    ("time p50", "s", "time", 1.0, Some(Better::Lower)),
    ("time p95", "s", "time_p95", 1.0, Some(Better::Lower)),
    ("RTT p50 of bulk", "ms", "p50", 1.0, Some(Better::Lower)),
    ("bulk", "Mbit/s", "bulk", 1.0, Some(Better::Higher)),
    ("loads", "", "loads", 1.0, None),
];

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for (signal, _, mcs) in &SIGNALS[..2] {
        for (size, _, bytes) in SIZES {
            // An image takes a minute in weak signal.
            let duration = if options.quick { "150 s" } else { "300 s" };
            for way in &WAYS {
                let mut changes = vec![
                    ("duration", duration),
                    ("ue.channel.mcs", *mcs),
                    ("flow[3].app.min", bytes),
                    ("flow[3].app.max", bytes),
                ];
                // The larger of the two is set first where it grows.
                if size == "image" {
                    changes.swap(2, 3);
                }
                changes.extend(way.3);
                let name = format!("loads/{signal}-{size}-{}", way.0);
                experiments.push(Experiment::new(name, SCENARIO, changes, keep)?);
            }
        }
    }
    Ok(Part {
        id: "loads",
        experiments,
        draw: Box::new(|o| {
            let runs = |signal: &str, size: &str, way: &str| {
                o.get(&format!("loads/{signal}-{size}-{way}"))
            };
            let mut rows: Vec<(String, &str, &Runs)> = vec![];
            let mut bars = vec![];
            let mut checks = vec![];
            for (signal, title, _) in &SIGNALS[..2] {
                for (size, what, _) in SIZES {
                    for w in &WAYS {
                        let r = runs(signal, size, w.0);
                        rows.push((format!("{title}, {what}, {}", w.1), w.2, r));
                        bars.extend(bar(&format!("{title}, {what}"), w.1, w.2, r, "time"));
                    }
                    let slower = runs(signal, size, "vaqm").ratio(
                        "time",
                        runs(signal, size, "none"),
                        "time",
                    );
                    checks.push(
                        Check::of(
                            format!("{title} signal, {what}: time with vAQM over that without"),
                            "",
                            1.11,
                            slower,
                            Tolerance::AtMost,
                        )
                        .source("the study"),
                    );
                }
            }
            let t = |signal: &str, size: &str, way: &str| runs(signal, size, way).mean("time");
            Figure {
                title: "Pages and images beside others' downloads".to_owned(),
                setup: "Three users download; a fourth, with a buffer of its own in the cell, loads pages or images, each on a new \
                        connection, 2 s apart."
                    .to_owned(),
                claim: "Pages load faster and a large image takes no longer with vAQM.".to_owned(),
                seen: format!(
                    "Strong signal: a page takes {:.2} s without AQM and {:.2} s with vAQM, an image {:.1} and {:.1} s; weak: {:.1} \
                     and {:.1} s, {:.0} and {:.0} s. A user with a buffer of its own does not wait behind others' queues, so there \
                     is little to gain here; within one session there is (below).",
                    t("strong", "page", "none"),
                    t("strong", "page", "vaqm"),
                    t("strong", "image", "none"),
                    t("strong", "image", "vaqm"),
                    t("weak", "page", "none"),
                    t("weak", "page", "vaqm"),
                    t("weak", "image", "none"),
                    t("weak", "image", "vaqm"),
                ),
                panels: vec![
                    Panel::new(
                        "bars",
                        "Median time of a load",
                        "",
                        Drawing::Bars {
                            axis: Axis::new("Time", "s"),
                            bars,
                            guides: vec![],
                        },
                    )
                    .wide(),
                    table("table", "Loads", "signal, load, queue", &COLUMNS, &rows).wide(),
                ],
                checks,
                ..Figure::default()
            }
        }),
    })
}

/// Small flows beside a bulk flow of the same user.
pub(super) fn session(options: &Options) -> Result<Part, StudyError> {
    let experiments = WAYS
        .iter()
        .map(|way| {
            let mut changes = vec![("duration", length(options.quick))];
            changes.extend(way.3);
            Experiment::new(format!("session/{}", way.0), SESSION, changes, keep)
        })
        .collect::<Result<_, _>>()?;
    Ok(Part {
        id: "session",
        experiments,
        draw: Box::new(|o| {
            let runs = |way: &str| o.get(&format!("session/{way}"));
            let rows: Vec<(String, &str, &Runs)> = WAYS
                .iter()
                .map(|w| (w.1.to_owned(), w.2, runs(w.0)))
                .collect();
            let name =
                |way: &str| format!("100 kB beside a download of the same user, {way}: time p50");
            Figure {
                title: "Small loads beside a download of the same user".to_owned(),
                setup: "One user with about 10 Mbit/s and 1 MB of RLC buffer downloads and loads 100 kB every second.".to_owned(),
                claim: "vAQM gives each flow a queue of its own.".to_owned(),
                seen: format!(
                    "100 kB take {:.2} s without AQM, {:.2} s with vAQM, {:.2} s with CoDel in the radio's one queue.",
                    runs("none").mean("time"),
                    runs("vaqm").mean("time"),
                    runs("codel").mean("time"),
                ),
                panels: vec![table("table", "100 kB beside a download", "queue", &COLUMNS, &rows).wide()],
                checks: vec![
                    Check::of(name("none"), "s", 3.0, runs("none").estimate("time"), Tolerance::Relative(0.15))
                        .source("the study"),
                    Check::of(name("vaqm"), "s", 0.36 * 1.15, runs("vaqm").estimate("time"), Tolerance::AtMost)
                        .claimed(0.36)
                        .source("the study"),
                    Check::of(
                        "time of 100 kB without over with vAQM",
                        "",
                        5.0,
                        runs("none").ratio("time", runs("vaqm"), "time"),
                        Tolerance::AtLeast,
                    )
                    .source("the study"),
                ],
                ..Figure::default()
            }
        }),
    })
}
