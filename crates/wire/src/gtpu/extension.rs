//! Extension headers (TS 29.281, 5.2): a chain in which each names the type of the next.

use crate::WireError;
use crate::octets::{Reader, Writer};

/// Service class indicator (TS 29.281, 5.2.2.3).
pub const SERVICE_CLASS: u8 = 0x20;
/// UDP port of the message that an error indication answers (TS 29.281, 5.2.2.1).
pub const UDP_PORT: u8 = 0x40;
/// NR RAN container: an NR-U frame ([`super::nru`]).
pub const NR_RAN_CONTAINER: u8 = 0x84;
/// PDU session container ([`super::psc`]).
pub const PDU_SESSION_CONTAINER: u8 = 0x85;
/// PDCP PDU number (TS 29.281, 5.2.2.2).
pub const PDCP_PDU_NUMBER: u8 = 0xc0;

/// The longest content: the length octet counts four octets each, of which two frame the content.
pub const MAX_CONTENT: usize = 255 * 4 - 2;

/// Who reads a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The tunnel ends here.
    Endpoint,
    /// A node that passes it on.
    Intermediate,
}

/// One extension header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension<'a> {
    /// Its type.
    pub kind: u8,
    /// What stands between the length octet and the type of the next, padding included.
    pub content: &'a [u8],
    /// Where the content begins in the message.
    pub at: usize,
}

impl Extension<'_> {
    /// True where `role` must not accept the message without understanding this header: bits 8 and 7 of the type
    /// (TS 29.281, figure 5.2.1-2).
    pub const fn must_understand(&self, role: Role) -> bool {
        match role {
            Role::Endpoint => self.kind & 0x80 != 0,
            Role::Intermediate => self.kind >> 6 == 0b11,
        }
    }

    /// True where an intermediate node that does not know this header leaves it out when it passes the message on.
    pub const fn discard_in_passing(&self) -> bool {
        self.kind >> 6 == 0b01
    }
}

/// The chain, header by header.
#[derive(Clone, Debug)]
pub struct Extensions<'a> {
    next: u8,
    reader: Reader<'a>,
}

impl<'a> Extensions<'a> {
    pub(super) const fn new(first: u8, chain: &'a [u8], at: usize) -> Self {
        Self {
            next: first,
            reader: Reader::based(chain, at),
        }
    }
}

impl<'a> Iterator for Extensions<'a> {
    type Item = Extension<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == 0 {
            return None;
        }
        let (content, next) = step(&mut self.reader).ok()?;
        let kind = core::mem::replace(&mut self.next, next);
        Some(Extension {
            kind,
            content,
            at: self.reader.at() - 1 - content.len(),
        })
    }
}

/// One header: its content and the type of the next.
fn step<'a>(reader: &mut Reader<'a>) -> Result<(&'a [u8], u8), WireError> {
    let at = reader.at();
    let units = usize::from(reader.u8("the length of an extension header")?);
    if units == 0 {
        return Err(WireError::new(
            at,
            "an extension header of length 0",
            "at least 1 (times four octets)",
        ));
    }
    let content = reader.take(units * 4 - 2, "an extension header")?;
    Ok((content, reader.u8("the type of the next extension header")?))
}

/// Moves `reader` behind the chain that begins with type `next`.
pub(super) fn skip(mut next: u8, reader: &mut Reader<'_>) -> Result<(), WireError> {
    while next != 0 {
        next = step(reader)?.1;
    }
    Ok(())
}

/// Octets that a content takes with its frame.
pub(super) const fn padded(content: usize) -> usize {
    (content + 2).div_ceil(4) * 4
}

/// Writes the type octet that the place before has left open, then length and content.
pub(super) fn write(kind: u8, content: &[u8], out: &mut Writer<'_>) -> Result<(), WireError> {
    if kind == 0 || content.is_empty() || content.len() > MAX_CONTENT {
        return Err(WireError::new(
            out.len(),
            format!("extension header {kind} of {} octets", content.len()),
            format!("a type from 1 and 1 to {MAX_CONTENT} octets"),
        ));
    }
    let whole = padded(content.len());
    out.u8(kind)?;
    out.u8((whole / 4) as u8)?;
    out.put(content)?;
    out.put(&[0; 3][..whole - 2 - content.len()])
}
