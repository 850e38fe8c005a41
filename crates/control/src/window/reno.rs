//! `NewReno`: slow start, additive increase, halving (RFC 5681; RFC 6582 for the host's part).

use slackwater_core::Instant;

use crate::registry::{AnyController, Entry};
use crate::window::windowed;
use crate::window::{Cwnd, Law};
use crate::{Ack, CongestionEvent, PathView};

/// What the registry knows of them.
pub(crate) const ENTRIES: &[Entry] = &[
    Entry {
        name: "reno",
        aliases: &["newreno", "reno-linux"],
        title: "NewReno",
        about: "NewReno (RFC 5681, RFC 6582) as Linux counts it",
        make: |cfg, p| {
            p.none()?;
            Ok(AnyController::Reno(windowed(Reno, cfg)))
        },
        ..Entry::TRANSPORT
    },
    Entry {
        name: "reno-ns3",
        aliases: &["newreno-ns3"],
        title: "NewReno (ns-3)",
        about: "NewReno as ns-3 counts it: growth per ACK, half the flight on loss",
        make: |cfg, p| {
            p.none()?;
            Ok(AnyController::RenoNs3(windowed(RenoNs3, cfg)))
        },
        ..Entry::TRANSPORT
    },
];

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

/// `NewReno` as ns-3's `TcpNewReno` counts it: growth per ACK, and half of the flight after a loss.
#[derive(Clone, Copy, Debug, Default)]
pub struct RenoNs3;

impl Law for RenoNs3 {
    const VALIDATES: bool = false;

    fn name(&self) -> &'static str {
        "reno-ns3"
    }

    #[inline]
    fn grow(&mut self, _now: Instant, w: &mut Cwnd, _path: &PathView, _ack: &Ack, _acked: u32) {
        w.reno_per_ack();
    }

    fn threshold(
        &mut self,
        _now: Instant,
        w: &Cwnd,
        _path: &PathView,
        event: &CongestionEvent,
    ) -> u32 {
        w.half_flight(event)
    }
}
