//! The text of a flow description (RFC 6733, 4.3.1, as TS 29.212, 5.4.2, narrows it down): an action, a direction, a
//! protocol and both ends. No options, and nothing inverted.

use std::net::IpAddr;

use crate::rules::{FlowDescription, FlowEnd, Prefix};

/// Ranges in one list of ports at most. RFC 6733 sets no bound; the text of one filter holds 65,535 octets.
const MAX_RANGES: usize = 64;

/// Reads `permit out PROTOCOL from ADDRESS [PORTS] to ADDRESS [PORTS]`; `None` where it is anything else.
pub(super) fn parse(text: &[u8]) -> Option<FlowDescription> {
    let text = std::str::from_utf8(text).ok()?;
    let mut words = text.split_ascii_whitespace().peekable();
    // TS 29.212, 5.4.2: the action is "permit", the direction "out".
    (words.next()? == "permit" && words.next()? == "out").then_some(())?;
    let protocol = match words.next()? {
        "ip" => None,
        number => Some(digits(number)?),
    };
    (words.next()? == "from").then_some(())?;
    let remote = end(&mut words)?;
    (words.next()? == "to").then_some(())?;
    let ue = end(&mut words)?;
    words.next().is_none().then_some(FlowDescription {
        protocol,
        remote,
        ue,
    })
}

/// A number in decimal digits alone: no sign.
fn digits<T: std::str::FromStr>(text: &str) -> Option<T> {
    let plain = text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok())?
}

fn end<'a>(words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> Option<FlowEnd> {
    let address = words.next()?;
    let (address, assigned) = match address {
        "any" => (None, false),
        "assigned" => (None, true),
        text => (Some(prefix(text)?), false),
    };
    let is_ports = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    let ports = match words.next_if(is_ports) {
        Some(list) => ports(list)?,
        None => Vec::new(),
    };
    Some(FlowEnd {
        address,
        assigned,
        ports,
    })
}

fn prefix(text: &str) -> Option<Prefix> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(digits(bits)?)),
        None => (text, None),
    };
    Prefix::new(address.parse::<IpAddr>().ok()?, bits)
}

/// `80`, `80-90`, or several of them after commas.
fn ports(list: &str) -> Option<Vec<(u16, u16)>> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (digits(first)?, digits(last)?);
        (first <= last).then_some((first, last))
    };
    let ranges: Option<Vec<_>> = list.split(',').take(MAX_RANGES + 1).map(range).collect();
    ranges.filter(|r| r.len() <= MAX_RANGES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(address: Option<&str>, bits: u8, ports: &[(u16, u16)]) -> FlowEnd {
        FlowEnd {
            address: address.map(|a| Prefix {
                address: a.parse().unwrap(),
                bits,
            }),
            assigned: false,
            ports: ports.to_vec(),
        }
    }

    #[test]
    fn descriptions_say_protocol_and_ends() {
        let assigned = FlowEnd {
            assigned: true,
            ..end(None, 0, &[])
        };
        let any = end(None, 0, &[]);
        for (text, protocol, remote, ue) in [
            (
                "permit out ip from any to assigned",
                None,
                any.clone(),
                assigned.clone(),
            ),
            (
                "permit out 17 from 192.0.2.7/24 80-90,443 to assigned 5000",
                Some(17),
                end(Some("192.0.2.0"), 24, &[(80, 90), (443, 443)]),
                FlowEnd {
                    ports: vec![(5_000, 5_000)],
                    ..assigned.clone()
                },
            ),
            (
                "permit  out 6 from 2001:db8::1 to 10.0.0.0/8 1-65535",
                Some(6),
                end(Some("2001:db8::1"), 128, &[]),
                end(Some("10.0.0.0"), 8, &[(1, 65_535)]),
            ),
            (
                "permit out 58 from ::/0 to any",
                Some(58),
                end(Some("::"), 0, &[]),
                any,
            ),
        ] {
            let expected = FlowDescription {
                protocol,
                remote,
                ue,
            };
            assert_eq!(parse(text.as_bytes()), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "permit",
            "deny out ip from any to assigned",
            "permit in ip from any to assigned",
            "permit out ip from any",
            "permit out ip from any to",
            "permit out 256 from any to any",
            "permit out +6 from any to any",
            "permit out tcp from any to any",
            "permit out ip from !10.0.0.1 to any",
            "permit out ip from 10.0.0.1/33 to any",
            "permit out ip from 10.0.0.1/ to any",
            "permit out ip from 10.0.0.1/+8 to any",
            "permit out ip from 10.0.0 to any",
            "permit out ip from any 90-80 to any",
            "permit out ip from any 80- to any",
            "permit out ip from any 80,,81 to any",
            "permit out ip from any 65536 to any",
            "permit out ip from any to any frag",
            "permit out ip from any to any 80 81",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse(b"permit out ip from any to \xff"), None);
        let many = format!("permit out ip from any {} to any", vec!["1"; 65].join(","));
        assert_eq!(parse(many.as_bytes()), None);
    }
}
