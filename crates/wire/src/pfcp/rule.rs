//! Rules: which packets are meant (PDR) and where they go (FAR) (TS 29.244, 7.5.2 to 7.5.4).
//!
//! One struct serves creation and update; an update leaves out what stays as it was. What a creation must have, it is
//! refused without.

use slackwater_core::Qfi;

use super::address::{FTeid, OuterHeader, UeIp};
use super::edge::{EDGE, EdgeOptions};
use super::frame::{frames, group};
use super::number as e;
use super::{ElementError, opt};
use crate::WireError;
use crate::gtpu::report::ENTERPRISE;
use crate::octets::{Reader, Writer, fits};

/// Interfaces of PDIs and forwarding (TS 29.244, 8.2.2 and 8.2.24).
pub mod interface {
    /// Towards the radio network.
    pub const ACCESS: u8 = 0;
    /// Towards the data network or another user plane function.
    pub const CORE: u8 = 1;
    /// The data network itself, or a local one.
    pub const SGI_LAN: u8 = 2;
    /// The control plane.
    pub const CONTROL: u8 = 3;
}

/// What a FAR does (TS 29.244, 8.2.26). Bits of the first octet; those of the second octet follow from 0x100.
pub mod action {
    /// Drop.
    pub const DROP: u16 = 0x01;
    /// Forward.
    pub const FORWARD: u16 = 0x02;
    /// Keep for later.
    pub const BUFFER: u16 = 0x04;
    /// Tell the control plane that something came.
    pub const NOTIFY: u16 = 0x08;
    /// Send a copy as well.
    pub const DUPLICATE: u16 = 0x10;
}

/// Packet detection rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pdr<'a> {
    /// Its number within the session.
    pub id: u16,
    /// Rules of lower value come first.
    pub precedence: Option<u32>,
    /// The packets.
    pub pdi: Option<Pdi<'a>>,
    /// Which outer headers are removed: 0 GTP-U/UDP/IPv4, 1 over IPv6, 6 any GTP-U.
    pub outer_removal: Option<u8>,
    /// The FAR.
    pub far: Option<u32>,
    /// The QERs; all apply.
    pub qers: Vec<u32>,
    /// The URRs; all count.
    pub urrs: Vec<u32>,
    /// The first element that changes what is to be done and is not read here, by its type. Never written.
    pub beyond: Option<u16>,
}

/// Packet detection information.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pdi<'a> {
    /// Where the packets come from ([`interface`]).
    pub source: u8,
    /// The tunnel that they come through.
    pub tunnel: Option<FTeid>,
    /// The network that they come from.
    pub network: Option<&'a [u8]>,
    /// The UE.
    pub ue: Option<UeIp>,
    /// Filters, of which one must match where there are any.
    pub filters: Vec<SdfFilter<'a>>,
    /// `QoS` flows.
    pub qfis: Vec<Qfi>,
    /// Ours: whether the tunnel carries reports.
    pub edge: EdgeOptions,
}

/// A filter of a service's packets (TS 29.244, 8.2.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SdfFilter<'a> {
    /// As RFC 6733's `IPFilterRule`: "permit out ip from any to assigned".
    pub description: Option<&'a [u8]>,
    /// Type of service or traffic class and its mask.
    pub tos: Option<u16>,
    /// Security parameter index of `IPsec`.
    pub spi: Option<u32>,
    /// IPv6 flow label, 24 bits.
    pub flow_label: Option<u32>,
    /// Number of the filter, by which other rules mean it.
    pub id: Option<u32>,
}

/// Forwarding action rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Far<'a> {
    /// Its number within the session.
    pub id: u32,
    /// What to do ([`action`]).
    pub action: Option<u16>,
    /// Where to.
    pub forwarding: Option<Forwarding<'a>>,
    /// The BAR, where packets are buffered.
    pub bar: Option<u8>,
    /// The first element that changes what is to be done and is not read here, by its type. Never written.
    pub beyond: Option<u16>,
}

