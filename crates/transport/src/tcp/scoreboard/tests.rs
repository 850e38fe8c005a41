use super::*;

fn board(n: u64, len: u16) -> Scoreboard {
    let mut b = Scoreboard::new(1000);
    for i in 0..n {
        b.push(Segment {
            pos: i * u64::from(len),
            len,
            ..Segment::default()
        });
    }
    b
}

#[test]
fn the_pipe_follows_rfc_6675() {
    let mut b = board(10, 1000);
    assert_eq!(b.in_flight(), 10_000);
    let mut news = 0;
    b.sack(3000, 6000, |s| news += u64::from(s.len));
    assert_eq!((news, b.sacked(), b.fack()), (3000, 3000, 6));
    b.sack(2500, 7000, |s| news += u64::from(s.len));
    assert_eq!(
        (news, b.sacked(), b.fack()),
        (4000, 4000, 7),
        "the half segment at 2500 does not count, the old ones are no news"
    );
    assert_eq!(b.mark_lost(0), 1000);
    assert_eq!(b.mark_lost(1), 1000);
    assert_eq!(b.in_flight(), 4000);
    assert_eq!(b.next_lost(), Some(0));
    b.resend(0, |_| {});
    assert_eq!((b.in_flight(), b.next_lost()), (5000, Some(1)));
    assert_eq!(b.mark_lost(0), 1000, "the copy is lost as well");
    assert_eq!((b.in_flight(), b.next_lost()), (4000, Some(0)));
    b.resend(0, |_| {});
    let mut seen = Vec::new();
    b.acknowledge(3500, |s, was| seen.push((s.pos, was.sacked)));
    assert_eq!(seen, [(0, false), (1000, false), (2000, false)]);
    assert_eq!((b.una(), b.lost(), b.resent()), (3500, 0, 0));
    assert_eq!(b.in_flight(), 6500 - 3500);
}

#[test]
fn records_survive_growth_and_many_laps() {
    let mut b = Scoreboard::new(1000);
    let mut acked = 0;
    for round in 0..40u64 {
        for _ in 0..(30 + round * 7) {
            let pos = b.nxt();
            b.push(Segment {
                pos,
                len: 1000,
                ..Segment::default()
            });
        }
        let middle = b.una() + (b.nxt() - b.una()) / 2000 * 1000;
        b.sack(middle, middle + 5000, |_| {});
        let n = b.find(middle);
        assert!(b.is_sacked(n) && b.get(n).pos == middle);
        let lost = b.head();
        if !b.is_sacked(lost) {
            b.mark_lost(lost);
        }
        let to = b.una() + (20 + round * 7) * 1000;
        b.acknowledge(to, |_, _| acked += 1000);
        assert_eq!(b.una(), acked);
    }
    b.acknowledge(b.nxt(), |_, _| acked += 1000);
    assert!(b.is_empty());
    assert_eq!(
        (b.in_flight(), b.sacked(), b.lost(), b.nxt()),
        (0, 0, 0, acked)
    );
}

#[test]
fn short_segments_are_found_by_search() {
    let b = board(50, 100);
    for pos in 0..5000 {
        let s = b.get(b.find(pos));
        assert!(s.pos <= pos && pos < s.end());
    }
}

/// Segments that were acknowledged make room: the memory of a long connection is that of its window.
#[test]
fn the_ring_grows_with_what_is_in_flight_and_not_with_what_was_sent() {
    let mut b = board(1, 1000);
    for _ in 0..100 {
        let first = Segment {
            pos: b.nxt(),
            len: 1000,
            ..Segment::default()
        };
        b.push_row(first, 63);
        assert_eq!(b.segments(), 64);
        let row = b.acknowledge_row(b.nxt() - 1000).expect("whole segments");
        assert_eq!(row.count, 63);
    }
    assert_eq!(b.ring.len(), START);
    let first = Segment {
        pos: b.nxt(),
        len: 1000,
        ..Segment::default()
    };
    b.push_row(first, 64);
    assert_eq!(b.ring.len(), 2 * START);
}
