//! Sizes of a full packet, and rates in them.

/// Sizes of a full packet. The window counts payload, the reported rate IP bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// Payload bytes.
    pub(super) mss: u32,
    /// IP bytes.
    pub(super) wire: u32,
}

impl Sizes {
    /// `rate` payload bytes per second as bit/s of IP bytes.
    pub(super) fn ip_rate(self, rate: f64) -> f64 {
        rate * 8.0 * (f64::from(self.wire) / f64::from(self.mss))
    }

    /// Segments that `rate` bit/s fills in `seconds`.
    pub(super) fn segments(self, rate: f64, seconds: f64) -> f64 {
        rate * seconds / (8.0 * f64::from(self.wire))
    }
}
