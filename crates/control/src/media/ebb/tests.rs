use std::collections::VecDeque;

use slackwater_core::{Draw, Ecn};
use slackwater_signal::Counters;

use super::*;
use crate::PacketReport;
use crate::registry::{Config, build_media};

/// IP bytes of a packet and of its payload.
const WIRE: u32 = 1200;
const PAYLOAD: u32 = 1160;
/// Each way, ms.
const WAY: u64 = 20;
/// Time between frames, ms.
const FRAME: u64 = 17;

/// A packet of a frame.
#[derive(Clone, Copy)]
struct Packet {
    captured: u64,
    seq: u64,
    sent: u64,
}

/// An encoder, its pacer, and a radio that counts, in steps of 1 ms.
struct Host {
    c: AnyMedia,
    now: u64,
    /// What waits for the pacer, what is under way to the radio, and what waits there.
    queue: VecDeque<Packet>,
    flying: VecDeque<(u64, Packet)>,
    radio: VecDeque<Packet>,
    /// Bytes that may leave the pacer and the radio.
    credit: [f64; 2],
    /// Bytes of the present frame that make no packet yet.
    rest: f64,
    seq: u64,
    /// The radio's rate, bytes a ms, by the time.
    rate: fn(u64) -> f64,
    counters: Counters,
    /// Packets that the radio has room for, and bytes that it dropped.
    room: usize,
    dropped: u64,
    /// What is told in place of the counters; none: nothing.
    told: Option<fn(Counters) -> Counters>,
    /// Reports and feedback on their way.
    reports: VecDeque<(u64, Counters)>,
    feedback: VecDeque<(u64, Vec<PacketReport>)>,
    /// Feedback comes.
    heard: bool,
    /// No frame is captured.
    paused: bool,
    in_flight: u64,
    arrived: Vec<PacketReport>,
    /// Bytes that were served and that could be, and what packets took from capture on, ms.
    served: f64,
    capacity: f64,
    took: Vec<u64>,
}

impl Host {
    fn new(name: &str, rate: fn(u64) -> f64) -> Self {
        let config = Config::new(PAYLOAD, Draw::new(1));
        Self {
            c: build_media(name, &config).expect("the name exists"),
            now: 0,
            queue: VecDeque::new(),
            flying: VecDeque::new(),
            radio: VecDeque::new(),
            credit: [0.0; 2],
            rest: 0.0,
            seq: 0,
            rate,
            counters: Counters::default(),
            room: usize::MAX,
            dropped: 0,
            told: Some(|c| c),
            reports: VecDeque::new(),
            feedback: VecDeque::new(),
            heard: true,
            paused: false,
            in_flight: 0,
            arrived: Vec::new(),
            served: 0.0,
            capacity: 0.0,
            took: Vec::new(),
        }
    }

    fn path(&self) -> PathView {
        let rtt = Duration::from_millis(2 * WAY);
        PathView {
            srtt: rtt,
            min_rtt: rtt,
            mss: PAYLOAD,
            wire_mss: WIRE,
            in_flight: Bytes(self.in_flight),
            queued: Bytes(self.queue.len() as u64 * u64::from(WIRE)),
        }
    }

    fn target(&self) -> f64 {
        self.c.intent().target.expect("media has a target").as_bps() as f64
    }

    fn mode(&self) -> f64 {
        let mut out = vec![];
        self.c.snapshot(&mut out);
        out.iter()
            .find(|(key, _)| *key == "mode")
            .expect("it has one")
            .1
    }

    fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            self.step();
            let bounds =
                Encoder::DEFAULT.least.as_bps() as f64..=Encoder::DEFAULT.most.as_bps() as f64;
            assert!(bounds.contains(&self.target()), "{}", self.target());
        }
    }

    fn step(&mut self) {
        self.now += 1;
        let at = Instant::from_millis(self.now);
        if self.c.next_timer().is_some_and(|t| t <= at) {
            self.c.on_timer(at, &self.path());
        }
        if self.now.is_multiple_of(FRAME) && !self.paused {
            self.rest += self.target() / 8e3 * FRAME as f64;
            while self.rest >= f64::from(PAYLOAD) {
                self.rest -= f64::from(PAYLOAD);
                self.queue.push_back(Packet {
                    captured: self.now,
                    seq: 0,
                    sent: 0,
                });
            }
        }
        self.pace(at);
        self.serve();
        self.report(at);
    }

    fn pace(&mut self, at: Instant) {
        let pace = self.c.intent().pacing.expect("media is paced").as_bps() as f64 / 8e3;
        self.credit[0] = (self.credit[0] + pace).min(pace + f64::from(WIRE));
        while self.credit[0] >= f64::from(WIRE)
            && let Some(mut packet) = self.queue.pop_front()
        {
            self.credit[0] -= f64::from(WIRE);
            self.seq += 1;
            (packet.seq, packet.sent) = (self.seq, self.now);
            self.flying.push_back((self.now + WAY, packet));
            self.in_flight += u64::from(WIRE);
            let sent = Sent {
                bytes: Bytes(u64::from(WIRE)),
                ..Sent::default()
            };
            self.c.on_sent(at, &self.path(), &sent);
        }
    }

    fn serve(&mut self) {
        while self.flying.front().is_some_and(|(t, _)| *t <= self.now) {
            let (_, packet) = self.flying.pop_front().expect("it is there");
            if self.radio.len() < self.room {
                self.radio.push_back(packet);
                continue;
            }
            self.dropped += u64::from(WIRE);
            self.in_flight -= u64::from(WIRE);
            self.counters.gone = self.counters.gone.wrapping_add(WIRE);
            self.counters.dropped = Counters::dropped_of(self.dropped);
        }
        let rate = (self.rate)(self.now);
        self.capacity += rate;
        self.counters.offered = self.counters.offered.wrapping_add(rate as u32);
        self.credit[1] = (self.credit[1] + rate).min(rate + f64::from(WIRE));
        while self.credit[1] >= f64::from(WIRE)
            && let Some(packet) = self.radio.pop_front()
        {
            self.credit[1] -= f64::from(WIRE);
            self.counters.gone = self.counters.gone.wrapping_add(WIRE);
            self.served += f64::from(WIRE);
            self.took.push(self.now - packet.captured);
            let [sent, arrived] = [packet.sent, self.now].map(Instant::from_millis);
            let bytes = Bytes(u64::from(WIRE));
            self.arrived.push(PacketReport::received(
                packet.seq,
                sent,
                arrived,
                bytes,
                Ecn::NotEct,
            ));
        }
        self.counters.backlog = self.radio.len() as u32 * WIRE;
        let oldest = self.radio.front().map_or(0, |p| self.now - p.sent - WAY);
        self.counters.hol = Duration::from_millis(oldest);
        self.counters.active = 1;
        self.counters.stamp = Counters::stamp_of(Instant::from_millis(self.now));
    }

    fn report(&mut self, at: Instant) {
        if self.now.is_multiple_of(5)
            && let Some(told) = self.told
        {
            self.reports
                .push_back((self.now + WAY, told(self.counters)));
        }
        if self.now.is_multiple_of(FRAME) && !self.arrived.is_empty() {
            let packets = std::mem::take(&mut self.arrived);
            self.feedback.push_back((self.now + WAY, packets));
        }
        while self.reports.front().is_some_and(|(t, _)| *t <= self.now) {
            let (_, counters) = self.reports.pop_front().expect("it is there");
            self.c
                .on_report(at, &self.path(), &PathReport::Counters(counters));
        }
        while self.feedback.front().is_some_and(|(t, _)| *t <= self.now) {
            let (_, packets) = self.feedback.pop_front().expect("it is there");
            self.in_flight -= packets.len() as u64 * u64::from(WIRE);
            if self.heard {
                self.c
                    .on_feedback(at, &self.path(), &Feedback::new(&packets));
            }
        }
    }

    /// Utilisation, and the 95th percentile of what packets take from capture to the phone, ms, over so long.
    fn over(&mut self, ms: u64) -> (f64, u64) {
        (self.served, self.capacity) = (0.0, 0.0);
        self.took.clear();
        self.run(ms);
        self.took.sort_unstable();
        let p95 = self.took.get(self.took.len() * 95 / 100);
        (self.served / self.capacity, p95.copied().unwrap_or(0))
    }
}

/// 16 Mbit/s.
fn steady(_: u64) -> f64 {
    2000.0
}

/// 24 and 6 Mbit/s, a second each.
fn steps(ms: u64) -> f64 {
    if (ms / 1000).is_multiple_of(2) {
        3000.0
    } else {
        750.0
    }
}

#[test]
fn the_encoder_leaves_a_tenth_of_a_steady_radio_and_frames_are_over_before_the_next_one() {
    let mut host = Host::new("ebb-media", steady);
    host.run(2000);
    let (used, p95) = host.over(8000);
    assert!((0.88..0.98).contains(&used), "{used}");
    assert!(p95 <= WAY + FRAME + 8, "{p95}");
    assert_eq!(host.mode(), 0.0);
}

#[test]
fn an_encoder_by_feedback_alone_is_slower_to_follow_steps_than_one_by_counters() {
    let settled = |name: &str| {
        let mut host = Host::new(name, steps);
        host.run(4000);
        host.over(20_000)
    };
    let (ours, gcc) = (settled("ebb-media"), settled("gcc"));
    assert!(ours.0 > 0.8 && ours.0 > gcc.0, "{ours:?}, GCC {gcc:?}");
    assert!(ours.1 < 150, "{ours:?}");
}

#[test]
fn frames_do_not_overrun_a_short_buffer_for_long() {
    let mut host = Host::new("ebb-media", steady);
    host.room = 4;
    host.run(3_000);
    let (seq, before) = (host.seq, host.dropped);
    host.run(17_000);
    let sent = (host.seq - seq) * u64::from(WIRE);
    let dropped = host.dropped - before;
    assert!(200 * dropped < sent, "{dropped} of {sent}");
}

