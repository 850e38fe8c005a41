//! Figure 2 and equations 1 and 2: what frames of two flows that begin together do to one another.

use super::prelude::*;

/// Gaps between frames, not a grid: each flow's frames wander.
const GAPS: Changes = &[
    ("flow.app.clock", "gaps"),
    ("flow.app.interval_sigma", "1 ms"),
    ("flow.app.transport", "udp"),
    ("record.interval", "1 ms"),
];

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let wandering = |n: &'static str| {
        let mut changes = vec![("duration", length(options.quick)), ("ue.count", n)];
        changes.extend(GAPS);
        Experiment::new(format!("fig2/{n}"), SCENARIO, changes, reduce)
    };
    let bulk = [
        ("duration", "5 s"),
        ("warmup", "2 s"),
        ("ue.count", "1"),
        ("flow.app", "bulk"),
    ];
    Ok(Part {
        id: "fig2",
        measures: vec![
            Measure::product("peak-rate", |o| o.get("fig2/2").estimate("peak")),
            Measure::product("cell-rate", |o| o.get("fig2/bulk").estimate("rate")),
            Measure::product("collide-two", |o| o.get("fig2/2").estimate("together")),
            Measure::product("collide-three", |o| o.get("fig2/3").estimate("together")),
        ],
        experiments: vec![
            wandering("2")?,
            wandering("3")?,
            Experiment::new("fig2/bulk", SCENARIO, bulk, |run, out| {
                out.value("rate", Some(m::rate(run, 0, (SETTLED, m::end(run)))));
            })?,
        ],
        draw: Box::new(draw),
    })
}

fn reduce(run: &RunResult, out: &mut Outcome) {
    let flows = &run.records.flows;
    let sizes = flows.iter().flat_map(|f| &f.transfers);
    let sizes: Vec<f64> = sizes.map(|t| t.bytes.get() as f64).collect();
    // Equation 1: a frame within a millisecond.
    out.value("peak", m::mean(&sizes).map(|bytes| bytes * 8.0 * 1e-3));
    // Equation 2, after the first frames, which come together.
    let frames = flows.iter().map(|f| f.transfers.len()).min().unwrap_or(0);
    let together = (1..frames).filter(|&k| {
        let starts = flows.iter().map(|f| f.transfers[k].start.as_secs_f64());
        let (least, most) = starts.fold((f64::INFINITY, 0.0_f64), |(l, m), s| (l.min(s), m.max(s)));
        most - least < 1e-3
    });
    out.value("together", Some(together.count() as f64));

    let first = (0.0, 0.5);
    let mut traffic = Line {
        label: "all flows".to_owned(),
        controller: "udp".to_owned(),
        ..Line::default()
    };
    for (k, bytes) in m::arrivals(run, first).into_iter().enumerate() {
        traffic.t.push(k as f64 * 1e-3);
        traffic.y.push(bytes * 8.0 * 1e-3);
    }
    out.line("traffic", traffic);
    for (i, flow) in flows.iter().take(2).enumerate() {
        let mut delay = Line {
            label: format!("flow {}", i + 1),
            controller: if i == 0 { "udp" } else { "cubic" }.to_owned(),
            ..Line::default()
        };
        for t in flow
            .transfers
            .iter()
            .take_while(|t| t.start.as_secs_f64() < first.1)
        {
            delay.t.push(t.start.as_secs_f64());
            delay.y.push(t.end.since(t.start).as_millis_f64());
        }
        out.line("delay", delay);
    }
}

fn draw(o: &Outcomes) -> Figure {
    let two = o.get("fig2/2");
    let time = |id: &str, title: &str, axis: Axis| {
        let lines = two.lines(id);
        let drawing = Drawing::Time {
            axis,
            lines,
            tracks: vec![],
            guides: vec![],
        };
        Panel::new(id, title, "First seed, two flows over UDP.", drawing)
    };
    Figure {
        title: "Figure 2 and equations 1 and 2: frames that come together".to_owned(),
        setup: "Two flows over UDP that begin together; gaps between frames are normally distributed with 1 ms of deviation. \
                Scenario A else."
            .to_owned(),
        claim: "A frame within a millisecond is 833.3 Mbit/s, nearly what a base station of 880 Mbit/s can carry. Frames of flows that \
                began together come together again."
            .to_owned(),
        seen: format!(
            "A frame within a millisecond: {:.1} Mbit/s; one download alone: {:.0} Mbit/s. Frames of the same number within 1 ms: \
             {:.0} of a run with two flows, {:.0} with three.",
            two.mean("peak"),
            o.get("fig2/bulk").mean("rate"),
            two.mean("together"),
            o.get("fig2/3").mean("together"),
        ),
        panels: vec![
            time("traffic", "Traffic in each millisecond", Axis::new("Rate", "Mbit/s")),
            time("delay", "Delay of each frame's last byte", Axis::new("Delay", "ms")),
        ],
        ..Figure::default()
    }
}
