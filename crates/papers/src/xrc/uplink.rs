//! An upload fills the uplink: ACKs, and the feedback on them, queue.

use super::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/xrc/uplink.toml");

const ALL: [&str; 5] = ["xrc", "xrc-paper", "cubic", "reno", "bbr"];

pub(super) fn part(_: &Options) -> Result<Part, StudyError> {
    let reduce = |run: &RunResult, out: &mut Outcome| {
        let (from, to) = m::life(run, 1);
        keep_all(run, out, (from + 1.0, to));
        let before = m::rate(run, 0, (2.0, from));
        out.value("kept", Some(m::rate(run, 0, (from + 1.0, to)) / before));
        out.value("up", Some(m::rate(run, 1, (from + 1.0, to))));
        keep_rates(run, out, 5);
        out.track("rate", m::track(run, 0, title(&run.layout.controllers[0])));
    };
    let experiments = ALL
        .iter()
        .map(|c| {
            Experiment::new(
                format!("uplink/{c}"),
                SCENARIO,
                [("flow[0].controller", *c), agent(c)],
                reduce,
            )
        })
        .collect::<Result<_, _>>()?;
    Ok(Part {
        id: "uplink",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |c: &str| o.get(&format!("uplink/{c}"));
    let columns: [Entry; 6] = [
        Entry::more("download", "Mbit/s", "rate_0"),
        Entry::more("of its rate before", "%", "kept").times(100.0),
        Entry::more("upload", "Mbit/s", "up"),
        Entry::more("HoL ≤ 10 ms", "%", "hol_within").times(100.0),
        Entry::less("HoL p90", "ms", "hol_p90"),
        Entry::less("drops", "", "drops_0"),
    ];
    let rows: Vec<(String, &str, &Runs)> = ALL
        .iter()
        .map(|c| (title(c).to_owned(), *c, o.get(&format!("uplink/{c}"))))
        .collect();
    let xrc = runs("xrc");
    Figure {
        title: "Beyond (g): ACKs that queue".to_owned(),
        setup: "A download at 200 m; at 10 s a bulk upload over CUBIC fills the uplink's queue, in which the ACKs wait.".to_owned(),
        claim: String::new(),
        seen: format!(
            "The download keeps {:.0} % of its rate with XRC, {:.0} % with CUBIC; the RTT that ACKs add looks to XRC like a \
             bottleneck in the Internet.",
            xrc.mean("kept") * 100.0,
            runs("cubic").mean("kept") * 100.0
        ),
        panels: vec![
            rate_panel("xrc", "XRC's download beside an upload", xrc),
            rate_panel("cubic", "CUBIC's download beside an upload", runs("cubic")),
            table("A download beside an upload", "download", &columns, &rows),
        ],
        checks: vec![
            Check::of(
                "rate kept beside an upload, over what CUBIC keeps",
                "",
                FULL,
                xrc.ratio("kept", runs("cubic"), "kept"),
                Tolerance::AtLeast,
            )
            .profile("product")
            .source(GOAL_USE),
        ],
        ..Figure::default()
    }
}
