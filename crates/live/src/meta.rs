//! What the world knows of a buffer, and what it changed.

use slackwater_core::{FlowId, Instant, Packet, PacketView as _, Proto, TcpFlags};
use slackwater_signal::Body;
use slackwater_wire::{IpBuf, IpPacket, report};

/// Reads the headers of `ip` into a packet of `flow` that was emitted at `created`.
pub fn read(ip: &IpBuf, flow: FlowId, up: bool, created: Instant) -> Packet {
    let total = ip.len();
    let mut p = Packet {
        created,
        flow,
        len: total.min(u32::from(u16::MAX)) as u16,
        ecn: ip.ecn(),
        proto: Proto::Udp,
        bits: if up { Packet::BIT_UP } else { 0 },
        ..Packet::default()
    };
    let Some(tcp) = ip.tcp() else {
        // Datagrams and everything else: the transport's payload, as far as it shows.
        let headers = if ip.is_v6() { 40 } else { 20 } + if ip.ports().is_some() { 8 } else { 0 };
        p.payload = total.saturating_sub(headers).min(u32::from(u16::MAX)) as u16;
        return p;
    };
    p.proto = Proto::Tcp;
    (p.seq, p.ack, p.window, p.flags) = (tcp.seq, tcp.ack, tcp.window, tcp.flags);
    p.payload = tcp.payload.min(u32::from(u16::MAX)) as u16;
    if let Some((value, echo)) = tcp.timestamps {
        p.bits |= Packet::BIT_TIMESTAMPS;
        (p.tsval, p.tsecr) = (value, echo);
    }
    if tcp.flags.contains(TcpFlags::SYN) {
        if let Some(options) = ip.syn_options() {
            let mut rest = 0;
            if let Some(shift) = options.window_scale {
                rest |= Packet::SYN_SCALED | u32::from(shift);
            }
            if options.sack_permitted {
                rest |= Packet::SYN_SACK_PERMITTED;
            }
            p.slots[0].start.0 = u32::from(options.mss.unwrap_or(0));
            p.slots[0].end.0 = rest;
        }
        return p;
    }
    let blocks = ip.sack();
    for (slot, block) in p.slots.iter_mut().zip(blocks.iter()) {
        *slot = *block;
    }
    // A fourth block, possible without time stamps, has no place; functions that read blocks act on the first ones.
    p.sacks = blocks.len().min(p.slots.len()) as u8;
    p
}

/// Writes into `bytes` what the world changed between `before` and `after`; a packet that has grown stays below `mtu`.
pub fn write_back(bytes: Vec<u8>, before: &Packet, after: &Packet, mtu: usize) -> Vec<u8> {
    let same = before.ecn == after.ecn && before.window == after.window && before.ack == after.ack;
    let reported = after.bits & !before.bits & Packet::BIT_REPORT != 0;
    if same && !reported {
        return bytes;
    }
    let mut ip = IpPacket::new(bytes).expect("headers were read when the packet came");
    if before.ecn != after.ecn {
        ip.set_ecn(after.ecn);
    }
    if before.window != after.window {
        ip.set_tcp_window(after.window);
    }
    if before.ack != after.ack {
        ip.set_tcp_ack(after.ack);
    }
    let mut bytes = ip.into_inner();
    if reported {
        let slot = after.slots[2];
        let body = Body::from_words(slot.start.0, slot.end.0);
        // Without room the acknowledgment goes on without a report, as on any path.
        let _skipped = report::insert(&mut bytes, body, mtu);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackwater_core::{Ecn, SackBlock, SeqNum};
    use slackwater_wire::{IpVersion, packet};

    fn ack() -> Packet {
        Packet {
            created: Instant::from_millis(3),
            flow: FlowId(9),
            seq: SeqNum(77),
            ack: SeqNum(1_000_000),
            window: 4_000,
            flags: TcpFlags::ACK,
            ecn: Ecn::Ect0,
            len: 40 + 12 + 20,
            sacks: 2,
            slots: [
                SackBlock {
                    start: SeqNum(5),
                    end: SeqNum(9),
                },
                SackBlock {
                    start: SeqNum(1),
                    end: SeqNum(2),
                },
                SackBlock::default(),
            ],
            tsval: 4,
            tsecr: 3,
            bits: Packet::BIT_UP | Packet::BIT_TIMESTAMPS,
            ..Packet::default()
        }
    }

    fn bytes_of(p: &Packet, version: IpVersion) -> Vec<u8> {
        let mut bytes = Vec::new();
        packet::encode(p, version, usize::MAX, &mut bytes);
        bytes
    }

    #[test]
    fn headers_are_read_as_the_simulator_has_them() {
        let sent = ack();
        let ip = IpPacket::new(bytes_of(&sent, IpVersion::V4)).unwrap();
        assert_eq!(read(&ip, sent.flow, true, sent.created), sent);
        let syn = Packet {
            flags: TcpFlags::SYN,
            sacks: 0,
            slots: [
                SackBlock {
                    start: SeqNum(1448),
                    end: SeqNum(7 | Packet::SYN_SCALED | Packet::SYN_SACK_PERMITTED),
                },
                SackBlock::default(),
                SackBlock::default(),
            ],
            len: 60,
            ..sent
        };
        let ip = IpPacket::new(bytes_of(&syn, IpVersion::V4)).unwrap();
        assert_eq!(read(&ip, syn.flow, true, syn.created), syn);
    }

    #[test]
    fn changes_come_back_with_right_checksums() {
        for version in [IpVersion::V4, IpVersion::V6] {
            let bytes = bytes_of(&ack(), version);
            let ip = IpPacket::new(bytes.clone()).unwrap();
            let before = read(&ip, FlowId(9), true, Instant::ZERO);
            assert_eq!(write_back(bytes.clone(), &before, &before, 1500), bytes);
            let mut after = before;
            after.ecn = Ecn::Ce;
            after.window = 17;
            after.ack = SeqNum(999);
            after.bits |= Packet::BIT_REPORT;
            after.slots[2] = SackBlock {
                start: SeqNum(0xdead_beef),
                end: SeqNum(0x0102_0304),
            };
            let changed = IpPacket::new(write_back(bytes, &before, &after, 1500)).unwrap();
            assert!(changed.checksums_hold(), "{version:?}");
            assert_eq!(changed.ecn(), Ecn::Ce);
            let tcp = changed.tcp().unwrap();
            assert_eq!((tcp.window, tcp.ack), (17, SeqNum(999)));
            let body = report::find(&changed).unwrap();
            assert_eq!(body.words(), (0xdead_beef, 0x0102_0304));
            assert_eq!(changed.sack().len(), 2);
        }
    }
}
