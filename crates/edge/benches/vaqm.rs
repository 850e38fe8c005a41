//! What a packet costs in vAQM: `cargo bench -p slackwater-edge --bench vaqm`.
//!
//! Thirty packets an iteration; a packet is a downlink segment or an uplink ACK; sessions take turns, so that with many of them each finds its
//! state out of the cache.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use slackwater_core::{Direction, Duration, FlowId, Instant, Packet, Rate, SeqNum, TcpFlags, UeId};
use slackwater_edge::upf::vaqm::{Vaqm, VaqmConfig};
use slackwater_edge::{EdgeFunction, Session, Verdict};

const MSS: u32 = 1448;
/// Segments that the radio holds of a session: what left so many before is acknowledged.
const FLIGHT: u32 = 24;
/// Segments that a sender keeps on their way, queues included.
const WINDOW: u32 = 64;

/// The state of one download.
#[derive(Clone, Copy, Default)]
struct Download {
    sent: u32,
    left: u32,
    acked: u32,
}

/// Sessions with a download each: two segments down and an ACK of two up, in turns.
struct Downloads {
    vaqm: Vaqm<Packet>,
    flows: Vec<Download>,
    now: Instant,
    next: usize,
    /// Time between two turns of one session.
    turn: Duration,
}

impl Downloads {
    fn new(sessions: usize, maximum: Rate) -> Self {
        let mut vaqm = Vaqm::new(VaqmConfig::default());
        for i in 0..sessions {
            let up = Session::Up {
                ue: UeId(i as u32),
                gbr_flow: None,
                guaranteed: Rate::ZERO,
                maximum,
            };
            vaqm.on_session(Instant::ZERO, &up);
        }
        let mut this = Self {
            vaqm,
            flows: vec![Download::default(); sessions],
            now: Instant::ZERO,
            next: 0,
            turn: Duration::from_millis(2),
        };
        for _ in 0..sessions * 200 {
            this.turn();
        }
        this
    }

    fn left(&mut self, packet: &Packet) {
        self.flows[packet.flow.index()].left = packet.tsval + 1;
    }

    /// Two segments and an ACK, unless the window is full; returns the packets handled.
    fn turn(&mut self) -> u64 {
        self.now += self.turn / self.flows.len() as u64;
        let i = self.next;
        self.next = (i + 1) % self.flows.len();
        let (ue, id) = (UeId(i as u32), FlowId(i as u32));
        let mut handled = 0;
        for _ in 0..2 {
            let flow = &mut self.flows[i];
            if flow.sent - flow.acked >= WINDOW {
                break;
            }
            let packet = Packet {
                flow: id,
                seq: SeqNum(flow.sent.wrapping_mul(MSS)),
                // No time stamps: the field carries the segment's index for the bench.
                tsval: flow.sent,
                len: 1500,
                payload: MSS as u16,
                flags: TcpFlags::ACK,
                ..Packet::default()
            };
            flow.sent += 1;
            handled += 1;
            if let Verdict::Forward(p) = self.vaqm.on_packet(self.now, Direction::Down, ue, packet)
            {
                self.left(&p);
            }
        }
        let flow = &mut self.flows[i];
        if flow.left > flow.acked + FLIGHT {
            flow.acked = (flow.left - FLIGHT).min(flow.acked + 2);
            let up = Packet {
                flow: id,
                ack: SeqNum(flow.acked.wrapping_mul(MSS)),
                len: 52,
                flags: TcpFlags::ACK,
                bits: Packet::BIT_UP,
                ..Packet::default()
            };
            handled += 1;
            black_box(self.vaqm.on_packet(self.now, Direction::Up, ue, up));
        }
        while self.vaqm.next_timer().is_some_and(|t| t <= self.now) {
            while let Some((_, packet)) = self.vaqm.release(self.now) {
                self.left(&packet);
            }
        }
        while let Some(lost) = self.vaqm.take_dropped() {
            black_box(lost);
        }
        handled
    }

    /// Goes on until `packets` have been handled.
    fn handle(&mut self, packets: u64) {
        let mut handled = 0;
        while handled < packets {
            handled += self.turn();
        }
    }
}

fn packets(c: &mut Criterion) {
    let mut group = c.benchmark_group("vaqm");
    group.throughput(Throughput::Elements(30));
    for sessions in [1, 1_000, 10_000] {
        // 12 Mbit/s a session: under the AMBR everything passes at once, above it everything waits in the fair queues.
        for (name, maximum) in [("pass", 100.0), ("shape", 11.5)] {
            let mut downloads = Downloads::new(sessions, Rate::from_mbps(maximum));
            group.bench_function(format!("{name}/{sessions}"), |b| {
                b.iter(|| downloads.handle(30));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, packets);
criterion_main!(benches);
