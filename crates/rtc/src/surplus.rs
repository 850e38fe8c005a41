//! What a base station counts of a connection and its controller does not: the handshake, STUN, RTCP, and what real headers have
//! beyond those that the controller counts. Without a correction each of those bytes would count as media that left.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use slackwater_signal::Counters;

use crate::adapter::Unwrap;

/// Addresses of which bytes are counted: ICE tries some, and media go to one.
const ADDRESSES: usize = 16;
/// Counters that fall by more than this have begun anew: no report is so late.
const ANEW: u64 = 1 << 20;
/// IP and UDP headers (RFC 791, RFC 8200, RFC 768).
const HEADERS: [u64; 2] = [20 + 8, 40 + 8];

/// Follows what leaves, and corrects counters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surplus {
    /// Where media go.
    to: Option<SocketAddr>,
    /// IP bytes that left, by address.
    left: BTreeMap<SocketAddr, u64>,
    /// Bytes of media that the controller had counted when media first went to `to`.
    before: u64,
    /// The counters that came last.
    counts: Option<Counts>,
}

/// Counters of one base station.
#[derive(Clone, Copy, Debug)]
struct Counts {
    instance: u8,
    /// Bytes that are gone, without wrapping, and the last such sum.
    gone: Unwrap<32>,
    seen: u64,
    /// The surplus when they began.
    began: i64,
    /// The last sum that was passed on.
    last: u64,
}

impl Surplus {
    /// A datagram of `length` bytes leaves for `to`; the controller has counted `counted` bytes of media in all.
    pub(crate) fn on_datagram(&mut self, to: SocketAddr, length: usize, media: bool, counted: u64) {
        if self.left.len() < ADDRESSES || self.left.contains_key(&to) {
            let header = HEADERS[usize::from(to.is_ipv6())];
            *self.left.entry(to).or_default() += length as u64 + header;
        }
        if media && self.to != Some(to) {
            // The first packets are counted before they leave.
            self.before = self.to.map_or(0, |_| counted);
            self.to = Some(to);
            self.counts = None;
        }
    }

    /// Where media go.
    pub(crate) const fn to(&self) -> Option<SocketAddr> {
        self.to
    }

    /// `counters` without the surplus. The sum of bytes that are gone never falls, unless the counters have begun anew.
    pub(crate) fn correct(&mut self, counters: &Counters, counted: u64) -> Counters {
        let left = self.to.and_then(|to| self.left.get(&to)).copied();
        let surplus = left.unwrap_or_default() as i64 - counted.saturating_sub(self.before) as i64;
        let low = u64::from(counters.gone);
        let known = self.counts.filter(|counts| {
            let gone = counts.gone.near(counts.seen, low);
            counts.instance == counters.instance && gone + ANEW >= counts.seen
        });
        let mut counts = known.unwrap_or(Counts {
            instance: counters.instance,
            gone: Unwrap::default(),
            seen: 0,
            // The first ones have counted all that went there; others may have begun at any time.
            began: if self.counts.is_none() { 0 } else { surplus },
            last: 0,
        });
        let gone = counts.gone.next(low);
        counts.seen = gone;
        counts.last = counts
            .last
            .max(gone.saturating_add_signed(counts.began - surplus));
        self.counts = Some(counts);
        Counters {
            gone: counts.last as u32,
            ..*counters
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEDIA: usize = 1_200;

    fn to(port: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 7], port))
    }

    fn counters(gone: u32, instance: u8) -> Counters {
        Counters {
            gone,
            instance,
            ..Counters::default()
        }
    }

    /// A handshake of 3,000 bytes, and `packets` of media, which the controller counts as 1,220 bytes and the radio as 1,228.
    fn sent(packets: u64) -> (Surplus, u64) {
        let mut surplus = Surplus::default();
        for _ in 0..3 {
            surplus.on_datagram(to(4), 972, false, 0);
        }
        for k in 1..=packets {
            surplus.on_datagram(to(4), MEDIA, true, k * 1_220);
        }
        (surplus, packets * 1_220)
    }

    #[test]
    fn what_the_controller_did_not_count_is_taken_off() {
        let (mut surplus, counted) = sent(10);
        assert_eq!(surplus.to(), Some(to(4)));
        // All has left.
        let gone = surplus.correct(&counters(3_000 + 12_280, 1), counted).gone;
        assert_eq!(u64::from(gone), counted);
    }

    #[test]
    fn the_sum_never_falls_and_begins_at_nothing() {
        let (mut surplus, counted) = sent(1);
        // The handshake alone has left.
        assert_eq!(surplus.correct(&counters(3_000, 1), counted).gone, 0);
        assert_eq!(surplus.correct(&counters(4_228, 1), counted).gone, 1_220);
        surplus.on_datagram(to(4), 100, false, counted);
        assert_eq!(surplus.correct(&counters(4_228, 1), counted).gone, 1_220);
        assert_eq!(surplus.correct(&counters(4_356, 1), counted).gone, 1_220);
    }

    #[test]
    fn sums_wrap_around_as_the_counters_do() {
        let (mut surplus, counted) = sent(10);
        let first = surplus.correct(&counters(u32::MAX - 999, 1), counted).gone;
        let next = surplus.correct(&counters(1_000, 1), counted).gone;
        assert_eq!(next.wrapping_sub(first), 2_000);
    }

    #[test]
    fn another_base_station_and_one_that_begins_anew_start_from_their_own() {
        let (mut surplus, counted) = sent(10);
        surplus.correct(&counters(50_000_000, 1), counted);
        for (gone, instance) in [(500, 2), (60_000_000, 3), (700, 3)] {
            let first = surplus.correct(&counters(gone, instance), counted).gone;
            assert_eq!(first, gone);
            let next = surplus.correct(&counters(gone + 1_000, instance), counted);
            assert_eq!(next.gone, gone + 1_000);
        }
    }

    #[test]
    fn what_is_beside_the_media_is_taken_off_after_a_handover_however_much_it_was() {
        let (mut surplus, counted) = sent(10);
        surplus.correct(&counters(15_280, 1), counted);
        // An hour of STUN and RTCP.
        for _ in 0..40_000 {
            surplus.on_datagram(to(4), 72, false, counted);
        }
        assert_eq!(surplus.correct(&counters(1_000, 2), counted).gone, 1_000);
        surplus.on_datagram(to(4), 72, false, counted);
        // 2,000 bytes left, 100 of them no media.
        assert_eq!(surplus.correct(&counters(3_000, 2), counted).gone, 2_900);
    }

    #[test]
    fn media_that_move_to_another_address_are_counted_from_there_on() {
        let (mut surplus, mut counted) = sent(10);
        surplus.correct(&counters(15_280, 1), counted);
        surplus.on_datagram(to(5), MEDIA, true, counted);
        counted += 1_220;
        assert_eq!(surplus.to(), Some(to(5)));
        let gone = surplus.correct(&counters(1_228, 1), counted).gone;
        assert_eq!(gone, 1_220);
    }

    #[test]
    fn addresses_are_bounded() {
        let mut surplus = Surplus::default();
        for port in 0..1_000 {
            surplus.on_datagram(to(port), 100, false, 0);
        }
        assert_eq!(surplus.left.len(), ADDRESSES);
    }
}
