//! The PDU session container (TS 38.415, 5.5.2): what the user plane function and the radio network tell each other
//! about a `QoS` flow with each packet, or with an empty one.
//!
//! A container is a few numbers, each there or not; both directions are plain structs without borrowed parts. Fields
//! of later releases behind the known ones are passed over: new ones are only ever added at the end.

use slackwater_core::Qfi;

use super::ntp::Ntp;
use crate::WireError;
use crate::octets::{Reader, Writer, fits};

/// The longest container that [`Container::write`] writes: the uplink one with everything.
pub const MAX: usize = 2 + 24 + 4 + 4 + 3 + 4 + 1 + 1 + 2 + 2 + 4 + 4;

/// The longest uplink container with an answer to a stamp and congestion: QFI, three stamps, two delays, flags, a share.
pub const ANSWER: usize = 2 + 24 + 8 + 1 + 2;

/// Congestion of all packets, in the units of the congestion information: 0.01 % (TS 38.415, Release 18).
pub const CONGESTION_MAX: u16 = 10_000;

/// Downlink: from the user plane function to the radio network (PDU type 0).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Downlink {
    /// The `QoS` flow, 0 to 63.
    pub qfi: Qfi,
    /// Reflective `QoS` (RQI).
    pub reflective: bool,
    /// Paging policy and what shares its octet.
    pub paging: Option<Paging>,
    /// When this packet left; asks the radio network for a measurement of `QoS` (flag QMP).
    pub sent: Option<Ntp>,
    /// Sequence number within the `QoS` flow, 24 bits.
    pub seq: Option<u32>,
    /// Sequence number of a multicast session (Release 17).
    pub mbs_seq: Option<u32>,
}

/// The octet of the paging policy, and the fields of Release 19 that it announces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paging {
    /// Paging policy indicator, 0 to 7.
    pub ppi: u8,
    /// Size of the burst, 24 bits (flag BSSI).
    pub burst: Option<u32>,
    /// Time to the next burst (flag TTNBI).
    pub next_burst: Option<u16>,
}

/// Uplink: from the radio network to the user plane function (PDU type 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uplink {
    /// The `QoS` flow, 0 to 63.
    pub qfi: Qfi,
    /// The answer to a packet that asked for a measurement (flag QMP).
    pub stamps: Option<Stamps>,
    /// Delay from the radio network's upper end to the UE, in [`super::report::Units::delay`].
    pub dl_delay: Option<u32>,
    /// Delay from the UE to the radio network's upper end, in the same unit.
    pub ul_delay: Option<u32>,
    /// Sequence number within the `QoS` flow, 24 bits.
    pub seq: Option<u32>,
    /// Delay between the radio network and this user plane function or the next, in the same unit.
    pub n3_n9_delay: Option<u32>,
    /// True where the uplink delay holds the UE's own PDCP delay (new IE 0).
    pub d1_included: Option<bool>,
    /// Share of uplink packets to mark, in 0.01 % (new IE 1, Release 18).
    pub ul_congestion: Option<u16>,
    /// Share of downlink packets to mark, in 0.01 % (new IE 2, Release 18).
    pub dl_congestion: Option<u16>,
    /// Available uplink rate, in [`super::report::Units::bitrate`] (new IE 3, Release 19).
    pub ul_bitrate: Option<u32>,
    /// Available downlink rate, in the same unit (new IE 4, Release 19).
    pub dl_bitrate: Option<u32>,
}

/// The time stamps of a measurement, all three of the sender's clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// The user plane function's stamp in the packet that is answered.
    pub dl_sent: Ntp,
    /// When that packet reached the radio network.
    pub dl_received: Ntp,
    /// When this packet left the radio network.
    pub ul_sent: Ntp,
}

/// Either direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// PDU type 0.
    Downlink(Downlink),
    /// PDU type 1.
    Uplink(Uplink),
}

