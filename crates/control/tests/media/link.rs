//! A toy: media senders over one FIFO whose rate follows a series and which marks by a ramp at dequeue.

use std::collections::VecDeque;

use slackwater_control::{
    AnyMedia, Config, Encoder, Feedback, MediaController, PacketReport, PathView, Sent, build_media,
};
use slackwater_core::{Bytes, Draw, Duration, Ecn, Instant, Rate};
use slackwater_signal::MarkingScheme;

const STEP: Duration = Duration::from_micros(100);
const PAYLOAD: u64 = 1160;
const HEADER: u64 = 40;

/// What there is to choose.
pub(crate) struct Setup {
    /// Second and Mbit/s, joined by straight lines.
    pub(crate) capacity: Vec<(f64, f64)>,
    pub(crate) scheme: Option<MarkingScheme>,
    /// Queue delay at the capacity of now above which packets are dropped.
    pub(crate) limit_ms: f64,
    pub(crate) base_rtt_ms: u64,
    pub(crate) fps: u64,
    pub(crate) seconds: u64,
    /// Feedback each so many ms; zero for one per frame.
    pub(crate) feedback_ms: u64,
    pub(crate) seed: u64,
    /// When each flow starts, in seconds, and its first rate in Mbit/s.
    pub(crate) flows: Vec<(String, f64, f64)>,
    /// A controller from elsewhere in place of those.
    pub(crate) make: Option<Box<dyn Fn() -> AnyMedia>>,
}

/// The aL4S-CC study's pattern: RFC 8867, 5.1's steps, then ramps.
pub(crate) fn ietf() -> Vec<(f64, f64)> {
    let steps = [
        (0.0, 10.0),
        (40.0, 10.0),
        (40.0, 25.0),
        (60.0, 25.0),
        (60.0, 6.0),
        (80.0, 6.0),
        (80.0, 10.0),
        (100.0, 10.0),
        (130.0, 25.0),
        (160.0, 6.0),
    ];
    steps.to_vec()
}

impl Setup {
    /// One flow over the IETF pattern with the marker of 5 and 20 ms.
    pub(crate) fn one(name: &str) -> Self {
        Self {
            capacity: ietf(),
            scheme: Some(MarkingScheme {
                low: Duration::from_millis(5),
                high: Duration::from_millis(20),
            }),
            limit_ms: 1000.0,
            base_rtt_ms: 8,
            fps: 60,
            seconds: 160,
            feedback_ms: 0,
            seed: 1,
            flows: vec![(name.to_owned(), 0.0, 2.0)],
            make: None,
        }
    }

    /// The same at a steady rate.
    pub(crate) fn steady(name: &str, mbps: f64, seconds: u64) -> Self {
        Self {
            capacity: vec![(0.0, mbps)],
            seconds,
            ..Self::one(name)
        }
    }

    fn capacity(&self, t: f64) -> f64 {
        let after = self.capacity.partition_point(|&(at, _)| at <= t);
        let Some(&(b_at, b)) = self.capacity.get(after) else {
            return self.capacity[self.capacity.len() - 1].1;
        };
        let (a_at, a) = self.capacity[after - 1];
        a + (b - a) * (t - a_at) / (b_at - a_at)
    }
}

/// What came of it.
pub(crate) struct Outcome {
    /// Share of the capacity that was delivered.
    pub(crate) util: f64,
    /// Queue delay of packets in ms.
    pub(crate) p95: f64,
    pub(crate) p99: f64,
    /// Share of packets dropped.
    pub(crate) loss: f64,
    /// Delivered Mbit/s of each flow in each 100 ms.
    pub(crate) rates: Vec<Vec<f64>>,
    /// Second and ms of the queue delays above the high threshold.
    pub(crate) spikes: Vec<(f64, f64)>,
}

impl Outcome {
    /// Mean Mbit/s of `flow` from second `from` to `to`.
    pub(crate) fn mean(&self, flow: usize, from: f64, to: f64) -> f64 {
        let bins = &self.rates[flow][(from * 10.0) as usize..(to * 10.0) as usize];
        bins.iter().sum::<f64>() / bins.len() as f64
    }

    /// Jain's index over a span.
    pub(crate) fn jain(&self, from: f64, to: f64) -> f64 {
        let rates: Vec<f64> = (0..self.rates.len())
            .map(|flow| self.mean(flow, from, to))
            .collect();
        let sum: f64 = rates.iter().sum();
        sum * sum / (rates.len() as f64 * rates.iter().map(|r| r * r).sum::<f64>())
    }
}

#[derive(Clone, Copy)]
struct Packet {
    flow: usize,
    seq: u64,
    queued: Instant,
    bytes: u64,
    frame_end: bool,
    ecn: Ecn,
}

