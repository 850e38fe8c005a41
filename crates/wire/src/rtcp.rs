//! RTCP: sender and receiver reports (RFC 3550, 6.4), generic NACK and picture loss (RFC 4585), full intra requests (RFC 5104),
//! congestion control feedback (RFC 8888), transport-wide congestion control (draft-holmer-rmcat-transport-wide-cc-extensions-01),
//! and the round trip of a receiver (RFC 3611).

mod ccfb;
mod nack;
mod report;
mod twcc;
mod xr;

pub use ccfb::{Arrival, Ccfb, Stream};
pub use nack::{Fir, Nack, Pli};
pub use report::{Block, ReceiverReport, SenderReport};
pub use twcc::{Twcc, TwccError};
pub use xr::{Dlrr, ExtendedReport};

use crate::WireError;

/// Packet types (RFC 3550, 12.1; RFC 4585, 6.1; RFC 3611, 2).
mod kind {
    pub(super) const SENDER_REPORT: u8 = 200;
    pub(super) const RECEIVER_REPORT: u8 = 201;
    pub(super) const TRANSPORT_FEEDBACK: u8 = 205;
    pub(super) const PAYLOAD_FEEDBACK: u8 = 206;
    pub(super) const EXTENDED_REPORT: u8 = 207;
}

/// Formats of feedback messages.
mod format {
    /// RFC 4585, 6.2.1.
    pub(super) const NACK: u8 = 1;
    /// RFC 4585, 6.3.1.
    pub(super) const PLI: u8 = 1;
    /// RFC 5104, 4.3.1.
    pub(super) const FIR: u8 = 4;
    /// RFC 8888, 3.1.
    pub(super) const CCFB: u8 = 11;
    /// draft-holmer-rmcat-transport-wide-cc-extensions-01, 3.1.
    pub(super) const TWCC: u8 = 15;
}

/// Bytes of the common header.
const COMMON: usize = 4;

/// One RTCP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Message {
    /// Sender report.
    SenderReport(SenderReport),
    /// Receiver report.
    ReceiverReport(ReceiverReport),
    /// Generic NACK.
    Nack(Nack),
    /// Picture loss indication.
    Pli(Pli),
    /// Full intra request.
    Fir(Fir),
    /// Congestion control feedback.
    Ccfb(Ccfb),
    /// Transport-wide congestion control feedback.
    Twcc(Twcc),
    /// Extended report.
    ExtendedReport(ExtendedReport),
    /// A packet that is not read further.
    Other {
        /// Its type.
        kind: u8,
        /// Its count or format.
        count: u8,
    },
}

/// The packets of one datagram, compound (RFC 3550, 6.1) or of reduced size (RFC 5506); ends after the first error.
pub fn messages(bytes: &[u8]) -> impl Iterator<Item = Result<Message, WireError>> + '_ {
    let mut at = 0;
    core::iter::from_fn(move || {
        if at >= bytes.len() {
            return None;
        }
        let read = Message::at(bytes, at);
        at = read.as_ref().map_or(bytes.len(), |(_, end)| *end);
        Some(read.map(|(message, _)| message))
    })
}

