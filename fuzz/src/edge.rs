//! vAQM and CECC under any events: packets, reports, sessions, and leaps of time.
//!
//! Every packet that went in comes out, is dropped, or is held; a function that has nothing to do says so.

use slackwater_core::{
    Body, Bytes, Datagram, Direction, Duration, Ecn, FlowId, Instant, Packet, Qfi, Rate, SackBlock,
    Segment, SegmentBits, SeqNum, SynOptions, TcpFlags, UeId,
};
use slackwater_edge::upf::cecc::{Cecc, CeccConfig, Mode as CeccMode, Schedule};
use slackwater_edge::upf::vaqm::{Mode, Vaqm, VaqmConfig};
use slackwater_edge::{EdgeFunction, RanReport, Session, Verdict};
use slackwater_wire::gtpu;

use super::input::Input;
use super::wire::reports_of;

/// Events of one input: what costs more than this finds nothing that shorter ones do not.
const EVENTS: usize = 400;
/// Packets that one event may let go, and calls that it may take.
const RELEASES: usize = 20_000;

fn tcp(input: &mut Input<'_>, now: Instant) -> Segment {
    let bits = input.u8();
    let mut segment = Segment {
        seq: SeqNum(input.u32()),
        ack: SeqNum(input.u32()),
        window: input.u16(),
        flags: TcpFlags(input.u16() & 0x1ff),
        payload: input.u16() % 1_449,
        ..Segment::default()
    };
    if bits & 1 != 0 {
        segment.bits = SegmentBits::TIMESTAMPS;
        segment.tsval = (now.as_nanos() / 1_000_000) as u32 ^ u32::from(input.u8());
        segment.tsecr = segment.tsval.wrapping_sub(u32::from(input.u16()));
    }
    if segment.flags.contains(TcpFlags::SYN) {
        segment.set_syn_options(SynOptions {
            mss: (bits & 2 != 0).then_some(1_448),
            window_scale: (bits & 4 != 0).then_some(input.u8()),
            sack_permitted: bits & 8 != 0,
        });
    } else if bits & 16 != 0 {
        let start = SeqNum(segment.ack.0.wrapping_add(u32::from(input.u16())));
        let end = SeqNum(start.0.wrapping_add(u32::from(input.u16())));
        segment.set_sack_blocks(&[SackBlock { start, end }]);
    }
    segment
}

/// A packet of one of a few flows. Sequence numbers go on where `next` stands, most of the time.
pub(crate) fn packet(input: &mut Input<'_>, now: Instant, next: &mut [u32; 8]) -> Packet {
    let what = input.u8();
    let flow = what & 3;
    let dir = if what & 4 == 0 {
        Direction::Down
    } else {
        Direction::Up
    };
    let body = if what & 0x18 == 0x18 {
        Body::Datagram(Datagram::new(input.u32(), input.u16() % 1_460))
    } else {
        let mut segment = tcp(input, now);
        if what & 0x20 == 0 {
            // A flow as it goes: data that follow, and an acknowledgment of what the other side sent.
            let (own, other) = match dir {
                Direction::Down => (usize::from(flow), usize::from(flow) + 4),
                Direction::Up => (usize::from(flow) + 4, usize::from(flow)),
            };
            segment.flags = TcpFlags::ACK;
            segment.seq = SeqNum(next[own]);
            let behind = if what & 0x40 == 0 {
                0
            } else {
                u32::from(input.u16())
            };
            segment.ack = SeqNum(next[other].wrapping_sub(behind));
            next[own] = next[own].wrapping_add(u32::from(segment.payload));
        }
        Body::Tcp(segment)
    };
    Packet {
        created: now,
        flow: FlowId(u32::from(flow)),
        len: body.payload() + 52,
        ecn: Ecn::from_bits(what >> 6),
        dir,
        body,
    }
}

/// A report within the ranges of the fields that it crosses GTP-U in (docs/wire.md).
fn report(input: &mut Input<'_>, now: Instant) -> RanReport {
    let what = input.u8();
    let ue = UeId(u32::from(what >> 3) % 4);
    let flow = FlowId(ue.0);
    let at = input.instant(now).min(now);
    let slot = Duration::from_nanos(1_000_000 >> (input.u8() % 7));
    match what % 8 {
        0 | 1 => RanReport::Backlog {
            at,
            ue,
            flow,
            bytes: Bytes(u64::from(input.u32())),
        },
        2 => RanReport::LinkState {
            at,
            ue,
            slot_bytes: Bytes(u64::from(input.u32()) * slot.as_nanos() / 8_000_000),
            slot,
        },
        3 => RanReport::Congestion {
            at,
            flow,
            per_10k: input.u16() % 10_001,
        },
        4 => RanReport::PathDelay {
            at,
            ue,
            qfi: None,
            rtt: Duration::from_nanos(input.u64() % 10_000_000_001),
        },
        5 => RanReport::Available {
            at,
            ue,
            qfi: (what & 0x40 != 0).then_some(Qfi(what & 0x3f)),
            rate: Rate::from_bps(u64::from(input.u32()) * 1_000),
            backlog: Bytes(u64::from(input.u32())),
        },
        6 => RanReport::PathSwitch { ue },
        _ => RanReport::SlotPattern {
            at,
            ue,
            start: input.instant(now),
            slot,
            period: input.u8() % 33,
            down: input.u32(),
            special: input.u32(),
            special_q8: input.u8(),
            lead: Duration::from_micros(u64::from(input.u16())),
            processing: Duration::from_micros(u64::from(input.u16())),
            polled: what & 0x40 != 0,
        },
    }
}

