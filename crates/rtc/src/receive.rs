//! The receiving end: the simulator's receiver, whose reports leave as SRTCP.

mod order;
mod round_trip;
mod whole;

use std::net::SocketAddr;

use slackwater_core::{Body, Bytes, Direction, Duration, Ecn, FlowId, Instant, Media, Packet};
use slackwater_transport::rtp::{
    Arrival, Arrivals, Mailbox, ReceiverStats, Rtcp, RtpConfig, RtpReceiver,
};
use slackwater_wire::rtcp::{Message, messages};

use crate::adapter::{Unwrap, Writer};
use crate::codec::{Codec, CodecError, Decoder};
use crate::level::Level;
use crate::peer::{Agreed, Event, Feedback, Outgoing, Peer, RtcError, Way};
use crate::{label, picture};

use self::order::Order;
use self::round_trip::RoundTrip;
pub(crate) use self::round_trip::middle;
use self::whole::Whole;

/// The stream that our reports come from, where we send none.
const REPORTER: u32 = 1;
/// Packets that one report of both streams speaks of (`slackwater_transport::rtp::feedback`: what one datagram holds).
const REPORTED: usize = 450;
/// Headers below RTP: IPv4 and UDP.
const IP_AND_UDP: u64 = 28;

/// What a decoder made of frames since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Decoded {
    /// Pictures.
    pub frames: u64,
    /// Frames without one: packets are missing, or a frame that it refers to is.
    pub failed: u64,
    /// From the newest picture's capture until it was decoded, by the sender's clock; zero where it does not say.
    pub delay: Duration,
    /// Sum of these delays.
    pub delays: Duration,
    /// Pictures that were compared with their originals.
    pub compared: u64,
    /// Mean of their peak signal-to-noise ratios in dB.
    pub psnr: Option<f64>,
}

/// Counters of a receiving end since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Received {
    /// The simulator's receiver: packets, marks, frames, reports. Of a sender that is not ours frames count by their last packets.
    pub media: ReceiverStats,
    /// IP bytes of media.
    pub bytes: Bytes,
    /// Packets that arrived as ECT(1) or CE.
    pub l4s: u64,
    /// Ends of frames (the RTP marker), whoever sent them.
    pub frames: u64,
    /// Delay of the newest frame from its capture, by the sender's clock; zero where it does not say.
    pub delay: Duration,
    /// Round trip, smoothed (RFC 6298); `None` while the other end has reported none.
    pub rtt: Option<Duration>,
    /// Of a stream that is decoded.
    pub decoded: Decoded,
}

/// The stream of retransmissions (RFC 4588, 4).
#[derive(Debug, Default)]
struct Repairs {
    /// Both ends may name them.
    offered: bool,
    /// How long later frames wait for them.
    patience: Duration,
    /// Its SSRC, from the first that came.
    stream: Option<u32>,
    /// Its sequence numbers.
    numbers: Unwrap<16>,
}

/// A receiver of one video stream.
#[derive(Debug)]
pub struct Receiver {
    peer: Peer,
    rtp: RtpReceiver,
    mailbox: Mailbox,
    writer: Writer,
    /// Numbers that reports call packets by.
    numbers: Unwrap<16>,
    /// RTP sequence numbers of the media's stream.
    sequences: Unwrap<16>,
    /// What descriptions say, from the connection's start on.
    agreed: Agreed,
    /// The stream that came first.
    stream: Option<u32>,
    /// What retransmissions come by.
    repairs: Repairs,
    /// After a round trip, what stays missing is requested again.
    round_trip: RoundTrip,
    /// Packets of another sender that are decoded, in their order.
    order: Order<rtc::rtp::Packet>,
    stats: Received,
    /// Without one nothing is decoded.
    decoder: Option<Box<dyn Decoder>>,
    /// What it reads has come.
    decoding: bool,
    /// Payloads of frames that wait for their end, or to be shown.
    whole: Whole,
    /// Captures of pictures that were decoded in this call: it ends later than it began.
    fresh: Vec<Instant>,
    /// Why the decoder gave no picture, the last time.
    failure: Option<CodecError>,
    connected: bool,
    gone: bool,
    events: Vec<Event>,
    out: Vec<Packet>,
}

