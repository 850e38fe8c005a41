//! Two ends in one process, in virtual time: offer and answer, DTLS and SRTP are real, the network is a queue with a marker.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;

use slackwater_control::build_media;
use slackwater_control::registry::{Config, Encoder};
use slackwater_core::{Draw, Duration, Ecn, Instant, Rate};
use slackwater_rtc::{Receiver, Sender};
use slackwater_transport::rtp::{Format, RtpConfig, SourceConfig};

const SENDER: &str = "127.0.0.1:4001";
const RECEIVER: &str = "127.0.0.1:4002";

/// A link from the sender to the receiver: so much a second, and a mark above so much delay (RFC 9331: a step, not a ramp).
#[derive(Clone, Copy)]
struct Link {
    rate: Rate,
    mark_above: Duration,
    propagation: Duration,
    /// ECT(1) is bleached on the way.
    bleach: bool,
}

/// What the queue of the link saw.
#[derive(Debug, Default)]
struct Seen {
    media: u64,
    marked: u64,
    longest: Duration,
}

/// Arrival, order, towards the receiver, ECN, bytes.
type Flight = (Instant, u64, bool, u8, Vec<u8>);

struct World {
    now: Instant,
    sender: Sender,
    receiver: Receiver,
    link: Link,
    free: Instant,
    seen: Seen,
    wire: BinaryHeap<Reverse<Flight>>,
    order: u64,
}

fn at(place: &str) -> SocketAddr {
    place.parse().unwrap()
}

impl World {
    fn new(cc: &str, format: Format, link: Link, most: Rate) -> Self {
        let now = Instant::from_millis(1_000_000);
        let mut config = RtpConfig {
            format,
            ..RtpConfig::default()
        };
        let encoder = Encoder {
            start: Rate::from_mbps(1.0),
            most,
            ..Encoder::DEFAULT
        };
        config.sender.source = SourceConfig {
            start: encoder.start,
            most,
            ..SourceConfig::default()
        };
        let draw = Draw::new(7);
        let name = Config::new(u32::from(config.payload()), draw).with_encoder(encoder);
        let controller = build_media(cc, &name).unwrap();
        let mut sender = Sender::new(now, at(SENDER), config, controller, draw).unwrap();
        let mut receiver = Receiver::new(now, at(RECEIVER), config).unwrap();
        let offer = sender.offer(now).unwrap();
        let answer = receiver.answer(now, &offer).unwrap();
        sender.accept(now, &answer).unwrap();
        Self {
            now,
            sender,
            receiver,
            link,
            free: now,
            seen: Seen::default(),
            wire: BinaryHeap::new(),
            order: 0,
        }
    }

    fn send(&mut self) {
        while let Some(out) = self.sender.poll_datagram() {
            let start = self.free.max(self.now);
            let wait = start.since(self.now);
            let length = slackwater_core::Bytes(out.bytes.len() as u64 + 28);
            self.free = start.saturating_add(self.link.rate.time_for(length));
            let mut ecn = if self.link.bleach {
                Ecn::NotEct
            } else {
                out.ecn
            };
            self.seen.longest = self.seen.longest.max(wait);
            if ecn == Ecn::Ect1 {
                self.seen.media += 1;
                if wait > self.link.mark_above {
                    self.seen.marked += 1;
                    ecn = Ecn::Ce;
                }
            }
            let arrival = self.free.saturating_add(self.link.propagation);
            self.order += 1;
            self.wire.push(Reverse((
                arrival,
                self.order,
                true,
                ecn as u8,
                out.bytes.to_vec(),
            )));
        }
        while let Some(out) = self.receiver.poll_datagram() {
            let arrival = self.now.saturating_add(self.link.propagation);
            self.order += 1;
            self.wire.push(Reverse((
                arrival,
                self.order,
                false,
                out.ecn as u8,
                out.bytes.to_vec(),
            )));
        }
    }

    fn run(&mut self, for_how_long: Duration) {
        let end = self.now.saturating_add(for_how_long);
        loop {
            self.send();
            let arrival = self.wire.peek().map(|Reverse(e)| e.0);
            let next = [
                arrival,
                self.sender.next_timer(),
                self.receiver.next_timer(),
            ];
            let next = next.into_iter().flatten().min().unwrap_or(end);
            if next > end {
                self.now = end;
                return;
            }
            self.now = self.now.max(next);
            while let Some(Reverse(first)) = self.wire.peek()
                && first.0 <= self.now
            {
                let Some(Reverse((_, _, down, ecn, bytes))) = self.wire.pop() else {
                    break;
                };
                if down {
                    self.receiver
                        .on_datagram(self.now, at(SENDER), Ecn::from_bits(ecn), &bytes);
                } else {
                    self.sender.on_datagram(self.now, at(RECEIVER), &bytes);
                }
            }
            self.sender.on_timer(self.now);
            self.receiver.on_timer(self.now);
        }
    }

    /// Mbit/s that arrived in the next `seconds`.
    fn rate(&mut self, seconds: u64) -> f64 {
        let before = self.receiver.stats().bytes.0;
        self.run(Duration::from_secs(seconds));
        (self.receiver.stats().bytes.0 - before) as f64 * 8.0 / seconds as f64 / 1e6
    }
}

const LINK: Link = Link {
    rate: Rate::from_bps(10_000_000),
    mark_above: Duration::from_millis(5),
    propagation: Duration::from_millis(10),
    bleach: false,
};

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

#[test]
fn a_bleached_path_shows_no_marks_and_the_rate_is_bounded() {
    let link = Link {
        bleach: true,
        ..LINK
    };
    let mut world = World::new("cl4s", Format::Ccfb, link, Rate::from_mbps(30.0));
    world.run(Duration::from_secs(8));
    let got = world.receiver.stats();
    assert_eq!((got.l4s, got.media.marked), (0, 0));
    let rate = world.rate(5);
    assert!(rate < 10.2);
}

#[test]
fn a_peer_that_stops_leaves_a_bounded_rate() {
    let mut world = World::new("cl4s", Format::Ccfb, LINK, Rate::from_mbps(30.0));
    world.run(Duration::from_secs(5));
    let before = world.sender.stats();
    // Nothing comes back from here on: the receiver's datagrams are thrown away.
    let end = world.now.saturating_add(Duration::from_secs(4));
    while world.now < end {
        while world.sender.poll_datagram().is_some() {}
        let next = world.sender.next_timer().unwrap_or(end).min(end);
        world.now = world.now.max(next);
        world.sender.on_timer(world.now);
    }
    let after = world.sender.stats();
    assert!(
        after.target < before.target.mul_f64(0.5),
        "{:?} {:?}",
        before.target,
        after.target
    );
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
