//! Packets from the data network.

use slackwater_core::{Direction, Instant, PacketView as _};
use slackwater_wire::IpPacket;

use super::buffer::Buf;
use super::classify::{Entry, Facts, Found, direction, find};
use super::packet::{Route, UserPacket};
use super::{User, state};
use crate::rules::Pdr;
use crate::sessions::{Session, Sessions};
use crate::usage::Usage;

impl User {
    /// A packet came by N6.
    pub fn on_n6(&mut self, now: Instant, sessions: &mut Sessions, usage: &mut Usage, packet: Buf) {
        self.follow(now, sessions, usage);
        self.counters.n6_in += 1;
        self.take_n6(now, sessions, usage, packet);
        self.send_ready(now, sessions, usage);
    }

    fn take_n6(&mut self, now: Instant, sessions: &Sessions, usage: &mut Usage, packet: Buf) {
        let Some(ip) = sound(packet) else {
            self.counters.malformed_ip += 1;
            return;
        };
        let facts = Facts::of(&ip);
        let Some(session) = sessions.by_address(facts.destination) else {
            self.counters.unknown_address += 1;
            return;
        };
        let Some((pdr, packet)) = self.meet(now, session, Entry::Plain, &facts, ip) else {
            return;
        };
        // Said at once, not after a wait in a queue.
        if let Some(mtu) = self.exceeded(session, pdr, &packet)
            && packet.ip().dont_fragment()
        {
            self.refuse_length(now, session, &packet, mtu);
            return;
        }
        self.enforce(now, session, pdr, packet, usage);
    }

    /// The rule that a packet meets, and the packet with what it says; counted where there is none.
    pub(super) fn meet<'a>(
        &mut self,
        now: Instant,
        session: &'a Session,
        entry: Entry,
        facts: &Facts,
        ip: IpPacket<Buf>,
    ) -> Option<(&'a Pdr, UserPacket)> {
        let rules = &session.rules;
        let decided = self
            .decisions
            .of(now, &ip)
            .filter(|d| d.seid == session.seid);
        let as_first = decided.and_then(|d| rules.pdrs.iter().find(|p| p.id == d.pdr));
        let found = match as_first {
            Some(pdr) => Found::Rule(pdr),
            None => find(rules, entry, facts),
        };
        let pdr = match found {
            Found::Rule(pdr) => pdr,
            Found::Spoofed => {
                self.counters.spoofed += 1;
                return None;
            }
            Found::Nothing => {
                self.counters.no_rule += 1;
                return None;
            }
        };
        self.decisions.note(now, &ip, session.seid, pdr.id);
        let came_in = match entry {
            Entry::Tunnel(_, qfi) => qfi,
            Entry::Plain => None,
        };
        let way = direction(pdr);
        let stated = state::qfi_of(rules, pdr);
        let route = Route {
            seid: session.seid,
            pdr: pdr.id,
            direction: way,
            qfi: match way {
                Direction::Down => stated.or(came_in),
                Direction::Up => came_in.or(stated),
            },
            reflective: state::qers(rules, pdr).any(|q| q.reflective),
            gbr_flow: state::gbr_flow_of(rules, pdr),
        };
        Some((
            pdr,
            UserPacket::new(now, ip, route, decided.map(|d| d.keys)),
        ))
    }
}

/// A packet whose length is that of its header; octets behind its end are cut off.
pub(super) fn sound(packet: Buf) -> Option<IpPacket<Buf>> {
    let ip = IpPacket::new(packet).ok()?;
    (ip.bytes().len() == ip.len() as usize).then_some(ip)
}
