//! Which flow of the world a packet belongs to.

use std::collections::{HashMap, HashSet};

use slackwater_core::{
    Body, Direction, FlowId, Packet, PacketView as _, Segment, SegmentBits, SeqNum, TcpFlags,
};
use slackwater_wire::IpBuf;
use slackwater_wire::report::FiveTuple;

use super::media;

/// Gives connections the flows that the world keeps for their UE, in the order in which they come.
#[derive(Debug)]
pub struct FlowTable {
    /// By UE.
    ues: Vec<UeFlows>,
    /// By flow key of either direction, and UE.
    known: HashMap<(u32, u32), Known>,
    /// Connections of QUIC.
    quic: Opened,
    /// Paths of WebRTC.
    media: Opened,
    /// By flow.
    flows: Vec<FlowState>,
    /// Ports that belong to a flow whatever else the packet says.
    ports: HashMap<u16, FlowId>,
}

/// A connection that is known.
#[derive(Clone, Copy, Debug)]
struct Known {
    flow: FlowId,
    /// The sequence number of the SYN that opened it, where it went this way.
    opened: Option<SeqNum>,
}

/// Connections that opened as QUIC or WebRTC does, by flow key of either direction and UE. Those without packets for longest are forgotten where
/// there are too many.
#[derive(Debug, Default)]
struct Opened {
    /// Those that had packets since `older` was filled.
    newer: HashSet<(u32, u32)>,
    older: HashSet<(u32, u32)>,
}

impl Opened {
    /// True where `key` is there, which keeps it.
    fn contains(&mut self, key: (u32, u32)) -> bool {
        if self.newer.contains(&key) {
            return true;
        }
        let old = self.older.remove(&key);
        if old {
            self.insert(key);
        }
        old
    }

    fn insert(&mut self, key: (u32, u32)) {
        if self.newer.len() >= OPENED_MOST / 2 {
            self.older = core::mem::take(&mut self.newer);
        }
        self.newer.insert(key);
    }
}

#[derive(Debug)]
struct UeFlows {
    /// What tells its connections from those of others, in labels.
    name: String,
    first: u32,
    count: u32,
    used: u32,
}

#[derive(Debug, Default)]
struct FlowState {
    label: Option<String>,
    ue: u32,
    /// Addresses and ports of its first packet, as they are on the way down.
    tuple: Option<FiveTuple>,
    /// It takes other connections too: what is counted of it is no connection's.
    shared: bool,
    /// By direction, down first.
    ways: [Way; 2],
    /// Which way the data goes, once that shows.
    up: Option<bool>,
    /// By direction, down first: the spin bit of QUIC's last short header, and how often it changed.
    spin: [(Option<bool>, u64); 2],
}

#[derive(Debug, Default)]
struct Way {
    /// Payload bytes of late: both directions are halved where they add up to [`LATELY`].
    payload: u64,
    /// End of the highest sequence number.
    end: Option<SeqNum>,
}

/// The form of a QUIC packet's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicForm {
    /// Long: of the handshake (RFC 9000, 17.2).
    Long,
    /// Short (RFC 9000, 17.3).
    Short {
        /// The spin bit.
        spin: bool,
    },
}

impl QuicForm {
    /// The spin bit, where there is one.
    pub const fn spin(self) -> Option<bool> {
        match self {
            Self::Long => None,
            Self::Short { spin } => Some(spin),
        }
    }
}

/// Payload bytes after which a direction is taken for that of the data: more than a request has.
const DECIDING: u64 = 4_000;
/// Keys of such connections that are remembered at most, two for each: packets of one that was forgotten count as datagrams. Ours.
const OPENED_MOST: usize = 1 << 16;
/// Payload bytes, both ways together, that say which way a connection's data goes now: an HTTPS server sends its certificates before
/// an upload. Ours: a tenth of a second at 10 Mbit/s.
const LATELY: u64 = 128_000;
/// As [`DECIDING`], for QUIC, whose client pads its handshake and probes the path's MTU.
const DECIDING_QUIC: u64 = 16_000;

impl FlowTable {
    /// A table for `ues` UEs with `each` flows; flows are numbered UE by UE.
    pub fn new(ues: u32, each: u32) -> Self {
        Self::named((0..ues).map(name), each)
    }

