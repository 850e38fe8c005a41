//! Figure 4: aL4S-CC, GCC and `SCReAMv2` on one link.

use std::path::PathBuf;

use slackwater_scenario::packed::Packing;

use super::cells::mixed as name;
use super::claims::{FORMS, IDS, all, counted, mean, mixed_mean, same, sum};
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
    let packed = Packing::ALL.map(Packing::ending);
    let endings = [""].into_iter().chain(packed);
    let mut found = endings.map(|end| folder.join(format!("{file}{end}")));
    found.find(|path| path.exists())
}

/// The services looked at.
fn services(quick: bool) -> &'static [(&'static str, u64)] {
    if quick { &SERVICES[1..2] } else { &SERVICES }
}

/// An experiment on the IETF pattern or on the drive test of `file`.
fn one(
    pattern: &str,
    file: Option<&PathBuf>,
    (case, low, high): (&str, u64, u64),
    service: u64,
    kind: &Kind,
    quick: bool,
) -> Result<Experiment, StudyError> {
    let mut changes = words(&[("flow[0].controller", kind.controller)]);
    changes.push(("flow.app.service".to_owned(), ms(service)));
    if let Some(file) = file {
        // JSON's strings are TOML's.
        let path = serde_json::Value::from(file.to_string_lossy().into_owned());
        let link = format!("{{ kind = \"series\", file = {path} }}");
        changes.push(("link".to_owned(), link));
        let queue = "{ kind = \"fifo\", limit = \"250 kB\" }";
        changes.push(("link.queue".to_owned(), queue.to_owned()));
    }
    changes.push(ramp(low, high));
    if quick {
        changes.push(("duration".to_owned(), format!("{QUICK_S} s")));
    }
    let name = name(pattern, case, service, kind);
    experiment(name, SCENARIO, &changes, keep)
}

/// All cells on the IETF pattern.
pub(super) fn pattern(options: &Options) -> Result<Vec<Experiment>, StudyError> {
    let mut experiments = vec![];
    for case in CASES {
        for (_, service) in SERVICES {
            for kind in &FIRST {
                experiments.push(one("ietf", None, case, service, kind, options.quick)?);
            }
        }
    }
    Ok(experiments)
}

/// Drive tests that are here.
fn tracks() -> Vec<(&'static str, &'static str, PathBuf)> {
    let found = TRACKS
        .iter()
        .filter_map(|(id, title, file)| Some((*id, *title, track(file)?)));
    found.collect()
}

/// What V-A and VI say of three kinds in one queue.
fn measures() -> Vec<Measure> {
    let conference = CASES.map(|(case, ..)| name("ietf", case, 150, &CL4S));
    let scream = mean(1.0, conference, "tdq145_2");
    let mut measures = vec![sum("f4-scream", Profile::Paper, scream)];
    for (profile, forms) in FORMS {
        for (form, id) in forms.iter().zip(IDS) {
            let late = |weight, flow| mixed_mean(weight, form, flow, same("over"));
            let used = |weight, flow| mixed_mean(weight, form, flow, same("util"));
            measures.push(sum(format!("f4-over-{id}"), profile, late(1.0, 0)));
            for (flow, other) in [(1, "gcc"), (2, "scream")] {
                let later = all([late(1.0, 0), late(-1.0, flow)]);
                measures.push(sum(format!("f4-over-{id}-{other}"), profile, later));
                let more = all([used(1.0, 0), used(-1.0, flow)]);
                measures.push(sum(format!("f4-util-{id}-{other}"), profile, more));
            }
            let old = |weight, value| mixed_mean(weight, &L4S_CC, 0, same(value));
            let more = all([used(1.0, 0), old(-1.0, "util")]);
            measures.push(sum(format!("f4-l4s-cc-util-{id}"), profile, more));
            let fewer = all([old(1.0, "over"), late(-1.0, 0)]);
            measures.push(sum(format!("f4-l4s-cc-over-{id}"), profile, fewer));
        }
        let apart = |cells: &[(usize, u64)], value: &str| {
            let of = |kind: &Kind| -> Vec<String> {
                let name = |c: &(usize, u64)| name("ietf", CASES[c.0].0, c.1, kind);
                cells.iter().map(name).collect()
            };
            all([
                mean(1.0, of(&forms[0]), value),
                mean(-1.0, of(&forms[1]), value),
            ])
        };
        // There gamma is 1.
        let alike = (1, 25);
        let others: Vec<(usize, u64)> = counted().filter(|c| *c != alike).collect();
        measures.extend([
            sum("f4-similar", profile, apart(&[alike], "util_0")),
            sum("f4-gain", profile, apart(&others, "util_0")),
            sum("f4-delay", profile, apart(&others, "p95_0")),
        ]);
    }
    measures
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    Ok(Part {
        id: "fig4",
        measures: measures(),
        experiments: pattern(options)?,
        draw: Box::new(draw),
    })
}

