//! webrtc-rs under a media controller of ours: `cargo run --release -- cl4s`. Twenty seconds of video, in virtual time, over a link of
//! 10 Mbit/s that marks what waited for 5 ms. A program with sockets has them in place of the link.

#![allow(clippy::print_stdout, reason = "a program that shows what it does")]

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rtc::interceptor::Registry;
use rtc::media_stream::MediaStreamTrack;
use rtc::peer_connection::configuration::media_engine::{MIME_TYPE_VP8, MediaEngine};
use rtc::peer_connection::message::{RTCMessage, TaggedRTCMessage};
use rtc::peer_connection::sdp::RTCSessionDescription;
use rtc::peer_connection::transport::{CandidateConfig, CandidateHostConfig, RTCIceCandidate};
use rtc::peer_connection::{RTCPeerConnection, RTCPeerConnectionBuilder};
use rtc::rtp_transceiver::rtp_sender as rtp;
use rtc::rtp_transceiver::{RTCRtpTransceiverDirection, RTCRtpTransceiverInit};
use rtc::sansio::Protocol as _;
use rtc::shared::{EcnCodepoint, TaggedBytesMut, TransportContext, TransportProtocol};
use slackwater_control::Config;
use slackwater_core::{Draw, Ecn, Instant as Time};
use slackwater_estimator::Estimator;
use slackwater_rtc::{Receiver, RtpConfig};

type Failure = Box<dyn std::error::Error>;
const SSRC: u32 = 7;
const PAYLOAD: usize = 1188;

/// A peer connection that sends video, and reads RFC 8888 reports for `cc`.
fn connection(
    now: Instant,
    local: SocketAddr,
    cc: &Estimator,
) -> Result<RTCPeerConnection, Failure> {
    let feedback = rtp::RTCPFeedback {
        typ: "ack".into(),
        parameter: "ccfb".into(),
    };
    let codec = rtp::RTCRtpCodec {
        mime_type: MIME_TYPE_VP8.into(),
        clock_rate: 90_000,
        rtcp_feedback: vec![feedback],
        ..rtp::RTCRtpCodec::default()
    };
    let (kind, name) = (rtp::RtpCodecKind::Video, || "video".to_owned());
    let mut engine = MediaEngine::default();
    engine.register_codec(
        rtp::RTCRtpCodecParameters {
            rtp_codec: codec.clone(),
            payload_type: 96,
        },
        kind,
    )?;
    let mut stack = RTCPeerConnectionBuilder::new()
        .with_media_engine(engine)
        // The one line that matters.
        .with_interceptor_registry(cc.install(Registry::new()))
        .build(now)?;
    let coding = rtp::RTCRtpCodingParameters {
        ssrc: Some(SSRC),
        ..Default::default()
    };
    let encoding = rtp::RTCRtpEncodingParameters {
        rtp_coding_parameters: coding,
        codec,
        ..Default::default()
    };
    let track = MediaStreamTrack::new(name(), name(), name(), kind, vec![encoding]);
    let direction = RTCRtpTransceiverDirection::Sendonly;
    stack.add_transceiver_from_track(
        track,
        Some(RTCRtpTransceiverInit {
            direction,
            ..Default::default()
        }),
    )?;
    let base_config = CandidateConfig {
        network: "udp".into(),
        address: local.ip().to_string(),
        port: local.port(),
        component: 1,
        ..Default::default()
    };
    let own = CandidateHostConfig {
        base_config,
        ..Default::default()
    }
    .new_candidate_host()?;
    stack.add_local_candidate(RTCIceCandidate::from(&own).to_json()?)?;
    Ok(stack)
}

