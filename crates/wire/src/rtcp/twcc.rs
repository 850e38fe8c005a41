//! Transport-wide congestion control feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01, 3.1).

use thiserror::Error;

use super::{Body, format, kind, packet};
use crate::WireError;

/// Units of 250 us in one unit of the reference time, 64 ms (3.1).
const REFERENCE: i64 = 256;
/// The reference time has 24 bits, signed (3.1).
const REFERENCE_BITS: u32 = 24;
/// A run length has 13 bits (3.1.3).
const RUN_MAX: usize = (1 << 13) - 1;
/// Symbols in a status vector chunk of one bit each, and of two (3.1.4).
const ONE_BIT: usize = 14;
const TWO_BIT: usize = 7;

/// Packet status symbols (3.1.1).
const MISSING: u8 = 0;
const SMALL: u8 = 1;
const LARGE: u8 = 2;

/// A feedback message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Twcc {
    /// Who reports.
    pub sender: u32,
    /// A stream of the sender's.
    pub media: u32,
    /// Transport-wide number of the first packet.
    pub base: u16,
    /// Where arrival times count from, in units of 64 ms; 24 bits, wraps.
    pub reference: u32,
    /// Number of this message.
    pub count: u8,
    /// From `base` on, each packet: time since the arrival before it (the first: since the reference) in units of
    /// 250 us; `None` where it did not arrive.
    pub deltas: Vec<Option<i16>>,
}

/// Why arrivals do not make one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TwccError {
    /// The packet at this place arrived more than 8.19 s before or after the one before it.
    #[error("packet {0} arrived more than 8.19 s from the one before it")]
    TooFar(usize),
    /// More packets than the count's 16 bits hold, or none.
    #[error("{0} packets: from 1 to 65535 make a message")]
    Count(usize),
}

impl Twcc {
    /// A message about the packets from `base` on, whose arrivals are given in units of 250 us since any start that the
    /// messages of a session share. The reference is the first arrival's, rounded down to 64 ms.
    ///
    /// # Errors
    ///
    /// Where the arrivals are too many or too far apart for one message: report the packets before that place, and the
    /// others in another.
    pub fn of(base: u16, count: u8, arrivals: &[Option<u64>]) -> Result<Self, TwccError> {
        if arrivals.is_empty() || arrivals.len() > usize::from(u16::MAX) {
            return Err(TwccError::Count(arrivals.len()));
        }
        let first = arrivals.iter().flatten().next().copied().unwrap_or(0);
        let mut last = first / REFERENCE as u64 * REFERENCE as u64;
        let reference = (last / REFERENCE as u64) as u32 & ((1 << REFERENCE_BITS) - 1);
        let mut deltas = Vec::with_capacity(arrivals.len());
        for (place, arrival) in arrivals.iter().enumerate() {
            let delta = arrival.map(|arrival| {
                let delta = i16::try_from(arrival.wrapping_sub(last) as i64);
                last = arrival;
                delta.map_err(|_| TwccError::TooFar(place))
            });
            deltas.push(delta.transpose()?);
        }
        Ok(Self {
            base,
            reference,
            count,
            deltas,
            ..Self::default()
        })
    }