/// The drive tests, where they are here.
pub(super) fn drives(options: &Options) -> Result<Option<Part>, StudyError> {
    let tracks = tracks();
    if tracks.len() < TRACKS.len() {
        return Ok(None);
    }
    let quick = options.quick;
    let mut experiments = vec![];
    let mut gcc = vec![];
    for case in CASES {
        for (_, service) in services(quick) {
            for kind in &FIRST {
                experiments.push(one("ietf", None, case, *service, kind, quick)?);
                for (track, _, file) in &tracks {
                    experiments.push(one(track, Some(file), case, *service, kind, quick)?);
                }
            }
            if case.0 != "3" || *service != 25 {
                gcc.push((case.0, *service));
            }
        }
    }
    let of = |pattern: &str| -> Vec<String> {
        let name = |(case, service): &(&str, u64)| name(pattern, case, *service, &CL4S);
        gcc.iter().map(name).collect()
    };
    let share = 1.0 / tracks.len() as f64;
    let mut stable = mean(1.0, of("ietf"), "util_1");
    for (track, ..) in &tracks {
        stable.extend(mean(-share, of(track), "util_1"));
    }
    Ok(Some(Part {
        id: "realtrack",
        measures: vec![sum("realtrack-gcc", Profile::Paper, stable)],
        experiments,
        draw: Box::new(move |o| draw_drives(o, &tracks, quick)),
    }))
}

fn draw_drives(o: &Outcomes, tracks: &[(&str, &str, PathBuf)], quick: bool) -> Figure {
    let runs = |pattern: &str, case: &str, service: u64, kind: &Kind| {
        o.get(&name(pattern, case, service, kind))
    };
    let panel = |(id, title, _): &(&str, &str, PathBuf)| shares(title, id, services(quick), &runs);
    Figure {
        title: "Figure 4, RealTrack: three kinds on drive tests".to_owned(),
        setup: "As figure 4, on two drive tests of Deutsche Telekom in place of the paper's, which is not published."
            .to_owned(),
        claim: "GCC does better in a stable pattern.".to_owned(),
        panels: tracks.iter().map(panel).collect(),
        ..Figure::default()
    }
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |pattern: &str, case: &str, service: u64, kind: &Kind| {
        o.get(&name(pattern, case, service, kind))
    };
    let mut panels = vec![shares("IETF (assumed)", "ietf", &SERVICES, &runs)];
    panels.extend(scatters(&runs));
    let share = |kind: Kind, i: u8| {
        let cells = counted().map(|(case, te)| runs("ietf", CASES[case].0, te, &kind));
        mean_of(cells, &format!("util_{i}"))
    };
    let words = |kind: Kind| {
        format!(
            "{:.0}/{:.0}/{:.0}",
            share(kind, 0),
            share(kind, 1),
            share(kind, 2)
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
        notes: TRACKS
            .iter()
            .filter(|t| track(t.2).is_none())
            .map(|(_, title, file)| {
                format!("{title}: skipped, SLACKWATER_TRACES names no folder with {file}.")
            })
            .collect(),
        ..Figure::default()
    }
}

type Find<'a> = dyn Fn(&str, &str, u64, &Kind) -> &'a Runs + 'a;

fn shares(title: &str, pattern: &str, services: &[(&str, u64)], runs: &Find<'_>) -> Panel {
    let columns: [Entry; 8] = [
        Entry::more("aL4S-CC", "%", "util_0"),
        Entry::more("GCC", "%", "util_1"),
        Entry::more("SCReAMv2", "%", "util_2"),
        Entry::less("over target", "%", "over_0"),
        Entry::less("p95", "ms", "p95_0"),
        Entry::less("TDQ(20)", "s", "tdq20_0"),
        Entry::less("TDQ(55)", "s", "tdq55_0"),
        Entry::less("TDQ(145)", "s", "tdq145_0"),
    ];
    let mut rows = vec![];
    for (case, low, high) in CASES {
        for (_, te) in services {
            for kind in &FIRST {
                let label = format!("{low}/{high} ms, {te} ms, {}", kind.title);
                rows.push((label, kind.controller, runs(pattern, case, *te, kind)));
            }
        }
    }
    table(pattern, title, "marker, service, first", &columns, &rows).wide()
}

/// Utilisation against TDQ, as the paper draws it: one plot a service, on the IETF pattern.
fn scatters(runs: &Find<'_>) -> Vec<Panel> {
    let point = |label: String, controller: &str, r: &Runs, x: &str, y: &str| {
        let of = |name: &str| r.estimate(name);
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
    SERVICES.iter().map(plot).collect()
}
