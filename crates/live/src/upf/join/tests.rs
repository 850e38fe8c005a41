use proptest::prelude::*;
use slackwater_wire::checksum;

use super::*;
use crate::emulate::frame;

const MTU: usize = 1_500;
const ACK: u8 = 0x10;
const PSH_ACK: u8 = 0x18;

fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// A segment of user `user` with right sums.
fn segment(v6: bool, user: u8, seq: u32, flags: u8, payload: usize) -> Vec<u8> {
    let at = if v6 { 40 } else { 20 };
    let mut p = vec![0; at];
    let tcp = (20 + payload) as u16;
    let addresses = if v6 {
        p[0] = 0x60;
        put(&mut p, 4, tcp);
        p[6..8].copy_from_slice(&[6, 64]);
        p[23] = user;
        8..40
    } else {
        p[0] = 0x45;
        put(&mut p, 2, 20 + tcp);
        put(&mut p, 4, seq as u16);
        p[6] = 0x40;
        p[8..10].copy_from_slice(&[64, 6]);
        p[15] = user;
        let sum = checksum::finish(checksum::sum(&p));
        p[10..12].copy_from_slice(&sum);
        12..20
    };
    p.extend([0x13, user, 1, 187]);
    p.extend(seq.to_be_bytes());
    p.extend([0, 0, 0, 9, 0x50, flags, 1, 0, 0, 0, 0, 0]);
    p.extend((0..payload).map(|k| (seq as usize + k) as u8));
    let pseudo = checksum::sum(&p[addresses]) + checksum::pseudo(6, tcp.into());
    let sum = checksum::finish(pseudo + checksum::sum(&p[at..]));
    p[at + 16..at + 18].copy_from_slice(&sum);
    p
}

/// Frames that leave: the packets that the kernel would cut each into, and how many were announced.
fn joined(packets: &[Vec<u8>]) -> Vec<(Vec<Vec<u8>>, u32)> {
    let mut out = Vec::new();
    let mut send = |parts: &mut Vec<Part>, announced| {
        let bytes = parts.iter().map(|(memory, start)| &memory[*start..]);
        let bytes = bytes.collect::<Vec<_>>().concat();
        let header = bytes.first_chunk().unwrap();
        let mut cut = Vec::new();
        let whole = frame::packets_behind(
            header,
            ETHERNET,
            &bytes[FRONT..],
            &mut frame::plain(|p| cut.push(p)),
        );
        assert!(whole, "a frame that makes no sense");
        out.push((cut, announced));
    };
    let mut joiner = Joiner::default();
    for packet in packets {
        let memory = [&[0; 7 + FRONT], packet.as_slice()].concat();
        joiner.push((memory, 7), MTU, &mut send);
    }
    joiner.flush(&mut send);
    out
}

/// The packet without what a super-packet's segments have anew: numbers of IPv4.
fn plain(packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    if packet[0] == 0x45 {
        packet[4..6].fill(0);
        packet[10..12].fill(0);
    }
    packet
}

#[test]
fn segments_of_several_users_leave_as_one_frame_each() {
    for v6 in [false, true] {
        let mut packets = Vec::new();
        for k in 0..12_u32 {
            for user in 0..3 {
                packets.push(segment(
                    v6,
                    user,
                    (1_400 * k).wrapping_sub(2_000),
                    ACK,
                    1_400,
                ));
            }
        }
        let frames = joined(&packets);
        assert_eq!(frames.len(), 3);
        for (user, (cut, announced)) in frames.iter().enumerate() {
            assert_eq!((cut.len(), *announced), (12, 12));
            let sent = packets.iter().skip(user).step_by(3);
            assert!(cut.iter().map(|p| plain(p)).eq(sent.map(|p| plain(p))));
        }
    }
}

#[test]
fn what_was_damaged_or_does_not_fit_stays_alone() {
    let first = || segment(false, 1, 0, ACK, 1_000);
    let mut damaged = segment(false, 1, 1_000, ACK, 1_000);
    damaged[500] ^= 1;
    let mut first_damaged = first();
    first_damaged[30] ^= 1;
    for (a, b) in [
        (first(), damaged),
        (first_damaged, segment(false, 1, 1_000, ACK, 1_000)),
        (first(), segment(false, 1, 2_000, ACK, 1_000)),
        (
            segment(false, 1, 0, PSH_ACK, 1_000),
            segment(false, 1, 1_000, ACK, 1_000),
        ),
        // The kernel would cut these by their length, and not by that of its link.
        (
            segment(false, 1, 0, ACK, 1_461),
            segment(false, 1, 1_461, ACK, 1_461),
        ),
    ] {
        let frames = joined(&[a.clone(), b.clone()]);
        assert_eq!(frames, [(vec![a], 1), (vec![b], 1)]);
    }
}

#[test]
fn a_frame_has_no_more_parts_than_a_send() {
    let packets: Vec<_> = (0..SENDS as u32 + 3)
        .map(|k| segment(false, 1, 100 * k, ACK, 100))
        .collect();
    let counts: Vec<_> = joined(&packets).iter().map(|(_, n)| *n).collect();
    assert_eq!(counts, [SENDS as u32, 3]);
}

proptest! {
    /// Whatever comes, the same packets leave, and those between two addresses in order.
    #[test]
    fn nothing_is_changed_lost_or_overtaken(
        order in prop::collection::vec((0_u8..12, any::<bool>(), 0_u8..24), 1..200),
    ) {
        let mut next = [[0_u32; 12]; 2];
        let mut packets = Vec::new();
        for (user, v6, what) in order {
            let seq = &mut next[usize::from(v6)][usize::from(user)];
            let (flags, length) = match what {
                0 => (ACK, 0),
                1 => (PSH_ACK, 700),
                2 => (ACK, 300),
                3 => (ACK | 1, 1_200),
                4 => (ACK, 1_461),
                _ => (ACK, 1_200),
            };
            let mut packet = segment(v6, user, *seq, flags, length);
            *seq = seq.wrapping_add(length as u32);
            match what {
                5 => *packet.last_mut().unwrap() ^= 0x40,
                6 => packet[if v6 { 6 } else { 9 }] = 17,
                _ => {}
            }
            packets.push(packet);
        }
        let frames = joined(&packets);
        let mut left = Vec::new();
        for (cut, announced) in frames {
            prop_assert_eq!(cut.len(), announced as usize);
            left.extend(cut);
        }
        prop_assert_eq!(left.len(), packets.len());
        let of = |all: &[Vec<u8>], ends: &[u8]| {
            let same = all.iter().filter(|p| addresses(p) == Some(ends));
            same.map(|p| plain(p)).collect::<Vec<_>>()
        };
        for packet in &packets {
            let ends = addresses(packet).unwrap();
            prop_assert_eq!(of(&left, ends), of(&packets, ends));
        }
    }
}
