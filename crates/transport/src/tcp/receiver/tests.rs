use super::*;

const T: Instant = Instant::ZERO;

fn receiver() -> Receiver {
    let rule = DelayedAck {
        quick: 0,
        compress_sacks: false,
        ..DelayedAck::default()
    };
    let mut r = Receiver::new(100_000, 1000, 0, rule);
    r.window();
    r
}

fn blocks(r: &mut Receiver) -> Vec<(u32, u32)> {
    let mut slots = [SackBlock::default(); 3];
    let n = r.blocks(SeqNum(0), &mut slots);
    slots[..n.count()]
        .iter()
        .map(|b| (b.start.0, b.end.0))
        .collect()
}

#[test]
fn every_second_segment_is_acknowledged() {
    let mut r = receiver();
    assert_eq!(r.receive(T, 0, 1000, false, false), Reply::Later);
    assert_eq!(r.receive(T, 1000, 2000, false, false), Reply::Now);
    r.on_ack_sent();
    assert_eq!(r.receive(T, 2000, 3000, false, false), Reply::Later);
    r.hold(T, Duration::ZERO);
    assert_eq!(r.due, Instant::from_millis(40));
}

#[test]
fn the_start_is_acknowledged_at_once() {
    let mut r = Receiver::new(100_000, 1000, 0, DelayedAck::default());
    r.window();
    for i in 0..16 {
        assert_eq!(
            r.receive(T, i * 1000, i * 1000 + 1000, false, false),
            Reply::Now
        );
        r.on_ack_sent();
    }
    assert_eq!(r.receive(T, 16_000, 17_000, false, false), Reply::Later);
}

/// The example of RFC 2018, 5: segments of 500 bytes from 5000; the first is lost, later every other.
#[test]
fn sack_blocks_as_in_rfc_2018() {
    let mut r = receiver();
    r.receive(T, 0, 5000, false, false);
    for i in 1..8u64 {
        assert_eq!(
            r.receive(T, 5000 + i * 500, 5500 + i * 500, false, false),
            Reply::Now
        );
        assert_eq!(blocks(&mut r), [(5500, 5500 + i as u32 * 500)]);
    }
    let mut r = receiver();
    r.receive(T, 0, 5000, false, false);
    for start in [5500, 6500, 7500, 8500] {
        r.receive(T, start, start + 500, false, false);
    }
    assert_eq!(blocks(&mut r), [(8500, 9000), (7500, 8000), (6500, 7000)]);
    r.receive(T, 6000, 6500, false, false);
    assert_eq!(blocks(&mut r), [(5500, 7000), (8500, 9000), (7500, 8000)]);
    assert_eq!(r.receive(T, 5000, 5500, false, false), Reply::Now);
    assert_eq!(r.nxt(), 7000);
    assert_eq!(blocks(&mut r), [(8500, 9000), (7500, 8000)]);
}

#[test]
fn duplicates_are_reported_first() {
    let mut r = receiver();
    r.receive(T, 0, 3000, false, false);
    r.receive(T, 4000, 5000, false, false);
    assert_eq!(r.receive(T, 1000, 2000, false, false), Reply::Now);
    assert_eq!(
        blocks(&mut r),
        [(1000, 2000), (4000, 5000)],
        "RFC 2883, 4.1"
    );
    r.receive(T, 4000, 5000, false, false);
    assert_eq!(
        blocks(&mut r),
        [(4000, 5000), (4000, 5000)],
        "RFC 2883, 4.1.1"
    );
    assert_eq!(r.duplicates, 2000);
}

#[test]
fn the_window_closes_and_opens_by_whole_segments() {
    let rule = DelayedAck::default();
    let mut r = Receiver::new(4000, 1000, 0, rule);
    r.set_auto_read(false);
    assert_eq!(r.window(), 4000);
    r.receive(T, 0, 3000, false, false);
    assert_eq!((r.window(), r.unread()), (1000, 3000));
    assert_eq!(r.receive(T, 3000, 5000, false, false), Reply::Now);
    assert_eq!(r.nxt(), 3000, "beyond the window");
    r.receive(T, 3000, 4000, false, false);
    assert_eq!(r.window(), 0);
    assert_eq!(r.read(500), (500, false));
    assert_eq!(r.window(), 0, "less than a segment is not worth an update");
    assert_eq!(r.read(1500), (1500, true));
    assert_eq!(r.window(), 2000);
}

