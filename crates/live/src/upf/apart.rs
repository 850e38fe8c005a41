//! What comes by a port for UEs is not the kernel's: a filter behind the ring drops it before the network stack.

use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::process::Stdio;

use super::config::Network;

/// What the filters return for packets that are not the kernel's, and for others (`linux/pkt_cls.h`: `TC_ACT_SHOT`,
/// `TC_ACT_UNSPEC`).
const DROP: u32 = 2;
const NEXT: u32 = u32::MAX;

/// Which filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Packets for UEs, on N6.
    Packets,
    /// Datagrams of GTP-U, on N3.
    Datagrams,
}

impl Place {
    /// Its place among the filters of an interface.
    const fn preference(self) -> &'static str {
        match self {
            Self::Packets => "2152",
            Self::Datagrams => "2153",
        }
    }
}

/// A filter of an interface; it goes with this value. That of a process which was killed stays until the next removes it or has it
/// replaced.
#[derive(Debug)]
pub(super) struct Apart {
    interface: String,
    place: Place,
}

impl Apart {
    /// Keeps packets for `routes` that come by `interface` from the kernel's network stack; `None` where it cannot (no `tc`, or
    /// a kernel without `cls_bpf`).
    pub(super) fn set(interface: &str, routes: &[Network]) -> Option<Self> {
        Self::put(interface, Place::Packets, &program(routes)?)
    }

    /// As [`Apart::set`], for whole datagrams to `own`.
    pub(super) fn datagrams(interface: &str, own: SocketAddr) -> Option<Self> {
        Self::put(interface, Place::Datagrams, &datagrams(own))
    }

    fn put(interface: &str, place: Place, program: &str) -> Option<Self> {
        // There may be one already.
        tc(&["qdisc", "add", "dev", interface, "clsact"]);
        Self::clear(interface, place);
        let at = ["dev", interface, "ingress", "pref", place.preference()];
        let filter = ["bpf", "da", "bytecode", program];
        tc(&[&["filter", "add"], &at[..], &filter].concat()).then(|| Self {
            interface: interface.to_owned(),
            place,
        })
    }

    /// Takes away a filter, where there is one.
    pub(super) fn clear(interface: &str, place: Place) {
        let at = ["dev", interface, "ingress", "pref", place.preference()];
        tc(&[&["filter", "del"], &at[..]].concat());
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        Self::clear(&self.interface, self.place);
    }
}

