//! A small closed loop: servers, vAQM, a radio link with a queue of its own, a UE that acknowledges.
//!
//! Senders are AIMD with slow start, SACK and a retransmission timer: enough to fill a queue, to answer to loss and
//! marks, and to come to a halt where nothing is acknowledged.

mod hosts;
mod shown;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use slackwater_core::record::DropReason;
use slackwater_core::{
    Bytes, Datagram, Direction, Draw, Duration, Ecn, FlowId, Instant, Packet, Rate, UeId,
};
use slackwater_edge::upf::vaqm::Vaqm;
use slackwater_edge::{EdgeFunction, RanReport, Verdict};
use slackwater_queue::{AnyQueue, NoSink, Queue, QueueConfig, Sink};

use hosts::{Receiver, Sender};
use shown::Shown;

pub(crate) const MSS: u32 = 1448;
const HEADERS: u16 = 52;
const UE: UeId = UeId(0);

pub(crate) fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// What the network is.
#[derive(Clone, Debug)]
pub(crate) struct Net {
    /// One way between servers and the UPF.
    pub(crate) wired: Duration,
    /// One way between the UPF and the UE, without queue, as (from, delay).
    pub(crate) radio_delay: Vec<(Instant, Duration)>,
    /// The radio link's rate, as (from, rate).
    pub(crate) rate: Vec<(Instant, Rate)>,
    /// The radio's queue.
    pub(crate) buffer: QueueConfig,
    /// Share of packets whose first HARQ transmission fails: 8 ms more, and what follows waits (RLC in order).
    pub(crate) harq: f64,
    /// Uplink packets take up to so much longer, in order.
    pub(crate) uplink_jitter: Duration,
    /// Packets are sealed, and the radio network reports round-trip times each 20 ms.
    pub(crate) sealed: bool,
    /// In place of round-trip times it reports its rate and backlog.
    pub(crate) offers: bool,
    pub(crate) seed: u64,
}

impl Net {
    /// A link of `mbps` with 17 ms between UPF and UE and back, 20 ms on the servers' side, and 192 kB of buffer.
    pub(crate) fn link(mbps: f64) -> Self {
        let limits = slackwater_queue::Limits::bytes(Bytes(192_000));
        Self {
            wired: ms(10),
            radio_delay: vec![(Instant::ZERO, Duration::from_micros(8_500))],
            rate: vec![(Instant::ZERO, Rate::from_mbps(mbps))],
            buffer: QueueConfig::fifo(limits, slackwater_queue::LawConfig::None),
            harq: 0.0,
            uplink_jitter: Duration::ZERO,
            sealed: false,
            offers: false,
            seed: 1,
        }
    }
}

fn at<T: Copy>(steps: &[(Instant, T)], now: Instant) -> T {
    steps
        .iter()
        .rev()
        .find(|(from, _)| *from <= now)
        .map_or(steps[0].1, |(_, value)| *value)
}

/// A flow of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// A download of so many segments from `start` on.
    Tcp {
        start: Instant,
        segments: u32,
        ecn: Ecn,
    },
    /// Datagrams at a constant rate.
    Udp { start: Instant, rate: Rate },
}

impl Source {
    pub(crate) fn bulk() -> Self {
        Self::Tcp {
            start: Instant::ZERO,
            segments: u32::MAX / MSS / 2,
            ecn: Ecn::NotEct,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Start(usize),
    AtUpf(Packet),
    RadioFree,
    AtUe(Packet),
    UpAtUpf(Packet),
    AtServer(Packet),
    UeTimer(usize, u32),
    Rto(usize, u32),
    Vaqm,
    Datagram(usize),
    Report,
}

/// What a run gave.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// (when, flow, IP bytes) as they reached the UE.
    pub(crate) arrivals: Vec<(Instant, u32, u32)>,
    /// (when, flow, RTT) as servers measured them on segments sent once.
    pub(crate) rtts: Vec<(Instant, u32, Duration)>,
    /// Packets that the vAQM dropped, those dropped by the radio, and those that entered the vAQM.
    pub(crate) dropped: u64,
    pub(crate) radio_dropped: u64,
    pub(crate) entered: u64,
    pub(crate) left: u64,
    pub(crate) timeouts: u32,
    pub(crate) marks: u64,
    /// When each finite download was done.
    pub(crate) done: BTreeMap<u32, Instant>,
    /// The instance each 10 ms.
    pub(crate) plot: Vec<(Instant, slackwater_edge::upf::vaqm::Snapshot)>,
    /// What waits in the vAQM at the end.
    pub(crate) held_packets: u64,
}

impl Outcome {
    /// Mbit/s that reached the UE in the given seconds.
    pub(crate) fn mbps(&self, from: f64, to: f64, flow: Option<u32>) -> f64 {
        let bytes: u64 = self
            .arrivals
            .iter()
            .filter(|(t, f, _)| {
                (from..to).contains(&t.as_secs_f64()) && flow.is_none_or(|want| want == *f)
            })
            .map(|(_, _, len)| u64::from(*len))
            .sum();
        bytes as f64 * 8e-6 / (to - from)
    }

