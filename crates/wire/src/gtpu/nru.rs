//! NR-U: the frames between a base station's central and distributed units (TS 38.425, 5.5.2), which are also the only
//! standard place for what waits in RLC, and the carrier of the proposed reports ([`super::report`]).

use crate::WireError;
use crate::octets::{Reader, Writer};

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Downlink user data (PDU type 0).
    UserData(UserData<'a>),
    /// Downlink data delivery status (PDU type 1).
    Status(Status<'a>),
    /// Assistance information (PDU type 2).
    Assistance(Assistance<'a>),
}

/// The head of downlink user data (TS 38.425, 5.5.2.1); the data are the payload of the GTP-U message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserData<'a> {
    /// NR-U sequence number, 24 bits.
    pub seq: u32,
    /// A delivery status is asked for.
    pub report_polling: bool,
    /// Assistance information is asked for.
    pub assistance_polling: bool,
    /// The packet is sent again.
    pub retransmission: bool,
    /// The central unit has user data.
    pub data_exist: bool,
    /// Delivery out of sequence is to be reported.
    pub report_out_of_seq: bool,
    /// All data up to this PDCP sequence number are to be discarded (flag DL flush).
    pub flush: Option<u32>,
    /// Blocks of PDCP sequence numbers to be discarded.
    pub discard: Option<Blocks<'a>>,
    /// Report when this PDCP sequence number has been delivered.
    pub report_delivered: Option<u32>,
}

/// Blocks to discard, each a first sequence number and a count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks<'a>(&'a [u8]);

impl Blocks<'_> {
    /// The blocks in their order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u8)> {
        self.0
            .chunks_exact(4)
            .map(|b| (u32::from_be_bytes([0, b[0], b[1], b[2]]), b[3]))
    }
}

/// Downlink data delivery status (TS 38.425, 5.5.2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status<'a> {
    /// The last status of this bearer.
    pub final_frame: bool,
    /// Octets that the distributed unit wants to hold for the bearer (desired buffer size).
    pub desired_buffer: u32,
    /// Octets per second that it wants to get (desired data rate).
    pub desired_rate: Option<u32>,
    /// NR-U sequence numbers that did not arrive.
    pub lost: Option<Ranges<'a>>,
    /// Highest PDCP sequence number delivered in sequence to the UE.
    pub delivered: Option<u32>,
    /// Highest PDCP sequence number given to the lower layers.
    pub transmitted: Option<u32>,
    /// Why: radio link outage, resume and so on (TS 38.425, 5.5.3.23).
    pub cause: Option<u8>,
    /// As `delivered`, of those sent again.
    pub delivered_again: Option<u32>,
    /// As `transmitted`, of those sent again.
    pub transmitted_again: Option<u32>,
    /// Octets behind the fields that this codec knows, padding among them. Ranges that were delivered out of sequence
    /// (Release 16) are there where [`Status::ranges_follow`].
    pub rest: &'a [u8],
    /// The flag of those ranges.
    pub ranges_follow: bool,
}

/// Ranges of NR-U sequence numbers, both ends within.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ranges<'a>(&'a [u8]);

impl<'a> Ranges<'a> {
    /// From octets as they stand in the frame: two numbers of 24 bits per range. `None` where there are more than 255
    /// ranges or half ones.
    pub fn from_octets(octets: &'a [u8]) -> Option<Self> {
        (octets.len().is_multiple_of(6) && octets.len() / 6 <= 255).then_some(Self(octets))
    }

    /// The ranges in their order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.chunks_exact(6).map(|r| {
            (
                u32::from_be_bytes([0, r[0], r[1], r[2]]),
                u32::from_be_bytes([0, r[3], r[4], r[5]]),
            )
        })
    }
}

impl<'a> Blocks<'a> {
    /// From octets as they stand in the frame: a number of 24 bits and a count per block. `None` where there are more
    /// than 255 blocks or part of one.
    pub fn from_octets(octets: &'a [u8]) -> Option<Self> {
        (octets.len().is_multiple_of(4) && octets.len() / 4 <= 255).then_some(Self(octets))
    }
}

