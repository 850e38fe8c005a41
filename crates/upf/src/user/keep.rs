//! Packets for UEs that are not reached: FARs that buffer, and their BARs (TS 29.244, 5.2.3).

use std::collections::{BTreeMap, VecDeque};

use slackwater_core::{Bytes, Instant, PacketView as _};

use super::packet::UserPacket;
use super::{Event, User};
use crate::rules::{Action, Pdr};
use crate::sessions::{Seid, Session};

/// What one session has waiting.
#[derive(Debug, Default)]
struct Waiting {
    packets: VecDeque<UserPacket>,
    /// Rules whose notice has left or is about to.
    told: Vec<u16>,
}

/// All that waits.
#[derive(Debug, Default)]
pub(super) struct Kept {
    by_session: BTreeMap<Seid, Waiting>,
    /// Notices that BARs delay.
    notices: BTreeMap<(Instant, Seid, u16), Event>,
    bytes: Bytes,
}

impl Kept {
    pub(super) const fn bytes(&self) -> Bytes {
        self.bytes
    }

    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.notices.keys().next().map(|k| k.0)
    }

    /// A notice that is due.
    pub(super) fn due(&mut self, now: Instant) -> Option<Event> {
        let first = self.notices.first_entry().filter(|e| e.key().0 <= now)?;
        Some(first.remove())
    }

    /// The session went; how many packets waited.
    pub(super) fn forget(&mut self, seid: Seid) -> usize {
        self.notices.retain(|k, _| k.1 != seid);
        let Some(waiting) = self.by_session.remove(&seid) else {
            return 0;
        };
        for packet in &waiting.packets {
            self.bytes = self.bytes.saturating_sub(Bytes(u64::from(packet.len())));
        }
        waiting.packets.len()
    }
}

impl User {
    /// Buffers a packet of `pdr`.
    pub(super) fn keep(
        &mut self,
        now: Instant,
        session: &Session,
        pdr: &Pdr,
        notify: bool,
        packet: UserPacket,
    ) {
        let seid = session.seid;
        let bar = pdr
            .far
            .and_then(|id| session.rules.far(id))
            .and_then(|far| far.bar)
            .and_then(|id| session.rules.bar(id));
        let most = bar
            .and_then(|b| b.packets)
            .unwrap_or(self.config.buffer_packets);
        let waiting = self.kept.by_session.entry(seid).or_default();
        if notify && !waiting.told.contains(&pdr.id) {
            waiting.told.push(pdr.id);
            let event = Event::Data {
                seid,
                pdr: pdr.id,
                qfi: packet.route.qfi,
            };
            // TS 29.244, 8.2.28: the notice waits, and what comes meanwhile is noticed with it.
            let at = now.saturating_add(bar.map(|b| b.notification_delay).unwrap_or_default());
            self.kept.notices.insert((at, seid, pdr.id), event);
        }
        let len = Bytes(u64::from(packet.len()));
        if waiting.packets.len() >= usize::from(most) || self.kept.bytes + len > self.config.buffer
        {
            self.counters.buffer_full += 1;
        } else {
            waiting.packets.push_back(packet);
            self.kept.bytes += len;
            self.counters.buffered += 1;
        }
        while let Some(event) = self.kept.due(now) {
            self.tell(event);
        }
    }

    /// A session's rules changed: what may go goes, what is to be dropped is.
    pub(super) fn release_kept(&mut self, now: Instant, session: &Session) {
        let seid = session.seid;
        let Some(mut waiting) = self.kept.by_session.remove(&seid) else {
            return;
        };
        let cell = self.state(seid).and_then(super::state::State::cell);
        let mut left = VecDeque::new();
        for packet in waiting.packets.drain(..) {
            let rules = &session.rules;
            let pdr = rules.pdrs.iter().find(|p| p.id == packet.route.pdr);
            let far = pdr.and_then(|p| p.far).and_then(|id| rules.far(id));
            match far.map_or(Action::Drop, |f| f.action) {
                Action::Buffer { .. } => {
                    left.push_back(packet);
                    continue;
                }
                Action::Drop => self.counters.buffer_dropped += 1,
                Action::Forward => {
                    let len = Bytes(u64::from(packet.len()));
                    self.functions.on_packet(now, cell, packet);
                    self.kept.bytes = self.kept.bytes.saturating_sub(len);
                    continue;
                }
            }
            let len = Bytes(u64::from(packet.len()));
            self.kept.bytes = self.kept.bytes.saturating_sub(len);
        }
        // A rule that ceased to buffer may do so anew, with a notice.
        waiting.told.retain(|pdr| {
            let far = session
                .rules
                .pdrs
                .iter()
                .find(|p| p.id == *pdr)
                .and_then(|p| p.far)
                .and_then(|id| session.rules.far(id));
            far.is_some_and(|f| matches!(f.action, Action::Buffer { .. }))
        });
        let told = &waiting.told;
        self.kept
            .notices
            .retain(|k, _| k.1 != seid || told.contains(&k.2));
        waiting.packets = left;
        if !waiting.packets.is_empty() || !waiting.told.is_empty() {
            self.kept.by_session.insert(seid, waiting);
        }
    }
}
