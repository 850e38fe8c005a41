//! The state of single senders in the kernel.

use std::os::fd::{AsRawFd as _, BorrowedFd};

use libbpf_rs::{MapCore as _, MapFlags, MapHandle};

use super::skel;

/// The state of single senders.
#[derive(Debug)]
pub struct Senders(MapHandle);

impl Senders {
    pub(super) const fn new(socks: MapHandle) -> Self {
        Self(socks)
    }

    /// Appends the internals of the sender behind `socket` under the names of `control::phy::xrc`'s snapshot; nothing
    /// where it is not under XRC.
    pub fn internals(&self, socket: BorrowedFd<'_>, out: &mut Vec<(&'static str, f64)>) {
        let key = socket.as_raw_fd().to_ne_bytes();
        let Ok(Some(bytes)) = self.0.lookup(&key, MapFlags::ANY) else {
            return;
        };
        let Some(x) = sender(&bytes) else { return };
        let q16 = |v: u64| v as f64 / 65536.0;
        let seconds = |us: u64| us as f64 * 1e-6;
        out.extend([
            ("cwnd", q16(x.cwnd)),
            ("mode", f64::from(x.mode)),
            ("twnd", q16(x.twnd)),
            ("alpha", q16(x.alpha)),
            ("R_exp", x.rate_bps as f64),
            ("HoL_exp", seconds(x.hol_us)),
            ("shared", f64::from(x.shared)),
            ("sigma", seconds(x.sigma_us)),
            ("RTT_min", seconds(x.min_rtt_us)),
            ("jitter", seconds(x.jitter_q8 >> 8)),
            ("back", seconds(x.back_q8 >> 8)),
            ("gamma", q16(x.gamma)),
            ("hi", f64::from(x.hi)),
            ("verdicts", x.internet.verdicts as f64),
            ("rounds", x.rounds as f64),
            ("reports", x.accepted as f64),
            ("reports_stale", x.refused as f64),
        ]);
        // No threshold yet is no value.
        if x.ssthresh < MAX_WINDOW {
            out.push(("ssthresh", q16(x.ssthresh)));
        }
    }
}

/// `XRC_MAX_WINDOW`.
const MAX_WINDOW: u64 = 1 << 36;

/// The sender at the start of a socket's storage.
#[expect(
    unsafe_code,
    reason = "a plain copy out of the kernel's bytes, whose length is checked"
)]
fn sender(bytes: &[u8]) -> Option<skel::types::xrc> {
    // SAFETY: `types::xrc` is made of integers, of which every pattern is a value, and the bytes are enough.
    (bytes.len() >= size_of::<skel::types::xrc>())
        .then(|| unsafe { bytes.as_ptr().cast::<skel::types::xrc>().read_unaligned() })
}
