//! Laws: who passes, who is marked, who is dropped.

pub mod codel;
mod none;
pub mod pi2;
pub mod pie;
pub mod ramp;

pub use codel::{Codel, CodelConfig};
pub use none::NoLaw;
pub use pi2::{Pi2, Pi2Config};
pub use pie::{Pie, PieConfig};
pub use ramp::{Ramp, RampConfig, RampDelay, RampMode, RampOthers, RampTarget};
