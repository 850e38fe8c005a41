use proptest::prelude::*;

use super::*;

const LEN: u32 = 1500;

/// A link that serves a packet each `gap` where `busy`, and would serve one each `gap` anyway.
struct Link {
    law: Abc,
    now: Instant,
    capacity: u64,
    gap: Duration,
}

impl Link {
    fn new(gap_us: u64) -> Self {
        Self {
            law: Abc::new(AbcConfig::default()),
            now: Instant::ZERO,
            capacity: 0,
            gap: Duration::from_micros(gap_us),
        }
    }

    fn opportunity(&mut self) {
        self.now += self.gap;
        self.capacity += u64::from(LEN);
        self.law.on_capacity(self.now, Bytes(self.capacity));
    }

    /// The share of accelerates among `n` packets that leave `behind` packets in the queue, one of `of` opportunities used.
    fn accelerates(&mut self, n: u32, of: u32, behind: u32) -> f64 {
        let mut passed = 0;
        for _ in 0..n {
            for _ in 0..of {
                self.opportunity();
            }
            let queue = QueueView {
                bytes: Bytes(u64::from(behind * LEN)),
                packets: behind,
            };
            let packet = PacketMeta {
                len: LEN,
                ecn: Ecn::Ect0,
            };
            let verdict = self
                .law
                .on_dequeue(self.now, Duration::ZERO, &queue, &packet);
            passed += u32::from(verdict == Verdict::Pass);
        }
        f64::from(passed) / f64::from(n)
    }
}

/// Between two reports of a link its total is taken to grow evenly: a steady rate is found whole, wherever the window begins.
#[test]
fn a_steady_rate_is_found_whole_between_two_reports() {
    let window = Duration::from_millis(40);
    let mut meter = Meter::default();
    // 1,000 bytes each millisecond, reported every 7 ms.
    for ms in (0..=140).step_by(7) {
        meter.note(Instant::from_millis(ms), 1_000 * ms, window);
    }
    let bytes = meter.within(Instant::from_millis(140), window);
    assert!((bytes - 40_000.0).abs() < 1e-6, "{bytes}");
}

#[test]
fn a_busy_link_without_a_queue_lets_a_little_less_than_half_accelerate() {
    // Equations 1 and 2 with tr = 0.98 mu and cr = mu: f = 0.49.
    let mut link = Link::new(1000);
    link.accelerates(100, 1, 0);
    let share = link.accelerates(1000, 1, 0);
    assert!((share - 0.49).abs() < 0.002, "{share}");
    assert!((link.law.share() - 0.49).abs() < 1e-9);
}

#[test]
fn a_queue_above_the_threshold_lowers_the_target() {
    // 1 packet/ms: 90 packets are 90 ms, 40 above the threshold; tr / mu = 0.98 - 40/133.3.
    let mut link = Link::new(1000);
    link.accelerates(100, 1, 89);
    let want = 0.5 * (0.98 - 40.0 / 133.333);
    let share = link.accelerates(2000, 1, 89);
    assert!((share - want).abs() < 0.002, "{share}, expected {want}");
    // Up to the threshold a queue counts for nothing; from 181 ms on all brake.
    assert!((link.accelerates(1000, 1, 49) - 0.49).abs() < 0.005);
    link.accelerates(200, 1, 181);
    assert!(link.accelerates(200, 1, 181) < 1e-9);
}

#[test]
fn an_idle_link_asks_for_more_in_proportion() {
    // Two of three opportunities used: f = 0.49 * 1.5.
    for (of, want) in [(2, 0.98), (3, 1.0), (10, 1.0)] {
        let mut link = Link::new(1000);
        link.accelerates(100, of, 0);
        let share = link.accelerates(1000, of, 0);
        assert!((share - want).abs() < 0.005, "{of}: {share}");
    }
}

#[test]
fn a_fall_of_the_link_is_known_within_the_window() {
    // From 4 packets/ms to 0.4 with 40 waiting: 10 ms become 100.
    let mut link = Link::new(250);
    link.accelerates(400, 1, 40);
    assert!((link.law.share() - 0.49).abs() < 1e-9);
    link.gap = Duration::from_micros(2500);
    // 20 ms are eight packets.
    link.accelerates(9, 1, 40);
    let want = 0.5 * (0.98 - (102.5 - 50.0) / 133.333);
    assert!(
        (link.law.share() - want).abs() < 0.01,
        "{}",
        link.law.share()
    );
}

