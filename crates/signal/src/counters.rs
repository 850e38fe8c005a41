//! What a base station counts of one flow, and the 24 octets in which that travels to the sender.
//!
//! Counters only grow and carry a stamp of their own, so a report that is lost, late or doubled costs nothing: the next one
//! holds all that it held. The format is ours:
//!
//! | octets | field |
//! |---|---|
//! | 0 | version, 1, in the upper four bits; instance in the lower ones |
//! | 1 | whether the data goes up, in the upper bit; flows of the UE that are active, this one included, in the lower ones |
//! | 2-3 | head-of-line delay of the RLC queue, units of 0.5 ms, rounded to the nearest |
//! | 4-7 | stamp: the base station's clock in units of 0.125 ms, modulo 2^32 |
//! | 8-11 | IP bytes of the flow that left the radio's queue for good, modulo 2^32 |
//! | 12-15 | IP bytes that the radio offered the flow, modulo 2^32 |
//! | 16-18 | IP bytes of the flow that wait or fly |
//! | 19-21 | the same of other flows in its queue |
//! | 22-23 | of octets 8-11, what was dropped, units of 64 bytes, modulo 2^16 |
//!
//! Octets 2-3 and 16-21 saturate, and so does the number of flows.

use slackwater_core::{Duration, Instant};

/// Version of the format.
const VERSION: u8 = 1;
/// The bit of octet 1 that says that the data goes up.
const UPLOAD: u8 = 0x80;
/// Instances that are distinct.
const INSTANCES: u8 = 16;
/// Nanoseconds of one unit of the head-of-line delay.
const HOL_UNIT: u64 = 500_000;
/// Nanoseconds of one unit of the stamp: the shortest slot that carries data (TS 38.211, 4.3.2: 120 kHz apart).
const STAMP_UNIT: u64 = 125_000;
/// The largest number in 24 bits.
const WAITING_MAX: u64 = (1 << 24) - 1;
/// Bytes of one unit of what was dropped.
const DROPPED_UNIT: u64 = 64;

/// A base station's counters of one flow. Bytes are those of IP packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// When they were read, in units of 0.125 ms of the base station's clock modulo 2^32; it orders reports.
    pub stamp: u32,
    /// Bytes that left the radio's queue for good, delivered or dropped, modulo 2^32. A base station knows of a delivery by
    /// HARQ's feedback.
    pub gone: u32,
    /// Bytes that the radio offered the flow, modulo 2^32: its UE's blocks and the UE's part of idle ones, shared among the
    /// active flows, and what the others leave of theirs.
    pub offered: u32,
    /// Of `gone`, what was dropped, in units of 64 bytes modulo 2^16.
    pub dropped: u16,
    /// Bytes that arrived and are not gone.
    pub backlog: u32,
    /// The same of the other flows in the queue.
    pub company: u32,
    /// Age of the oldest byte that waits in the queue.
    pub hol: Duration,
    /// Flows of the UE that are active, this one included.
    pub active: u8,
    /// Who counts, modulo 16: another one has sums and a clock of its own.
    pub instance: u8,
    /// The flow's data goes up: the queue is that of the UE, at the sender.
    pub upload: bool,
}

impl Counters {
    /// The stamp of `now`.
    #[inline]
    pub const fn stamp_of(now: Instant) -> u32 {
        (now.as_nanos() / STAMP_UNIT) as u32
    }

    /// Time from `earlier` to these, by their stamps; `None` where these are not newer (half of the range apart at most) or
    /// another instance counts.
    #[inline]
    pub fn since(&self, earlier: &Self) -> Option<Duration> {
        let units = self.stamp.wrapping_sub(earlier.stamp);
        (self.instance == earlier.instance && (1..1 << 31).contains(&units))
            .then(|| Duration::from_nanos(u64::from(units) * STAMP_UNIT))
    }

    /// The field for `bytes` that were dropped in all.
    #[inline]
    pub const fn dropped_of(bytes: u64) -> u16 {
        (bytes / DROPPED_UNIT) as u16
    }

