//! Connections through the emulator's state, which come, close, reset and vanish.

use std::collections::HashMap;

use slackwater_core::{
    Body, Direction, Draw, Duration, FlowId, Instant, Packet, Segment, SegmentBits, SeqNum,
    TcpFlags,
};
use slackwater_lab::run::prepare;
use slackwater_live::bridge::{Bridge, Tap};
use slackwater_live::cells::{Edge, Middle, Wanted};
use slackwater_live::flows::FlowTable;
use slackwater_results::record::FlowRecord;
use slackwater_scenario::Plugins;
use slackwater_scenario::build::Hosts;
use slackwater_sim::NoClock;
use slackwater_wire::{IpVersion, packet};

use super::live;

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// All data, and FIN both ways.
    Whole,
    /// The UE closes half-way, and answers by RST what comes after.
    Early,
    /// The UE resets half-way.
    Reset,
    /// Both ends vanish half-way.
    Silent,
}

/// A download. What is lost is sent again from there on after a second.
#[derive(Debug)]
struct Connection {
    end: End,
    /// The server's first sequence number; the rest are octets from there on: the SYN, the data, the FIN.
    isn: u32,
    size: u32,
    sent: u32,
    acknowledged: u32,
    /// What the UE waits for.
    expected: u32,
    moved: Instant,
}

/// Octets of data in a packet.
const MSS: u32 = 1400;
/// Segments in flight at most.
const WINDOW: u32 = 16;
/// Connections at a time.
const BESIDE: usize = 4;
/// Ports of UEs that are drawn from, and come again: what Linux draws from has 28,232.
const PORTS: u64 = 2_000;

/// Silences between connections.
const PARTS: u64 = 20;

/// Both ends of all connections, by the UE's port.
struct Ends {
    draw: Draw,
    opened: u64,
    open: HashMap<u32, Connection>,
    /// Of what waits to be sent.
    out: Vec<Packet>,
    /// Data octets that arrived.
    carried: u64,
}

impl Ends {
    fn send(
        &mut self,
        now: Instant,
        port: u32,
        up: bool,
        flags: TcpFlags,
        numbers: [u32; 2],
        payload: u32,
    ) {
        self.out.push(Packet {
            flow: FlowId(port),
            len: (52 + payload) as u16,
            dir: if up { Direction::Up } else { Direction::Down },
            body: Body::Tcp(Segment {
                seq: SeqNum(numbers[0]),
                ack: SeqNum(numbers[1]),
                window: 0xffff,
                flags,
                payload: payload as u16,
                tsval: (now.as_nanos() / 1_000_000) as u32,
                bits: SegmentBits::TIMESTAMPS,
                ..Segment::default()
            }),
            ..Packet::default()
        });
    }

    /// Opens a connection on a port that none uses.
    fn begin(&mut self, now: Instant) {
        let bits = |k: u64| self.draw.bits(self.opened * 8 + k);
        let mut ports = (4..).map(|k| (bits(k) % PORTS) as u32);
        let port = ports
            .find(|p| !self.open.contains_key(p))
            .expect("few are in use");
        let connection = Connection {
            end: [End::Whole, End::Early, End::Reset, End::Silent][(bits(0) % 4) as usize],
            isn: bits(1) as u32,
            size: (1 + (bits(2) % 24) as u32) * MSS,
            sent: 0,
            acknowledged: 0,
            expected: 0,
            moved: now,
        };
        let first = bits(3) as u32;
        self.opened += 1;
        self.open.insert(port, connection);
        self.send(now, port, true, TcpFlags::SYN, [first, 0], 0);
    }