    /// As [`FlowTable::new`], with what labels say of each UE; where a UE has several `QoS` flows, each of these stands for a
    /// UE here.
    pub fn named(names: impl Iterator<Item = String>, each: u32) -> Self {
        let table = |(ue, name)| UeFlows {
            name,
            first: ue * each,
            count: each,
            used: 0,
        };
        let ues: Vec<UeFlows> = (0..).zip(names).map(table).collect();
        Self {
            known: HashMap::new(),
            quic: Opened::default(),
            media: Opened::default(),
            flows: (0..ues.len() as u32 * each)
                .map(|f| FlowState {
                    ue: f / each,
                    ..FlowState::default()
                })
                .collect(),
            ports: HashMap::new(),
            ues,
        }
    }

    /// A table for flows that are known beforehand, of which the iterator names the UEs. Packets of others travel with
    /// their UE's first flow and count for none.
    pub fn fixed(ues: impl Iterator<Item = u32>) -> Self {
        let flows: Vec<FlowState> = ues
            .map(|ue| FlowState {
                ue,
                ..FlowState::default()
            })
            .collect();
        let last = flows.iter().map(|f| f.ue).max().unwrap_or(0);
        let table = |ue| UeFlows {
            name: name(ue),
            first: flows.iter().position(|f| f.ue == ue).unwrap_or(0) as u32,
            count: 1,
            used: 0,
        };
        Self {
            ues: (0..=last).map(table).collect(),
            known: HashMap::new(),
            quic: Opened::default(),
            media: Opened::default(),
            ports: HashMap::new(),
            flows,
        }
    }

    /// Binds `port`, which no other flow uses on either side, to `flow`, whose data goes `up`.
    pub fn bind(&mut self, port: u16, flow: FlowId, label: &str, up: bool) {
        self.ports.insert(port, flow);
        let state = &mut self.flows[flow.index()];
        state.label = Some(label.to_owned());
        state.up = Some(up);
    }

    /// The flow of `ip`, which `ue` sends or receives. Where a UE has more connections than flows, the last flow takes
    /// all others.
    pub fn flow(&mut self, ip: &IpBuf, ue: u32, up: bool) -> FlowId {
        let key = ip.flow_key();
        let opens = opening(ip);
        if let Some(known) = self.known.get(&(key, ue)) {
            // Whose ports are bound keeps its flow. Others that open on ports in use before are another connection, as 28,232 ports
            // of Linux come again. Under the flow of the one before it would have its bins from then till now.
            if opens.is_none() || opens == known.opened || !self.ports.is_empty() {
                return known.flow;
            }
            self.known.remove(&(key, ue));
            self.known.remove(&(ip.reverse_key(), ue));
        }
        let bound = ip.ports().and_then(|(from, to)| {
            let of = |port| self.ports.get(&port).copied();
            of(from).or_else(|| of(to))
        });
        let own = &self.ues[ue as usize];
        if bound.is_none() && own.used == own.count {
            // The last flow takes it whether it is known or not: strangers do not fill the table.
            let last = FlowId(own.first + own.count - 1);
            self.flows[last.index()].shared |= FiveTuple::of(ip).is_some();
            return last;
        }
        let flow = bound.unwrap_or_else(|| {
            let ue = &mut self.ues[ue as usize];
            let place = ue.used.min(ue.count - 1);
            ue.used = place + 1;
            FlowId(ue.first + place)
        });
        let state = &mut self.flows[flow.index()];
        if state.label.is_none() {
            state.label = Some(label(ip, &self.ues[ue as usize].name, up));
        }
        if state.tuple.is_none() {
            let tuple = FiveTuple::of(ip);
            state.tuple = tuple.map(|t| if up { t.reversed() } else { t });
        }
        let known = |opened| Known { flow, opened };
        self.known.insert((ip.reverse_key(), ue), known(None));
        self.known.insert((key, ue), known(opens));
        flow
    }

    /// What `ip`, which `ue` sends or receives, shows of QUIC; `None` where its connection did not open as QUIC does.
    pub fn quic(&mut self, ip: &IpBuf, flow: FlowId, ue: u32, up: bool) -> Option<QuicForm> {
        let payload = ip.udp_payload()?;
        let first = *payload.first()?;
        let long = first & 0x80 != 0;
        let key = (ip.flow_key(), ue);
        if !self.quic.contains(key) {
            if !(long && opens_quic(payload)) {
                return None;
            }
            self.quic.insert(key);
            self.quic.insert((ip.reverse_key(), ue));
        }
        if long {
            return Some(QuicForm::Long);
        }
        let spin = first & 0x20 != 0;
        let (last, edges) = &mut self.flows[flow.index()].spin[usize::from(up)];
        *edges += u64::from(last.replace(spin).is_some_and(|l| l != spin));
        Some(QuicForm::Short { spin })
    }