fn main() -> Result<(), Failure> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "cl4s".to_owned());
    let (here, there): (SocketAddr, SocketAddr) =
        ("127.0.0.1:4001".parse()?, "127.0.0.1:4002".parse()?);
    let begun = Instant::now();
    let cc = Estimator::new(begun, &name, &Config::new(PAYLOAD as u32, Draw::new(1)))?;
    let mut stack = connection(begun, here, &cc)?;
    let at = |ms| Time::from_millis(ms + 1000);
    let mut receiver = Receiver::new(at(0), there, RtpConfig::default())?;
    let offer = stack.create_offer(None)?;
    stack.set_local_description(begun, offer.clone())?;
    let offer = stack.local_description().map_or(offer, |d| d);
    let answer = receiver.answer(at(0), &offer.sdp)?;
    stack.set_remote_description(begun, RTCSessionDescription::answer(answer)?)?;

    let (mut link, mut back) = (VecDeque::new(), VecDeque::new());
    // When the link is free, in ms; payload that is owed; the number of the next packet.
    let (mut free, mut owed, mut number, mut marks) = (0.0f64, 0.0f64, 0u16, 0u64);
    for ms in 0..20_000u64 {
        let now = begun + Duration::from_millis(ms);
        if stack.poll_timeout().is_some_and(|t| t <= now) {
            stack.handle_timeout(now)?;
        }
        // The encoder: a frame each 20 ms, of what the controller allows.
        let frame = ms % 20 == 0 && receiver.connected();
        owed += if frame {
            cc.target().as_bps() as f64 / 8.0 * 0.02
        } else {
            0.0
        };
        while frame && owed > 0.0 {
            owed -= PAYLOAD as f64;
            let header = rtc::rtp::Header {
                version: 2,
                marker: owed <= 0.0,
                payload_type: 96,
                sequence_number: number,
                timestamp: (ms * 90) as u32,
                ssrc: SSRC,
                ..Default::default()
            };
            let packet = rtc::rtp::Packet {
                header,
                payload: vec![0; PAYLOAD].into(),
            };
            let message = RTCMessage::RtpPacket(String::new(), packet);
            stack.handle_write(TaggedRTCMessage { now, message })?;
            number = number.wrapping_add(1);
        }
        while let Some(out) = stack.poll_write() {
            let wait = free.max(ms as f64) - ms as f64;
            free = ms as f64 + wait + (out.message.len() + 28) as f64 * 8.0 / 10_000.0;
            let ecn = match out.transport.ecn {
                Some(EcnCodepoint::Ect1) if wait > 5.0 => Ecn::Ce,
                Some(EcnCodepoint::Ect1) => Ecn::Ect1,
                _ => Ecn::NotEct,
            };
            marks += u64::from(ecn == Ecn::Ce);
            link.push_back((free as u64 + 10, ecn, out.message));
        }
        while link.front().is_some_and(|(t, ..)| *t <= ms) {
            let (_, ecn, bytes) = link.pop_front().expect("just seen");
            receiver.on_datagram(at(ms), here, ecn, &bytes);
        }
        receiver.on_timer(at(ms));
        while let Some(out) = receiver.poll_datagram() {
            back.push_back((ms + 10, out.bytes));
        }
        while back.front().is_some_and(|(t, _)| *t <= ms) {
            let (_, message) = back.pop_front().expect("just seen");
            let transport = TransportContext {
                local_addr: here,
                peer_addr: there,
                transport_protocol: TransportProtocol::UDP,
                ecn: None,
            };
            stack.handle_read(TaggedBytesMut {
                now,
                transport,
                message,
            })?;
            while stack.poll_event().is_some() {}
            while stack.poll_read().is_some() {}
        }
        if ms % 1000 == 999 {
            let stats = receiver.stats();
            println!(
                "{name} {:2} s: target {:5.2} Mbit/s, {} packets, {marks} marked, {} seen as CE, round trip {:.1} ms",
                ms / 1000 + 1,
                cc.target().as_bps() as f64 * 1e-6,
                stats.media.packets,
                stats.media.marked,
                cc.srtt().as_millis_f64(),
            );
        }
    }
    Ok(())
}
