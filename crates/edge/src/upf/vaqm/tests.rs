//! One session between a server and a radio link with a queue of its own, packet by packet.

mod bypass;
mod radio;
mod told;

use std::collections::VecDeque;

use slackwater_core::{
    Body, Bytes, Datagram, Direction, Duration, Ecn, FlowId, Instant, Packet, Rate, Segment,
    SeqNum, TcpFlags, UeId,
};
use slackwater_queue::LawConfig;

use super::*;
use crate::{EdgeFunction, RanReport, Session, Verdict};

const MSS: u32 = 1448;
const UE: UeId = UeId(0);

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// A session with a maximum of `mbps`; zero for none.
fn session(vaqm: &mut Vaqm<Packet>, mbps: f64) {
    let up = Session::Up {
        ue: UE,
        gbr_flow: None,
        guaranteed: Rate::ZERO,
        maximum: Rate::from_mbps(mbps),
    };
    vaqm.on_session(Instant::ZERO, &up);
}

fn shown(vaqm: &Vaqm<Packet>) -> Snapshot {
    vaqm.snapshot(UE, None).expect("it has an instance")
}

fn datagram(flow: u32, number: u32) -> Packet {
    Packet {
        flow: FlowId(flow),
        len: 1500,
        body: Datagram::new(number, 1472).into(),
        ..Packet::default()
    }
}

fn segment(direction: Direction, segment: Segment) -> Packet {
    Packet {
        len: 52 + segment.payload,
        dir: direction,
        body: Body::Tcp(segment),
        ..Packet::default()
    }
}

/// A download whose server keeps `window` bytes on their way, whatever is marked, and the link that it crosses.
struct Download {
    vaqm: Vaqm<Packet>,
    /// Time in steps of 100 µs.
    now: u64,
    /// Bytes that the link carries in a step.
    rate: u64,
    /// Steps that a round trip takes without a queue.
    path: u64,
    window: u32,
    sent: u32,
    acked: u32,
    /// The segments' flags, by their number; all others have ACK alone.
    flags: Option<(u32, TcpFlags)>,
    /// Numbers of the segments that left with a mark, in order.
    marked: Vec<u32>,
    /// When the link has sent what it holds, in bytes since the start.
    busy: u64,
    /// When the acknowledgment of what crossed the link passes here, and its number.
    acks: VecDeque<(u64, u32)>,
    /// No acknowledgment comes any more.
    silent: bool,
    /// Packets take another way while the instance rests; how many did.
    bypasses: Option<u32>,
}

impl Download {
    /// A link of `mbps` and `path_ms` there and back.
    fn new(config: VaqmConfig, mbps: u64, path_ms: u64, window: u32) -> Self {
        Self {
            vaqm: Vaqm::new(config),
            now: 10_000,
            rate: mbps * 25 / 2,
            path: path_ms * 10,
            window,
            sent: 0,
            acked: 0,
            flags: None,
            marked: Vec::new(),
            busy: 0,
            acks: VecDeque::new(),
            silent: false,
            bypasses: None,
        }
    }

    fn time(&self) -> Instant {
        Instant::from_nanos(self.now * 100_000)
    }

    fn shown(&self) -> Snapshot {
        shown(&self.vaqm)
    }

    /// Lets time pass.
    fn run(&mut self, ms: u64) {
        for _ in 0..ms * 10 {
            self.now += 1;
            self.acknowledge();
            while !self.silent && self.sent + MSS - self.acked <= self.window {
                self.send();
            }
            self.drain();
        }
    }

    fn acknowledge(&mut self) {
        while let Some(&(at, ack)) = self.acks.front() {
            if at > self.now || self.silent {
                break;
            }
            self.acks.pop_front();
            self.acked = ack;
            let ack = Segment {
                ack: SeqNum(ack),
                flags: TcpFlags::ACK,
                ..Segment::default()
            };
            let up = segment(Direction::Up, ack);
            if self.bypass(Direction::Up, &up) {
                continue;
            }
            let verdict = self.vaqm.on_packet(self.time(), Direction::Up, UE, up);
            assert_eq!(verdict, Verdict::Forward(up), "the way up is open");
        }
    }

    fn send(&mut self) {
        let number = self.sent / MSS;
        let flags = self.flags.filter(|(k, _)| *k == number);
        let data = Segment {
            seq: SeqNum(self.sent),
            payload: MSS as u16,
            flags: flags.map_or(TcpFlags::ACK, |(_, flags)| flags),
            ..Segment::default()
        };
        let mut packet = segment(Direction::Down, data);
        packet.ecn = Ecn::Ect0;
        self.sent += MSS;
        if self.bypass(Direction::Down, &packet) {
            self.cross(&packet);
            return;
        }
        let time = self.time();
        match self.vaqm.on_packet(time, Direction::Down, UE, packet) {
            Verdict::Forward(packet) | Verdict::Mark(packet) => self.cross(&packet),
            Verdict::Hold => {}
            Verdict::Drop(packet) => panic!("{packet:?} can be marked"),
        }
    }

    /// True where the packet took another way.
    fn bypass(&mut self, direction: Direction, packet: &Packet) -> bool {
        let time = self.time();
        let rests = self.vaqm.rests(time, UE);
        let Some(passed) = self.bypasses.as_mut().filter(|_| rests) else {
            return false;
        };
        *passed += 1;
        self.vaqm.on_bypassed(time, direction, UE, packet);
        true
    }

    fn drain(&mut self) {
        while let Some((_, packet)) = self.vaqm.release(self.time()) {
            self.cross(&packet);
        }
    }

    /// The packet leaves for the radio.
    fn cross(&mut self, packet: &Packet) {
        let data = packet.segment().expect("a segment");
        if packet.ecn == Ecn::Ce {
            self.marked.push(data.seq.0 / MSS);
        }
        self.busy = self.busy.max(self.now * self.rate) + u64::from(packet.len);
        let arrival = self.busy.div_ceil(self.rate) + self.path;
        self.acks.push_back((arrival, data.seq.0 + MSS));
    }
}

fn with_law(mode: Mode, module: LawConfig) -> VaqmConfig {
    VaqmConfig {
        module,
        ..VaqmConfig::with_mode(mode)
    }
}
