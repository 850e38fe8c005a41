//! Figure 4: aL4S-CC, GCC and `SCReAMv2` on one link.

use std::path::PathBuf;

use super::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/al4s/mixed.toml");

/// Short name, title, file below the folder of traces.
const TRACKS: [(&str, &str, &str); 2] = [
    (
        "motorway",
        "Munich, motorway",
        "rate/telekom-aml-jens/drp_munich_autobahn.csv",
    ),
    (
        "outskirts",
        "Munich, outskirts",
        "rate/telekom-aml-jens/drp_munich_outskirt.csv",
    ),
];

/// The first of each three.
const FIRST: [Kind; 5] = [CL4S, SL4S, L4S_CC, CL4S_DEFAULT, SL4S_DEFAULT];

/// A drive test, plain or packed, where `SLACKWATER_TRACES` names a folder that holds it.
fn track(file: &str) -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("SLACKWATER_TRACES")?);
    let found = ["", ".xz"].map(|end| folder.join(format!("{file}{end}")));
    found.into_iter().find(|path| path.exists())
}

fn name(pattern: &str, case: &str, service: u64, kind: &Kind) -> String {
    format!("fig4/{pattern}-case{case}-{service}-{}", kind.id)
}

/// The services looked at.
fn services(quick: bool) -> &'static [(&'static str, u64)] {
    if quick { &SERVICES[1..2] } else { &SERVICES }
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let quick = options.quick;
    let mut patterns: Vec<(&str, &str, Option<PathBuf>)> = vec![("ietf", "IETF (assumed)", None)];
    let mut absent = vec![];
    for (id, title, file) in TRACKS {
        match track(file) {
            Some(path) => patterns.push((id, title, Some(path))),
            None => absent.push(format!(
                "{title}: skipped, SLACKWATER_TRACES names no folder with {file}."
            )),
        }
    }
    let mut experiments = vec![];
    for (pattern, _, file) in &patterns {
        for (case, low, high) in CASES {
            for (_, service) in services(quick) {
                for kind in &FIRST {
                    let mut changes = words(&[("flow[0].controller", kind.controller)]);
                    changes.push(("flow.app.service".to_owned(), ms(*service)));
                    if let Some(file) = file {
                        // JSON's strings are TOML's.
                        let path = serde_json::Value::from(file.to_string_lossy().into_owned());
                        let link = format!("{{ kind = \"series\", file = {path} }}");
                        changes.push(("link".to_owned(), link));
                        let queue = "{ kind = \"fifo\", limit = \"unlimited\" }";
                        changes.push(("link.queue".to_owned(), queue.to_owned()));
                    }
                    changes.push(ramp(low, high));
                    let name = name(pattern, case, *service, kind);
                    experiments.push(experiment(name, SCENARIO, &changes, keep)?);
                }
            }
        }
    }
    Ok(Part {
        id: "fig4",
        measures: vec![],
        experiments,
        draw: Box::new(move |o| draw(o, &patterns, &absent, quick)),
    })
}

fn draw(
    o: &Outcomes,
    patterns: &[(&str, &str, Option<PathBuf>)],
    absent: &[String],
    quick: bool,
) -> Figure {
    let runs = |pattern: &str, case: &str, service: u64, kind: &Kind| {
        o.get(&name(pattern, case, service, kind))
    };
    // All cells but that which the paper leaves out of its means.
    let cells = |pattern: &'static str, kind: Kind| {
        CASES.iter().flat_map(move |(case, ..)| {
            services(quick)
                .iter()
                .filter(move |(_, te)| *case != "3" || *te != 25)
                .map(move |(_, te)| runs(pattern, case, *te, &kind))
        })
    };
    let mut panels = vec![];
    for (pattern, title, _) in patterns {
        panels.push(shares(title, pattern, quick, &runs));
    }
    panels.extend(scatters(quick, &runs));
    let mut checks = vec![];
    for kind in [CL4S, SL4S] {
        checks.push(
            Check::new(
                format!(
                    "{}: packets over the target queue delay, mean of the cells",
                    kind.title
                ),
                "%",
                2.0,
                mean_of(cells("ietf", kind), "over_0"),
                None,
                Tolerance::AtMost,
            )
            .claimed(if kind.id == "cl4s" { 1.3 } else { 1.2 })
            .profile("paper")
            .source("aL4S-CC, V-A"),
        );
    }
    let share = |pattern: &'static str, kind: Kind, i: u8| {
        mean_of(cells(pattern, kind), &format!("util_{i}"))
    };
    checks.push(
        Check::new(
            "share of cL4S less that of sL4S, mean of the cells",
            "points",
            0.0,
            share("ietf", CL4S, 0) - share("ietf", SL4S, 0),
            None,
            Tolerance::AtLeast,
        )
        .profile("paper")
        .source("aL4S-CC, V-A"),
    );
    let best = share("ietf", CL4S, 1).max(share("ietf", CL4S, 2));
    checks.push(
        Check::new(
            "share of cL4S less the larger of GCC's and SCReAMv2's, mean of the cells",
            "points",
            0.0,
            share("ietf", CL4S, 0) - best,
            None,
            Tolerance::AtLeast,
        )
        .profile("paper")
        .source("aL4S-CC, V-A")
        .untested(
            "the paper's \"best trade-off\" did not appear: in one FIFO the shares go by who stands the other's queue",
        ),
    );
    if let [_, (first, ..), ..] = patterns {
        let driven = if *first == "motorway" {
            "motorway"
        } else {
            "outskirts"
        };
        checks.push(
            Check::new(
                "GCC's share: IETF pattern less drive test",
                "points",
                0.0,
                share("ietf", CL4S, 1) - share(driven, CL4S, 1),
                None,
                Tolerance::AtLeast,
            )
            .profile("paper")
            .source("aL4S-CC, V-A: better in a stable pattern"),
        );
    }
    let words = |kind: Kind| {
        format!(
            "{:.0}/{:.0}/{:.0}",
            share("ietf", kind, 0),
            share("ietf", kind, 1),
            share("ietf", kind, 2)
        )
    };
    Figure {
        title: "Figure 4: three kinds on one link".to_owned(),
        setup: "aL4S-CC (or L4S-CC), GCC and SCReAMv2 start together and share one FIFO; three services, three marking schemes."
            .to_owned(),
        claim: "aL4S-CC generally achieves the best trade-off between utilisation and latency; 1.3 % (cL4S) and 1.2 % (sL4S) of \
                packets exceed the target queue delay."
            .to_owned(),
        seen: format!(
            "Mean shares of the link on the IETF pattern, aL4S-CC/GCC/SCReAMv2 in %: cL4S {}, sL4S {}; the shipped forms {} and {}.",
            words(CL4S),
            words(SL4S),
            words(CL4S_DEFAULT),
            words(SL4S_DEFAULT),
        ),
        panels,
        checks,
        notes: absent.to_vec(),
        ..Figure::default()
    }
}

