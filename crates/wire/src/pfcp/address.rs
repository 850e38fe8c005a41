//! Endpoints and addresses (TS 29.244, 8.2).

use std::net::{Ipv4Addr, Ipv6Addr};

use slackwater_core::Teid;

use crate::WireError;
use crate::octets::{Reader, Writer, fits};

const fn flag(set: bool, bit: u8) -> u8 {
    if set { bit } else { 0 }
}

fn v4(r: &mut Reader<'_>) -> Result<Ipv4Addr, WireError> {
    r.v4("an IPv4 address").map(Ipv4Addr::from)
}

fn v6(r: &mut Reader<'_>) -> Result<Ipv6Addr, WireError> {
    r.v6("an IPv6 address").map(Ipv6Addr::from)
}

fn put_addresses(
    a: Option<Ipv4Addr>,
    b: Option<Ipv6Addr>,
    out: &mut Writer<'_>,
) -> Result<(), WireError> {
    a.map_or(Ok(()), |a| out.put(&a.octets()))?;
    b.map_or(Ok(()), |b| out.put(&b.octets()))
}

/// A tunnel's endpoint (F-TEID, 8.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FTeid {
    /// This one.
    Given {
        /// Its number.
        teid: Teid,
        /// Its IPv4 address.
        v4: Option<Ipv4Addr>,
        /// Its IPv6 address.
        v6: Option<Ipv6Addr>,
    },
    /// The user plane function is to choose one.
    Choose {
        /// With an IPv4 address.
        v4: bool,
        /// With an IPv6 address.
        v6: bool,
        /// The same for all rules that name the same number.
        id: Option<u8>,
    },
}

impl FTeid {
    pub(super) fn read(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let flags = r.u8("an F-TEID")?;
        let (has4, has6) = (flags & 0x01 != 0, flags & 0x02 != 0);
        if flags & 0x04 != 0 {
            return Ok(Self::Choose {
                v4: has4,
                v6: has6,
                id: r.when(flags & 0x08 != 0, |r| r.u8("a choose ID"))?,
            });
        }
        Ok(Self::Given {
            teid: Teid(r.u32("a TEID")?),
            v4: r.when(has4, v4)?,
            v6: r.when(has6, v6)?,
        })
    }

    pub(super) fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        match *self {
            Self::Given { teid, v4, v6 } => {
                out.u8(flag(v4.is_some(), 0x01) | flag(v6.is_some(), 0x02))?;
                out.u32(teid.0)?;
                put_addresses(v4, v6, out)
            }
            Self::Choose { v4, v6, id } => {
                out.u8(0x04 | flag(v4, 0x01) | flag(v6, 0x02) | flag(id.is_some(), 0x08))?;
                id.map_or(Ok(()), |id| out.u8(id))
            }
        }
    }
}

/// A session's endpoint (F-SEID, 8.2.37).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FSeid {
    /// Its number.
    pub seid: u64,
    /// Its IPv4 address.
    pub v4: Option<Ipv4Addr>,
    /// Its IPv6 address.
    pub v6: Option<Ipv6Addr>,
}

impl FSeid {
    pub(super) fn read(r: &mut Reader<'_>) -> Result<Self, WireError> {
        // Version 4 has the higher bit here, unlike in an F-TEID.
        let flags = r.u8("an F-SEID")?;
        Ok(Self {
            seid: r.u64("a SEID")?,
            v4: r.when(flags & 0x02 != 0, v4)?,
            v6: r.when(flags & 0x01 != 0, v6)?,
        })
    }

    pub(super) fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        out.u8(flag(self.v4.is_some(), 0x02) | flag(self.v6.is_some(), 0x01))?;
        out.u64(self.seid)?;
        put_addresses(self.v4, self.v6, out)
    }
}

/// Who a node is (8.2.38).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeId<'a> {
    /// By IPv4 address.
    V4(Ipv4Addr),
    /// By IPv6 address.
    V6(Ipv6Addr),
    /// By name, in the labels of DNS.
    Name(&'a [u8]),
}

impl<'a> NodeId<'a> {
    pub(super) fn read(r: &mut Reader<'a>) -> Result<Self, WireError> {
        let at = r.at();
        match r.u8("a node ID")? & 0x0f {
            0 => v4(r).map(Self::V4),
            1 => v6(r).map(Self::V6),
            2 => Ok(Self::Name(r.take(r.rest().len(), "a name")?)),
            other => Err(WireError::new(
                at,
                format!("node ID of type {other}"),
                "0, 1 or 2 (IPv4, IPv6, name)",
            )),
        }
    }

