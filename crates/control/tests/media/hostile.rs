//! Whatever feedback arrives: nothing panics, what tells nothing new raises no rate, and silence lowers it.

use proptest::prelude::*;
use slackwater_control::{
    AnyMedia, Config, Counters, Encoder, Feedback, MediaController, PacketReport, PathReport,
    PathView, Sent, build_media, media_names,
};
use slackwater_core::{Bytes, Draw, Duration, Ecn, Instant};

/// What may happen to a media sender.
#[derive(Clone, Debug)]
enum Op {
    /// A report about new packets: how many, time on the way in µs, which of 16 are marked, which are lost.
    News {
        packets: u8,
        way_us: u32,
        marked: u16,
        lost: u16,
    },
    /// A report that was heard before, counted from the newest.
    Again(u8),
    /// The first packets of such a report.
    Truncated(u8, u8),
    /// Its packets from the last to the first.
    Reversed(u8),
    /// Lost packets that a report told of as received.
    Contradicted(u8),
    Empty,
    /// Packets of the future.
    Future(u32),
    /// An old report at a time that went back.
    Back(u32),
    /// New packets that arrived before the old ones.
    ClockBack(u32),
    Report(PacketReport),
    Advance(u32),
    Silence,
    /// A base station's counters, so long after the last ones: whatever they hold.
    Counters(u16, [u32; 4], u8),
}

fn any_packet() -> impl Strategy<Value = PacketReport> {
    (
        any::<u64>(),
        any::<u64>(),
        prop::option::of(any::<u64>()),
        any::<u64>(),
        any::<u8>(),
    )
        .prop_map(|(seq, sent, arrived, bytes, ecn)| {
            let mut report = PacketReport::default();
            report.seq = seq;
            report.sent = Instant::from_nanos(sent);
            report.arrived = arrived.map(Instant::from_nanos);
            report.bytes = Bytes(bytes);
            report.ecn = Ecn::from_bits(ecn);
            report
        })
}

/// Bytes that may be true: what left, what was offered, what waits, and what others have waiting.
fn counted() -> impl Strategy<Value = [u32; 4]> {
    (0u32..20_000, 0u32..60_000, 0u32..100_000, 0u32..1_000_000)
        .prop_map(|(gone, offered, backlog, company)| [gone, offered, backlog, company])
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => (1u8..32, 1_000u32..200_000, prop_oneof![Just(0u16), any::<u16>()], prop_oneof![4 => Just(0u16), 1 => any::<u16>()])
            .prop_map(|(packets, way_us, marked, lost)| Op::News { packets, way_us, marked, lost }),
        1 => any::<u8>().prop_map(Op::Again),
        1 => (any::<u8>(), any::<u8>()).prop_map(|(i, n)| Op::Truncated(i, n)),
        1 => any::<u8>().prop_map(Op::Reversed),
        1 => any::<u8>().prop_map(Op::Contradicted),
        1 => Just(Op::Empty),
        1 => any::<u32>().prop_map(Op::Future),
        1 => any::<u32>().prop_map(Op::Back),
        1 => (2_000u32..4_000_000).prop_map(Op::ClockBack),
        1 => any_packet().prop_map(Op::Report),
        4 => (0u32..200).prop_map(Op::Advance),
        1 => Just(Op::Silence),
        6 => (prop_oneof![4 => Just(40u16), 1 => any::<u16>()], prop_oneof![4 => counted(), 1 => any::<[u32; 4]>()], 0u8..3)
            .prop_map(|(after, bytes, instance)| Op::Counters(after, bytes, instance)),
    ]
}

struct Host {
    c: AnyMedia,
    now: Instant,
    path: PathView,
    seq: u64,
    heard: Vec<Vec<PacketReport>>,
    counters: Counters,
}

impl Host {
    fn new(name: &str) -> Self {
        let mut path = PathView::default();
        path.mss = 1160;
        path.wire_mss = 1200;
        Self {
            c: build_media(name, &Config::new(1160, Draw::new(1))).expect("the name exists"),
            now: Instant::from_millis(10_000),
            path,
            seq: 0,
            heard: Vec::new(),
            counters: Counters::default(),
        }
    }

    fn target(&self) -> u64 {
        self.c.intent().target.expect("media has a target").as_bps()
    }

    fn hear(&mut self, now: Instant, reports: &[PacketReport]) {
        self.c.on_feedback(now, &self.path, &Feedback::new(reports));
    }

    /// New packets that left just now, with the receiver's clock `ahead`.
    fn fresh(&mut self, packets: u8, way: Duration, ahead: Duration) -> Vec<PacketReport> {
        (0..packets)
            .map(|i| {
                let sent = self.now + Duration::from_micros(100) * u64::from(i);
                let mut event = Sent::default();
                event.bytes = Bytes(1200);
                self.c.on_sent(sent, &self.path, &event);
                self.seq += 1;
                PacketReport::received(self.seq, sent, sent + way + ahead, Bytes(1200), Ecn::Ect1)
            })
            .collect()
    }

    fn old(&self, i: u8) -> Vec<PacketReport> {
        let n = self.heard.len();
        if n == 0 {
            return Vec::new();
        }
        self.heard[n - 1 - usize::from(i) % n].clone()
    }

