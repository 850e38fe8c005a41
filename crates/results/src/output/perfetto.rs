//! A run as a trace for ui.perfetto.dev: what the records hold, on one axis of time.
//!
//! A flow has counters of its sender, a slice for each packet and an instant for each drop, mark and retransmission. A UE has
//! counters of its queues, a slice for each grant, one for each block that HARQ repeats and one for what RLC repeats. Each kind has a bound, so that
//! the trace of a long run stays small; where it is reached, an instant of the track "left out" has the number.

mod counters;
mod grants;
mod lanes;
mod packets;
mod schema;
#[cfg(test)]
mod tests;
mod writer;

use crate::record::{FlowInfo, FlowRecord, MAX_EVENTS, RunRecorder};
use writer::{Track, Unit, Writer};

/// Name of the file.
pub const FILE: &str = "trace.pftrace";

/// What of each kind a trace holds at most: about 4.6 million events in all, of 26 bytes in the mean (the run of the tests), so
/// about 120 MB. Events of flows are bounded by the record. Ours.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Packets.
    pub packets: usize,
    /// Grants, and as many slots in which RLC sends something again.
    pub grants: usize,
    /// Values of counters.
    pub values: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            packets: 200_000,
            grants: 400_000,
            values: 1_000_000,
        }
    }
}

/// The trace of `run` as a file: a `Trace` of Perfetto's protocol buffers.
pub fn trace(run: &RunRecorder, bounds: Bounds) -> Vec<u8> {
    let mut writer = Writer::default();
    let limits = writer.track("left out", None);
    let flows = flow_tracks(run, &mut writer);
    let ues = ue_tracks(run, &mut writer);
    for ((info, record), track) in run.config().flows.iter().zip(&run.flows).zip(&flows) {
        events(info, record, *track, &mut writer);
    }

    let events = run.left_out.event_times;
    if events > 0 {
        writer.instant(
            full_since(run),
            limits,
            &format!("{events} drops, marks and retransmissions from here on"),
        );
    }
    counters::write(run, &flows, &ues, bounds.values, &mut writer);
    if let Some((after, more)) = grants::write(&run.slots, &ues, bounds.grants, &mut writer) {
        writer.instant(after, limits, &format!("{more} grants from here on"));
    }
    if let Some((after, more)) = grants::resent(&run.slots, &ues, bounds.grants, &mut writer) {
        let text = format!("{more} retransmissions of RLC from here on");
        writer.instant(after, limits, &text);
    }
    if let Some((after, more)) = packets::write(run, &flows, bounds.packets, &mut writer) {
        writer.instant(after, limits, &format!("{more} packets from here on"));
    }
    writer.finish()
}

/// A track for each flow.
fn flow_tracks(run: &RunRecorder, writer: &mut Writer) -> Vec<Track> {
    let flows = run.config().flows.iter().enumerate();
    flows
        .map(|(i, info)| {
            let ue = info.ue.map(|ue| format!(", UE {ue}")).unwrap_or_default();
            writer.track(&format!("flow {i}: {}{ue}", info.label), None)
        })
        .collect()
}

/// A track for each UE that has a flow, by UE; none without a cell.
fn ue_tracks(run: &RunRecorder, writer: &mut Writer) -> Vec<Option<Track>> {
    let mut tracks = Vec::new();
    if !run.config().cell {
        return tracks;
    }
    let flows = run.config().flows.iter();
    let mut ues: Vec<u32> = flows.filter_map(|f| f.ue).collect();
    ues.extend(&run.slots.ue);
    ues.sort_unstable();
    ues.dedup();
    for ue in ues {
        tracks.resize(ue as usize, None);
        tracks.push(Some(writer.track(&format!("UE {ue}"), None)));
    }
    tracks
}

/// When the first list of a flow's drops, marks or retransmissions was full.
fn full_since(run: &RunRecorder) -> u64 {
    let lists = run
        .flows
        .iter()
        .flat_map(|f| [&f.drop_times, &f.mark_times, &f.resend_times]);
    let full = lists.filter(|times| times.len() >= MAX_EVENTS);
    full.filter_map(|times| times.last())
        .map(|at| at.as_nanos())
        .min()
        .unwrap_or(0)
}

/// Drops, marks and retransmissions of a flow.
fn events(info: &FlowInfo, record: &FlowRecord, flow: Track, writer: &mut Writer) {
    let kinds = [
        ("drop", &record.drop_times),
        ("mark", &record.mark_times),
        ("sent again", &record.resend_times),
    ];
    if kinds.iter().all(|(_, times)| times.is_empty()) {
        return;
    }
    let way = if info.up { "up" } else { "down" };
    let track = writer.track(&format!("events {way}"), Some(flow));
    for (name, times) in kinds {
        for at in times {
            writer.instant(at.as_nanos(), track, name);
        }
    }
}
