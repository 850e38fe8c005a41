//! The sending end: the simulator's sender, whose packets leave as SRTP.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use bytes::Bytes;
use rtc::rtp::Header;
use slackwater_control::{AnyMedia, MediaController as _, PathReport};
use slackwater_core::{Body, Draw, Duration, Ecn, FlowId, Instant, Media, Packet, Rate};
use slackwater_transport::rtp::{Format, Rtcp, RtpConfig, RtpSender, SenderStats, Wanted};
use slackwater_wire::rtcp::{Dlrr, ExtendedReport, Message, messages};

use crate::adapter::Reader;
use crate::codec::{Codec, CodecError, Encoded, Encoder};
use crate::level::Level;
use crate::peer::{Agreed, Event, Feedback, Outgoing, Peer, RtcError, Way, format_of};
use crate::receive::middle;
use crate::streams::Streams;
use crate::surplus::Surplus;
use crate::{CLOCK, label, picture};

/// Counters of a sending end since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sent {
    /// The simulator's sender: frames, packets, bytes, losses, reports.
    pub media: SenderStats,
    /// RTCP packets that could not be read.
    pub malformed: u64,
    /// RTCP packets of other kinds, which nothing is done with.
    pub ignored: u64,
    /// Media leave as ECT(1).
    pub l4s: bool,
    /// Round trip, smoothed (RFC 6298); zero before the first report.
    pub srtt: Duration,
    /// What the encoder aims at.
    pub target: Rate,
    /// What the pacer lets go.
    pub pacing: Rate,
    /// Reports of a base station or an edge that the controller got.
    pub reports_beside: u64,
}

/// A frame that was encoded.
#[derive(Debug)]
struct Ready {
    wanted: Wanted,
    encoded: Encoded,
    /// When its encoding began: it is to be handed over as soon as can be.
    since: Instant,
}

/// A sender of one video stream.
#[derive(Debug)]
pub struct Sender {
    peer: Peer,
    config: RtpConfig,
    draw: Draw,
    /// Until the connection stands.
    controller: Option<AnyMedia>,
    rtp: Option<RtpSender>,
    reader: Reader,
    ssrc: u32,
    /// The stream of retransmissions.
    again: u32,
    streams: Streams,
    /// What left beside the media.
    surplus: Surplus,
    agreed: Agreed,
    /// The number of the newest packet.
    newest: u32,
    malformed: u64,
    ignored: u64,
    /// Reports of a base station or an edge.
    reports_beside: u64,
    l4s: bool,
    gone: bool,
    /// A real encoder; without one frames are synthetic.
    encoder: Option<Box<dyn Encoder>>,
    /// A real frame that was encoded in the last call: that call ended later than it began.
    ready: Option<Ready>,
    /// Payloads of real frames that have not left, by the frame's number.
    frames: BTreeMap<u32, Vec<Bytes>>,
    /// Why the encoder ended the flow.
    failure: Option<CodecError>,
    events: Vec<Event>,
    out: Vec<Packet>,
}

impl Sender {
    /// A sender of synthetic frames at the address `local` under `controller`. `draw` gives their sizes and the stream's
    /// number.
    ///
    /// # Errors
    /// Where the stack refuses.
    pub fn new(
        now: Instant,
        local: SocketAddr,
        config: RtpConfig,
        controller: AnyMedia,
        draw: Draw,
    ) -> Result<Self, RtcError> {
        Self::with_encoder(now, local, config, controller, draw, None)
    }

