//! H.264 by `OpenH264`: an encoder that follows the controller's target at every frame, and a decoder that counts.
//!
//! Packets are those of RFC 6184 in its mode 1: a NAL unit a packet, several small ones in one (STAP-A), or a large one in
//! several (FU-A). See docs/design/0101.

mod decoder;
mod encoder;

pub use decoder::{Decoder, Sink};
pub use encoder::Encoder;

/// The profile and level that `profile-level-id=42e01f` names (RFC 6184, 8.1): constrained baseline, level 3.1. It has so
/// many macroblocks in a picture (H.264, table A-1: 1280x720).
pub const MOST_MACROBLOCKS: usize = 3600;
