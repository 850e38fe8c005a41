use slackwater_core::Ecn;

use super::*;
use crate::law::AnyLaw;

const FULL: QueueView = QueueView {
    bytes: Bytes(1_000_000),
    packets: 700,
};

fn packet(ecn: Ecn) -> PacketMeta {
    PacketMeta { len: 1500, ecn }
}

/// Dequeues one packet each `step` at a constant delay and returns the times of drops or marks in nanoseconds.
fn signals(law: &mut Codel, from_ms: u64, to_ms: u64, delay_ms: u64, ecn: Ecn) -> Vec<u64> {
    let step = Duration::from_micros(10);
    let delay = Duration::from_millis(delay_ms);
    let mut now = Instant::from_millis(from_ms);
    let mut out = Vec::new();
    while now < Instant::from_millis(to_ms) {
        loop {
            let verdict = law.on_dequeue(now, delay, &FULL, &packet(ecn));
            if verdict != Verdict::Pass {
                out.push(now.as_nanos());
            }
            if verdict == Verdict::Pass || ecn.is_capable() {
                break;
            }
        }
        now += step;
    }
    out
}

/// The schedule of RFC 8289, 5.6, written out: entry at one interval, then a sum of interval / sqrt(count).
fn schedule(entry_ms: f64, first_count: u32, n: usize) -> Vec<f64> {
    let mut t = entry_ms;
    let mut out = vec![t];
    for count in (first_count..).take(n - 1) {
        t += 100.0 / f64::from(count).sqrt();
        out.push(t);
    }
    out
}

fn assert_follows(got: &[u64], want: &[f64]) {
    assert_eq!(got.len(), want.len(), "{got:?} against {want:?}");
    for (g, w) in got.iter().zip(want) {
        let g = *g as f64 / 1e6;
        // A packet leaves each 10 us, and the drop falls on the first at or after its time.
        assert!(g >= *w - 1e-6 && g <= *w + 0.0101, "{g} against {w}");
    }
}

#[test]
fn drops_come_at_the_interval_over_the_root_of_the_count() {
    for ecn in [Ecn::NotEct, Ecn::Ect0] {
        let mut law = Codel::new(CodelConfig::default());
        let got = signals(&mut law, 0, 600, 6, ecn);
        assert_follows(&got, &schedule(100.0, 1, got.len()));
        // 100, 200, 270.7, 328.4, 378.4, 423.2, 464.0, 501.8, 537.1, 570.5
        assert_eq!(got.len(), 10);
    }
}

#[test]
fn below_the_target_or_with_one_packet_left_nothing_happens() {
    let mut law = Codel::new(CodelConfig::default());
    assert!(signals(&mut law, 0, 1000, 4, Ecn::NotEct).is_empty());
    let short = QueueView {
        bytes: Bytes(1500),
        packets: 1,
    };
    for ms in 1000..3000 {
        let v = law.on_dequeue(
            Instant::from_millis(ms),
            Duration::from_millis(50),
            &short,
            &packet(Ecn::NotEct),
        );
        assert_eq!(v, Verdict::Pass);
    }
}

#[test]
fn one_packet_below_the_target_ends_the_state_and_a_new_interval_starts() {
    let mut law = Codel::new(CodelConfig::default());
    assert_eq!(signals(&mut law, 0, 150, 6, Ecn::NotEct).len(), 1);
    assert!(law.is_dropping());
    signals(&mut law, 150, 151, 4, Ecn::NotEct);
    assert!(!law.is_dropping());
    let got = signals(&mut law, 151, 252, 6, Ecn::NotEct);
    assert_follows(&got, &[251.0]);
}

#[test]
fn a_quick_return_starts_from_the_count_that_worked() {
    let mut law = Codel::new(CodelConfig::default());
    assert_eq!(signals(&mut law, 0, 480, 6, Ecn::NotEct).len(), 7);
    assert_eq!(law.count(), 7);
    signals(&mut law, 480, 500, 1, Ecn::NotEct);
    // Entered at 600 ms, less than 16 intervals after drop_next: delta = 7 - 1.
    let got = signals(&mut law, 500, 700, 6, Ecn::NotEct);
    assert_follows(&got, &schedule(600.0, 6, got.len()));
    assert_eq!(got.len(), 3);
    // A second return at once: delta = 8 - 6.
    signals(&mut law, 700, 710, 1, Ecn::NotEct);
    let got = signals(&mut law, 710, 860, 6, Ecn::NotEct);
    assert_follows(&got, &schedule(810.0, 2, got.len()));
}

