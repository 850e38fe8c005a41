//! Laws: who passes, who is marked, who is dropped.

pub mod codel;
mod none;

pub use codel::{Codel, CodelConfig};
pub use none::NoLaw;