    /// A quantile of the servers' RTTs in the given seconds, in ms.
    pub(crate) fn rtt_ms(&self, from: f64, to: f64, quantile: f64) -> f64 {
        let mut all: Vec<Duration> = self
            .rtts
            .iter()
            .filter(|(t, ..)| (from..to).contains(&t.as_secs_f64()))
            .map(|(_, _, rtt)| *rtt)
            .collect();
        all.sort_unstable();
        let i = ((all.len() as f64 * quantile) as usize).min(all.len().saturating_sub(1));
        all.get(i).map_or(f64::NAN, |rtt| rtt.as_millis_f64())
    }
}

#[derive(Default)]
struct Drops(u64);
impl Sink<Packet> for Drops {
    fn dropped(&mut self, _: Instant, _: &Packet, _: DropReason) {
        self.0 += 1;
    }
    fn marked(&mut self, _: Instant, _: &Packet) {}
}

pub(crate) struct Loop {
    net: Net,
    sources: Vec<Source>,
    pub(crate) vaqm: Option<Vaqm<Shown>>,
    events: BinaryHeap<Reverse<(Instant, u64)>>,
    bodies: BTreeMap<u64, Event>,
    count: u64,
    now: Instant,
    radio: AnyQueue<Packet>,
    busy: bool,
    last_arrival: Instant,
    last_up: Instant,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    draw: Draw,
    drawn: u64,
    timer: Option<Instant>,
    pub(crate) out: Outcome,
}

impl Loop {
    pub(crate) fn new(net: Net, vaqm: Option<Vaqm<Shown>>, sources: &[Source]) -> Self {
        let radio = net.buffer.build(Draw::new(net.seed));
        let draw = Draw::new(net.seed).fork(1, 0);
        let mut this = Self {
            net,
            sources: sources.to_vec(),
            vaqm,
            events: BinaryHeap::new(),
            bodies: BTreeMap::new(),
            count: 0,
            now: Instant::ZERO,
            radio,
            busy: false,
            last_arrival: Instant::ZERO,
            last_up: Instant::ZERO,
            senders: Vec::new(),
            receivers: Vec::new(),
            draw,
            drawn: 0,
            timer: None,
            out: Outcome::default(),
        };
        for (i, source) in sources.iter().enumerate() {
            let (start, sender) = match *source {
                Source::Tcp {
                    start,
                    segments,
                    ecn,
                } => (start, Sender::new(segments, ecn)),
                Source::Udp { start, .. } => (start, Sender::default()),
            };
            this.senders.push(sender);
            this.receivers.push(Receiver::default());
            // Starts apart, as hosts do not act at one instant.
            this.at(
                start + Duration::from_micros(137 * i as u64),
                Event::Start(i),
            );
        }
        if this.net.sealed {
            this.at(Instant::ZERO, Event::Report);
        }
        this
    }

    fn at(&mut self, when: Instant, event: Event) {
        self.count += 1;
        self.events.push(Reverse((when, self.count)));
        self.bodies.insert(self.count, event);
    }

    fn chance(&mut self) -> f64 {
        self.drawn += 1;
        self.draw.uniform(self.drawn)
    }

    pub(crate) fn run(mut self, seconds: f64) -> Outcome {
        let end = Instant::ZERO + Duration::from_secs_f64(seconds);
        let mut plotted = Instant::ZERO;
        while let Some(Reverse((when, id))) = self.events.pop() {
            if when > end {
                break;
            }
            self.now = when;
            if when >= plotted {
                plotted = when + ms(10);
                if let Some(s) = self.vaqm.as_ref().and_then(|v| v.snapshot(UE, None)) {
                    self.out.plot.push((when, s));
                }
            }
            let event = self.bodies.remove(&id).expect("each event has a body");
            self.handle(event);
        }
        if let Some(vaqm) = &self.vaqm {
            self.out.held_packets = vaqm.snapshot(UE, None).map_or(0, |s| u64::from(s.packets));
            self.out.marks = vaqm.stats().marked;
        }
        self.out
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Start(i) => match self.sources[i] {
                Source::Tcp { .. } => self.transmit(i),
                Source::Udp { .. } => self.datagram(i),
            },
            Event::Datagram(i) => self.datagram(i),
            Event::Report => self.report(),
            Event::AtUpf(packet) => self.at_upf(packet),
            Event::RadioFree => {
                self.busy = false;
                self.serve_radio();
            }
            Event::AtUe(packet) => self.at_ue(packet),
            Event::UpAtUpf(packet) => {
                if let Some(vaqm) = &mut self.vaqm {
                    let shown = Shown {
                        packet,
                        sealed: self.net.sealed,
                    };
                    let verdict = vaqm.on_packet(self.now, Direction::Up, UE, shown);
                    assert_eq!(verdict, Verdict::Forward(shown), "uplink passes untouched");
                    self.drain();
                }
                self.at(self.now + self.net.wired, Event::AtServer(packet));
            }
            Event::AtServer(packet) => self.at_server(&packet),
            Event::UeTimer(i, epoch) => {
                if self.receivers[i].epoch == epoch && self.receivers[i].waiting > 0 {
                    self.acknowledge(i);
                }
            }
            Event::Rto(i, epoch) => self.timeout(i, epoch),
            Event::Vaqm => {
                if self.timer.is_some_and(|at| at <= self.now) {
                    self.timer = None;
                    self.drain();
                }
            }
        }
    }