    /// The server sends what the window lets it.
    fn fill(&mut self, now: Instant, port: u32) {
        let Some(c) = self.open.get_mut(&port) else {
            return;
        };
        let (isn, size, end, from) = (c.isn, c.size, c.end, c.sent);
        let to = (c.acknowledged + WINDOW * MSS).min(size + 1);
        c.sent = c.sent.max(to);
        for at in (from..to).step_by(MSS as usize) {
            self.send(
                now,
                port,
                false,
                TcpFlags::ACK,
                [isn.wrapping_add(at), 1],
                MSS.min(to - at),
            );
        }
        if to == size + 1 && end == End::Whole && from <= to {
            if let Some(c) = self.open.get_mut(&port) {
                c.sent = size + 2;
            }
            let flags = TcpFlags::ACK.with(TcpFlags::FIN);
            self.send(now, port, false, flags, [isn.wrapping_add(to), 1], 0);
        }
    }

    /// What the UE does with a packet from the server.
    fn at_ue(&mut self, now: Instant, port: u32, s: &Segment) {
        let Some(c) = self.open.get_mut(&port) else {
            if !s.flags.contains(TcpFlags::RST) {
                self.send(now, port, true, TcpFlags::RST, [s.ack.0, 0], 0);
            }
            return;
        };
        let at = s.seq.0.wrapping_sub(c.isn);
        let flag = |f: TcpFlags| u32::from(s.flags.contains(f));
        if at == c.expected {
            c.expected += u32::from(s.payload) + flag(TcpFlags::SYN) + flag(TcpFlags::FIN);
            self.carried += u64::from(s.payload);
        }
        let ack = c.isn.wrapping_add(c.expected);
        let (half, whole) = (c.expected > c.size / 2, c.expected == c.size + 2);
        let (flags, gone) = match c.end {
            End::Whole if whole => (TcpFlags::ACK.with(TcpFlags::FIN), true),
            End::Early if half => (TcpFlags::ACK.with(TcpFlags::FIN), true),
            End::Reset if half => (TcpFlags::RST, true),
            End::Silent if half => (TcpFlags::ACK, true),
            _ => (TcpFlags::ACK, false),
        };
        if gone {
            let c = self.open.remove(&port);
            if c.is_some_and(|c| c.end == End::Silent) {
                return;
            }
        }
        self.send(now, port, true, flags, [s.ack.0, ack], 0);
    }

    /// What the server does with a packet from the UE.
    fn at_server(&mut self, now: Instant, port: u32, s: &Segment) {
        if s.flags.contains(TcpFlags::SYN) {
            if let Some(c) = self.open.get_mut(&port) {
                (c.sent, c.moved) = (1, now);
                let isn = c.isn;
                let flags = TcpFlags::SYN.with(TcpFlags::ACK);
                self.send(now, port, false, flags, [isn, s.seq.0.wrapping_add(1)], 0);
            }
            return;
        }
        if let Some(c) = self.open.get_mut(&port) {
            let acknowledged = s.ack.0.wrapping_sub(c.isn);
            if acknowledged > c.acknowledged && acknowledged <= c.sent {
                (c.acknowledged, c.moved) = (acknowledged, now);
            }
            self.fill(now, port);
        }
    }

    /// Goes back where nothing has moved for a second, and gives up where nothing can.
    fn time(&mut self, now: Instant) {
        let mut stuck: Vec<u32> = Vec::new();
        self.open.retain(|port, c| {
            let late = now.since(c.moved) > Duration::from_secs(1);
            if late && c.sent > 0 {
                c.sent = c.acknowledged.max(1);
                c.moved = now;
                stuck.push(*port);
            }
            c.sent > 0 || !late
        });
        stuck.sort_unstable();
        for port in stuck {
            self.fill(now, port);
        }
    }
}

/// An emulator's state behind an LTE cell with vAQM, without devices and without a clock.
struct Soak {
    bridge: Bridge,
    ends: Ends,
    now: Instant,
}