    /// Bytes of media in `ip`, which `ue` sends or receives; `None` where it is no RTP, or its connection did not open as WebRTC does.
    pub fn media(&mut self, ip: &IpBuf, ue: u32) -> Option<usize> {
        let payload = ip.udp_payload()?;
        let key = (ip.flow_key(), ue);
        if self.media.contains(key) {
            return media::data(payload);
        }
        if media::opens(payload) {
            self.media.insert(key);
            self.media.insert((ip.reverse_key(), ue));
        }
        None
    }

    /// QUIC connections with the number of times that their spin bit changed, down and up: none where it is dark.
    pub fn spins(&self) -> Vec<(String, [u64; 2])> {
        let shown = |f: &&FlowState| f.spin.iter().any(|s| s.0.is_some());
        let quic = self.flows.iter().filter(shown);
        quic.filter_map(|f| Some((f.label.clone()?, f.spin.map(|s| s.1))))
            .collect()
    }

    /// Addresses and ports of `flow` on its way down, from the first packet that showed any; `None` where the flow is that of
    /// several connections.
    pub fn tuple(&self, flow: FlowId) -> Option<FiveTuple> {
        let state = &self.flows[flow.index()];
        state.tuple.filter(|_| !state.shared)
    }

    /// True for the first flow that the world keeps for a UE.
    pub fn is_first(&self, flow: FlowId) -> bool {
        self.ues.iter().any(|ue| ue.first == flow.0)
    }

    /// True where `packet` belongs to none of the flows that are known beforehand.
    pub fn is_stranger(&self, ip: &IpBuf) -> bool {
        !self.ports.is_empty()
            && !ip.ports().is_some_and(|(from, to)| {
                self.ports.contains_key(&from) || self.ports.contains_key(&to)
            })
    }

    /// Follows the sequence numbers of `packet`: marks it where it is sent again. Returns the direction of the flow's
    /// data at the moment in which it shows, or turns: then twice as much has gone the other way of late.
    pub fn follow(&mut self, packet: &mut Packet) -> Option<bool> {
        let up = packet.dir == Direction::Up;
        let state = &mut self.flows[packet.flow.index()];
        let way = &mut state.ways[usize::from(up)];
        let payload = packet.payload();
        let opens = |s: &Segment| s.flags.contains(TcpFlags::SYN);
        if payload == 0 && !packet.segment().is_some_and(opens) {
            return None;
        }
        way.payload += u64::from(payload);
        let own = way.payload;
        if let Body::Tcp(s) = &mut packet.body {
            let end = s.seq + u32::from(payload);
            // A SYN starts a connection anew.
            let syn = opens(s);
            let ahead = |to: SeqNum| (end.0.wrapping_sub(to.0) as i32) > 0;
            match way.end.filter(|_| !syn) {
                Some(last) if !ahead(last) => {
                    s.bits = s.bits.with(SegmentBits::RETRANSMISSION);
                }
                _ => way.end = Some(end),
            }
        }
        let enough = match packet.body {
            Body::QuicLong(_) | Body::QuicData(_) | Body::QuicAck(_) => DECIDING_QUIC,
            _ => DECIDING,
        };
        let other = state.ways[usize::from(!up)].payload;
        if own + other > LATELY {
            state.ways.iter_mut().for_each(|way| way.payload /= 2);
        }
        // Those that are known beforehand have their direction for good.
        let turns = match state.up {
            None => own >= enough,
            Some(before) => before != up && own >= enough.max(2 * other) && self.ports.is_empty(),
        };
        turns.then(|| {
            state.up = Some(up);
            up
        })
    }

    /// The flows that carried data, with their labels; the first of them all where none did.
    pub fn used(&self) -> Vec<(FlowId, String)> {
        let named = |(i, s): (usize, &FlowState)| {
            let label = s.label.clone()?;
            Some((FlowId(i as u32), label))
        };
        let flows = self.flows.iter().enumerate();
        let mut used: Vec<_> = flows
            .filter(|(_, s)| s.up.is_some())
            .filter_map(named)
            .collect();
        if used.is_empty() {
            used.push((FlowId(0), "idle".to_owned()));
        }
        // Labels are unique: they are those of connections, and a client may use a port again.
        for i in 1..used.len() {
            while used[..i].iter().any(|u| u.1 == used[i].1) {
                used[i].1.push('\'');
            }
        }
        used
    }

    /// The UE of `flow`.
    pub fn ue_of(&self, flow: FlowId) -> u32 {
        self.flows[flow.index()].ue
    }
}

