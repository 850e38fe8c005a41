//! One end of a connection: ICE, DTLS, SRTP and SDP by the sans-IO crate `rtc`, with our clock, ECN and RTCP.
//!
//! What the stack hides is brought back here. It forgets the ECN field of what arrives before its packets can be read, so
//! datagrams are put in one at a time and what comes out has the field of the one that went in. It drops RTCP before the
//! application, so `Tap` takes it on the way. And it sets no ECN field, which `Tap` does for media alone.

mod description;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration as StdDuration, Instant as StdInstant};

use bytes::{Bytes, BytesMut};
use rtc::interceptor::{Interceptor, Packet, Registry, Slot, StreamInfo, TaggedPacket};
use rtc::media_stream::MediaStreamTrack;
use rtc::peer_connection::configuration::RTCConfigurationBuilder;
use rtc::peer_connection::configuration::media_engine::MediaEngine;
use rtc::peer_connection::configuration::setting_engine::SettingEngineBuilder;
use rtc::peer_connection::event::RTCPeerConnectionEvent;
use rtc::peer_connection::message::{RTCMessage, TaggedRTCMessage};
use rtc::peer_connection::sdp::RTCSessionDescription;
use rtc::peer_connection::state::RTCPeerConnectionState;
use rtc::peer_connection::transport::{CandidateConfig, CandidateHostConfig, RTCIceCandidate};
use rtc::peer_connection::{RTCPeerConnection, RTCPeerConnectionBuilder};
use rtc::rtp_transceiver::rtp_sender::{
    RTCRtpCodecParameters, RTCRtpCodingParameters, RTCRtpEncodingParameters,
    RTCRtpHeaderExtensionCapability, RTCRtpRtxParameters, RtpCodecKind,
};
use rtc::rtp_transceiver::{RTCRtpTransceiverDirection, RTCRtpTransceiverInit};
use rtc::sansio::Protocol;
use rtc::shared::error::Error as StackError;
use rtc::shared::{EcnCodepoint, TaggedBytesMut, TransportContext, TransportProtocol};
use slackwater_core::{Ecn, Instant};
use slackwater_transport::rtp::Format;
use thiserror::Error;

use crate::codec::{Codec, CodecError};
use crate::label;
use crate::level::Level;

pub(crate) use self::description::Agreed;
pub use self::description::{LONGEST_SDP, format_of};
use self::description::{TRANSPORT_CC, checked, level_of, parameters, repair};

/// Closest to the wire: nothing of the stack's stands before it.
const TAP: usize = 500;
/// Why an end cannot go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RtcError {
    /// A session description is not what is needed.
    #[error("session description: found {found}, expected {expected}")]
    Description {
        /// What it is.
        found: String,
        /// What it should be.
        expected: &'static str,
    },
    /// The stack refuses.
    #[error("{during}: {source}")]
    Stack {
        /// What was tried.
        during: &'static str,
        /// What the stack says.
        source: StackError,
    },
    /// A codec, or the source of its pictures, cannot go on.
    #[error(transparent)]
    Codec(#[from] CodecError),
}

pub(crate) fn during(during: &'static str) -> impl Fn(StackError) -> RtcError {
    move |source| RtcError::Stack { during, source }
}

/// A datagram to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Where it goes.
    pub to: SocketAddr,
    /// The ECN field that it leaves with.
    pub ecn: Ecn,
    /// Its bytes.
    pub bytes: BytesMut,
}

/// What a datagram or a timer brought.
#[derive(Debug)]
pub(crate) enum Event {
    /// Media may flow.
    Connected,
    /// The connection is over.
    Gone,
    /// A media packet.
    Media(rtc::rtp::Packet),
    /// RTCP of one datagram, decrypted.
    Rtcp(Vec<u8>),
}

/// What an end does with media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It sends the stream of this number, and retransmissions as that of the other.
    Send(u32, u32),
    Receive,
}

/// How media are reported, and whether packets that are missing are sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Feedback {
    /// The format of reports.
    pub(crate) format: Format,
    /// Retransmissions are offered.
    pub(crate) repaired: bool,
}

/// `std::time::Instant`s, which the stack counts in. Only differences are used, so the base has no effect.
#[derive(Clone, Copy, Debug)]
struct Epoch(StdInstant, Instant);

