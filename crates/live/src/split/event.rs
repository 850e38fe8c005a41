//! Samples of connections, as `bpf/ebb.bpf.c` lays them out (`struct ebb_event`), and orders (`struct ebb_order` of `bpf/ebb_core.h`).

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use slackwater_control::phy::ebb::Order;

/// Octets of a sample.
const LENGTH: usize = 120;
/// Octets of an order.
pub(super) const ORDER: usize = 40;

/// What a sample is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A connection has sent or received.
    Sample,
    /// It begins, between these ends.
    Open {
        local: SocketAddr,
        remote: SocketAddr,
    },
    /// It is over.
    Close,
}

/// A sample of a connection. Times are those of `CLOCK_MONOTONIC`, lengths those since the connection began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// The connection.
    pub(super) cookie: u64,
    /// When it was taken, ns.
    pub(super) now_ns: u64,
    /// When the last of what was sent had left, ns.
    pub(super) sent_at_ns: u64,
    /// Payload bytes that were sent, those that were sent again included.
    pub(super) sent: u64,
    /// Segments that carried them.
    pub(super) segments: u64,
    /// Payload bytes that arrived, as far as was acknowledged.
    pub(super) arrived: u64,
    /// Segments in flight.
    pub(super) in_flight: u32,
    /// Smoothed RTT, us; zero before the first one.
    pub(super) srtt_us: u32,
    /// Least RTT, us; zero before the first one.
    pub(super) min_rtt_us: u32,
    /// Payload bytes of a full segment.
    pub(super) mss: u32,
    /// Bytes of its IP packet.
    pub(super) wire: u32,
    /// Retransmission timeouts.
    pub(super) timeouts: u32,
    /// Payload bytes that may leave before the next sample.
    pub(super) ready: u32,
    /// What it is of.
    pub(super) kind: Kind,
}

impl Event {
    /// Reads what the ring has; `None` where it is no sample of this program's version.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; LENGTH] = bytes.try_into().ok()?;
        let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight"));
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four"));
        let port = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let address = |at: usize, port: u16| {
            let octets: [u8; 16] = bytes[at..at + 16].try_into().expect("sixteen");
            let ip = Ipv6Addr::from(octets);
            SocketAddr::new(ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4), port)
        };
        let kind = match word(72) {
            0 => Kind::Sample,
            1 => Kind::Open {
                local: address(80, port(76)),
                remote: address(96, port(78)),
            },
            2 => Kind::Close,
            _ => return None,
        };
        Some(Self {
            cookie: long(0),
            now_ns: long(8),
            sent_at_ns: long(16),
            sent: long(24),
            segments: long(32),
            arrived: long(40),
            in_flight: word(48),
            srtt_us: word(52),
            min_rtt_us: word(56),
            mss: word(60),
            wire: word(64),
            timeouts: word(68),
            ready: word(112),
            kind,
        })
    }
}

/// The octets of `order`, made at `at_ns`, for a connection with segments of `mss` bytes.
pub(super) fn write(order: &Order, at_ns: u64, mss: u32) -> [u8; ORDER] {
    let window = (order.window.0 / u64::from(mss.max(1))).min(1 << 20) as u32;
    let mut out = [0; ORDER];
    out[..8].copy_from_slice(&order.limit.to_ne_bytes());
    out[8..16].copy_from_slice(&(order.pace.as_bps() / 8).to_ne_bytes());
    out[16..24].copy_from_slice(&at_ns.to_ne_bytes());
    out[24..28].copy_from_slice(&window.to_ne_bytes());
    let grows = u32::try_from(order.grows.as_micros()).unwrap_or(u32::MAX);
    out[28..32].copy_from_slice(&u32::from(order.steers).to_ne_bytes());
    out[32..36].copy_from_slice(&grows.to_ne_bytes());
    out
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    impl Event {
        /// As the kernel's half writes it.
        pub(in super::super) fn octets(&self) -> [u8; LENGTH] {
            let mut out = [0; LENGTH];
            let longs = [
                self.cookie,
                self.now_ns,
                self.sent_at_ns,
                self.sent,
                self.segments,
                self.arrived,
            ];
            for (chunk, value) in out.chunks_exact_mut(8).zip(longs) {
                chunk.copy_from_slice(&value.to_ne_bytes());
            }
            let (kind, ends) = match self.kind {
                Kind::Sample => (0, None),
                Kind::Open { local, remote } => (1, Some((local, remote))),
                Kind::Close => (2, None),
            };
            let words = [
                self.in_flight,
                self.srtt_us,
                self.min_rtt_us,
                self.mss,
                self.wire,
                self.timeouts,
                kind,
            ];
            for (chunk, value) in out[48..76].chunks_exact_mut(4).zip(words) {
                chunk.copy_from_slice(&value.to_ne_bytes());
            }
            out[112..116].copy_from_slice(&self.ready.to_ne_bytes());
            if let Some((local, remote)) = ends {
                let mapped = |ip| match ip {
                    IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
                    IpAddr::V6(ip) => ip.octets(),
                };
                out[76..78].copy_from_slice(&local.port().to_ne_bytes());
                out[78..80].copy_from_slice(&remote.port().to_ne_bytes());
                out[80..96].copy_from_slice(&mapped(local.ip()));
                out[96..112].copy_from_slice(&mapped(remote.ip()));
            }
            out
        }
    }

    pub(in super::super) const PLAIN: Event = Event {
        cookie: 7,
        now_ns: 2_000_000_000,
        sent_at_ns: 1_999_000_000,
        sent: 14_480,
        segments: 10,
        arrived: 2_896,
        in_flight: 8,
        srtt_us: 41_000,
        min_rtt_us: 40_000,
        mss: 1_448,
        wire: 1_500,
        timeouts: 0,
        ready: 5_792,
        kind: Kind::Sample,
    };

    #[test]
    fn a_sample_is_read_as_it_is_written() {
        let open = |local: &str, remote: &str| Event {
            kind: Kind::Open {
                local: local.parse().expect("an address"),
                remote: remote.parse().expect("an address"),
            },
            ..PLAIN
        };
        let close = Event {
            kind: Kind::Close,
            ..PLAIN
        };
        let ends = [
            open("192.0.2.1:443", "198.51.100.7:50123"),
            open("[2001:db8::1]:443", "[2001:db8::7]:50123"),
        ];
        for event in [PLAIN, close].into_iter().chain(ends) {
            assert_eq!(Event::read(&event.octets()), Some(event));
        }
    }

    #[test]
    fn other_octets_are_no_sample() {
        let octets = PLAIN.octets();
        assert_eq!(Event::read(&octets[1..]), None);
        let mut wrong = octets;
        wrong[72] = 9;
        assert_eq!(Event::read(&wrong), None);
    }
}
