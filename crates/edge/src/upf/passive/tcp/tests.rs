use slackwater_core::{Draw, SackBlock};

use super::*;

const MSS: u32 = 1000;
const MS: fn(u64) -> Instant = Instant::from_millis;

fn data(seq: u32, tsval: Option<u32>) -> TcpHeader {
    TcpHeader {
        seq: SeqNum(seq),
        ack: SeqNum(0),
        window: 0,
        flags: TcpFlags::ACK,
        payload: MSS,
        timestamps: tsval.map(|t| (t, 0)),
    }
}

fn ack(number: u32, tsecr: Option<u32>) -> TcpHeader {
    TcpHeader {
        seq: SeqNum(0),
        ack: SeqNum(number),
        window: 0,
        flags: TcpFlags::ACK,
        payload: 0,
        timestamps: tsecr.map(|t| (0, t)),
    }
}

fn blocks(list: &[(u32, u32)]) -> SackList {
    let mut out = SackList::default();
    for (start, end) in list {
        out.push(SackBlock {
            start: SeqNum(*start),
            end: SeqNum(*end),
        });
    }
    out
}

/// A flow of which `n` segments left, one each millisecond.
fn flow(n: u32) -> TcpFlow {
    let mut flow = TcpFlow::default();
    for i in 0..n {
        flow.on_left(MS(u64::from(i)), &data(i * MSS, Some(i)), MSS + 40);
    }
    flow
}

fn sample(info: AckInfo) -> Option<(u64, SampleKind)> {
    info.sample.map(|s| (s.rtt.as_millis(), s.kind))
}

#[test]
fn karn_repeated_segments_give_no_sample_unless_a_time_stamp_tells_the_copies_apart() {
    let mut f = flow(2);
    f.on_left(MS(50), &data(0, Some(50)), MSS + 40);
    assert_eq!(
        sample(f.on_uplink(MS(60), &ack(2 * MSS, None), &blocks(&[]))),
        None
    );
    let mut f = flow(2);
    f.on_left(MS(50), &data(0, Some(50)), MSS + 40);
    // The echo is the first copy's: the ACK was on its way when the second left.
    assert_eq!(
        sample(f.on_uplink(MS(60), &ack(2 * MSS, Some(0)), &blocks(&[]))),
        None
    );
    let mut f = flow(2);
    f.on_left(MS(50), &data(0, Some(50)), MSS + 40);
    let got = f.on_uplink(MS(80), &ack(2 * MSS, Some(50)), &blocks(&[]));
    assert_eq!(sample(got), Some((30, SampleKind::Full)));
    assert_eq!((f.flight(), f.repeated()), (0, 1));
}

#[test]
fn delayed_acks_time_the_newest_segment_and_the_last_ones_wait_is_suspect() {
    let mut f = flow(3);
    // Two segments covered, a third in flight: sent at once, timed by the second.
    let got = f.on_uplink(MS(31), &ack(2 * MSS, None), &blocks(&[]));
    assert_eq!(sample(got), Some((30, SampleKind::Full)));
    // The third alone: the ACK may have waited.
    let got = f.on_uplink(MS(72), &ack(3 * MSS, None), &blocks(&[]));
    assert_eq!(sample(got), Some((70, SampleKind::IfLower)));

    // A segment and a half at the end are less than two as well; two are acknowledged at once.
    for (last, kind) in [(MSS / 2, SampleKind::IfLower), (MSS, SampleKind::Full)] {
        let mut f = flow(1);
        let segment = TcpHeader {
            payload: last,
            ..data(MSS, None)
        };
        f.on_left(MS(1), &segment, last + 40);
        let got = f.on_uplink(MS(41), &ack(MSS + last, None), &blocks(&[]));
        assert_eq!(sample(got), Some((40, kind)), "{last}");
    }
}

#[test]
fn sack_times_the_newest_block_and_the_repair_of_the_hole_is_not_a_round_trip() {
    let mut f = flow(4);
    let got = f.on_uplink(MS(31), &ack(0, None), &blocks(&[(MSS, 2 * MSS)]));
    assert_eq!(sample(got), Some((30, SampleKind::Full)));
    assert_eq!(f.flight(), 3 * (u64::from(MSS) + 40));
    // The block grew by two.
    let got = f.on_uplink(MS(33), &ack(0, None), &blocks(&[(MSS, 4 * MSS)]));
    assert_eq!(sample(got), Some((30, SampleKind::Full)));
    assert_eq!((f.flight(), got.delivered), (1040, 2080));
    // Nothing new.
    let got = f.on_uplink(MS(34), &ack(0, None), &blocks(&[(MSS, 4 * MSS)]));
    assert_eq!((sample(got), got.delivered), (None, 0));
    f.on_left(MS(70), &data(0, None), MSS + 40);
    let got = f.on_uplink(MS(100), &ack(4 * MSS, None), &blocks(&[]));
    assert_eq!((sample(got), got.delivered, f.flight()), (None, 1040, 0));
}

