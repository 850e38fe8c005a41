//! What a packet costs in vAQM, alone and with CECC (`hold`) behind it: `cargo bench -p slackwater-edge --bench vaqm`.
//!
//! `-- count SESSIONS PACKETS [pass] [chained]` handles so many packets once, for callgrind and cachegrind.
//!
//! Thirty packets an iteration; a packet is a downlink segment or an uplink ACK; sessions take turns, so that with many of them each finds its
//! state out of the cache.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group};
use slackwater_core::{
    Body, Bytes, Direction, Duration, FlowId, Instant, Packet, Rate, Segment, SeqNum, TcpFlags,
    UeId,
};
use slackwater_edge::upf::cecc::{Cecc, CeccConfig};
use slackwater_edge::upf::vaqm::{Vaqm, VaqmConfig};
use slackwater_edge::{EdgeFunction, RanReport, Session, Verdict};

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
    /// Behind it, with reports of a hundred sessions each millisecond.
    cecc: Option<Cecc<Packet>>,
    reported: Instant,
    flows: Vec<Download>,
    now: Instant,
    next: usize,
    /// Time between two turns of one session.
    turn: Duration,
}

/// The index of the segment that `packet` carries.
fn segment_of(packet: &Packet) -> u32 {
    packet.segment().expect("a segment").tsval
}

impl Downloads {
    fn new(sessions: usize, maximum: Rate, chained: bool) -> Self {
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
            cecc: chained.then(|| {
                let mut cecc = Cecc::new(CeccConfig::default());
                for i in 0..sessions {
                    let link = RanReport::LinkState {
                        at: Instant::ZERO,
                        ue: UeId(i as u32),
                        slot_bytes: Bytes(145_000),
                        slot: Duration::from_millis(1),
                    };
                    cecc.on_report(Instant::ZERO, &link);
                }
                cecc
            }),
            reported: Instant::ZERO,
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

    /// A packet leaves vAQM.
    fn pass(&mut self, packet: Packet) {
        let Some(cecc) = &mut self.cecc else {
            self.left(&packet);
            return;
        };
        let ue = UeId(packet.flow.0);
        if let Verdict::Forward(p) = cecc.on_packet(self.now, Direction::Down, ue, packet) {
            self.left(&p);
        }
    }

    fn left(&mut self, packet: &Packet) {
        self.flows[packet.flow.index()].left = segment_of(packet) + 1;
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
                len: 1500,
                body: Body::Tcp(Segment {
                    seq: SeqNum(flow.sent.wrapping_mul(MSS)),
                    // No time stamps: the field carries the segment's index for the bench.
                    tsval: flow.sent,
                    payload: MSS as u16,
                    flags: TcpFlags::ACK,
                    ..Segment::default()
                }),
                ..Packet::default()
            };
            flow.sent += 1;
            handled += 1;
            if let Verdict::Forward(p) = self.vaqm.on_packet(self.now, Direction::Down, ue, packet)
            {
                self.pass(p);
            }
        }
        let flow = &mut self.flows[i];
        if flow.left > flow.acked + FLIGHT {
            flow.acked = (flow.left - FLIGHT).min(flow.acked + 2);
            let up = Packet {
                flow: id,
                len: 52,
                dir: Direction::Up,
                body: Body::Tcp(Segment {
                    ack: SeqNum(flow.acked.wrapping_mul(MSS)),
                    flags: TcpFlags::ACK,
                    ..Segment::default()
                }),
                ..Packet::default()
            };
            handled += 1;
            if let Some(cecc) = &mut self.cecc {
                black_box(cecc.on_packet(self.now, Direction::Up, ue, up));
            }
            black_box(self.vaqm.on_packet(self.now, Direction::Up, ue, up));
        }
        while self.vaqm.next_timer().is_some_and(|t| t <= self.now) {
            while let Some((_, packet)) = self.vaqm.release(self.now) {
                self.pass(packet);
            }
        }
        self.behind();
        while let Some(lost) = self.vaqm.take_dropped() {
            black_box(lost);
        }
        handled
    }

    /// CECC's own turn.
    fn behind(&mut self) {
        let Some(cecc) = &mut self.cecc else { return };
        if self.now.since(self.reported) >= Duration::from_millis(1) {
            self.reported = self.now;
            for k in 0..self.flows.len().min(100) as u32 {
                let report = RanReport::Backlog {
                    at: self.now,
                    ue: UeId(k),
                    flow: FlowId(k),
                    bytes: Bytes(0),
                };
                cecc.on_report(self.now, &report);
            }
        }
        while let Some((_, packet)) = self.cecc.as_mut().and_then(|c| c.release(self.now)) {
            self.left(&packet);
        }
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
        for (name, maximum, chained) in [
            ("pass", 100.0, false),
            ("shape", 11.5, false),
            ("pass, CECC behind", 100.0, true),
            ("shape, CECC behind", 11.5, true),
        ] {
            let mut downloads = Downloads::new(sessions, Rate::from_mbps(maximum), chained);
            group.bench_function(format!("{name}/{sessions}"), |b| {
                b.iter(|| downloads.handle(30));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, packets);

fn main() {
    let words: Vec<String> = std::env::args().skip_while(|a| a != "count").collect();
    let Some(numbers) = words.get(1..3) else {
        benches();
        Criterion::default().configure_from_args().final_summary();
        return;
    };
    let has = |word: &str| words.iter().any(|w| w == word);
    let maximum = if has("pass") { 100.0 } else { 11.5 };
    let sessions = numbers[0].parse().expect("a number of sessions");
    let packets = numbers[1].parse().expect("a number of packets");
    Downloads::new(sessions, Rate::from_mbps(maximum), has("chained")).handle(packets);
}
