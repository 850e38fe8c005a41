//! The eight bytes in which a report travels to a sender, in a TCP option or a datagram.
//!
//! XRC says "an IP or TCP option" and gives no format (XRC, section III); this one is ours:
//!
//! | bytes | field |
//! |---|---|
//! | 0 | flags: bit 0 valid, bit 1 other flows are active in the queue, bits 2 to 7 the high bits of the head-of-line delay |
//! | 1 | low bits of the head-of-line delay, 14 bits in all, units of 0.5 ms, rounded to the nearest |
//! | 2-5 | rate in kbit/s |
//! | 6-7 | age counter |
//!
//! Transport blocks (Tyrus) stand in the same eight bytes:
//!
//! | bytes | field |
//! |---|---|
//! | 0 | bit 0 clear, bit 1 set, bits 2 to 7 the high bits of the span |
//! | 1 | low bits of the span, 14 bits in all, units of 0.125 ms |
//! | 2-5 | bytes |
//! | 6-7 | end of the span, ms modulo 2^16 |
//!
//! Where one of span (2.048 s) and bytes (4.3 GB) does not fit, both are cut in the same proportion: the rate stays.
//!
//! All other reports have bits 0 and 1 clear, and their type in bits 2 to 7:
//!
//! | type | bytes 1-7 |
//! |---|---|
//! | 0 | no report |
//! | 1 | a marking scheme (cL4S): lower and upper threshold, 28 bits each, in us |
//! | 2-31 | not used |
//! | 32-63 | a report of a system from outside, of kind 0 to 31: its number, 56 bits |

use slackwater_core::{Bytes, Duration, Rate};

use crate::marking::MarkingScheme;
use crate::report::PathReport;

/// Nanoseconds of one unit of the head-of-line delay.
const HOL_UNIT: u64 = 500_000;
/// The largest delay that the field holds, in units: 8.19 s.
const HOL_MAX: u64 = (1 << 14) - 1;
const VALID: u8 = 1;
const SHARED: u8 = 1 << 1;
/// Without [`VALID`]: transport blocks.
const BLOCKS: u8 = 1 << 1;
/// Nanoseconds of one unit of a span: the shortest slot that carries data (TS 38.211, 4.3.2: 120 kHz apart).
const SPAN_UNIT: u64 = 125_000;

/// Type of a marking scheme.
const SCHEME: u8 = 1;
/// Type of the first kind of reports from outside.
const OWN: u8 = 32;
/// The largest number in 56 bits.
const NUMBER_MAX: u64 = (1 << 56) - 1;
/// The largest threshold of a scheme, in us: 268 s.
const THRESHOLD_MAX: u64 = (1 << 28) - 1;

/// A report as it stands in an option or a datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportBody(pub [u8; 8]);

impl ReportBody {
    /// Encodes a report; values that are beyond a field saturate. `None` for reports that travel otherwise, and for kinds
    /// of one's own beyond 31.
    pub fn of(report: &PathReport) -> Option<Self> {
        match *report {
            PathReport::Share {
                rate,
                hol_delay,
                seq,
                shared,
            } => Some(Self::share(rate, hol_delay, seq, shared)),
            PathReport::TransportBlocks { bytes, span, end } => {
                Some(Self::blocks(bytes, span, end))
            }
            PathReport::MarkingScheme(MarkingScheme { low, high }) => {
                let [low, high] = [low, high].map(|t| (t.as_nanos() / 1_000).min(THRESHOLD_MAX));
                Some(Self::typed(SCHEME, low << 28 | high))
            }
            PathReport::Own { kind, value } => {
                (kind < 64 - OWN).then(|| Self::typed(OWN + kind, value.min(NUMBER_MAX)))
            }
            PathReport::ThroughputAdvice { .. } | PathReport::Counters(_) => None,
        }
    }

    /// A report of type `kind` with 56 bits.
    const fn typed(kind: u8, number: u64) -> Self {
        let mut octets = number.to_be_bytes();
        octets[0] = kind << 2;
        Self(octets)
    }

