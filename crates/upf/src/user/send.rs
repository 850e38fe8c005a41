//! Where packets go that leave, and in which header.

use std::net::{IpAddr, SocketAddr};

use slackwater_core::{Direction, Instant, PacketView as _, Qfi};
use slackwater_wire::gtpu::extension::{MAX_CONTENT, PDU_SESSION_CONTAINER};
use slackwater_wire::gtpu::psc::{Container, Downlink, MAX, Uplink};
use slackwater_wire::gtpu::{Header, Kind, PORT};
use slackwater_wire::ip::fragments;

use super::classify::direction;
use super::functions::Judged;
use super::packet::{Route, UserPacket};
use super::{Buf, Output, User, ecn, icmp};
use crate::rules::{Action, Far, Interface, Pdr, RemoteTunnel};
use crate::sessions::{Session, Sessions};
use crate::usage::Usage;

/// UDP (RFC 768) and the mandatory part of GTP-U (TS 29.281, 5.1).
const UDP_AND_GTPU: usize = 8 + 8;
/// What the first extension header adds beside itself (TS 29.281, 5.1).
const OPTIONAL: usize = 4;

/// What stands before a packet in a tunnel.
#[derive(Debug)]
struct Outer {
    /// GTP-U with its extension header.
    bytes: [u8; 8 + OPTIONAL + MAX + 4],
    len: usize,
}

impl User {
    /// Sends what the edge functions let go, and takes over what they counted.
    pub(super) fn send_ready(&mut self, now: Instant, sessions: &Sessions, usage: &mut Usage) {
        while let Some(packet) = self.functions.done.ready.pop_front() {
            self.send(now, sessions, usage, packet);
        }
        let done = &mut self.functions.done;
        let Judged {
            law,
            full,
            unanswering,
            gone,
            marked_law,
            marked_report,
        } = core::mem::take(&mut done.judged);
        let counters = &mut self.counters;
        counters.queue_dropped += law + full + unanswering;
        counters.queue_law += law;
        counters.queue_full += full;
        counters.queue_unanswering += unanswering;
        counters.session_gone += gone;
        counters.marked += marked_law + marked_report;
        counters.marked_law += marked_law;
        counters.marked_report += marked_report;
    }

    fn send(&mut self, now: Instant, sessions: &Sessions, usage: &mut Usage, packet: UserPacket) {
        let route = packet.route;
        let Some(session) = sessions.get(route.seid) else {
            self.counters.session_gone += 1;
            return;
        };
        let pdr = session.rules.pdrs.iter().find(|p| p.id == route.pdr);
        let far = pdr.and_then(|p| p.far).and_then(|id| session.rules.far(id));
        let (Some(pdr), Some(far)) = (pdr, far) else {
            self.counters.forbidden += 1;
            return;
        };
        match far.action {
            Action::Drop => {
                self.counters.forbidden += 1;
                return;
            }
            // The rule changed while the packet waited.
            Action::Buffer { notify } => {
                self.keep(session, pdr, notify, packet);
                return;
            }
            Action::Forward => {}
        }
        let plain = matches!(far.destination, Some(Interface::Core | Interface::SgiLan));
        if far.outer.is_none() && !plain {
            self.counters.no_tunnel += 1;
            return;
        }
        if !super::count(usage, now, session, pdr, &packet, true) {
            self.counters.over_quota += 1;
            if let Some(state) = self.state_mut(route.seid) {
                state.traffic(route.direction).refused += 1;
            }
            return;
        }
        self.delays[usize::from(route.direction == Direction::Up)].add(packet.waited(now));
        if let Some(state) = self.state_mut(route.seid) {
            let traffic = state.traffic(route.direction);
            traffic.packets += 1;
            traffic.bytes.0 += u64::from(packet.len());
        }
        let Some(tunnel) = far.outer else {
            self.counters.n6_out += 1;
            self.out.push_back(Output::N6(packet.into_buf()));
            return;
        };
        let Some(mtu) = self.exceeded(session, pdr, &packet) else {
            self.send_in(now, far, tunnel, packet);
            return;
        };
        if packet.ip().dont_fragment() {
            self.refuse_length(now, session, &packet, mtu);
            return;
        }
        let Some(pieces) = fragments(packet.ip(), mtu) else {
            self.counters.too_long += 1;
            return;
        };
        self.counters.fragmented += 1;
        for piece in pieces {
            if let Some(ip) = super::n6::sound(Buf::copied(&piece)) {
                self.counters.fragments += 1;
                self.send_in(now, far, tunnel, UserPacket::new(now, ip, route, None));
            }
        }
    }

