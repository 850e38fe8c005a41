//! The out-of-band report: a UDP payload that names its flow.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use slackwater_core::PacketView;
use slackwater_signal::ReportBody;

use crate::WireError;
use crate::ip::{IpPacket, TCP, UDP};

const MAGIC: [u8; 4] = *b"SWXR";
const VERSION: u8 = 1;
/// Magic, version, kind of key, its length, protocol.
const HEADER: usize = 8;
const BODY: usize = 8;
const KEY_V4: u8 = 4;
const KEY_V6: u8 = 6;
const KEY_CID: u8 = 1;
/// A QUIC connection ID has at most 20 bytes (RFC 9000, 17.2).
const CID_MAX: usize = 20;

/// A flow by its addresses, in the direction of the sender that takes the reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FiveTuple {
    /// The sender's address.
    pub source: IpAddr,
    /// The receiver's address, of the same version.
    pub destination: IpAddr,
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// 6 for TCP, 17 for UDP and what runs on it.
    pub protocol: u8,
}

impl FiveTuple {
    /// That of a packet which shows ports.
    pub fn of<B: AsRef<[u8]> + AsMut<[u8]>>(packet: &IpPacket<B>) -> Option<Self> {
        let protocol = packet.protocol().filter(|p| matches!(*p, TCP | UDP))?;
        let (source_port, destination_port) = packet.ports()?;
        let (source, destination) = packet.addresses();
        Some(Self {
            source: address(source)?,
            destination: address(destination)?,
            source_port,
            destination_port,
            protocol,
        })
    }

    /// That of the packets which go the other way: an ACK's names the sender's data.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            protocol: self.protocol,
        }
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => Some(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?).into()),
        16 => Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into()),
        _ => None,
    }
}

/// A QUIC connection ID of 1 to 20 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionId {
    bytes: [u8; CID_MAX],
    len: u8,
}

impl ConnectionId {
    /// `None` where the length is none of 1 to 20; an empty ID names no connection.
    pub fn new(id: &[u8]) -> Option<Self> {
        if id.is_empty() {
            return None;
        }
        let mut bytes = [0; CID_MAX];
        bytes.get_mut(..id.len())?.copy_from_slice(id);
        Some(Self {
            bytes,
            len: id.len() as u8,
        })
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// What names the flow of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlowKey {
    /// Addresses and ports.
    FiveTuple(FiveTuple),
    /// The connection ID that the sender puts on its packets.
    ConnectionId(ConnectionId),
}

/// A report out of band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Its flow.
    pub flow: FlowKey,
    /// What it says.
    pub body: ReportBody,
}

