//! H.264 by `OpenH264`: an encoder that follows the controller's target at every frame, and a decoder that counts.
//!
//! Packets are those of RFC 6184 in its mode 1: a NAL unit a packet, several small ones in one (STAP-A), or a large one in
//! several (FU-A). See docs/design/0101.

mod decoder;
mod encoder;

pub use decoder::{Decoder, Sink};
pub use encoder::Encoder;
