//! An LTE and NR cell, slot by slot: PHY, MAC with HARQ, RLC, PDCP and SDAP, generic over the packet it carries.

pub mod cell;
pub mod mac;
pub mod out;
pub mod pdcp;
pub mod phy;
mod radio;
mod rat;
mod ring;
pub mod rlc;
pub mod sdap;
pub mod tdd;

pub use cell::Cell;
pub use out::{CellOut, Delivered, Marked};