impl Datagram {
    /// Appends the UDP payload to `out`. A tuple whose addresses differ in version is written with both as IPv6, the
    /// IPv4 one mapped (RFC 4291, 2.5.5.2).
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut key = [0; 36];
        let (kind, protocol, length) = match &self.flow {
            FlowKey::ConnectionId(id) => {
                let bytes = id.as_bytes();
                key[..bytes.len()].copy_from_slice(bytes);
                (KEY_CID, 0, bytes.len())
            }
            FlowKey::FiveTuple(tuple) => {
                let ports = (u32::from(tuple.source_port) << 16
                    | u32::from(tuple.destination_port))
                .to_be_bytes();
                if let (IpAddr::V4(source), IpAddr::V4(destination)) =
                    (tuple.source, tuple.destination)
                {
                    key[..4].copy_from_slice(&source.octets());
                    key[4..8].copy_from_slice(&destination.octets());
                    key[8..12].copy_from_slice(&ports);
                    (KEY_V4, tuple.protocol, 12)
                } else {
                    key[..16].copy_from_slice(&mapped(tuple.source));
                    key[16..32].copy_from_slice(&mapped(tuple.destination));
                    key[32..].copy_from_slice(&ports);
                    (KEY_V6, tuple.protocol, 36)
                }
            }
        };
        out.extend(MAGIC);
        out.extend([VERSION, kind, length as u8, protocol]);
        out.extend(&key[..length]);
        out.extend(self.body.0);
    }

    /// Reads a UDP payload.
    ///
    /// # Errors
    /// Anything that [`Datagram::encode`] does not write: another magic, version or kind of key, a length that does
    /// not belong to it, bytes missing or left over.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let Some((header, rest)) = bytes.split_at_checked(HEADER) else {
            return Err(WireError::new(
                0,
                format!("{} bytes", bytes.len()),
                format!("a header of {HEADER}"),
            ));
        };
        if header[..4] != MAGIC {
            return Err(WireError::new(0, format!("{:02x?}", &header[..4]), "SWXR"));
        }
        let [_, _, _, _, version, kind, length, protocol] = *header else {
            unreachable!("split above");
        };
        if version != VERSION {
            return Err(WireError::new(4, version.to_string(), "version 1"));
        }
        let length = usize::from(length);
        let whole = HEADER + length + BODY;
        if bytes.len() != whole {
            return Err(WireError::new(
                HEADER,
                format!("{} bytes", bytes.len()),
                format!("{whole}, by the length of the key"),
            ));
        }
        let (key, body) = rest.split_at(length);
        let flow = match (kind, length) {
            (KEY_V4, 12) => tuple(key, 4, protocol),
            (KEY_V6, 36) => tuple(key, 16, protocol),
            (KEY_CID, _) if protocol == 0 => ConnectionId::new(key).map(FlowKey::ConnectionId),
            _ => None,
        };
        let Some(flow) = flow else {
            return Err(WireError::new(
                5,
                format!("key {kind} of {length} bytes, protocol {protocol}"),
                "4 of 12, 6 of 36, or 1 of 1 to 20 with protocol 0",
            ));
        };
        Ok(Self {
            flow,
            body: ReportBody(body.try_into().expect("eight bytes are left")),
        })
    }
}

