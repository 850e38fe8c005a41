//! Figure 2: PDCP in the central unit, MAC and RLC in the distributed unit, and F1 between them.

use super::prelude::*;

const VARYING: &str = include_str!("../../scenarios/xrc/fig1.toml");
const SHARED: &str = include_str!("../../scenarios/xrc/feedback.toml");

const ALL: [&str; 2] = ["xrc", "xrc-paper"];
/// One-way delays of F1: none (option 6: all in one place), the ends of what option 2 allows (TR 38.801, table A-1: 1.5 to 10 ms),
/// and one between.
const DELAYS: [(&str, &str); 4] = [
    ("none", "0 ms"),
    ("1.5ms", "1.5 ms"),
    ("5ms", "5 ms"),
    ("10ms", "10 ms"),
];
/// Those that the claims are measured at.
const CLAIMED: [&str; 2] = ["1.5ms", "10ms"];

fn name(controller: &str, place: &str, delay: &str) -> String {
    format!("fig2/{controller}-{place}-{delay}")
}

/// What is measured for section V's sentence on the latency of F1: each value over the same without a split.
fn measures() -> Vec<Measure> {
    let mut all = vec![];
    for (ours, who) in OURS {
        for delay in CLAIMED {
            for (claim, place, value) in [
                ("used", "varying", "utilisation"),
                ("within", "varying", "hol_within"),
                ("jain", "cubic", "jain"),
            ] {
                all.push(Measure::new(
                    format!("fig2-{claim}-{delay}"),
                    who,
                    move |o| {
                        let of = |delay: &str| o.get(&name(ours, place, delay)).clone();
                        of(delay).ratio(value, &of("none"), value)
                    },
                ));
            }
        }
    }
    all
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let duration = if options.quick { "20 s" } else { "60 s" };
    let mut experiments = vec![];
    for c in ALL {
        for (delay, f1) in DELAYS {
            let split = ("feedback.xrc.f1_delay", f1);
            let all = |run: &RunResult, out: &mut Outcome| keep_all(run, out, (2.0, m::end(run)));
            let varying = [
                ("duration", duration),
                ("flow.controller", c),
                split,
                agent(c),
            ];
            experiments.push(Experiment::new(
                name(c, "varying", delay),
                VARYING,
                varying,
                all,
            )?);
            let both = |run: &RunResult, out: &mut Outcome| keep_all(run, out, m::life(run, 1));
            let shared = [("flow[0].controller", c), split, agent(c)];
            experiments.push(Experiment::new(
                name(c, "cubic", delay),
                SHARED,
                shared,
                both,
            )?);
        }
    }
    Ok(Part {
        id: "fig2",
        measures: measures(),
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let columns: [Entry; 5] = [
        Entry::more("utilisation", "%", "utilisation").times(100.0),
        Entry::more("HoL ≤ 10 ms", "%", "hol_within").times(100.0),
        Entry::less("HoL p90", "ms", "hol_p90"),
        Entry::less("XRC's drops", "", "drops_0"),
        Entry::more("Jain (common)", "", "jain"),
    ];
    let panels = [
        ("varying", "One flow, varying channel"),
        ("cubic", "Joined by CUBIC"),
    ]
    .into_iter()
    .map(|(place, caption)| {
        let rows: Vec<(String, &str, &Runs)> = ALL
            .iter()
            .flat_map(|c| {
                DELAYS.iter().map(move |(delay, f1)| {
                    let label = format!("{}, {f1}", title(c));
                    (label, *c, o.get(&name(c, place, delay)))
                })
            })
            .collect();
        table(caption, "sender, one-way delay of F1", &columns, &rows)
    })
    .collect();
    let runs = |delay: &str| o.get(&name("xrc", "varying", delay));
    Figure {
        title: "Figure 2: the latency of F1".to_owned(),
        setup: "The agent reports from PDCP in the central unit; what MAC and RLC know reaches it 0, 1.5, 5 and 10 ms late. TR 38.801 \
                allows 1.5 to 10 ms for this split (option 2). Figure 1's channel; and a steady one, joined by CUBIC at 5 s."
            .to_owned(),
        claim: "The latency between the units may not be crucial, for the agent reports over a time window. (Planned, not measured.)"
            .to_owned(),
        seen: format!(
            "10 ms of F1 change XRC's utilisation from {:.3} to {:.3} on the varying channel, and the time within 10 ms from {:.1} to \
             {:.1} %.",
            runs("none").mean("utilisation"),
            runs("10ms").mean("utilisation"),
            runs("none").mean("hol_within") * 100.0,
            runs("10ms").mean("hol_within") * 100.0,
        ),
        panels,
        ..Figure::default()
    }
}
