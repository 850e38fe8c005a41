//! Frames of information elements (TS 29.244, 8.1.1), and groups of them.

use super::ElementError;
use crate::WireError;
use crate::octets::{Reader, Writer, fits};

/// An element's frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Raw<'a> {
    pub(super) kind: u16,
    pub(super) vendor: Option<u16>,
    pub(super) value: Reader<'a>,
}

impl<'a> Raw<'a> {
    /// Reads the value; where that fails, this element is the offending one.
    pub(super) fn leaf<T>(
        &self,
        read: impl FnOnce(&mut Reader<'a>) -> Result<T, WireError>,
    ) -> Result<T, ElementError> {
        read(&mut self.value.clone()).map_err(|error| ElementError::length(self.kind, error))
    }
}

/// The frames of the elements in `r`, the inside of an element of type `group`; after an error comes no more.
pub(super) fn frames(
    mut r: Reader<'_>,
    group: u16,
) -> impl Iterator<Item = Result<Raw<'_>, ElementError>> {
    core::iter::from_fn(move || {
        if r.rest().is_empty() {
            return None;
        }
        let raw = frame(&mut r).map_err(|error| ElementError::length(group, error));
        if raw.is_err() {
            r = Reader::new(&[]);
        }
        Some(raw)
    })
}

/// The frame at the start of `r`.
pub(super) fn frame<'a>(r: &mut Reader<'a>) -> Result<Raw<'a>, WireError> {
    let kind = r.u16("an element's type")?;
    let n = usize::from(r.u16("an element's length")?);
    let at = r.at();
    let mut value = Reader::based(r.take(n, "an element")?, at);
    let vendor = value.when(kind & 0x8000 != 0, |v| v.u16("a vendor"))?;
    Ok(Raw {
        kind,
        vendor,
        value,
    })
}

/// Writes an element around what `inside` writes.
pub(super) fn group(
    out: &mut Writer<'_>,
    kind: u16,
    inside: impl FnOnce(&mut Writer<'_>) -> Result<(), WireError>,
) -> Result<(), WireError> {
    out.u16(kind)?;
    let at = out.len();
    out.u16(0)?;
    inside(out)?;
    let length = out.len() - at - 2;
    fits(at, length as u64, 16)?;
    out.patch(at, &(length as u16).to_be_bytes());
    Ok(())
}

/// The one element of type `kind` in the group `raw`.
pub(super) fn only<'a, T>(
    group: &Raw<'a>,
    kind: u16,
    what: &str,
    read: impl Fn(&mut Reader<'a>) -> Result<T, WireError>,
) -> Result<T, ElementError> {
    for raw in frames(group.value, group.kind) {
        let raw = raw?;
        if raw.kind == kind {
            return raw.leaf(read);
        }
    }
    Err(ElementError::missing(&group.value, kind, what))
}

/// The values of all elements of type `kind` in the group `raw`.
pub(super) fn all<'a, T>(
    group: &Raw<'a>,
    kind: u16,
    read: impl Fn(&mut Reader<'a>) -> Result<T, WireError>,
) -> Result<Vec<T>, ElementError> {
    let mut values = Vec::new();
    for raw in frames(group.value, group.kind) {
        let raw = raw?;
        if raw.kind == kind {
            values.push(raw.leaf(&read)?);
        }
    }
    Ok(values)
}