    /// Bytes dropped from `earlier` to these.
    #[inline]
    pub const fn dropped_since(&self, earlier: &Self) -> u64 {
        self.dropped.wrapping_sub(earlier.dropped) as u64 * DROPPED_UNIT
    }

    /// The octets.
    pub fn encode(&self) -> [u8; 24] {
        let mut octets = [0; 24];
        let waiting = |bytes: u32| (u64::from(bytes).min(WAITING_MAX) as u32).to_be_bytes();
        let hol = (self.hol.as_nanos() + HOL_UNIT / 2) / HOL_UNIT;

        octets[0] = (VERSION << 4) | (self.instance % INSTANCES);
        octets[1] = self.active.min(!UPLOAD) | if self.upload { UPLOAD } else { 0 };
        octets[2..4].copy_from_slice(&u16::try_from(hol).unwrap_or(u16::MAX).to_be_bytes());
        octets[4..8].copy_from_slice(&self.stamp.to_be_bytes());
        octets[8..12].copy_from_slice(&self.gone.to_be_bytes());
        octets[12..16].copy_from_slice(&self.offered.to_be_bytes());
        octets[16..19].copy_from_slice(&waiting(self.backlog)[1..]);
        octets[19..22].copy_from_slice(&waiting(self.company)[1..]);
        octets[22..].copy_from_slice(&self.dropped.to_be_bytes());
        octets
    }

    /// The counters; `None` for octets of another version.
    pub fn decode(octets: &[u8; 24]) -> Option<Self> {
        let number = |range: core::ops::Range<usize>| {
            let octets = octets[range].iter();
            octets.fold(0_u32, |sum, &octet| sum << 8 | u32::from(octet))
        };
        (octets[0] >> 4 == VERSION).then(|| Self {
            instance: octets[0] % INSTANCES,
            active: octets[1] & !UPLOAD,
            upload: octets[1] & UPLOAD != 0,
            hol: Duration::from_nanos(u64::from(number(2..4)) * HOL_UNIT),
            stamp: number(4..8),
            gone: number(8..12),
            offered: number(12..16),
            backlog: number(16..19),
            company: number(19..22),
            dropped: number(22..24) as u16,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Counters {
        Counters {
            stamp: 0xffff_fff0,
            gone: 0x8123_4567,
            offered: 0x9abc_def0,
            dropped: 0xfffe,
            backlog: 123_456,
            company: 7_654_321,
            hol: Duration::from_micros(31_500),
            active: 3,
            instance: 9,
            upload: false,
        }
    }

    #[test]
    fn counters_round_trip_and_what_does_not_fit_saturates() {
        assert_eq!(Counters::decode(&some().encode()), Some(some()));
        let wide = Counters {
            backlog: u32::MAX,
            hol: Duration::from_secs(60),
            active: 255,
            upload: true,
            ..some()
        };
        let read = Counters::decode(&wide.encode()).unwrap();
        assert_eq!(u64::from(read.backlog), WAITING_MAX);
        assert_eq!(read.hol, Duration::from_micros(65_535 * 500));
        assert_eq!((read.company, read.gone), (wide.company, wide.gone));
        assert_eq!((read.active, read.upload), (127, true));
    }

    #[test]
    fn octets_of_another_version_say_nothing() {
        let mut octets = some().encode();
        octets[0] = (VERSION + 1) << 4;
        assert_eq!(Counters::decode(&octets), None);
        assert_eq!(Counters::decode(&[0; 24]), None);
    }

    #[test]
    fn stamps_and_drops_go_on_behind_the_end_of_their_range() {
        let later = Counters {
            stamp: some().stamp.wrapping_add(40),
            dropped: some().dropped.wrapping_add(3),
            ..some()
        };
        assert_eq!(later.since(&some()), Some(Duration::from_millis(5)));
        assert_eq!(some().since(&later), None);
        assert_eq!(some().since(&some()), None);
        let other = Counters {
            instance: 10,
            ..later
        };
        assert_eq!(other.since(&some()), None);
        assert_eq!(later.dropped_since(&some()), 192);
    }
}
