//! Reports that travel as datagrams of their own, to sockets on either side.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use slackwater_core::FlowId;
use slackwater_signal::ReportBody;
use slackwater_wire::report::{Datagram, FiveTuple, FlowKey};

use slackwater_wire::checksum;

use super::bridge::Beside;
use crate::counted::{CounterReport, Key};

/// Where the UE's modem seems to be: an address of its link alone (RFC 3927; RFC 4291, 2.5.6).
const MODEM: (Ipv4Addr, Ipv6Addr) = (
    Ipv4Addr::new(169, 254, 0, 1),
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1),
);
const UDP: u8 = 17;

/// Where reports go that have no packet to ride on.
#[derive(Clone, Debug, Default)]
pub struct Ports {
    /// A port of the sender's host, at the servers or at the UE, for the cell's reports: [`Datagram`]s.
    pub reports: Option<u16>,
    /// Each flow's sender has a port of its own for them: that one and up, by the flow's number.
    pub by_flow: bool,
    /// Signs the counters of `ebb`.
    pub key: Option<Key>,
    /// A port of the UE, for its own transport blocks: the eight bytes of a [`ReportBody`].
    pub blocks: Option<u16>,
}

impl Ports {
    /// The port of the host that sends `flow`, for the cell's reports.
    pub(super) fn of(&self, flow: FlowId) -> Option<u16> {
        let own = if self.by_flow { flow.0 as u16 } else { 0 };
        self.reports?.checked_add(own)
    }
}

/// The IP packet that takes `report` to the sender of the flow `data`, as its data has it, in the name of the receiver's address;
/// counters with a tag, where there is a key and a serial number.
pub fn to_sender(data: FiveTuple, report: Beside, port: u16, key: Option<(&Key, u64)>) -> Vec<u8> {
    let flow = FlowKey::FiveTuple(data);
    let payload = match report {
        Beside::Report(body) => {
            let mut payload = Vec::with_capacity(64);
            Datagram { flow, body }.encode(&mut payload);
            payload
        }
        Beside::Counters(octets) => CounterReport::seal(flow, octets, key),
    };
    let from = SocketAddr::new(data.destination, port);
    udp(from, SocketAddr::new(data.source, port), &payload)
}

/// The IP packet in which a UE's modem tells it of its transport blocks.
pub fn to_ue(ue: IpAddr, body: ReportBody, port: u16) -> Vec<u8> {
    let modem = match ue {
        IpAddr::V4(_) => MODEM.0.into(),
        IpAddr::V6(_) => MODEM.1.into(),
    };
    udp(
        SocketAddr::new(modem, port),
        SocketAddr::new(ue, port),
        &body.0,
    )
}

/// A UDP datagram between two addresses of one version (RFC 768, RFC 791, RFC 8200).
fn udp(from: SocketAddr, to: SocketAddr, payload: &[u8]) -> Vec<u8> {
    let length = (8 + payload.len()) as u16;
    let mut packet = Vec::with_capacity(48 + payload.len());
    let addresses = match (from.ip(), to.ip()) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            packet.extend([0x45, 0]);
            packet.extend((20 + length).to_be_bytes());
            // Not to be fragmented; 64 hops.
            packet.extend([0, 0, 0x40, 0, 64, UDP, 0, 0]);
            packet.extend(a.octets());
            packet.extend(b.octets());
            let sum = checksum::finish(checksum::sum(&packet));
            packet[10..12].copy_from_slice(&sum);
            12..20
        }
        (a, b) => {
            let v6 = |ip| match ip {
                IpAddr::V6(ip) => ip,
                IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            };
            packet.extend([0x60, 0, 0, 0]);
            packet.extend(length.to_be_bytes());
            packet.extend([UDP, 64]);
            packet.extend(v6(a).octets());
            packet.extend(v6(b).octets());
            8..40
        }
    };
    let at = packet.len();
    packet.extend(from.port().to_be_bytes());
    packet.extend(to.port().to_be_bytes());
    packet.extend(length.to_be_bytes());
    packet.extend([0, 0]);
    packet.extend_from_slice(payload);
    let pseudo = checksum::sum(&packet[addresses]) + checksum::pseudo(UDP, u32::from(length));
    let mut sum = checksum::finish(pseudo + checksum::sum(&packet[at..]));
    // Zero would say that there is none (RFC 768).
    if sum == [0, 0] {
        sum = [0xff, 0xff];
    }
    packet[at + 6..at + 8].copy_from_slice(&sum);
    packet
}

#[cfg(test)]
mod tests {
    use slackwater_core::{Bytes, Duration, PacketView as _, Rate};
    use slackwater_signal::PathReport;
    use slackwater_wire::IpPacket;

    use super::*;

    #[test]
    fn datagrams_are_whole_in_both_versions() {
        let share = PathReport::Share {
            rate: Rate::from_bps(20_000_000),
            hol_delay: Duration::from_millis(3),
            seq: 7,
            shared: true,
        };
        let body = ReportBody::of(&share).unwrap();
        let ends: [(IpAddr, IpAddr); 2] = [
            ("100.64.0.1".parse().unwrap(), "100.64.0.2".parse().unwrap()),
            ("fd51::1".parse().unwrap(), "fd51::2".parse().unwrap()),
        ];
        for (source, destination) in ends {
            let down = FiveTuple {
                source,
                destination,
                source_port: 4433,
                destination_port: 50_000,
                protocol: 17,
            };
            let ip = IpPacket::new(to_sender(down, Beside::Report(body), 4434, None)).unwrap();
            assert!(ip.checksums_hold());
            assert_eq!(ip.ports(), Some((4434, 4434)));
            let got = Datagram::decode(ip.udp_payload().unwrap()).unwrap();
            assert_eq!(
                got,
                Datagram {
                    flow: FlowKey::FiveTuple(down),
                    body
                }
            );
            let blocks = PathReport::TransportBlocks {
                bytes: Bytes(900),
                span: Duration::from_millis(10),
                end: 4,
            };
            let body = ReportBody::of(&blocks).unwrap();
            let ip = IpPacket::new(to_ue(destination, body, 9)).unwrap();
            assert!(ip.checksums_hold());
            assert_eq!(ip.udp_payload(), Some(&body.0[..]));
        }
    }
}