#[test]
fn other_packets_pass_and_use_opportunities_that_are_not_abcs() {
    let mut link = Link::new(1000);
    for _ in 0..200 {
        // One packet of another kind for each of ABC's: all of what is left is used.
        link.opportunity();
        let other = PacketMeta {
            len: LEN,
            ecn: Ecn::NotEct,
        };
        let queue = QueueView::default();
        let verdict = link
            .law
            .on_dequeue(link.now, Duration::ZERO, &queue, &other);
        assert_eq!(verdict, Verdict::Pass);
        link.accelerates(1, 1, 0);
    }
    assert!(
        (link.law.share() - 0.49).abs() < 0.03,
        "{}",
        link.law.share()
    );
}

#[test]
fn a_packet_that_was_braked_before_spends_no_accelerate() {
    let mut link = Link::new(1000);
    link.accelerates(100, 10, 0);
    let before = link.law.tokens();
    let packet = PacketMeta {
        len: LEN,
        ecn: Ecn::Ce,
    };
    link.opportunity();
    let verdict = link
        .law
        .on_dequeue(link.now, Duration::ZERO, &QueueView::default(), &packet);
    assert_eq!(verdict, Verdict::Pass);
    assert!(link.law.tokens() >= before);
}

#[test]
fn accelerates_are_saved_up_to_the_limit_alone() {
    let mut link = Link::new(1000);
    link.accelerates(50, 100, 0);
    assert!(link.law.tokens() <= 5.0);
    // A link that stands still lets at most those that are saved pass.
    let now = link.now + Duration::from_millis(40);
    let queue = QueueView {
        bytes: Bytes(1_000_000),
        packets: 600,
    };
    let packet = PacketMeta {
        len: LEN,
        ecn: Ecn::Ect1,
    };
    let passed = (0..100)
        .filter(|_| {
            link.law
                .on_dequeue(now, Duration::from_secs(1), &queue, &packet)
                == Verdict::Pass
        })
        .count();
    assert!(passed <= 5, "{passed}");
}

#[test]
fn a_queue_that_nobody_tells_of_its_link_takes_itself_for_busy() {
    let mut law = Abc::new(AbcConfig::default());
    let packet = PacketMeta {
        len: LEN,
        ecn: Ecn::Ect0,
    };
    for ms in 0..200 {
        law.on_dequeue(
            Instant::from_millis(3 * ms),
            Duration::ZERO,
            &QueueView::default(),
            &packet,
        );
    }
    assert!((law.share() - 0.49).abs() < 1e-9);
}

proptest! {
    /// Whatever the link and the queue do: the share is one, no more accelerates pass than were earned, and more in the
    /// queue never asks for more.
    #[test]
    fn no_more_accelerates_pass_than_were_earned(
        steps in prop::collection::vec((0_u64..40_000, 0_u64..20_000, 0_u32..300, 0_u8..4, 40_u32..1500), 1..400),
    ) {
        let mut law = Abc::new(AbcConfig::default());
        let (mut now, mut capacity) = (Instant::ZERO, 0);
        let (mut earned, mut passed) = (5.0, 0.0);
        for (us, offered, packets, ecn, len) in steps {
            now += Duration::from_micros(us);
            capacity += offered;
            law.on_capacity(now, Bytes(capacity));
            let queue = QueueView { bytes: Bytes(u64::from(packets) * 1500), packets };
            let packet = PacketMeta { len, ecn: Ecn::from_bits(ecn) };
            let deeper = QueueView { bytes: queue.bytes + Bytes(3000), packets: packets + 2 };
            let mut other = law.clone();
            other.on_dequeue(now, Duration::ZERO, &deeper, &packet);
            let verdict = law.on_dequeue(now, Duration::ZERO, &queue, &packet);
            prop_assert!((0.0..=1.0).contains(&law.share()) && law.tokens() <= 5.0);
            prop_assert!(other.share() <= law.share() + 1e-12);
            if packet.ecn.is_capable() {
                earned += law.share();
                passed += f64::from(verdict == Verdict::Pass && packet.ecn != Ecn::Ce);
                prop_assert!(passed <= earned + 1e-9);
            } else {
                prop_assert_eq!(verdict, Verdict::Pass);
            }
        }
    }
}
