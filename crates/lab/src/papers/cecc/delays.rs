//! Figures 3 and 6: delays of packets and frames.

use super::prelude::*;
use super::satisfied::{PLACES, WAYS, experiment};

/// One flow alone, and five at once (scenario A).
const COUNTS: [&str; 2] = ["1", "5"];

fn name(way: &str, n: &str) -> String {
    format!("delays/{way}-{n}")
}

fn reduce(run: &RunResult, out: &mut Outcome) {
    keep(run, out);
    let mut frames: Vec<f64> = vec![];
    for f in &run.records.flows {
        let settled = f
            .transfers
            .iter()
            .filter(|t| t.start.as_secs_f64() >= SETTLED);
        frames.extend(settled.map(|t| t.end.since(t.start).as_millis_f64()));
    }
    if let Some(q) = m::quantiles(&frames) {
        out.value("frame_p50", Some(q.p50));
        out.value("frame_p99", Some(q.p99));
        out.value("frame_max", Some(q.max));
    }
    out.distribution("frame", frames);
    let flow = &run.records.flows[0].one_way;
    let ms = |d: Option<slackwater_core::Duration>| d.map(slackwater_core::Duration::as_millis_f64);
    out.value("net_min", ms(flow.min()));
    out.value("net_p50", ms(flow.quantile(0.5)));
    out.value("net_p99", ms(flow.quantile(0.99)));
    out.value("net_max", ms(flow.max()));
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for way in &WAYS {
        for n in COUNTS {
            experiments.push(experiment(
                options,
                &PLACES[0],
                way,
                n,
                name(way.0, n),
                reduce,
            )?);
        }
    }
    Ok(Part {
        id: "delays",
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |way: &str, n: &str| o.get(&name(way, n));
    let columns: [Entry; 7] = [
        ("network, least", "ms", "net_min", 1.0, Some(Better::Lower)),
        ("network, p50", "ms", "net_p50", 1.0, Some(Better::Lower)),
        ("network, p99", "ms", "net_p99", 1.0, Some(Better::Lower)),
        ("network, most", "ms", "net_max", 1.0, Some(Better::Lower)),
        ("frame, p50", "ms", "frame_p50", 1.0, Some(Better::Lower)),
        ("frame, p99", "ms", "frame_p99", 1.0, Some(Better::Lower)),
        ("frame, most", "ms", "frame_max", 1.0, Some(Better::Lower)),
    ];
    let rows = |n: &str| -> Vec<(String, &str, &Runs)> {
        WAYS.iter()
            .map(|w| (w.1.to_owned(), w.2, runs(w.0, n)))
            .collect()
    };
    let cdf = |id: &str, heading: &str, n: &str| {
        Panel::new(
            id,
            heading,
            "From 2 s on.",
            Drawing::Cdf {
                axis: Axis::new("Frame delay", "ms").top(40.0),
                lines: WAYS
                    .iter()
                    .map(|w| runs(w.0, n).cdf("frame", w.1, w.2))
                    .collect(),
                guides: vec![Guide::new(10.0, "10 ms")],
            },
        )
    };
    let single = runs("udp", "1");
    let check = |what: &str, reference, value: &str| {
        Check::of(
            what,
            "ms",
            reference,
            single.estimate(value),
            Tolerance::Absolute(0.5),
        )
        .source("CECC, Fig. 6")
    };
    let frame = |way: &str| runs(way, "5").mean("frame_p99");
    Figure {
        title: "Figures 3 and 6: delays of packets and of frames".to_owned(),
        setup: "Scenario A with one flow and with five. Network delays are those of the first flow over the whole run, frame \
                delays those of all flows from 2 s on."
            .to_owned(),
        claim: "One flow alone: 3.25 to 6.1 ms one way. CECC's boxes stay below 10 ms where CUBIC's and BBR's do not.".to_owned(),
        seen: format!(
            "One flow over UDP: {:.2} to {:.2} ms. 99 % of the frames of five flows arrive within {:.1} ms with CUBIC, {:.1} with \
             BBR, {:.1} with CECC as printed, {:.1} with hold.",
            single.mean("net_min"),
            single.mean("net_max"),
            frame("off"),
            frame("bbr"),
            frame("paper"),
            frame("hold"),
        ),
        panels: vec![
            cdf("five", "Frame delay, five flows", "5"),
            cdf("one", "Frame delay, one flow", "1"),
            table("five-table", "Five flows", "sender and UPF", &columns, &rows("5")).wide(),
            table("one-table", "One flow", "sender and UPF", &columns, &rows("1")).wide(),
        ],
        checks: vec![
            check("one flow, least network delay", 3.25, "net_min"),
            check("one flow, largest network delay", 6.1, "net_max"),
        ],
        ..Figure::default()
    }
}
