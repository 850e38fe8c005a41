//! Sessions of a user plane function, each with its flows, which come and go.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use slackwater_core::{
    Body, Direction, Duration, Ecn, FlowId, Instant, Packet, Rate, Segment, SegmentBits, SeqNum,
    TcpFlags, Teid,
};
use slackwater_edge::upf::cecc::CeccConfig;
use slackwater_edge::upf::l4s_marker::L4sMarkerConfig;
use slackwater_edge::upf::vaqm::VaqmConfig;
use slackwater_upf::n4::{self, LocalEnd};
use slackwater_upf::rules::Interface;
use slackwater_upf::user::UserConfig;
use slackwater_upf::{Buf, Config, Output, Upf};
use slackwater_wire::pfcp::{
    BitRates, Element, FSeid, FTeid, Far, Forwarding, Gates, Header, Kind, Message, NodeId,
    OuterHeader, Pdi, Pdr, Qer, UeIp, action, interface,
};
use slackwater_wire::{IpVersion, packet};

use super::live;

const HERE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 33);
const SMF: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 10)), 8_805);
const GNB: SocketAddr = SocketAddr::new(IpAddr::V4(GNB_ADDRESS), 2_152);
/// Sessions at a time.
const BESIDE: usize = 50;
/// Connections of a session.
const FLOWS: u32 = 10;

fn config() -> Config {
    let mut user = UserConfig {
        n3_v4: Some(HERE),
        measure: Some(Duration::from_millis(10)),
        ..UserConfig::default()
    };
    user.functions.vaqm = Some(VaqmConfig::default());
    user.functions.cecc = Some(CeccConfig::default());
    user.functions.marker = Some(L4sMarkerConfig::default());
    Config {
        user,
        n4: n4::Config {
            address: HERE.into(),
            ends: vec![LocalEnd {
                interface: Interface::Access,
                network: None,
                v4: Some(HERE),
                v6: None,
            }],
            ..n4::Config::default()
        },
    }
}

struct Soak {
    upf: Upf,
    now: Instant,
    /// Of the last request.
    seq: u32,
    begun: u32,
    /// The function's names of the sessions that are there, and their numbers.
    open: std::collections::VecDeque<(u64, u32)>,
    /// Packets that came out on N3 and on N6.
    left: [u64; 2],
}

impl Soak {
    fn new() -> Self {
        let mut soak = Self {
            upf: Upf::new(config()),
            now: Instant::ZERO + Duration::from_secs(1),
            seq: 0,
            begun: 0,
            open: std::collections::VecDeque::new(),
            left: [0; 2],
        };
        let node = Element::NodeId(NodeId::V4(Ipv4Addr::new(192, 0, 2, 10)));
        let setup = Kind::AssociationSetupRequest;
        soak.order(setup, None, &[node, Element::Recovery(7)]);
        soak
    }

