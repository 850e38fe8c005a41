//! Captures in the pcapng format (draft-ietf-opsawg-pcapng), which Wireshark and tshark read.
//!
//! One interface description for each point of capture, raw IP packets, time stamps in nanoseconds.

use slackwater_core::Instant;

/// `LINKTYPE_RAW`: packets start with an IPv4 or IPv6 header (draft-ietf-opsawg-pcaplinktype).
const LINKTYPE_RAW: u16 = 101;

/// Block types (draft-ietf-opsawg-pcapng, 11.1).
mod block {
    pub(super) const SECTION: u32 = 0x0a0d_0d0a;
    pub(super) const INTERFACE: u32 = 1;
    pub(super) const ENHANCED_PACKET: u32 = 6;
}

/// Option codes (draft-ietf-opsawg-pcapng, 3.5, 4.1 to 4.3).
mod option {
    pub(super) const END: u16 = 0;
    pub(super) const COMMENT: u16 = 1;
    pub(super) const SHB_USERAPPL: u16 = 4;
    pub(super) const IF_NAME: u16 = 2;
    pub(super) const IF_TSRESOL: u16 = 9;
    pub(super) const EPB_FLAGS: u16 = 2;
}

/// A point of capture of one [`PcapngWriter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceId(u32);

/// Which way a packet passed the point of capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It arrived.
    Inbound,
    /// It left.
    Outbound,
}

/// One packet for the capture.
#[derive(Clone, Copy, Debug)]
pub struct Capture<'a> {
    /// Its bytes from the IP header on, perhaps cut short.
    pub bytes: &'a [u8],
    /// Its whole length.
    pub original_len: u32,
    /// Which way it passed, if that means something here.
    pub passage: Option<Passage>,
    /// A remark on it, for example that it was marked or dropped.
    pub comment: Option<&'a str>,
}

/// Writes a capture into memory. [`PcapngWriter::take`] hands out what is there, as often as the caller likes.
#[derive(Debug)]
pub struct PcapngWriter {
    out: Vec<u8>,
    interfaces: u32,
}

impl PcapngWriter {
    /// A capture by `application`, without interfaces yet.
    pub fn new(application: &str) -> Self {
        let mut writer = Self {
            out: Vec::new(),
            interfaces: 0,
        };
        writer.block(block::SECTION, |out| {
            // Byte-order magic, version 1.0, section length unknown (4.1).
            out.extend(0x1a2b_3c4d_u32.to_le_bytes());
            out.extend(1_u16.to_le_bytes());
            out.extend(0_u16.to_le_bytes());
            out.extend((-1_i64).to_le_bytes());
            push_option(out, option::SHB_USERAPPL, application.as_bytes());
            push_option(out, option::END, &[]);
        });
        writer
    }

    /// Adds a point of capture. `snaplen` is the most bytes that a packet of it will have; 0 for no limit.
    pub fn interface(&mut self, name: &str, snaplen: u32) -> InterfaceId {
        self.block(block::INTERFACE, |out| {
            out.extend(LINKTYPE_RAW.to_le_bytes());
            out.extend(0_u16.to_le_bytes());
            out.extend(snaplen.to_le_bytes());
            push_option(out, option::IF_NAME, name.as_bytes());
            // 10^-9 s (4.2).
            push_option(out, option::IF_TSRESOL, &[9]);
            push_option(out, option::END, &[]);
        });
        self.interfaces += 1;
        InterfaceId(self.interfaces - 1)
    }

    /// Adds a packet that was seen at `now`. The origin of time is the epoch of the capture.
    pub fn packet(&mut self, now: Instant, interface: InterfaceId, capture: &Capture<'_>) {
        let Capture { bytes, .. } = *capture;
        self.block(block::ENHANCED_PACKET, |out| {
            let ns = now.as_nanos();
            out.extend(interface.0.to_le_bytes());
            out.extend(((ns >> 32) as u32).to_le_bytes());
            out.extend((ns as u32).to_le_bytes());
            out.extend((bytes.len() as u32).to_le_bytes());
            out.extend(capture.original_len.max(bytes.len() as u32).to_le_bytes());
            out.extend(bytes);
            pad(out, bytes.len());
            if capture.passage.is_none() && capture.comment.is_none() {
                return;
            }
            if let Some(passage) = capture.passage {
                // Bits 0 and 1 (4.3.1).
                let flags: u32 = match passage {
                    Passage::Inbound => 0b01,
                    Passage::Outbound => 0b10,
                };
                push_option(out, option::EPB_FLAGS, &flags.to_le_bytes());
            }
            if let Some(comment) = capture.comment {
                push_option(out, option::COMMENT, comment.as_bytes());
            }
            push_option(out, option::END, &[]);
        });
    }