    /// Puts a packet into its tunnel.
    fn send_in(&mut self, now: Instant, far: &Far, tunnel: RemoteTunnel, packet: UserPacket) {
        let field = ecn::encapsulated(packet.ecn());
        let route = packet.route;
        let sent = (route.direction == Direction::Down && route.qfi.is_some())
            .then(|| self.stamp(now, &packet))
            .flatten();
        let mut bytes = packet.into_buf();
        let container = route.qfi.map(|qfi| match route.direction {
            Direction::Down => Container::Downlink(Downlink {
                qfi,
                reflective: route.reflective,
                sent,
                ..Downlink::default()
            }),
            Direction::Up => Container::Uplink(Uplink {
                qfi,
                ..Uplink::default()
            }),
        });
        let outer = Outer::plain(tunnel, container, bytes.len());
        let Some(outer) = outer.or_else(|| Outer::new(tunnel, container, bytes.len())) else {
            self.counters.no_room += 1;
            return;
        };
        bytes.prepend(&outer.bytes[..outer.len]);
        // Transport level marking (TS 29.244, 8.2.12): a value and which of its bits count.
        let dscp = far.marking.map_or(0, |(value, mask)| value & mask) & !0b11;
        self.counters.n3_out += 1;
        self.out.push_back(Output::N3 {
            to: SocketAddr::new(tunnel.address, PORT),
            tos: dscp | field as u8,
            bytes,
        });
    }

    /// The time stamp of a packet that is to be measured, at most one an interval and session.
    fn stamp(&mut self, now: Instant, packet: &UserPacket) -> Option<slackwater_wire::gtpu::Ntp> {
        let every = self.config.measure?;
        let clock = self.config.clock;
        let state = self.state_mut(packet.route.seid)?;
        let due = state.stamped.is_none_or(|at| now.since(at) >= every);
        due.then(|| {
            state.stamped = Some(now);
            clock.stamp(now)
        })
    }

    /// The longest packet that fits its tunnel, where `packet` is longer.
    pub(super) fn exceeded(
        &self,
        session: &Session,
        pdr: &Pdr,
        packet: &UserPacket,
    ) -> Option<usize> {
        let tunnel = pdr.far.and_then(|id| session.rules.far(id))?.outer?;
        let mtu = self.room_in(tunnel, packet.route.qfi);
        // What IPv6 must carry whole goes even where the outer packet is then cut (RFC 2473, 7.1).
        let mtu = if packet.ip().is_v6() {
            mtu.max(icmp::IPV6_LEAST)
        } else {
            mtu
        };
        (packet.len() as usize > mtu).then_some(mtu)
    }

    /// Octets of a packet that fits a tunnel whole.
    pub(super) fn room_in(&self, tunnel: RemoteTunnel, qfi: Option<Qfi>) -> usize {
        let ip = match tunnel.address {
            IpAddr::V4(_) => 20,
            IpAddr::V6(_) => 40,
        };
        // A container with or without a time stamp: always as if with one, so that the answer does not change.
        let container = match (qfi, self.config.measure) {
            (None, _) => 0,
            (Some(_), None) => OPTIONAL + 4,
            (Some(_), Some(_)) => OPTIONAL + 12,
        };
        self.config
            .n3_mtu
            .saturating_sub(ip + UDP_AND_GTPU + container)
    }

    /// Tells the sender of a packet that must not be cut what would fit: by N6, or in its tunnel where it is the UE.
    pub(super) fn refuse_length(
        &mut self,
        now: Instant,
        session: &Session,
        packet: &UserPacket,
        mtu: usize,
    ) {
        self.counters.too_long += 1;
        let Some(message) = icmp::too_long(packet.ip(), mtu, self.config.n6) else {
            return;
        };
        if !self.icmp_often.allows(now) {
            self.counters.icmp_suppressed += 1;
            return;
        }
        self.counters.icmp_out += 1;
        let message = Buf::copied(&message);
        if packet.route.direction == Direction::Down {
            self.out.push_back(Output::N6(message));
            return;
        }
        let rules = &session.rules;
        let down = rules.pdrs.iter().find(|p| direction(p) == Direction::Down);
        let far = down.and_then(|p| rules.far(p.far?));
        let tunnel = far
            .filter(|f| f.action == Action::Forward)
            .and_then(|f| f.outer);
        if let (Some(pdr), Some(far), Some(tunnel), Some(ip)) =
            (down, far, tunnel, super::n6::sound(message))
        {
            let route = Route {
                pdr: pdr.id,
                direction: Direction::Down,
                reflective: false,
                ..packet.route
            };
            self.send_in(now, far, tunnel, UserPacket::new(now, ip, route, None));
        }
    }