    /// A sender of what `encoder` makes; `None`: of synthetic frames.
    ///
    /// # Errors
    /// Where the stack refuses.
    pub fn with_encoder(
        now: Instant,
        local: SocketAddr,
        config: RtpConfig,
        controller: AnyMedia,
        draw: Draw,
        encoder: Option<Box<dyn Encoder>>,
    ) -> Result<Self, RtcError> {
        // Zero stands for "no stream" in many an implementation.
        let ssrc = (draw.bits(0) as u32).max(1);
        // Reports tell retransmissions apart by a stream of their own (RFC 4588, 4).
        let again = ssrc ^ 1 << 31;
        let feedback = Feedback {
            format: config.format,
            repaired: config.sender.retransmit,
        };
        let codecs: &[Codec] = match encoder.as_ref().map(|e| e.codec()) {
            None | Some(Codec::Vp8) => &[Codec::Vp8],
            Some(Codec::H264) => &[Codec::H264],
        };
        let level = encoder.as_ref().and_then(|e| e.level());
        let level = level.unwrap_or(Level::LEAST);
        let way = Way::Send(ssrc, again);
        let peer = Peer::new(now, local, way, feedback, codecs, level)?;
        let agreed = peer.agreed();
        Ok(Self {
            peer,
            config,
            draw,
            controller: Some(controller),
            rtp: None,
            reader: Reader::default(),
            ssrc,
            again,
            streams: Streams::default(),
            surplus: Surplus::default(),
            agreed,
            newest: 0,
            malformed: 0,
            ignored: 0,
            reports_beside: 0,
            l4s: false,
            gone: false,
            encoder,
            ready: None,
            frames: BTreeMap::new(),
            failure: None,
            events: Vec::new(),
            out: Vec::new(),
        })
    }

    /// The format of reports that the answer to `offer` should be built with.
    pub fn format_of(offer: &str) -> Format {
        format_of(offer)
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
        let answer = self.peer.answer(now, offer)?;
        self.limit()?;
        Ok(answer)
    }

    /// The answer to our offer came.
    ///
    /// # Errors
    /// Where it cannot be read, or the other end does not decode what the encoder makes.
    pub fn accept(&mut self, now: Instant, answer: &str) -> Result<(), RtcError> {
        self.peer.accept(now, answer)?;
        self.limit()
    }

    /// The encoder makes no more than the other end decodes.
    fn limit(&mut self) -> Result<(), RtcError> {
        if let Some(encoder) = &mut self.encoder
            && encoder.codec() == Codec::H264
            && let Some(level) = self.peer.level()?
        {
            encoder.limit(level)?;
        }
        Ok(())
    }

    /// A datagram came.
    pub fn on_datagram(&mut self, now: Instant, from: SocketAddr, bytes: &[u8]) {
        let mut events = core::mem::take(&mut self.events);
        self.peer.on_datagram(now, from, bytes, &mut events);
        self.take(now, events);
    }

    /// Time has come.
    pub fn on_timer(&mut self, now: Instant) {
        let mut events = core::mem::take(&mut self.events);
        self.peer.on_timer(now, &mut events);
        self.take(now, events);
        self.hand_over(now);
        if let Some(rtp) = &mut self.rtp
            && rtp.next_timer().is_some_and(|t| t <= now)
        {
            rtp.on_timer(now, &mut self.out);
            self.encode(now);
            self.flush(now);
        }
    }

    /// When [`Sender::on_timer`] should be called.
    pub fn next_timer(&mut self) -> Option<Instant> {
        let media = self.rtp.as_ref().and_then(RtpSender::next_timer);
        let ready = self.ready.as_ref().map(|r| r.since);
        let timers = [
            media.filter(|_| !self.gone),
            ready.filter(|_| !self.gone),
            self.peer.next_timer(),
        ];
        timers.into_iter().flatten().min()
    }

    /// The next datagram that leaves.
    pub fn poll_datagram(&mut self) -> Option<Outgoing> {
        let out = self.peer.poll_datagram()?;
        let media = is_media(&out.bytes);
        let counted = self.counted();
        self.surplus
            .on_datagram(out.to, out.bytes.len(), media, counted);
        Some(out)
    }

    /// IP bytes of media, as the controller counts them.
    fn counted(&self) -> u64 {
        self.rtp.as_ref().map_or(0, |rtp| rtp.stats().bytes.0)
    }