impl Epoch {
    #[expect(
        clippy::disallowed_methods,
        reason = "a base that cancels out of every difference; std gives no other"
    )]
    fn at(now: Instant) -> Self {
        Self(StdInstant::now(), now)
    }

    fn std(self, now: Instant) -> StdInstant {
        self.0 + StdDuration::from_nanos(now.since(self.1).as_nanos())
    }

    fn ours(self, at: StdInstant) -> Instant {
        let since = at.saturating_duration_since(self.0).as_nanos();
        let since = slackwater_core::Duration::from_nanos(u64::try_from(since).unwrap_or(u64::MAX));
        self.1.saturating_add(since)
    }
}

/// What [`Tap`] and its end share: the stack owns the one and gives it back to nobody.
#[derive(Debug, Default)]
struct Shared {
    /// What came, in its order.
    arrived: VecDeque<Event>,
    /// The ECN field of media that leave.
    ecn: Option<EcnCodepoint>,
}

/// A stage of the stack's pipeline that keeps what comes for us: the stack would hide what retransmissions came as.
#[derive(Default)]
struct Tap {
    shared: Arc<Mutex<Shared>>,
    down: VecDeque<TaggedPacket>,
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    // Nothing panics while it holds the lock, and what it guards is whole at any time.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Protocol<TaggedPacket, TaggedPacket, ()> for Tap {
    type Rout = TaggedPacket;
    type Wout = TaggedPacket;
    type Eout = ();
    type Error = StackError;
    type Time = StdInstant;

    fn handle_read(&mut self, packet: TaggedPacket) -> Result<(), StackError> {
        let event = match packet.message.packet {
            Packet::Rtp(packet) => Some(Event::Media(packet)),
            // Read once by the stack; what it wrote back is read by our own codec, as every other RTCP here.
            Packet::Rtcp(messages) => {
                let bytes = rtc::rtcp::packet::marshal(&messages).ok();
                bytes.map(|bytes| Event::Rtcp(bytes.to_vec()))
            }
            _ => None,
        };
        lock(&self.shared).arrived.extend(event);
        Ok(())
    }

    fn poll_read(&mut self) -> Option<TaggedPacket> {
        None
    }

    fn handle_write(&mut self, mut packet: TaggedPacket) -> Result<(), StackError> {
        if matches!(packet.message.packet, Packet::Rtp(_)) {
            packet.transport.ecn = lock(&self.shared).ecn;
        }
        self.down.push_back(packet);
        Ok(())
    }

    fn poll_write(&mut self) -> Option<TaggedPacket> {
        self.down.pop_front()
    }
}

impl Interceptor for Tap {
    fn bind_local_stream(&mut self, _: &StreamInfo) {}
    fn unbind_local_stream(&mut self, _: &StreamInfo) {}
    fn bind_remote_stream(&mut self, _: &StreamInfo) {}
    fn unbind_remote_stream(&mut self, _: &StreamInfo) {}
}

/// One end.
pub(crate) struct Peer {
    stack: RTCPeerConnection,
    shared: Arc<Mutex<Shared>>,
    epoch: Epoch,
    local: SocketAddr,
    /// What it sends or can receive.
    codecs: &'static [Codec],
    connected: bool,
    gone: bool,
}

impl core::fmt::Debug for Peer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Peer")
            .field("local", &self.local)
            .field("connected", &self.connected)
            .finish_non_exhaustive()
    }
}

impl Peer {
    /// An end at the address `local` with this feedback. It sends the first of `codecs`, or receives any; of H.264, up to `level`.
    pub(crate) fn new(
        now: Instant,
        local: SocketAddr,
        way: Way,
        feedback: Feedback,
        codecs: &'static [Codec],
        level: Level,
    ) -> Result<Self, RtcError> {
        let Feedback { format, repaired } = feedback;
        let failed = during("cannot set up WebRTC");
        let mut engine = MediaEngine::default();
        for codec in codecs {
            let again = repaired.then(|| repair(*codec, format));
            let parameters = parameters(*codec, format, repaired, level);
            for parameters in core::iter::once(parameters).chain(again) {
                engine
                    .register_codec(parameters, RtpCodecKind::Video)
                    .map_err(&failed)?;
            }
        }
        let wide = (format == Format::Twcc).then_some(TRANSPORT_CC);
        // Synthetic frames have the label in their payload.
        let label = codecs.contains(&Codec::H264).then_some(label::URI);
        for uri in [wide, label].into_iter().flatten() {
            let extension = RTCRtpHeaderExtensionCapability {
                uri: uri.to_owned(),
            };
            engine
                .register_header_extension(extension, RtpCodecKind::Video, None)
                .map_err(&failed)?;
        }
        let tap = Tap::default();
        let shared = Arc::clone(&tap.shared);
        let epoch = Epoch::at(now);
        let mut stack = RTCPeerConnectionBuilder::new()
            .with_configuration(RTCConfigurationBuilder::new().build())
            .with_setting_engine(SettingEngineBuilder::new().build())
            .with_media_engine(engine)
            .with_interceptor_registry(Registry::new().with(Slot::from(TAP), tap))
            .build(epoch.std(now))
            .map_err(&failed)?;
        match way {
            Way::Send(ssrc, again) => {
                let codec = parameters(codecs[0], format, repaired, level);
                let again = repaired.then_some(again);
                send(&mut stack, ssrc, again, &codec).map_err(&failed)?;
            }
            Way::Receive => {
                let init = RTCRtpTransceiverInit {
                    direction: RTCRtpTransceiverDirection::Recvonly,
                    ..RTCRtpTransceiverInit::default()
                };
                stack
                    .add_transceiver_from_kind(RtpCodecKind::Video, Some(init))
                    .map_err(&failed)?;
            }
        }
        Ok(Self {
            stack,
            shared,
            epoch,
            local,
            codecs,
            connected: false,
            gone: false,
        })
    }

