//! Packets that are lost on the way are sent again, on a stream of their own (RFC 4588).

use slackwater_core::{Duration, Rate};
use slackwater_transport::rtp::{Format, RtpConfig};

use crate::world::{LINK, Link, World};

/// Two packets of a hundred are lost, whatever their ECN field.
const LOSSY: Link = Link { loss: 2, ..LINK };

fn world(cc: &str, config: &RtpConfig, signalling: impl Fn(&str) -> String) -> World {
    let mut world = World::with_config(cc, config, LOSSY, Rate::from_mbps(3.0), None, signalling);
    world.run(Duration::from_secs(10));
    // Nothing is lost at the end, and what was sent again arrives.
    world.link.loss = 0;
    world.run(Duration::from_secs(1));
    world
}

#[test]
fn what_is_lost_is_sent_again_and_its_frames_are_shown() {
    for (cc, format) in [
        ("cl4s", Format::Ccfb),
        ("scream", Format::Ccfb),
        ("gcc", Format::Twcc),
    ] {
        let config = RtpConfig {
            format,
            ..RtpConfig::default()
        };
        let world = world(cc, &config, str::to_owned);
        let (got, sent, seen) = (world.receiver.stats(), world.sender.stats(), &world.seen);
        eprintln!("{cc}: {seen:?}\n{sent:?}\n{got:?}");
        assert!(seen.lost > 20, "{cc}: {seen:?}");
        assert!(got.media.nacks > 10 && sent.media.nacks > 10, "{cc}");

        // Each that was lost, media or sent again, is sent again, but for padding, and for what has no later packet.
        let again = sent.media.retransmits;
        assert!(
            again * 10 >= seen.lost * 8,
            "{cc}: {again} of {}",
            seen.lost
        );
        assert!(again <= seen.lost + 3, "{cc}: {again} of {}", seen.lost);
        assert!(got.media.lost <= 1, "{cc}: {got:?}");

        // Reports tell of both streams what became of them, and of nothing more.
        let arrived = sent.media.arrived;
        assert!(
            arrived + seen.lost + 40 > sent.media.packets,
            "{cc}: {sent:?}"
        );
        assert!(sent.media.lost <= seen.lost, "{cc}: {sent:?}");
        assert!(sent.media.lost + 3 >= seen.lost, "{cc}: {sent:?}");
        assert!(
            got.media.packets + seen.lost + 40 > sent.media.packets,
            "{cc}"
        );
        assert_eq!((sent.malformed, sent.ignored), (0, 0), "{cc}");
    }
}

/// Without a stream of retransmissions in both descriptions nothing is requested, and a lost packet costs its frame.
#[test]
fn an_end_that_does_not_name_retransmissions_gets_none() {
    let mut sender_without = RtpConfig::default();
    sender_without.sender.retransmit = false;
    let mut receiver_without = RtpConfig::default();
    receiver_without.receiver.nack = false;
    let same = |offer: &str| offer.to_owned();
    // What a peer offers that knows of none.
    let without = |offer: &str| {
        let kept = |line: &&str| {
            !["rtx/90000", "apt=", "ssrc-group:FID"]
                .iter()
                .any(|w| line.contains(w))
        };
        let lines: Vec<&str> = offer.lines().filter(kept).collect();
        lines.join("\r\n").replace("96 97", "96") + "\r\n"
    };
    let of = |config: &RtpConfig, signalling: &dyn Fn(&str) -> String| {
        let world = world("cl4s", config, signalling);
        let (got, sent) = (world.receiver.stats(), world.sender.stats());
        assert!(
            sent.media.packets > 1000 && world.seen.lost > 20,
            "{sent:?}"
        );
        assert_eq!((got.media.nacks, sent.media.retransmits), (0, 0));
        assert!(got.media.lost > 15, "{got:?}");
    };
    of(&sender_without, &same);
    of(&receiver_without, &same);
    of(&RtpConfig::default(), &without);
}

/// A request is repeated after the round trip that the receiver measured: before its answer can be here nothing is requested again, and the
/// sender answers each request. Of a sender that reports no round trip it is repeated after 100 ms.
#[test]
fn a_request_is_repeated_after_the_round_trip_that_was_measured() {
    for (rtt, reported, after) in [(20, true, 40), (200, true, 220), (20, false, 100)] {
        let link = Link {
            rate: Rate::from_mbps(1000.0),
            propagation: Duration::from_millis(rtt / 2),
            ..LINK
        };
        let config = RtpConfig::default();
        let most = Rate::from_mbps(3.0);
        let mut world = World::with_config("cl4s", &config, link, most, None, str::to_owned);
        world.unreported = !reported;
        while !world.receiver.connected() {
            world.run(Duration::from_millis(1));
        }
        assert_eq!(world.receiver.stats().rtt, None, "nothing was reported yet");
        world.run(Duration::from_secs(5));
        let measured = world.receiver.stats().rtt;
        assert_eq!(measured.is_some(), reported);
        let off = measured.map_or(0.0, |m| m.as_millis_f64() - rtt as f64);
        assert!(off.abs() < 1.0, "{measured:?}");

        // One packet is lost, and whatever brings it again.
        (world.lose, world.lose_again) = (1, true);
        world.run(Duration::from_secs(3));
        assert_eq!(world.requests.len(), 10, "{:?}", world.requests);
        for pair in world.requests.windows(2) {
            let wait = pair[1].since(pair[0]).as_millis_f64();
            assert!((wait - f64::from(after)).abs() < 1.0, "{rtt} ms: {wait}");
        }
        assert_eq!(world.sender.stats().media.retransmits, 10);
    }
}
