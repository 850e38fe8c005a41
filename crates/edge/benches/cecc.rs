//! Time of a packet through CECC with 1, 1,000 and 10,000 sessions, reports each millisecond.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use slackwater_core::{
    Body, Bytes, Datagram, Direction, Duration, FlowId, Instant, Packet, Segment, SeqNum,
    SynOptions, TcpFlags, UeId,
};
use slackwater_edge::upf::cecc::{Cecc, CeccConfig, Mode};
use slackwater_edge::{EdgeFunction, RanReport, Verdict};

/// Packets per measurement.
const PACKETS: u64 = 1_000;

struct Bench {
    cecc: Cecc<Packet>,
    now: Instant,
    sessions: u32,
    seq: Vec<u32>,
    next: u32,
    /// Segments; else datagrams.
    tcp: bool,
}

impl Bench {
    fn new(mode: Mode, sessions: u32, tcp: bool) -> Self {
        let mut config = CeccConfig::default();
        config.mode = mode;
        let now = Instant::from_millis(1_000);
        let mut bench = Self {
            cecc: Cecc::new(config),
            now,
            sessions,
            seq: vec![0; sessions as usize],
            next: 0,
            tcp,
        };
        for k in 0..sessions {
            let link = RanReport::LinkState {
                at: now,
                ue: UeId(k),
                slot_bytes: Bytes(145_000),
                slot: Duration::from_millis(1),
            };
            bench.cecc.on_report(now, &link);
            let mut opening = Segment {
                flags: TcpFlags::SYN,
                ..Segment::default()
            };
            opening.set_syn_options(SynOptions {
                mss: Some(1448),
                window_scale: Some(7),
                sack_permitted: false,
            });
            let syn = Packet {
                flow: FlowId(k),
                len: 60,
                dir: Direction::Up,
                body: bench.body(opening),
                ..Packet::default()
            };
            bench.pass(Direction::Up, syn);
            let answer = Packet {
                dir: Direction::Down,
                body: bench.body(Segment {
                    flags: TcpFlags::SYN.with(TcpFlags::ACK),
                    seq: SeqNum(u32::MAX),
                    ..opening
                }),
                ..syn
            };
            bench.pass(Direction::Down, answer);
        }
        for _ in 0..10 {
            bench.report();
        }
        bench
    }

    const fn body(&self, segment: Segment) -> Body {
        if self.tcp {
            Body::Tcp(segment)
        } else {
            Body::Datagram(Datagram::new(segment.seq.0, segment.payload))
        }
    }

    /// One batch: a hundred sessions of those that there are.
    fn report(&mut self) {
        self.now += Duration::from_millis(1);
        for k in 0..self.sessions.min(100) {
            let report = RanReport::Backlog {
                at: self.now,
                ue: UeId(k),
                flow: FlowId(k),
                bytes: Bytes(0),
            };
            self.cecc.on_report(self.now, &report);
        }
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(out) = self.cecc.release(self.now) {
            std::hint::black_box(out);
        }
    }

    fn pass(&mut self, direction: Direction, packet: Packet) {
        let ue = UeId(packet.flow.0);
        let verdict: Verdict<Packet> = self.cecc.on_packet(self.now, direction, ue, packet);
        std::hint::black_box(&verdict);
        self.drain();
    }

    /// Packets of one session after the other, an ACK for every second, 72 per millisecond (860 Mbit/s).
    fn packets(&mut self) {
        for n in 0..PACKETS {
            self.now += Duration::from_micros(13);
            if n % 72 == 0 {
                self.report();
            }
            let k = self.next;
            self.next = (self.next + 7) % self.sessions;
            let first = self.seq[k as usize];
            let packet = Packet {
                flow: FlowId(k),
                len: 1_488,
                body: self.body(Segment {
                    payload: 1_448,
                    seq: SeqNum(first),
                    flags: TcpFlags::ACK,
                    ..Segment::default()
                }),
                ..Packet::default()
            };
            let ack = SeqNum(first.wrapping_add(1_448));
            self.seq[k as usize] = ack.0;
            self.pass(Direction::Down, packet);
            if n % 2 == 0 {
                let ack = Packet {
                    len: 40,
                    dir: Direction::Up,
                    body: self.body(Segment {
                        ack,
                        window: 40_000,
                        flags: TcpFlags::ACK,
                        ..Segment::default()
                    }),
                    ..packet
                };
                self.pass(Direction::Up, ack);
            }
        }
    }
}

fn per_packet(c: &mut Criterion) {
    let mut group = c.benchmark_group("cecc");
    group.throughput(Throughput::Elements(PACKETS * 3 / 2));
    for (name, mode, tcp) in [
        ("hold", Mode::Hold, false),
        ("credit", Mode::Credit, true),
        ("paper", Mode::Paper, true),
    ] {
        for sessions in [1, 1_000, 10_000] {
            let mut bench = Bench::new(mode, sessions, tcp);
            group.bench_function(format!("{name}, {sessions} sessions"), |b| {
                b.iter(|| bench.packets());
            });
        }
    }
    group.finish();
}

criterion_group!(benches, per_packet);
criterion_main!(benches);