fn session(input: &mut Input<'_>) -> Session {
    let what = input.u8();
    let ue = UeId(u32::from(what) % 4);
    let gbr_flow = (what & 0x10 != 0).then_some(Qfi(what >> 5));
    if what & 0x8 != 0 {
        return Session::Down { ue, gbr_flow };
    }
    // 40 bits of kbit/s (TS 29.244, 8.2.8).
    Session::Up {
        ue,
        gbr_flow,
        guaranteed: Rate::from_bps(u64::from(input.u32()) * 1_000),
        maximum: Rate::from_bps((u64::from(input.u32()) << (what & 7)) * 1_000),
    }
}

/// Packets with payload that went through. CECC makes one acknowledgment of several, and several of one.
#[derive(Default)]
struct Count {
    inside: u64,
    outside: u64,
}

fn carries(packet: &Packet) -> u64 {
    u64::from(packet.body.payload() > 0)
}

fn drain(f: &mut impl EdgeFunction<Packet>, now: Instant, count: &mut Count) {
    let mut left = 0;
    while let Some((_, packet)) = f.release(now) {
        count.outside += carries(&packet);
        left += 1;
        assert!(left < RELEASES, "packets without end");
    }
    while let Some((packet, _)) = f.take_dropped() {
        count.outside += carries(&packet);
    }
}

fn run(f: &mut impl EdgeFunction<Packet>, mut input: Input<'_>) {
    let mut now = Instant::ZERO + Duration::from_secs(1);
    let mut next = [1_000; 8];
    let mut count = Count::default();
    for _ in 0..EVENTS {
        if input.is_empty() {
            break;
        }
        match input.u8() % 8 {
            0..=3 => {
                let packet = packet(&mut input, now, &mut next);
                count.inside += carries(&packet);
                match f.on_packet(now, packet.dir, UeId(packet.flow.0), packet) {
                    Verdict::Hold => {}
                    Verdict::Forward(p) | Verdict::Mark(p) | Verdict::Drop(p) => {
                        count.outside += carries(&p);
                    }
                }
            }
            4 => f.on_report(now, &report(&mut input, now)),
            5 => f.on_session(now, &session(&mut input)),
            6 => now = now.saturating_add(input.step()),
            // To the next timer, some times.
            _ => {
                for _ in 0..input.u8() {
                    let Some(timer) = f.next_timer() else {
                        break;
                    };
                    now = now.max(timer);
                    drain(f, now, &mut count);
                }
            }
        }
        drain(f, now, &mut count);
        let mut internals = Vec::new();
        f.internals(UeId(0), &mut internals);
        assert!(
            internals.iter().all(|(_, v)| v.is_finite()),
            "{internals:?}"
        );
    }
    assert!(count.outside <= count.inside, "no payload is made");
    let held = count.inside - count.outside;
    assert!(
        f.held() > Bytes::ZERO || held == 0,
        "{held} packets are gone, and nothing is held"
    );
}

/// vAQM in each of its modes.
pub(crate) fn vaqm(data: &[u8]) {
    let mut input = Input(data);
    let mode = [
        Mode::Auto,
        Mode::Window,
        Mode::Int,
        Mode::Literal,
        Mode::Drain,
        Mode::Direct,
        Mode::Measure,
    ][usize::from(input.u8()) % 7];
    run(&mut Vaqm::new(VaqmConfig::with_mode(mode)), input);
}

fn cecc_of(which: u8) -> Cecc<Packet> {
    let mut config = CeccConfig::default();
    config.mode = [CeccMode::Hold, CeccMode::Credit, CeccMode::Paper][usize::from(which) % 3];
    config.schedule = [Schedule::Edf, Schedule::Alg1][usize::from(which >> 4) % 2];
    config.wired = (which & 0x80 != 0).then_some(Duration::from_millis(2));
    Cecc::new(config)
}

/// CECC in each of its modes.
pub(crate) fn cecc(data: &[u8]) {
    let mut input = Input(data);
    run(&mut cecc_of(input.u8()), input);
}

/// Both functions, told by the contents of GTP-U messages.
pub(crate) fn reports(data: &[u8]) {
    let mut input = Input(data);
    let which = input.u8();
    let mut vaqm = Vaqm::new(VaqmConfig::default());
    let mut cecc = cecc_of(which);
    let mut now = Instant::ZERO + Duration::from_secs(1);
    let mut next = [1_000; 8];
    let (mut one, mut other) = (Count::default(), Count::default());
    for _ in 0..EVENTS {
        if input.is_empty() {
            break;
        }
        now = now.saturating_add(input.step());
        let kind = [
            gtpu::extension::PDU_SESSION_CONTAINER,
            gtpu::extension::NR_RAN_CONTAINER,
        ][usize::from(input.u8()) % 2];
        // A whole extension header has a multiple of four octets with its length and the type of the next.
        let mut content = input.bytes().to_vec();
        content.resize((content.len() + 2).next_multiple_of(4) - 2, 0);
        let mut octets = vec![0; content.len() + 64];
        let header = gtpu::Header::g_pdu(slackwater_core::Teid(u32::from(input.u8() % 8)));
        let Ok(n) = header.write(&[(kind, &content)], 0, &mut octets) else {
            continue;
        };
        let message = gtpu::Message::parse(&octets[..n]).expect("it was written here");
        reports_of(&message, now, |report| {
            vaqm.on_report(now, &report);
            cecc.on_report(now, &report);
        });
        let packet = packet(&mut input, now, &mut next);
        let _ = vaqm.on_packet(now, packet.dir, UeId(packet.flow.0), packet);
        let _ = cecc.on_packet(now, packet.dir, UeId(packet.flow.0), packet);
        drain(&mut vaqm, now, &mut one);
        drain(&mut cecc, now, &mut other);
    }
}
