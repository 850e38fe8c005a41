//! One UPF and one cell, packet by packet.

use slackwater_core::{Body, FlowId, Packet, Segment, SeqNum, SynOptions, TcpFlags};

use super::super::predict::tests::dddsu;
use super::super::*;

pub(super) const MSS: u32 = 1448;
pub(super) const UE: UeId = UeId(0);

pub(super) fn us(us: u64) -> Instant {
    Instant::from_nanos(us * 1_000)
}

pub(super) fn backlog(at: Instant, ue: u32, bytes: u64) -> RanReport {
    RanReport::Backlog {
        at,
        ue: UeId(ue),
        flow: FlowId(ue),
        bytes: Bytes(bytes),
    }
}

pub(super) fn link(at: Instant, ue: u32) -> RanReport {
    RanReport::LinkState {
        at,
        ue: UeId(ue),
        slot_bytes: Bytes(145_000),
        slot: Duration::from_millis(1),
    }
}

/// One UPF, one cell, time in microseconds.
pub(super) struct Bench {
    pub(super) cecc: Cecc<Packet>,
    pub(super) now: u64,
    pub(super) reported: u64,
    pub(super) ues: u32,
    pub(super) up: Vec<Packet>,
    pub(super) down: Vec<Packet>,
    pub(super) rbs: u64,
}

impl Bench {
    pub(super) fn new(mode: Mode) -> Self {
        let config = CeccConfig {
            mode,
            ..CeccConfig::default()
        };
        let mut bench = Self {
            cecc: Cecc::new(config),
            now: 1_000_000,
            reported: 1_000_000,
            ues: 2,
            up: Vec::new(),
            down: Vec::new(),
            rbs: 0,
        };
        bench.cecc.on_report(us(bench.now), &dddsu(us(1_000_000)));
        for ue in 0..bench.ues {
            bench
                .cecc
                .on_report(us(bench.now), &link(us(bench.now), ue));
        }
        bench.run(5_000);
        bench
    }

    /// Lets time pass, with a report each millisecond.
    pub(super) fn run(&mut self, span: u64) {
        let end = self.now + span;
        loop {
            self.drain();
            let timer = self
                .cecc
                .next_timer()
                .map_or(u64::MAX, |t| t.as_nanos().div_ceil(1_000).max(self.now));
            let report = self.reported + 1_000;
            let next = timer.min(report);
            if next > end {
                break;
            }
            self.now = next;
            if next == report {
                self.reported = report;
                for ue in 0..self.ues {
                    let at = us(report - 200);
                    self.cecc.on_report(us(report), &backlog(at, ue, self.rbs));
                }
            }
        }
        self.now = end;
    }

    /// Lets time pass without reports.
    pub(super) fn dark(&mut self, span: u64) {
        let end = self.now + span;
        loop {
            self.drain();
            match self.cecc.next_timer() {
                Some(t) if t <= us(end) => self.now = t.as_nanos().div_ceil(1_000).max(self.now),
                _ => break,
            }
        }
        self.now = end;
        self.reported = end;
        self.drain();
    }

    pub(super) fn drain(&mut self) {
        while let Some((direction, packet)) = self.cecc.release(us(self.now)) {
            match direction {
                Direction::Up => self.up.push(packet),
                Direction::Down => self.down.push(packet),
            }
        }
    }

    pub(super) fn pass(&mut self, direction: Direction, packet: Packet) {
        let ue = UeId(packet.flow.0);
        match self.cecc.on_packet(us(self.now), direction, ue, packet) {
            Verdict::Forward(p) if direction == Direction::Up => self.up.push(p),
            Verdict::Forward(p) => self.down.push(p),
            Verdict::Hold => {}
            other => panic!("{other:?}"),
        }
        self.drain();
    }

    pub(super) fn syn(&mut self, scale: Option<u8>) {
        let mut opening = Segment {
            flags: TcpFlags::SYN,
            ..Segment::default()
        };
        opening.set_syn_options(SynOptions {
            mss: Some(MSS as u16),
            window_scale: scale,
            sack_permitted: false,
        });
        let syn = Packet {
            len: 60,
            dir: Direction::Up,
            body: Body::Tcp(opening),
            ..Packet::default()
        };
        self.pass(Direction::Up, syn);
        let answer = Packet {
            dir: Direction::Down,
            body: Body::Tcp(Segment {
                flags: TcpFlags::SYN.with(TcpFlags::ACK),
                seq: SeqNum(u32::MAX),
                ..opening
            }),
            ..syn
        };
        self.now += 200;
        self.pass(Direction::Down, answer);
    }

    /// Sends the bytes from `from` to `to` of flow 0.
    pub(super) fn data(&mut self, from: u32, to: u32) {
        let mut seq = from;
        while seq < to {
            let payload = MSS.min(to - seq);
            let packet = Packet {
                len: payload as u16 + 40,
                body: Body::Tcp(Segment {
                    payload: payload as u16,
                    seq: SeqNum(seq),
                    flags: TcpFlags::ACK,
                    ..Segment::default()
                }),
                ..Packet::default()
            };
            self.pass(Direction::Down, packet);
            seq += payload;
        }
    }

    pub(super) fn ack(&mut self, ack: u32, window: u16) {
        self.pass(Direction::Up, up(ack, window));
    }

    /// A connection that has sent and got acknowledged `frames` frames of 100 kB at 60 FPS, as its server was let.
    pub(super) fn connection(mode: Mode, scale: u8, frames: u32) -> Self {
        let mut bench = Self::new(mode);
        bench.syn(Some(scale));
        let window = u16::try_from((4_u32 << 20) >> scale).unwrap_or(u16::MAX);
        bench.ack(0, window);
        for k in 0..frames {
            bench.data(k * 100_000, (k + 1) * 100_000);
            bench.run(12_000);
            for part in 1..=10 {
                bench.ack(k * 100_000 + part * 10_000, window);
            }
            bench.run(4_667);
        }
        bench
    }

    /// Right edge that the last packet to the server tells.
    pub(super) fn edge(&self, scale: u8) -> u32 {
        let last = segment(self.up.last().expect("something was told"));
        last.ack.0 + (u32::from(last.window) << scale)
    }
}

pub(super) fn up(ack: u32, window: u16) -> Packet {
    Packet {
        len: 40,
        dir: Direction::Up,
        body: Body::Tcp(Segment {
            flags: TcpFlags::ACK,
            ack: SeqNum(ack),
            window,
            ..Segment::default()
        }),
        ..Packet::default()
    }
}

pub(super) fn segment(packet: &Packet) -> &Segment {
    packet.segment().expect("a segment")
}

pub(super) const WINDOW: u16 = (4 << 20 >> 7) as u16;
