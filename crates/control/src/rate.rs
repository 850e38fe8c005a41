//! Rate-based control: a model of the path sets the pacing rate, and the window only bounds the error.

pub mod bbr;
pub mod bbr3;
pub mod copa;