impl Soak {
    fn new(edge: &[Edge]) -> Self {
        let wanted = Wanted {
            name: "soak".to_owned(),
            middle: Middle::Cell("lte".to_owned()),
            ues: 1,
            delay: Duration::from_millis(5),
            queue: None,
            edge: edge.to_vec(),
            datagrams: false,
            blocks: false,
            seed: 1,
            flows: 32,
            set: Vec::new(),
            plugins: Plugins::default(),
        };
        let scenario = wanted.scenario().expect("a good scenario");
        let run = prepare(&scenario, scenario.seed, Hosts::External, |recorder| {
            Tap::new(recorder, Duration::from_millis(20), false).for_summary()
        })
        .expect("a world");
        Self {
            bridge: Bridge::new(run.world, FlowTable::new(1, 32), 1500),
            ends: Ends {
                draw: Draw::new(7),
                opened: 0,
                open: HashMap::new(),
                out: Vec::new(),
                carried: 0,
            },
            now: Instant::ZERO,
        }
    }

    /// A millisecond.
    fn step(&mut self) {
        self.now += Duration::from_millis(1);
        let now = self.now;
        self.bridge.run_until(now, &mut NoClock);
        let ends = &mut self.ends;
        self.bridge.departures(|d| {
            let p = packet::decode(&d.bytes).expect("a packet of ours");
            let s = p.segment().expect("TCP");
            if d.up {
                ends.at_server(now, p.flow.0, s);
            } else {
                ends.at_ue(now, p.flow.0, s);
            }
        });
        self.ends.time(now);
        for p in self.ends.out.drain(..) {
            let mut bytes = Vec::new();
            packet::encode(&p, IpVersion::V4, usize::MAX, &mut bytes);
            let up = p.dir == Direction::Up;
            self.bridge.arrive(now, up, 0, bytes).expect("a packet");
        }
    }

    /// Until so many connections have been opened.
    fn load(&mut self, connections: u64) {
        while self.ends.opened < connections {
            while self.ends.open.len() < BESIDE {
                self.ends.begin(self.now);
            }
            self.step();
        }
    }

    /// Silence.
    fn rest_until(&mut self, then: Instant) {
        self.now = self.now.max(then);
        self.step();
    }
}

/// What is left of a soak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Left {
    /// Octets that the thread holds.
    live: isize,
    /// Bins of all flows.
    bins: usize,
    /// Times of drops, marks and retransmissions of all flows.
    times: usize,
    /// Buffers.
    held: usize,
}

/// What `connections` leave, with a silence between any of their `parts`, up to an hour and then the last few.
fn left(connections: u64) -> Left {
    const END: u64 = 3_600;
    let before = live();
    let mut soak = Soak::new(&[Edge::Vaqm]);
    for k in 1..=PARTS {
        soak.load(k * connections / PARTS);
        soak.rest_until(Instant::ZERO + Duration::from_secs(k * END / PARTS));
    }
    soak.load(connections + 40);
    soak.rest_until(soak.now + Duration::from_secs(100));
    let flows = &soak.bridge.world.recorder().inner.flows;
    let times = |f: &FlowRecord| f.drop_times.len() + f.mark_times.len() + f.resend_times.len();
    Left {
        live: live() - before,
        bins: flows.iter().map(|f| f.bins.len()).sum(),
        times: flows.iter().map(times).sum(),
        held: soak.bridge.held(),
    }
}

/// Octets by which the same state may differ. Rings keep the room of their fullest moment: the largest are vAQM's of segments, 2^14 of
/// 40 octets, and the lists of times, 20,000 of 8 octets, of which each doubles once more at most.
const SLACK: isize = 1 << 20;

/// Both take an hour, as bins and samples come with time: what is left must not depend on how many connections there were.
#[test]
fn connections_through_the_emulator_leave_nothing() {
    let n = std::env::var("SOAK_CONNECTIONS").map_or(2_000, |n| n.parse().expect("a number"));
    let (one, four) = (left(n), left(4 * n));
    println!("{n} connections leave {one:?}, {} leave {four:?}", 4 * n);
    // An hour of the flow that all others share, and seconds of those that came first.
    for left in [one, four] {
        assert!((36_000..36_500).contains(&left.bins), "{left:?}");
        assert!(left.times <= 3 * 32 * 20_000, "{left:?}");
    }
    assert!((four.live - one.live).abs() < SLACK, "{one:?}, {four:?}");
}
