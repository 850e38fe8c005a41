//! The receiving end: the simulator's receiver, whose reports leave as SRTCP.

mod whole;

use std::net::SocketAddr;

use slackwater_core::{Body, Bytes, Direction, Duration, Ecn, FlowId, Instant, Media, Packet};
use slackwater_transport::rtp::{Mailbox, ReceiverStats, RtpConfig, RtpReceiver};

use crate::adapter::{Unwrap, Writer};
use crate::codec::{Codec, CodecError, Decoder};
use crate::peer::{Agreed, Event, Outgoing, Peer, RtcError, Way};
use crate::{label, picture};

use self::whole::Whole;

/// The stream that our reports come from, where we send none.
const REPORTER: u32 = 1;

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
    /// Of a stream that is decoded.
    pub decoded: Decoded,
}

/// A receiver of one video stream.
#[derive(Debug)]
pub struct Receiver {
    peer: Peer,
    rtp: RtpReceiver,
    mailbox: Mailbox,
    writer: Writer,
    numbers: Unwrap<16>,
    /// What descriptions say, from the connection's start on.
    agreed: Agreed,
    /// The stream that came first.
    stream: Option<u32>,
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
        // What a retransmission would be sent on does not exist: see `Sender::new`.
        config.receiver.nack = false;
        let codecs: &[Codec] = match decoder.as_ref().map(|d| d.codec()) {
            None | Some(Codec::Vp8) => &[Codec::Vp8],
            Some(Codec::H264) => &[Codec::Vp8, Codec::H264],
        };
        Ok(Self {
            peer: Peer::new(now, local, Way::Receive, config.format, codecs)?,
            rtp: RtpReceiver::new(FlowId(0), false, &config),
            mailbox: Mailbox::default(),
            writer: Writer::new(REPORTER, config.format),
            numbers: Unwrap::default(),
            agreed: Agreed::default(),
            stream: None,
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
        if self.rtp.next_timer().is_some_and(|t| t <= now) {
            self.rtp.on_timer(now, &mut self.mailbox, &mut self.out);
            self.decode(now);
            self.flush(now);
        }
    }

    /// When [`Receiver::on_timer`] should be called.
    pub fn next_timer(&mut self) -> Option<Instant> {
        let media = self.rtp.next_timer().filter(|_| !self.gone);
        [media, self.peer.next_timer()].into_iter().flatten().min()
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
            ..self.stats
        }
    }

    fn take(&mut self, now: Instant, mut events: Vec<Event>, ecn: Ecn, length: usize) {
        for event in events.drain(..) {
            match event {
                Event::Connected => {
                    self.connected = true;
                    self.agreed = self.peer.agreed();
                }
                Event::Gone => self.gone = true,
                Event::Media(packet) => self.on_media(now, &packet, ecn, length),
                Event::Rtcp(_) => {}
            }
        }
        self.events = events;
        self.flush(now);
    }

    fn on_media(&mut self, now: Instant, packet: &rtc::rtp::Packet, ecn: Ecn, length: usize) {
        let header = &packet.header;
        if self.stream.is_some_and(|s| s != header.ssrc) {
            // Another stream, such as a browser's retransmissions: its numbers are not ours to report.
            return;
        }
        self.stream = Some(header.ssrc);
        let wide = self.agreed.extension.and_then(|id| {
            let bytes = header.get_extension(id)?;
            Some(u16::from_be_bytes(bytes.as_ref().try_into().ok()?))
        });
        let number = self
            .numbers
            .next(u64::from(wide.unwrap_or(header.sequence_number))) as u32;
        let decodes = match &self.decoder {
            Some(decoder) => {
                Some(header.payload_type) == self.agreed.payload_type_of(decoder.codec())
            }
            None => false,
        };
        let own = if decodes {
            let label = self.agreed.label.and_then(|id| header.get_extension(id));
            label.and_then(|l| label::read(&l, number, packet.payload.len()))
        } else {
            picture::read(&packet.payload, number)
        };
        let media = match (own, &self.decoder) {
            (Some(media), _) => media,
            (None, Some(decoder)) if decodes => {
                let is_key = |payloads: &[_]| decoder.is_key(payloads);
                self.whole.frame_of(now, packet, number, is_key)
            }
            (None, _) => Media {
                captured: now,
                number,
                sequence: number,
                // Who does not say what its packets are has frames of one packet, the last: reports leave at the frame's end.
                frame: self.stats.frames as u32,
                packets: u32::from(header.marker),
                payload: u16::try_from(packet.payload.len()).unwrap_or(u16::MAX),
                ..Media::default()
            },
        };
        if own.is_some() && decodes {
            self.whole.put(&media, packet.payload.clone());
        }
        // IPv4 and UDP.
        self.stats.bytes += Bytes(length as u64 + 28);
        self.stats.l4s += u64::from(matches!(ecn, Ecn::Ect1 | Ecn::Ce));
        self.stats.frames += u64::from(header.marker);
        if own.is_some() && header.marker {
            self.stats.delay = now.since(media.captured);
        }
        let packet = Packet {
            created: media.captured,
            flow: FlowId(0),
            len: u16::try_from(length + 28).unwrap_or(u16::MAX),
            ecn,
            dir: Direction::Down,
            body: Body::Media(media),
        };
        if decodes && !self.decoding {
            self.decoding = true;
            self.rtp.decode_outside();
        }
        self.rtp
            .on_packet(now, &packet, &mut self.mailbox, &mut self.out);
        self.decode(now);
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
        for packet in self.out.drain(..) {
            let (Body::Rtcp(rtcp), Some(stream)) = (packet.body, self.stream) else {
                continue;
            };
            if let Some(message) = self.mailbox.take(rtcp.message) {
                let mut bytes = Vec::new();
                self.writer.write(&message, stream, &mut bytes);
                if !bytes.is_empty() {
                    self.peer.send_rtcp(now, bytes);
                }
            }
        }
    }
}
