//! Two ends in one process, in virtual time: offer and answer, DTLS and SRTP are real, the network is a queue with a marker.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::SocketAddr;

use slackwater_control::registry::{Config, Encoder};
use slackwater_control::{PathReport, build_media};
use slackwater_core::{Draw, Duration, Ecn, Instant, Rate};
use slackwater_rtc::codec::{Decoder as Decode, Encoder as Encode};
use slackwater_rtc::{Receiver, Sender};
use slackwater_signal::Counters;
use slackwater_transport::rtp::{Format, RtpConfig, SourceConfig};

pub(crate) const SENDER: &str = "127.0.0.1:4001";
pub(crate) const RECEIVER: &str = "127.0.0.1:4002";

/// A link from the sender to the receiver: so much a second, and a mark above so much delay (RFC 9331: a step, not a ramp).
#[derive(Clone, Copy)]
pub(crate) struct Link {
    pub(crate) rate: Rate,
    pub(crate) mark_above: Duration,
    pub(crate) propagation: Duration,
    /// What would wait for longer is dropped.
    pub(crate) buffer: Duration,
    /// ECT(1) is bleached on the way.
    pub(crate) bleach: bool,
    /// All ECT(1) is marked.
    pub(crate) mark_all: bool,
    /// Of a hundred media packets so many are lost on the way.
    pub(crate) loss: u64,
    /// What becomes of a datagram on the way back.
    pub(crate) back: Back,
}

/// A way back that does what it should not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Back {
    /// It does not.
    Sound,
    /// Of ten datagrams so many are lost.
    Lost(u64),
    /// Datagrams are up to this late, each by another time, and so overtake each other.
    Reordered(Duration),
    /// Each arrives so many times.
    Repeated(u64),
    /// All are this late.
    Late(Duration),
    /// None arrives.
    Gone,
}

/// What the queue of the link saw.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) media: u64,
    pub(crate) marked: u64,
    pub(crate) dropped: u64,
    /// Media packets that were lost on the way.
    pub(crate) lost: u64,
    pub(crate) longest: Duration,
}

/// The base station of the link, which lies behind its propagation: it counts each datagram of the sender, whatever it is, and reports
/// each 5 ms.
#[derive(Debug)]
pub(crate) struct Station {
    began: Instant,
    next: Instant,
    /// When each datagram that waits came, when it will be gone, and its IP bytes.
    queue: VecDeque<(Instant, Instant, u64)>,
    gone: u64,
    /// The flow that it reports goes there.
    pub(crate) to: SocketAddr,
    /// Reports that the sender took.
    pub(crate) taken: u64,
}

impl Station {
    const EVERY: Duration = Duration::from_millis(5);

    /// The counters at `now` over a link of `rate`.
    fn count(&mut self, now: Instant, rate: Rate) -> Counters {
        self.next = self.next.saturating_add(Self::EVERY);
        while let Some((_, free, bytes)) = self.queue.front().copied()
            && free <= now
        {
            self.gone += bytes;
            self.queue.pop_front();
        }
        let offered = now.since(self.began).as_secs_f64() * rate.as_bps() as f64 / 8.0;
        let waits = || self.queue.iter().filter(|(came, ..)| *came <= now);
        let oldest = waits().next().map(|(came, ..)| now.since(*came));
        Counters {
            stamp: Counters::stamp_of(now),
            gone: self.gone as u32,
            offered: offered as u64 as u32,
            backlog: waits().map(|(.., bytes)| *bytes as u32).sum(),
            hol: oldest.unwrap_or_default(),
            active: 1,
            ..Counters::default()
        }
    }
}

/// Arrival, order, towards the receiver, ECN, bytes.
type Flight = (Instant, u64, bool, u8, Vec<u8>);

pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) link: Link,
    free: Instant,
    pub(crate) seen: Seen,
    wire: BinaryHeap<Reverse<Flight>>,
    order: u64,
    /// So many media packets of the sender are lost next.
    pub(crate) lose: u64,
    /// Retransmissions are lost on the way.
    pub(crate) lose_again: bool,
    /// Extended reports of the sender are lost on the way.
    pub(crate) unreported: bool,
    /// When the receiver requested packets.
    pub(crate) requests: Vec<Instant>,
    /// Where the receiver's datagrams come from, and the sender's reach it.
    pub(crate) address: SocketAddr,
    /// Datagrams of the sender to another place than that.
    pub(crate) astray: u64,
    /// What counts for the sender.
    pub(crate) station: Option<Station>,
}

pub(crate) fn at(place: &str) -> SocketAddr {
    place.parse().unwrap()
}

impl World {
    pub(crate) fn new(cc: &str, format: Format, link: Link, most: Rate) -> Self {
        Self::with_codec(cc, format, link, most, None)
    }

    /// Ends with a real codec at 30 frames a second, or with none.
    pub(crate) fn with_codec(
        cc: &str,
        format: Format,
        link: Link,
        most: Rate,
        codec: Option<(Box<dyn Encode>, Box<dyn Decode>)>,
    ) -> Self {
        let config = RtpConfig {
            format,
            ..RtpConfig::default()
        };
        Self::with_config(cc, &config, link, most, codec, str::to_owned)
    }

