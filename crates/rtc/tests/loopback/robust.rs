//! Paths and peers that do what they should not, in virtual time: the rate stays bounded, and the sender says what is wrong.

use slackwater_core::{Duration, Rate};
use slackwater_rtc::{Sent, Trouble};
use slackwater_transport::rtp::Format;
use slackwater_wire::rtcp::{Arrival, Ccfb, Message, Stream, messages};

use crate::world::{Back, LINK, Link, World, at};

const MOST: Rate = Rate::from_bps(30_000_000);

/// A sender of `cc` after five seconds of a sound link, which then becomes `link`.
fn after(cc: &str, link: Link) -> World {
    let mut world = World::new(cc, Format::Ccfb, LINK, MOST);
    world.run(Duration::from_secs(5));
    assert!(world.sender.connected(), "{cc}");
    world.link = link;
    world
}

/// What is wrong in the next second.
fn troubles(world: &mut World) -> Vec<Trouble> {
    let before = world.sender.stats();
    world.run(Duration::from_secs(1));
    Trouble::between(&before, &world.sender.stats(), Format::Ccfb)
}

/// Mbit/s that left in the next `seconds`, whether they arrived or not.
fn sent(world: &mut World, seconds: u64) -> f64 {
    let bytes = |s: Sent| s.media.bytes.0;
    let before = bytes(world.sender.stats());
    world.run(Duration::from_secs(seconds));
    (bytes(world.sender.stats()) - before) as f64 * 8.0 / seconds as f64 / 1e6
}

#[test]
fn feedback_that_is_lost_reordered_repeated_or_late_leaves_a_bounded_rate() {
    for back in [
        Back::Lost(3),
        Back::Lost(9),
        Back::Reordered(Duration::from_millis(100)),
        Back::Repeated(3),
        Back::Late(Duration::from_millis(300)),
    ] {
        for cc in ["cl4s", "gcc", "scream"] {
            let mut world = after(cc, Link { back, ..LINK });
            let before = world.sender.stats();
            // The link carries 10 Mbit/s, and a second of it may wait in the queue.
            let rate = sent(&mut world, 5);
            assert!(rate < 12.0, "{cc}, {back:?}: {rate} Mbit/s");
            let stats = world.sender.stats();
            assert_eq!(stats.malformed, 0);
            // A packet is counted once, however often reports speak of it.
            let media = stats.media;
            assert!(
                media.arrived + media.lost <= media.packets + 50,
                "{cc}, {back:?}: {media:?}"
            );
            assert!(media.arrived > before.media.arrived, "{cc}, {back:?}");
            // And the flow lives.
            world.link = LINK;
            let rate = sent(&mut world, 5);
            assert!(
                (0.2..11.0).contains(&rate),
                "{cc}, after {back:?}: {rate} Mbit/s"
            );
        }
    }
}

#[test]
fn a_peer_that_stops_is_told_of_and_the_rate_falls_to_its_least() {
    for cc in ["cl4s", "gcc", "scream"] {
        let mut world = after(
            cc,
            Link {
                back: Back::Gone,
                ..LINK
            },
        );
        world.run(Duration::from_secs(1));
        assert_eq!(troubles(&mut world), [Trouble::Silent], "{cc}");
        world.run(Duration::from_secs(6));
        let rate = sent(&mut world, 2);
        assert!(rate < 1.0, "{cc}: {rate} Mbit/s");
    }
}

#[test]
fn a_path_that_bleaches_is_told_of_and_delay_bounds_the_rate() {
    let mut world = after(
        "cl4s",
        Link {
            bleach: true,
            ..LINK
        },
    );
    world.run(Duration::from_secs(1));
    let l4s = world.receiver.stats().l4s;
    assert_eq!(troubles(&mut world), [Trouble::Bleached]);
    let rate = sent(&mut world, 8);
    assert!(rate < 10.6, "{rate} Mbit/s");
    assert_eq!(world.receiver.stats().l4s, l4s);
    // The guard goes by the queue's delay: it stands at a second where nobody does.
    world.seen.longest = Duration::ZERO;
    world.run(Duration::from_secs(2));
    assert!(
        world.seen.longest < Duration::from_millis(300),
        "{:?}",
        world.seen
    );
}

