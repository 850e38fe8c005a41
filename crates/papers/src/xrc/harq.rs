//! XRC over HARQ retransmissions, which the agent must not count as new data.

use super::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/xrc/harq.toml");

const ALL: [&str; 3] = ["xrc", "xrc-paper", "cubic"];
const TARGETS: [&str; 3] = ["0.1 %", "10 %", "30 %"];
const AWAY: (&str, &str) = ("flow[1].start", "29999 ms");

fn name(controller: &str, target: &str, alone: bool) -> String {
    let target = target.trim_end_matches(" %");
    let with = if alone { "alone" } else { "cubic" };
    format!("harq/{controller}-{with}-{target}")
}

pub(super) fn part(_: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for c in ALL {
        for target in TARGETS {
            let both = [
                ("flow[0].controller", c),
                ("cell.olla.target", target),
                agent(c),
            ];
            let shared = |run: &RunResult, out: &mut Outcome| keep_all(run, out, m::life(run, 1));
            experiments.push(Experiment::new(
                name(c, target, false),
                SCENARIO,
                both,
                shared,
            )?);
            let changes = [both[0], both[1], both[2], AWAY];
            let alone = |run: &RunResult, out: &mut Outcome| keep_all(run, out, (2.0, 29.0));
            experiments.push(Experiment::new(
                name(c, target, true),
                SCENARIO,
                changes,
                alone,
            )?);
        }
    }
    Ok(Part {
        id: "harq",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let columns: [Entry; 7] = [
        Entry::more("rate", "Mbit/s", "rate_0"),
        Entry::more("utilisation", "%", "utilisation").times(100.0),
        Entry::more("HoL ≤ 10 ms", "%", "hol_within").times(100.0),
        Entry::less("HoL p50", "ms", "hol_p50"),
        Entry::less("HoL p90", "ms", "hol_p90"),
        Entry::plain("share", "%", "share").times(100.0),
        Entry::more("Jain (common)", "", "jain"),
    ];
    let mut panels = vec![];
    for (alone, caption) in [(true, "Alone"), (false, "Beside CUBIC")] {
        let rows: Vec<(String, &str, &Runs)> = ALL
            .iter()
            .flat_map(|c| {
                TARGETS.iter().map(move |t| {
                    (
                        format!("{}, {t} fail", title(c)),
                        *c,
                        o.get(&name(c, t, alone)),
                    )
                })
            })
            .collect();
        panels.push(table(
            caption,
            "controller, first transmissions that fail",
            &columns,
            &rows,
        ));
    }
    let ten = |c: &str, alone| o.get(&name(c, "10 %", alone));
    let alone = ten("xrc", true);
    Figure {
        title: "Beyond (d): HARQ retransmissions".to_owned(),
        setup: "A user at 250 m, where link adaptation has room both ways; its outer loop aims at 0.1, 10 and 30 % of first \
                transmissions failing. XRC alone, and joined by CUBIC at 5 s."
            .to_owned(),
        claim: "Counting new transport blocks only (NDI = 1) keeps the agent from over-estimating. (Not measured.)".to_owned(),
        seen: format!(
            "At 10 %: alone XRC uses {:.1} % and is within 10 ms for {:.1} % of the time; beside CUBIC it has {:.1} % of the bytes \
             (paper profile {:.1} %), Jain {:.4}.",
            alone.mean("utilisation") * 100.0,
            alone.mean("hol_within") * 100.0,
            ten("xrc", false).mean("share") * 100.0,
            ten("xrc-paper", false).mean("share") * 100.0,
            ten("xrc", false).mean("jain"),
        ),
        panels,
        checks: vec![
            Check::of(
                "rate alone at 10 %, over CUBIC's",
                "",
                FULL,
                alone.ratio("rate_0", ten("cubic", true), "rate_0"),
                Tolerance::AtLeast,
            )
            .profile("product")
            .source(GOAL_USE),
            Check::of(
                "Jain (common) beside CUBIC at 10 %",
                "",
                0.9965,
                ten("xrc", false).estimate("jain"),
                Tolerance::AtLeast,
            )
            .profile("product")
            .source("XRC, abstract: 99.7 % beside CUBIC"),
        ],
        ..Figure::default()
    }
}