#[test]
fn a_lower_pace_and_a_longer_drain_are_what_they_are_called() {
    let used = |name: &str| {
        let mut host = Host::new(name, steady);
        host.run(2000);
        host.over(5000).0
    };
    assert!(used("ebb-media:pace=1.5") < 0.85);
    assert!(used("ebb-media:pace=1.5,drain=10000") < used("ebb-media:pace=1.5,drain=50"));
}

#[test]
fn gcc_takes_over_from_the_present_rate_where_reports_end_and_hands_back() {
    let mut host = Host::new("ebb-media", steady);
    host.run(5000);
    let before = host.target();
    host.told = None;
    host.run(200);
    assert_eq!(host.mode(), 3.0, "silent for more than two rounds");
    let after = host.target();
    assert!(
        (0.5 * before..=1.2 * before).contains(&after),
        "{before} then {after}"
    );
    let (used, p95) = host.over(10_000);
    assert!(used > 0.3 && p95 < 300, "{used} {p95}");
    host.told = Some(|c| c);
    host.run(60);
    assert_eq!(host.mode(), 0.0, "two newer reports");
    host.run(500);
    let (used, p95) = host.over(3000);
    assert!(used > 0.88 && p95 <= WAY + FRAME + 8, "{used} {p95}");
}

/// The last frame before a pause waited in the radio, and nothing is served in the pause: rule 6 saw a bottleneck elsewhere in that, and
/// held the encoder to next to nothing when it went on.
#[test]
fn a_pause_shows_no_bottleneck() {
    for ends in 3_000..3_017 {
        let mut host = Host::new("ebb-media", steps);
        host.run(ends);
        host.paused = true;
        for _ in 0..2_500 {
            host.run(1);
            assert_ne!(host.mode(), 1.0, "at {} ms", host.now);
        }
        host.paused = false;
        host.run(400);
        let (used, _) = host.over(1_000);
        assert!(used > 0.6, "{used} after a pause from {ends} ms on");
    }
}

#[test]
fn a_rate_falls_where_feedback_ends_though_reports_come() {
    let mut host = Host::new("ebb-media", steady);
    host.run(5000);
    let before = host.target();
    host.heard = false;
    host.run(3500);
    assert!(
        host.target() <= before / 2.0,
        "{before} then {}",
        host.target()
    );
    host.heard = true;
    host.run(300);
    assert!(
        host.target() > 0.8 * before,
        "{before} then {}",
        host.target()
    );
}

/// What a base station makes of the true counters.
type Forge = fn(Counters) -> Counters;

/// What a base station may tell in place of the truth.
const LIES: [(&str, Forge); 8] = [
    ("a tenth", |c| Counters {
        offered: c.offered / 10,
        backlog: c.backlog / 10,
        ..c
    }),
    ("tenfold", |c| Counters {
        offered: c.offered.wrapping_mul(10),
        backlog: c.backlog.saturating_mul(10),
        ..c
    }),
    ("a thousandfold", |c| Counters {
        offered: c.offered.wrapping_mul(1000),
        ..c
    }),
    ("nothing is offered", |c| Counters { offered: 0, ..c }),
    ("nothing leaves", |c| Counters { gone: 0, ..c }),
    ("all is dropped", |c| Counters {
        dropped: c.gone as u16,
        ..c
    }),
    ("others wait", |c| Counters {
        company: 10_000_000,
        active: 9,
        ..c
    }),
    ("the oldest byte is a minute old", |c| Counters {
        hol: Duration::from_secs(60),
        ..c
    }),
];

#[test]
fn no_lie_takes_more_than_half_of_what_there_is_without_reports_or_makes_frames_wait_for_a_second()
{
    let mut alone = Host::new("ebb-media", steady);
    alone.told = None;
    alone.run(5000);
    let without = alone.over(15_000).0;
    for (name, lie) in LIES {
        let mut host = Host::new("ebb-media", steady);
        host.told = Some(lie);
        host.run(5000);
        let (used, p95) = host.over(15_000);
        // Known: where nothing is said to be offered a tenth of the radio is left of three. Each time the base station is heard again the
        // rate falls for most of a second, and GCC is slow to come back.
        let least = if name == "nothing is offered" {
            0.3
        } else {
            0.5
        };
        assert!(used > without * least, "{name}: {used} of {without}");
        assert!(p95 < 1000, "{name}: {p95}");
    }
}

#[test]
fn late_reports_cost_little() {
    let mut host = Host::new("ebb-media", steady);
    host.run(2000);
    // They stand still on their way for 50 ms, again and again, and come late and together.
    for _ in 0..50 {
        host.reports.iter_mut().for_each(|(t, _)| *t += 50);
        host.run(100);
    }
    let (used, p95) = host.over(1000);
    assert!(used > 0.8 && p95 < 100, "{used} {p95}");
}