fn mapped(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

/// The tuple of a key with addresses of `width` bytes.
fn tuple(key: &[u8], width: usize, protocol: u8) -> Option<FlowKey> {
    let port = |at: usize| u16::from_be_bytes([key[at], key[at + 1]]);
    Some(FlowKey::FiveTuple(FiveTuple {
        source: address(&key[..width])?,
        destination: address(&key[width..2 * width])?,
        source_port: port(2 * width),
        destination_port: port(2 * width + 2),
        protocol,
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use slackwater_core::{Body, Datagram as Payload, Direction, FlowId, Packet};

    use super::*;
    use crate::packet::{IpVersion, encode};
    use crate::{IpBuf, IpPacket};

    fn v4() -> FiveTuple {
        FiveTuple {
            source: Ipv4Addr::new(192, 0, 2, 1).into(),
            destination: Ipv4Addr::new(10, 0, 0, 7).into(),
            source_port: 443,
            destination_port: 50_000,
            protocol: TCP,
        }
    }

    fn written(flow: FlowKey) -> Vec<u8> {
        let mut out = Vec::new();
        let body = ReportBody([1, 2, 3, 4, 5, 6, 7, 8]);
        Datagram { flow, body }.encode(&mut out);
        assert_eq!(Datagram::decode(&out), Ok(Datagram { flow, body }));
        out
    }

    #[test]
    fn the_layout_is_fixed() {
        let bytes = written(FlowKey::FiveTuple(v4()));
        let expected = [
            b'S', b'W', b'X', b'R', 1, 4, 12, 6, 192, 0, 2, 1, 10, 0, 0, 7, 1, 187, 195, 80, 1, 2,
            3, 4, 5, 6, 7, 8,
        ];
        assert_eq!(bytes, expected);
        let id = ConnectionId::new(&[9; 20]).unwrap();
        assert_eq!(written(FlowKey::ConnectionId(id)).len(), 36);
        let v6 = FiveTuple {
            source: "2001:db8::1".parse().unwrap(),
            destination: "fd00::7".parse().unwrap(),
            protocol: UDP,
            ..v4()
        };
        assert_eq!(written(FlowKey::FiveTuple(v6)).len(), 52);
        assert_eq!(ConnectionId::new(&[]), None);
        assert_eq!(ConnectionId::new(&[0; 21]), None);
    }

    #[test]
    fn an_ack_names_the_senders_flow() {
        let datagram = Body::Datagram(Payload::default());
        for (body, version, protocol) in [
            (Body::default(), IpVersion::V4, TCP),
            (datagram, IpVersion::V6, UDP),
        ] {
            let data = Packet {
                flow: FlowId(7),
                len: 1500,
                body,
                ..Packet::default()
            };
            let ack = Packet {
                dir: Direction::Up,
                ..data
            };
            let of = |p: &Packet| {
                let mut bytes = Vec::new();
                encode(p, version, usize::MAX, &mut bytes);
                FiveTuple::of(&IpBuf::new(bytes).unwrap()).unwrap()
            };
            assert_eq!(of(&ack).reversed(), of(&data));
            assert_eq!(of(&data).protocol, protocol);
            assert_eq!(of(&data).destination.is_ipv6(), version == IpVersion::V6);
        }
        // ICMP has no ports.
        let mut icmp = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 1, 0, 0];
        icmp.resize(28, 0);
        assert_eq!(FiveTuple::of(&IpPacket::new(icmp).unwrap()), None);
    }

    #[test]
    fn what_is_not_a_report_is_refused() {
        let good = written(FlowKey::FiveTuple(v4()));
        for cut in 0..good.len() {
            assert!(Datagram::decode(&good[..cut]).is_err(), "{cut} bytes");
        }
        let long: Vec<u8> = good.iter().copied().chain([0]).collect();
        assert!(Datagram::decode(&long).is_err());
        for at in 0..7 {
            let mut bad = good.clone();
            bad[at] ^= 0x20;
            assert!(Datagram::decode(&bad).is_err(), "byte {at}");
        }
        let error = Datagram::decode(b"SWXR\x02\x04\x0c\x06").unwrap_err();
        assert_eq!(error.to_string(), "byte 4: found 2, expected version 1");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Addresses of one version come back; of two, the IPv4 one comes back mapped (RFC 4291, 2.5.5.2).
        #[test]
        fn what_is_written_is_read(
            ends in any::<[([u8; 16], bool, u16); 2]>(),
            protocol: u8,
            id in proptest::collection::vec(any::<u8>(), 1..21),
            by_id: bool,
            body: [u8; 8],
        ) {
            let [source, destination] = ends.map(|(octets, is_v4, _)| -> IpAddr {
                let [a, b, c, d, ..] = octets;
                if is_v4 { Ipv4Addr::new(a, b, c, d).into() } else { Ipv6Addr::from(octets).into() }
            });
            let tuple = FiveTuple { source, destination, source_port: ends[0].2, destination_port: ends[1].2, protocol };
            let flow = if by_id {
                FlowKey::ConnectionId(ConnectionId::new(&id).unwrap())
            } else {
                FlowKey::FiveTuple(tuple)
            };
            let mut bytes = Vec::new();
            Datagram { flow, body: ReportBody(body) }.encode(&mut bytes);
            let read = Datagram::decode(&bytes).unwrap();
            prop_assert_eq!(read.body, ReportBody(body));
            match read.flow {
                FlowKey::FiveTuple(read) if source.is_ipv4() != destination.is_ipv4() => {
                    let six = |address| IpAddr::from(mapped(address));
                    let tuple = FiveTuple { source: six(source), destination: six(destination), ..tuple };
                    prop_assert_eq!(read, tuple);
                }
                read => prop_assert_eq!(read, flow),
            }
        }

        #[test]
        fn no_bytes_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..80), head in 0usize..9) {
            let _ = Datagram::decode(&bytes);
            let good = [b'S', b'W', b'X', b'R', 1, 1, 20, 0];
            let head = head.min(bytes.len());
            bytes[..head].copy_from_slice(&good[..head]);
            if let Ok(datagram) = Datagram::decode(&bytes) {
                let mut again = Vec::new();
                datagram.encode(&mut again);
                prop_assert_eq!(again, bytes);
            }
        }
    }
}
