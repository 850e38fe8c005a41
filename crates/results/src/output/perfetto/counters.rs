//! Counters: the sampled state of senders and queues.

use super::{Track, Unit, Writer};
use crate::record::{FlowSeries, LinkRecord, RunRecorder};

/// Values of a counter: a track's time and value of a row.
type Of<'a> = Box<dyn Fn(usize) -> Option<u64> + 'a>;

/// Writes the counters of all flows and queues, at most `most` values of them: beyond, every second, third or n-th sample.
pub(super) fn write(
    run: &RunRecorder,
    flows: &[Track],
    ues: &[Option<Track>],
    most: usize,
    writer: &mut Writer,
) {
    let of_flows: usize = run.flows.iter().map(|f| 4 * f.series.time.len()).sum();
    let of_links: usize = run.links.iter().map(|l| 2 * l.series.time.len()).sum();
    let step = (of_flows + of_links).div_ceil(most.max(1)).max(1);
    for (record, track) in run.flows.iter().zip(flows) {
        flow(&record.series, *track, step, writer);
    }
    for record in &run.links {
        link(run, record, ues, step, writer);
    }
}

fn flow(s: &FlowSeries, flow: Track, step: usize, writer: &mut Writer) {
    let finite = |v: f64| (!v.is_nan()).then_some(v as u64);
    let counters: [(&str, Unit, Of<'_>); 4] = [
        (
            "congestion window",
            Unit::Bytes,
            Box::new(|k| Some(s.cwnd[k])),
        ),
        (
            "bytes in flight",
            Unit::Bytes,
            Box::new(|k| Some(s.in_flight[k])),
        ),
        ("smoothed RTT", Unit::Time, Box::new(|k| Some(s.srtt[k]))),
        (
            "pacing rate",
            Unit::Rate,
            Box::new(move |k| finite(s.pacing[k])),
        ),
    ];
    for (name, unit, value) in counters {
        series(name, unit, flow, &s.time, step, &value, writer);
    }
}

fn link(
    run: &RunRecorder,
    record: &LinkRecord,
    ues: &[Option<Track>],
    step: usize,
    writer: &mut Writer,
) {
    let config = run.config();
    let (ue, up) = ((record.index / 2) as usize, record.index % 2 == 1);
    let (name, parent) = if config.cell && record.node == config.bottleneck {
        // The queues of the whole cell have the last two numbers, which belong to no UE.
        match ues.get(ue).copied().flatten() {
            Some(track) if up => ("RLC queue up".to_owned(), track),
            Some(track) => ("RLC queue down".to_owned(), track),
            None => return,
        }
    } else {
        let name = if Some(record.node) == config.wired {
            "wired bottleneck".to_owned()
        } else if record.node == config.bottleneck {
            "bottleneck".to_owned()
        } else {
            format!("node {}", record.node.index())
        };
        let track = writer.track(&name, None);
        ("queue".to_owned(), track)
    };
    let s = &record.series;
    let backlog = |k: usize| Some(s.backlog[k]);
    let age = |k: usize| Some(s.hol[k]);
    series(&name, Unit::Bytes, parent, &s.time, step, &backlog, writer);
    let name = format!("{name}: delay of the head");
    series(&name, Unit::Time, parent, &s.time, step, &age, writer);
}

/// One counter: its values where they change, of every `step`-th row. None where it never has any but 0.
fn series(
    name: &str,
    unit: Unit,
    parent: Track,
    times: &[u64],
    step: usize,
    value: &dyn Fn(usize) -> Option<u64>,
    writer: &mut Writer,
) {
    let rows = || (0..times.len()).step_by(step);
    if rows().all(|k| value(k).unwrap_or(0) == 0) {
        return;
    }
    let track = writer.counter(name, unit, parent);
    let mut last = None;
    for k in rows() {
        if let Some(now) = value(k).filter(|now| Some(*now) != last) {
            writer.value(times[k], track, now);
            last = Some(now);
        }
    }
}
