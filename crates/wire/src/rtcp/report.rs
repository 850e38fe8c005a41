//! Sender and receiver reports (RFC 3550, 6.4).

use super::{Body, kind, packet};
use crate::WireError;

/// Reports that the count's five bits allow.
const BLOCKS_MAX: usize = 31;

/// What a receiver says about one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The stream.
    pub ssrc: u32,
    /// Share of packets lost since the last report, in 1/256.
    pub fraction_lost: u8,
    /// Packets lost in all, 24 bits, negative where duplicates came; values beyond saturate.
    pub lost: i32,
    /// Highest sequence number with its cycles.
    pub highest: u32,
    /// Interarrival jitter in units of the time stamp.
    pub jitter: u32,
    /// The middle 32 bits of the last sender report's NTP time.
    pub last_sr: u32,
    /// Time since then in 1/65536 s.
    pub delay: u32,
}

/// A sender report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SenderReport {
    /// The sender.
    pub ssrc: u32,
    /// NTP time of the report, 32.32.
    pub ntp: u64,
    /// The same moment in units of the time stamp.
    pub timestamp: u32,
    /// Packets sent.
    pub packets: u32,
    /// Payload bytes sent.
    pub octets: u32,
    /// What the sender hears of others; those past 31 are not encoded.
    pub blocks: Vec<Block>,
}

/// A receiver report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiverReport {
    /// The receiver.
    pub ssrc: u32,
    /// What it hears; those past 31 are not encoded.
    pub blocks: Vec<Block>,
}

impl Block {
    fn decode(body: &mut Body<'_>) -> Result<Self, WireError> {
        let ssrc = body.u32("a report block's SSRC")?;
        let [fraction_lost, a, b, c] = body.take("losses")?;
        Ok(Self {
            ssrc,
            fraction_lost,
            // The shift back extends the sign.
            lost: i32::from_be_bytes([a, b, c, 0]) >> 8,
            highest: body.u32("the highest sequence number")?,
            jitter: body.u32("a jitter")?,
            last_sr: body.u32("the time of the last SR")?,
            delay: body.u32("the delay since the last SR")?,
        })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.ssrc.to_be_bytes());
        let [_, a, b, c] = self.lost.clamp(-(1 << 23), (1 << 23) - 1).to_be_bytes();
        out.extend([self.fraction_lost, a, b, c]);
        out.extend(self.highest.to_be_bytes());
        out.extend(self.jitter.to_be_bytes());
        out.extend(self.last_sr.to_be_bytes());
        out.extend(self.delay.to_be_bytes());
    }
}

fn decode_blocks(count: u8, body: &mut Body<'_>) -> Result<Vec<Block>, WireError> {
    (0..count).map(|_| Block::decode(body)).collect()
}

fn encode_blocks(blocks: &[Block], out: &mut Vec<u8>) {
    for block in blocks {
        block.encode(out);
    }
}

fn first(blocks: &[Block]) -> &[Block] {
    &blocks[..blocks.len().min(BLOCKS_MAX)]
}

impl SenderReport {
    pub(super) fn decode(count: u8, body: &mut Body<'_>) -> Result<Self, WireError> {
        Ok(Self {
            ssrc: body.u32("an SSRC")?,
            ntp: body.take("an NTP time").map(u64::from_be_bytes)?,
            timestamp: body.u32("an RTP time")?,
            packets: body.u32("a packet count")?,
            octets: body.u32("an octet count")?,
            // Profile-specific extensions may follow.
            blocks: decode_blocks(count, body)?,
        })
    }

    /// Appends the report.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let blocks = first(&self.blocks);
        packet(kind::SENDER_REPORT, blocks.len() as u8, false, out, |out| {
            out.extend(self.ssrc.to_be_bytes());
            out.extend(self.ntp.to_be_bytes());
            out.extend(self.timestamp.to_be_bytes());
            out.extend(self.packets.to_be_bytes());
            out.extend(self.octets.to_be_bytes());
            encode_blocks(blocks, out);
        });
    }
}

impl ReceiverReport {
    pub(super) fn decode(count: u8, body: &mut Body<'_>) -> Result<Self, WireError> {
        Ok(Self {
            ssrc: body.u32("an SSRC")?,
            blocks: decode_blocks(count, body)?,
        })
    }

    /// Appends the report.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let blocks = first(&self.blocks);
        packet(
            kind::RECEIVER_REPORT,
            blocks.len() as u8,
            false,
            out,
            |out| {
                out.extend(self.ssrc.to_be_bytes());
                encode_blocks(blocks, out);
            },
        );
    }
}
