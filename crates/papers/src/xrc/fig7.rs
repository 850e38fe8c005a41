//! Figure 7: a bulk flow beside fifty short ones.

use super::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/xrc/fig7.toml");

const ALL: [&str; 8] = [
    "xrc",
    "xrc-paper",
    "cubic",
    "reno",
    "veno",
    "veno-ns3",
    "illinois",
    "illinois-ns3",
];
/// XRC with short flows over XRC as well.
const BOTH: &str = "fig7/xrc-xrc";

fn name(controller: &str) -> String {
    format!("fig7/{controller}")
}

/// What is measured for the claims of section IV-B on short flows.
fn measures() -> Vec<Measure> {
    let mut all = vec![];
    let ratio = |o: &Outcomes, a: &str, b: &str, value: &str| {
        o.get(&name(a)).ratio(value, o.get(&name(b)), value)
    };
    for (ours, who) in OURS {
        for other in ["cubic", "reno", "veno", "illinois"] {
            for q in ["p50", "p90"] {
                let claim = format!("fig7-{q}-{other}");
                all.push(Measure::new(claim, who, move |o| {
                    ratio(o, ours, other, &format!("fct_{q}"))
                }));
            }
        }
        for other in ["cubic", "illinois"] {
            let claim = format!("fig7-longest-{other}");
            all.push(Measure::new(claim, who, move |o| {
                ratio(o, other, ours, "fct_max")
            }));
        }
    }
    all.push(Measure::product("fig7-both", |o| {
        o.get(BOTH).estimate("hol_p90")
    }));
    all
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let duration = if options.quick { "100 s" } else { "300 s" };
    let mut experiments = vec![];
    for c in ALL {
        let changes = [("duration", duration), ("flow[0].controller", c), agent(c)];
        experiments.push(Experiment::new(name(c), SCENARIO, changes, reduce)?);
    }
    let changes = [
        ("duration", duration),
        ("flow[0].controller", "xrc"),
        ("flow[1].controller", "xrc"),
    ];
    experiments.push(Experiment::new(BOTH, SCENARIO, changes, reduce)?);
    Ok(Part {
        id: "fig7",
        measures: measures(),
        experiments,
        draw: Box::new(draw),
    })
}

fn reduce(run: &RunResult, out: &mut Outcome) {
    let fct = m::transfer_times(run, 1);
    out.value("count", Some(fct.len() as f64));
    if let Some(q) = m::quantiles(&fct) {
        out.value("fct_p50", Some(q.p50));
        out.value("fct_p90", Some(q.p90));
        out.value("fct_max", Some(q.max));
    }
    out.distribution("fct", fct);
    // While short flows come; the bulk flow's own start is no part of it.
    let to = run.records.flows[1]
        .transfers
        .last()
        .map_or(m::end(run), |t| t.end.as_secs_f64());
    keep_hol(run, out, (5.0, to));
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |c: &str| o.get(&name(c));
    let mut fct: Vec<Distribution> = ALL
        .iter()
        .map(|c| runs(c).cdf("fct", title(c), c))
        .collect();
    fct.push(o.get(BOTH).cdf("fct", "XRC, short flows too", "xrc"));
    let mut hol: Vec<Distribution> = ALL
        .iter()
        .map(|c| runs(c).cdf("hol", title(c), c))
        .collect();
    hol.push(o.get(BOTH).cdf("hol", "XRC, short flows too", "xrc"));
    let bars = [
        ("fct_p50", "median"),
        ("fct_p90", "90 %"),
        ("fct_max", "longest"),
    ]
    .into_iter()
    .flat_map(|(value, group)| {
        let mut bars: Vec<Bar> = ALL
            .iter()
            .filter_map(|c| bar(group, title(c), c, runs(c), value, 1.0))
            .collect();
        bars.extend(bar(
            group,
            "XRC, short flows too",
            "xrc",
            o.get(BOTH),
            value,
            1.0,
        ));
        bars
    })
    .collect();
    let panels = vec![
        Panel::new(
            "a",
            "(a) Completion time of short flows",
            "The colour is the bulk flow's; the short flows are NewReno, but for the last curve.",
            Drawing::Cdf {
                axis: Axis::new("Completion time", "ms"),
                lines: fct,
                guides: vec![],
            },
        ),
        hol_cdf("b", "(b) HoL delay", "", hol),
        Panel::new(
            "fct",
            "Completion time",
            "",
            Drawing::Bars {
                axis: Axis::new("Completion time", "ms"),
                bars,
                guides: vec![],
            },
        )
        .wide(),
    ];
    let (xrc, both) = (runs("xrc"), o.get(BOTH));
    Figure {
        title: "Figure 7: a bulk flow beside short flows".to_owned(),
        setup: "A bulk flow beside 50 short NewReno flows of 10 kB to 2 MB (uniform), one at a time, each 5 s after the end of \
                the one before; 34 Mbit/s."
            .to_owned(),
        claim: "Beside XRC the short flows take half the time at the median and at 90 %; the longest takes 3 times less than \
                beside CUBIC and 1.4 times less than beside Illinois. XRC keeps the queue within 10 ms, also when the short \
                flows are XRC."
            .to_owned(),
        seen: format!(
            "Median {:.0} ms beside XRC, {:.0} beside CUBIC, {:.0} beside NewReno, {:.0} beside Illinois; at 90 % {:.0}, {:.0}, \
             {:.0} and {:.0} ms; the longest {:.0}, {:.0}, {:.0} and {:.0} ms. HoL delay at 90 %: {:.1} ms; with XRC on both \
             sides within 10 ms for {:.1} % of the time, median {:.0} ms.",
            xrc.mean("fct_p50"),
            runs("cubic").mean("fct_p50"),
            runs("reno").mean("fct_p50"),
            runs("illinois").mean("fct_p50"),
            xrc.mean("fct_p90"),
            runs("cubic").mean("fct_p90"),
            runs("reno").mean("fct_p90"),
            runs("illinois").mean("fct_p90"),
            xrc.mean("fct_max"),
            runs("cubic").mean("fct_max"),
            runs("reno").mean("fct_max"),
            runs("illinois").mean("fct_max"),
            xrc.mean("hol_p90"),
            both.mean("hol_within") * 100.0,
            both.mean("fct_p50"),
        ),
        panels,
        ..Figure::default()
    }
}