type Find<'a> = dyn Fn(&str, &str, u64, &Kind) -> &'a Runs + 'a;

fn shares(title: &str, pattern: &str, quick: bool, runs: &Find<'_>) -> Panel {
    let columns: [Entry; 8] = [
        ("aL4S-CC", "%", "util_0", 1.0, Some(Better::Higher)),
        ("GCC", "%", "util_1", 1.0, Some(Better::Higher)),
        ("SCReAMv2", "%", "util_2", 1.0, Some(Better::Higher)),
        ("over target", "%", "over_0", 1.0, Some(Better::Lower)),
        ("p95", "ms", "p95_0", 1.0, Some(Better::Lower)),
        ("TDQ(20)", "s", "tdq20_0", 1.0, Some(Better::Lower)),
        ("TDQ(55)", "s", "tdq55_0", 1.0, Some(Better::Lower)),
        ("TDQ(145)", "s", "tdq145_0", 1.0, Some(Better::Lower)),
    ];
    let mut rows = vec![];
    for (case, low, high) in CASES {
        for (_, te) in services(quick) {
            for kind in &FIRST {
                let label = format!("{low}/{high} ms, {te} ms, {}", kind.title);
                rows.push((label, kind.controller, runs(pattern, case, *te, kind)));
            }
        }
    }
    table(pattern, title, "marker, service, first", &columns, &rows).wide()
}

/// Utilisation against TDQ, as the paper draws it: one plot a service, on the IETF pattern.
fn scatters(quick: bool, runs: &Find<'_>) -> Vec<Panel> {
    let point = |label: String, controller: &str, r: &Runs, x: &str, y: &str| {
        let of = |name: &str| {
            r.estimate(name).map(|e| slackwater_report::Estimate {
                mean: e.mean,
                half_width: e.half_width,
            })
        };
        Some(TradeOffPoint {
            label,
            controller: controller.to_owned(),
            x: of(x)?,
            y: of(y)?,
            samples: vec![],
        })
    };
    let plot = |(_, te): &(&str, u64)| {
        let limit = te - 5;
        let mut points = vec![];
        for (case, ..) in CASES {
            let label = |title: &str| format!("{title}, case {case}");
            for kind in [CL4S, SL4S] {
                let r = runs("ietf", case, *te, &kind);
                let tdq = format!("tdq{limit}_0");
                points.extend(point(label(kind.title), kind.controller, r, &tdq, "util_0"));
            }
            let r = runs("ietf", case, *te, &CL4S);
            for (i, kind) in [(1, GCC), (2, SCREAM)] {
                let (tdq, util) = (format!("tdq{limit}_{i}"), format!("util_{i}"));
                points.extend(point(label(kind.title), kind.controller, r, &tdq, &util));
            }
        }
        let drawing = Drawing::Scatter(TradeOff {
            x_label: format!("TDQ({limit})"),
            x_unit: "s".to_owned(),
            y_label: "Link utilisation".to_owned(),
            y_unit: "%".to_owned(),
            points,
        });
        let title = format!("IETF pattern, service of {te} ms");
        Panel::new(&format!("scatter-{te}"), &title, "", drawing)
    };
    services(quick).iter().map(plot).collect()
}