    /// What time stamps between UPF and base station, and the base station's own, would say.
    fn report(&mut self) {
        let delay = at(&self.net.radio_delay, self.now) * 2;
        let rate = at(&self.net.rate, self.now);
        let backlog = self.radio.backlog().bytes;
        let report = if self.net.offers {
            RanReport::Available {
                at: self.now,
                ue: UE,
                qfi: None,
                rate,
                backlog,
            }
        } else {
            RanReport::PathDelay {
                at: self.now,
                ue: UE,
                qfi: None,
                rtt: delay + rate.time_for(backlog),
            }
        };
        if let Some(vaqm) = &mut self.vaqm {
            vaqm.on_report(self.now, &report);
        }
        self.drain();
        self.at(self.now + ms(20), Event::Report);
    }

    fn datagram(&mut self, i: usize) {
        let Source::Udp { rate, .. } = self.sources[i] else {
            return;
        };
        let sender = &mut self.senders[i];
        sender.next += 1;
        let packet = Packet {
            created: self.now,
            flow: FlowId(i as u32),
            len: 1228,
            body: Datagram::new(sender.next, 1200).into(),
            ..Packet::default()
        };
        self.at(self.now + self.net.wired, Event::AtUpf(packet));
        self.at(self.now + rate.time_for(Bytes(1228)), Event::Datagram(i));
    }

    fn at_upf(&mut self, packet: Packet) {
        self.out.entered += 1;
        let Some(vaqm) = &mut self.vaqm else {
            self.out.left += 1;
            self.radio_takes(packet);
            return;
        };
        let shown = Shown {
            packet,
            sealed: self.net.sealed,
        };
        match vaqm.on_packet(self.now, Direction::Down, UE, shown) {
            Verdict::Forward(p) | Verdict::Mark(p) => {
                self.out.left += 1;
                self.radio_takes(p.packet);
            }
            Verdict::Hold => {}
            Verdict::Drop(_) => self.out.dropped += 1,
        }
        self.drain();
    }

    fn drain(&mut self) {
        let Some(mut vaqm) = self.vaqm.take() else {
            return;
        };
        while let Some((direction, packet)) = vaqm.release(self.now) {
            assert_eq!(direction, Direction::Down);
            self.out.left += 1;
            self.radio_takes(packet.packet);
        }
        while vaqm.take_dropped().is_some() {
            self.out.dropped += 1;
        }
        if let Some(due) = vaqm.next_timer()
            && self.timer.is_none_or(|at| due < at)
        {
            let due = due.max(self.now);
            self.timer = Some(due);
            self.at(due, Event::Vaqm);
        }
        self.vaqm = Some(vaqm);
    }

    fn radio_takes(&mut self, packet: Packet) {
        let mut drops = Drops::default();
        self.radio.enqueue(self.now, packet, &mut drops);
        self.out.radio_dropped += drops.0;
        if !self.busy {
            self.serve_radio();
        }
    }

    fn serve_radio(&mut self) {
        let Some((packet, _)) = self.radio.dequeue(self.now, &mut NoSink) else {
            return;
        };
        self.busy = true;
        let free = self.now + at(&self.net.rate, self.now).time_for(Bytes(u64::from(packet.len)));
        self.at(free, Event::RadioFree);
        let again = if self.chance() < self.net.harq {
            ms(8)
        } else {
            Duration::ZERO
        };
        let arrival = (free + at(&self.net.radio_delay, self.now) + again).max(self.last_arrival);
        self.last_arrival = arrival;
        self.at(arrival, Event::AtUe(packet));
    }
}