impl Receiver {
    /// A receiver at the address `local`, which decodes nothing.
    ///
    /// # Errors
    /// Where the stack refuses.
    pub fn new(now: Instant, local: SocketAddr, config: RtpConfig) -> Result<Self, RtcError> {
        Self::with_decoder(now, local, config, None)
    }

    /// A receiver that decodes what `decoder` reads, where the other end sends it; `None`: nothing.
    ///
    /// # Errors
    /// Where the stack refuses.
    pub fn with_decoder(
        now: Instant,
        local: SocketAddr,
        mut config: RtpConfig,
        decoder: Option<Box<dyn Decoder>>,
    ) -> Result<Self, RtcError> {
        let feedback = Feedback {
            format: config.format,
            repaired: config.receiver.nack,
        };
        let repairs = Repairs {
            offered: config.receiver.nack,
            patience: config.receiver.patience,
            ..Repairs::default()
        };
        // Until both ends have named retransmissions.
        config.receiver.nack = false;
        let codecs: &[Codec] = match decoder.as_ref().map(|d| d.codec()) {
            None | Some(Codec::Vp8) => &[Codec::Vp8],
            Some(Codec::H264) => &[Codec::Vp8, Codec::H264],
        };
        Ok(Self {
            peer: Peer::new(now, local, Way::Receive, feedback, codecs, Level::MOST)?,
            rtp: RtpReceiver::new(FlowId(0), false, &config),
            mailbox: Mailbox::default(),
            writer: Writer::new(REPORTER, config.format),
            numbers: Unwrap::default(),
            sequences: Unwrap::default(),
            agreed: Agreed::default(),
            stream: None,
            repairs,
            round_trip: RoundTrip::default(),
            order: Order::new(Duration::ZERO),
            stats: Received::default(),
            decoder,
            decoding: false,
            whole: Whole::default(),
            fresh: Vec::new(),
            failure: None,
            connected: false,
            gone: false,
            events: Vec::new(),
            out: Vec::new(),
        })
    }

    /// Our offer.
    ///
    /// # Errors
    /// Where the stack refuses.
    pub fn offer(&mut self, now: Instant) -> Result<String, RtcError> {
        self.peer.offer(now)
    }

    /// Our answer to the other end's offer.
    ///
    /// # Errors
    /// Where the offer cannot be read or met.
    pub fn answer(&mut self, now: Instant, offer: &str) -> Result<String, RtcError> {
        self.peer.answer(now, offer)
    }

