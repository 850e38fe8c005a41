//! Figure 8: the load of the aggregation network, bytes per 5 ms.

use super::prelude::*;

const SHOWN: [Variant; 5] = [BBR, OFF, PAPER, CREDIT, HOLD];
const FLOWS: [&str; 3] = ["3", "5", "7"];

fn name(variant: &str, n: &str) -> String {
    format!("fig8/{variant}-{n}")
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for variant in &SHOWN {
        for n in FLOWS {
            let mut changes = vec![
                ("duration", length(options.quick)),
                ("record.interval", "5 ms"),
                ("ue.count", n),
            ];
            changes.extend(variant.changes);
            experiments.push(Experiment::new(
                name(variant.key, n),
                SCENARIO,
                changes,
                reduce,
            )?);
        }
    }
    Ok(Part {
        id: "fig8",
        measures: measures(),
        experiments,
        draw: Box::new(draw),
    })
}

fn reduce(run: &RunResult, out: &mut Outcome) {
    let mut load = m::arrivals(run, (SETTLED, m::end(run)));
    for bytes in &mut load {
        *bytes *= 1e-3;
    }
    if let Some(q) = m::quantiles(&load) {
        out.value("p50", Some(q.p50));
        out.value("p99", Some(q.p99));
        out.value("max", Some(q.max));
    }
    let frame = m::quantiles(&frame_times(run, SETTLED));
    out.value("frame_p99", frame.map(|q| q.p99));
    out.value("idle", m::share_at_most(&load, 1.0).map(|s| s * 100.0));
    out.distribution("load", load);
}

/// What is measured for Figure 8.
fn measures() -> Vec<Measure> {
    fn over(o: &Outcomes, variant: &str, n: &str, value: &str) -> Option<Estimate> {
        let cubic = o.get(&name("off", n));
        o.get(&name(variant, n)).ratio(value, cubic, value)
    }
    fn more(o: &Outcomes, variant: &str) -> Option<Estimate> {
        let ratios = |n: &str| {
            let (ours, cubic) = (o.get(&name(variant, n)), o.get(&name("off", n)));
            let pairs = ours.values("max").into_iter().zip(cubic.values("max"));
            pairs.map(|(a, b)| a / b).collect::<Vec<f64>>()
        };
        let (few, many) = (ratios("3"), ratios("7"));
        let each: Vec<f64> = few.iter().zip(&many).map(|(f, m)| f - m).collect();
        Estimate::of(&each)
    }
    vec![
        Measure::product("fig8-bbr-idle", |o| {
            let (cubic, bbr) = (o.get(&name("off", "5")), o.get(&name("bbr", "5")));
            less(cubic, "idle", 1.0, bbr, "idle")
        }),
        Measure::product("fig8-bbr-load", |o| over(o, "bbr", "5", "max")),
        Measure::product("fig8-bbr-tail", |o| over(o, "bbr", "5", "frame_p99")),
        Measure::paper("fig8-load", |o| over(o, "paper", "7", "max")),
        Measure::product("fig8-load", |o| over(o, "hold", "7", "max")),
        Measure::paper("fig8-more-flows", |o| more(o, "paper")),
        Measure::product("fig8-more-flows", |o| more(o, "hold")),
    ]
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |variant: &str, n: &str| o.get(&name(variant, n));
    let columns: [Entry; 4] = [
        Entry::plain("idle", "%", "idle"),
        Entry::plain("p50", "kB", "p50"),
        Entry::less("p99", "kB", "p99"),
        Entry::less("most", "kB", "max"),
    ];
    let rows: Vec<(String, &str, &Runs)> = FLOWS
        .iter()
        .flat_map(|n| SHOWN.map(|w| (format!("{n} flows: {}", w.title), w.colour, runs(w.key, n))))
        .collect();
    let cdf = |n: &str| {
        Panel::new(
            &format!("n{n}"),
            &format!("{n} flows"),
            "",
            Drawing::Cdf {
                axis: Axis::new("Bytes per 5 ms", "kB").top(1_000.0),
                lines: SHOWN
                    .map(|w| runs(w.key, n).cdf("load", w.title, w.colour))
                    .into(),
                guides: vec![],
            },
        )
    };
    let idle = |variant: &str| runs(variant, "5").mean("idle");
    Figure {
        title: "Figure 8: load of the aggregation network".to_owned(),
        setup: "Scenario A: bytes that reach the base station in each 5 ms, from 2 s on, RLC and MAC headers included.".to_owned(),
        claim: "BBR has the least idle time and the least load; CECC lowers the largest load against CUBIC, the more so the more flows \
                there are."
            .to_owned(),
        seen: format!(
            "Seven flows, the largest load: CUBIC {:.0} kB, as printed {:.0}, credit {:.0}, hold {:.0}, BBR {:.0}. Five flows, time \
             without load: CUBIC {:.0} %, as printed {:.0}, hold {:.0}, BBR {:.0}.",
            runs("off", "7").mean("max"),
            runs("paper", "7").mean("max"),
            runs("credit", "7").mean("max"),
            runs("hold", "7").mean("max"),
            runs("bbr", "7").mean("max"),
            idle("off"),
            idle("paper"),
            idle("hold"),
            idle("bbr"),
        ),
        panels: FLOWS
            .iter()
            .map(|n| cdf(n))
            .chain([table("table", "Bytes per 5 ms", "", &columns, &rows).wide()])
            .collect(),
        ..Figure::default()
    }
}