const QMP: u8 = 0x08;
const SNP_DOWN: u8 = 0x04;
const MSNP: u8 = 0x02;
const PPP: u8 = 0x80;
const RQI: u8 = 0x40;
const BSSI: u8 = 0x02;
const TTNBI: u8 = 0x01;
const DL_DELAY: u8 = 0x04;
const UL_DELAY: u8 = 0x02;
const SNP_UP: u8 = 0x01;
const N3_N9: u8 = 0x80;
const NEW_IES: u8 = 0x40;
const QFI: u8 = 0x3f;
/// Another octet of new IE flags follows.
const MORE_FLAGS: u8 = 0x80;

impl Container {
    /// Reads the content of an extension header of type [`super::extension::PDU_SESSION_CONTAINER`].
    ///
    /// # Errors
    /// A type other than 0 and 1, or fewer octets than the flags announce.
    pub fn parse(content: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(content);
        let first = r.u8("a PDU session container")?;
        match first >> 4 {
            0 => Downlink::read(first, &mut r).map(Self::Downlink),
            1 => Uplink::read(first, &mut r).map(Self::Uplink),
            other => Err(WireError::new(
                0,
                format!("PDU type {other}"),
                "0 (downlink) or 1 (uplink)",
            )),
        }
    }

    /// Writes the container without padding to the front of `out` and returns its octets.
    ///
    /// # Errors
    /// `out` is too short ([`MAX`] suffices), or a number does not fit its field.
    pub fn write(&self, out: &mut [u8]) -> Result<usize, WireError> {
        let mut out = Writer::new(out);
        match self {
            Self::Downlink(d) => d.put(&mut out)?,
            Self::Uplink(u) => u.put(&mut out)?,
        }
        Ok(out.len())
    }
}

impl Downlink {
    fn read(first: u8, r: &mut Reader<'_>) -> Result<Self, WireError> {
        let second = r.u8("a QFI")?;
        let policy = r.when(second & PPP != 0, |r| r.u8("a paging policy"))?;
        let has = |bit| policy.is_some_and(|p| p & bit != 0);
        let sent = r.when(first & QMP != 0, |r| r.u64("a sending time stamp"))?;
        let seq = r.when(first & SNP_DOWN != 0, |r| r.u24("a sequence number"))?;
        let mbs_seq = r.when(first & MSNP != 0, |r| r.u32("a multicast sequence number"))?;
        let burst = r.when(has(BSSI), |r| r.u24("a burst size"))?;
        let next_burst = r.when(has(TTNBI), |r| r.u16("a time to the next burst"))?;
        Ok(Self {
            qfi: Qfi(second & QFI),
            reflective: second & RQI != 0,
            paging: policy.map(|octet| Paging {
                ppi: octet >> 5,
                burst,
                next_burst,
            }),
            sent: sent.map(Ntp),
            seq,
            mbs_seq,
        })
    }

    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        out.u8(flag(self.sent, QMP) | flag(self.seq, SNP_DOWN) | flag(self.mbs_seq, MSNP))?;
        fits(1, u64::from(self.qfi.0), 6)?;
        let reflective = if self.reflective { RQI } else { 0 };
        out.u8(flag(self.paging, PPP) | reflective | self.qfi.0)?;
        if let Some(paging) = self.paging {
            fits(2, u64::from(paging.ppi), 3)?;
            out.u8(paging.ppi << 5 | flag(paging.burst, BSSI) | flag(paging.next_burst, TTNBI))?;
        }
        self.sent.map_or(Ok(()), |v| out.u64(v.0))?;
        self.seq.map_or(Ok(()), |v| out.u24(v))?;
        self.mbs_seq.map_or(Ok(()), |v| out.u32(v))?;
        let paging = self.paging.unwrap_or_default();
        paging.burst.map_or(Ok(()), |v| out.u24(v))?;
        paging.next_burst.map_or(Ok(()), |v| out.u16(v))
    }
}

