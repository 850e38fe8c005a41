//! What was decided of a packet's first fragment holds for its others, which show no ports.

use std::collections::HashMap;
use std::net::IpAddr;

use slackwater_core::{Duration, Instant, PacketView as _};
use slackwater_wire::IpPacket;

use super::buffer::Buf;
use crate::sessions::Seid;

/// As long as a receiver waits for the rest of a packet (RFC 8200, 4.5; RFC 1122, 3.3.2).
const HOLD: Duration = Duration::from_secs(60);
/// Packets whose fragments are known at once; further ones are matched without ports.
const MOST: usize = 4_096;

/// The packet that fragments belong to: addresses, number, protocol (RFC 791, 2.3).
type Whole = (IpAddr, IpAddr, u32, u8);

/// What holds for all its fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) seid: Seid,
    pub(super) pdr: u16,
    /// Keys of the flow, this way and the other.
    pub(super) keys: (u32, u32),
}

/// Decisions about packets in fragments.
#[derive(Debug, Default)]
pub(super) struct Decisions {
    by_packet: HashMap<Whole, (Decision, Instant)>,
}

fn whole(ip: &IpPacket<Buf>, id: u32) -> Whole {
    let (source, destination) = ip.ends();
    // IPv6 counts its numbers for a pair of addresses alone (RFC 8200, 4.5).
    let protocol = if ip.is_v6() { 0 } else { ip.bytes()[9] };
    (source, destination, id, protocol)
}

impl Decisions {
    /// What was decided of a later fragment's first.
    pub(super) fn of(&self, now: Instant, ip: &IpPacket<Buf>) -> Option<Decision> {
        let fragment = ip.fragment().filter(|f| f.offset > 0)?;
        let (decision, at) = self.by_packet.get(&whole(ip, fragment.id))?;
        (now.since(*at) <= HOLD).then_some(*decision)
    }

    /// Notes a decision, where the packet is a first fragment.
    pub(super) fn note(&mut self, now: Instant, ip: &IpPacket<Buf>, seid: Seid, pdr: u16) {
        let Some(fragment) = ip.fragment().filter(|f| f.offset == 0) else {
            return;
        };
        if self.by_packet.len() >= MOST {
            self.by_packet.retain(|_, (_, at)| now.since(*at) <= HOLD);
        }
        let key = whole(ip, fragment.id);
        if self.by_packet.len() >= MOST && !self.by_packet.contains_key(&key) {
            // Of no order that matters: who floods with first fragments loses them.
            self.by_packet.clear();
        }
        let decision = Decision {
            seid,
            pdr,
            keys: (ip.flow_key(), ip.reverse_key()),
        };
        self.by_packet.insert(key, (decision, now));
    }
}