/// Forwarding parameters. In an update that changes the tunnel, the UE has moved to another cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forwarding<'a> {
    /// Where to ([`interface`]).
    pub destination: Option<u8>,
    /// Into which network.
    pub network: Option<&'a [u8]>,
    /// In which tunnel.
    pub outer: Option<OuterHeader>,
    /// DSCP of the outer header, as a traffic class and its mask (transport level marking, TS 29.244, 8.2.12).
    pub marking: Option<(u8, u8)>,
    /// An end marker is to be sent on the old tunnel (flag SNDEM, TS 29.244, 8.2.31; only in an update).
    pub end_marker: bool,
}

impl<'a> Pdr<'a> {
    pub(super) fn read(r: &Reader<'a>, create: bool) -> Result<Self, ElementError> {
        let mut pdr = Self::default();
        let mut id = None;
        let mut inside = None;
        for raw in frames(*r, e::CREATE_PDR) {
            let raw = raw?;
            match raw.kind {
                e::PDR_ID => id = Some(raw.leaf(|v| v.u16("a PDR ID"))?),
                e::PRECEDENCE => pdr.precedence = Some(raw.leaf(|v| v.u32("a precedence"))?),
                e::PDI => {
                    let (pdi, beyond) = Pdi::read(&raw.value)?;
                    pdr.pdi = Some(pdi);
                    inside = beyond;
                }
                e::OUTER_REMOVAL => {
                    pdr.outer_removal = Some(raw.leaf(|v| v.u8("an outer header removal"))?);
                }
                e::FAR_ID => pdr.far = Some(raw.leaf(|v| v.u32("a FAR ID"))?),
                e::QER_ID => pdr.qers.push(raw.leaf(|v| v.u32("a QER ID"))?),
                e::URR_ID => pdr.urrs.push(raw.leaf(|v| v.u32("a URR ID"))?),
                e::ACTIVATE_PREDEFINED => pdr.beyond = pdr.beyond.or(Some(raw.kind)),
                _ => {}
            }
        }
        pdr.beyond = pdr.beyond.or(inside);
        let missing = |kind, what| ElementError::missing(r, kind, what);
        pdr.id = id.ok_or_else(|| missing(e::PDR_ID, "a PDR ID"))?;
        if create && pdr.precedence.is_none() {
            return Err(missing(e::PRECEDENCE, "a precedence"));
        }
        if create && pdr.pdi.is_none() {
            return Err(missing(e::PDI, "a PDI"));
        }
        Ok(pdr)
    }

    pub(super) fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        writable(out, self.beyond)?;
        group(out, e::PDR_ID, |o| o.u16(self.id))?;
        opt(out, self.precedence, |o, v| {
            group(o, e::PRECEDENCE, |o| o.u32(v))
        })?;
        if let Some(pdi) = &self.pdi {
            group(out, e::PDI, |o| pdi.put(o))?;
        }
        opt(out, self.outer_removal, |o, v| {
            group(o, e::OUTER_REMOVAL, |o| o.u8(v))
        })?;
        opt(out, self.far, |o, v| group(o, e::FAR_ID, |o| o.u32(v)))?;
        for urr in &self.urrs {
            group(out, e::URR_ID, |o| o.u32(*urr))?;
        }
        for qer in &self.qers {
            group(out, e::QER_ID, |o| o.u32(*qer))?;
        }
        Ok(())
    }
}