/// The sequence number of a SYN that opens a connection (RFC 9293, 3.5).
fn opening(ip: &IpBuf) -> Option<SeqNum> {
    const TCP: u8 = 6;
    const SYN: u8 = 0x02;
    const ACK: u8 = 0x10;
    let header = ip.bytes().get(ip.transport_at(TCP)?..)?;
    let number = header.get(4..8)?.try_into().ok()?;
    (header.get(13)? & (SYN | ACK) == SYN).then(|| SeqNum(u32::from_be_bytes(number)))
}

/// True for a datagram of QUIC's handshake: a long header with the fixed bit (RFC 9000, 17.2) and a version in use.
fn opens_quic(payload: &[u8]) -> bool {
    // RFC 9000, 15; RFC 9369, 3.1.
    const VERSIONS: [[u8; 4]; 2] = [[0, 0, 0, 1], [0x6b, 0x33, 0x43, 0xcf]];
    payload.first().is_some_and(|first| first & 0xc0 == 0xc0)
        && payload
            .get(1..5)
            .is_some_and(|version| VERSIONS.iter().any(|v| v == version))
}

/// What labels say of a UE that has no name: nothing of the first.
fn name(ue: u32) -> String {
    if ue > 0 {
        format!("ue{ue}")
    } else {
        String::new()
    }
}