impl Uplink {
    fn read(first: u8, r: &mut Reader<'_>) -> Result<Self, WireError> {
        let second = r.u8("a QFI")?;
        let stamps = r.when(first & QMP != 0, |r| {
            Ok(Stamps {
                dl_sent: Ntp(r.u64("a repeated sending time stamp")?),
                dl_received: Ntp(r.u64("a receiving time stamp")?),
                ul_sent: Ntp(r.u64("a sending time stamp")?),
            })
        })?;
        let dl_delay = r.when(first & DL_DELAY != 0, |r| r.u32("a downlink delay"))?;
        let ul_delay = r.when(first & UL_DELAY != 0, |r| r.u32("an uplink delay"))?;
        let seq = r.when(first & SNP_UP != 0, |r| r.u24("a sequence number"))?;
        let n3_n9_delay = r.when(second & N3_N9 != 0, |r| r.u32("an N3 or N9 delay"))?;
        let mut flags = 0;
        if second & NEW_IES != 0 {
            flags = r.u8("new IE flags")?;
            let mut last = flags;
            while last & MORE_FLAGS != 0 {
                last = r.u8("more new IE flags")?;
            }
        }
        Ok(Self {
            qfi: Qfi(second & QFI),
            stamps,
            dl_delay,
            ul_delay,
            seq,
            n3_n9_delay,
            d1_included: r.when(flags & 0x01 != 0, |r| Ok(r.u8("a D1 indication")? & 1 != 0))?,
            ul_congestion: r.when(flags & 0x02 != 0, |r| r.u16("uplink congestion"))?,
            dl_congestion: r.when(flags & 0x04 != 0, |r| r.u16("downlink congestion"))?,
            ul_bitrate: r.when(flags & 0x08 != 0, |r| r.u32("an available uplink rate"))?,
            dl_bitrate: r.when(flags & 0x10 != 0, |r| r.u32("an available downlink rate"))?,
        })
    }

    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        out.u8(0x10
            | flag(self.stamps, QMP)
            | flag(self.dl_delay, DL_DELAY)
            | flag(self.ul_delay, UL_DELAY)
            | flag(self.seq, SNP_UP))?;
        fits(1, u64::from(self.qfi.0), 6)?;
        let flags = flag(self.d1_included, 0x01)
            | flag(self.ul_congestion, 0x02)
            | flag(self.dl_congestion, 0x04)
            | flag(self.ul_bitrate, 0x08)
            | flag(self.dl_bitrate, 0x10);
        let new = if flags == 0 { 0 } else { NEW_IES };
        out.u8(flag(self.n3_n9_delay, N3_N9) | new | self.qfi.0)?;
        if let Some(stamps) = self.stamps {
            out.u64(stamps.dl_sent.0)?;
            out.u64(stamps.dl_received.0)?;
            out.u64(stamps.ul_sent.0)?;
        }
        self.dl_delay.map_or(Ok(()), |v| out.u32(v))?;
        self.ul_delay.map_or(Ok(()), |v| out.u32(v))?;
        self.seq.map_or(Ok(()), |v| out.u24(v))?;
        self.n3_n9_delay.map_or(Ok(()), |v| out.u32(v))?;
        if flags != 0 {
            out.u8(flags)?;
        }
        self.d1_included.map_or(Ok(()), |v| out.u8(u8::from(v)))?;
        self.ul_congestion.map_or(Ok(()), |v| out.u16(v))?;
        self.dl_congestion.map_or(Ok(()), |v| out.u16(v))?;
        self.ul_bitrate.map_or(Ok(()), |v| out.u32(v))?;
        self.dl_bitrate.map_or(Ok(()), |v| out.u32(v))
    }
}

fn flag<T: Copy>(field: Option<T>, bit: u8) -> u8 {
    if field.is_some() { bit } else { 0 }
}

#[cfg(test)]
mod tests;
