//! The loop: servers, UPF, cell, UEs.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use slackwater_core::rng::Draw;
use slackwater_core::{
    Body, Bytes, Direction, Duration, FlowId, Instant, Packet, Segment, SeqNum, SynOptions,
    TcpFlags, UeId,
};
use slackwater_edge::upf::cecc::{Cecc, CeccConfig, CeccStats, Mode, ReportStats, Schedule};
use slackwater_edge::{EdgeFunction, RanReport, Verdict};

const MSS: u32 = 1448;
const SLOT: Duration = Duration::from_millis(1);
const N6: Duration = Duration::from_micros(100);
const WIRED: Duration = Duration::from_micros(200);
const BEAT: Duration = Duration::from_nanos(16_666_667);
const SCALE: u8 = 7;
/// The UE's receive window.
const WINDOW: u32 = 6 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// 860 Mbit/s, all frames together but for 0.5 ms.
    A,
    /// 638 Mbit/s, random phases, gaps of 1 ms deviation.
    D,
    /// 860 Mbit/s, otherwise as D.
    E,
    /// 860 Mbit/s, a beat for all; each flow's frames begin so long after those of the one before.
    Step(Duration),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) scenario: Scenario,
    pub(crate) flows: u32,
    pub(crate) mode: Mode,
    pub(crate) schedule: Schedule,
    pub(crate) seed: u64,
    /// Mean size of a frame.
    pub(crate) frame: f64,
    pub(crate) length: Duration,
    pub(crate) report_phase: Duration,
    /// No report from the first instant up to the second.
    pub(crate) silence: (Instant, Instant),
    /// The application pauses from the first instant to the second.
    pub(crate) pause: (Instant, Instant),
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            scenario: Scenario::A,
            flows: 5,
            mode: Mode::Hold,
            schedule: Schedule::Edf,
            seed: 1,
            frame: 104_167.0,
            length: Duration::from_secs(10),
            report_phase: Duration::from_micros(50),
            silence: (Instant::MAX, Instant::MAX),
            pause: (Instant::MAX, Instant::MAX),
        }
    }
}

/// Late bytes of one flow as a share of all.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Late {
    pub(crate) network_steady: f64,
    pub(crate) frame_steady: f64,
}

pub(crate) struct Outcome {
    pub(crate) late: Vec<Late>,
    pub(crate) stats: CeccStats,
    written: u64,
    delivered: u64,
    /// Largest delays in milliseconds, by flow: network and frame.
    pub(crate) worst: Vec<(f64, f64)>,
    /// When each frame of flow 0 was written, when its last byte left the server and when it arrived.
    pub(crate) frames: Vec<[Instant; 3]>,
    pub(crate) reports: ReportStats,
}