    /// A base station or an edge reports the flow of datagrams to `to`; false where media do not go there. What it counts beside
    /// the media is taken off.
    pub fn on_report(&mut self, now: Instant, to: SocketAddr, report: &PathReport) -> bool {
        let counted = self.counted();
        let Some(rtp) = self.rtp.as_mut().filter(|_| self.surplus.to() == Some(to)) else {
            return false;
        };
        let report = match report {
            PathReport::Counters(counters) => {
                PathReport::Counters(self.surplus.correct(counters, counted))
            }
            other => *other,
        };
        rtp.on_path_report(now, &report, &mut self.out);
        self.reports_beside += 1;
        self.flush(now);
        true
    }

    /// Media flow, or have flowed.
    pub const fn connected(&self) -> bool {
        self.rtp.is_some()
    }

    /// The connection is over.
    pub const fn gone(&self) -> bool {
        self.gone
    }

    /// Why the encoder, or the source of its pictures, ended the flow.
    pub const fn failure(&self) -> Option<&CodecError> {
        self.failure.as_ref()
    }

    /// What it sends.
    pub fn codec(&self) -> Codec {
        self.encoder.as_ref().map_or(Codec::Vp8, |e| e.codec())
    }

    /// Captures no frame from `now` on. What was captured leaves, and reports are read.
    pub fn finish(&mut self, now: Instant) {
        if let Some(rtp) = &mut self.rtp {
            rtp.end(now);
        }
    }

    /// Says goodbye; the last datagrams are to be polled yet.
    pub fn close(&mut self) {
        self.gone = true;
        self.peer.close();
    }

    /// Counters.
    pub fn stats(&self) -> Sent {
        let mut sent = Sent {
            malformed: self.malformed,
            ignored: self.ignored,
            reports_beside: self.reports_beside,
            l4s: self.l4s,
            ..Sent::default()
        };
        if let Some(rtp) = &self.rtp {
            let sample = rtp.sample();
            sent.media = rtp.stats();
            sent.srtt = sample.srtt;
            sent.target = rtp.encoder_rate();
            sent.pacing = sample.pacing.unwrap_or_default();
        }
        sent
    }

    /// The format of the reports.
    pub const fn format(&self) -> Format {
        self.config.format
    }

    /// The name of the controller.
    pub fn controller(&self) -> &str {
        match (&self.rtp, &self.controller) {
            (Some(rtp), _) => rtp.controller().name(),
            (None, Some(controller)) => controller.name(),
            (None, None) => "",
        }
    }

    fn take(&mut self, now: Instant, mut events: Vec<Event>) {
        for event in events.drain(..) {
            match event {
                Event::Connected => self.start(now),
                Event::Gone => self.gone = true,
                Event::Media(_) => self.ignored += 1,
                Event::Rtcp(bytes) => self.on_rtcp(now, &bytes),
            }
        }
        self.events = events;
        self.flush(now);
    }

    fn start(&mut self, now: Instant) {
        let Some(controller) = self.controller.take() else {
            return;
        };
        self.agreed = self.peer.agreed();
        // Without a stream for them nothing is sent again.
        self.config.sender.retransmit &= self.agreed.again(self.codec()).is_some();
        let stop = Instant::MAX;
        let mut rtp = RtpSender::new(
            FlowId(0),
            false,
            &self.config,
            controller,
            now,
            stop,
            self.draw,
        );
        if self.encoder.is_some() {
            rtp.encode_outside();
        }
        self.rtp = Some(rtp);
    }

    /// Bytes that our label adds to a packet.
    const fn label(&self) -> usize {
        match (self.agreed.label, self.agreed.extension) {
            (None, _) => 0,
            (Some(_), None) => label::ALONE,
            (Some(_), Some(_)) => label::BESIDE,
        }
    }

    /// Payload bytes of a packet, less our label.
    fn room(&self) -> usize {
        usize::from(self.config.payload())
            .saturating_sub(self.label())
            .max(1)
    }