    /// Bytes that wait to be taken.
    pub fn pending(&self) -> usize {
        self.out.len()
    }

    /// What was written since the last call; the pieces in order are the file.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// A block: type, length, body, length again (3.1). Bodies end on 4 bytes by themselves.
    fn block(&mut self, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
        let out = &mut self.out;
        let start = out.len();
        out.extend(kind.to_le_bytes());
        out.extend([0; 4]);
        body(out);
        let length = (out.len() + 4 - start) as u32;
        out[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
        out.extend(length.to_le_bytes());
    }
}

fn pad(out: &mut Vec<u8>, length: usize) {
    out.extend(std::iter::repeat_n(0, length.next_multiple_of(4) - length));
}

/// An option: code, length, value, padding (3.5). A longer value than the length can say is cut at a character.
fn push_option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let mut length = value.len().min(usize::from(u16::MAX));
    while length < value.len() && value[length] & 0xc0 == 0x80 {
        length -= 1;
    }
    out.extend(code.to_le_bytes());
    out.extend((length as u16).to_le_bytes());
    out.extend(&value[..length]);
    pad(out, length);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (type, body) of each block, after checking both lengths.
    fn blocks(mut file: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let word =
            |b: &[u8], at: usize| u32::from_le_bytes(b[at..at + 4].try_into().expect("4 bytes"));
        let mut out = Vec::new();
        while !file.is_empty() {
            let length = word(file, 4) as usize;
            assert_eq!(length % 4, 0);
            assert_eq!(word(file, length - 4) as usize, length);
            out.push((word(file, 0), file[8..length - 4].to_vec()));
            file = &file[length..];
        }
        out
    }

    #[test]
    fn the_blocks_are_those_of_the_format() {
        let mut w = PcapngWriter::new("app");
        let a = w.interface("cell", 96);
        let mut file = w.take();
        let b = w.interface("ue", 0);
        let capture = Capture {
            bytes: &[0x45, 1, 2, 3, 4],
            original_len: 1500,
            passage: Some(Passage::Outbound),
            comment: Some("marked"),
        };
        let at = Instant::from_nanos(0x1_0000_0002);
        w.packet(at, b, &capture);
        let plain = Capture {
            passage: None,
            comment: None,
            ..capture
        };
        w.packet(at, a, &plain);
        file.extend(w.take());
        assert_eq!(w.pending(), 0);
        let blocks = blocks(&file);
        let kinds: Vec<u32> = blocks.iter().map(|b| b.0).collect();
        assert_eq!(kinds, [0x0a0d_0d0a, 1, 1, 6, 6]);
        assert_eq!(blocks[0].1[..4], [0x4d, 0x3c, 0x2b, 0x1a]);
        assert_eq!(
            blocks[1].1,
            [
                101, 0, 0, 0, 96, 0, 0, 0, 2, 0, 4, 0, b'c', b'e', b'l', b'l', 9, 0, 1, 0, 9, 0, 0,
                0, 0, 0, 0, 0
            ]
        );
        assert_eq!(
            blocks[3].1,
            [
                1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 220, 5, 0, 0, 0x45, 1, 2, 3, 4, 0,
                0, 0, 2, 0, 4, 0, 2, 0, 0, 0, 1, 0, 6, 0, b'm', b'a', b'r', b'k', b'e', b'd', 0, 0,
                0, 0, 0, 0
            ]
        );
        assert_eq!(blocks[4].1.len(), 28);
    }

    #[test]
    fn an_endless_remark_is_cut() {
        let mut w = PcapngWriter::new(&"é".repeat(40_000));
        assert_eq!(blocks(&w.take()).len(), 1);
    }
}
