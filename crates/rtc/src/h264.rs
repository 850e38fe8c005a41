//! H.264 by `OpenH264`: an encoder that follows the controller's target at every frame, and a decoder that counts.
//!
//! Packets are those of RFC 6184 in its mode 1: a NAL unit a packet, several small ones in one (STAP-A), or a large one in
//! several (FU-A). See docs/design/0101.

mod decoder;
mod encoder;

pub use decoder::{Decoder, Sink};
pub use encoder::Encoder;

/// The most macroblocks of a picture, at the level that `profile-level-id=42e01f` names in signalling: constrained baseline,
/// 3.1 (RFC 6184, 8.1; H.264, table A-1). A picture of 1280x720 has as many.
pub const MOST_MACROBLOCKS: usize = 3600;
/// The most macroblocks a second at that level: 1280x720 at 30 pictures a second.
pub const MOST_MACROBLOCKS_A_SECOND: f64 = 108_000.0;
/// The greatest rate of that level, in bit/s.
pub const MOST_RATE: u32 = 14_000_000;