#[test]
fn a_late_return_starts_anew() {
    let mut law = Codel::new(CodelConfig::default());
    signals(&mut law, 0, 480, 6, Ecn::NotEct);
    signals(&mut law, 480, 2500, 1, Ecn::NotEct);
    signals(&mut law, 2500, 2650, 6, Ecn::NotEct);
    assert_eq!(law.count(), 1);
}

#[test]
fn after_a_pause_the_loop_drops_what_is_overdue_and_the_entry_drop_spares_its_successor() {
    let mut law = Codel::new(CodelConfig::default());
    let delay = Duration::from_millis(50);
    let mut at = |ms, ecn| law.on_dequeue(Instant::from_millis(ms), delay, &FULL, &packet(ecn));
    assert_eq!(at(0, Ecn::NotEct), Verdict::Pass);
    assert_eq!(at(100, Ecn::NotEct), Verdict::Mark);
    assert_eq!(at(100, Ecn::NotEct), Verdict::Pass);
    // Overdue: 200, 270.7, 328.4; the next is 378.4.
    for _ in 0..3 {
        assert_eq!(at(350, Ecn::NotEct), Verdict::Mark);
    }
    assert_eq!(at(350, Ecn::NotEct), Verdict::Pass);
    // A capable packet is marked once and leaves, however much is overdue.
    assert_eq!(at(500, Ecn::Ect0), Verdict::Mark);
}

#[test]
fn without_ecn_the_verdict_is_a_drop() {
    let mut law = Codel::new(CodelConfig {
        ecn: false,
        ..CodelConfig::default()
    });
    let delay = Duration::from_millis(50);
    law.on_dequeue(Instant::ZERO, delay, &FULL, &packet(Ecn::Ect0));
    let now = Instant::from_millis(100);
    assert_eq!(
        law.on_dequeue(now, delay, &FULL, &packet(Ecn::Ect0)),
        Verdict::Drop
    );
    assert_eq!(
        law.on_dequeue(now, delay, &FULL, &packet(Ecn::Ect0)),
        Verdict::Pass
    );
}

/// A queue that stands again comes back to the rate of drops that controlled it for 16 intervals after the last of them was due
/// (RFC 8289, 5.6), and no longer.
#[test]
fn a_rate_of_drops_is_remembered_for_sixteen_intervals() {
    let returns_after = |intervals: u64| {
        let mut law = Codel::new(CodelConfig::default());
        signals(&mut law, 0, 480, 6, Ecn::NotEct);
        assert_eq!(law.count(), 7);
        // The eighth drop was due at 100 / sqrt(1) + ... + 100 / sqrt(7), 501 ms; the state is entered an interval after the return.
        let back = 500 + 100 * (intervals - 1);
        signals(&mut law, 480, back, 1, Ecn::NotEct);
        signals(&mut law, back, back + 101, 6, Ecn::NotEct);
        law.count()
    };
    for intervals in [2, 7, 9, 15] {
        assert_eq!(returns_after(intervals), 6, "{intervals} intervals");
    }
    for intervals in [17, 30] {
        assert_eq!(returns_after(intervals), 1, "{intervals} intervals");
    }
}

/// Whoever holds any law tells it of the path and sees whether it drops, as vAQM does.
#[test]
fn a_law_behind_its_name_follows_the_path_and_says_that_it_drops() {
    let mut law = AnyLaw::Codel(Codel::new(CodelConfig::default()));
    law.on_path(Duration::from_millis(20), Duration::from_millis(400));
    let mut at = |ms, delay_ms| {
        let delay = Duration::from_millis(delay_ms);
        let now = Instant::from_millis(ms);
        let verdict = law.on_dequeue(now, delay, &FULL, &packet(Ecn::Ect0));
        (verdict, law.is_dropping())
    };
    // A delay that the default target of 5 ms forbids is short on this path.
    for ms in 0..1000 {
        assert_eq!(at(ms, 19), (Verdict::Pass, false), "{ms}");
    }
    // And a longer one is borne for the path's interval, not for 100 ms.
    for ms in 1000..1400 {
        assert_eq!(at(ms, 21), (Verdict::Pass, false), "{ms}");
    }
    assert_eq!(at(1400, 21), (Verdict::Mark, true));
    assert_eq!(at(1401, 1), (Verdict::Pass, false));
}
