//! Two ends of ours over a queue with a marker, in virtual time.

#[cfg(feature = "h264")]
mod h264;
mod repair;
mod robust;
mod world;

use slackwater_core::{Duration, Instant, Rate};
use slackwater_rtc::Receiver;
use slackwater_transport::rtp::{Format, RtpConfig};

use self::world::{LINK, Link, RECEIVER, World, at};

#[test]
fn the_target_rises_and_marks_hold_it_at_the_links_rate() {
    for cc in ["cl4s", "scream"] {
        let mut world = World::new(cc, Format::Ccfb, LINK, Rate::from_mbps(30.0));
        world.run(Duration::from_secs(1));
        assert!(
            world.sender.connected() && world.receiver.connected(),
            "{cc}"
        );
        world.run(Duration::from_secs(5));
        let rate = world.rate(5);
        assert!((5.0..10.2).contains(&rate), "{cc}: {rate} Mbit/s");
        // What is on its way when the encoder stops is small beside this.
        assert!(world.seen.marked > 50, "{cc}: {:?}", world.seen);
        let sent = world.sender.stats();
        let got = world.receiver.stats();
        // The last report may be on its way.
        let told = got.media.marked - sent.media.marked;
        let on_the_way = world.seen.marked - got.media.marked;
        assert!(
            told < 60 && on_the_way < 60,
            "{cc}: {:?} {got:?} {sent:?}",
            world.seen
        );
        assert_eq!(sent.malformed, 0);
        assert!(got.frames > 500 && got.media.lost < 5, "{cc}: {got:?}");
    }
}

#[test]
fn counts_of_marks_are_equal_at_queue_receiver_and_sender() {
    let mut world = World::new("cl4s", Format::Ccfb, LINK, Rate::from_mbps(30.0));
    world.run(Duration::from_secs(9));
    // The link becomes fast: no more marks, and all that were made are told of.
    world.link.rate = Rate::from_mbps(1000.0);
    world.run(Duration::from_secs(1));
    let (got, sent) = (world.receiver.stats(), world.sender.stats());
    assert!(world.seen.marked > 0);
    assert_eq!(world.seen.marked, got.media.marked);
    assert_eq!(world.seen.marked, sent.media.marked);
}

#[test]
fn gcc_goes_by_delay_over_transport_wide_reports() {
    let mut world = World::new("gcc", Format::Twcc, LINK, Rate::from_mbps(30.0));
    world.run(Duration::from_secs(8));
    let rate = world.rate(4);
    let sent = world.sender.stats();
    assert_eq!(
        sent.media.marked, 0,
        "transport-wide reports carry no marks"
    );
    assert!(sent.media.reports > 500, "{sent:?}");
    assert!((4.0..10.2).contains(&rate), "{rate} Mbit/s");
}

/// The handshake, STUN and RTCP are counted there and not by the controller. If nothing corrects that, 6 Mbit/s are left after two minutes.
#[test]
fn a_base_stations_counters_lead_the_encoder_and_the_queue_stays_short() {
    let unmarked = Link {
        mark_above: Duration::from_secs(60),
        propagation: Duration::from_millis(40),
        ..LINK
    };
    let mut world = World::new("ebb-media", Format::Ccfb, unmarked, Rate::from_mbps(30.0));
    world.count_for(at(RECEIVER));
    world.run(Duration::from_secs(3));
    for seconds in [5, 120] {
        world.run(Duration::from_secs(seconds - 5));
        world.seen.longest = Duration::ZERO;
        let rate = world.rate(5);
        let longest = world.seen.longest;
        assert!((8.0..10.0).contains(&rate), "{seconds} s: {rate} Mbit/s");
        assert!(
            longest < Duration::from_millis(60),
            "{seconds} s: {longest:?}"
        );
    }
    let taken = world.station.as_ref().map_or(0, |s| s.taken);
    let sent = world.sender.stats();
    assert!(taken > 20_000 && taken == sent.reports_beside, "{sent:?}");
}

#[test]
fn reports_of_another_flow_lead_nothing() {
    let mut world = World::new("ebb-media", Format::Ccfb, LINK, Rate::from_mbps(30.0));
    world.count_for(at("127.0.0.1:4003"));
    world.run(Duration::from_secs(3));
    let taken = world.station.as_ref().map(|s| s.taken);
    assert_eq!((taken, world.sender.stats().reports_beside), (Some(0), 0));
}

#[test]
fn wrong_descriptions_are_errors() {
    let now = Instant::from_millis(1_000);
    let config = RtpConfig::default();
    let made = || Receiver::new(now, at(RECEIVER), config).unwrap();
    let long = format!("v=0\r\nm=video 9\r\n{}", "a=x\r\n".repeat(20_000));
    for wrong in ["", "v=0", "hello", "v=0\r\nm=video x y z\r\n", &long] {
        let error = made().answer(now, wrong).unwrap_err().to_string();
        assert!(!error.is_empty(), "{wrong}");
    }
}