struct Flow {
    c: AnyMedia,
    path: PathView,
    start: Instant,
    next_frame: Instant,
    /// Bytes and whether a frame ends, waiting for the pacer.
    waiting: VecDeque<(u64, bool)>,
    credit: f64,
    seq: u64,
    in_flight: u64,
    /// Reports that the receiver collects, and those under way.
    collected: Vec<PacketReport>,
    last_feedback: Instant,
    under_way: VecDeque<(Instant, Vec<PacketReport>)>,
    arriving: VecDeque<(Instant, Packet)>,
    sent_log: VecDeque<(u64, Instant, u64)>,
}

struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

/// Runs it.
pub(crate) fn run(setup: &Setup) -> Outcome {
    let half = Duration::from_millis(setup.base_rtt_ms) / 2;
    let frame = Duration::from_nanos(1_000_000_000 / setup.fps);
    let offset = Duration::from_secs(7);
    let mut random = Random(setup.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut flows: Vec<Flow> = setup
        .flows
        .iter()
        .enumerate()
        .map(|(i, (name, start, mbps))| {
            let mut path = PathView::default();
            path.mss = PAYLOAD as u32;
            path.wire_mss = (PAYLOAD + HEADER) as u32;
            let encoder = Encoder {
                start: Rate::from_mbps(*mbps),
                ..Encoder::DEFAULT
            };
            let cfg =
                Config::new(PAYLOAD as u32, Draw::new(setup.seed + i as u64)).with_encoder(encoder);
            let start = Instant::from_nanos((start * 1e9) as u64) + (frame / 3) * (i as u64);
            Flow {
                c: setup.make.as_ref().map_or_else(
                    || build_media(name, &cfg).expect("the controller exists"),
                    |make| make(),
                ),
                path,
                start,
                next_frame: start,
                waiting: VecDeque::new(),
                credit: 0.0,
                seq: 0,
                in_flight: 0,
                collected: Vec::new(),
                last_feedback: Instant::ZERO,
                under_way: VecDeque::new(),
                arriving: VecDeque::new(),
                sent_log: VecDeque::new(),
            }
        })
        .collect();
    let mut queue: VecDeque<Packet> = VecDeque::new();
    let (mut queued, mut credit) = (0u64, 0.0);
    let (mut offered, mut delivered, mut sent, mut dropped) = (0.0, 0u64, 0u64, 0u64);
    let mut delays: Vec<f32> = Vec::new();
    let mut spikes = Vec::new();
    let mut rates = vec![vec![0.0; setup.seconds as usize * 10]; flows.len()];
    let mut now = Instant::ZERO;
    let end = Instant::from_millis(setup.seconds * 1000);
    while now < end {
        let capacity = setup.capacity(now.as_secs_f64()) * 1e6;
        offered += capacity * STEP.as_secs_f64();
        for (i, flow) in flows.iter_mut().enumerate() {
            if now < flow.start {
                continue;
            }
            while flow.under_way.front().is_some_and(|(at, _)| *at <= now) {
                let (_, reports) = flow.under_way.pop_front().expect("it is there");
                flow.hear(now, &reports);
            }
            if flow.c.next_timer().is_some_and(|at| at <= now) {
                flow.c.on_timer(now, &flow.path);
            }
            if now >= flow.next_frame {
                flow.next_frame += frame;
                let target = flow.c.intent().target.expect("media has a target");
                let noise = (1.0 + 0.05 * random.normal()).max(0.1);
                let mut left = (target.as_bps() as f64 / 8.0 * frame.as_secs_f64() * noise) as u64;
                while left > 0 {
                    let payload = left.min(PAYLOAD);
                    left -= payload;
                    flow.waiting.push_back((payload + HEADER, left == 0));
                }
            }
            let intent = flow.c.intent();
            let pacing = intent.pacing.expect("media is paced");
            let pace = pacing.as_bps() as f64 / 8.0 * STEP.as_secs_f64();
            flow.credit = (flow.credit + pace).min(2400.0f64.max(pace));
            loop {
                if flow.waiting.is_empty() && intent.padding.as_bps() > 0 {
                    flow.waiting.push_back((PAYLOAD + HEADER, true));
                }
                let Some(&(bytes, frame_end)) = flow.waiting.front() else {
                    break;
                };
                let open = intent.window.is_none_or(|w| flow.in_flight + bytes <= w.0);
                if flow.credit < bytes as f64 || !open {
                    break;
                }
                flow.waiting.pop_front();
                flow.credit -= bytes as f64;
                flow.in_flight += bytes;
                flow.path.in_flight = Bytes(flow.in_flight);
                let packet = Packet {
                    flow: i,
                    seq: flow.seq,
                    queued: now + half / 2,
                    bytes,
                    frame_end,
                    ecn: match intent.ecn {
                        slackwater_control::EcnMode::L4s => Ecn::Ect1,
                        _ => Ecn::NotEct,
                    },
                };
                flow.sent_log.push_back((flow.seq, now, bytes));
                flow.seq += 1;
                sent += 1;
                let mut event = Sent::default();
                event.bytes = Bytes(bytes);
                flow.c.on_sent(now, &flow.path, &event);
                if queued as f64 * 8.0 / capacity * 1e3 > setup.limit_ms {
                    dropped += 1;
                } else {
                    queued += bytes;
                    queue.push_back(packet);
                }
            }
            if flow.waiting.is_empty() {
                flow.credit = flow.credit.min(1200.0);
            }
        }
        credit += capacity / 8.0 * STEP.as_secs_f64();
        while let Some(packet) = queue.front().copied() {
            if packet.queued > now || credit < packet.bytes as f64 {
                if packet.queued > now {
                    credit = 0.0;
                }
                break;
            }
            credit -= packet.bytes as f64;
            queue.pop_front();
            queued -= packet.bytes;
            let delay = now.since(packet.queued);
            delays.push(delay.as_millis_f64() as f32);
            delivered += packet.bytes;
            rates[packet.flow][(now.as_millis() / 100) as usize] += packet.bytes as f64 * 8e-5;
            let mut packet = packet;
            if let Some(scheme) = setup.scheme {
                if delay > scheme.high {
                    spikes.push((now.as_secs_f64(), delay.as_millis_f64()));
                }
                if packet.ecn != Ecn::NotEct && random.unit() < scheme.probability(delay) {
                    packet.ecn = Ecn::Ce;
                }
            }
            flows[packet.flow]
                .arriving
                .push_back((now + half / 2, packet));
        }
        if queue.is_empty() {
            credit = 0.0;
        }
        for flow in &mut flows {
            flow.receive(now, offset, half, setup.feedback_ms);
        }
        now += STEP;
    }
    delays.sort_by(f32::total_cmp);
    let percentile = |p: f64| f64::from(delays[((delays.len() - 1) as f64 * p) as usize]);
    Outcome {
        util: delivered as f64 * 8.0 / offered,
        p95: percentile(0.95),
        p99: percentile(0.99),
        loss: dropped as f64 / sent as f64,
        rates,
        spikes,
    }
}

trait Millis {
    fn as_millis(&self) -> u64;
}

impl Millis for Instant {
    fn as_millis(&self) -> u64 {
        self.as_nanos() / 1_000_000
    }
}

impl Flow {
    /// The sender hears of its packets.
    fn hear(&mut self, now: Instant, reports: &[PacketReport]) {
        for report in reports {
            self.in_flight = self.in_flight.saturating_sub(report.bytes.0);
        }
        self.path.in_flight = Bytes(self.in_flight);
        if let Some(last) = reports.iter().rev().find(|r| r.arrived.is_some()) {
            let rtt = now.since(last.sent);
            let old = self.path.srtt;
            self.path.srtt = if old.is_zero() {
                rtt
            } else {
                (old * 7 + rtt) / 8
            };
            let least = self.path.min_rtt;
            self.path.min_rtt = if least.is_zero() { rtt } else { least.min(rtt) };
        }
        self.c.on_feedback(now, &self.path, &Feedback::new(reports));
    }

    /// Packets arrive, and feedback leaves.
    fn receive(&mut self, now: Instant, offset: Duration, half: Duration, every_ms: u64) {
        let mut frame_end = false;
        while self.arriving.front().is_some_and(|(at, _)| *at <= now) {
            let (at, packet) = self.arriving.pop_front().expect("it is there");
            while let Some(&(seq, sent, bytes)) = self.sent_log.front() {
                if seq > packet.seq {
                    break;
                }
                self.sent_log.pop_front();
                self.collected.push(if seq < packet.seq {
                    PacketReport::lost(seq, sent, Bytes(bytes))
                } else {
                    PacketReport::received(seq, sent, at + offset, Bytes(bytes), packet.ecn)
                });
            }
            frame_end |= packet.frame_end;
        }
        let due = if every_ms == 0 {
            frame_end || now.since(self.last_feedback) >= Duration::from_millis(50)
        } else {
            now.since(self.last_feedback) >= Duration::from_millis(every_ms)
        };
        if due && !self.collected.is_empty() {
            self.last_feedback = now;
            let reports = core::mem::take(&mut self.collected);
            self.under_way.push_back((now + half, reports));
        }
    }
}
