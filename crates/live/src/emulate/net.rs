//! Networks, the range that emulators take their addresses from, and whether somebody else uses it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

/// A network: an address and the bits of it that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Net {
    address: IpAddr,
    bits: u8,
}

impl FromStr for Net {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("found {text:?}, expected a network such as 10.0.0.0/8 or fd00::/8");
        let (address, bits) = text
            .split_once('/')
            .map_or((text, None), |(a, b)| (a, Some(b)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), |b| b.parse().map_err(|_| wrong()))?;
        let net = Self { address, bits };
        if bits > most {
            return Err(wrong());
        }
        Ok(net)
    }
}

impl fmt::Display for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl Net {
    /// Every address of IPv4.
    pub(crate) const EVERYTHING_V4: Self = Self {
        address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        bits: 0,
    };

    /// True where `address` lies in it.
    pub fn holds(&self, address: IpAddr) -> bool {
        let same = |a: u128, b: u128, width: u8| {
            let skipped = u32::from(width - self.bits);
            a.checked_shr(skipped).unwrap_or(0) == b.checked_shr(skipped).unwrap_or(0)
        };
        match (self.address, address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => same(a.to_bits().into(), b.to_bits().into(), 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => same(a.to_bits(), b.to_bits(), 128),
            _ => false,
        }
    }

    /// True where the two have an address in common.
    fn meets(&self, other: &Self) -> bool {
        self.holds(other.address) || other.holds(self.address)
    }
}

/// Where emulators of this machine take their IPv4 addresses: a /16 for each chain of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range(Net);

impl Default for Range {
    /// The shared address space (RFC 6598).
    fn default() -> Self {
        Self(Net {
            address: IpAddr::V4(Ipv4Addr::new(100, 64, 0, 0)),
            bits: 10,
        })
    }
}

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let net: Net = text.parse()?;
        let whole = net.address.is_ipv4() && (8..=16).contains(&net.bits);
        if !whole || Self(net).first() & (u32::MAX >> net.bits) != 0 {
            return Err(format!(
                "found {text:?}, expected an IPv4 network of 8 to 16 bits such as 10.128.0.0/12"
            ));
        }
        Ok(Self(net))
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Range {
    fn first(&self) -> u32 {
        match self.0.address {
            IpAddr::V4(a) => a.to_bits(),
            IpAddr::V6(_) => 0,
        }
    }

    /// Chains of emulators that have room, 64 at most.
    pub(crate) fn chains(&self) -> u8 {
        1 << (16 - self.0.bits).min(6)
    }

    /// The upper 16 bits of the addresses of `chain`.
    pub(crate) fn prefix(&self, chain: u8) -> u16 {
        (self.first() >> 16) as u16 + u16::from(chain)
    }

    /// The chain and what is left of `address`, where it lies in a chain.
    pub(crate) fn place(&self, address: Ipv4Addr) -> Option<(u8, [u8; 2])> {
        let [a, b, level, host] = address.octets();
        let chain = u16::from_be_bytes([a, b]).checked_sub(self.prefix(0))?;
        let chain = u8::try_from(chain).ok().filter(|c| *c < self.chains())?;
        Some((chain, [level, host]))
    }

    /// An address of somebody else's interface, or a route of one, that lies in the range.
    pub(crate) fn taken(&self, name: &str, net: Net) -> Option<String> {
        (net.bits > 0 && self.0.meets(&net)).then(|| {
            format!(
                "--addresses: {self} holds {net} of {name}; expected a range that nobody here uses, \
                 such as --addresses 198.18.0.0/15"
            )
        })
    }
}

/// The routes of `/proc/net/route` (`proc_pid_net(5)`): device and network. Lines of another form are passed over.
pub(crate) fn routes(table: &str) -> impl Iterator<Item = (&str, Net)> {
    table.lines().skip(1).filter_map(|line| {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        // Numbers are as they lie in memory.
        let number = |word: &str| Some(u32::from_str_radix(word, 16).ok()?.swap_bytes());
        let address = number(words.next()?)?;
        let mask = number(words.nth(5)?)?;
        let net = Net {
            address: IpAddr::V4(Ipv4Addr::from_bits(address)),
            bits: mask.leading_ones() as u8,
        };
        Some((name, net))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> Net {
        text.parse().expect("a network")
    }

    #[test]
    fn networks_hold_what_shares_their_bits() {
        for (text, inside, outside) in [
            ("10.0.0.0/8", "10.9.9.9", "11.0.0.0"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.8"),
            ("0.0.0.0/0", "203.0.113.1", "::1"),
            ("fd00::/8", "fd51::1", "fe80::1"),
            ("::/0", "2001:db8::1", "192.0.2.1"),
        ] {
            assert!(net(text).holds(inside.parse().unwrap()), "{text}");
            assert!(!net(text).holds(outside.parse().unwrap()), "{text}");
        }
        for wrong in [
            "",
            "10.0.0.0/33",
            "::/129",
            "10.0.0/8",
            "x/8",
            "10.0.0.0/-1",
        ] {
            assert!(wrong.parse::<Net>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_range_has_a_chain_for_each_sixteen_bits() {
        let shared = Range::default();
        assert_eq!(shared.to_string(), "100.64.0.0/10");
        assert_eq!(shared.chains(), 64);
        let at = |r: &Range, a: [u8; 4]| r.place(Ipv4Addr::from(a));
        assert_eq!(at(&shared, [100, 66, 1, 7]), Some((2, [1, 7])));
        assert_eq!(at(&shared, [100, 63, 1, 7]), None);
        assert_eq!(at(&shared, [100, 128, 1, 7]), None);
        let small: Range = "198.18.0.0/15".parse().unwrap();
        assert_eq!(
            (small.chains(), at(&small, [198, 19, 0, 1])),
            (2, Some((1, [0, 1])))
        );
        for wrong in [
            "10.0.0.0/7",
            "10.0.0.0/17",
            "10.1.0.0/8",
            "fd00::/8",
            "10.0.0.0",
        ] {
            assert!(wrong.parse::<Range>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn somebody_elses_network_is_seen() {
        let range = Range::default();
        // An overlay network's own address, and a carrier's network that is wider than the range.
        for taken in ["100.101.102.103/32", "100.64.0.0/9", "100.64.0.0/16"] {
            assert!(range.taken("other0", net(taken)).is_some(), "{taken}");
        }
        for free in ["10.0.0.0/8", "100.128.0.0/10", "0.0.0.0/0", "fd00::/8"] {
            assert_eq!(range.taken("other0", net(free)), None, "{free}");
        }
    }

    #[test]
    fn routes_are_read_as_the_kernel_prints_them() {
        let table = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
                     eth0\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
                     wg0\t00004064\t00000000\t0001\t0\t0\t0\t0000C0FF\t0\t0\t0\nhalf\t00\n";
        let found: Vec<_> = routes(table).collect();
        assert_eq!(found[1], ("wg0", net("100.64.0.0/10")));
        assert_eq!(found[0].1, net("0.0.0.0/0"));
        assert_eq!(found.len(), 2);
    }
}
