//! How long pages and images take, beside bulk downloads of others and of the same user.

use super::prelude::*;

const SESSION: &str = include_str!("../../scenarios/vaqm/session.toml");

/// A page of many objects on six connections, as browsers fetch it by HTTP/1.1.
const PAGE: &str =
    "{ kind = \"page\", size = \"2 MB\", objects = 70, connections = 6, gap = \"2 s\" }";
/// The same on one connection, everything requested at once, as by HTTP/2.
const AT_ONCE: &str = "{ kind = \"page\", size = \"2 MB\", objects = 70, connections = 1, multiplexed = true, gap = \"2 s\" }";
const IMAGE: &str = "{ kind = \"transfers\", min = \"16 MB\", max = \"16 MB\", gap = \"2 s\" }";
const SMALL: &str = "{ kind = \"transfers\", min = \"100 kB\", max = \"100 kB\", gap = \"1 s\" }";

/// Name, title, application, length of a quick and of a full run: an image takes a minute in weak signal.
type Load = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const LOADS: [Load; 3] = [
    ("page", "a page on six connections", PAGE, "60 s", "150 s"),
    (
        "at-once",
        "a page on one connection",
        AT_ONCE,
        "60 s",
        "150 s",
    ),
    ("image", "an image of 16 MB", IMAGE, "100 s", "300 s"),
];

