//! Known limits, shown.

use super::prelude::*;

const STEPS: &str = include_str!("../../scenarios/xrc/limits.toml");
const PAIR: &str = include_str!("../../scenarios/xrc/fig5.toml");

const ALL: [&str; 3] = ["xrc", "xrc-paper", "cubic"];

/// Short name, what it is, which scenario, the keys that make it so.
type Case = (
    &'static str,
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const CASES: [Case; 4] = [
    ("steps", "capacity steps every 200 ms", STEPS, &[]),
    (
        "fading",
        "fast fading, 30 km/h",
        STEPS,
        &[
            ("cell.fading", "epa"),
            ("ue.speed", "30 km/h"),
            ("ue.channel", "\"place\""),
            ("ue.mobility", "{ kind = \"static\", distance = \"250 m\" }"),
        ],
    ),
    (
        "deep",
        "buffer far above the BDP, beside CUBIC (10 Mbit/s, 128 packets, 10 ms)",
        PAIR,
        &[
            ("ue.channel", "{ kind = \"mcs\", mcs = 11 }"),
            ("path.rtt", "2 ms"),
        ],
    ),
    (
        "illinois",
        "own loss beside Illinois",
        PAIR,
        &[("flow[1].controller", "illinois")],
    ),
];

fn name(controller: &str, case: &str) -> String {
    format!("limits/{case}-{controller}")
}

pub(super) fn part(_: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for c in ALL {
        for (case, _, text, keys) in CASES {
            let first = if text == STEPS {
                "flow.controller"
            } else {
                "flow[0].controller"
            };
            let mut changes = vec![(first, c), ("duration", "30 s"), agent(c)];
            changes.extend(keys);
            let reduce = |run: &RunResult, out: &mut Outcome| {
                let shared = run.layout.labels.len() > 1;
                let from = if shared { m::on(run, 1) } else { 1.0 };
                keep_all(run, out, (from, m::end(run)));
            };
            experiments.push(Experiment::new(name(c, case), text, changes, reduce)?);
        }
    }
    Ok(Part {
        id: "limits",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let columns: [Entry; 7] = [
        Entry::more("utilisation", "%", "utilisation").times(100.0),
        Entry::more("HoL ≤ 10 ms", "%", "hol_within").times(100.0),
        Entry::less("HoL p50", "ms", "hol_p50"),
        Entry::less("HoL p90", "ms", "hol_p90"),
        Entry::less("own loss", "%", "loss_0").times(100.0),
        Entry::plain("share", "%", "share").times(100.0),
        Entry::more("Jain (common)", "", "jain"),
    ];
    let panels = CASES
        .iter()
        .map(|(case, words, _, _)| {
            let rows: Vec<(String, &str, &Runs)> = ALL
                .iter()
                .map(|c| (title(c).to_owned(), *c, o.get(&name(c, case))))
                .collect();
            table(words, "first flow", &columns, &rows)
        })
        .collect();
    let runs = |case: &str| o.get(&name("xrc", case));
    Figure {
        title: "Beyond (i): known limits".to_owned(),
        setup: "What XRC does badly: a channel that changes faster than its report (40 ms of averaging and an RTT), a buffer far \
                above the path's product beside a flow that fills it, and the losses that its own unfairness costs."
            .to_owned(),
        claim: String::new(),
        seen: format!(
            "Steps of 200 ms: {:.1} % used, {:.1} % of the time within 10 ms. Fast fading: {:.1} and {:.1} %. A deep buffer at 10 \
             Mbit/s beside CUBIC: HoL median {:.0} ms. Beside Illinois XRC loses {:.2} % of its own packets.",
            runs("steps").mean("utilisation") * 100.0,
            runs("steps").mean("hol_within") * 100.0,
            runs("fading").mean("utilisation") * 100.0,
            runs("fading").mean("hol_within") * 100.0,
            runs("deep").mean("hol_p50"),
            runs("illinois").mean("loss_0") * 100.0,
        ),
        panels,
        ..Figure::default()
    }
}
