//! TCP as a function in the middle reads it, and the segment that a simulated packet carries.

use crate::seq::SeqNum;

use super::ReportBytes;

/// TCP header flags (RFC 9293, 3.1; AE by RFC 9768).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TcpFlags(pub u16);

impl TcpFlags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x001);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x002);
    /// Reset the connection.
    pub const RST: Self = Self(0x004);
    /// Push.
    pub const PSH: Self = Self(0x008);
    /// The acknowledgment field is valid.
    pub const ACK: Self = Self(0x010);
    /// ECN echo.
    pub const ECE: Self = Self(0x040);
    /// Congestion window reduced.
    pub const CWR: Self = Self(0x080);
    /// Accurate ECN (RFC 9768), formerly NS.
    pub const AE: Self = Self(0x100);

    /// True where all bits of `other` are set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The union of both.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The flags of `self` that `other` lacks.
    #[inline]
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// A range of sequence numbers, `start` included and `end` not (RFC 2018, 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub start: SeqNum,
    /// The number after the last.
    pub end: SeqNum,
}

/// The SACK blocks of a segment: at most four fit into a header (RFC 2018, 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackList {
    blocks: [SackBlock; 4],
    len: u8,
}

impl SackList {
    /// Appends a block; a fifth is ignored.
    pub fn push(&mut self, block: SackBlock) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.len)) {
            *slot = block;
            self.len += 1;
        }
    }
}

impl core::ops::Deref for SackList {
    type Target = [SackBlock];

    fn deref(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.len)]
    }
}

/// What a SYN offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SynOptions {
    /// Maximum segment size, where stated (RFC 9293, 3.7.1).
    pub mss: Option<u16>,
    /// Window scale of the sender's later window fields, 0 to 14 (RFC 7323, 2); `None` leaves both sides unscaled.
    pub window_scale: Option<u8>,
    /// SACK may be used (RFC 2018, 2).
    pub sack_permitted: bool,
}

/// The fields of a TCP header that a function in the middle may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpHeader {
    /// Sequence number of the first payload byte.
    pub seq: SeqNum,
    /// Cumulative acknowledgment.
    pub ack: SeqNum,
    /// The window field as it stands in the header, before scaling (RFC 7323, 2).
    pub window: u16,
    /// Flags.
    pub flags: TcpFlags,
    /// Payload bytes.
    pub payload: u32,
    /// `TSval` and `TSecr` where the segment carries time stamps (RFC 7323, 3).
    pub timestamps: Option<(u32, u32)>,
}

/// How many SACK blocks a segment carries: beside time stamps a header has room for three (RFC 2018, 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Blocks {
    /// No SACK option.
    #[default]
    None,
    /// One block.
    One,
    /// Two blocks.
    Two,
    /// Three blocks.
    Three,
}

impl Blocks {
    /// `n` blocks; more than three count as three.
    #[inline]
    pub const fn new(n: usize) -> Self {
        match n {
            0 => Self::None,
            1 => Self::One,
            2 => Self::Two,
            _ => Self::Three,
        }
    }

    /// Their number.
    #[inline]
    pub const fn count(self) -> usize {
        self as usize
    }
}

/// What a simulated segment has beside its header's fixed fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentBits(pub u8);

impl SegmentBits {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// The time stamp option (RFC 7323, 3).
    pub const TIMESTAMPS: Self = Self(1);
    /// The option with an explicit-feedback report.
    pub const REPORT: Self = Self(2);
    /// It is sent again (for records; not on the wire).
    pub const RETRANSMISSION: Self = Self(4);
    /// The next segment of the connection arrives at the same instant and continues this one, so that a receiver's offload
    /// hands both over together (for simulated hosts; not on the wire).
    pub const TRAIN: Self = Self(8);

    /// True where all bits of `other` are set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The union of both.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The bits of `self` that `other` lacks.
    #[inline]
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// Room for three option bodies of eight bytes, which is what 40 bytes of options hold beside time stamps.
///
/// SACK blocks stand from the front. A report stands in the last place, so that it leaves two blocks, as on the wire. A
/// SYN has no blocks: its options stand in the first place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptionRoom(pub(super) [SackBlock; 3]);

/// In the second word of a SYN's options, whose low 8 bits are the window scale: the option is there (RFC 7323, 2.2).
const SYN_SCALED: u32 = 1 << 8;
/// In the second word of a SYN's options: SACK is permitted (RFC 2018, 2).
const SYN_SACK_PERMITTED: u32 = 1 << 9;
/// In the second word of a SYN's options: the MSS is stated (RFC 9293, 3.7.1).
const SYN_MSS: u32 = 1 << 10;

impl OptionRoom {
    /// Nothing in it.
    pub const EMPTY: Self = Self(
        [SackBlock {
            start: SeqNum(0),
            end: SeqNum(0),
        }; 3],
    );

