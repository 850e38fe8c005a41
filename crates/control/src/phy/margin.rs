//! Margins of rule v2: the rule takes them, and so does the guard of a bottleneck elsewhere.

/// Margin of rule v2 with transport blocks, in standard deviations (a study's grid on training traces).
pub const Z_PHY: f64 = 0.5;
/// The same without: rates come from ACKs.
pub const Z_ACKS: f64 = 1.0;
/// Time that rule v2 adds to the least RTT, seconds.
pub const Q: f64 = 0.008;
