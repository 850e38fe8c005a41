//! Packets for UEs that are not reached: FARs that buffer, and their BARs (TS 29.244, 5.2.3).

use std::collections::{BTreeMap, VecDeque};

use slackwater_core::{Bytes, Instant, PacketView as _};

use super::packet::UserPacket;
use super::{Event, User};
use crate::rules::{Action, Pdr};
use crate::sessions::{Seid, Session};

/// All that waits, by session in the order of arrival.
#[derive(Debug, Default)]
pub(super) struct Kept {
    by_session: BTreeMap<Seid, VecDeque<UserPacket>>,
    bytes: Bytes,
}

fn bytes_of(packet: &UserPacket) -> Bytes {
    Bytes(u64::from(packet.len()))
}

impl Kept {
    pub(super) const fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// The packets of a session, which wait no more.
    fn take(&mut self, seid: Seid) -> VecDeque<UserPacket> {
        let packets = self.by_session.remove(&seid).unwrap_or_default();
        let bytes = packets.iter().map(|p| bytes_of(p).get()).sum();
        self.bytes = self.bytes.saturating_sub(Bytes(bytes));
        packets
    }

    /// The session went; how many packets waited.
    pub(super) fn forget(&mut self, seid: Seid) -> usize {
        self.take(seid).len()
    }

    fn put(&mut self, seid: Seid, packet: UserPacket) {
        self.bytes += bytes_of(&packet);
        self.by_session.entry(seid).or_default().push_back(packet);
    }

    fn waiting(&self, seid: Seid) -> usize {
        self.by_session.get(&seid).map_or(0, VecDeque::len)
    }
}

impl User {
    /// Buffers a packet of `pdr`. The control plane hears of each; when it says so is its own matter (TS 29.244, 8.2.28).
    pub(super) fn keep(&mut self, session: &Session, pdr: &Pdr, notify: bool, packet: UserPacket) {
        let seid = session.seid;
        let rules = &session.rules;
        let far = pdr.far.and_then(|id| rules.far(id));
        let bar = far.and_then(|far| rules.bar(far.bar?));
        let most = bar
            .and_then(|b| b.packets)
            .unwrap_or(self.config.buffer_packets);
        if notify {
            self.tell(Event::Data { seid, pdr: pdr.id });
        }
        let room = self.kept.bytes() + bytes_of(&packet) <= self.config.buffer;
        if room && self.kept.waiting(seid) < usize::from(most) {
            self.kept.put(seid, packet);
            self.counters.buffered += 1;
        } else {
            self.counters.buffer_full += 1;
        }
    }

    /// A session's rules changed: what may go goes, what is to be dropped is.
    pub(super) fn release_kept(&mut self, now: Instant, session: &Session) {
        let seid = session.seid;
        let cell = self.state(seid).and_then(super::state::State::cell);
        for mut packet in self.kept.take(seid) {
            let rules = &session.rules;
            let pdr = rules.pdrs.iter().find(|p| p.id == packet.route.pdr);
            let far = pdr.and_then(|p| rules.far(p.far?));
            match far.map_or(Action::Drop, |f| f.action) {
                Action::Buffer { .. } => self.kept.put(seid, packet),
                Action::Drop => self.counters.buffer_dropped += 1,
                Action::Forward => {
                    packet.begin(now);
                    self.functions.on_packet(now, cell, packet);
                }
            }
        }
    }
}