    /// True where the event told nothing new, so that the rate must not have risen.
    fn apply(&mut self, op: &Op) -> bool {
        let hour = Duration::from_secs(3600);
        match *op {
            Op::News {
                packets,
                way_us,
                marked,
                lost,
            } => {
                let way = Duration::from_micros(u64::from(way_us));
                let mut reports = self.fresh(packets, way, hour);
                for (i, report) in reports.iter_mut().enumerate() {
                    if lost >> (i % 16) & 1 != 0 {
                        *report = PacketReport::lost(report.seq, report.sent, report.bytes);
                    } else if marked >> (i % 16) & 1 != 0 {
                        report.ecn = Ecn::Ce;
                    }
                }
                self.now = self.now + way + Duration::from_millis(4);
                self.path.srtt = way + Duration::from_millis(4);
                self.hear(self.now, &reports);
                if lost == 0 {
                    self.heard.push(reports);
                }
                false
            }
            Op::Again(i) => {
                self.hear(self.now, &self.old(i));
                true
            }
            Op::Truncated(i, n) => {
                let old = self.old(i);
                self.hear(self.now, &old[..usize::from(n) % (old.len() + 1)]);
                true
            }
            Op::Reversed(i) => {
                let mut old = self.old(i);
                old.reverse();
                self.hear(self.now, &old);
                true
            }
            Op::Contradicted(i) => {
                let old: Vec<_> = self
                    .old(i)
                    .iter()
                    .map(|r| PacketReport::lost(r.seq, r.sent, r.bytes))
                    .collect();
                self.hear(self.now, &old);
                true
            }
            Op::Empty => {
                self.hear(self.now, &[]);
                true
            }
            Op::Future(us) => {
                let sent = self.now + Duration::from_micros(1 + u64::from(us));
                let report =
                    PacketReport::received(self.seq + 1, sent, sent, Bytes(1200), Ecn::Ect1);
                self.hear(self.now, &[report]);
                true
            }
            Op::Back(us) => {
                let before = self
                    .now
                    .saturating_sub(Duration::from_micros(u64::from(us)));
                self.hear(before, &self.old(0));
                true
            }
            Op::ClockBack(ms) => {
                if self.heard.is_empty() {
                    return false;
                }
                let back = Duration::from_millis(u64::from(ms));
                let ahead = (hour + Duration::from_secs(600)).saturating_sub(back);
                let reports = self.fresh(3, Duration::from_millis(5), ahead);
                self.now += Duration::from_millis(6);
                self.hear(self.now, &reports);
                // It may be believed in the end; see the test below.
                false
            }
            Op::Counters(after, [gone, offered, backlog, company], instance) => {
                let c = &mut self.counters;
                c.stamp = c.stamp.wrapping_add(after.into());
                c.gone = c.gone.wrapping_add(gone);
                c.offered = c.offered.wrapping_add(offered);
                (c.backlog, c.company, c.instance) = (backlog, company, instance);
                let report = PathReport::Counters(*c);
                self.c.on_report(self.now, &self.path, &report);
                false
            }
            Op::Report(report) => {
                self.hear(self.now, &[report]);
                false
            }
            Op::Advance(ms) => {
                self.now += Duration::from_millis(u64::from(ms));
                if self.c.next_timer().is_some_and(|at| at <= self.now) {
                    self.c.on_timer(self.now, &self.path);
                }
                true
            }
            Op::Silence => {
                let before = self.target();
                for _ in 0..150 {
                    self.now += Duration::from_millis(20);
                    let mut event = Sent::default();
                    event.bytes = Bytes(1200);
                    self.c.on_sent(self.now, &self.path, &event);
                    if self.c.next_timer().is_some_and(|at| at <= self.now) {
                        self.c.on_timer(self.now, &self.path);
                    }
                }
                let least = Encoder::DEFAULT.least.as_bps();
                assert!(
                    self.target() <= (before / 2).max(least),
                    "{before} and after 3 s of silence {}",
                    self.target()
                );
                true
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn no_feedback_breaks_a_controller(ops in prop::collection::vec(op(), 1..120)) {
        let changed = ["scream:hi=400,rival=dips", "scream-webrtc:hi=400,rival=on", "al4s-c:rival=dips", "al4s-c:r0=ebb", "ebb-media:window=1"];
        for name in media_names().into_iter().map(|(name, _)| name).chain(changed) {
            let mut host = Host::new(name);
            for op in &ops {
                let before = host.target();
                let nothing_new = host.apply(op);
                let after = host.target();
                let bounds = Encoder::DEFAULT.least.as_bps()..=Encoder::DEFAULT.most.as_bps();
                prop_assert!(bounds.contains(&after), "{name}: {after} after {op:?}");
                prop_assert!(!nothing_new || after <= before, "{name}: {before} to {after} by {op:?}");
                let intent = host.c.intent();
                prop_assert!(intent.pacing.is_some_and(|p| p.as_bps() > 0), "{name}");
                prop_assert!(intent.window.is_none_or(|w| w.0 > 0), "{name}");
                let mut snapshot = Vec::new();
                host.c.snapshot(&mut snapshot);
                prop_assert!(snapshot.iter().all(|(_, v)| v.is_finite()), "{name}: {snapshot:?}");
            }
        }
    }
}

/// A receiver whose clock goes back by a minute: its reports raise nothing until they are believed.
#[test]
fn a_clock_that_goes_back_raises_no_rate() {
    for (name, _) in media_names() {
        let mut host = Host::new(name);
        for _ in 0..50 {
            host.apply(&Op::News {
                packets: 8,
                way_us: 10_000,
                marked: 0,
                lost: 0,
            });
        }
        let before = host.target();
        for _ in 0..40 {
            let reports = host.fresh(8, Duration::from_millis(10), Duration::from_secs(3540));
            host.now += Duration::from_millis(14);
            host.hear(host.now, &reports);
            assert!(host.target() <= before, "{name}");
        }
    }
}
