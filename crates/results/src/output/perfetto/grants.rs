//! Grants of the cell as slices of a slot, blocks that HARQ repeats from their first transmission to their last, and what RLC
//! sends again as slices of the slot on the air.

use std::collections::BTreeMap;

use super::{Track, Unit, Writer};
use crate::record::slots::SlotRows;

/// Where the grants of a UE and direction are shown.
#[derive(Clone, Copy, Debug)]
struct Side {
    /// A slice a grant.
    grants: Track,
    /// The index of the MCS.
    mcs: Track,
    /// Resource blocks.
    prbs: Track,
}

/// A block in a HARQ process.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// When its first transmission began.
    begin: u64,
    /// When its last one so far ended.
    end: u64,
    /// Its transmissions.
    rounds: u64,
    /// Its size in bytes.
    tbs: u64,
}

/// Writes at most `most` grants. The time from which on some are left out, and how many.
pub(super) fn write(
    rows: &SlotRows,
    ues: &[Option<Track>],
    most: usize,
    writer: &mut Writer,
) -> Option<(u64, u64)> {
    let slot = slot_length(rows);
    let shown = rows.time.len().min(most);
    let mut sides: BTreeMap<(u32, u8), Side> = BTreeMap::new();
    let mut blocks: BTreeMap<(u32, u8, u8), Block> = BTreeMap::new();
    let mut processes: BTreeMap<(u32, u8, u8), Track> = BTreeMap::new();

    for k in 0..shown {
        let (ue, up, at) = (rows.ue[k], rows.up[k], rows.time[k]);
        let Some(parent) = ues.get(ue as usize).copied().flatten() else {
            continue;
        };
        let side = *sides
            .entry((ue, up))
            .or_insert_with(|| side(parent, up, writer));
        let mcs = u64::from(rows.mcs[k]);
        let name = match rows.round[k] {
            0 => format!("MCS {mcs}"),
            round => format!("HARQ round {round}"),
        };
        let args = [
            ("MCS", mcs),
            ("PRBs", u64::from(rows.prbs[k])),
            ("TBS in bytes", rows.tbs[k]),
            ("HARQ process", u64::from(rows.harq[k])),
            ("HARQ round", u64::from(rows.round[k])),
            ("PRBs left over", u64::from(rows.free_prbs[k])),
        ];
        writer.slice(at, at + slot, side.grants, &name, &args);
        writer.value(at, side.mcs, mcs);
        writer.value(at, side.prbs, u64::from(rows.prbs[k]));

        let key = (ue, up, rows.harq[k]);
        if rows.round[k] == 0 {
            let block = Block {
                begin: at,
                end: at + slot,
                rounds: 1,
                tbs: rows.tbs[k],
            };
            if let Some(last) = blocks.insert(key, block) {
                repeated(&last, key, parent, &mut processes, writer);
            }
        } else if let Some(block) = blocks.get_mut(&key) {
            block.end = at + slot;
            block.rounds += 1;
        }
    }
    for (key, block) in &blocks {
        if let Some(parent) = ues.get(key.0 as usize).copied().flatten() {
            repeated(block, *key, parent, &mut processes, writer);
        }
    }

    let more = (rows.time.len() - shown) as u64 + rows.left_out;
    let after = rows.time.get(shown).or(rows.time.last()).copied();
    after.filter(|_| more > 0).map(|after| (after, more))
}

fn side(parent: Track, up: u8, writer: &mut Writer) -> Side {
    let way = way(up);
    Side {
        grants: writer.track(&format!("grants {way}"), Some(parent)),
        mcs: writer.counter(&format!("MCS {way}"), Unit::Count, parent),
        prbs: writer.counter(&format!("PRBs {way}"), Unit::Count, parent),
    }
}

/// Shows a block that was sent more than once.
fn repeated(
    block: &Block,
    key: (u32, u8, u8),
    parent: Track,
    processes: &mut BTreeMap<(u32, u8, u8), Track>,
    writer: &mut Writer,
) {
    if block.rounds < 2 {
        return;
    }
    let name = format!("HARQ {}", way(key.1));
    let track = *processes
        .entry(key)
        .or_insert_with(|| writer.track(&name, Some(parent)));
    let args = [
        ("HARQ process", u64::from(key.2)),
        ("transmissions", block.rounds),
        ("TBS in bytes", block.tbs),
    ];
    let name = format!("{} transmissions", block.rounds);
    writer.slice(block.begin, block.end, track, &name, &args);
}

const fn way(up: u8) -> &'static str {
    if up == 1 { "up" } else { "down" }
}

/// Writes what RLC sent again, a slice for each UE, direction and slot, at most `most` of them. The time from which on some are
/// left out, and how many.
pub(super) fn resent(
    rows: &SlotRows,
    ues: &[Option<Track>],
    most: usize,
    writer: &mut Writer,
) -> Option<(u64, u64)> {
    let slot = slot_length(rows);
    // Of a slot, one slice has all ranges and bearers; by time, since blocks up are not filled in the order of the air.
    let mut slots: BTreeMap<(u64, u32, u8), (u64, u64)> = BTreeMap::new();
    for row in &rows.resent {
        let (ranges, bytes) = slots.entry((row.air, row.ue, row.up)).or_default();
        *ranges += 1;
        *bytes += row.bytes;
    }

    let mut tracks: BTreeMap<(u32, u8), Track> = BTreeMap::new();
    for (&(at, ue, up), &(ranges, bytes)) in slots.iter().take(most) {
        let Some(parent) = ues.get(ue as usize).copied().flatten() else {
            continue;
        };
        let track = *tracks
            .entry((ue, up))
            .or_insert_with(|| writer.track(&format!("RLC again {}", way(up)), Some(parent)));
        let args = [("bytes", bytes), ("ranges", ranges)];
        writer.slice(at, at + slot, track, "RLC sends again", &args);
    }

    let more = slots.len().saturating_sub(most) as u64 + rows.resent_left_out;
    let after = slots.keys().nth(most).or(slots.keys().last());
    after.filter(|_| more > 0).map(|(at, ..)| (*at, more))
}

/// The length of a slot in nanoseconds: the time between two slots over how many there are from one to the other.
fn slot_length(rows: &SlotRows) -> u64 {
    let (Some(first), Some(from)) = (rows.slot.first(), rows.time.first()) else {
        return 0;
    };
    let Some(k) = rows.slot.iter().position(|s| s > first) else {
        // TS 38.211, 4.3.2: 1 ms at 15 kHz, where one slot alone has grants.
        return 1_000_000;
    };
    (rows.time[k] - from) / (rows.slot[k] - first)
}