/// Assistance information (TS 38.425, 5.5.2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assistance<'a> {
    /// Whether the distributed unit suggests to duplicate PDCP.
    pub duplicate: Option<bool>,
    /// The fields, where there are any.
    pub fields: Option<Fields<'a>>,
    /// Delay of the uplink in the distributed unit and over the air, in ms.
    pub ul_delay: Option<u32>,
    /// Delay of the downlink there, in ms.
    pub dl_delay: Option<u32>,
}

/// Fields of assistance information, each of a type and up to 255 octets. Types 1 to 6 are the standard's (CQI, HARQ
/// failures, HARQ retransmissions, downlink and uplink quality, power headroom); 7 to 228 are reserved, 229 to 255
/// reserved for test purposes (TS 38.425, 5.5.3.50).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields<'a> {
    octets: &'a [u8],
    count: u8,
}

impl<'a> Fields<'a> {
    /// From octets as they stand in the frame. `None` where a field is cut short or there are more than 255.
    pub fn from_octets(octets: &'a [u8]) -> Option<Self> {
        let mut r = Reader::new(octets);
        let mut count = 0u8;
        while !r.rest().is_empty() {
            count = count.checked_add(1)?;
            field(&mut r).ok()?;
        }
        Some(Self { octets, count })
    }

    /// Type and octets of each field, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (u8, &'a [u8])> + use<'a> {
        let mut r = Reader::new(self.octets);
        core::iter::from_fn(move || field(&mut r).ok())
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// True where there is none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

fn field<'a>(r: &mut Reader<'a>) -> Result<(u8, &'a [u8]), WireError> {
    let kind = r.u8("a type of assistance information")?;
    let n = usize::from(r.u8("a number of octets")?);
    Ok((kind, r.take(n, "assistance information")?))
}

impl<'a> Frame<'a> {
    /// Reads the content of an extension header of type [`super::extension::NR_RAN_CONTAINER`].
    ///
    /// # Errors
    /// A type above 2, or fewer octets than the flags and counts announce.
    pub fn parse(content: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(content);
        let first = r.u8("an NR-U frame")?;
        let second = r.u8("an NR-U frame")?;
        let r = &mut r;
        match first >> 4 {
            0 => UserData::read(first, second, r).map(Self::UserData),
            1 => Status::read(first, second, r).map(Self::Status),
            2 => Assistance::read(first, second, r).map(Self::Assistance),
            other => Err(WireError::new(
                0,
                format!("PDU type {other}"),
                "0, 1 or 2 (user data, status, assistance)",
            )),
        }
    }

    /// Writes the frame without padding to the front of `out` and returns its octets.
    ///
    /// # Errors
    /// `out` is too short, or a number does not fit its field.
    pub fn write(&self, out: &mut [u8]) -> Result<usize, WireError> {
        let mut out = Writer::new(out);
        match self {
            Self::UserData(frame) => frame.put(&mut out)?,
            Self::Status(frame) => frame.put(&mut out)?,
            Self::Assistance(frame) => frame.put(&mut out)?,
        }
        Ok(out.len())
    }
}

impl<'a> UserData<'a> {
    fn read(first: u8, second: u8, r: &mut Reader<'a>) -> Result<Self, WireError> {
        Ok(Self {
            seq: r.u24("an NR-U sequence number")?,
            report_polling: first & 0x01 != 0,
            retransmission: second & 0x01 != 0,
            assistance_polling: second & 0x02 != 0,
            data_exist: second & 0x04 != 0,
            report_out_of_seq: second & 0x10 != 0,
            flush: r.when(first & 0x02 != 0, |r| r.u24("a PDCP sequence number"))?,
            discard: r.when(first & 0x04 != 0, |r| {
                let n = usize::from(r.u8("a number of blocks")?);
                Ok(Blocks(r.take(n * 4, "blocks to discard")?))
            })?,
            report_delivered: r.when(second & 0x08 != 0, |r| r.u24("a PDCP sequence number"))?,
        })
    }

    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        out.u8(bit(self.discard.is_some(), 2)
            | bit(self.flush.is_some(), 1)
            | bit(self.report_polling, 0))?;
        out.u8(bit(self.report_out_of_seq, 4)
            | bit(self.report_delivered.is_some(), 3)
            | bit(self.data_exist, 2)
            | bit(self.assistance_polling, 1)
            | bit(self.retransmission, 0))?;
        out.u24(self.seq)?;
        self.flush.map_or(Ok(()), |v| out.u24(v))?;
        if let Some(Blocks(octets)) = self.discard {
            out.u8((octets.len() / 4) as u8)?;
            out.put(octets)?;
        }
        self.report_delivered.map_or(Ok(()), |v| out.u24(v))
    }
}

