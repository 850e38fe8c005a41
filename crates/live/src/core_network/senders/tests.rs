//! What is made of what the ends saw.

use super::*;

const MS: fn(u64) -> Duration = Duration::from_millis;

fn flow() -> Flow {
    Flow {
        // Two frames of 1,000 bytes; the second comes in halves, 8 and 12 ms after it was due.
        frames: vec![
            Frame {
                start: MS(100),
                bytes: 1_000,
                end: 1_000,
            },
            Frame {
                start: MS(120),
                bytes: 1_000,
                end: 2_000,
            },
            Frame {
                start: MS(140),
                bytes: 1_000,
                end: 3_000,
            },
        ],
        reads: vec![
            Read {
                at: MS(105),
                all: 1_000,
            },
            Read {
                at: MS(128),
                all: 1_500,
            },
            Read {
                at: MS(132),
                all: 2_000,
            },
            Read {
                at: MS(145),
                all: 2_900,
            },
        ],
        ..Flow::default()
    }
}

#[test]
fn frames_that_arrived_whole_have_a_time() {
    let flow = flow();
    let times: Vec<u64> = flow.times().map(|(_, took)| took.as_millis()).collect();
    assert_eq!(times, [5, 12]);
}

#[test]
fn late_bytes_are_those_read_after_the_limit() {
    let flow = flow();
    assert_eq!(flow.late(Duration::ZERO, MS(10)), (500, 2_000));
    assert_eq!(flow.late(Duration::ZERO, MS(7)), (1_000, 2_000));
    assert_eq!(flow.late(Duration::ZERO, MS(12)), (0, 2_000));
    assert_eq!(flow.late(MS(110), MS(10)), (500, 1_000));
    assert_eq!(flow.late(MS(130), MS(10)), (0, 0));
}

#[test]
fn bytes_count_where_they_were_read() {
    let flow = flow();
    assert_eq!(flow.read(Duration::ZERO, MS(1_000)), 2_900);
    assert_eq!(flow.read(MS(106), MS(132)), 500);
}