    /// Encodes the frame that is due. Its packets wait until the next call, which knows the time that this took: this crate
    /// reads no clock.
    fn encode(&mut self, now: Instant) {
        let room = self.room();
        let (Some(encoder), Some(rtp), false) = (&mut self.encoder, &mut self.rtp, self.gone)
        else {
            return;
        };
        let Some(wanted) = rtp.due(now) else { return };

        // What labels take of packets, frames leave to them.
        let mut reduced = wanted;
        let share = room as f64 / f64::from(self.config.payload());
        reduced.target = wanted.target.mul_f64(share);
        match encoder.encode(&reduced, room) {
            Ok(encoded) => {
                self.ready = Some(Ready {
                    wanted,
                    encoded,
                    since: now,
                });
            }
            Err(e) => {
                self.failure = Some(e);
                self.gone = true;
            }
        }
    }

    /// Gives the frame that was encoded to the pacer.
    fn hand_over(&mut self, now: Instant) {
        let label = self.label();
        let (Some(ready), Some(rtp)) = (self.ready.take(), &mut self.rtp) else {
            return;
        };
        // No label could say more packets, and no frame within the level's bounds has as many.
        let fits = ready.encoded.payloads.len() <= label::MOST_PACKETS;
        let payloads = if fits {
            ready.encoded.payloads
        } else {
            Vec::new()
        };
        let lengths: Vec<u16> = payloads.iter().map(|p| (p.len() + label) as u16).collect();
        let key = ready.encoded.key && fits;
        let number = rtp.on_frame(now, &ready.wanted, key, &lengths, &mut self.out);
        if let Some(number) = number {
            self.frames.insert(number, payloads);
        }
        self.flush(now);
    }

    /// The payload of the packet `media` of the encoder's.
    fn encoded(&mut self, media: &Media) -> Bytes {
        // Media leave in their order: what is older was thrown away.
        while let Some(oldest) = self.frames.first_entry()
            && *oldest.key() < media.frame
        {
            oldest.remove();
        }
        let frame = self.frames.get(&media.frame);
        let payload = frame.and_then(|f| f.get(media.index as usize)).cloned();
        payload.unwrap_or_default()
    }

    /// The number of the media's stream (SSRC).
    pub const fn stream(&self) -> u32 {
        self.ssrc
    }

    /// RTCP came, decrypted: what [`Sender::on_datagram`] finds in a datagram. Of use where RTCP comes by another way.
    pub fn on_rtcp(&mut self, now: Instant, bytes: &[u8]) {
        for message in messages(bytes) {
            let Ok(message) = message else {
                self.malformed += 1;
                continue;
            };
            if !self.on_message(now, &message) {
                self.ignored += 1;
            }
        }
        self.flush(now);
    }

    /// What one RTCP packet tells; `false`: nothing that is acted on.
    fn on_message(&mut self, now: Instant, message: &Message) -> bool {
        let Some(rtp) = &mut self.rtp else {
            return false;
        };
        if let Message::ExtendedReport(report) = message {
            return self.on_extended(now, report);
        }
        let (media, repair) = self.streams.newest();
        // Of transport-wide numbers, where reports have those.
        let newest = match message {
            Message::Twcc(_) => self.newest,
            _ => media,
        };
        let told = self.reader.read(message, self.ssrc, newest);
        match (message, told) {
            (Message::Ccfb(_), told) => {
                let of = |told: Option<Rtcp>| match told {
                    Some(Rtcp::Arrivals(arrivals)) => Some(arrivals),
                    _ => None,
                };
                let repairs = of(self.reader.read(message, self.again, repair));
                let media = of(told);
                if media.is_none() && repairs.is_none() {
                    return false;
                }
                let ranges = self.streams.ranges(media, repairs.as_ref());
                rtp.on_ranges(now, &ranges, &mut self.out);
            }
            (_, Some(Rtcp::Nack(missing))) => {
                let missing = Rtcp::Nack(self.streams.sequences(&missing));
                rtp.on_message(now, &missing, &mut self.out);
            }
            (_, Some(told)) => rtp.on_message(now, &told, &mut self.out),
            (_, None) => return false,
        }
        true
    }