/// Where each packet is marked, marks say nothing of the queue. Three bounds, none of them by what was measured:
///
/// - A sender that answers marks alone halves its rate each round trip (RFC 8257, 3.3 with alpha of 1; RFC 9331, 4.3), to its least.
/// - cL4S takes marks that no decrease of its own ends for a rival's queue, leaves as Not-ECT and goes by losses (`al4s::rival`). A
///   media sender may lose a tenth before it must fall (draft-ietf-rmcat-gcc-02, 6), and the link carries the rest: so 10/9 of the
///   link leave at most.
/// - What waits besides, of a queue of 300 ms (RFC 8867, 5.1), in the part that is measured.
#[test]
fn a_path_that_marks_everything_is_told_of_and_the_rate_is_bounded() {
    let queue = Duration::from_millis(300);
    let (link, part) = (LINK.rate.as_bps() as f64 / 1e6, 10);
    let share = 1.0 + queue.as_secs_f64() / part as f64;
    for (cc, most) in [
        ("cl4s:rival=off", 1.0),
        ("scream", 1.0),
        ("cl4s", link * share * 10.0 / 9.0),
    ] {
        let all = Link {
            mark_all: true,
            buffer: queue,
            ..LINK
        };
        let mut world = after(cc, all);
        world.run(Duration::from_secs(1));
        assert_eq!(troubles(&mut world), [Trouble::AllMarked], "{cc}");
        world.run(Duration::from_secs(8));
        // Beyond the minute after which the rule looks anew.
        for k in 0..8 {
            let rate = sent(&mut world, part);
            eprintln!("{cc}, {k}: {rate:.2} Mbit/s, {:?}", world.seen);
            assert!(rate < most, "{cc}, part {k}: {rate} of {most} Mbit/s");
        }
    }
}

#[test]
fn a_peer_at_another_address_is_told_of_and_the_rate_falls() {
    let mut world = after("cl4s", LINK);
    // A NAT that forgot: from here on its datagrams come from elsewhere, and what goes to the old place is lost. The stack
    // stays with the pair that it chose.
    world.address = at("127.0.0.1:4003");
    world.run(Duration::from_secs(1));
    let found = troubles(&mut world);
    world.run(Duration::from_secs(18));
    let rate = sent(&mut world, 2);
    assert!(
        world.astray > 0 && rate < 1.0,
        "{} {rate} Mbit/s",
        world.astray
    );
    assert_eq!(found, [Trouble::Silent]);
}

#[test]
fn contradicting_reports_count_a_packet_once() {
    // What two reports say of the same packets: received, lost, received again with another mark.
    let mut world = after("cl4s", LINK);
    let stream = |packets: Vec<Option<Arrival>>| {
        let mut bytes = Vec::new();
        Message::Ccfb(Ccfb {
            sender: 1,
            streams: vec![Stream {
                ssrc: world.sender.stream(),
                begin: 0,
                packets,
            }],
            timestamp: 1 << 20,
        })
        .encode(&mut bytes);
        bytes
    };
    let marked = stream(vec![Some(Arrival::new(slackwater_core::Ecn::Ce, None)); 60]);
    let missing = stream(vec![None; 60]);
    let before = world.sender.stats();
    for _ in 0..50 {
        for report in [&missing, &marked, &missing] {
            assert!(messages(report).all(|m| m.is_ok()));
            world.sender.on_rtcp(world.now, report);
        }
    }
    let now = world.sender.stats();
    assert_eq!(now.media.arrived, before.media.arrived);
    assert_eq!(now.media.marked, before.media.marked);
    assert_eq!(now.media.lost, before.media.lost);
    let rate = sent(&mut world, 3);
    assert!((1.0..10.6).contains(&rate), "{rate} Mbit/s");
}

#[test]
fn rtcp_that_cannot_be_read_is_counted_and_told_of() {
    let mut world = after("cl4s", LINK);
    let before = world.sender.stats();
    // A report whose count of packets is beyond its end (RFC 8888, 3.1).
    let wrong = [
        0x8b, 205, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 255, 255, 0, 0, 0, 0,
    ];
    world.sender.on_rtcp(world.now, &wrong);
    let now = world.sender.stats();
    assert_eq!(now.malformed, before.malformed + 1);
    let found = Trouble::between(&before, &now, Format::Ccfb);
    assert_eq!(found, [Trouble::Malformed]);
    let rate = sent(&mut world, 3);
    assert!((1.0..10.6).contains(&rate), "{rate} Mbit/s");
}