impl Outcome {
    pub(crate) fn satisfied(&self, of: impl Fn(&Late) -> f64) -> usize {
        self.late.iter().filter(|l| of(l) <= 1e-4).count()
    }
    pub(crate) fn mean(&self, of: impl Fn(&Late) -> f64) -> f64 {
        self.late.iter().map(of).sum::<f64>() / self.late.len() as f64
    }
    pub(crate) fn delivered_share(&self) -> f64 {
        self.delivered as f64 / self.written as f64
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Slot(u64),
    Report,
    ReportArrives(u32),
    Write(u32, u64),
    UpfTimer,
    /// Packets are kept aside, by number.
    At(Place, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    UpfDown,
    UpfUp,
    Gnb,
    Server,
    Ue,
}

#[derive(Default)]
struct Server {
    written: u64,
    sent: u64,
    acked: u64,
    edge: u64,
    cwnd: u64,
    /// (end of frame in bytes, written at).
    frames: VecDeque<(u64, Instant)>,
}

#[derive(Default)]
struct Ue {
    queue: VecDeque<Packet>,
    backlog: u64,
    /// Bytes of the head that went already.
    part: u64,
    received: u64,
    late_network: u64,
    late_frame: u64,
    steady: u64,
    worst: (f64, f64),
}

pub(crate) struct Run {
    setup: Setup,
    draw: Draw,
    heap: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    counter: u64,
    packets: Vec<Packet>,
    free: Vec<usize>,
    servers: Vec<Server>,
    ues: Vec<Ue>,
    upf: Cecc<Packet>,
    reports: Vec<Vec<RanReport>>,
    armed: Instant,
    full: u64,
    special: u64,
    frames: Vec<[Instant; 3]>,
    now: Instant,
}

fn seq(bytes: u64) -> SeqNum {
    // Start close to the wrap.
    SeqNum((bytes as u32).wrapping_add(0xffff_0000))
}

fn segment(packet: &Packet) -> &Segment {
    packet.segment().expect("a segment")
}

fn unseq(seq: SeqNum, near: u64) -> u64 {
    let diff = seq.0.wrapping_sub(self::seq(near).0) as i32;
    near.wrapping_add_signed(i64::from(diff))
}

impl Run {
    pub(crate) fn new(setup: &Setup) -> Self {
        let mut config = CeccConfig::default();
        (config.mode, config.schedule) = (setup.mode, setup.schedule);
        let rate = if setup.scenario == Scenario::D {
            638.0 / 860.0
        } else {
            1.0
        };
        let n = setup.flows as usize;
        let mut run = Self {
            setup: *setup,
            draw: Draw::new(setup.seed),
            heap: BinaryHeap::new(),
            counter: 0,
            packets: Vec::new(),
            free: Vec::new(),
            servers: (0..n).map(|_| Server::default()).collect(),
            ues: (0..n).map(|_| Ue::default()).collect(),
            upf: Cecc::new(config),
            reports: Vec::new(),
            armed: Instant::MAX,
            full: (145_000.0 * rate) as u64,
            special: (102_000.0 * rate) as u64,
            frames: Vec::new(),
            now: Instant::ZERO,
        };
        run.at(Instant::ZERO, Event::Slot(0));
        run.at(Instant::ZERO + setup.report_phase, Event::Report);
        for flow in 0..setup.flows {
            run.handshake(flow);
            let first = run.frame_time(flow, 0, Instant::from_millis(20));
            run.at(first, Event::Write(flow, 0));
        }
        run
    }

    fn at(&mut self, time: Instant, event: Event) {
        self.counter += 1;
        self.heap.push(Reverse((time, self.counter, event)));
    }

    fn carry(&mut self, time: Instant, place: Place, packet: Packet) {
        let k = if let Some(k) = self.free.pop() {
            self.packets[k] = packet;
            k
        } else {
            self.packets.push(packet);
            self.packets.len() - 1
        };
        self.at(time, Event::At(place, k));
    }

    /// Three packets through the UPF before anything else.
    fn handshake(&mut self, flow: u32) {
        let ue = UeId(flow);
        let mut opening = Segment {
            flags: TcpFlags::SYN,
            window: 65535,
            ..Segment::default()
        };
        opening.set_syn_options(SynOptions {
            mss: Some(MSS as u16),
            window_scale: Some(SCALE),
            sack_permitted: false,
        });
        let syn = Packet {
            flow: FlowId(flow),
            len: 52,
            dir: Direction::Up,
            body: Body::Tcp(opening),
            ..Packet::default()
        };
        let now = Instant::ZERO;
        let before = SeqNum(seq(0).0.wrapping_sub(1));
        let v = self.upf.on_packet(now, Direction::Up, ue, syn);
        assert_eq!(v, Verdict::Forward(syn));
        let answer = Packet {
            dir: Direction::Down,
            body: Body::Tcp(Segment {
                flags: TcpFlags::SYN.with(TcpFlags::ACK),
                seq: before,
                ..opening
            }),
            ..syn
        };
        let v = self
            .upf
            .on_packet(now + N6 * 2, Direction::Down, ue, answer);
        assert_eq!(v, Verdict::Forward(answer));
        self.servers[flow as usize].cwnd = 10 * u64::from(MSS);
        let mut ack = self.ack(flow, 0);
        let Verdict::Forward(passed) = self.upf.on_packet(now + N6 * 2, Direction::Up, ue, ack)
        else {
            panic!("the handshake passes");
        };
        ack = passed;
        self.servers[flow as usize].edge = u64::from(segment(&ack).window) << SCALE;
    }

    fn ack(&self, flow: u32, received: u64) -> Packet {
        Packet {
            created: self.now,
            flow: FlowId(flow),
            len: 40,
            dir: Direction::Up,
            body: Body::Tcp(Segment {
                flags: TcpFlags::ACK,
                ack: seq(received),
                window: (WINDOW >> SCALE) as u16,
                ..Segment::default()
            }),
            ..Packet::default()
        }
    }

    /// When frame `k` is written; `last` is the one before.
    fn frame_time(&self, flow: u32, k: u64, last: Instant) -> Instant {
        let draw = self.draw.fork(1, u64::from(flow));
        let ms = |x: f64| (x * 1e6) as i64;
        let base = Instant::from_millis(20);
        if let Scenario::Step(apart) = self.setup.scenario {
            return base + BEAT * k + apart * u64::from(flow);
        }
        if self.setup.scenario == Scenario::A {
            let t = (base + BEAT * k).as_nanos() as i64 + ms(0.5 * draw.normal(k));
            return Instant::from_nanos(t.max(0) as u64);
        }
        if k == 0 {
            return base + BEAT.mul_f64(draw.uniform(1 << 40));
        }
        let t = (last + BEAT).as_nanos() as i64 + ms(draw.normal(k));
        Instant::from_nanos(t as u64)
            .saturating_add(Duration::ZERO)
            .max(last)
    }

    pub(crate) fn finish(mut self) -> Outcome {
        let end = Instant::ZERO + self.setup.length;
        while let Some(Reverse((time, _, event))) = self.heap.pop() {
            if time > end {
                break;
            }
            self.now = time;
            self.step(event);
        }
        let late = self.ues.iter().map(|ue| Late {
            network_steady: ue.late_network as f64 / ue.steady.max(1) as f64,
            frame_steady: ue.late_frame as f64 / ue.steady.max(1) as f64,
        });
        Outcome {
            late: late.collect(),
            stats: self.upf.stats(),
            written: self.servers.iter().map(|s| s.written).sum(),
            delivered: self.ues.iter().map(|u| u.received).sum(),
            worst: self.ues.iter().map(|u| u.worst).collect(),
            frames: self.frames,
            reports: self.upf.report_stats(),
        }
    }

    fn step(&mut self, event: Event) {
        let now = self.now;
        match event {
            Event::Slot(k) => {
                self.decide(k);
                self.at(now + SLOT, Event::Slot(k + 1));
            }
            Event::Report => {
                self.report();
                self.at(now + SLOT, Event::Report);
            }
            Event::ReportArrives(k) => {
                for report in core::mem::take(&mut self.reports[k as usize]) {
                    self.upf.on_report(now, &report);
                }
                self.drain();
            }
            Event::Write(flow, k) => {
                let (from, to) = self.setup.pause;
                let draw = self.draw.fork(2, u64::from(flow));
                let bytes = self.setup.frame * (1.0 + 0.1 * draw.normal(k)).clamp(0.5, 1.5);
                let server = &mut self.servers[flow as usize];
                if now < from || now >= to {
                    server.written += bytes as u64;
                    server.frames.push_back((server.written, now));
                }
                let next = self.frame_time(flow, k + 1, now);
                self.at(next, Event::Write(flow, k + 1));
                self.send(flow);
            }
            Event::UpfTimer => {
                if self.armed <= now {
                    self.armed = Instant::MAX;
                }
                self.drain();
            }
            Event::At(place, k) => {
                let packet = self.packets[k];
                self.free.push(k);
                self.arrive(place, packet);
            }
        }
    }

    fn arrive(&mut self, place: Place, packet: Packet) {
        let k = packet.flow.index();
        match place {
            Place::UpfDown => self.through(Direction::Down, packet),
            Place::UpfUp => self.through(Direction::Up, packet),
            Place::Gnb => {
                self.ues[k].backlog += u64::from(packet.len);
                self.ues[k].queue.push_back(packet);
            }
            Place::Ue => self.deliver(packet),
            Place::Server => {
                let s = &mut self.servers[k];
                let packet = segment(&packet);
                let ack = unseq(packet.ack, s.acked);
                assert!(ack <= s.sent, "an ACK for what was not sent");
                let edge = ack + (u64::from(packet.window) << SCALE);
                if ack > s.acked {
                    // Slow start while it is the window that limits (RFC 9002, 7.8).
                    if (s.sent - s.acked) * 2 > s.cwnd {
                        s.cwnd += ack - s.acked;
                    }
                    s.acked = ack;
                    s.edge = edge;
                } else if ack == s.acked && edge > s.edge {
                    s.edge = edge;
                }
                self.send(k as u32);
            }
        }
    }

    fn send(&mut self, flow: u32) {
        let now = self.now;
        loop {
            let s = &mut self.servers[flow as usize];
            let left = s.written - s.sent;
            let room = (s.acked + s.cwnd).min(s.edge).saturating_sub(s.sent);
            let payload = left.min(u64::from(MSS));
            // No silly windows (RFC 9293, 3.8.6.2.1).
            if payload == 0 || room < payload {
                return;
            }
            let packet = Packet {
                created: now,
                flow: FlowId(flow),
                len: (payload + 40) as u16,
                body: Body::Tcp(Segment {
                    seq: seq(s.sent),
                    payload: payload as u16,
                    flags: TcpFlags::ACK,
                    ..Segment::default()
                }),
                ..Packet::default()
            };
            s.sent += payload;
            self.carry(now + N6, Place::UpfDown, packet);
        }
    }

    fn through(&mut self, direction: Direction, packet: Packet) {
        let ue = UeId(packet.flow.0);
        match self.upf.on_packet(self.now, direction, ue, packet) {
            Verdict::Forward(packet) => self.onward(direction, packet),
            Verdict::Hold => {}
            other => panic!("CECC neither marks nor drops: {other:?}"),
        }
        self.drain();
    }

    fn onward(&mut self, direction: Direction, packet: Packet) {
        match direction {
            Direction::Down => self.carry(self.now + WIRED, Place::Gnb, packet),
            Direction::Up => self.carry(self.now + N6, Place::Server, packet),
        }
    }

    fn drain(&mut self) {
        while let Some((direction, packet)) = self.upf.release(self.now) {
            self.onward(direction, packet);
        }
        if let Some(timer) = self.upf.next_timer() {
            let timer = timer.max(self.now);
            if timer < self.armed {
                self.armed = timer;
                self.at(timer, Event::UpfTimer);
            }
        }
    }

    /// The scheduler decides at the start of slot `k` on slot `k` + 2 and shares it among backlogged queues.
    fn decide(&mut self, k: u64) {
        let mut left = match (k + 2) % 5 {
            0..=2 => self.full,
            3 => self.special,
            _ => return,
        };
        let done = self.now + SLOT * 3 + Duration::from_micros(50);
        let mut order: Vec<usize> = (0..self.ues.len())
            .filter(|&u| self.ues[u].backlog > 0)
            .collect();
        order.sort_by_key(|&u| self.ues[u].backlog);
        let n = order.len();
        for (place, u) in order.into_iter().enumerate() {
            let take = (left / (n - place) as u64).min(self.ues[u].backlog);
            left -= take;
            let ue = &mut self.ues[u];
            ue.backlog -= take;
            ue.part += take;
            let mut ready = Vec::new();
            while let Some(p) = ue.queue.front() {
                if ue.part < u64::from(p.len) {
                    break;
                }
                ue.part -= u64::from(p.len);
                ready.push(ue.queue.pop_front().expect("just seen"));
            }
            for packet in ready {
                self.carry(done, Place::Ue, packet);
            }
        }
    }

    fn deliver(&mut self, packet: Packet) {
        let now = self.now;
        let k = packet.flow.index();
        let start = unseq(segment(&packet).seq, self.ues[k].received);
        assert_eq!(start, self.ues[k].received, "in order and once");
        let s = &mut self.servers[k];
        while s.frames.front().is_some_and(|f| f.0 <= start) {
            s.frames.pop_front();
        }
        let (frame_end, written) = *s.frames.front().expect("what arrives was written");
        let ue = &mut self.ues[k];
        let payload = u64::from(packet.payload());
        ue.received += payload;
        let (network, frame) = (now - packet.created, now - written);
        let limit = Duration::from_millis(10);
        if packet.created >= Instant::from_millis(2_000) {
            ue.steady += payload;
            ue.late_network += if network > limit { payload } else { 0 };
            ue.late_frame += if frame > limit { payload } else { 0 };
            ue.worst.0 = ue.worst.0.max(network.as_millis_f64());
            ue.worst.1 = ue.worst.1.max(frame.as_millis_f64());
        }
        if k == 0 && ue.received >= frame_end {
            self.frames.push([written, packet.created, now]);
        }
        // One ACK per delivery instant would need look-ahead; every second segment is what RFC 9293 asks. The
        // scheduling request waits for an uplink slot, its grant for another.
        if (ue.received / u64::from(MSS)).is_multiple_of(2) || ue.received >= frame_end {
            let received = ue.received;
            let request = now.round_up(SLOT * 5) + SLOT * 4;
            let up = request + SLOT * 5 + SLOT;
            let ack = self.ack(k as u32, received);
            self.carry(up + WIRED, Place::UpfUp, ack);
        }
    }

    fn report(&mut self) {
        let now = self.now;
        if now >= self.setup.silence.0 && now < self.setup.silence.1 {
            return;
        }
        let mut batch = Vec::new();
        if now.as_nanos() < 2_000_000 || now.as_nanos() % 1_000_000_000 < 1_000_000 {
            batch.push(RanReport::SlotPattern {
                at: now,
                ue: UeId(0),
                start: Instant::ZERO,
                slot: SLOT,
                period: 5,
                down: 0b00111,
                special: 0b01000,
                special_q8: 180,
                lead: SLOT * 2,
                processing: Duration::from_micros(50),
                polled: false,
            });
            for k in 0..self.setup.flows {
                batch.push(RanReport::LinkState {
                    at: now,
                    ue: UeId(k),
                    slot_bytes: Bytes(self.full),
                    slot: SLOT,
                });
            }
        }
        for (k, ue) in self.ues.iter().enumerate() {
            batch.push(RanReport::Backlog {
                at: now,
                ue: UeId(k as u32),
                flow: FlowId(k as u32),
                bytes: Bytes(ue.backlog),
            });
        }
        self.reports.push(batch);
        let k = self.reports.len() as u32 - 1;
        self.at(now + WIRED, Event::ReportArrives(k));
    }
}