    fn add_own_address(&mut self) -> Result<(), RtcError> {
        let failed = during("cannot offer our address");
        let candidate = CandidateHostConfig {
            base_config: CandidateConfig {
                network: "udp".to_owned(),
                address: self.local.ip().to_string(),
                port: self.local.port(),
                component: 1,
                ..CandidateConfig::default()
            },
            ..CandidateHostConfig::default()
        }
        .new_candidate_host()
        .map_err(&failed)?;
        let init = RTCIceCandidate::from(&candidate)
            .to_json()
            .map_err(&failed)?;
        self.stack.add_local_candidate(init).map_err(&failed)
    }

    fn described(&self) -> Result<String, RtcError> {
        let description = self.stack.local_description();
        description.map(|d| d.sdp).ok_or(RtcError::Description {
            found: "none of our own".to_owned(),
            expected: "one after it was made",
        })
    }

    /// An offer, with our address in it.
    pub(crate) fn offer(&mut self, now: Instant) -> Result<String, RtcError> {
        self.add_own_address()?;
        let failed = during("cannot make an offer");
        let offer = self.stack.create_offer(None).map_err(&failed)?;
        self.stack
            .set_local_description(self.epoch.std(now), offer)
            .map_err(&failed)?;
        self.described()
    }

    /// The answer to `offer`, with our address in it.
    pub(crate) fn answer(&mut self, now: Instant, offer: &str) -> Result<String, RtcError> {
        let offer = RTCSessionDescription::offer(checked(offer, self.codecs)?)
            .map_err(during("cannot read the offer"))?;
        let at = self.epoch.std(now);
        self.stack
            .set_remote_description(at, offer)
            .map_err(during("cannot take the offer"))?;
        self.add_own_address()?;
        let failed = during("cannot answer the offer");
        let answer = self.stack.create_answer(None).map_err(&failed)?;
        self.stack
            .set_local_description(at, answer)
            .map_err(&failed)?;
        self.described()
    }

    /// The other end's answer to our offer came.
    pub(crate) fn accept(&mut self, now: Instant, answer: &str) -> Result<(), RtcError> {
        let answer = RTCSessionDescription::answer(checked(answer, self.codecs)?)
            .map_err(during("cannot read the answer"))?;
        self.stack
            .set_remote_description(self.epoch.std(now), answer)
            .map_err(during("cannot take the answer"))
    }

    /// What both ends agreed on, once there is a description of ours that answers, or an answer.
    pub(crate) fn agreed(&self) -> Agreed {
        let own = Agreed::of(&self.described().unwrap_or_default());
        let other = self.stack.remote_description();
        own.both(other.map(|d| Agreed::of(&d.sdp)).unwrap_or_default())
    }

    /// What of H.264 the other end decodes, once it is agreed on.
    ///
    /// # Errors
    /// Where that is below what we send.
    pub(crate) fn level(&self) -> Result<Option<Level>, RtcError> {
        let (Some(number), Some(other)) = (self.agreed().h264, self.stack.remote_description())
        else {
            return Ok(None);
        };
        let idc = level_of(&other.sdp, number);
        let level = Level::named(idc).ok_or_else(|| RtcError::Description {
            found: format!("H.264 of level_idc {idc}"),
            expected: "level_idc 31 (level 3.1) or more",
        })?;
        Ok(Some(level))
    }

