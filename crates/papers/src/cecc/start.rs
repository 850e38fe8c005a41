//! The start of a flow: how long frames wait for the window, and what a first window of a frame changes.

use super::prelude::*;

/// A first window that holds two frames of 104 kB: a round trip is longer than the time between frames.
const WINDOW: (&str, &str) = ("flow.tcp.initial_window", "160");
const QUIC: (&str, &str) = ("flow.app.transport", "quic");
const QUIC_WINDOW: (&str, &str) = ("flow.quic.initial_window", "160");
/// What the scenario had before: every other uplink slot.
const REQUESTS: (&str, &str) = ("cell.uplink.sr_period", "10 ms");
const MODE_HOLD: (&str, &str) = ("upf.cecc.mode", "hold");

const STARTS: [Variant; 11] = [
    OFF,
    Variant::new(
        "nohystart",
        "CUBIC without HyStart",
        "cubic",
        &[("flow.controller", "cubic-nohystart")],
    ),
    PAPER,
    HOLD,
    Variant::new("window", "CUBIC, first window 160", "cubic", &[WINDOW]),
    Variant::new(
        "hold-window",
        "CECC, hold, first window 160",
        "cecc",
        &[MODE_HOLD, WINDOW],
    ),
    Variant::new("quic", "QUIC", "quic", &[QUIC]),
    Variant::new("hold-quic", "CECC, hold, QUIC", "cecc", &[MODE_HOLD, QUIC]),
    Variant::new(
        "quic-window",
        "QUIC, first window 160",
        "quic",
        &[QUIC, QUIC_WINDOW],
    ),
    Variant::new(
        "hold-quic-window",
        "CECC, hold, QUIC, first window 160",
        "cecc",
        &[MODE_HOLD, QUIC, QUIC_WINDOW],
    ),
    Variant::new(
        "requests",
        "CUBIC, a scheduling request each 10 ms",
        "cubic",
        &[REQUESTS],
    ),
];

fn name(variant: &str) -> String {
    format!("start/{variant}")
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    const LENGTH: (&str, &str) = ("duration", "5 s");
    let fine = [LENGTH, ("ue.count", "1"), ("record.interval", "1 ms")];
    let steady = [fine[0], fine[1], fine[2], ("warmup", "2 s")];
    let mut experiments = vec![
        Experiment::new("start/one", SCENARIO, fine, reduce)?,
        Experiment::new(
            "start/one-requests",
            SCENARIO,
            [fine[0], fine[1], fine[2], REQUESTS],
            reduce,
        )?,
        Experiment::new("start/one-steady", SCENARIO, steady, |run, out| {
            out.value("net_max", m::ms(run.records.flows[0].one_way.max()));
        })?,
    ];
    for variant in &STARTS {
        let mut changes = base(options).to_vec();
        changes.push(("ue.count", "4"));
        changes.extend(variant.changes);
        experiments.push(Experiment::new(
            name(variant.key),
            SCENARIO,
            changes,
            first_second,
        )?);
    }
    Ok(Part {
        id: "start",
        measures: measures(),
        experiments,
        draw: Box::new(draw),
    })
}

/// One flow from slow start: how its window grows and its round trip.
pub(super) fn reduce(run: &RunResult, out: &mut Outcome) {
    let flow = &run.records.flows[0];
    let series = &flow.series;
    let rtts: Vec<f64> = series
        .rtt
        .iter()
        .filter(|r| **r > 0)
        .map(|r| *r as f64 * 1e-6)
        .collect();
    let mut sorted = rtts.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |q: f64| sorted.get((q * sorted.len() as f64) as usize).copied();
    out.value("rtt_p5", at(0.05));
    out.value("rtt_p95", at(0.95));
    out.value("net_max", m::ms(flow.one_way.max()));
    let Some(first) = flow.transfers.first() else {
        return;
    };
    let (start, frame) = (first.start.as_nanos(), first.bytes.get());
    let holds = series.cwnd.iter().position(|c| *c >= frame);
    if let (Some(k), Some(rtt)) = (holds, m::mean(&rtts)) {
        let time = series.time[k].saturating_sub(start) as f64 * 1e-6;
        out.value("rtts", Some(time / rtt));
    }
    // What frames that were written and have not all arrived hold.
    let early = || {
        flow.transfers
            .iter()
            .take_while(|t| t.start.as_secs_f64() < 1.0)
    };
    let pile = |now| {
        let there = early().filter(|t| t.start <= now && t.end > now);
        there.map(|t| t.bytes.get()).sum::<u64>()
    };
    let most = early().map(|t| pile(t.start)).max();
    out.value("pile", most.map(|bytes| bytes as f64 * 1e-3));
    out.line("window", m::window_line(run, 0, "window"));
}