    fn blocks(bytes: Bytes, span: Duration, end: u16) -> Self {
        let units = span.as_nanos().div_ceil(SPAN_UNIT);
        // The part that fits, over the whole; the fuller field decides.
        let (mut part, mut whole) = (1, 1);
        if units > HOL_MAX {
            (part, whole) = (HOL_MAX, units);
        }
        let most = u64::from(u32::MAX);
        if u128::from(bytes.0) * u128::from(part) > u128::from(most) * u128::from(whole) {
            (part, whole) = (most, bytes.0);
        }
        let cut = |v: u64| u128::from(v) * u128::from(part);
        let span = cut(units).div_ceil(u128::from(whole)) as u64;
        let bytes = (cut(bytes.0) / u128::from(whole)) as u32;
        let [a, b, c, d] = bytes.to_be_bytes();
        let [s, t] = end.to_be_bytes();
        Self([
            BLOCKS | ((span >> 8) as u8) << 2,
            span as u8,
            a,
            b,
            c,
            d,
            s,
            t,
        ])
    }

    fn share(rate: Rate, hol_delay: Duration, seq: u16, shared: bool) -> Self {
        let hol = ((hol_delay.as_nanos() + HOL_UNIT / 2) / HOL_UNIT).min(HOL_MAX);
        let kbps = u32::try_from(rate.as_bps() / 1000).unwrap_or(u32::MAX);
        let flags = VALID | if shared { SHARED } else { 0 } | ((hol >> 8) as u8) << 2;
        let [a, b, c, d] = kbps.to_be_bytes();
        let [s, t] = seq.to_be_bytes();
        Self([flags, hol as u8, a, b, c, d, s, t])
    }