    /// All places, for blocks to be written.
    #[inline]
    pub const fn blocks_mut(&mut self) -> &mut [SackBlock; 3] {
        &mut self.0
    }

    /// The bytes of the report in the last place.
    #[inline]
    pub(super) fn report(&self) -> ReportBytes {
        let SackBlock { start, end } = self.0[2];
        (u64::from(start.0) << 32 | u64::from(end.0)).to_be_bytes()
    }

    #[inline]
    pub(super) const fn set_report(&mut self, bytes: ReportBytes) {
        let words = u64::from_be_bytes(bytes);
        self.0[2] = SackBlock {
            start: SeqNum((words >> 32) as u32),
            end: SeqNum(words as u32),
        };
    }
}

/// A simulated TCP segment: what its header says (RFC 9293, 3.1), and its payload's length.
///
/// The last field has values to spare, in which the compiler keeps which body a packet has: 48 bytes hold all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Segment {
    /// Bodies of options: see [`Segment::sack_blocks`], [`Segment::report`] and [`Segment::syn_options`].
    pub room: OptionRoom,
    /// Sequence number of the first payload byte.
    pub seq: SeqNum,
    /// Cumulative acknowledgment.
    pub ack: SeqNum,
    /// `TSval`, where [`SegmentBits::TIMESTAMPS`] says so (RFC 7323, 3).
    pub tsval: u32,
    /// `TSecr`, likewise.
    pub tsecr: u32,
    /// The window field, unscaled.
    pub window: u16,
    /// Flags.
    pub flags: TcpFlags,
    /// Payload bytes.
    pub payload: u16,
    /// Options that are there, and notes of the simulator.
    pub bits: SegmentBits,
    /// How many SACK blocks `room` holds.
    pub blocks: Blocks,
}

impl Segment {
    /// The SACK blocks, most recent first (RFC 2018, 4).
    #[inline]
    pub fn sack_blocks(&self) -> &[SackBlock] {
        &self.room.0[..self.blocks.count()]
    }

    /// Gives the segment these SACK blocks; a fourth is left out.
    pub fn set_sack_blocks(&mut self, blocks: &[SackBlock]) {
        self.blocks = Blocks::new(blocks.len());
        for (place, block) in self.room.0.iter_mut().zip(blocks) {
            *place = *block;
        }
    }

    /// The report in its options.
    #[inline]
    pub fn report(&self) -> Option<ReportBytes> {
        self.bits
            .contains(SegmentBits::REPORT)
            .then(|| self.room.report())
    }

    /// Puts a report into the options, in the place of a third SACK block.
    #[inline]
    pub fn set_report(&mut self, bytes: ReportBytes) {
        if self.blocks == Blocks::Three {
            self.blocks = Blocks::Two;
        }
        self.bits = self.bits.with(SegmentBits::REPORT);
        self.room.set_report(bytes);
    }

    /// What a SYN offers.
    pub fn syn_options(&self) -> Option<SynOptions> {
        if !self.flags.contains(TcpFlags::SYN) {
            return None;
        }
        let SackBlock { start, end } = self.room.0[0];
        Some(SynOptions {
            mss: (end.0 & SYN_MSS != 0).then_some(start.0 as u16),
            window_scale: (end.0 & SYN_SCALED != 0).then_some(end.0 as u8),
            sack_permitted: end.0 & SYN_SACK_PERMITTED != 0,
        })
    }

    /// Gives a SYN its options; a window scale above 14 counts as 14 (RFC 7323, 2.3).
    pub fn set_syn_options(&mut self, options: SynOptions) {
        let mss = options.mss.map_or(0, |_| SYN_MSS);
        let scale = options
            .window_scale
            .map_or(0, |s| SYN_SCALED | u32::from(s.min(14)));
        let sack = if options.sack_permitted {
            SYN_SACK_PERMITTED
        } else {
            0
        };
        self.room.0[0] = SackBlock {
            start: SeqNum(u32::from(options.mss.unwrap_or(0))),
            end: SeqNum(mss | scale | sack),
        };
    }

    /// True where `next`, which arrives right behind in the same direction of the same flow, differs in sequence number and
    /// length alone and continues this segment.
    #[inline]
    pub(super) fn is_continued_by(&self, next: &Self) -> bool {
        let wire = |s: &Self| {
            s.bits
                .without(SegmentBits::RETRANSMISSION.with(SegmentBits::TRAIN))
        };
        self.payload > 0
            && next.payload > 0
            && next.payload <= self.payload
            && next.seq == self.seq + u32::from(self.payload)
            && next.flags == self.flags
            && (next.ack, next.tsval, next.tsecr) == (self.ack, self.tsval, self.tsecr)
            && (next.window, next.blocks) == (self.window, self.blocks)
            && wire(next) == wire(self)
    }
}
