//! Feedback that is lost, late, gone, or a lie.

use super::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/xrc/feedback.toml");
const VARYING: &str = include_str!("../../scenarios/xrc/fig1.toml");

/// Short name, what goes wrong, the keys that make it so.
type Fault = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const FAULTS: [Fault; 11] = [
    ("none", "nothing", &[]),
    ("loss1", "1 % lost", &[("feedback.faults.loss", "1 %")]),
    ("loss10", "10 % lost", &[("feedback.faults.loss", "10 %")]),
    ("loss50", "50 % lost", &[("feedback.faults.loss", "50 %")]),
    (
        "delay30",
        "datagrams, 30 ms late",
        &[
            ("feedback.carrier", "datagram"),
            ("feedback.delay", "30 ms"),
        ],
    ),
    (
        "stripped",
        "stripped at 10 s",
        &[("feedback.faults.stop", "10 s")],
    ),
    (
        "never",
        "stripped from the start",
        &[("feedback.faults.loss", "100 %")],
    ),
    (
        "high",
        "rates × 10",
        &[("feedback.faults.rate_scale", "10")],
    ),
    (
        "double",
        "rates × 2",
        &[("feedback.faults.rate_scale", "2")],
    ),
    (
        "low",
        "rates × 0.5",
        &[("feedback.faults.rate_scale", "0.5")],
    ),
    (
        "zero",
        "rates always zero",
        &[("feedback.faults.rate_scale", "0")],
    ),
];
const ALL: [&str; 2] = ["xrc", "xrc-paper"];
const AWAY: (&str, &str) = ("flow[1].start", "29999 ms");
/// Where it is measured.
const WHERE: [(&str, &str); 3] = [
    ("alone", "one flow, steady channel"),
    ("varying", "one flow, varying channel"),
    ("cubic", "joined by CUBIC"),
];

fn name(controller: &str, place: &str, fault: &str) -> String {
    format!("feedback/{controller}-{place}-{fault}")
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let varying = if options.quick { "20 s" } else { "40 s" };
    let mut experiments = vec![];
    for c in ALL {
        for (fault, _, keys) in FAULTS {
            let with =
                |changes: &[(&'static str, &'static str)]| -> Vec<(&'static str, &'static str)> {
                    changes
                        .iter()
                        .chain(keys)
                        .copied()
                        .chain([agent(c)])
                        .collect()
                };
            let alone = |run: &RunResult, out: &mut Outcome| keep_all(run, out, (2.0, 29.0));
            let all = |run: &RunResult, out: &mut Outcome| keep_all(run, out, (2.0, m::end(run)));
            let shared = |run: &RunResult, out: &mut Outcome| keep_all(run, out, m::life(run, 1));
            experiments.push(Experiment::new(
                name(c, "alone", fault),
                SCENARIO,
                with(&[("flow[0].controller", c), AWAY]),
                alone,
            )?);
            experiments.push(Experiment::new(
                name(c, "varying", fault),
                VARYING,
                with(&[("flow.controller", c), ("duration", varying)]),
                all,
            )?);
            experiments.push(Experiment::new(
                name(c, "cubic", fault),
                SCENARIO,
                with(&[("flow[0].controller", c)]),
                shared,
            )?);
        }
    }
    Ok(Part {
        id: "feedback",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |c: &str, place: &str, fault: &str| o.get(&name(c, place, fault));
    let columns: [Entry; 6] = [
        Entry::more("utilisation", "%", "utilisation").times(100.0),
        Entry::more("HoL ≤ 10 ms", "%", "hol_within").times(100.0),
        Entry::less("HoL p50", "ms", "hol_p50"),
        Entry::less("HoL p90", "ms", "hol_p90"),
        Entry::less("XRC's drops", "", "drops_0"),
        Entry::plain("share", "%", "share").times(100.0),
    ];
    let mut panels = vec![];
    for (place, caption) in WHERE {
        let rows: Vec<(String, &str, &Runs)> = ALL
            .iter()
            .flat_map(|c| {
                FAULTS.iter().map(move |(fault, words, _)| {
                    let label = format!("{}: {words}", title(c));
                    (label, *c, o.get(&name(c, place, fault)))
                })
            })
            .collect();
        panels.push(table(caption, "what goes wrong", &columns, &rows));
    }
    let mut checks = vec![];
    for (place, words) in &WHERE[..2] {
        for (fault, what) in [
            ("loss50", "50 % of feedback lost"),
            ("delay30", "feedback 30 ms late"),
        ] {
            let none = runs("xrc", place, "none");
            let kept = runs("xrc", place, fault).ratio("utilisation", none, "utilisation");
            checks.push(
                Check::of(
                    format!("{what}: utilisation over that with all reports in time, {words}"),
                    "",
                    FULL,
                    kept,
                    Tolerance::AtLeast,
                )
                .profile("product")
                .source("XRC, V: \"reports ... over a specific time window\""),
            );
        }
    }
    for place in ["alone", "varying"] {
        let drops = runs("xrc", place, "high").max("drops_0");
        let words = if place == "alone" {
            WHERE[0].1
        } else {
            WHERE[1].1
        };
        checks.push(
            Check::new(
                format!("rates reported 10 times too high: drops in a run, at most, {words}"),
                "",
                0.0,
                drops,
                None,
                Tolerance::AtMost,
            )
            .profile("product")
            .source("docs/xrc.md: a false rate must not command a sender"),
        );
    }
    let gone = runs("xrc", "alone", "stripped");
    checks.push(
        Check::of(
            "feedback stripped at 10 s: utilisation",
            "",
            FULL,
            gone.estimate("utilisation"),
            Tolerance::AtLeast,
        )
        .profile("product")
        .source(GOAL_USE),
    );
    Figure {
        title: "Beyond (e): feedback that fails or lies".to_owned(),
        setup: "XRC alone on a steady channel, on Figure 1's channel, and joined by CUBIC; reports lost, late, gone, or false."
            .to_owned(),
        claim: "Middle-boxes may strip options; reports may come on a connection of their own. (Not measured.)".to_owned(),
        seen: format!(
            "Losing half of the reports changes the utilisation from {:.3} to {:.3} on the steady and from {:.3} to {:.3} on the \
             varying channel. Rates ten times too high cost the default profile {:.0} drops, the paper's {:.0}. Stripped at 10 s the flow goes on as NewReno with {:.1} % of \
             the link.",
            runs("xrc", "alone", "none").mean("utilisation"),
            runs("xrc", "alone", "loss50").mean("utilisation"),
            runs("xrc", "varying", "none").mean("utilisation"),
            runs("xrc", "varying", "loss50").mean("utilisation"),
            runs("xrc", "alone", "high").mean("drops_0"),
            runs("xrc-paper", "alone", "high").mean("drops_0"),
            gone.mean("utilisation") * 100.0,
        ),
        panels,
        checks,
        ..Figure::default()
    }
}