impl<'a> Pdi<'a> {
    /// The information, and the first element in it that this does not read and that narrows the packets down.
    fn read(r: &Reader<'a>) -> Result<(Self, Option<u16>), ElementError> {
        let mut pdi = Self::default();
        let (mut source, mut beyond) = (None, None);
        for raw in frames(*r, e::PDI) {
            let raw = raw?;
            match raw.kind {
                e::SOURCE => source = Some(raw.leaf(|v| v.u8("a source interface"))? & 0x0f),
                e::F_TEID => pdi.tunnel = Some(raw.leaf(FTeid::read)?),
                e::NETWORK => pdi.network = Some(raw.value.rest()),
                e::UE_IP => pdi.ue = Some(raw.leaf(UeIp::read)?),
                e::SDF_FILTER => pdi.filters.push(raw.leaf(SdfFilter::read)?),
                e::QFI => pdi.qfis.push(Qfi(raw.leaf(|v| v.u8("a QFI"))? & 0x3f)),
                EDGE if raw.vendor == Some(ENTERPRISE) => pdi.edge = raw.leaf(EdgeOptions::read)?,
                e::APPLICATION | e::ETHERNET_FILTER | e::TRAFFIC_ENDPOINT => {
                    beyond = beyond.or(Some(raw.kind));
                }
                _ => {}
            }
        }
        pdi.source =
            source.ok_or_else(|| ElementError::missing(r, e::SOURCE, "a source interface"))?;
        Ok((pdi, beyond))
    }

    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        group(out, e::SOURCE, |o| nibble(o, self.source))?;
        opt(out, self.tunnel, |o, t| group(o, e::F_TEID, |o| t.put(o)))?;
        opt(out, self.network, |o, n| group(o, e::NETWORK, |o| o.put(n)))?;
        opt(out, self.ue, |o, ue| group(o, e::UE_IP, |o| ue.put(o)))?;
        for filter in &self.filters {
            group(out, e::SDF_FILTER, |o| filter.put(o))?;
        }
        for qfi in &self.qfis {
            put_qfi(out, *qfi)?;
        }
        self.edge.put(out)
    }
}

impl<'a> SdfFilter<'a> {
    fn read(r: &mut Reader<'a>) -> Result<Self, WireError> {
        let flags = r.u8("an SDF filter")?;
        r.u8("an SDF filter")?;
        Ok(Self {
            description: r.when(flags & 0x01 != 0, |r| {
                let n = usize::from(r.u16("a length")?);
                r.take(n, "a flow description")
            })?,
            tos: r.when(flags & 0x02 != 0, |r| r.u16("a traffic class"))?,
            spi: r.when(flags & 0x04 != 0, |r| r.u32("an SPI"))?,
            flow_label: r.when(flags & 0x08 != 0, |r| r.u24("a flow label"))?,
            id: r.when(flags & 0x10 != 0, |r| r.u32("a filter ID"))?,
        })
    }

    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        let flags = [
            self.description.is_some(),
            self.tos.is_some(),
            self.spi.is_some(),
            self.flow_label.is_some(),
            self.id.is_some(),
        ];
        out.u8((0..5).fold(0, |octet, i| octet | u8::from(flags[i]) << i))?;
        out.u8(0)?;
        if let Some(text) = self.description {
            fits(out.len(), text.len() as u64, 16)?;
            out.u16(text.len() as u16)?;
            out.put(text)?;
        }
        opt(out, self.tos, Writer::u16)?;
        opt(out, self.spi, Writer::u32)?;
        opt(out, self.flow_label, Writer::u24)?;
        opt(out, self.id, Writer::u32)
    }
}

impl<'a> Far<'a> {
    /// Rule `id`: forward to `destination` ([`interface`]), in the tunnel `outer` where there is one.
    pub fn forward(id: u32, destination: u8, outer: Option<OuterHeader>) -> Self {
        Self {
            id,
            action: Some(action::FORWARD),
            forwarding: Some(Forwarding {
                destination: Some(destination),
                outer,
                ..Forwarding::default()
            }),
            ..Self::default()
        }
    }

    pub(super) fn read(r: &Reader<'a>, create: bool) -> Result<Self, ElementError> {
        let mut far = Self::default();
        let mut id = None;
        for raw in frames(*r, e::CREATE_FAR) {
            let raw = raw?;
            match raw.kind {
                e::FAR_ID => id = Some(raw.leaf(|v| v.u32("a FAR ID"))?),
                // One octet, or two since Release 16.
                e::ACTION => {
                    far.action = Some(raw.leaf(|v| {
                        let first = v.u8("an action")?;
                        Ok(u16::from_le_bytes([first, v.u8("an action").unwrap_or(0)]))
                    })?);
                }
                e::FORWARDING | e::UPDATE_FORWARDING => {
                    let (forwarding, beyond) = Forwarding::read(&raw.value)?;
                    far.forwarding = Some(forwarding);
                    far.beyond = far.beyond.or(beyond);
                }
                e::BAR_ID => far.bar = Some(raw.leaf(|v| v.u8("a BAR ID"))?),
                e::DUPLICATING => far.beyond = far.beyond.or(Some(raw.kind)),
                _ => {}
            }
        }
        far.id = id.ok_or_else(|| ElementError::missing(r, e::FAR_ID, "a FAR ID"))?;
        if create && far.action.is_none() {
            return Err(ElementError::missing(r, e::ACTION, "an action"));
        }
        Ok(far)
    }