impl<'a> Status<'a> {
    fn read(first: u8, second: u8, r: &mut Reader<'a>) -> Result<Self, WireError> {
        let sn = |r: &mut Reader<'a>| r.u24("a PDCP sequence number");
        Ok(Self {
            final_frame: first & 0x02 != 0,
            desired_buffer: r.u32("a desired buffer size")?,
            desired_rate: r.when(second & 0x08 != 0, |r| r.u32("a desired data rate"))?,
            lost: r.when(first & 0x01 != 0, |r| {
                let n = usize::from(r.u8("a number of ranges")?);
                Ok(Ranges(r.take(n * 6, "lost ranges")?))
            })?,
            delivered: r.when(first & 0x04 != 0, sn)?,
            transmitted: r.when(first & 0x08 != 0, sn)?,
            cause: r.when(second & 0x01 != 0, |r| r.u8("a cause"))?,
            delivered_again: r.when(second & 0x02 != 0, sn)?,
            transmitted_again: r.when(second & 0x04 != 0, sn)?,
            rest: r.rest(),
            ranges_follow: second & 0x10 != 0,
        })
    }

    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        out.u8(0x10
            | bit(self.transmitted.is_some(), 3)
            | bit(self.delivered.is_some(), 2)
            | bit(self.final_frame, 1)
            | bit(self.lost.is_some(), 0))?;
        out.u8(bit(self.ranges_follow, 4)
            | bit(self.desired_rate.is_some(), 3)
            | bit(self.transmitted_again.is_some(), 2)
            | bit(self.delivered_again.is_some(), 1)
            | bit(self.cause.is_some(), 0))?;
        out.u32(self.desired_buffer)?;
        self.desired_rate.map_or(Ok(()), |v| out.u32(v))?;
        if let Some(Ranges(octets)) = self.lost {
            out.u8((octets.len() / 6) as u8)?;
            out.put(octets)?;
        }
        self.delivered.map_or(Ok(()), |v| out.u24(v))?;
        self.transmitted.map_or(Ok(()), |v| out.u24(v))?;
        self.cause.map_or(Ok(()), |v| out.u8(v))?;
        self.delivered_again.map_or(Ok(()), |v| out.u24(v))?;
        self.transmitted_again.map_or(Ok(()), |v| out.u24(v))?;
        out.put(self.rest)
    }
}

impl<'a> Assistance<'a> {
    fn read(first: u8, second: u8, r: &mut Reader<'a>) -> Result<Self, WireError> {
        Ok(Self {
            duplicate: (first & 0x08 != 0).then_some(second & 1 != 0),
            fields: r.when(first & 0x04 != 0, |r| {
                let count = r.u8("a number of fields")?;
                let whole = r.rest();
                for _ in 0..count {
                    field(r)?;
                }
                Ok(Fields {
                    octets: &whole[..whole.len() - r.rest().len()],
                    count,
                })
            })?,
            ul_delay: r.when(first & 0x02 != 0, |r| r.u32("an uplink delay"))?,
            dl_delay: r.when(first & 0x01 != 0, |r| r.u32("a downlink delay"))?,
        })
    }

    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        out.u8(0x20
            | bit(self.duplicate.is_some(), 3)
            | bit(self.fields.is_some(), 2)
            | bit(self.ul_delay.is_some(), 1)
            | bit(self.dl_delay.is_some(), 0))?;
        out.u8(bit(self.duplicate == Some(true), 0))?;
        if let Some(fields) = self.fields {
            out.u8(fields.count)?;
            out.put(fields.octets)?;
        }
        self.ul_delay.map_or(Ok(()), |v| out.u32(v))?;
        self.dl_delay.map_or(Ok(()), |v| out.u32(v))
    }
}

const fn bit(set: bool, place: u8) -> u8 {
    (set as u8) << place
}

#[cfg(test)]
mod tests;