    /// The path has moved: the tunnel that was left ends (TS 23.501, 5.8.2.9).
    pub(super) fn send_end_marker(&mut self, tunnel: RemoteTunnel) {
        let mut octets = [0; 8];
        if Header::end_marker(tunnel.teid)
            .write(&[], 0, &mut octets)
            .is_ok()
        {
            self.counters.end_markers_out += 1;
            self.out.push_back(Output::N3 {
                to: SocketAddr::new(tunnel.address, PORT),
                tos: 0,
                bytes: Buf::copied(&octets),
            });
        }
    }
}

impl Outer {
    /// Most packets: an extension header of four octets with a QFI alone, and no sequence number (TS 29.281, 5.1 and 5.2.1; TS
    /// 38.415, 5.5.2). `None` where the container says more.
    fn plain(tunnel: RemoteTunnel, container: Option<Container>, payload: usize) -> Option<Self> {
        let flags = match container? {
            Container::Downlink(Downlink {
                qfi,
                reflective,
                paging: None,
                sent: None,
                seq: None,
                mbs_seq: None,
            }) if qfi.0 < 64 => [0, u8::from(reflective) << 6 | qfi.0],
            _ => return None,
        };
        let [high, low] = u16::try_from(payload + 8).ok()?.to_be_bytes();
        let [a, b, c, d] = tunnel.teid.0.to_be_bytes();
        let mut outer = Self {
            bytes: [0; 8 + OPTIONAL + MAX + 4],
            len: 16,
        };
        outer.bytes[..16].copy_from_slice(&[
            0x34,
            Kind::GPdu.octet(),
            high,
            low,
            a,
            b,
            c,
            d,
            0,
            0,
            0,
            PDU_SESSION_CONTAINER,
            1,
            flags[0],
            flags[1],
            0,
        ]);
        Some(outer)
    }

    fn new(tunnel: RemoteTunnel, container: Option<Container>, payload: usize) -> Option<Self> {
        let mut outer = Self {
            bytes: [0; 8 + OPTIONAL + MAX + 4],
            len: 0,
        };
        let header = Header::g_pdu(tunnel.teid);
        let mut content = [0; MAX];
        let written = match container {
            None => header.write(&[], payload, &mut outer.bytes),
            Some(container) => {
                let n = container.write(&mut content).ok()?;
                debug_assert!(n <= MAX_CONTENT);
                let extension = (PDU_SESSION_CONTAINER, &content[..n]);
                header.write(&[extension], payload, &mut outer.bytes)
            }
        };
        outer.len = written.ok()?;
        Some(outer)
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::Teid;
    use slackwater_wire::gtpu::Ntp;

    use super::*;

    #[test]
    fn the_short_way_writes_the_octets_of_the_long_one() {
        let tunnel = RemoteTunnel {
            teid: Teid(0x0102_a3f4),
            address: IpAddr::from([192, 0, 2, 1]),
        };
        let mut short = 0;
        for qfi in [0, 9, 63, 64, 200] {
            for reflective in [false, true] {
                for sent in [None, Some(Ntp(7))] {
                    for payload in [0, 1, 1_400, 65_519, 65_527, 65_528, 70_000] {
                        let down = Downlink {
                            qfi: Qfi(qfi),
                            reflective,
                            sent,
                            ..Downlink::default()
                        };
                        let container = Some(Container::Downlink(down));
                        let plain = Outer::plain(tunnel, container, payload);
                        let long = Outer::new(tunnel, container, payload);
                        short += usize::from(plain.is_some());
                        if let Some(plain) = plain {
                            let long = long.expect("the long way writes what the short one does");
                            assert_eq!(plain.bytes[..plain.len], long.bytes[..long.len]);
                        }
                    }
                }
            }
        }
        assert_eq!(short, 3 * 2 * 5, "all that say a QFI alone and fit");
    }
}