/// Protocol and ports, the server's first, and the name of the UE.
fn label(ip: &IpBuf, ue: &str, up: bool) -> String {
    let protocol = match ip.protocol() {
        Some(6) => "tcp".to_owned(),
        Some(17) => "udp".to_owned(),
        Some(1 | 58) => "icmp".to_owned(),
        Some(other) => format!("ip{other}"),
        None => "fragments".to_owned(),
    };
    let mut label = protocol;
    if let Some((from, to)) = ip.ports() {
        let (server, client) = if up { (to, from) } else { (from, to) };
        label.extend([" ", &server.to_string(), "-", &client.to_string()]);
    }
    if !ue.is_empty() {
        label.extend([" ", ue]);
    }
    label
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use slackwater_signal::ReportBody;

    use super::super::beside;
    use super::*;

    /// A UDP packet from the UE with `payload` at the start of its payload.
    fn packet(payload: &[u8]) -> IpBuf {
        let mut bytes = beside::to_ue(Ipv4Addr::new(100, 64, 0, 2).into(), ReportBody([0; 8]), 9);
        bytes[28..28 + payload.len()].copy_from_slice(payload);
        IpBuf::new(bytes).expect("well-formed")
    }

    #[test]
    fn strangers_share_the_last_flow_and_do_not_fill_the_table() {
        let mut table = FlowTable::named(["a", "b"].map(str::to_owned).into_iter(), 3);
        let mut flow = |port: u16, up| {
            let mut bytes = packet(&[1]).into_inner();
            let at = if up { 20 } else { 22 };
            bytes[at..at + 2].copy_from_slice(&port.to_be_bytes());
            table.flow(&IpBuf::new(bytes).unwrap(), 1, up).0
        };
        let first: Vec<u32> = (1..=3).map(|port| flow(port, true)).collect();
        assert_eq!(first, [3, 4, 5]);
        for port in 4..4_000 {
            assert_eq!(flow(port, true), 5);
        }
        assert_eq!(flow(1, true), 3, "the first are still known");
        // Two keys for each: of either direction.
        assert_eq!(table.known.len(), 6);
    }

    #[test]
    fn a_connection_on_ports_that_were_in_use_before_is_another() {
        let mut table = FlowTable::new(1, 3);
        let mut flow = |port: u32, flags: TcpFlags, seq: u32| {
            let segment = Segment {
                seq: SeqNum(seq),
                flags,
                ..Segment::default()
            };
            let packet = Packet {
                flow: FlowId(port),
                len: 40,
                dir: Direction::Up,
                body: Body::Tcp(segment),
                ..Packet::default()
            };
            let mut bytes = Vec::new();
            slackwater_wire::packet::encode(
                &packet,
                slackwater_wire::IpVersion::V4,
                usize::MAX,
                &mut bytes,
            );
            let ip = IpBuf::new(bytes).expect("well-formed");
            (table.flow(&ip, 0, true).0, table.known.len())
        };
        let (syn, ack) = (TcpFlags::SYN, TcpFlags::ACK);
        // A SYN that is sent again opens nothing new.
        assert_eq!(
            [flow(7, syn, 1), flow(7, syn, 1), flow(7, ack, 2)],
            [(0, 2); 3]
        );
        // Another number does: it has the next flow.
        assert_eq!([flow(7, syn, 9), flow(7, ack, 10)], [(1, 2); 2]);
        assert_eq!(flow(8, syn, 1), (2, 4));
        // Without a flow for it, it goes with the others.
        assert_eq!([flow(7, syn, 20), flow(7, ack, 21)], [(2, 2); 2]);
        assert_eq!(flow(9, syn, 1), (2, 2));
    }

    /// Follows a kilobyte of new data of flow 0; the direction, where it shows or turns.
    fn data(table: &mut FlowTable, up: bool) -> Option<bool> {
        let segment = Segment {
            seq: SeqNum(table.flows[0].ways[usize::from(up)].end.map_or(0, |n| n.0)),
            payload: 1_000,
            ..Segment::default()
        };
        table.follow(&mut Packet {
            flow: FlowId(0),
            len: 1_040,
            dir: if up { Direction::Up } else { Direction::Down },
            body: Body::Tcp(segment),
            ..Packet::default()
        })
    }

    #[test]
    fn data_goes_the_way_that_most_of_it_has_gone_of_late() {
        let mut table = FlowTable::new(1, 1);
        let mut told = |up: bool, kilobytes: u32| {
            let each = (1..=kilobytes).filter_map(|k| data(&mut table, up).map(|way| (k, way)));
            each.collect::<Vec<_>>()
        };
        // A server's certificates, then an upload.
        assert_eq!(told(false, 5), [(4, false)]);
        assert_eq!(told(true, 1_000), [(10, true)]);
        // A download on the same connection.
        let turned = told(false, 1_000);
        assert!(matches!(turned[..], [(50..=200, false)]), "{turned:?}");
        // As much both ways is nothing new.
        for _ in 0..1_000 {
            assert_eq!((told(true, 1), told(false, 1)), (Vec::new(), Vec::new()));
        }
    }

    #[test]
    fn what_a_scenario_knows_of_a_flow_holds() {
        let mut table = FlowTable::fixed([0].into_iter());
        table.bind(5_300, FlowId(0), "flow", true);
        assert!((0..1_000).all(|_| data(&mut table, false).is_none()));
    }

    #[test]
    fn quic_connections_without_packets_for_longest_are_forgotten() {
        let mut opened = Opened::default();
        opened.insert((0, 0));
        for k in 1..1_000_000 {
            opened.insert((k, 0));
            assert!(k % 1_000 > 0 || opened.contains((0, 0)), "{k}");
        }
        assert!(opened.newer.len() + opened.older.len() <= OPENED_MOST);
        assert!(!opened.contains((1, 0)) && opened.contains((999_999, 0)));
    }

    #[test]
    fn media_is_what_rtp_carries_once_a_path_has_opened() {
        let mut table = FlowTable::new(1, 4);
        let mut look = |bytes: &[u8]| {
            let ip = packet(bytes);
            table.media(&ip, 0)
        };
        let rtp = [0x80, 96];
        assert_eq!(look(&rtp), None);
        assert_eq!(look(&[0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42]), None);
        let length = packet(&rtp).udp_payload().expect("UDP").len();
        assert_eq!(look(&rtp), Some(length.saturating_sub(22)));
        assert_eq!(look(&[0x80, 200]), Some(0));
        assert_eq!(look(&[22, 254]), None);
    }

    #[test]
    fn quic_is_known_by_how_it_opens() {
        let mut table = FlowTable::new(1, 4);
        let mut look = |bytes: &[u8], up| {
            let ip = packet(bytes);
            let flow = table.flow(&ip, 0, up);
            let bits = table.quic(&ip, flow, 0, up);
            (bits, table.spins())
        };
        // Short headers, DTLS and long headers of no version open nothing.
        for other in [
            &[0x40, 1, 2, 3, 4][..],
            &[22, 254, 253, 0, 0],
            &[0xc0, 0, 0, 0, 9],
        ] {
            assert_eq!(look(other, true), (None, Vec::new()));
        }
        let long = look(&[0xc3, 0, 0, 0, 1], true).0.expect("QUIC");
        assert_eq!(long, QuicForm::Long);
        // The fixed bit may be greased from here on (RFC 9287).
        let spins = [0x40, 0x60, 0x20, 0x00, 0x47].map(|first| {
            let form = look(&[first], true).0.expect("still QUIC");
            form.spin().expect("a short header")
        });
        assert_eq!(spins, [false, true, true, false, false]);
        let edges = look(&[0x40], true).1;
        assert_eq!(edges.iter().map(|e| e.1).collect::<Vec<_>>(), [[0, 2]]);
    }
}
