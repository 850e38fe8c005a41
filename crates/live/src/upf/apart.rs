//! What comes by a port for UEs is not the kernel's: a filter behind the ring drops it before the network stack.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::process::{Command, Stdio};

use super::config::Network;

/// The place of the filter among those of the interface.
const PREFERENCE: &str = "2152";
/// What it returns for packets of UEs, and for others (`linux/pkt_cls.h`: `TC_ACT_SHOT`, `TC_ACT_UNSPEC`).
const DROP: u32 = 2;
const NEXT: u32 = u32::MAX;

/// A filter of an interface; it goes with this value. That of a process which was killed stays until the next has it replaced, and
/// drops nothing that another would take.
#[derive(Debug)]
pub(super) struct Apart {
    interface: String,
}

impl Apart {
    /// Keeps packets for `routes` that come by `interface` from the kernel's network stack; `None` where it cannot (no `tc`, or
    /// a kernel without `cls_bpf`).
    pub(super) fn set(interface: &str, routes: &[Network]) -> Option<Self> {
        let program = program(routes)?;
        // There may be one already.
        tc(&["qdisc", "add", "dev", interface, "clsact"]);
        let place = ["dev", interface, "ingress", "pref", PREFERENCE];
        tc(&[&["filter", "del"], &place[..]].concat());
        let filter = ["bpf", "da", "bytecode", &program];
        tc(&[&["filter", "add"], &place[..], &filter].concat()).then(|| Self {
            interface: interface.to_owned(),
        })
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        let interface = &self.interface;
        let place = ["dev", interface, "ingress", "pref", PREFERENCE];
        tc(&[&["filter", "del"], &place[..]].concat());
    }
}

fn tc(words: &[&str]) -> bool {
    let mut command = Command::new("tc");
    command.args(words).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// One instruction of the classic BPF: code, jumps, constant (`linux/filter.h`).
type Step = (u16, u8, u8, u32);

// BPF_LD | BPF_H | BPF_ABS, BPF_LD | BPF_W | BPF_ABS, BPF_ALU | BPF_AND | BPF_K, BPF_JMP | BPF_JEQ | BPF_K, BPF_RET | BPF_K.
const HALF: u16 = 0x28;
const WORD: u16 = 0x20;
const AND: u16 = 0x54;
const EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;

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
        let end = of_route.len();
        for (k, step) in of_route.iter_mut().enumerate() {
            if step.0 == EQUAL {
                // Past the verdict, to the next route.
                step.2 = u8::try_from(end - k).unwrap_or(u8::MAX);
            }
        }
        steps.extend(of_route);
        steps.push((RETURN, 0, 0, DROP));
    }
    steps.push((RETURN, 0, 0, NEXT));
    if steps.len() > MOST {
        return None;
    }
    let mut text = steps.len().to_string();
    for (code, yes, no, constant) in steps {
        let _ = write!(text, ",{code} {yes} {no} {constant}");
    }
    Some(text)
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
}