#[test]
fn a_duplicate_report_is_counted_and_never_timed() {
    let mut f = flow(2);
    f.on_uplink(MS(30), &ack(2 * MSS, None), &blocks(&[]));
    let got = f.on_uplink(MS(40), &ack(2 * MSS, None), &blocks(&[(0, MSS)]));
    assert_eq!((sample(got), f.spurious()), (None, 1));
    let mut f = flow(4);
    let got = f.on_uplink(
        MS(40),
        &ack(0, None),
        &blocks(&[(MSS, 2 * MSS), (MSS, 3 * MSS)]),
    );
    assert_eq!((got.delivered, f.spurious()), (2080, 1));
}

#[test]
fn duplicate_acks_and_uplink_data_give_no_sample() {
    let mut f = flow(3);
    f.on_uplink(MS(31), &ack(2 * MSS, None), &blocks(&[]));
    let mut with_data = ack(2 * MSS, None);
    with_data.payload = 100;
    for segment in [ack(2 * MSS, None), with_data] {
        let got = f.on_uplink(MS(40), &segment, &blocks(&[]));
        assert_eq!((sample(got), got.delivered), (None, 0));
    }
}

#[test]
fn a_tail_that_was_dropped_before_it_left_is_not_in_flight() {
    let mut f = flow(2);
    // Segments 2 to 9 were dropped by the queue in front of the clock; all that left is acknowledged.
    f.on_uplink(MS(40), &ack(2 * MSS, None), &blocks(&[]));
    assert_eq!(f.flight(), 0);
    // The sender repeats the first of them: one segment flies.
    f.on_left(MS(300), &data(2 * MSS, None), MSS + 40);
    assert_eq!(f.flight(), 1040);
}

#[test]
fn a_flow_joined_in_the_middle_and_one_that_starts_over_are_measured_from_there() {
    let mut f = TcpFlow::default();
    f.on_left(MS(0), &data(5_000_000, None), MSS + 40);
    f.on_left(MS(1), &data(5_001_000, None), MSS + 40);
    let got = f.on_uplink(MS(30), &ack(5_002_000, None), &blocks(&[]));
    assert_eq!(sample(got), Some((29, SampleKind::Full)));
    let mut syn = data(3_999_999_999, None);
    syn.flags = TcpFlags::SYN.with(TcpFlags::ACK);
    syn.payload = 0;
    f.on_left(MS(100), &syn, 60);
    let got = f.on_uplink(MS(117), &ack(4_000_000_000, None), &blocks(&[]));
    assert_eq!(sample(got), Some((17, SampleKind::Full)));
}

/// (time in us, ACK, segment or ACK number, SACK ranges, segment that triggered it).
type Event = (u64, bool, u32, Vec<(u32, u32)>, u32);

/// The samples against the truth of a path with loss, reordering, delayed ACKs and SACK.
#[test]
fn samples_are_within_a_millisecond_of_the_truth_at_the_95th_percentile() {
    let draw = Draw::new(11);
    let mut f = TcpFlow::default();
    // (arrival at the UE, seq, index of the copy); the one-way delay down varies by 8 ms and up by 2 ms.
    let mut arrivals: Vec<(u64, u32)> = Vec::new();
    let mut left: Vec<u64> = Vec::new();
    let us = |n: u64| Instant::from_nanos(n * 1000);
    for i in 0..4_000_u32 {
        let at = u64::from(i) * 1_500;
        left.push(at);
        let radio = 12_000
            + draw.bits(u64::from(i)) % 1_000
            + 7_000 * u64::from(draw.bits(u64::from(i) + 10_000).is_multiple_of(50));
        arrivals.push((at + radio, i));
    }
    arrivals.sort_unstable();
    // Merge leaves and ACKs in time order.
    let mut events: Vec<Event> = left
        .iter()
        .enumerate()
        .map(|(i, at)| (*at, false, i as u32, Vec::new(), 0))
        .collect();
    let (mut next, mut held, mut waiting) = (0_u32, std::collections::BTreeSet::new(), 0);
    for (at, i) in arrivals {
        held.insert(i);
        let in_order = i == next;
        while held.remove(&next) {
            next += 1;
        }
        waiting += 1;
        if in_order && held.is_empty() && waiting < 2 {
            continue;
        }
        waiting = 0;
        let mut list = Vec::new();
        if let Some(first) = held.first() {
            let mut end = *first;
            while held.contains(&end) {
                end += 1;
            }
            list.push((first * MSS, end * MSS));
        }
        let up = 3_000 + draw.bits(u64::from(i) + 20_000) % 100;
        events.push((at + up, true, next * MSS, list, i));
    }
    events.sort();
    let mut errors = Vec::new();
    for (at, is_ack, number, list, i) in events {
        if is_ack {
            if let Some(s) = f
                .on_uplink(us(at), &ack(number, None), &blocks(&list))
                .sample
            {
                // The truth: the trip of the segment whose arrival triggered the ACK.
                let truth = at - left[i as usize];
                errors.push((s.rtt.as_nanos() / 1000).abs_diff(truth));
            }
        } else {
            f.on_left(us(at), &data(number * MSS, None), MSS + 40);
        }
    }
    errors.sort_unstable();
    assert!(errors.len() > 1_500, "{}", errors.len());
    let p95 = errors[errors.len() * 95 / 100];
    assert!(p95 < 1_000, "p95 error {p95} us");
    // The last may still wait for its ACK.
    assert!(f.flight() / 1040 - (4_000 - u64::from(next)) <= 1);
}
