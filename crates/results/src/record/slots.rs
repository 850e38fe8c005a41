//! Rows of grants: what the scheduler of a cell gave, slot by slot.

use std::sync::{Arc, Mutex, PoisonError};

use slackwater_core::{Direction, Instant};
use slackwater_signal::{Observer, ResentView, SlotView};

/// One row for each grant, retransmissions included, in columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SlotRows {
    /// When the slot starts, nanoseconds since the start of the run.
    pub time: Vec<u64>,
    /// Slot number.
    pub slot: Vec<u64>,
    /// 1 where the data goes up.
    pub up: Vec<u8>,
    /// UE.
    pub ue: Vec<u32>,
    /// C-RNTI.
    pub rnti: Vec<u16>,
    /// HARQ process.
    pub harq: Vec<u8>,
    /// Transmission round; 0 is the first.
    pub round: Vec<u8>,
    /// New-data indicator: 1 where the block is new.
    pub ndi: Vec<u8>,
    /// MCS index.
    pub mcs: Vec<u8>,
    /// Resource blocks of the grant.
    pub prbs: Vec<u16>,
    /// Transport block size in bytes.
    pub tbs: Vec<u64>,
    /// Blocks that the slot left over.
    pub free_prbs: Vec<u16>,
    /// Grants that did not fit into `record.max_rows`.
    pub left_out: u64,
    /// What RLC sent again.
    pub resent: Vec<Resent>,
    /// Of that, what did not fit into `record.max_rows`.
    pub resent_left_out: u64,
}

/// Bytes of one bearer that RLC sent again in one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resent {
    /// When the slot starts in which they go on the air, nanoseconds since the start of the run.
    pub air: u64,
    /// UE.
    pub ue: u32,
    /// 1 where the data goes up.
    pub up: u8,
    /// Index of the bearer in its UE.
    pub bearer: u8,
    /// Bytes, without headers.
    pub bytes: u64,
}

/// Fills [`SlotRows`] from a cell's slots.
#[derive(Debug)]
pub struct SlotTap {
    rows: Arc<Mutex<SlotRows>>,
    max: usize,
}

impl SlotTap {
    /// A tap that keeps `max` rows, and where they will be.
    pub fn new(max: u64) -> (Self, Arc<Mutex<SlotRows>>) {
        let rows = Arc::new(Mutex::new(SlotRows::default()));
        let tap = Self {
            rows: Arc::clone(&rows),
            max: usize::try_from(max).unwrap_or(usize::MAX),
        };
        (tap, rows)
    }
}

impl Observer for SlotTap {
    fn on_slot(&mut self, _now: Instant, view: &SlotView<'_>) {
        if view.grants.is_empty() {
            return;
        }
        let mut r = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        for g in view.grants {
            if r.time.len() >= self.max {
                r.left_out += 1;
                continue;
            }
            r.time.push(view.start.as_nanos());
            r.slot.push(view.slot.0);
            r.up.push(u8::from(g.direction == Direction::Up));
            r.ue.push(g.ue.0);
            r.rnti.push(g.rnti.0);
            r.harq.push(g.harq);
            r.round.push(g.round);
            r.ndi.push(u8::from(g.ndi));
            r.mcs.push(g.mcs);
            r.prbs.push(g.prbs.0);
            r.tbs.push(g.tbs.0);
            r.free_prbs.push(view.free.0);
        }
    }
    fn on_resent(&mut self, _now: Instant, bytes: &ResentView) {
        let mut r = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if r.resent.len() >= self.max {
            r.resent_left_out += 1;
            return;
        }
        r.resent.push(Resent {
            air: bytes.air.as_nanos(),
            ue: bytes.ue.0,
            up: u8::from(bytes.direction == Direction::Up),
            bearer: bytes.bearer.0,
            bytes: bytes.bytes.0,
        });
    }
}