    /// Answers a receiver's reference time at once, so the delay is zero (RFC 3611, 4.5); `false`: there is none.
    fn on_extended(&mut self, now: Instant, report: &ExtendedReport) -> bool {
        let Some(reference) = report.reference else {
            return false;
        };
        let answer = ExtendedReport {
            ssrc: self.ssrc,
            reference: None,
            dlrr: vec![Dlrr {
                ssrc: report.ssrc,
                last_rr: middle(reference),
                delay: 0,
            }],
        };
        let mut bytes = Vec::new();
        Message::ExtendedReport(answer).encode(&mut bytes);
        self.peer.send_rtcp(now, bytes);
        true
    }

    /// Gives the packets that left the pacer to the stack.
    fn flush(&mut self, now: Instant) {
        let mut out = core::mem::take(&mut self.out);
        for packet in out.drain(..) {
            if let Body::Media(media) = packet.body {
                self.newest = media.number;
                self.l4s = packet.ecn == Ecn::Ect1;
                self.leave(now, &media, packet.ecn);
            }
        }
        self.out = out;
    }

    /// One packet leaves.
    fn leave(&mut self, now: Instant, media: &Media, ecn: Ecn) {
        let ticks = u128::from(media.captured.as_nanos()) * u128::from(CLOCK) / 1_000_000_000;
        let mut header = Header {
            version: 2,
            marker: media.index + 1 == media.packets,
            timestamp: ticks as u32,
            ..Header::default()
        };
        let payload = if media.retransmission {
            // The sender keeps no more packets than we do, so it is there.
            let Some((sequence, payload)) = self.streams.again(media.number, media.sequence) else {
                return;
            };
            header.sequence_number = sequence;
            header.ssrc = self.again;
            header.payload_type = self.agreed.again(self.codec()).unwrap_or_default();
            payload
        } else {
            let payload = self.payload(media);
            let of_frame = media.packets > 0;
            let sequence = of_frame.then_some(media.sequence);
            header.sequence_number = self.streams.media(media.number, sequence);
            header.ssrc = self.ssrc;
            header.payload_type = self.agreed.payload_type(self.codec());
            if of_frame && self.config.sender.retransmit {
                let bytes = payload.clone();
                self.streams
                    .keep(media.sequence, header.sequence_number, bytes);
            }
            payload
        };

        // Refused for numbers that no description can hold alone.
        if let Some(id) = self.agreed.extension {
            let number = (media.number as u16).to_be_bytes();
            let _ = header.set_extension(id, Bytes::copy_from_slice(&number));
        }
        if let Some(id) = self.agreed.label
            && self.encoder.is_some()
            && media.packets > 0
        {
            let _ = header.set_extension(id, label::write(media));
        }
        let packet = rtc::rtp::Packet { header, payload };
        self.peer.send_media(now, packet, ecn);
    }

    /// The payload of a packet that leaves for the first time.
    fn payload(&mut self, media: &Media) -> Bytes {
        if self.encoder.is_none() {
            picture::payload(media)
        } else if media.packets == 0 {
            padding(usize::from(self.config.payload()))
        } else {
            self.encoded(media)
        }
    }
}

/// Whether a datagram is RTP, beside STUN, DTLS and RTCP on one port (RFC 7983, 7; RFC 5761, 4).
pub fn is_media(datagram: &[u8]) -> bool {
    match datagram {
        [first, kind, ..] => (128..=191).contains(first) && !(192..=223).contains(kind),
        _ => false,
    }
}

/// Filler of so many bytes (H.264, 7.3.2.7: type 12), which decoders pass over.
fn padding(length: usize) -> Bytes {
    let mut bytes = vec![0xff; length.max(2)];
    bytes[0] = 12;
    if let Some(last) = bytes.last_mut() {
        *last = 0x80;
    }
    Bytes::from(bytes)
}
