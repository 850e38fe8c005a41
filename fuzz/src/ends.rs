//! The transports' ends beside a peer that lies: any acknowledgments, any data, any reports, leaps of time.

use slackwater_control::{AnyController, Config as ControlConfig, build, build_media};
use slackwater_core::{
    Body, Draw, Duration, Ecn, FlowId, Instant, Media, Packet, QuicAck, QuicBits, QuicData,
    QuicLong, Rtcp as RtcpPacket, SackBlock, Segment, SegmentBits, SeqNum, SynOptions, TcpFlags,
};
use slackwater_signal::ReportBody;
use slackwater_transport::tcp::{Config, Endpoint};
use slackwater_transport::{quic, rtp};

use super::input::Input;

/// Controllers of every family.
const NAMES: [&str; 16] = [
    "reno", "cubic", "bbr", "bbr3", "vegas", "copa", "prague", "dctcp", "xrc", "tyrus", "rule2",
    "pbe", "claw", "sprout", "abc", "ebb",
];
const MEDIA: [&str; 6] = ["al4s-c", "al4s-s", "l4s-cc", "scream", "gcc", "gcc-remb"];
const EVENTS: usize = 300;
/// Packets that one event may let go: a window of 64 MiB in full segments, twice.
const BURST: usize = 100_000;

/// A connection of `controller` with a peer that says what it likes.
pub(crate) fn converse(controller: AnyController, mut input: Input<'_>) {
    let mut now = Instant::ZERO + Duration::from_secs(1);
    let mut end = Endpoint::client(
        FlowId(0),
        false,
        &Config::default(),
        controller,
        Draw::new(3),
    );
    let mut out = Vec::new();
    end.set_bulk(true);
    end.connect(now, &mut out);
    let (mut acked, mut sent, mut peer) = (0, 0, 7_000);
    let mut established = false;
    for _ in 0..EVENTS {
        assert!(out.len() < BURST, "packets without end");
        for p in out.drain(..) {
            let s = p.segment().expect("a segment");
            let after = s.seq.0.wrapping_add(u32::from(s.payload));
            let syn = u32::from(s.flags.contains(TcpFlags::SYN));
            sent = after.wrapping_add(syn);
        }
        if input.is_empty() {
            break;
        }
        let what = input.u8();
        if what % 8 == 7 {
            now = now.saturating_add(input.step());
        } else if what % 8 == 6 {
            now = end.next_timer().map_or(now, |t| t.max(now));
            end.on_timer(now, &mut out);
            continue;
        }
        let mut segment = Segment {
            seq: SeqNum(peer),
            flags: TcpFlags::ACK,
            window: u16::MAX,
            ..Segment::default()
        };
        if !established {
            established = true;
            acked = sent;
            segment.flags = TcpFlags::SYN.with(TcpFlags::ACK);
            segment.set_syn_options(SynOptions {
                mss: Some(1_448),
                window_scale: Some(7),
                sack_permitted: true,
            });
            peer = peer.wrapping_add(1);
        } else if what & 0x10 != 0 {
            // Honest: a part of what is in flight.
            let flight = sent.wrapping_sub(acked);
            let part = (u64::from(flight) * u64::from(input.u8()) / 255) as u32;
            acked = acked.wrapping_add(part);
        } else {
            acked = acked.wrapping_add(u32::from(input.u16()));
            segment.window = input.u16();
            segment.flags = TcpFlags(segment.flags.0 | (input.u16() & 0x1ef));
            segment.payload = input.u16() % 1_449;
        }
        segment.ack = SeqNum(acked);
        if segment.flags.0 & TcpFlags::SYN.0 == 0 && what & 0x20 != 0 {
            let start = acked.wrapping_add(u32::from(input.u16()));
            let stop = start.wrapping_add(u32::from(input.u16()));
            segment.set_sack_blocks(&[SackBlock {
                start: SeqNum(start),
                end: SeqNum(stop),
            }]);
        }
        if what & 0x40 != 0 {
            segment.set_report(ReportBody(input.u64().to_be_bytes()).0);
        }
        segment.bits = segment.bits.with(SegmentBits::TIMESTAMPS);
        segment.tsval = (now.as_nanos() / 1_000_000) as u32;
        segment.tsecr = segment.tsval.wrapping_sub(u32::from(input.u8()));
        let packet = Packet {
            created: now,
            len: segment.payload + 60,
            ecn: Ecn::from_bits(what >> 6),
            body: Body::Tcp(segment),
            ..Packet::default()
        };
        end.on_packet(now, &packet, &mut out);
        if what & 0x80 != 0
            && let Some(report) = ReportBody(input.u64().to_be_bytes()).report()
        {
            end.on_report(now, &report, &mut out);
        }
    }
}