    /// The report; `None` where there is none, or one of a type that is not used.
    pub fn report(self) -> Option<PathReport> {
        let [flags, low, a, b, c, d, s, t] = self.0;
        let wide = u64::from(flags >> 2) << 8 | u64::from(low);
        let word = u64::from(u32::from_be_bytes([a, b, c, d]));
        let count = u16::from_be_bytes([s, t]);
        if flags & VALID != 0 {
            return Some(PathReport::Share {
                rate: Rate::from_bps(word * 1000),
                hol_delay: Duration::from_nanos(wide * HOL_UNIT),
                seq: count,
                shared: flags & SHARED != 0,
            });
        }
        if flags & BLOCKS != 0 {
            return Some(PathReport::TransportBlocks {
                bytes: Bytes(word),
                span: Duration::from_nanos(wide * SPAN_UNIT),
                end: count,
            });
        }
        let number = u64::from_be_bytes(self.0) & NUMBER_MAX;
        match flags >> 2 {
            SCHEME => Some(PathReport::MarkingScheme(MarkingScheme {
                low: Duration::from_micros(number >> 28),
                high: Duration::from_micros(number & THRESHOLD_MAX),
            })),
            kind @ OWN.. => Some(PathReport::Own {
                kind: kind - OWN,
                value: number,
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// What is read from any eight octets can be written, and is read as the same.
        #[test]
        fn what_is_read_is_written_and_read_as_the_same(octets: [u8; 8]) {
            if let Some(report) = ReportBody(octets).report() {
                let again = ReportBody::of(&report).expect("a report of these octets");
                prop_assert_eq!(again.report(), Some(report));
            }
        }

        /// Whatever is told, saturated where it does not fit: what arrives is told on unchanged.
        #[test]
        fn what_is_written_arrives_as_it_is_told_on(kbps: u64, time: u64, count: u16, flag: bool, what in 0..4) {
            let (rate, time) = (Rate::from_bps(kbps), Duration::from_nanos(time));
            let report = match what {
                0 => PathReport::Share { rate, hol_delay: time, seq: count, shared: flag },
                1 => PathReport::TransportBlocks { bytes: Bytes(kbps), span: time, end: count },
                2 => PathReport::MarkingScheme(MarkingScheme { low: time, high: Duration::from_nanos(kbps) }),
                _ => PathReport::Own { kind: count as u8 % 32, value: kbps },
            };
            let body = ReportBody::of(&report).expect("it travels as octets");
            let read = body.report().expect("it is valid");
            prop_assert_eq!(ReportBody::of(&read).and_then(ReportBody::report), Some(read));
            match (report, read) {
                (PathReport::Share { rate: told, .. }, PathReport::Share { rate, seq, shared, .. }) => {
                    prop_assert!(rate <= told && (seq, shared) == (count, flag));
                }
                (PathReport::TransportBlocks { .. }, PathReport::TransportBlocks { end, .. }) => prop_assert_eq!(end, count),
                (PathReport::MarkingScheme(told), PathReport::MarkingScheme(read)) => {
                    prop_assert!(read.low <= told.low && read.high <= told.high);
                }
                (PathReport::Own { kind: told, .. }, PathReport::Own { kind, value }) => {
                    prop_assert!(kind == told && value == kbps.min(NUMBER_MAX));
                }
                other => prop_assert!(false, "{other:?}"),
            }
        }
    }

    fn share(kbps: u64, hol_us: u64, seq: u16, shared: bool) -> PathReport {
        PathReport::Share {
            rate: Rate::from_bps(kbps * 1000),
            hol_delay: Duration::from_micros(hol_us),
            seq,
            shared,
        }
    }

    #[test]
    fn a_share_round_trips_with_the_delay_rounded() {
        let body = ReportBody::of(&share(34_200, 9_300, 40_000, true)).unwrap();
        assert_eq!(body.report(), Some(share(34_200, 9_500, 40_000, true)));
        // Delays above 127.5 ms need the high bits.
        let body = ReportBody::of(&share(1, 400_000, 0, false)).unwrap();
        assert_eq!(body.report(), Some(share(1, 400_000, 0, false)));
    }

    #[test]
    fn transport_blocks_round_trip_in_steps_of_an_eighth_of_a_millisecond() {
        let blocks = PathReport::TransportBlocks {
            bytes: Bytes(123_456),
            span: Duration::from_micros(40_500),
            end: 65_000,
        };
        assert_eq!(ReportBody::of(&blocks).unwrap().report(), Some(blocks));
    }

    #[test]
    fn a_span_or_bytes_that_do_not_fit_leave_the_rate_as_it_is() {
        let mbps = |bytes: u64, ms: u64| {
            let report = PathReport::TransportBlocks {
                bytes: Bytes(bytes),
                span: Duration::from_millis(ms),
                end: 7,
            };
            match ReportBody::of(&report).and_then(ReportBody::report) {
                Some(PathReport::TransportBlocks {
                    bytes,
                    span,
                    end: 7,
                }) => {
                    assert!(span <= Duration::from_nanos(HOL_MAX * SPAN_UNIT));
                    bytes.0 as f64 * 8e-6 / span.as_secs_f64()
                }
                other => panic!("{other:?}"),
            }
        };
        // 10 Mbit/s over 2, 3, 74 and 1,000 s, and 40 Gbit/s over 1 and 100 s.
        for ms in [2_000, 3_000, 74_000, 1_000_000] {
            let told = mbps(1_250 * ms, ms);
            assert!((told / 10.0 - 1.0).abs() < 1e-6, "{ms} ms: {told}");
        }
        for ms in [1_000, 100_000] {
            let told = mbps(5_000_000 * ms, ms);
            assert!((9.99..=10.0).contains(&(told / 4000.0)), "{ms} ms: {told}");
        }
    }

    #[test]
    fn schemes_and_reports_from_outside_round_trip() {
        let scheme = PathReport::MarkingScheme(MarkingScheme {
            low: Duration::from_micros(1_250),
            high: Duration::from_millis(30),
        });
        let own = |kind, value| PathReport::Own { kind, value };
        for report in [scheme, own(0, 0), own(31, NUMBER_MAX), own(7, 1 << 40)] {
            assert_eq!(ReportBody::of(&report).unwrap().report(), Some(report));
        }
        let most = ReportBody::of(&own(3, u64::MAX)).unwrap();
        assert_eq!(most.report(), Some(own(3, NUMBER_MAX)));
        assert_eq!(ReportBody::of(&own(32, 0)), None);
        // Types that are not used say nothing.
        assert_eq!(ReportBody([2 << 2, 1, 1, 1, 1, 1, 1, 1]).report(), None);
    }

    #[test]
    fn what_does_not_fit_saturates_and_what_is_not_valid_says_nothing() {
        let body = ReportBody::of(&share(1 << 40, 60_000_000, 1, false)).unwrap();
        assert_eq!(
            body.report(),
            Some(share(u64::from(u32::MAX), 8_191_500, 1, false))
        );
        assert_eq!(ReportBody::default().report(), None);
        let other = PathReport::ThroughputAdvice { max: Rate::ZERO };
        assert_eq!(ReportBody::of(&other), None);
    }
}