    /// Sends a request; the name of the session that the answer gives.
    fn order(&mut self, kind: Kind, seid: Option<u64>, elements: &[Element<'_>]) -> Option<u64> {
        self.seq = (self.seq + 1) & 0xff_ffff;
        let header = Header {
            kind,
            seid,
            seq: self.seq,
            priority: None,
        };
        let mut octets = vec![0; 4_000];
        let n = header.write(elements, &mut octets).expect("it fits");
        self.upf.on_n4(self.now, SMF, &octets[..n]);
        self.drain()
    }

    fn drain(&mut self) -> Option<u64> {
        let mut named = None;
        while let Some(output) = self.upf.poll(self.now) {
            match output {
                Output::N3 { .. } => self.left[0] += 1,
                Output::N6(_) => self.left[1] += 1,
                Output::N4 { to, bytes } => {
                    let message = Message::parse(&bytes).expect("PFCP");
                    let Header { kind, seq, .. } = message.header;
                    if kind == Kind::HeartbeatRequest {
                        self.answer(to, seq);
                    }
                    for element in message.elements().flatten() {
                        match element {
                            Element::FSeid(id) => named = Some(id.seid),
                            Element::Cause(cause) => assert_eq!(cause, 1, "{kind:?}"),
                            _ => {}
                        }
                    }
                }
            }
        }
        while self.upf.take_event().is_some() {}
        named
    }

    fn answer(&mut self, from: SocketAddr, seq: u32) {
        let header = Header {
            kind: Kind::HeartbeatResponse,
            seid: None,
            seq,
            priority: None,
        };
        let mut octets = [0; 64];
        let n = header
            .write(&[Element::Recovery(7)], &mut octets)
            .expect("it fits");
        self.upf.on_n4(self.now, from, &octets[..n]);
    }

    /// Moves on to `to`, and does what is due meanwhile.
    fn pass(&mut self, to: Instant) {
        while let Some(at) = self.upf.next_timer().filter(|at| *at <= to) {
            self.now = self.now.max(at);
            self.drain();
        }
        self.now = to;
        self.drain();
    }

    /// A session comes: its UE has the address 10.0.0.0 and its number, its tunnels that number and one.
    fn begin(&mut self) {
        let number = self.begun;
        self.begun += 1;
        let [_, a, b, c] = number.to_be_bytes();
        let far = |id, to, outer| Far {
            id,
            action: Some(action::FORWARD),
            forwarding: Some(Forwarding {
                destination: Some(to),
                outer,
                ..Forwarding::default()
            }),
            ..Far::default()
        };
        let pdr = |id: u16, pdi| Pdr {
            id,
            precedence: Some(100),
            pdi: Some(pdi),
            outer_removal: (id == 1).then_some(0),
            far: Some(u32::from(id)),
            qers: vec![1],
            ..Pdr::default()
        };
        let up = Pdi {
            source: interface::ACCESS,
            tunnel: Some(FTeid::Given {
                teid: Teid(number + 1),
                v4: Some(HERE),
                v6: None,
            }),
            ..Pdi::default()
        };
        let down = Pdi {
            source: interface::CORE,
            ue: Some(UeIp {
                v4: Some(Ipv4Addr::new(10, a, b, c)),
                destination: true,
                ..UeIp::default()
            }),
            ..Pdi::default()
        };
        let outer = OuterHeader::gtpu(Teid(number + 1), GNB_ADDRESS);
        let rate = Rate::from_mbps(20.0);
        let seid = self.order(
            Kind::SessionEstablishmentRequest,
            Some(0),
            &[
                Element::NodeId(NodeId::V4(Ipv4Addr::new(192, 0, 2, 10))),
                Element::FSeid(FSeid {
                    seid: u64::from(number) + 1,
                    v4: Some(Ipv4Addr::new(192, 0, 2, 10)),
                    v6: None,
                }),
                Element::CreatePdr(pdr(1, up)),
                Element::CreatePdr(pdr(2, down)),
                Element::CreateFar(far(1, interface::CORE, None)),
                Element::CreateFar(far(2, interface::ACCESS, Some(outer))),
                Element::CreateQer(Qer {
                    id: 1,
                    gates: Some(Gates {
                        up: true,
                        down: true,
                    }),
                    maximum: Some(BitRates {
                        up: rate,
                        down: rate,
                    }),
                    ..Qer::default()
                }),
                Element::PdnType(1),
            ],
        );
        self.open.push_back((seid.expect("it is named"), number));
    }

    /// The oldest session goes.
    fn end(&mut self) {
        if let Some((seid, _)) = self.open.pop_front() {
            self.order(Kind::SessionDeletionRequest, Some(seid), &[]);
        }
    }

    /// A connection of session `number`: handshake, three segments and their acknowledgments, and an end by FIN, by RST or none.
    fn flow(&mut self, number: u32, flow: u32) {
        let fin = [TcpFlags::FIN, TcpFlags::RST, TcpFlags::ACK][(flow % 3) as usize];
        let syn = TcpFlags::SYN;
        let (ack, last) = (TcpFlags::ACK, TcpFlags::ACK.with(fin));
        for (up, flags, seq, acked, payload) in [
            (true, syn, 0, 0, 0),
            (false, syn.with(ack), 0, 1, 0),
            (true, ack, 1, 1, 0),
            (false, ack, 1, 1, 1400),
            (false, ack, 1401, 1, 1400),
            (true, ack, 1, 2801, 0),
            (false, ack, 2801, 1, 1400),
            (true, ack, 1, 4201, 0),
            (false, last, 4201, 1, 0),
        ] {
            let millis = (self.now.as_nanos() / 1_000_000) as u32;
            let p = Packet {
                flow: FlowId(flow << 24 | number),
                len: 52 + payload,
                dir: if up { Direction::Up } else { Direction::Down },
                ecn: if flow.is_multiple_of(2) {
                    Ecn::Ect1
                } else {
                    Ecn::NotEct
                },
                body: Body::Tcp(Segment {
                    seq: SeqNum(seq),
                    ack: SeqNum(acked),
                    window: 0xffff,
                    flags,
                    payload,
                    tsval: millis,
                    bits: SegmentBits::TIMESTAMPS,
                    ..Segment::default()
                }),
                ..Packet::default()
            };
            let mut octets = Vec::new();
            packet::encode(&p, IpVersion::V4, usize::MAX, &mut octets);
            if up {
                // TS 29.281, 5.1: version 1, GTP, no optional field; a G-PDU.
                let mut datagram = vec![0x30, 0xff];
                datagram.extend((octets.len() as u16).to_be_bytes());
                datagram.extend((number + 1).to_be_bytes());
                datagram.extend(octets);
                let datagram = Buf::copied(&datagram);
                self.upf.on_n3(self.now, GNB, datagram, Ecn::NotEct);
            } else {
                self.upf.on_n6(self.now, Buf::copied(&octets));
            }
            self.drain();
            self.pass(self.now + Duration::from_micros(500));
        }
    }

    /// Until so many sessions have been there.
    fn load(&mut self, sessions: u32) {
        while self.begun < sessions {
            if self.open.len() == BESIDE {
                self.end();
            }
            self.begin();
            let number = self.begun - 1;
            for flow in 0..FLOWS {
                self.flow(number, flow);
            }
        }
        while !self.open.is_empty() {
            self.end();
        }
        // Answers are kept for N1 + 1 times T1, flows for a minute.
        self.pass(self.now + Duration::from_secs(100));
    }
}

#[test]
fn sessions_and_their_flows_leave_nothing() {
    let before = live();
    let mut soak = Soak::new();
    let n: u32 = std::env::var("SOAK_SESSIONS").map_or(200, |n| n.parse().expect("a number"));
    let held = [n, 4 * n].map(|sessions| {
        soak.load(sessions);
        live() - before
    });
    println!(
        "{n} and {} sessions of {FLOWS} flows: {held:?} octets",
        4 * n
    );
    assert_eq!(
        soak.left,
        [u64::from(4 * n * FLOWS * 5), u64::from(4 * n * FLOWS * 4)]
    );
    assert_eq!(soak.upf.all_sessions().len(), 0);
    assert_eq!(held[0], held[1]);
}
