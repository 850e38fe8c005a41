//! The cell.

pub mod phy;
