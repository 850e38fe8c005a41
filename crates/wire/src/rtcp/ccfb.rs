//! Congestion control feedback (RFC 8888): when each packet arrived, and with which ECN mark.

use slackwater_core::{Duration, Ecn, Instant};

use super::{Body, format, kind, packet};
use crate::WireError;

/// Packets that one stream's block may speak of (RFC 8888, 3.1).
const REPORTS_MAX: usize = 16_384;
/// Words that a length of 16 bits leaves for streams: less the sender's SSRC and the time stamp.
const WORDS_MAX: usize = 65_533;
/// An offset of more than 8,189/1024 s (RFC 8888, 3.1).
const OVER_RANGE: u16 = 0x1ffe;
/// The offset is not known, or the packet arrived after the report's time (RFC 8888, 3.1).
const UNAVAILABLE: u16 = 0x1fff;

/// What is known of one packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its ECN field.
    pub ecn: Ecn,
    /// Time between the arrival and the report, in 1/1024 s, 13 bits: 0x1ffe stands for "longer", 0x1fff for "unknown".
    pub offset: u16,
}

impl Arrival {
    /// An arrival `offset` before the report's time, rounded to the nearest 1/1024 s; `None`: unknown.
    pub fn new(ecn: Ecn, offset: Option<Duration>) -> Self {
        let offset = offset.map_or(UNAVAILABLE, |offset| {
            let units = (u128::from(offset.as_nanos()) * 1024 + 500_000_000) / 1_000_000_000;
            u16::try_from(units).map_or(OVER_RANGE, |units| units.min(OVER_RANGE))
        });
        Self { ecn, offset }
    }

    /// The time between the arrival and the report; `None` where it is too long for the field, or unknown.
    pub fn before_report(&self) -> Option<Duration> {
        let known = self.offset < OVER_RANGE;
        known.then(|| Duration::from_nanos(u64::from(self.offset) * 1_000_000_000 / 1024))
    }
}

/// What is said about one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// The stream.
    pub ssrc: u32,
    /// Number of the first packet.
    pub begin: u16,
    /// From there on, each packet; `None` where it did not arrive (yet).
    pub packets: Vec<Option<Arrival>>,
}

/// A feedback message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ccfb {
    /// Who reports.
    pub sender: u32,
    /// What is said about each stream.
    pub streams: Vec<Stream>,
    /// When: the middle 32 bits of an NTP time, units of 1/65536 s.
    pub timestamp: u32,
}

impl Ccfb {
    /// `now` as [`Ccfb::timestamp`] counts it; it wraps after 18 hours. Rounded up, since no packet may arrive after it
    /// (RFC 8888, 3.1).
    pub fn timestamp_of(now: Instant) -> u32 {
        (u128::from(now.as_nanos()) * 65_536).div_ceil(1_000_000_000) as u32
    }

    /// Bytes that the message takes.
    pub fn encoded_len(&self) -> usize {
        let streams = self.streams.iter();
        let blocks = streams.map(|s| 8 + s.packets.len().next_multiple_of(2) * 2);
        12 + blocks.sum::<usize>()
    }

    pub(super) fn decode(body: &mut Body<'_>) -> Result<Self, WireError> {
        let mut message = Self {
            sender: body.u32("the sender's SSRC")?,
            ..Self::default()
        };
        while body.bytes.len() > 4 {
            let ssrc = body.u32("a stream's SSRC")?;
            let begin = body.u16("the first packet's number")?;
            let count = usize::from(body.u16("the number of reports")?);
            if count > REPORTS_MAX {
                return Err(WireError::new(
                    body.at - 2,
                    format!("{count} reports"),
                    format!("at most {REPORTS_MAX}"),
                ));
            }
            let words = body.slice(count.next_multiple_of(2) * 2, "reports")?;
            let packets = words.chunks_exact(2).take(count).map(|word| {
                let word = u16::from_be_bytes([word[0], word[1]]);
                // Where the packet is missing, the other bits mean nothing.
                (word & 0x8000 != 0).then(|| Arrival {
                    ecn: Ecn::from_bits((word >> 13) as u8),
                    offset: word & 0x1fff,
                })
            });
            message.streams.push(Stream {
                ssrc,
                begin,
                packets: packets.collect(),
            });
        }
        message.timestamp = body.u32("a time stamp")?;
        Ok(message)
    }

    /// Appends the packet; what passes the format's bounds is left out.
    pub fn encode(&self, out: &mut Vec<u8>) {
        packet(kind::TRANSPORT_FEEDBACK, format::CCFB, false, out, |out| {
            out.extend(self.sender.to_be_bytes());
            let mut words = 0;
            for stream in &self.streams {
                let count = stream.packets.len().min(REPORTS_MAX);
                words += 2 + count.div_ceil(2);
                if words > WORDS_MAX {
                    break;
                }
                out.extend(stream.ssrc.to_be_bytes());
                out.extend(stream.begin.to_be_bytes());
                out.extend((count as u16).to_be_bytes());
                for packet in &stream.packets[..count] {
                    let word = packet.map_or(0, |a| {
                        0x8000 | (a.ecn as u16) << 13 | a.offset & UNAVAILABLE
                    });
                    out.extend(word.to_be_bytes());
                }
                if count % 2 == 1 {
                    out.extend([0, 0]);
                }
            }
            out.extend(self.timestamp.to_be_bytes());
        });
    }
}
