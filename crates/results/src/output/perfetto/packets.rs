//! Data packets as slices from their sender to their receiver or drop, with the parts of their way inside.

use std::collections::HashMap;

use slackwater_core::{Direction, NodeId};

use super::lanes::Lanes;
use super::{Track, Writer};
use crate::record::{EVENT_NAMES, PacketRows, RunRecorder};

/// Indices into [`EVENT_NAMES`].
mod event {
    pub(super) const SENT: u8 = 0;
    pub(super) const DEQUEUED: u8 = 1;
    pub(super) const DELIVERED: u8 = 2;
    pub(super) const MARKED: u8 = 3;
}

/// A queue that a packet left.
#[derive(Clone, Copy, Debug)]
struct Stop {
    /// The queue's node.
    node: NodeId,
    /// When the packet left the node; the cell's is when the radio had delivered it.
    at: u64,
    /// How long it waited, in nanoseconds.
    wait: u64,
    /// In a cell, how long the radio took after that, in nanoseconds.
    radio: u64,
}

/// A packet on its way, and then its whole way.
#[derive(Clone, Debug)]
struct Life {
    /// When it left its sender.
    sent: u64,
    /// When it arrived or was dropped.
    end: u64,
    /// The event that ended it.
    fate: u8,
    /// Its flow.
    flow: u32,
    /// Its number.
    seq: u32,
    /// IP bytes.
    len: u16,
    /// Payload bytes.
    payload: u16,
    /// The queues that it left: the wired bottleneck, and the bottleneck.
    stops: [Option<Stop>; 2],
}

/// Writes at most `most` packets. The time from which on some are left out, and how many.
pub(super) fn write(
    run: &RunRecorder,
    flows: &[Track],
    most: usize,
    writer: &mut Writer,
) -> Option<(u64, u64)> {
    let mut lives = lives(run);
    lives.sort_by_key(|l| (l.sent, l.flow, l.seq));
    let more = lives.len().saturating_sub(most) as u64;
    let after = lives.get(most).map(|l| l.sent);
    lives.truncate(most);

    let mut lanes: Vec<(Lanes, Vec<Track>)> = Vec::new();
    lanes.resize_with(flows.len(), Default::default);
    for life in &lives {
        let flow = life.flow as usize;
        let (lanes, tracks) = &mut lanes[flow];
        let lane = lanes.take(life.sent, life.end);
        if lane == tracks.len() {
            tracks.push(writer.track("packets", Some(flows[flow])));
        }
        show(run, life, tracks[lane], writer);
    }

    let rows = run.left_out.packet_rows;
    let last = run.rows.time.last().copied();
    match after {
        Some(after) => Some((after, more)),
        None => last.filter(|_| rows > 0).map(|last| (last, rows)),
    }
}

/// The packets of data whose beginning and end are recorded.
fn lives(run: &RunRecorder) -> Vec<Life> {
    let rows = &run.rows;
    let config = run.config();
    let mut flying: HashMap<(u32, u32), Vec<Life>> = HashMap::new();
    let mut out = Vec::new();
    for k in 0..rows.len() {
        let Some(info) = config.flows.get(rows.flow[k] as usize) else {
            continue;
        };
        let way = if info.up {
            Direction::Up
        } else {
            Direction::Down
        };
        if rows.up[k] != way as u8 || rows.payload[k] == 0 {
            continue;
        }
        let copies = flying.entry((rows.flow[k], rows.seq[k])).or_default();
        match rows.event[k] {
            event::SENT => copies.push(begin(rows, k)),
            event::DEQUEUED => {
                let node = NodeId(rows.node[k]);
                let place = usize::from(Some(node) != config.wired);
                // Copies of a segment pass a queue in the order in which they were sent.
                if let Some(life) = copies.iter_mut().find(|l| l.stops[place].is_none()) {
                    life.stops[place] = Some(Stop {
                        node,
                        at: rows.time[k],
                        wait: rows.delay[k],
                        radio: rows.radio[k],
                    });
                }
            }
            event::MARKED => {}
            fate => {
                let sent = rows.time[k].saturating_sub(rows.delay[k]);
                let is = |l: &Life| fate != event::DELIVERED || l.sent == sent;
                if let Some(place) = copies.iter().position(is) {
                    let mut life = copies.remove(place);
                    (life.end, life.fate) = (rows.time[k], fate);
                    out.push(life);
                }
                if copies.is_empty() {
                    flying.remove(&(rows.flow[k], rows.seq[k]));
                }
            }
        }
    }
    out
}

fn begin(rows: &PacketRows, k: usize) -> Life {
    Life {
        sent: rows.time[k],
        end: rows.time[k],
        fate: event::SENT,
        flow: rows.flow[k],
        seq: rows.seq[k],
        len: rows.len[k],
        payload: rows.payload[k],
        stops: [None; 2],
    }
}

/// One packet on its lane.
fn show(run: &RunRecorder, life: &Life, track: Track, writer: &mut Writer) {
    let args = [
        ("number", u64::from(life.seq)),
        ("IP bytes", u64::from(life.len)),
        ("payload bytes", u64::from(life.payload)),
    ];
    writer.begin(life.sent, track, EVENT_NAMES[usize::from(life.fate)], &args);
    let mut from = life.sent;
    for stop in life.stops.iter().flatten() {
        let sent = stop.at.saturating_sub(stop.radio).max(from);
        let entered = sent.saturating_sub(stop.wait).max(from);
        let config = run.config();
        let names = if config.cell && stop.node == config.bottleneck {
            ["to the cell", "RLC queue", "radio"]
        } else if Some(stop.node) == config.wired {
            ["", "wired queue", ""]
        } else {
            ["", "queue", ""]
        };
        let ends = [from, entered, sent, stop.at];
        for (name, span) in names.iter().zip(ends.windows(2)) {
            if !name.is_empty() && span[0] < span[1] {
                writer.slice(span[0], span[1], track, name, &[]);
            }
        }
        from = stop.at;
    }
    if life.fate == event::DELIVERED && from < life.end {
        writer.slice(from, life.end, track, "to the host", &[]);
    }
    writer.end(life.end, track);
}
