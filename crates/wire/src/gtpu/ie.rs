//! Information elements: what the messages that carry no user's packet have as payload (TS 29.281, 8).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use slackwater_core::Teid;

use crate::WireError;
use crate::octets::{Reader, Writer};

const RECOVERY: u8 = 14;
const TEID_DATA: u8 = 16;
const PEER_ADDRESS: u8 = 133;
const HEADER_TYPES: u8 = 141;
const PRIVATE: u8 = 255;

/// One element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element<'a> {
    /// Restart counter; 0 and ignored in GTP-U (8.2).
    Recovery(u8),
    /// The tunnel endpoint that an error indication is about (8.3).
    TeidData(Teid),
    /// The address to which the message in question was sent (8.4).
    PeerAddress(IpAddr),
    /// Types of extension header that the sender knows (8.5).
    HeaderTypes(&'a [u8]),
    /// A vendor's own (8.6).
    Private {
        /// Number of the enterprise (IANA, private enterprise numbers; 16 bits of it here).
        vendor: u16,
        /// What it says.
        value: &'a [u8],
    },
    /// Any other of type, length, value.
    Other {
        /// Its type, from 128.
        kind: u8,
        /// Its value.
        value: &'a [u8],
    },
}

/// The elements of a message, in their order. After an error comes no more.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    reader: Reader<'a>,
}

impl<'a> Elements<'a> {
    /// Those of [`super::Message::payload`], which begins at `at`.
    pub const fn new(payload: &'a [u8], at: usize) -> Self {
        Self {
            reader: Reader::based(payload, at),
        }
    }

    fn read(&mut self) -> Result<Element<'a>, WireError> {
        let r = &mut self.reader;
        let at = r.at();
        let kind = r.u8("an information element")?;
        match kind {
            RECOVERY => return Ok(Element::Recovery(r.u8("a restart counter")?)),
            TEID_DATA => return Ok(Element::TeidData(Teid(r.u32("a TEID")?))),
            // The length of this one has a single octet.
            HEADER_TYPES => {
                let n = usize::from(r.u8("a number of types")?);
                return Ok(Element::HeaderTypes(r.take(n, "extension header types")?));
            }
            // Below 128 stand elements without length: an unknown one hides the begin of the next.
            0..128 => {
                return Err(WireError::new(
                    at,
                    format!("element {kind}"),
                    "14, 16 or a type from 128",
                ));
            }
            _ => {}
        }
        let n = usize::from(r.u16("a length")?);
        let value_at = r.at();
        let value = r.take(n, "an information element")?;
        let mut inner = Reader::based(value, value_at);
        Ok(match (kind, n) {
            (PEER_ADDRESS, 4) => {
                Element::PeerAddress(Ipv4Addr::from(inner.v4("an address")?).into())
            }
            (PEER_ADDRESS, 16) => {
                Element::PeerAddress(Ipv6Addr::from(inner.v6("an address")?).into())
            }
            (PEER_ADDRESS, _) => {
                return Err(WireError::new(
                    value_at,
                    format!("an address of {n} octets"),
                    "4 or 16",
                ));
            }
            (PRIVATE, _) => Element::Private {
                vendor: inner.u16("an enterprise number")?,
                value: inner.rest(),
            },
            _ => Element::Other { kind, value },
        })
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.rest().is_empty() {
            return None;
        }
        let read = self.read();
        if read.is_err() {
            self.reader = Reader::new(&[]);
        }
        Some(read)
    }
}

/// Writes `elements` to the front of `out`, in ascending type as TS 29.281, 8.1 wants them (the caller's order is
/// kept). Returns the octets written.
///
/// # Errors
/// `out` is too short, or a value is longer than its length field can say.
pub fn write(elements: &[Element<'_>], out: &mut [u8]) -> Result<usize, WireError> {
    let mut out = Writer::new(out);
    for element in elements {
        match *element {
            Element::Recovery(counter) => out.put(&[RECOVERY, counter])?,
            Element::TeidData(teid) => {
                out.u8(TEID_DATA)?;
                out.u32(teid.0)?;
            }
            Element::PeerAddress(address) => {
                out.u8(PEER_ADDRESS)?;
                match address {
                    IpAddr::V4(a) => {
                        out.u16(4)?;
                        out.put(&a.octets())?;
                    }
                    IpAddr::V6(a) => {
                        out.u16(16)?;
                        out.put(&a.octets())?;
                    }
                }
            }
            Element::HeaderTypes(kinds) => {
                let n = length(kinds.len(), 255, out.len())?;
                out.put(&[HEADER_TYPES, n as u8])?;
                out.put(kinds)?;
            }
            Element::Private { vendor, value } => {
                out.u8(PRIVATE)?;
                out.u16(length(value.len() + 2, 65535, out.len())?)?;
                out.u16(vendor)?;
                out.put(value)?;
            }
            Element::Other { kind, value } => {
                if kind < 128 {
                    return Err(WireError::new(
                        out.len(),
                        format!("element {kind}"),
                        "a type from 128, which has a length",
                    ));
                }
                out.u8(kind)?;
                out.u16(length(value.len(), 65535, out.len())?)?;
                out.put(value)?;
            }
        }
    }
    Ok(out.len())
}

fn length(n: usize, most: usize, at: usize) -> Result<u16, WireError> {
    if n <= most {
        return Ok(n as u16);
    }
    Err(WireError::new(
        at,
        format!("{n} octets"),
        format!("at most {most}"),
    ))
}
