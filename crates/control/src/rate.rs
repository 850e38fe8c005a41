//! Rate-based control: a model of the path sets the pacing rate, and the window only bounds the error.

pub mod bbr;
pub mod bbr3;
pub mod copa;
pub mod pcc;
pub mod verus;

use crate::registry::Entry;

/// The controllers of this family.
pub(crate) const TABLE: &[&[Entry]] = &[
    bbr::ENTRIES,
    bbr3::ENTRIES,
    copa::ENTRIES,
    verus::ENTRIES,
    pcc::vivace::ENTRIES,
    pcc::allegro::ENTRIES,
];