impl Message {
    /// The packet that starts at `at`, and where it ends.
    fn at(bytes: &[u8], at: usize) -> Result<(Self, usize), WireError> {
        let rest = &bytes[at..];
        let Some(&[first, kind, high, low]) = rest.first_chunk::<COMMON>() else {
            return Err(WireError::new(
                at,
                format!("{} bytes", rest.len()),
                "an RTCP header of 4",
            ));
        };
        if first >> 6 != 2 {
            return Err(WireError::new(
                at,
                format!("RTCP version {}", first >> 6),
                "version 2",
            ));
        }
        let length = (usize::from(u16::from_be_bytes([high, low])) + 1) * 4;
        let Some(packet) = rest.get(..length) else {
            return Err(WireError::new(
                at + 2,
                format!("a packet of {length} bytes in {}", rest.len()),
                "a packet that is whole",
            ));
        };
        let mut body = Body {
            bytes: &packet[COMMON..],
            at: at + COMMON,
        };
        if first & 0x20 != 0 {
            let padding = body.bytes.last().copied().map_or(0, usize::from);
            if padding == 0 || padding > body.bytes.len() {
                return Err(WireError::new(
                    at + length - 1,
                    format!("{padding} bytes of padding in {}", body.bytes.len()),
                    "at least 1, and no more than there are",
                ));
            }
            body.bytes = &body.bytes[..body.bytes.len() - padding];
        }
        let count = first & 0x1f;
        let message = match (kind, count) {
            (kind::SENDER_REPORT, _) => Self::SenderReport(SenderReport::decode(count, &mut body)?),
            (kind::RECEIVER_REPORT, _) => {
                Self::ReceiverReport(ReceiverReport::decode(count, &mut body)?)
            }
            (kind::TRANSPORT_FEEDBACK, format::NACK) => Self::Nack(Nack::decode(&mut body)?),
            (kind::TRANSPORT_FEEDBACK, format::CCFB) => Self::Ccfb(Ccfb::decode(&mut body)?),
            (kind::TRANSPORT_FEEDBACK, format::TWCC) => Self::Twcc(Twcc::decode(&mut body)?),
            (kind::PAYLOAD_FEEDBACK, format::PLI) => Self::Pli(Pli::decode(&mut body)?),
            (kind::PAYLOAD_FEEDBACK, format::FIR) => Self::Fir(Fir::decode(&mut body)?),
            (kind::EXTENDED_REPORT, _) => Self::ExtendedReport(ExtendedReport::decode(&mut body)?),
            _ => Self::Other { kind, count },
        };
        Ok((message, at + length))
    }

    /// Appends the packet; nothing for [`Message::Other`], whose content is unknown.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::SenderReport(m) => m.encode(out),
            Self::ReceiverReport(m) => m.encode(out),
            Self::Nack(m) => m.encode(out),
            Self::Pli(m) => m.encode(out),
            Self::Fir(m) => m.encode(out),
            Self::Ccfb(m) => m.encode(out),
            Self::Twcc(m) => m.encode(out),
            Self::ExtendedReport(m) => m.encode(out),
            Self::Other { .. } => {}
        }
    }
}

/// What is left of a packet to read, and where it stands in the datagram.
struct Body<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Body<'a> {
    fn take<const N: usize>(&mut self, what: &str) -> Result<[u8; N], WireError> {
        let (head, rest) = self.bytes.split_first_chunk::<N>().ok_or_else(|| {
            WireError::new(
                self.at,
                format!("{} bytes", self.bytes.len()),
                format!("{what} of {N}"),
            )
        })?;
        self.bytes = rest;
        self.at += N;
        Ok(*head)
    }

    fn slice(&mut self, length: usize, what: &str) -> Result<&'a [u8], WireError> {
        let (head, rest) = self.bytes.split_at_checked(length).ok_or_else(|| {
            WireError::new(
                self.at,
                format!("{} bytes", self.bytes.len()),
                format!("{what} of {length}"),
            )
        })?;
        self.bytes = rest;
        self.at += length;
        Ok(head)
    }

    fn u8(&mut self, what: &str) -> Result<u8, WireError> {
        Ok(self.take::<1>(what)?[0])
    }

    fn u16(&mut self, what: &str) -> Result<u16, WireError> {
        self.take(what).map(u16::from_be_bytes)
    }

    fn u32(&mut self, what: &str) -> Result<u32, WireError> {
        self.take(what).map(u32::from_be_bytes)
    }
}

/// Appends a common header, the body that `body` writes, and, where `pad` says so, padding counted by its last byte
/// (RFC 3550, 6.4.1); the body fills whole words otherwise.
fn packet(kind: u8, count: u8, pad: bool, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend([2 << 6 | count, kind, 0, 0]);
    body(out);
    let missing = (start.wrapping_sub(out.len())) % 4;
    if missing > 0 {
        assert!(pad, "an RTCP packet of whole words");
        out.resize(out.len() + missing, 0);
        if let Some(last) = out.last_mut() {
            *last = missing as u8;
        }
        out[start] |= 0x20;
    }
    let words = u16::try_from((out.len() - start) / 4 - 1)
        .expect("callers bound what they put into one RTCP packet");
    out[start + 2..start + 4].copy_from_slice(&words.to_be_bytes());
}

#[cfg(test)]
mod tests;