#[test]
fn compressed_sacks_wait_a_millisecond_after_three() {
    let rule = DelayedAck {
        quick: 0,
        ..DelayedAck::default()
    };
    let mut r = Receiver::new(100_000, 1000, 0, rule);
    r.window();
    let replies: Vec<_> = (1..6)
        .map(|i| r.receive(T, i * 1000, i * 1000 + 1000, false, false))
        .collect();
    assert_eq!(
        replies,
        [
            Reply::Now,
            Reply::Now,
            Reply::Now,
            Reply::Later,
            Reply::Later
        ]
    );
    r.hold(T, Duration::from_millis(100));
    assert_eq!(r.due, Instant::from_millis(1));
}

#[test]
fn a_train_is_acknowledged_once_by_its_last_segment() {
    let mut r = receiver();
    assert_eq!(r.receive(T, 0, 1000, false, true), Reply::Later);
    assert_eq!(r.receive(T, 1000, 2000, false, true), Reply::Never);
    assert_eq!(r.receive(T, 2000, 3000, false, true), Reply::Never);
    assert_eq!(r.receive(T, 3000, 4000, false, false), Reply::Now);
    r.on_ack_sent();
    // One alone waits for a second, and so does what follows a train.
    assert_eq!(r.receive(T, 4000, 5000, false, false), Reply::Later);
}

#[test]
fn a_train_holds_64_kib_at_most() {
    let mut r = receiver();
    let replies: Vec<_> = (0..70)
        .map(|i| {
            let reply = r.receive(T, i * 1000, i * 1000 + 1000, false, true);
            if reply == Reply::Now {
                r.on_ack_sent();
            }
            reply
        })
        .collect();
    let now: Vec<usize> = (0..70).filter(|i| replies[*i] == Reply::Now).collect();
    assert_eq!(now, [64], "66,000 bytes are too many");
}

#[test]
fn a_train_beyond_a_gap_makes_one_duplicate_ack() {
    let mut r = receiver();
    assert_eq!(r.receive(T, 1000, 2000, false, true), Reply::Later);
    assert_eq!(r.receive(T, 2000, 3000, false, false), Reply::Now);
    assert_eq!(r.dups, 1);
    // What fills the gap is answered, by the last segment that comes with it.
    assert_eq!(r.receive(T, 0, 1000, false, true), Reply::Never);
    assert_eq!(r.receive(T, 3000, 4000, false, false), Reply::Now);
}

#[test]
fn an_ack_that_waits_leaves_before_it_would_hide_a_block() {
    let rule = DelayedAck {
        quick: 0,
        ..DelayedAck::default()
    };
    let mut r = Receiver::new(100_000, 1000, 0, rule);
    r.window();
    for start in [1000, 3000, 5000] {
        assert!(!r.would_hide(start, start + 1000));
        assert_eq!(r.receive(T, start, start + 1000, false, false), Reply::Now);
        r.on_ack_sent();
    }
    // Nothing waits yet; then one does.
    assert!(!r.would_hide(7000, 8000));
    assert_eq!(r.receive(T, 7000, 8000, false, false), Reply::Later);
    // It grows the first or the second block, or makes a new one, or brings the third to the front.
    assert!(!r.would_hide(8000, 9000));
    assert!(!r.would_hide(6000, 7000));
    assert!(r.would_hide(9000, 10_000));
    assert!(r.would_hide(2000, 3000));
    r.on_ack_sent();
    assert!(!r.would_hide(9000, 10_000));
}

/// RFC 2883, 4.2: the part that came twice is reported, and the rest is taken.
#[test]
fn of_a_segment_that_came_in_part_before_the_rest_is_taken() {
    let mut r = receiver();
    r.receive(T, 0, 3000, false, false);
    assert_eq!(r.receive(T, 2000, 4000, false, false), Reply::Now);
    assert_eq!((r.nxt(), r.duplicates), (4000, 1000));
    assert_eq!(blocks(&mut r), [(2000, 3000)]);
}

/// Linux `tcp_dec_quickack_mode`: only a segment that carries an ACK which was due counts as one of the quick ones.
#[test]
fn data_that_acknowledges_nothing_new_uses_up_no_quick_ack() {
    let mut r = Receiver::new(100_000, 1000, 0, DelayedAck::default());
    r.window();
    assert_eq!(r.receive(T, 0, 1000, false, false), Reply::Now);
    r.on_ack_sent();
    for _ in 0..20 {
        r.on_data_sent();
    }
    assert_eq!(r.receive(T, 1000, 2000, false, false), Reply::Now);

    // Data that leaves before the ACK of a train does is that ACK.
    assert_eq!(r.receive(T, 2000, 3000, false, true), Reply::Never);
    assert_eq!(r.acked(), 1000);
    r.on_data_sent();
    assert_eq!(r.acked(), 3000);
}
