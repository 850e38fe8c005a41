//! A flood on N6 for one session: what waits is bounded, and the others have their rate.

use super::*;

/// Sessions beside the flooded one.
const OTHERS: u32 = 8;
/// What each of them is sent, in Mbit/s; its AMBR is twice that.
const OFFERED: f64 = 10.0;
/// What the flooded one is sent, in Mbit/s.
const FLOOD: f64 = 2_000.0;
const LEN: u16 = 1_200;
const SECONDS: f64 = 5.0;

/// Bytes that leave for each UE, and the most that waited. The UEs' packets are UDP, as in a reflection attack.
fn offered(upf: &mut Upf, flood: bool) -> (Vec<u64>, Bytes) {
    let per_second = |mbps: f64| mbps * 1e6 / (f64::from(LEN) * 8.0);
    let mut got = vec![0_u64; OTHERS as usize + 1];
    let mut most = Bytes::ZERO;
    // Steps of 1 ms, in which a session is sent what falls into them.
    let mut owed = vec![0.0; OTHERS as usize + 1];
    for ms in 0..(SECONDS * 1e3) as u64 {
        for n in 0..=OTHERS {
            let rate = if n > 0 { OFFERED } else { FLOOD };
            if n == 0 && !flood {
                continue;
            }
            let owed = &mut owed[n as usize];
            *owed += per_second(rate) / 1e3;
            while *owed >= 1.0 {
                *owed -= 1.0;
                let mut packet = datagram(n, Direction::Down, LEN, Ecn::NotEct);
                if n == 0 {
                    // Of a thousand senders: queues of their own for each flow would shield it.
                    packet[12..16]
                        .copy_from_slice(&(0x0808_0000 + ms as u32 % 1_000).to_be_bytes());
                    packet = with_sum(packet);
                }
                upf.on_n6(MS(ms), packet);
            }
        }
        most = most.max(upf.user().held());
        for output in drain(upf, MS(ms)) {
            let Output::N3 { bytes, .. } = output else {
                panic!("{output:?}");
            };
            let message = Message::parse(bytes.as_ref()).unwrap();
            got[(message.header.teid.0 - downlink(0).teid.0) as usize] += u64::from(LEN);
        }
    }
    (got, most)
}

/// The packet with the sum that its IPv4 header has now (RFC 1071).
fn with_sum(mut packet: Vec<u8>) -> Vec<u8> {
    packet[10..12].fill(0);
    let words = packet[..20].chunks(2);
    let mut sum: u32 = words.map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let sum = !(sum as u16);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

#[test]
fn a_flood_for_one_session_is_bounded_and_leaves_the_others_their_rate() {
    for vaqm in [true, false] {
        let made = || {
            let mut config = config();
            if !vaqm {
                config.user.functions.vaqm = None;
            }
            let rate = Rate::from_mbps(2.0 * OFFERED);
            let (upf, _) = upf_with(config, OTHERS + 1, |_, rules| {
                rules.qers[0].maximum = Some(Rates {
                    up: rate,
                    down: rate,
                });
            });
            upf
        };
        let (alone, _) = offered(&mut made(), false);
        let mut flooded = made();
        let (beside, most) = offered(&mut flooded, true);
        for (n, (alone, beside)) in alone.iter().zip(&beside).enumerate().skip(1) {
            let share = *beside as f64 / *alone as f64;
            assert!(
                *alone > 6_000_000 && share >= 0.95,
                "vaqm {vaqm}, UE {n}: {share}"
            );
        }
        // It has no more than its own rate and a bucket's depth.
        let mbps = beside[0] as f64 * 8e-6 / SECONDS;
        assert!(mbps < 2.0 * OFFERED * 1.03, "{mbps}");
        // Two seconds of its rate at most, of 1.25 GB that came.
        assert!(most < Bytes(5_000_000), "{most:?}");
        let counters = flooded.user().counters();
        let ended: u64 = counters.dropped().map(|(_, n)| n).sum();
        assert!(ended > 900_000, "{counters:?}");
    }
}

#[test]
fn a_flood_for_a_ue_that_is_not_reached_is_bounded() {
    let idle = |n: u32, rules: &mut Rules| {
        if n == 0 {
            rules.fars[1].action = Action::Buffer { notify: true };
        }
    };
    let (mut upf, _) = upf_with(config(), OTHERS + 1, idle);
    let (got, most) = offered(&mut upf, true);
    assert_eq!(got[0], 0);
    assert!(got[1..].iter().all(|b| *b > 6_000_000), "{got:?}");
    // 128 packets of its own, and what the others' functions hold.
    assert!(most < Bytes(1_000_000), "{most:?}");
    let counters = upf.user().counters();
    assert_eq!(counters.buffered, 128, "{counters:?}");
}