pub(crate) fn tcp(data: &[u8]) {
    let mut input = Input(data);
    let name = NAMES[usize::from(input.u8()) % NAMES.len()];
    let config = ControlConfig::new(1_448, Draw::new(7));
    converse(build(name, &config).expect("a known controller"), input);
}

/// QUIC's two ends and those of media, by the first byte.
pub(crate) fn quic_media(data: &[u8]) {
    let mut input = Input(data);
    match input.u8() % 4 {
        0 => quic_sender(input),
        1 => quic_receiver(input),
        2 => media_receiver(input),
        _ => media_sender(input),
    }
}

fn quic_sender(mut input: Input<'_>) {
    let name = NAMES[usize::from(input.u8()) % NAMES.len()];
    let cfg = quic::Config::default();
    let cc = build(
        name,
        &ControlConfig::new(u32::from(cfg.mss()), Draw::new(7)),
    );
    let cc = cc.expect("a known controller");
    let mut now = Instant::ZERO + Duration::from_secs(1);
    let mut out = Vec::new();
    let mut end = quic::Sender::new(FlowId(0), false, 0, &cfg, cc, Draw::new(1));
    end.set_bulk(true);
    end.connect(now, &mut out);
    let mut sent = 0;
    for _ in 0..EVENTS {
        assert!(out.len() < BURST, "packets without end");
        sent = out
            .drain(..)
            .map(|p| p.number())
            .next_back()
            .unwrap_or(sent);
        if input.is_empty() {
            break;
        }
        let what = input.u8();
        let body = match what % 8 {
            0 => Body::QuicLong(QuicLong {
                pn: SeqNum(u32::from(input.u8())),
                index: u16::from(input.u8() & 3),
                count: u16::from(input.u8() & 3),
                ..QuicLong::default()
            }),
            1 => {
                now = now.saturating_add(input.step());
                continue;
            }
            2 => {
                now = end.next_timer().map_or(now, |t| t.max(now));
                end.on_timer(now, &mut out);
                continue;
            }
            _ => {
                let mut ack = QuicAck {
                    pn: SeqNum(u32::from(input.u16())),
                    limit: SeqNum(input.u32()),
                    ect0: input.u16(),
                    ect1: input.u16(),
                    ce: input.u16(),
                    delay: input.u16(),
                    bits: QuicBits::ACK.with(QuicBits(input.u16() & 0x7ff)),
                    ..QuicAck::default()
                };
                let last = sent.wrapping_add(1).wrapping_sub(u32::from(input.u8()));
                ack.room.blocks_mut()[0] = SackBlock {
                    start: SeqNum(last.wrapping_sub(u32::from(input.u16()))),
                    end: SeqNum(last),
                };
                Body::QuicAck(ack)
            }
        };
        let packet = Packet {
            created: now,
            len: 80,
            body,
            ..Packet::default()
        };
        end.on_packet(now, &packet, &mut out);
    }
}

fn quic_receiver(mut input: Input<'_>) {
    let mut now = Instant::ZERO + Duration::from_secs(1);
    let mut end = quic::Receiver::new(FlowId(0), true, &quic::Config::default());
    let mut out = Vec::new();
    for _ in 0..EVENTS {
        assert!(out.len() < BURST, "packets without end");
        out.clear();
        if input.is_empty() {
            break;
        }
        let what = input.u8();
        let body = match what % 8 {
            0 => Body::QuicLong(QuicLong {
                pn: SeqNum(u32::from(input.u8())),
                index: u16::from(input.u8() & 3),
                finished: what & 8 != 0,
                ..QuicLong::default()
            }),
            1 => {
                now = now.saturating_add(input.step());
                end.on_timer(now, &mut out);
                continue;
            }
            _ => Body::QuicData(QuicData {
                pn: SeqNum(input.u32()),
                offset: SeqNum(input.u32()),
                payload: input.u16(),
                bits: QuicBits::STREAM.with(QuicBits(input.u16() & 0x7ff)),
                ..QuicData::default()
            }),
        };
        let packet = Packet {
            created: now,
            len: 1_500,
            ecn: Ecn::from_bits(what >> 6),
            body,
            ..Packet::default()
        };
        end.on_packet(now, &packet, &mut out);
        assert!(end.delivered() <= end.limit().0, "no more than was allowed");
    }
}

