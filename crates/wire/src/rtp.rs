//! RTP packets (RFC 3550, 5.1) with header extensions (RFC 8285): read in place, written into a buffer.

use crate::WireError;

/// Bytes of the fixed header.
pub const HEADER: usize = 12;
/// The profile of extensions with headers of one byte (RFC 8285, 4.2).
const ONE_BYTE: u16 = 0xbede;
/// The profile of extensions with headers of two bytes; its low four bits are the application's (RFC 8285, 4.3).
const TWO_BYTE: u16 = 0x1000;

/// The fixed header without what the packet's shape says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// In video, the last packet of a frame.
    pub marker: bool,
    /// Payload type, 0 to 127.
    pub payload_type: u8,
    /// Sequence number.
    pub sequence: u16,
    /// Sampling instant by the codec's clock.
    pub timestamp: u32,
    /// The stream.
    pub ssrc: u32,
}

/// A packet in someone else's buffer; what the offsets cover was checked when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View<'a> {
    header: Header,
    csrcs: &'a [u8],
    extension: Option<(u16, &'a [u8])>,
    payload: &'a [u8],
}

/// One element of a header extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element<'a> {
    /// Its local identifier, 1 to 14 (to 255 with headers of two bytes).
    pub id: u8,
    /// Its data.
    pub data: &'a [u8],
}

impl Header {
    /// Appends the header and `elements`, of 1 to 16 bytes each with identifiers from 1 to 14; the payload is for the
    /// caller to append.
    ///
    /// # Panics
    ///
    /// Where an element does not fit RFC 8285's one-byte form: they are the program's own, never input.
    pub fn encode(&self, elements: &[Element<'_>], out: &mut Vec<u8>) {
        let extended = u8::from(!elements.is_empty()) << 4;
        out.push(2 << 6 | extended);
        out.push(u8::from(self.marker) << 7 | self.payload_type & 0x7f);
        out.extend(self.sequence.to_be_bytes());
        out.extend(self.timestamp.to_be_bytes());
        out.extend(self.ssrc.to_be_bytes());
        if elements.is_empty() {
            return;
        }
        out.extend(ONE_BYTE.to_be_bytes());
        let length = out.len();
        out.extend([0, 0]);
        for element in elements {
            let size = element.data.len();
            assert!(
                (1..=14).contains(&element.id) && (1..=16).contains(&size),
                "extension element {} of {size} bytes has no one-byte form",
                element.id
            );
            out.push(element.id << 4 | (size - 1) as u8);
            out.extend(element.data);
        }
        while !(out.len() - length - 2).is_multiple_of(4) {
            out.push(0);
        }
        let words = ((out.len() - length - 2) / 4) as u16;
        out[length..length + 2].copy_from_slice(&words.to_be_bytes());
    }
}

impl<'a> View<'a> {
    /// Reads a packet.
    ///
    /// # Errors
    ///
    /// Where a length points past the end, or the version is not 2.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        let Some((fixed, rest)) = bytes.split_first_chunk::<HEADER>() else {
            return Err(WireError::new(
                0,
                format!("{} bytes", bytes.len()),
                "an RTP header of 12",
            ));
        };
        if fixed[0] >> 6 != 2 {
            return Err(WireError::new(
                0,
                format!("RTP version {}", fixed[0] >> 6),
                "version 2",
            ));
        }
        let header = Header {
            marker: fixed[1] & 0x80 != 0,
            payload_type: fixed[1] & 0x7f,
            sequence: u16::from_be_bytes([fixed[2], fixed[3]]),
            timestamp: u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]),
            ssrc: u32::from_be_bytes([fixed[8], fixed[9], fixed[10], fixed[11]]),
        };
        let short = |at: usize, wanted: usize| {
            WireError::new(
                at,
                format!("{} bytes", bytes.len()),
                format!("{wanted} more"),
            )
        };
        let count = usize::from(fixed[0] & 0xf) * 4;
        let (csrcs, mut rest) = rest
            .split_at_checked(count)
            .ok_or_else(|| short(HEADER, count))?;
        let mut at = HEADER + count;
        let mut extension = None;
        if fixed[0] & 0x10 != 0 {
            let (head, after) = rest.split_first_chunk::<4>().ok_or_else(|| short(at, 4))?;
            let length = usize::from(u16::from_be_bytes([head[2], head[3]])) * 4;
            let (data, after) = after
                .split_at_checked(length)
                .ok_or_else(|| short(at + 4, length))?;
            extension = Some((u16::from_be_bytes([head[0], head[1]]), data));
            rest = after;
            at += 4 + length;
        }
        if fixed[0] & 0x20 != 0 {
            // The last byte counts the padding, itself included.
            let padding = rest.last().copied().map_or(0, usize::from);
            if padding == 0 || padding > rest.len() {
                return Err(WireError::new(
                    at,
                    format!("{padding} bytes of padding in {}", rest.len()),
                    "at least 1, and no more than there are",
                ));
            }
            rest = &rest[..rest.len() - padding];
        }
        Ok(Self {
            header,
            csrcs,
            extension,
            payload: rest,
        })
    }

    /// The fixed header.
    pub const fn header(&self) -> Header {
        self.header
    }

    /// Contributing sources.
    pub fn csrcs(&self) -> impl Iterator<Item = u32> + 'a {
        self.csrcs
            .chunks_exact(4)
            .map(|c| u32::from_be_bytes([c[0], c[1], c[2], c[3]]))
    }

    /// The payload without padding.
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The elements of the header extension, up to the first that points past its end; none in a profile of another kind.
    pub fn elements(&self) -> impl Iterator<Item = Element<'a>> + use<'a> {
        let (profile, mut rest) = self.extension.unwrap_or((0, &[]));
        core::iter::from_fn(move || {
            loop {
                let (&first, after) = rest.split_first()?;
                // A zero byte is padding between elements (RFC 8285, 4.1.1).
                if first == 0 {
                    rest = after;
                    continue;
                }
                let (id, size, after) = if profile == ONE_BYTE {
                    // Identifier 15 ends the extension (RFC 8285, 4.2).
                    if first >> 4 == 15 {
                        return None;
                    }
                    (first >> 4, usize::from(first & 0xf) + 1, after)
                } else if profile & 0xfff0 == TWO_BYTE {
                    let (&size, after) = after.split_first()?;
                    (first, usize::from(size), after)
                } else {
                    return None;
                };
                let (data, after) = after.split_at_checked(size)?;
                rest = after;
                return Some(Element { id, data });
            }
        })
    }

    /// The transport-wide sequence number in element `id` (draft-holmer-rmcat-transport-wide-cc-extensions-01, 2).
    pub fn transport_sequence(&self, id: u8) -> Option<u16> {
        let element = self.elements().find(|e| e.id == id)?;
        Some(u16::from_be_bytes(element.data.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests;