    /// A datagram came. What it brought is in `events` when the call returns, and nothing of it comes later.
    pub(crate) fn on_datagram(
        &mut self,
        now: Instant,
        from: SocketAddr,
        bytes: &[u8],
        events: &mut Vec<Event>,
    ) {
        let message = TaggedBytesMut {
            now: self.epoch.std(now),
            transport: TransportContext {
                local_addr: self.local,
                peer_addr: from,
                transport_protocol: TransportProtocol::UDP,
                ecn: None,
            },
            message: BytesMut::from(bytes),
        };
        // What the stack cannot read it drops, as a lost datagram.
        let _ = self.stack.handle_read(message);
        self.collect(events);
    }

    /// Time has come.
    pub(crate) fn on_timer(&mut self, now: Instant, events: &mut Vec<Event>) {
        let at = self.epoch.std(now);
        if self.stack.poll_timeout().is_some_and(|t| t <= at) {
            // A timer that fails leaves the connection as it was; its state says what became of it.
            let _ = self.stack.handle_timeout(at);
        }
        self.collect(events);
    }

    /// When [`Peer::on_timer`] should be called.
    pub(crate) fn next_timer(&mut self) -> Option<Instant> {
        self.stack.poll_timeout().map(|t| self.epoch.ours(t))
    }

    fn collect(&mut self, events: &mut Vec<Event>) {
        while let Some(event) = self.stack.poll_event() {
            if let RTCPeerConnectionEvent::OnConnectionStateChangeEvent(state) = event {
                match state {
                    RTCPeerConnectionState::Connected if !self.connected => {
                        self.connected = true;
                        events.push(Event::Connected);
                    }
                    RTCPeerConnectionState::Failed | RTCPeerConnectionState::Closed
                        if !self.gone =>
                    {
                        self.gone = true;
                        events.push(Event::Gone);
                    }
                    _ => {}
                }
            }
        }
        // What the stack itself gives is nothing of ours.
        while self.stack.poll_read().is_some() {}
        events.extend(lock(&self.shared).arrived.drain(..));
    }

    /// A media packet leaves with this ECN field.
    pub(crate) fn send_media(&mut self, now: Instant, packet: rtc::rtp::Packet, ecn: Ecn) {
        lock(&self.shared).ecn = match ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        self.send(now, RTCMessage::RtpPacket(String::new(), packet));
    }

    /// An RTCP packet leaves.
    pub(crate) fn send_rtcp(&mut self, now: Instant, bytes: Vec<u8>) {
        let raw = rtc::rtcp::raw_packet::RawPacket(Bytes::from(bytes));
        self.send(
            now,
            RTCMessage::RtcpPacket(String::new(), vec![Box::new(raw)]),
        );
    }

    fn send(&mut self, now: Instant, message: RTCMessage) {
        let now = self.epoch.std(now);
        // What cannot be sent is lost, which reports show.
        let _ = self.stack.handle_write(TaggedRTCMessage { now, message });
    }

    /// The next datagram that leaves.
    pub(crate) fn poll_datagram(&mut self) -> Option<Outgoing> {
        let message = self.stack.poll_write()?;
        Some(Outgoing {
            to: message.transport.peer_addr,
            ecn: match message.transport.ecn {
                None => Ecn::NotEct,
                Some(EcnCodepoint::Ect0) => Ecn::Ect0,
                Some(EcnCodepoint::Ect1) => Ecn::Ect1,
                Some(EcnCodepoint::Ce) => Ecn::Ce,
            },
            bytes: message.message,
        })
    }

    /// Says goodbye.
    pub(crate) fn close(&mut self) {
        // What is said last is lost at worst, and the other end's timers say the same.
        let _ = self.stack.close();
    }
}

fn send(
    stack: &mut RTCPeerConnection,
    ssrc: u32,
    again: Option<u32>,
    codec: &RTCRtpCodecParameters,
) -> Result<(), StackError> {
    let encoding = RTCRtpEncodingParameters {
        rtp_coding_parameters: RTCRtpCodingParameters {
            ssrc: Some(ssrc),
            rtx: again.map(|ssrc| RTCRtpRtxParameters { ssrc }),
            ..RTCRtpCodingParameters::default()
        },
        codec: codec.rtp_codec.clone(),
        ..RTCRtpEncodingParameters::default()
    };
    let name = || "slackwater".to_owned();
    let kind = RtpCodecKind::Video;
    let track = MediaStreamTrack::new(name(), name(), name(), kind, vec![encoding]);
    let init = RTCRtpTransceiverInit {
        direction: RTCRtpTransceiverDirection::Sendonly,
        ..RTCRtpTransceiverInit::default()
    };
    stack
        .add_transceiver_from_track(track, Some(init))
        .map(drop)
}