    pub(super) fn put(&self, create: bool, out: &mut Writer<'_>) -> Result<(), WireError> {
        writable(out, self.beyond)?;
        group(out, e::FAR_ID, |o| o.u32(self.id))?;
        opt(out, self.action, |o, v| {
            group(o, e::ACTION, |o| match v.to_le_bytes() {
                [first, 0] => o.u8(first),
                both => o.put(&both),
            })
        })?;
        let kind = if create {
            e::FORWARDING
        } else {
            e::UPDATE_FORWARDING
        };
        opt(out, self.forwarding, |o, f| {
            group(o, kind, |o| f.put(create, o))
        })?;
        opt(out, self.bar, |o, v| group(o, e::BAR_ID, |o| o.u8(v)))
    }
}

impl<'a> Forwarding<'a> {
    /// The parameters, and the first element in them that this does not read and that changes packets.
    fn read(r: &Reader<'a>) -> Result<(Self, Option<u16>), ElementError> {
        let mut forwarding = Self::default();
        let mut beyond = None;
        for raw in frames(*r, e::FORWARDING) {
            let raw = raw?;
            match raw.kind {
                e::DESTINATION => {
                    let octet = raw.leaf(|v| v.u8("a destination interface"))?;
                    forwarding.destination = Some(octet & 0x0f);
                }
                e::NETWORK => forwarding.network = Some(raw.value.rest()),
                e::OUTER_CREATION => forwarding.outer = Some(raw.leaf(OuterHeader::read)?),
                e::MARKING => {
                    forwarding.marking =
                        Some(raw.leaf(|v| Ok((v.u8("a traffic class")?, v.u8("a mask")?)))?);
                }
                e::REQUEST_FLAGS => {
                    forwarding.end_marker = raw.leaf(|v| v.u8("flags"))? & 0x02 != 0;
                }
                e::REDIRECT | e::POLICY | e::ENRICHMENT => beyond = beyond.or(Some(raw.kind)),
                _ => {}
            }
        }
        Ok((forwarding, beyond))
    }

    fn put(&self, create: bool, out: &mut Writer<'_>) -> Result<(), WireError> {
        opt(out, self.destination, |o, v| {
            group(o, e::DESTINATION, |o| nibble(o, v))
        })?;
        opt(out, self.network, |o, n| group(o, e::NETWORK, |o| o.put(n)))?;
        opt(out, self.outer, |o, h| {
            group(o, e::OUTER_CREATION, |o| h.put(o))
        })?;
        opt(out, self.marking, |o, (class, mask)| {
            group(o, e::MARKING, |o| o.put(&[class, mask]))
        })?;
        match (self.end_marker, create) {
            (false, _) => Ok(()),
            (true, false) => group(out, e::REQUEST_FLAGS, |o| o.u8(0x02)),
            (true, true) => Err(WireError::new(
                out.len(),
                "an end marker in a new rule",
                "one only in an update",
            )),
        }
    }
}

pub(super) fn put_qfi(out: &mut Writer<'_>, qfi: Qfi) -> Result<(), WireError> {
    group(out, e::QFI, |o| {
        fits(o.len(), u64::from(qfi.0), 6)?;
        o.u8(qfi.0)
    })
}

fn nibble(out: &mut Writer<'_>, value: u8) -> Result<(), WireError> {
    fits(out.len(), u64::from(value), 4)?;
    out.u8(value)
}

/// An error where a rule holds an element that was passed over: what is written would not say the same.
pub(super) fn writable(out: &Writer<'_>, beyond: Option<u16>) -> Result<(), WireError> {
    beyond.map_or(Ok(()), |kind| {
        Err(WireError::new(
            out.len(),
            format!("a rule with element {kind}"),
            "elements that can be written",
        ))
    })
}
