//! Joining a queue that is full already, with and without START.

use super::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/xrc/bloated.toml");

const ALL: [(&str, &str); 4] = [
    ("xrc", "XRC"),
    ("xrc:start=off", "XRC without START"),
    ("xrc-paper", "XRC (paper profile)"),
    ("cubic", "CUBIC"),
];

fn name(controller: &str) -> String {
    format!("bloated/{}", controller.replace([':', '='], "-"))
}

pub(super) fn part(_: &Options) -> Result<Part, StudyError> {
    let reduce = |run: &RunResult, out: &mut Outcome| {
        let (from, to) = m::life(run, 0);
        keep_all(run, out, (from, to));
        for (name, span) in [
            ("share_1s", (from, from + 1.0)),
            ("share_5s", (from, from + 5.0)),
        ] {
            let rates = [0, 1].map(|i| m::rate(run, i, span));
            out.value(name, Some(rates[0] / (rates[0] + rates[1])));
        }
        keep_rates(run, out, 2);
        out.track("rate", m::track(run, 0, title(&run.layout.controllers[0])));
    };
    let experiments = ALL
        .iter()
        .map(|(c, _)| {
            let changes = [("flow[0].controller", *c), agent(c)];
            Experiment::new(name(c), SCENARIO, changes, reduce)
        })
        .collect::<Result<_, _>>()?;
    Ok(Part {
        id: "bloated",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |c: &str| o.get(&name(c));
    let columns: [Entry; 6] = [
        Entry::more("share, first second", "%", "share_1s").times(100.0),
        Entry::plain("share, first 5 s", "%", "share_5s").times(100.0),
        Entry::plain("share, all 20 s", "%", "share").times(100.0),
        Entry::less("HoL p50", "ms", "hol_p50"),
        Entry::less("HoL p90", "ms", "hol_p90"),
        Entry::less("drops", "", "drops"),
    ];
    let rows: Vec<(String, &str, &Runs)> = ALL
        .iter()
        .map(|(c, label)| {
            (
                (*label).to_owned(),
                c.split(':').next().unwrap_or(c),
                o.get(&name(c)),
            )
        })
        .collect();
    let (with, without) = (runs("xrc"), runs("xrc:start=off"));
    Figure {
        title: "Beyond (f): joining a bloated queue".to_owned(),
        setup: "CUBIC has filled a queue of 512 packets for 10 s; then a flow joins.".to_owned(),
        claim: "The reported HoL delay ensures a correct estimate of the queue where no accurate least RTT was seen. (Not \
                measured.)"
            .to_owned(),
        seen: format!(
            "In its first second XRC gets {:.0} % of the bytes with START and {:.0} % without.",
            with.mean("share_1s") * 100.0,
            without.mean("share_1s") * 100.0
        ),
        panels: vec![
            rate_panel("with", "XRC joins CUBIC", with),
            rate_panel("without", "XRC without START", without),
            table("Joining a queue of 512 packets", "who joins", &columns, &rows),
        ],
        checks: vec![
            Check::of(
                "share in the first second, with START over without",
                "times",
                // An equal is no order.
                1.0_f64.next_up(),
                with.ratio("share_1s", without, "share_1s"),
                Tolerance::AtLeast,
            )
            .profile("product")
            .source("XRC, eq. 3: the HoL delay ensures a correct estimate without an accurate least RTT"),
        ],
        ..Figure::default()
    }
}