/// What a table of loads shows.
pub(super) const COLUMNS: [Entry; 6] = [
    Entry::less("time p50", "s", "loads_time"),
    Entry::less("time p95", "s", "loads_time_p95"),
    Entry::less("RTT p50 of bulk", "ms", "bulk_p50"),
    Entry::less("RTT p95 of bulk", "ms", "bulk_p95"),
    Entry::more("bulk", "Mbit/s", "bulk_rate"),
    Entry::plain("loads", "", "loads_n"),
];

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for (signal, _, mcs) in &SIGNALS[..2] {
        for (load, _, app, quick, full) in LOADS {
            for variant in &VARIANTS {
                let duration = if options.quick { quick } else { full };
                let mut changes = vec![
                    ("duration", duration),
                    ("ue.channel.mcs", *mcs),
                    ("flow[3].app", app),
                ];
                changes.extend(variant.changes);
                let name = format!("loads/{signal}-{load}-{}", variant.key);
                experiments.push(Experiment::new(name, SIGNAL, changes, keep)?);
            }
        }
    }
    Ok(Part {
        id: "loads",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |signal: &str, load: &str, variant: &str| {
        o.get(&format!("loads/{signal}-{load}-{variant}"))
    };
    let mut rows: Vec<(String, &str, &Runs)> = vec![];
    let mut bars = vec![];
    let mut checks = vec![];
    for (signal, title, _) in &SIGNALS[..2] {
        for (load, what, ..) in LOADS {
            for w in &VARIANTS {
                let r = runs(signal, load, w.key);
                rows.push((format!("{title}, {what}, {}", w.title), w.colour, r));
                bars.extend(bar(
                    &format!("{title}, {what}"),
                    w.title,
                    w.colour,
                    r,
                    "loads_time",
                ));
            }
            let (none, vaqm) = (runs(signal, load, "none"), runs(signal, load, "vaqm"));
            let slower = vaqm.ratio("loads_time", none, "loads_time");
            checks.push(
                Check::of(
                    format!("{title} signal, {what}: time with vAQM over that without"),
                    "",
                    1.11,
                    slower,
                    Tolerance::AtMost,
                )
                .where_missed(
                    "new connections of a page start slowly into the user's share; with vAQM the others' queues are short, so \
                     the others take their share back at once",
                ),
            );
        }
    }
    let t =
        |signal: &str, load: &str, variant: &str| runs(signal, load, variant).mean("loads_time");
    Figure {
        title: "Pages and images beside others' downloads".to_owned(),
        setup: "Three users download; a fourth, with a buffer of its own in the cell, loads pages of 2 MB (71 objects) or images of \
                16 MB, 2 s apart and on new connections. The UE asks for each object by a request on the uplink."
            .to_owned(),
        claim: "The article loads a page and an image of 16 MB and gives no times.".to_owned(),
        seen: format!(
            "Strong signal: a page on six connections takes {:.2} s without AQM and {:.2} s with vAQM, on one {:.2} and {:.2} s, an \
             image {:.1} and {:.1} s; weak: {:.1} and {:.1} s, {:.1} and {:.1} s, {:.0} and {:.0} s. A user with a buffer of its own \
             does not wait behind others' queues, so there is little to gain here; within one session there is (below).",
            t("strong", "page", "none"),
            t("strong", "page", "vaqm"),
            t("strong", "at-once", "none"),
            t("strong", "at-once", "vaqm"),
            t("strong", "image", "none"),
            t("strong", "image", "vaqm"),
            t("weak", "page", "none"),
            t("weak", "page", "vaqm"),
            t("weak", "at-once", "none"),
            t("weak", "at-once", "vaqm"),
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
}

/// Loads beside a bulk flow of the same user: name, title, application.
const WITHIN: [(&str, &str, &str); 2] = [
    ("small", "100 kB", SMALL),
    ("page", "a page on six connections", PAGE),
];

/// The ways of [`WAYS`], and the ideal.
fn variants() -> impl Iterator<Item = Variant> {
    VARIANTS.into_iter().chain([FAIR])
}

pub(super) fn session(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for (load, _, app) in WITHIN {
        for variant in variants() {
            let mut changes = vec![("duration", length(options.quick)), ("flow[1].app", app)];
            if load == "page" {
                changes[0].1 = if options.quick { "60 s" } else { "150 s" };
            }
            changes.extend(variant.changes);
            let name = format!("session/{load}-{}", variant.key);
            experiments.push(Experiment::new(name, SESSION, changes, keep)?);
        }
    }
    // As the article words its two variants.
    for (variant, mode) in [
        ("literal", LITERAL),
        ("direct", ("upf.vaqm.mode", "direct")),
    ] {
        let changes = [("duration", length(options.quick)), mode];
        let name = format!("session/small-{variant}");
        experiments.push(Experiment::new(name, SESSION, changes, reduce_session)?);
    }
    Ok(Part {
        id: "session",
        measures: vec![
            Measure::paper("short-flows", |o| small(o, "literal")),
            Measure::product("short-flows", |o| small(o, "vaqm")),
            Measure::paper("largest-flow", |o| {
                o.get("session/small-direct").estimate("bulk_drops")
            }),
        ],
        experiments,
        draw: Box::new(draw_session),
    })
}

/// The median time of 100 kB beside a download of the same user, treated so, over that without AQM.
fn small(o: &Outcomes, variant: &str) -> Option<Estimate> {
    let none = o.get("session/small-none");
    o.get(&format!("session/small-{variant}"))
        .ratio("loads_time", none, "loads_time")
}

/// The share of drops that hit the download.
fn reduce_session(run: &RunResult, out: &mut Outcome) {
    keep(run, out);
    let [bulk, loads] = [0, 1].map(|i| m::dropped(run, i) as f64);
    out.value("bulk_drops", Some(bulk / (bulk + loads)));
}

fn draw_session(o: &Outcomes) -> Figure {
    let runs = |load: &str, variant: &str| o.get(&format!("session/{load}-{variant}"));
    let mut rows: Vec<(String, &str, &Runs)> = vec![];
    for (load, what, _) in WITHIN {
        for w in variants() {
            rows.push((format!("{what}, {}", w.title), w.colour, runs(load, w.key)));
        }
    }
    let t = |load: &str, variant: &str| runs(load, variant).mean("loads_time");
    Figure {
        title: "Loads beside a download of the same user".to_owned(),
        setup: "One user with about 10 Mbit/s and 1 MB of RLC buffer downloads, and loads 100 kB every second or pages of 2 MB."
            .to_owned(),
        claim: "vAQM gives each flow a queue of its own.".to_owned(),
        seen: format!(
            "100 kB take {:.2} s without AQM, {:.2} s with vAQM, {:.2} s with CoDel in the radio's one queue and {:.2} s with FQ-CoDel \
             there; a page {:.1}, {:.1}, {:.1} and {:.1} s.",
            t("small", "none"),
            t("small", "vaqm"),
            t("small", "codel"),
            t("small", "fair"),
            t("page", "none"),
            t("page", "vaqm"),
            t("page", "codel"),
            t("page", "fair"),
        ),
        panels: vec![table("table", "Beside a download", "load, queue", &COLUMNS, &rows).wide()],
        checks: vec![
            Check::of(
                "a page beside a download of the same user: time with vAQM over that without",
                "",
                1.0,
                runs("page", "vaqm").ratio("loads_time", runs("page", "none"), "loads_time"),
                Tolerance::AtMost,
            ),
        ],
        ..Figure::default()
    }
}
