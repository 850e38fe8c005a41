//! Figure 6: delays of the packets of each flow, one to five flows.

use super::prelude::*;

const SHOWN: [Variant; 3] = [OFF, PAPER, HOLD];
const FLOWS: [&str; 5] = ["1", "2", "3", "4", "5"];

fn name(variant: &str, n: &str) -> String {
    format!("fig6/{variant}-{n}")
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for variant in SHOWN.iter().chain([&UDP]) {
        for n in FLOWS {
            let mut changes = base(options).to_vec();
            changes.extend([("warmup", "2 s"), ("ue.count", n)]);
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
        id: "fig6",
        measures: measures(),
        experiments,
        draw: Box::new(draw),
    })
}

fn reduce(run: &RunResult, out: &mut Outcome) {
    keep(run, out);
    let mut all = Histogram::default();
    for f in &run.records.flows {
        all.merge(&f.one_way);
    }
    out.value("net_min", m::ms(all.min()));
    for (name, q) in [
        ("net_p25", 0.25),
        ("net_p50", 0.5),
        ("net_p75", 0.75),
        ("net_p99", 0.99),
        ("net_p9999", 0.9999),
    ] {
        out.value(name, m::ms(all.quantile(q)));
    }
    out.value("net_max", m::ms(all.max()));
    let flows = 0..run.records.flows.len();
    let pooled: Vec<f64> = flows.flat_map(|i| m::one_way(run, i)).collect();
    out.distribution("network", pooled);
}

/// What is measured for Figure 6, and for the steady state of IV-C.
fn measures() -> Vec<Measure> {
    fn growth(o: &Outcomes, variant: &str, value: &str) -> Option<Estimate> {
        let (five, one) = (o.get(&name(variant, "5")), o.get(&name(variant, "1")));
        less(five, value, 1.0, one, value)
    }
    /// How much less than CUBIC's the largest delay grows.
    fn smaller(o: &Outcomes, variant: &str) -> Option<Estimate> {
        let most = |variant, n| o.get(&name(variant, n)).values("net_max");
        let growth = |variant| {
            let (five, one) = (most(variant, "5"), most(variant, "1"));
            let each = five.into_iter().zip(one).map(|(five, one)| five - one);
            each.collect::<Vec<f64>>()
        };
        let (cubic, ours) = (growth("off"), growth(variant));
        let each: Vec<f64> = cubic.iter().zip(&ours).map(|(c, o)| c - o).collect();
        Estimate::of(&each)
    }
    vec![
        Measure::product("fig6-least", |o| {
            o.get(&name("off", "1")).estimate("net_min")
        }),
        Measure::product("fig6-most", |o| {
            o.get(&name("off", "1")).estimate("net_max")
        }),
        Measure::product("fig6-median-grows", |o| growth(o, "off", "net_p50")),
        Measure::paper("fig6-smaller-growth", |o| smaller(o, "paper")),
        Measure::product("fig6-smaller-growth", |o| smaller(o, "hold")),
        Measure::product("steady-millisecond", |o| {
            let five = o.get(&name("off", "5")).values("net_max");
            let one = o.get(&name("off", "1")).values("net_max");
            let each: Vec<f64> = five.iter().zip(&one).map(|(f, o)| (f - o) / 4.0).collect();
            Estimate::of(&each)
        }),
        Measure::product("steady-five-late", |o| {
            o.get(&name("off", "5")).estimate("net_max")
        }),
    ]
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |variant: &str, n: &str| o.get(&name(variant, n));
    let columns: [Entry; 8] = [
        Entry::less("least", "ms", "net_min"),
        Entry::less("p25", "ms", "net_p25"),
        Entry::less("p50", "ms", "net_p50"),
        Entry::less("p75", "ms", "net_p75"),
        Entry::less("p99", "ms", "net_p99"),
        Entry::less("p99.99", "ms", "net_p9999"),
        Entry::less("most", "ms", "net_max"),
        Entry::less("frame, p99", "ms", "frame_p99"),
    ];
    let rows: Vec<(String, &str, &Runs)> = FLOWS
        .iter()
        .flat_map(|n| {
            SHOWN
                .iter()
                .map(move |w| (format!("{n}: {}", w.title), w.colour, (*n, w.key)))
        })
        .map(|(label, colour, (n, variant))| (label, colour, runs(variant, n)))
        .collect();
    let cdf = |n: &str| {
        Panel::new(
            &format!("n{n}"),
            &format!("{n} flows"),
            "Network delay of all packets from 2 s on.",
            Drawing::Cdf {
                axis: Axis::new("Network delay", "ms").from(2.0).top(16.0),
                lines: SHOWN
                    .iter()
                    .map(|w| runs(w.key, n).cdf("network", w.title, w.colour))
                    .collect(),
                guides: vec![Guide::new(10.0, "10 ms")],
            },
        )
    };
    let grows = |variant: &str| {
        let growth = |value: &str| runs(variant, "5").mean(value) - runs(variant, "1").mean(value);
        (growth("net_p50"), growth("net_max"))
    };
    let [(off, off_most), (paper, paper_most), (hold, hold_most)] =
        ["off", "paper", "hold"].map(grows);
    Figure {
        title: "Figure 6: delays of packets".to_owned(),
        setup: "Scenario A, one to five flows, from 2 s on.".to_owned(),
        claim: "One flow: 3.25 to 6.1 ms one way. More flows raise all delays a little (slots wait longer); CUBIC's queue delay rises \
                fast, CECC's less."
            .to_owned(),
        seen: format!(
            "One flow over UDP: {:.2} to {:.2} ms, over CUBIC {:.2} to {:.2} ms. From one to five flows the median grows by {:.2} ms \
             with CUBIC, {:.2} as printed, {:.2} with hold; the largest by {:.1}, {:.1} and {:.1} ms.",
            runs("udp", "1").mean("net_min"),
            runs("udp", "1").mean("net_max"),
            runs("off", "1").mean("net_min"),
            runs("off", "1").mean("net_max"),
            off, paper, hold, off_most, paper_most, hold_most,
        ),
        panels: FLOWS[1..]
            .iter()
            .map(|n| cdf(n))
            .chain([table("table", "Network delay of all packets", "flows", &columns, &rows).wide()])
            .collect(),
        ..Figure::default()
    }
}
