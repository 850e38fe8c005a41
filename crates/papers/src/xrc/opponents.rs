//! XRC against every controller that we have: today's opponents and not only those of 2022.

use super::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/xrc/fig5.toml");

/// Everyone, and the ECN-capable ones, which a queue without marks leaves to losses.
const OTHERS: [&str; 14] = [
    "cubic",
    "cubic-ns3",
    "reno",
    "veno",
    "illinois",
    "illinois-ns3",
    "vegas",
    "westwood",
    "bbr",
    "bbr3",
    "copa",
    "dctcp",
    "prague",
    "xrc",
];
const FIRST: [&str; 3] = ["xrc", "xrc-paper", "cubic"];

fn name(first: &str, other: &str) -> String {
    format!("opponents/{first}-{other}")
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let duration = if options.quick { "20 s" } else { "60 s" };
    let mut experiments = vec![];
    for first in FIRST {
        for other in OTHERS {
            let changes = [
                ("duration", duration),
                ("flow[0].controller", first),
                ("flow[1].controller", other),
                agent(first),
            ];
            let reduce = |run: &RunResult, out: &mut Outcome| {
                keep_all(run, out, m::life(run, 1));
                keep_rates(run, out, 5);
                out.track("rate", m::track(run, 0, title(&run.layout.controllers[0])));
            };
            experiments.push(Experiment::new(
                name(first, other),
                SCENARIO,
                changes,
                reduce,
            )?);
        }
    }
    Ok(Part {
        id: "opponents",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let columns: [Entry; 8] = [
        Entry::plain("first's share", "%", "share").times(100.0),
        Entry::more("Jain (common)", "", "jain"),
        Entry::more("Jain (1 s)", "", "jain_1s"),
        Entry::less("HoL p50", "ms", "hol_p50"),
        Entry::less("HoL p90", "ms", "hol_p90"),
        Entry::more("HoL ≤ 10 ms", "%", "hol_within").times(100.0),
        Entry::less("first's loss", "%", "loss_0").times(100.0),
        Entry::more("utilisation", "%", "utilisation").times(100.0),
    ];
    let mut panels: Vec<Panel> = ["bbr", "bbr3", "copa", "vegas"]
        .into_iter()
        .map(|other| {
            let heading = format!("XRC joined by {}", title(other));
            rate_panel(other, &heading, o.get(&name("xrc", other)))
        })
        .collect();
    let names: Vec<String> = FIRST
        .iter()
        .flat_map(|first| OTHERS.iter().map(move |other| name(first, other)))
        .collect();
    let rows: Vec<(String, &str, &Runs)> = FIRST
        .iter()
        .flat_map(|first| OTHERS.iter().map(move |other| (*first, *other)))
        .zip(&names)
        .map(|((first, other), name)| {
            let label = format!("{} / {}", title(first), title(other));
            (label, other, o.get(name))
        })
        .collect();
    for (first, rows) in FIRST.iter().zip(rows.chunks(OTHERS.len())) {
        let caption = format!("{} first, then each", title(first));
        panels.push(table(&caption, "first / second", &columns, rows));
    }
    let xrc = |other: &str| o.get(&name("xrc", other));
    let beaten: Vec<String> = OTHERS
        .iter()
        .filter(|other| xrc(other).mean("share") < 0.4)
        .map(|other| {
            format!(
                "{} ({:.0} %)",
                title(other),
                xrc(other).mean("share") * 100.0
            )
        })
        .collect();
    let beats: Vec<String> = OTHERS
        .iter()
        .filter(|other| xrc(other).mean("share") > 0.6)
        .map(|other| {
            format!(
                "{} ({:.0} %)",
                title(other),
                xrc(other).mean("share") * 100.0
            )
        })
        .collect();
    let list = |names: &[String]| {
        if names.is_empty() {
            "nobody".to_owned()
        } else {
            names.join(", ")
        }
    };
    Figure {
        title: "Beyond (j): XRC against each controller".to_owned(),
        setup: "As Figure 5: a bulk flow from 0.5 s, another from 5.5 s, one queue of 128 packets without marks, 34 Mbit/s."
            .to_owned(),
        claim: String::new(),
        seen: format!(
            "XRC gets less than 40 % beside {}, and more than 60 % beside {}.",
            list(&beaten),
            list(&beats)
        ),
        panels,
        ..Figure::default()
    }
}