fn tc(words: &[&str]) -> bool {
    let Ok(mut command) = crate::program::of_system("tc", "iproute2") else {
        return false;
    };
    command.args(words).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// One instruction of the classic BPF: code, jumps, constant (`linux/filter.h`).
type Step = (u16, u8, u8, u32);

// BPF_LD | BPF_ABS of a half word, a word and an octet; BPF_ALU | BPF_AND | BPF_K, BPF_JMP | BPF_JEQ | BPF_K, BPF_RET | BPF_K.
const HALF: u16 = 0x28;
const WORD: u16 = 0x20;
const OCTET: u16 = 0x30;
const AND: u16 = 0x54;
const EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;

/// Comparisons of which all must hold, and what is returned then.
fn all(mut tests: Vec<Step>) -> Vec<Step> {
    let end = tests.len();
    for (k, step) in tests.iter_mut().enumerate() {
        if step.0 == EQUAL {
            // Past the verdict.
            step.2 = u8::try_from(end - k).unwrap_or(u8::MAX);
        }
    }
    tests.push((RETURN, 0, 0, DROP));
    tests
}

/// A program in the form that `tc` takes.
fn text(steps: &[Step]) -> String {
    let mut text = steps.len().to_string();
    for (code, yes, no, constant) in steps {
        let _ = write!(text, ",{code} {yes} {no} {constant}");
    }
    text
}

/// Whole datagrams to `own` without IP options: those that the ring of N3 takes.
fn datagrams(own: SocketAddr) -> String {
    const IP: u32 = 14;
    let equal = |value: u32| (EQUAL, 0, 0, value);
    let port = u32::from(own.port());
    let tests = match own.ip() {
        IpAddr::V4(a) => vec![
            (HALF, 0, 0, 12),
            equal(0x0800),
            (OCTET, 0, 0, IP),
            equal(0x45),
            (HALF, 0, 0, IP + 6),
            (AND, 0, 0, 0x3fff),
            equal(0),
            (OCTET, 0, 0, IP + 9),
            equal(17),
            (WORD, 0, 0, IP + 16),
            equal(a.to_bits()),
            (HALF, 0, 0, IP + 20 + 2),
            equal(port),
        ],
        IpAddr::V6(a) => {
            let mut tests = vec![
                (HALF, 0, 0, 12),
                equal(0x86dd),
                (OCTET, 0, 0, IP),
                (AND, 0, 0, 0xf0),
                equal(0x60),
                (OCTET, 0, 0, IP + 6),
                equal(17),
            ];
            for (k, octets) in a.octets().chunks_exact(4).enumerate() {
                let word = u32::from_be_bytes([octets[0], octets[1], octets[2], octets[3]]);
                tests.extend([(WORD, 0, 0, IP + 24 + 4 * k as u32), equal(word)]);
            }
            tests.extend([(HALF, 0, 0, IP + 40 + 2), equal(port)]);
            tests
        }
    };
    let mut steps = all(tests);
    steps.push((RETURN, 0, 0, NEXT));
    text(&steps)
}

/// The program in the form that `tc` takes; `None` where it would be longer than the kernel takes.
fn program(routes: &[Network]) -> Option<String> {
    /// `linux/filter.h`, `BPF_MAXINSNS`.
    const MOST: usize = 4_096;
    let mut steps: Vec<Step> = Vec::new();
    for route in routes {
        // Type of the frame; where the destination begins in a frame.
        let (kind, at, address) = match route.address {
            IpAddr::V4(a) => (0x0800, 14 + 16, a.octets().to_vec()),
            IpAddr::V6(a) => (0x86dd, 14 + 24, a.octets().to_vec()),
        };
        let mut of_route: Vec<Step> = vec![(HALF, 0, 0, 12), (EQUAL, 0, 0, kind)];
        let mut left = u32::from(route.bits);
        for (place, word) in (at..).step_by(4).zip(address.chunks_exact(4)) {
            let bits = left.min(32);
            left -= bits;
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            if mask != 0 {
                let word = u32::from_be_bytes([word[0], word[1], word[2], word[3]]);
                of_route.extend([
                    (WORD, 0, 0, place),
                    (AND, 0, 0, mask),
                    (EQUAL, 0, 0, word & mask),
                ]);
            }
        }
        steps.extend(all(of_route));
    }
    steps.push((RETURN, 0, 0, NEXT));
    if steps.len() > MOST {
        return None;
    }
    Some(text(&steps))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the program says of a frame.
    fn run(program: &str, frame: &[u8]) -> u32 {
        let steps: Vec<Vec<u32>> = program
            .split(',')
            .skip(1)
            .map(|s| s.split(' ').map(|w| w.parse().unwrap()).collect())
            .collect();
        let (mut at, mut a) = (0, 0_u32);
        loop {
            let step = &steps[at];
            at += 1;
            let constant = step[3];
            let bytes = |n: usize| {
                let from = constant as usize;
                frame[from..from + n]
                    .iter()
                    .fold(0, |sum, b| sum << 8 | u32::from(*b))
            };
            match step[0] as u16 {
                HALF => a = bytes(2),
                WORD => a = bytes(4),
                OCTET => a = bytes(1),
                AND => a &= constant,
                EQUAL => at += step[if a == constant { 1 } else { 2 }] as usize,
                RETURN => return constant,
                other => panic!("{other}"),
            }
        }
    }

    #[test]
    fn packets_of_ues_are_dropped_and_no_others() {
        let routes = [
            ("10.60.0.0", 16),
            ("192.0.2.64", 26),
            ("2001:db8:0:40::", 58),
        ]
        .map(|(a, bits)| Network {
            address: a.parse().unwrap(),
            bits,
        });
        let program = program(&routes).unwrap();
        for (address, dropped) in [
            ("10.60.0.1", true),
            ("10.60.255.255", true),
            ("10.61.0.0", false),
            ("192.0.2.64", true),
            ("192.0.2.127", true),
            ("192.0.2.128", false),
            ("2001:db8:0:7f::1", true),
            ("2001:db8:0:80::1", false),
            ("2001:db9:0:40::1", false),
        ] {
            let mut frame = vec![0; 60];
            match address.parse().unwrap() {
                IpAddr::V4(a) => {
                    frame[12..14].copy_from_slice(&[8, 0]);
                    frame[30..34].copy_from_slice(&a.octets());
                }
                IpAddr::V6(a) => {
                    frame[12..14].copy_from_slice(&[0x86, 0xdd]);
                    frame[38..54].copy_from_slice(&a.octets());
                }
            }
            let expected = if dropped { DROP } else { NEXT };
            assert_eq!(run(&program, &frame), expected, "{address}");
            // ARP of the same octets.
            frame[12..14].copy_from_slice(&[8, 6]);
            assert_eq!(run(&program, &frame), NEXT, "{address}");
        }
    }

    #[test]
    fn whole_datagrams_to_the_tunnel_port_are_dropped_and_no_others() {
        for (own, kind, head) in [
            ("192.0.2.1:2152", 0x0800_u16, 20),
            ("[2001:db8::1]:2152", 0x86dd, 40),
        ] {
            let own: SocketAddr = own.parse().unwrap();
            let program = datagrams(own);
            let mut frame = vec![0; 14 + head + 8];
            frame[12..14].copy_from_slice(&kind.to_be_bytes());
            match own.ip() {
                IpAddr::V4(a) => {
                    frame[14] = 0x45;
                    frame[14 + 6] = 0x40;
                    frame[14 + 9] = 17;
                    frame[14 + 16..][..4].copy_from_slice(&a.octets());
                }
                IpAddr::V6(a) => {
                    frame[14] = 0x6f;
                    frame[14 + 6] = 17;
                    frame[14 + 24..][..16].copy_from_slice(&a.octets());
                }
            }
            frame[14 + head + 2..][..2].copy_from_slice(&2_152_u16.to_be_bytes());
            assert_eq!(run(&program, &frame), DROP, "{own}");
            let others: &[(usize, u8)] = if own.is_ipv4() {
                &[(0, 0x46), (6, 0x20), (7, 1), (9, 6), (19, 9), (23, 9)]
            } else {
                &[(0, 0x40), (6, 44), (24, 9), (31, 9), (39, 9), (43, 9)]
            };
            for (at, octet) in others {
                let mut other = frame.clone();
                other[14 + at] = *octet;
                assert_eq!(run(&program, &other), NEXT, "{own} {at}");
            }
        }
    }
}
