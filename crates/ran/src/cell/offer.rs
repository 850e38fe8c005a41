//! What the downlink could carry for a UE, for laws that go by it (`Law::wants_capacity`).
//!
//! A UE's link in a slot is what it was granted and its part of the blocks that stayed free, at its own MCS (PBE-CC,
//! Xie et al. 2020, 4.1: `R_w (P_a + P_idle / N)`). A UE for which nothing waited is offered its part of the whole slot, as it
//! would have got it had something waited. Blocks that go out again are not offered: they bring nothing new.

use slackwater_core::{Bytes, Instant, PacketView};

use super::ue::Ue;
use super::{Cell, slot_start};

/// The link of a UE with such a law.
pub(super) struct Offer {
    ue: usize,
    /// Bytes that it could have carried so far.
    total: u64,
    /// Something waited for the UE when the slot began.
    wanted: bool,
    /// UEs for which something waited, this one included.
    sharers: u32,
    /// Groups for new data.
    groups: u16,
}

impl Offer {
    /// Those of `ues` that have such a law.
    pub(super) fn of<P: PacketView + Clone>(ues: &[Ue<P>]) -> Vec<Self> {
        ues.iter()
            .enumerate()
            .filter(|(_, ue)| ue.bearers.iter().any(|b| b.down.wants_capacity()))
            .map(|(ue, _)| Self {
                ue,
                total: 0,
                wanted: false,
                sharers: 1,
                groups: 0,
            })
            .collect()
    }

    fn tell<P: PacketView + Clone>(&self, now: Instant, ues: &mut [Ue<P>]) {
        for bearer in &mut ues[self.ue].bearers {
            bearer.down.on_capacity(now, Bytes(self.total));
        }
    }
}

impl<P: PacketView + Clone> Cell<P> {
    /// A slot begins in which `groups` are there for new data.
    pub(super) fn open_offers(&mut self, groups: u16) {
        let waiting = self.down.wants.len();
        for offer in &mut self.offers {
            offer.wanted = self.down.wants.contains(offer.ue);
            offer.sharers = waiting + u32::from(!offer.wanted);
            offer.groups = groups;
        }
    }

    /// `ue` is about to fill a block of `bytes`.
    pub(super) fn offer_grant(&mut self, now: Instant, ue: usize, bytes: u32) {
        if let Some(offer) = self.offers.iter_mut().find(|offer| offer.ue == ue) {
            offer.total += u64::from(bytes);
            offer.tell(now, &mut self.ues);
        }
    }

    /// The slot's grants are made, and `left` groups stayed free in a slot of `kind`.
    pub(super) fn close_offers(&mut self, slot: u64, kind: usize, left: u16) {
        let now = slot_start(slot, self.slot_ns);
        for offer in &mut self.offers {
            // What the scheduler knows of a UE that it does not serve may be old.
            self.down.refresh(offer.ue, slot, &mut self.radio);
            let groups = if offer.wanted { left } else { offer.groups };
            let table = &self.down.tables[kind - 1];
            let bytes = table.bytes(self.down.mcs[offer.ue], table.prbs(groups));
            offer.total += u64::from(bytes / offer.sharers);
            offer.tell(now, &mut self.ues);
        }
    }
}