    /// The arrivals in units of 250 us, on a scale that wraps at 2^32 (the reference's 24 bits and 8 below).
    pub fn arrivals(&self) -> impl Iterator<Item = Option<u32>> + '_ {
        let mut at = self.reference.wrapping_mul(REFERENCE as u32);
        self.deltas.iter().map(move |delta| {
            let delta = (*delta)?;
            at = at.wrapping_add_signed(i32::from(delta));
            Some(at)
        })
    }

    /// Bytes that the message takes.
    pub fn encoded_len(&self) -> usize {
        let deltas: usize = self.deltas.iter().map(|d| usize::from(symbol(*d))).sum();
        (20 + 2 * chunks(&self.deltas).count() + deltas).next_multiple_of(4)
    }

    pub(super) fn decode(body: &mut Body<'_>) -> Result<Self, WireError> {
        let mut message = Self {
            sender: body.u32("the sender's SSRC")?,
            media: body.u32("the media's SSRC")?,
            base: body.u16("the base number")?,
            ..Self::default()
        };
        let count = usize::from(body.u16("the number of packets")?);
        let [a, b, c] = body.take("the reference time")?;
        message.reference = u32::from_be_bytes([0, a, b, c]);
        message.count = body.u8("the message's number")?;
        // 65,535 at most, so hostile counts cost little.
        let mut symbols: Vec<u8> = Vec::new();
        while symbols.len() < count {
            let at = body.at;
            let chunk = body.u16("a status chunk")?;
            let left = count - symbols.len();
            if chunk & 0x8000 == 0 {
                let run = usize::from(chunk & 0x1fff).min(left);
                // A run of nothing would let a message of chunks go on without a packet; harmless, but nobody's intent.
                if run == 0 {
                    return Err(WireError::new(at, "a run of 0 packets", "at least 1"));
                }
                symbols.resize(symbols.len() + run, (chunk >> 13) as u8 & 3);
            } else if chunk & 0x4000 == 0 {
                let bits = (0..ONE_BIT).map(|i| (chunk >> (ONE_BIT - 1 - i)) as u8 & 1);
                symbols.extend(bits.take(left));
            } else {
                let pairs = (0..TWO_BIT).map(|i| (chunk >> (2 * (TWO_BIT - 1 - i))) as u8 & 3);
                symbols.extend(pairs.take(left));
            }
        }
        message.deltas.reserve(count);
        for symbol in symbols {
            message.deltas.push(match symbol {
                MISSING => None,
                SMALL => Some(i16::from(body.u8("a small delta")?)),
                LARGE => Some(body.take("a large delta").map(i16::from_be_bytes)?),
                other => {
                    return Err(WireError::new(
                        body.at,
                        format!("status symbol {other}"),
                        "0, 1 or 2",
                    ));
                }
            });
        }
        // Padding, with or without the header's bit: the draft leaves it open.
        Ok(message)
    }

    /// Appends the packet; packets past the 65,535th are left out.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let deltas = &self.deltas[..self.deltas.len().min(usize::from(u16::MAX))];
        packet(kind::TRANSPORT_FEEDBACK, format::TWCC, true, out, |out| {
            out.extend(self.sender.to_be_bytes());
            out.extend(self.media.to_be_bytes());
            out.extend(self.base.to_be_bytes());
            out.extend((deltas.len() as u16).to_be_bytes());
            out.extend((self.reference << 8 | u32::from(self.count)).to_be_bytes());
            for chunk in chunks(deltas) {
                out.extend(chunk.to_be_bytes());
            }
            for delta in deltas.iter().flatten() {
                match u8::try_from(*delta) {
                    Ok(small) => out.push(small),
                    Err(_) => out.extend(delta.to_be_bytes()),
                }
            }
        });
    }
}

/// The status symbol of a packet, which is also the number of bytes of its delta.
fn symbol(delta: Option<i16>) -> u8 {
    match delta {
        None => MISSING,
        Some(0..=255) => SMALL,
        Some(_) => LARGE,
    }
}

/// The status chunks, each of the kind that covers most packets; a run where kinds cover as many.
fn chunks(deltas: &[Option<i16>]) -> impl Iterator<Item = u16> + '_ {
    let mut rest = deltas;
    core::iter::from_fn(move || {
        let first = symbol(*rest.first()?);
        let leading = |limit: usize, fits: fn(u8, u8) -> bool| {
            let window = rest[..rest.len().min(limit)].iter();
            window.take_while(|d| fits(symbol(**d), first)).count()
        };
        let run = leading(RUN_MAX, |s, first| s == first);
        // A vector speaks of all its symbols, short of the message's end: one that stops early is none.
        let ones = leading(ONE_BIT, |s, _| s != LARGE);
        let ones = if ones == rest.len().min(ONE_BIT) {
            ones
        } else {
            0
        };
        let pairs = leading(TWO_BIT, |_, _| true);
        let symbols = rest.iter().map(|d| u16::from(symbol(*d)));
        let (chunk, covered) = if run >= ones.max(pairs) {
            (u16::from(first) << 13 | run as u16, run)
        } else if ones >= pairs {
            let bits = symbols.take(ones).enumerate();
            let chunk = bits.fold(0x8000, |c, (i, s)| c | s << (ONE_BIT - 1 - i));
            (chunk, ones)
        } else {
            let bits = symbols.take(pairs).enumerate();
            let chunk = bits.fold(0xc000, |c, (i, s)| c | s << (2 * (TWO_BIT - 1 - i)));
            (chunk, pairs)
        };
        rest = &rest[covered..];
        Some(chunk)
    })
}
