//! What an edge function is to do with a session or flow: an element of our own, where the defaults do not suffice.
//!
//! It stands in a QER or a PDI as an element of type [`EDGE`] with [`ENTERPRISE`] as its vendor, and holds options of
//! one octet type, one octet length and value. Options that are not known are passed over.

use crate::WireError;
use crate::gtpu::report::ENTERPRISE;
use crate::octets::{Reader, Writer};

/// Types with the highest bit are vendors' own (TS 29.244, 8.1.1).
pub(super) const EDGE: u16 = 0x8001;

/// Queue management at the user plane function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aqm {
    /// None.
    Off,
    /// A queue of its own before the radio network's.
    Shaper,
    /// Drops and marks without a queue.
    Direct,
    /// The shaper with L4S marking.
    L4s,
}

/// What is done to acknowledgments or packets to keep frames apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// Nothing.
    Off,
    /// Two acknowledgments, as the paper has it.
    Paper,
    /// The right edge of the window.
    Credit,
    /// Packets wait; acknowledgments are left alone.
    Hold,
}

/// The options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeOptions {
    /// Option 1 (u8).
    pub aqm: Option<Aqm>,
    /// Option 2 (u16): target queue delay as a share of the path's round-trip time, in 1/1000.
    pub target_milli: Option<u16>,
    /// Option 3 (u8).
    pub acks: Option<Acks>,
    /// Option 4 (empty), in a PDI: its tunnel carries reports of many sessions (profile C).
    pub reports: bool,
}

impl EdgeOptions {
    pub(super) fn read(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let mut options = Self::default();
        while !r.rest().is_empty() {
            let kind = r.u8("an option")?;
            let n = usize::from(r.u8("an option's length")?);
            let value = r.take(n, "an option")?;
            match (kind, value) {
                (1, [v]) => {
                    options.aqm = match v {
                        0 => Some(Aqm::Off),
                        1 => Some(Aqm::Shaper),
                        2 => Some(Aqm::Direct),
                        3 => Some(Aqm::L4s),
                        _ => None,
                    }
                }
                (2, [a, b]) => options.target_milli = Some(u16::from_be_bytes([*a, *b])),
                (3, [v]) => {
                    options.acks = match v {
                        0 => Some(Acks::Off),
                        1 => Some(Acks::Paper),
                        2 => Some(Acks::Credit),
                        3 => Some(Acks::Hold),
                        _ => None,
                    }
                }
                (4, _) => options.reports = true,
                _ => {}
            }
        }
        Ok(options)
    }

    /// The element with its frame; none where no option is set.
    pub(super) fn put(self, out: &mut Writer<'_>) -> Result<(), WireError> {
        if self == Self::default() {
            return Ok(());
        }
        super::frame::group(out, EDGE, |out| {
            out.u16(ENTERPRISE)?;
            if let Some(aqm) = self.aqm {
                out.put(&[1, 1, aqm as u8])?;
            }
            if let Some(milli) = self.target_milli {
                out.put(&[2, 2])?;
                out.u16(milli)?;
            }
            if let Some(acks) = self.acks {
                out.put(&[3, 1, acks as u8])?;
            }
            if self.reports {
                out.put(&[4, 0])?;
            }
            Ok(())
        })
    }
}
