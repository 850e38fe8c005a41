//! What a packet costs in vAQM: `cargo bench -p slackwater-edge --bench vaqm`.
//!
//! One element is a downlink segment or an uplink ACK; sessions take turns, so that with many of them each finds its
//! state out of the cache.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use slackwater_core::{Direction, Duration, FlowId, Instant, Packet, Rate, SeqNum, TcpFlags, UeId};
use slackwater_edge::upf::vaqm::{Vaqm, VaqmConfig};
use slackwater_edge::{EdgeFunction, Session, Verdict};

const MSS: u32 = 1448;
/// Segments between one that leaves and the ACK that comes back at the same time.
const FLIGHT: u32 = 24;

/// Sessions with a download each: two segments down and an ACK of two up, in turns.
struct Downloads {
    vaqm: Vaqm<Packet>,
    sent: Vec<u32>,
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
            sent: vec![0; sessions],
            now: Instant::ZERO,
            next: 0,
            turn: Duration::from_millis(2),
        };
        for _ in 0..sessions * FLIGHT as usize {
            this.turn();
        }
        this
    }

    /// Three packets.
    fn turn(&mut self) {
        self.now += self.turn / self.sent.len() as u64;
        let i = self.next;
        self.next = (i + 1) % self.sent.len();
        let (ue, flow) = (UeId(i as u32), FlowId(i as u32));
        for _ in 0..2 {
            let packet = Packet {
                flow,
                seq: SeqNum(self.sent[i].wrapping_mul(MSS)),
                len: 1500,
                payload: MSS as u16,
                flags: TcpFlags::ACK,
                ..Packet::default()
            };
            self.sent[i] = self.sent[i].wrapping_add(1);
            let verdict = self.vaqm.on_packet(self.now, Direction::Down, ue, packet);
            black_box(matches!(verdict, Verdict::Forward(_)));
        }
        if self.sent[i] > FLIGHT {
            let up = Packet {
                flow,
                ack: SeqNum((self.sent[i] - FLIGHT).wrapping_mul(MSS)),
                len: 52,
                flags: TcpFlags::ACK,
                bits: Packet::BIT_UP,
                ..Packet::default()
            };
            black_box(self.vaqm.on_packet(self.now, Direction::Up, ue, up));
        }
        while self.vaqm.next_timer().is_some_and(|t| t <= self.now) {
            while let Some(out) = self.vaqm.release(self.now) {
                black_box(out);
            }
        }
        while let Some(lost) = self.vaqm.take_dropped() {
            black_box(lost);
        }
    }
}

fn packets(c: &mut Criterion) {
    let mut group = c.benchmark_group("vaqm");
    group.throughput(Throughput::Elements(3));
    for sessions in [1, 1_000, 10_000] {
        // 12 Mbit/s a session: under the AMBR everything passes at once, above it everything waits in the fair queues.
        for (name, maximum) in [("pass", 100.0), ("shape", 11.5)] {
            let mut downloads = Downloads::new(sessions, Rate::from_mbps(maximum));
            group.bench_function(format!("{name}/{sessions}"), |b| {
                b.iter(|| downloads.turn())
            });
        }
    }
    group.finish();
}

criterion_group!(benches, packets);
criterion_main!(benches);