fn media_receiver(mut input: Input<'_>) {
    let mut now = Instant::ZERO + Duration::from_secs(1);
    let mut end = rtp::RtpReceiver::new(FlowId(0), true, &rtp::RtpConfig::default());
    let (mut mailbox, mut out) = (rtp::Mailbox::default(), Vec::new());
    for _ in 0..EVENTS {
        assert!(out.len() < BURST, "packets without end");
        out.clear();
        if input.is_empty() {
            break;
        }
        let what = input.u8();
        match what % 4 {
            0 => now = now.saturating_add(input.step()),
            1 => {
                now = end.next_timer().map_or(now, |t| t.max(now));
                end.on_timer(now, &mut mailbox, &mut out);
            }
            _ => {
                let far = what & 0x80 != 0;
                let mut number = || {
                    if far {
                        input.u32()
                    } else {
                        u32::from(input.u8())
                    }
                };
                let media = Media {
                    number: number(),
                    sequence: number(),
                    frame: number(),
                    index: number(),
                    packets: number(),
                    captured: now,
                    payload: 1_000,
                    key: what & 8 != 0,
                    retransmission: what & 16 != 0,
                };
                let packet = Packet {
                    created: now,
                    len: 1_050,
                    ecn: Ecn::from_bits(what >> 5),
                    body: Body::Media(media),
                    ..Packet::default()
                };
                end.on_packet(now, &packet, &mut mailbox, &mut out);
            }
        }
    }
}

fn media_sender(mut input: Input<'_>) {
    let name = MEDIA[usize::from(input.u8()) % MEDIA.len()];
    let controller = build_media(name, &ControlConfig::new(1_200, Draw::new(7)));
    let mut now = Instant::ZERO + Duration::from_secs(1);
    let mut end = rtp::RtpSender::new(
        FlowId(0),
        false,
        &rtp::RtpConfig::default(),
        controller.expect("a known controller"),
        now,
        Instant::MAX,
        Draw::new(1),
    );
    let (mut mailbox, mut out) = (rtp::Mailbox::default(), Vec::new());
    let mut sent = 0;
    for _ in 0..EVENTS {
        assert!(out.len() < BURST, "packets without end");
        sent = out
            .drain(..)
            .map(|p: Packet| p.number())
            .next_back()
            .unwrap_or(sent);
        if input.is_empty() {
            break;
        }
        let what = input.u8();
        match what % 4 {
            // A sender makes frames for all the time that passes.
            0 => now = now.saturating_add(input.step().min(Duration::from_secs(1))),
            1 => {
                now = end.next_timer().map_or(now, |t| t.max(now));
                end.on_timer(now, &mut out);
            }
            _ => {
                let far = what & 0x80 != 0;
                let message = match what & 0x18 {
                    0x08 => rtp::Rtcp::Pli,
                    0x10 => rtp::Rtcp::Nack((0..input.u8() & 7).map(|_| input.u32()).collect()),
                    _ => {
                        let first = if far {
                            input.u32()
                        } else {
                            sent.wrapping_sub(u32::from(input.u8()))
                        };
                        let mut one = || {
                            let b = input.u8();
                            let back = Duration::from_micros(u64::from(input.u16()));
                            (b & 1 != 0).then(|| (now.saturating_sub(back), Ecn::from_bits(b >> 1)))
                        };
                        let packets = (0..32).map(|_| one()).collect();
                        rtp::Rtcp::Arrivals(rtp::Arrivals {
                            first,
                            packets,
                            ..rtp::Arrivals::default()
                        })
                    }
                };
                let number = mailbox.put(message);
                let packet = Packet {
                    created: now,
                    len: 100,
                    body: Body::Rtcp(RtcpPacket { message: number }),
                    ..Packet::default()
                };
                end.on_packet(now, &packet, &mut mailbox, &mut out);
            }
        }
    }
    let _ = (end.encoder_rate(), end.queue(now));
}