    /// The answer to our offer came.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn accept(&mut self, now: Instant, answer: &str) -> Result<(), RtcError> {
        self.peer.accept(now, answer)
    }

    /// A datagram came with this ECN field.
    pub fn on_datagram(&mut self, now: Instant, from: SocketAddr, ecn: Ecn, bytes: &[u8]) {
        self.count_delays(now);
        let mut events = core::mem::take(&mut self.events);
        self.peer.on_datagram(now, from, bytes, &mut events);
        self.take(now, events, ecn, bytes.len());
    }

    /// Time has come.
    pub fn on_timer(&mut self, now: Instant) {
        self.count_delays(now);
        let mut events = core::mem::take(&mut self.events);
        self.peer.on_timer(now, &mut events);
        self.take(now, events, Ecn::NotEct, 0);
        if self.order.next_timer().is_some_and(|t| t <= now) {
            self.put_in_order(now);
            self.decode(now);
            self.flush(now);
        }
        if let Some(mut bytes) = self.round_trip.ask(now, REPORTER) {
            self.send(now, &mut bytes);
        }
        if self.rtp.next_timer().is_some_and(|t| t <= now) {
            self.rtp.on_timer(now, &mut self.mailbox, &mut self.out);
            self.decode(now);
            self.flush(now);
        }
    }

    /// When [`Receiver::on_timer`] should be called.
    pub fn next_timer(&mut self) -> Option<Instant> {
        let media = [
            self.rtp.next_timer(),
            self.order.next_timer(),
            self.round_trip.next_timer(),
        ];
        let media = media.into_iter().flatten().filter(|_| !self.gone);
        media.chain(self.peer.next_timer()).min()
    }

    /// The next datagram that leaves.
    pub fn poll_datagram(&mut self) -> Option<Outgoing> {
        self.peer.poll_datagram()
    }

    /// Media may flow, or have flowed.
    pub const fn connected(&self) -> bool {
        self.connected
    }

    /// The connection is over.
    pub const fn gone(&self) -> bool {
        self.gone
    }

    /// Why the decoder gave no picture, the last time that it gave none.
    pub const fn failure(&self) -> Option<&CodecError> {
        self.failure.as_ref()
    }

    /// Says goodbye; the last datagrams are to be polled yet.
    pub fn close(&mut self) {
        self.gone = true;
        self.peer.close();
    }

    /// Counters.
    pub fn stats(&self) -> Received {
        Received {
            media: self.rtp.stats(),
            rtt: self.rtp.round_trip(),
            ..self.stats
        }
    }

    fn take(&mut self, now: Instant, mut events: Vec<Event>, ecn: Ecn, length: usize) {
        for event in events.drain(..) {
            match event {
                Event::Connected => self.start(now),
                Event::Gone => self.gone = true,
                Event::Media(packet) => self.on_media(now, &packet, ecn, length),
                Event::Rtcp(bytes) => self.on_rtcp(now, &bytes),
            }
        }
        self.events = events;
        self.flush(now);
    }

    /// Media may flow from now on.
    fn start(&mut self, now: Instant) {
        self.connected = true;
        self.round_trip.start(now);
        self.agreed = self.peer.agreed();
        let agreed = [self.agreed.vp8_again, self.agreed.h264_again];
        if self.repairs.offered && agreed.iter().any(Option::is_some) {
            self.rtp.request_missing();
            self.order = Order::new(self.repairs.patience);
        }
    }

    /// RTCP came, decrypted: of it, the answer to our reference time is used.
    fn on_rtcp(&mut self, now: Instant, bytes: &[u8]) {
        for message in messages(bytes).flatten() {
            if let Message::ExtendedReport(report) = message
                && let Some(rtt) = self.round_trip.on_report(now, &report, REPORTER)
            {
                self.rtp.on_round_trip(rtt);
            }
        }
    }

    /// An RTP packet came.
    fn on_media(&mut self, now: Instant, packet: &rtc::rtp::Packet, ecn: Ecn, length: usize) {
        let header = &packet.header;
        if let Some(original) = self.agreed.of_again(header.payload_type) {
            self.on_repair(now, packet, original, ecn, length);
            return;
        }
        if self.stream.is_some_and(|s| s != header.ssrc) {
            // Another stream: its numbers are not ours to report.
            return;
        }
        self.stream = Some(header.ssrc);
        self.count(ecn, length);
        let sequence = self.sequences.next(u64::from(header.sequence_number));
        let number = self.wide(header).unwrap_or(header.sequence_number);
        let arrival = Arrival {
            number: self.numbers.next(u64::from(number)) as u32,
            ecn,
            repair: false,
            sequence: Some(sequence as u32),
            last: header.marker,
        };
        self.rtp
            .on_arrival(now, &arrival, &mut self.mailbox, &mut self.out);
        self.on_content(now, packet, sequence, false);
    }

    /// A packet of the stream of retransmissions of payload type `original` came.
    fn on_repair(
        &mut self,
        now: Instant,
        packet: &rtc::rtp::Packet,
        original: u8,
        ecn: Ecn,
        length: usize,
    ) {
        let header = &packet.header;
        let other = self.repairs.stream.is_some_and(|s| s != header.ssrc);
        let (Some(stream), false) = (self.stream, other) else {
            return;
        };
        self.repairs.stream = Some(header.ssrc);
        self.count(ecn, length);

        // Padding has no original (RFC 4588, 4: its first two bytes are the original sequence number).
        let osn = packet.payload.first_chunk().map(|b| u16::from_be_bytes(*b));
        // Near the newest, which stays the newest.
        let mut sequences = self.sequences;
        let sequence = osn.map(|osn| sequences.next(u64::from(osn)));
        let wide = self.wide(header);
        let number = match wide {
            Some(wide) => self.numbers.next(u64::from(wide)),
            None => self.repairs.numbers.next(u64::from(header.sequence_number)),
        };
        let arrival = Arrival {
            number: number as u32,
            ecn,
            repair: wide.is_none(),
            sequence: sequence.map(|s| s as u32),
            last: false,
        };
        let fresh = self
            .rtp
            .on_arrival(now, &arrival, &mut self.mailbox, &mut self.out);
        if let (Some(osn), Some(sequence), true) = (osn, sequence, fresh) {
            let mut restored = packet.clone();
            restored.header.ssrc = stream;
            restored.header.payload_type = original;
            restored.header.sequence_number = osn;
            restored.payload = packet.payload.slice(2..);
            self.on_content(now, &restored, sequence, true);
        }
    }

    /// A packet of either stream came.
    fn count(&mut self, ecn: Ecn, length: usize) {
        self.stats.bytes += Bytes(length as u64 + IP_AND_UDP);
        self.stats.l4s += u64::from(matches!(ecn, Ecn::Ect1 | Ecn::Ce));
    }

    /// The transport-wide number of a packet.
    fn wide(&self, header: &rtc::rtp::Header) -> Option<u16> {
        let bytes = header.get_extension(self.agreed.extension?)?;
        Some(u16::from_be_bytes(bytes.as_ref().try_into().ok()?))
    }

    /// A media packet came, for the first time or after a gap was seen.
    fn on_content(
        &mut self,
        now: Instant,
        packet: &rtc::rtp::Packet,
        sequence: u64,
        retransmission: bool,
    ) {
        let header = &packet.header;
        let number = sequence as u32;
        let decodes = match &self.decoder {
            Some(decoder) => {
                Some(header.payload_type) == self.agreed.payload_type_of(decoder.codec())
            }
            None => false,
        };
        if decodes && !self.decoding {
            self.decoding = true;
            self.rtp.decode_outside();
        }
        let own = if decodes {
            let label = self.agreed.label.and_then(|id| header.get_extension(id));
            label.and_then(|l| label::read(&l, number, packet.payload.len()))
        } else {
            picture::read(&packet.payload, number)
        };
        let frame = self.stats.frames as u32;
        self.stats.frames += u64::from(header.marker);
        if let Some(media) = own {
            if decodes {
                self.whole.put(&media, packet.payload.clone());
            }
            if header.marker {
                self.stats.delay = now.since(media.captured);
            }
            self.put(now, media, retransmission);
        } else if decodes {
            self.order.push(now, sequence, packet.clone());
            self.put_in_order(now);
        } else if header.marker {
            // Who does not say what its packets are has frames of one packet, the last.
            let media = Media {
                captured: now,
                number,
                sequence: number,
                frame,
                packets: 1,
                payload: u16::try_from(packet.payload.len()).unwrap_or(u16::MAX),
                ..Media::default()
            };
            self.put(now, media, retransmission);
        }
        self.decode(now);
    }

    /// Media go to their frame.
    fn put(&mut self, now: Instant, media: Media, retransmission: bool) {
        let packet = Packet {
            created: media.captured,
            flow: FlowId(0),
            len: media.payload,
            ecn: Ecn::NotEct,
            dir: Direction::Down,
            body: Body::Media(Media {
                retransmission,
                ..media
            }),
        };
        self.rtp
            .on_media(now, &packet, &mut self.mailbox, &mut self.out);
    }

    /// Puts together the frames of another sender, from packets in their order.
    fn put_in_order(&mut self, now: Instant) {
        while let Some(packet) = self.order.pop(now) {
            let Some(decoder) = &self.decoder else {
                continue;
            };
            let is_key = |payloads: &[_]| decoder.is_key(payloads);
            let number = u32::from(packet.header.sequence_number);
            let media = self.whole.frame_of(now, &packet, number, is_key);
            if media.packets > 0 {
                self.put(now, media, false);
            }
        }
    }

    /// Decodes the frames that are shown.
    fn decode(&mut self, now: Instant) {
        let Some(decoder) = self.decoder.as_mut().filter(|_| self.decoding) else {
            self.rtp.take_frames();
            return;
        };
        let mut broken = false;
        for frame in self.rtp.take_frames() {
            let payloads = self.whole.take(frame.number);
            let counts = &mut self.stats.decoded;
            if frame.shown.is_none() || broken {
                counts.failed += 1;
                continue;
            }
            match decoder.decode(&payloads) {
                Ok(seen) => {
                    counts.frames += 1;
                    if let Some(psnr) = seen.psnr {
                        counts.compared += 1;
                        let mean = counts.psnr.unwrap_or(psnr);
                        counts.psnr = Some(mean + (psnr - mean) / counts.compared as f64);
                    }
                    self.fresh.push(frame.captured);
                }
                Err(e) => {
                    counts.failed += 1;
                    self.failure = Some(e);
                    broken = true;
                }
            }
        }
        if broken {
            self.rtp.need_key();
            self.rtp.on_timer(now, &mut self.mailbox, &mut self.out);
        }
    }

    /// What decoding took is seen at the next call: this crate reads no clock.
    fn count_delays(&mut self, now: Instant) {
        for captured in self.fresh.drain(..) {
            let delay = now.since(captured);
            self.stats.decoded.delay = delay;
            self.stats.decoded.delays += delay;
        }
    }

    /// Gives what the receiver says to the stack.
    fn flush(&mut self, now: Instant) {
        let mut reports: Vec<Vec<(u32, Arrivals)>> = Vec::new();
        let mut others = Vec::new();
        for packet in self.out.drain(..) {
            let (Body::Rtcp(rtcp), Some(stream)) = (packet.body, self.stream) else {
                continue;
            };
            match (self.mailbox.take(rtcp.message), self.repairs.stream) {
                (Some(Rtcp::Arrivals(arrivals)), _) => reports.push(vec![(stream, arrivals)]),
                (Some(Rtcp::Repairs(arrivals)), Some(stream)) => {
                    let room = |report: &&mut Vec<(u32, Arrivals)>| {
                        let packets: usize = report.iter().map(|(_, a)| a.packets.len()).sum();
                        report.len() == 1 && packets + arrivals.packets.len() <= REPORTED
                    };
                    match reports.last_mut().filter(room) {
                        Some(report) => report.push((stream, arrivals)),
                        None => reports.push(vec![(stream, arrivals)]),
                    }
                }
                (Some(message), _) => others.push((stream, message)),
                (None, _) => {}
            }
        }

        let mut bytes = Vec::new();
        for report in reports {
            let streams: Vec<_> = report.iter().map(|(stream, a)| (*stream, a)).collect();
            self.writer.write_reports(&streams, &mut bytes);
            self.send(now, &mut bytes);
        }
        for (stream, message) in others {
            self.writer.write(&message, stream, &mut bytes);
            self.send(now, &mut bytes);
        }
    }

    fn send(&mut self, now: Instant, bytes: &mut Vec<u8>) {
        if !bytes.is_empty() {
            self.peer.send_rtcp(now, core::mem::take(bytes));
        }
    }
}
