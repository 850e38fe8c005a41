//! Figure 3: frame delay against network delay of one flow over BBR and over CUBIC.

use super::prelude::*;

const NEWRENO: Variant = Variant::new(
    "newreno",
    "NewReno",
    "newreno",
    &[("flow.controller", "newreno")],
);
const WESTWOOD: Variant = Variant::new(
    "westwood",
    "Westwood+",
    "westwood",
    &[("flow.controller", "westwood")],
);
const SHOWN: [Variant; 5] = [OFF, BBR, NEWRENO, WESTWOOD, UDP];

fn name(variant: &str) -> String {
    format!("fig3/{variant}")
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for variant in &SHOWN {
        let mut changes = base(options).to_vec();
        changes.push(("ue.count", "1"));
        changes.extend(variant.changes);
        experiments.push(Experiment::new(
            name(variant.key),
            SCENARIO,
            changes,
            reduce,
        )?);
    }
    Ok(Part {
        id: "fig3",
        measures: measures(),
        experiments,
        draw: Box::new(draw),
    })
}

fn reduce(run: &RunResult, out: &mut Outcome) {
    keep(run, out);
    let flow = &run.records.flows[0];
    out.distribution("network", m::one_way(run, 0));
    out.value("net_p50", m::ms(flow.one_way.quantile(0.5)));
    out.value("net_p99", m::ms(flow.one_way.quantile(0.99)));
    out.distribution("frame", frame_times(run, 0.0));
    let frame = m::quantiles(&frame_times(run, SETTLED)).map(|q| q.p50);
    let network = m::ms(flow.one_way.quantile(0.5));
    out.value("apart", frame.zip(network).map(|(f, n)| f / n));
    let early = flow
        .transfers
        .iter()
        .take_while(|t| t.start.as_secs_f64() < 1.0);
    let limit = run.scenario.record.late;
    let waits = early.clone().filter(|t| t.end.since(t.start) > limit);
    out.value("waits", Some(waits.count() as f64));
    let mut line = Line {
        label: run.layout.labels[0].clone(),
        controller: run.layout.controllers[0].clone(),
        ..Line::default()
    };
    for t in early {
        line.t.push(t.start.as_secs_f64());
        line.y.push(t.end.since(t.start).as_millis_f64());
    }
    out.line("start", line);
}

/// What is measured for Figure 3.
fn measures() -> Vec<Measure> {
    fn apart(o: &Outcomes, variant: &str) -> Option<Estimate> {
        let runs = o.get(&name(variant));
        runs.ratio("frame_p50", runs, "net_p50")
    }
    fn over(o: &Outcomes, value: &str) -> Option<Estimate> {
        o.get(&name("bbr")).ratio(value, o.get(&name("off")), value)
    }
    vec![
        Measure::product("fig3-bbr-frame", |o| over(o, "frame_p50")),
        Measure::product("fig3-bbr-apart", |o| over(o, "apart")),
        Measure::product("fig3-bbr-network", |o| over(o, "net_p99")),
        Measure::product("fig3-cubic-same", |o| apart(o, "off")),
        Measure::product("fig3-newreno-same", |o| apart(o, "newreno")),
        Measure::product("fig3-westwood-same", |o| apart(o, "westwood")),
        Measure::product("fig3-slow-start", |o| o.get(&name("off")).estimate("waits")),
    ]
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |variant: &str| o.get(&name(variant));
    let columns: [Entry; 7] = [
        Entry::less("network, p50", "ms", "net_p50"),
        Entry::less("network, p99", "ms", "net_p99"),
        Entry::less("frame, p50", "ms", "frame_p50"),
        Entry::less("frame, p99", "ms", "frame_p99"),
        Entry::less("frame, most", "ms", "frame_max"),
        Entry::plain("late frames of the first second", "", "waits"),
        Entry::more("rate", "Mbit/s", "rate"),
    ];
    let rows: Vec<(String, &str, &Runs)> = SHOWN
        .iter()
        .map(|w| (w.title.to_owned(), w.colour, runs(w.key)))
        .collect();
    let both = |variant: &Variant| {
        let mut network = runs(variant.key).cdf("network", "network delay", variant.colour);
        network.side = true;
        Panel::new(
            variant.key,
            variant.title,
            "Whole run. Dotted: network delay of packets; solid: frame delay, to the last byte.",
            Drawing::Cdf {
                axis: Axis::new("Delay", "ms").top(60.0),
                lines: vec![
                    network,
                    runs(variant.key).cdf("frame", "frame delay", variant.colour),
                ],
                guides: vec![Guide::new(10.0, "10 ms")],
            },
        )
    };
    let start = Panel::new(
        "start",
        "Frame delay in the first second",
        "First seed.",
        Drawing::Time {
            axis: Axis::new("Frame delay", "ms"),
            lines: SHOWN
                .iter()
                .flat_map(|w| runs(w.key).lines("start"))
                .collect(),
            tracks: vec![],
            guides: vec![Guide::new(10.0, "10 ms")],
        },
    );
    let text = |variant: &str| {
        let mean = |name: &str| runs(variant).mean(name);
        format!("{:.1} and {:.1} ms", mean("net_p50"), mean("frame_p50"))
    };
    Figure {
        title: "Figure 3: frame delay against network delay".to_owned(),
        setup: "One flow in scenario A.".to_owned(),
        claim: "BBR spreads a frame over time: small, steady network delay and high frame delay. CUBIC's frames wait for the window \
                in slow start (the first two), later both delays are almost the same."
            .to_owned(),
        seen: format!(
            "Medians of network and frame delay: CUBIC {}, BBR {}, UDP {}. CUBIC's late frames are the first {:.0}.",
            text("off"),
            text("bbr"),
            text("udp"),
            runs("off").mean("waits"),
        ),
        panels: vec![
            start,
            both(&OFF),
            both(&BBR),
            table("table", "One flow", "sender", &columns, &rows).wide(),
        ],
        ..Figure::default()
    }
}
