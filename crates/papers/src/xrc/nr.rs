//! NR at 100 MHz with TDD, where the report is per slot.

use super::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/xrc/nr.toml");

const ALL: [&str; 5] = ["xrc", "xrc-paper", "cubic", "reno", "bbr"];

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let duration = if options.quick { "10 s" } else { "20 s" };
    let reduce = |run: &RunResult, out: &mut Outcome| {
        keep_all(run, out, (1.0, m::end(run)));
        if out.is_drawn() {
            let label = title(&run.layout.controllers[0]);
            out.line("capacity", m::capacity_line(run, PAYLOAD));
            out.line("rate", m::rate_line(run, 0, 2, label));
            out.track("rate", m::track(run, 0, label));
        }
    };
    let experiments = ALL
        .iter()
        .map(|c| {
            let changes = [("duration", duration), ("flow.controller", *c), agent(c)];
            Experiment::new(format!("nr/{c}"), SCENARIO, changes, reduce)
        })
        .collect::<Result<_, _>>()?;
    Ok(Part {
        id: "nr",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |c: &str| o.get(&format!("nr/{c}"));
    let mut rates = runs("xrc").lines("capacity");
    rates.extend(
        ["xrc", "cubic", "bbr"]
            .iter()
            .flat_map(|c| runs(c).lines("rate")),
    );
    let rows: Vec<(String, &str, &Runs)> = ALL
        .iter()
        .map(|c| (title(c).to_owned(), *c, o.get(&format!("nr/{c}"))))
        .collect();
    let columns: [Entry; 6] = [
        Entry::more("utilisation", "%", "utilisation").times(100.0),
        Entry::more("rate", "Mbit/s", "rate"),
        Entry::more("HoL ≤ 10 ms", "%", "hol_within").times(100.0),
        Entry::less("HoL p50", "ms", "hol_p50"),
        Entry::less("HoL p90", "ms", "hol_p90"),
        Entry::less("drops", "", "drops"),
    ];
    let panels = vec![
        Panel::new(
            "rate",
            "Achieved rate",
            "The strip: XRC's state.",
            Drawing::Time {
                axis: Axis::new("Rate", "Mbit/s"),
                lines: rates,
                tracks: runs("xrc").tracks("rate"),
                guides: vec![],
            },
        )
        .wide(),
        hol_cdf(
            "hol",
            "HoL delay",
            "",
            ALL.iter()
                .map(|c| runs(c).cdf("hol", title(c), c))
                .collect(),
        ),
        table("One flow, NR at 100 MHz", "controller", &columns, &rows),
    ];
    let xrc = runs("xrc");
    let check = |what: &str, reference, value: &str, source| {
        Check::of(what, "", reference, xrc.estimate(value), Tolerance::AtLeast)
            .profile("product")
            .source(source)
    };
    Figure {
        title: "Beyond (c): NR, 100 MHz, TDD".to_owned(),
        setup: "One user of an NR cell (100 MHz, 30 kHz, DDDSU, 256-QAM) jumps to a random distance of 100 to 900 m every 2 s; \
                30 ms of wired RTT, 4 MB of buffer."
            .to_owned(),
        claim: "The estimate can be made at microsecond granularity in NR. (Not measured.)".to_owned(),
        seen: format!(
            "XRC uses {:.1} % and is within 10 ms for {:.1} % of the time; CUBIC uses {:.1} % at {:.0} ms (90 %), BBR {:.1} % at \
             {:.0} ms.",
            xrc.mean("utilisation") * 100.0,
            xrc.mean("hol_within") * 100.0,
            runs("cubic").mean("utilisation") * 100.0,
            runs("cubic").mean("hol_p90"),
            runs("bbr").mean("utilisation") * 100.0,
            runs("bbr").mean("hol_p90"),
        ),
        panels,
        checks: vec![
            check("utilisation", FULL, "utilisation", GOAL_USE),
            check(
                "time with HoL ≤ 10 ms",
                0.795,
                "hol_within",
                "XRC, II: 80 % of the time on a channel that jumps every 2 s",
            ),
        ],
        ..Figure::default()
    }
}
