//! Sessions of a user plane function, each with its flows, which come and go.

use std::net::{Ipv4Addr, SocketAddr};

use slackwater_core::{
    Body, Direction, Duration, Ecn, FlowId, Instant, Packet, Segment, SegmentBits, SeqNum,
    TcpFlags, Teid,
};
use slackwater_edge::upf::cecc::CeccConfig;
use slackwater_edge::upf::l4s_marker::L4sMarkerConfig;
use slackwater_edge::upf::vaqm::VaqmConfig;
use slackwater_upf::testing::{
    self, GNB, GNB_ADDRESS, HERE, SMF, SMF_ADDRESS, association, downlink, qer, uplink,
};
use slackwater_upf::{Buf, Config, Output, Upf};
use slackwater_wire::pfcp::{Element, FTeid, Far, Header, Kind, Message, OuterHeader, interface};
use slackwater_wire::{IpVersion, packet};

use super::live;

/// Sessions at a time.
const BESIDE: usize = 50;
/// Connections of a session.
const FLOWS: u32 = 10;

fn config() -> Config {
    let mut config = testing::config();
    config.user.measure = Some(Duration::from_millis(10));
    let functions = &mut config.user.functions;
    functions.vaqm = Some(VaqmConfig::default());
    functions.cecc = Some(CeccConfig::default());
    functions.marker = Some(L4sMarkerConfig::default());
    config
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
        let setup = Kind::AssociationSetupRequest;
        soak.order(setup, None, &association(SMF_ADDRESS, 7));
        soak
    }

    /// Sends a request; the name of the session that the answer gives.
    fn order(&mut self, kind: Kind, seid: Option<u64>, elements: &[Element<'_>]) -> Option<u64> {
        self.seq = (self.seq + 1) & 0xff_ffff;
        let octets = testing::message(kind, seid, self.seq, elements);
        self.upf.on_n4(self.now, SMF, &octets);
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
        let answer = Kind::HeartbeatResponse;
        let octets = testing::message(answer, None, seq, &[Element::Recovery(7)]);
        self.upf.on_n4(self.now, from, &octets);
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
        let tunnel = FTeid::Given {
            teid: Teid(number + 1),
            v4: Some(HERE),
            v6: None,
        };
        let ue = Ipv4Addr::new(10, a, b, c);
        let pdrs = [uplink(1, tunnel, None), downlink(2, ue)];
        let outer = OuterHeader::gtpu(Teid(number + 1), GNB_ADDRESS);
        let fars = [
            Far::forward(1, interface::CORE, None),
            Far::forward(2, interface::ACCESS, Some(outer)),
        ];
        let name = u64::from(number) + 1;
        let elements = testing::establishment(name, pdrs, fars, qer(20.0, None), None);
        let establish = Kind::SessionEstablishmentRequest;
        let seid = self.order(establish, Some(0), &elements);
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
