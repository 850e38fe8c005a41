//! Requests for packets and pictures (RFC 4585, RFC 5104).

use super::{Body, format, kind, packet};
use crate::WireError;

/// Entries of a NACK that a length of 16 bits holds beside the two SSRCs.
const ENTRIES_MAX: usize = 65_533;

/// Entries of a full intra request, which take two words each.
const FIR_ENTRIES_MAX: usize = ENTRIES_MAX / 2;

/// Generic NACK (RFC 4585, 6.2.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nack {
    /// Who asks.
    pub sender: u32,
    /// The stream.
    pub media: u32,
    /// A packet that is missing, and a mask of the 16 after it: bit i stands for packet + i + 1.
    pub entries: Vec<(u16, u16)>,
}

impl Nack {
    /// A NACK for `missing`, in the order of their numbers (with wrap-around).
    pub fn of(sender: u32, media: u32, missing: impl IntoIterator<Item = u16>) -> Self {
        let mut entries: Vec<(u16, u16)> = Vec::new();
        for number in missing {
            match entries.last_mut() {
                Some((first, _)) if *first == number => {}
                Some((first, mask)) if (1..=16).contains(&number.wrapping_sub(*first)) => {
                    *mask |= 1 << (number.wrapping_sub(*first) - 1);
                }
                _ => entries.push((number, 0)),
            }
        }
        Self {
            sender,
            media,
            entries,
        }
    }

    /// The packets asked for.
    pub fn missing(&self) -> impl Iterator<Item = u16> + '_ {
        self.entries.iter().flat_map(|&(first, mask)| {
            let others = (0..16).filter(move |i| mask >> i & 1 == 1);
            core::iter::once(first).chain(others.map(move |i| first.wrapping_add(i + 1)))
        })
    }

    pub(super) fn decode(body: &mut Body<'_>) -> Result<Self, WireError> {
        let mut nack = Self {
            sender: body.u32("the sender's SSRC")?,
            media: body.u32("the media's SSRC")?,
            entries: Vec::new(),
        };
        while !body.bytes.is_empty() {
            nack.entries
                .push((body.u16("a packet number")?, body.u16("a mask")?));
        }
        Ok(nack)
    }

    /// Appends the packet; entries that no packet can hold are left out.
    pub fn encode(&self, out: &mut Vec<u8>) {
        packet(kind::TRANSPORT_FEEDBACK, format::NACK, false, out, |out| {
            out.extend(self.sender.to_be_bytes());
            out.extend(self.media.to_be_bytes());
            for (first, mask) in self.entries.iter().take(ENTRIES_MAX) {
                out.extend(first.to_be_bytes());
                out.extend(mask.to_be_bytes());
            }
        });
    }
}

/// Picture loss indication (RFC 4585, 6.3.1): a key frame is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pli {
    /// Who asks.
    pub sender: u32,
    /// The stream.
    pub media: u32,
}

impl Pli {
    pub(super) fn decode(body: &mut Body<'_>) -> Result<Self, WireError> {
        Ok(Self {
            sender: body.u32("the sender's SSRC")?,
            media: body.u32("the media's SSRC")?,
        })
    }

    /// Appends the packet.
    pub fn encode(&self, out: &mut Vec<u8>) {
        packet(kind::PAYLOAD_FEEDBACK, format::PLI, false, out, |out| {
            out.extend(self.sender.to_be_bytes());
            out.extend(self.media.to_be_bytes());
        });
    }
}

/// Full intra request (RFC 5104, 4.3.1): a key frame is wanted of each stream, once for each number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fir {
    /// Who requests it.
    pub sender: u32,
    /// Streams (SSRC), and the number of the request: the same again is a repetition.
    pub entries: Vec<(u32, u8)>,
}

impl Fir {
    pub(super) fn decode(body: &mut Body<'_>) -> Result<Self, WireError> {
        let sender = body.u32("the sender's SSRC")?;
        // The media's SSRC is not used, and shall be 0 (RFC 5104, 4.3.1.2).
        body.u32("the media's SSRC")?;

        let mut entries = Vec::new();
        while !body.bytes.is_empty() {
            let stream = body.u32("a stream's SSRC")?;
            // Eight bits of number, and 24 that are reserved.
            let number = body.u32("the number of a request")?.to_be_bytes()[0];
            entries.push((stream, number));
        }
        Ok(Self { sender, entries })
    }

    /// Appends the packet; entries that no packet can hold are left out.
    pub fn encode(&self, out: &mut Vec<u8>) {
        packet(kind::PAYLOAD_FEEDBACK, format::FIR, false, out, |out| {
            out.extend(self.sender.to_be_bytes());
            out.extend([0; 4]);
            for (stream, number) in self.entries.iter().take(FIR_ENTRIES_MAX) {
                out.extend(stream.to_be_bytes());
                out.extend([*number, 0, 0, 0]);
            }
        });
    }
}
