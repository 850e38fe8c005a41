//! `NewReno`: slow start, additive increase, halving (RFC 5681; RFC 6582 for the host's part).

use slackwater_core::Instant;

use crate::window::{Cwnd, Law};
use crate::{Ack, PathView};

/// Reno's growth and halving, counted as in Linux `tcp_cong.c`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reno;

impl Law for Reno {
    fn name(&self) -> &'static str {
        "reno"
    }

    #[inline]
    fn grow(&mut self, _now: Instant, w: &mut Cwnd, _path: &PathView, ack: &Ack, acked: u32) {
        // A window that was not used up has not been tested (RFC 2861; Linux `tcp_is_cwnd_limited`).
        if ack.cwnd_limited {
            w.reno(acked);
        }
    }
}