    /// Ends of this configuration. The receiver gets what `signalling` makes of the sender's offer.
    pub(crate) fn with_config(
        cc: &str,
        config: &RtpConfig,
        link: Link,
        most: Rate,
        codec: Option<(Box<dyn Encode>, Box<dyn Decode>)>,
        signalling: impl Fn(&str) -> String,
    ) -> Self {
        let now = Instant::from_millis(1_000_000);
        let mut config = *config;
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
        let (encode, decode) = codec.unzip();
        if encode.is_some() {
            config.sender.source.fps = 30.0;
        }
        let draw = Draw::new(7);
        let name = Config::new(u32::from(config.payload()), draw).with_encoder(encoder);
        let controller = build_media(cc, &name).unwrap();
        let mut sender =
            Sender::with_encoder(now, at(SENDER), config, controller, draw, encode).unwrap();
        let mut receiver = Receiver::with_decoder(now, at(RECEIVER), config, decode).unwrap();
        let offer = sender.offer(now).unwrap();
        let answer = receiver.answer(now, &signalling(&offer)).unwrap();
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
            lose: 0,
            lose_again: false,
            unreported: false,
            requests: Vec::new(),
            address: at(RECEIVER),
            astray: 0,
            station: None,
        }
    }

    /// The link is a radio whose base station reports the flow to `to`.
    pub(crate) fn count_for(&mut self, to: SocketAddr) {
        self.station = Some(Station {
            began: self.now,
            next: self.now,
            queue: VecDeque::new(),
            gone: 0,
            to,
            taken: 0,
        });
    }

    fn send(&mut self) {
        while let Some(out) = self.sender.poll_datagram() {
            if out.to != self.address {
                self.astray += 1;
                continue;
            }
            // Types are in clear: that of extended reports (RFC 3611, 2), and the one that we offer for retransmissions.
            let typ = out.bytes[1];
            if self.unreported && typ == 207 || self.lose_again && typ & 0x7f == 97 {
                continue;
            }
            if self.lose > 0 && out.ecn == Ecn::Ect1 {
                self.lose -= 1;
                continue;
            }
            self.order += 1;
            // RTP, by its version and type (RFC 7983, 7).
            let is_media = out.bytes[0] >> 6 == 2 && !(192..=223).contains(&out.bytes[1]);
            if is_media && Draw::new(13).bits(self.order) % 100 < self.link.loss {
                self.seen.lost += 1;
                continue;
            }
            let start = self.free.max(self.now);
            let wait = start.since(self.now);
            if wait > self.link.buffer {
                self.seen.dropped += 1;
                continue;
            }
            let length = slackwater_core::Bytes(out.bytes.len() as u64 + 28);
            self.free = start.saturating_add(self.link.rate.time_for(length));
            if let Some(station) = &mut self.station {
                let [came, gone] =
                    [self.now, self.free].map(|t| t.saturating_add(self.link.propagation));
                station.queue.push_back((came, gone, length.0));
            }
            let mut ecn = if self.link.bleach {
                Ecn::NotEct
            } else {
                out.ecn
            };
            self.seen.longest = self.seen.longest.max(wait);
            if ecn == Ecn::Ect1 {
                self.seen.media += 1;
                if self.link.mark_all || wait > self.link.mark_above {
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
            self.order += 1;
            let draw = Draw::new(11);
            let (late, times) = match self.link.back {
                Back::Sound => (Duration::ZERO, 1),
                Back::Lost(of_ten) => (
                    Duration::ZERO,
                    u64::from(draw.bits(self.order) % 10 >= of_ten),
                ),
                Back::Reordered(most) => (most.mul_f64(draw.uniform(self.order)), 1),
                Back::Repeated(times) => (Duration::ZERO, times),
                Back::Late(by) => (by, 1),
                Back::Gone => (Duration::ZERO, 0),
            };
            let arrival = self.now.saturating_add(self.link.propagation + late);
            for _ in 0..times {
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
    }

    pub(crate) fn run(&mut self, for_how_long: Duration) {
        let end = self.now.saturating_add(for_how_long);
        loop {
            self.send();
            let arrival = self.wire.peek().map(|Reverse(e)| e.0);
            let next = [
                arrival,
                self.sender.next_timer(),
                self.receiver.next_timer(),
                self.station.as_ref().map(|s| s.next),
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
                    self.sender.on_datagram(self.now, self.address, &bytes);
                }
            }
            if let Some(station) = self.station.as_mut().filter(|s| s.next <= self.now) {
                let counters = PathReport::Counters(station.count(self.now, self.link.rate));
                let taken = self.sender.on_report(self.now, station.to, &counters);
                station.taken += u64::from(taken);
            }
            self.sender.on_timer(self.now);
            self.receiver.on_timer(self.now);
            if self.receiver.stats().media.nacks > self.requests.len() as u64 {
                self.requests.push(self.now);
            }
        }
    }

    /// Mbit/s that arrived in the next `seconds`.
    pub(crate) fn rate(&mut self, seconds: u64) -> f64 {
        let before = self.receiver.stats().bytes.0;
        self.run(Duration::from_secs(seconds));
        (self.receiver.stats().bytes.0 - before) as f64 * 8.0 / seconds as f64 / 1e6
    }
}

pub(crate) const LINK: Link = Link {
    rate: Rate::from_bps(10_000_000),
    mark_above: Duration::from_millis(5),
    propagation: Duration::from_millis(10),
    // None that a test reaches, unless it says so.
    buffer: Duration::from_secs(60),
    bleach: false,
    mark_all: false,
    loss: 0,
    back: Back::Sound,
};