    pub(super) fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        match self {
            Self::V4(a) => {
                out.u8(0)?;
                out.put(&a.octets())
            }
            Self::V6(a) => {
                out.u8(1)?;
                out.put(&a.octets())
            }
            Self::Name(name) => {
                out.u8(2)?;
                out.put(name)
            }
        }
    }
}

/// A UE's addresses (8.2.62).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UeIp {
    /// IPv4.
    pub v4: Option<Ipv4Addr>,
    /// IPv6: the prefix.
    pub v6: Option<Ipv6Addr>,
    /// True where packets to it are meant, false for packets from it.
    pub destination: bool,
    /// Bits of a delegated prefix.
    pub delegated: Option<u8>,
    /// The user plane function is to choose an IPv4 address.
    pub choose_v4: bool,
    /// The user plane function is to choose an IPv6 prefix.
    pub choose_v6: bool,
    /// Length of the prefix where it is not 64.
    pub prefix: Option<u8>,
}

impl UeIp {
    pub(super) fn read(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let flags = r.u8("a UE IP address")?;
        Ok(Self {
            v4: r.when(flags & 0x02 != 0, v4)?,
            v6: r.when(flags & 0x01 != 0, v6)?,
            destination: flags & 0x04 != 0,
            delegated: r.when(flags & 0x08 != 0, |r| r.u8("prefix delegation bits"))?,
            choose_v4: flags & 0x10 != 0,
            choose_v6: flags & 0x20 != 0,
            prefix: r.when(flags & 0x40 != 0, |r| r.u8("a prefix length"))?,
        })
    }

    pub(super) fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        out.u8(flag(self.v6.is_some(), 0x01)
            | flag(self.v4.is_some(), 0x02)
            | flag(self.destination, 0x04)
            | flag(self.delegated.is_some(), 0x08)
            | flag(self.choose_v4, 0x10)
            | flag(self.choose_v6, 0x20)
            | flag(self.prefix.is_some(), 0x40))?;
        put_addresses(self.v4, self.v6, out)?;
        self.delegated.map_or(Ok(()), |n| out.u8(n))?;
        self.prefix.map_or(Ok(()), |n| out.u8(n))
    }
}

/// What goes around a packet that is forwarded (outer header creation, 8.2.56). VLAN tags are passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OuterHeader {
    /// Which headers, by bits: 0x0100 and 0x0200 are GTP-U over IPv4 and IPv6.
    pub description: u16,
    /// The tunnel, with GTP-U.
    pub teid: Option<Teid>,
    /// The peer's IPv4 address.
    pub v4: Option<Ipv4Addr>,
    /// The peer's IPv6 address.
    pub v6: Option<Ipv6Addr>,
    /// The peer's port, with UDP and no GTP-U.
    pub port: Option<u16>,
}

impl OuterHeader {
    const GTPU: u16 = 0x0300;
    const V4: u16 = 0x1500;
    const V6: u16 = 0x2a00;
    const UDP: u16 = 0x0c00;

    /// GTP-U to this IPv4 peer.
    pub const fn gtpu(teid: Teid, peer: Ipv4Addr) -> Self {
        Self {
            description: 0x0100,
            teid: Some(teid),
            v4: Some(peer),
            v6: None,
            port: None,
        }
    }

    pub(super) fn read(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let description = r.u16("an outer header")?;
        let has = |bits| description & bits != 0;
        Ok(Self {
            description,
            teid: r.when(has(Self::GTPU), |r| r.u32("a TEID").map(Teid))?,
            v4: r.when(has(Self::V4), v4)?,
            v6: r.when(has(Self::V6), v6)?,
            port: r.when(has(Self::UDP), |r| r.u16("a port"))?,
        })
    }

    pub(super) fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        let consistent = (self.description & Self::GTPU != 0) == self.teid.is_some()
            && (self.description & Self::V4 != 0) == self.v4.is_some()
            && (self.description & Self::V6 != 0) == self.v6.is_some()
            && (self.description & Self::UDP != 0) == self.port.is_some();
        if !consistent {
            return Err(WireError::new(
                out.len(),
                format!("description {:#06x} of {self:?}", self.description),
                "a bit for each field",
            ));
        }
        // No tags are written, so their bits must not be either.
        fits(out.len(), u64::from(self.description), 14)?;
        out.u16(self.description)?;
        self.teid.map_or(Ok(()), |t| out.u32(t.0))?;
        put_addresses(self.v4, self.v6, out)?;
        self.port.map_or(Ok(()), |p| out.u16(p))
    }
}