/// Late frames of the first second.
pub(super) fn first_second(run: &RunResult, out: &mut Outcome) {
    keep(run, out);
    let limit = run.scenario.record.late;
    let (mut late, mut last, mut slowest) = (0, 0, 0.0_f64);
    for flow in &run.records.flows {
        let early = flow
            .transfers
            .iter()
            .take_while(|t| t.start.as_secs_f64() < 1.0);
        for (k, t) in early.enumerate() {
            let delay = t.end.since(t.start);
            slowest = slowest.max(delay.as_millis_f64());
            if delay > limit {
                (late, last) = (late + 1, last.max(k + 1));
            }
        }
    }
    out.value("waits", Some(f64::from(late)));
    out.value("on_time_from", Some((last + 1) as f64));
    out.value("slowest", Some(slowest));
}

/// What is measured for the start (IV-C).
fn measures() -> Vec<Measure> {
    vec![
        Measure::product("start-rtts", |o| o.get("start/one").estimate("rtts")),
        Measure::product("rtt-least", |o| o.get("start/one").estimate("rtt_p5")),
        Measure::product("rtt-most", |o| o.get("start/one").estimate("rtt_p95")),
        Measure::product("start-pile", |o| o.get("start/one").estimate("pile")),
        Measure::product("start-queue", |o| {
            let (all, steady) = (o.get("start/one"), o.get("start/one-steady"));
            less(all, "net_max", 1.0, steady, "net_max")
        }),
    ]
}

fn draw(o: &Outcomes) -> Figure {
    let columns: [Entry; 6] = [
        Entry::less("late frames, first second", "", "waits"),
        Entry::less("all on time from frame", "", "on_time_from"),
        Entry::less("slowest frame", "ms", "slowest"),
        Entry::less("late, whole run", "%", "late_frame_all"),
        Entry::more("satisfied, whole run", "of 4", "frame_all"),
        Entry::more("satisfied, from 2 s on", "of 4", "frame_steady"),
    ];
    let rows: Vec<(String, &str, &Runs)> = STARTS
        .iter()
        .map(|w| (w.title.to_owned(), w.colour, o.get(&name(w.key))))
        .collect();
    let one = o.get("start/one");
    let alone = [
        Entry::plain("RTT, 5 % quantile", "ms", "rtt_p5"),
        Entry::plain("RTT, 95 % quantile", "ms", "rtt_p95"),
        Entry::plain("RTTs until the window holds a frame", "", "rtts"),
        Entry::plain("largest pile", "kB", "pile"),
    ];
    let requests = [
        ("each 5 ms, in each uplink slot".to_owned(), "cubic", one),
        (
            "each 10 ms".to_owned(),
            "cubic",
            o.get("start/one-requests"),
        ),
    ];
    let from = |variant: &str| o.get(&name(variant)).mean("on_time_from");
    let window = Drawing::Time {
        axis: Axis::new("Window", "segments"),
        lines: one.lines("window"),
        tracks: vec![],
        guides: vec![Guide::new(72.0, "a frame")],
    };
    Figure {
        title: "IV-C: the start".to_owned(),
        setup: "Scenario A; one flow, and four. A first window of 160 segments holds a frame: what the servers of an edge data centre can be \
                set to."
            .to_owned(),
        claim: "From ten segments the window takes 3 RTTs of 15 to 18 ms; 200 kB pile up and cost 2 ms in the cell. A start without that is \
                future work."
            .to_owned(),
        seen: format!(
            "One flow: {:.1} RTTs of {:.1} to {:.1} ms, {:.0} kB pile up. Four flows are all on time from frame {:.0} on with CUBIC, {:.0} \
             as printed, {:.0} with hold; with a first window of 160 segments from {:.0} with CUBIC and {:.0} with hold. QUIC: {:.0}, with \
             hold {:.0}, and with a first window of 160 packets {:.0} and {:.0}: TCP's receiver offers 65,535 bytes in its SYN (RFC 7323, 2.2), \
             which a frame of 104 kB exceeds, QUIC's offers all. With a scheduling request each 10 ms in place of 5 the RTT is {:.1} to \
             {:.1} ms and CUBIC is on time from frame {:.0} on.",
            one.mean("rtts"),
            one.mean("rtt_p5"),
            one.mean("rtt_p95"),
            one.mean("pile"),
            from("off"),
            from("paper"),
            from("hold"),
            from("window"),
            from("hold-window"),
            from("quic"),
            from("hold-quic"),
            from("quic-window"),
            from("hold-quic-window"),
            o.get("start/one-requests").mean("rtt_p5"),
            o.get("start/one-requests").mean("rtt_p95"),
            from("requests"),
        ),
        panels: vec![
            Panel::new("window", "The window of one flow", "First seed.", window),
            table("requests", "One flow", "scheduling requests", &alone, &requests).wide(),
            table("table", "Four flows", "sender and UPF", &columns, &rows).wide(),
        ],
        checks: vec![
            Check::of(
                "hold, first window of two frames: all four flows on time from this frame on, the second at the latest",
                "",
                2.0,
                o.get(&name("hold-window")).estimate("on_time_from"),
                Tolerance::AtMost,
            ),
        ],
        ..Figure::default()
    }
}
