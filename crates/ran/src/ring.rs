//! What is to happen in the next slots: rings indexed by slot, not a heap of events.

/// Slots that a ring looks ahead. One occupancy word covers it; longer delays are put back when they come up.
pub(crate) const RING: u64 = 64;

/// Something about HARQ process `process` of `ue`, due in `slot`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) slot: u64,
    pub(crate) ue: u32,
    pub(crate) process: u8,
}

/// One kind of event.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    slots: Vec<Vec<Due>>,
    occupied: u64,
}

impl Ring {
    pub(crate) fn new() -> Self {
        Self {
            slots: vec![Vec::new(); RING as usize],
            occupied: 0,
        }
    }

    /// Puts `due` in its place; `now` is the running slot and lies before it.
    #[inline]
    pub(crate) fn push(&mut self, now: u64, due: Due) {
        debug_assert!(
            due.slot > now || now == 0,
            "{due:?} must lie after slot {now}"
        );
        let at = due.slot.min(now + RING - 1) % RING;
        self.slots[at as usize].push(due);
        self.occupied |= 1 << at;
    }

    /// True where something is due in `slot`, or has to be put back.
    #[inline]
    pub(crate) fn has(&self, slot: u64) -> bool {
        self.occupied >> (slot % RING) & 1 != 0
    }

    /// Takes what is due in `slot` into `out`, which is emptied first.
    #[inline]
    pub(crate) fn take(&mut self, slot: u64, out: &mut Vec<Due>) {
        out.clear();
        let at = slot % RING;
        if self.occupied >> at & 1 == 0 {
            return;
        }
        self.occupied &= !(1 << at);
        core::mem::swap(&mut self.slots[at as usize], out);
        let mut later = false;
        for due in out.iter() {
            later |= due.slot > slot;
        }
        if later {
            self.put_back(slot, out);
        }
    }

    #[cold]
    fn put_back(&mut self, slot: u64, out: &mut Vec<Due>) {
        let all = core::mem::take(out);
        for due in all {
            if due.slot > slot {
                self.push(slot, due);
            } else {
                out.push(due);
            }
        }
    }

    /// The first slot at or after `from` in which something is due (or has to be put back).
    #[inline]
    pub(crate) fn next(&self, from: u64) -> Option<u64> {
        (self.occupied != 0).then(|| {
            let turned = self.occupied.rotate_right((from % RING) as u32);
            from + u64::from(turned.trailing_zeros())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_events_come_up_in_their_slot() {
        let mut ring = Ring::new();
        let far = Due {
            slot: 200,
            ue: 1,
            process: 0,
        };
        let near = Due {
            slot: 7,
            ue: 2,
            process: 0,
        };
        ring.push(3, far);
        ring.push(3, near);
        let (mut out, mut seen) = (Vec::new(), Vec::new());
        let mut at = 4;
        while let Some(slot) = ring.next(at) {
            ring.take(slot, &mut out);
            seen.extend(out.iter().map(|d| (slot, d.ue)));
            at = slot + 1;
        }
        assert_eq!(seen, [(7, 2), (200, 1)]);
    }
}
