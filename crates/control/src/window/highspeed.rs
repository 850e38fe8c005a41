//! `HighSpeed` TCP (RFC 3649): the larger the window, the faster it grows and the less a loss costs. Up to 38 segments it is
//! `NewReno`.

use slackwater_core::Instant;

use crate::registry::{AnyController, Entry};
use crate::window::{Cwnd, Law, windowed};
use crate::{Ack, CongestionEvent, PathView};

/// What the registry knows of it.
pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "highspeed",
    aliases: &["hstcp"],
    title: "HighSpeed",
    about: "HighSpeed TCP (RFC 3649): large windows grow faster and lose less",
    make: |cfg, p| {
        p.none()?;
        let controller = windowed(HighSpeed, cfg);
        Ok(AnyController::Plugin(Box::new(controller)))
    },
    ..Entry::TRANSPORT
}];

/// Windows up to this are `NewReno`'s: `Low_Window` (RFC 3649, 5).
const LOW_WINDOW: f64 = 38.0;
/// The window that a loss rate of [`HIGH_P`] allows (RFC 3649, 5).
const HIGH_WINDOW: f64 = 83_000.0;
/// Loss rates at these two windows: `Low_P` and `High_P` (RFC 3649, 5).
const LOW_P: f64 = 1e-3;
const HIGH_P: f64 = 1e-7;
/// Share of the window that a loss costs at [`HIGH_WINDOW`] (RFC 3649, 5).
const HIGH_DECREASE: f64 = 0.1;

/// How far `window` lies between the two windows, by logarithms.
fn place(window: f64) -> f64 {
    libm::log(window / LOW_WINDOW) / libm::log(HIGH_WINDOW / LOW_WINDOW)
}

/// `b(w)`: the share of the window that a loss costs (RFC 3649, 5).
fn decrease(window: f64) -> f64 {
    if window <= LOW_WINDOW {
        return 0.5;
    }
    // Beyond the high window the RFC names nothing: what holds there stays.
    (HIGH_DECREASE - 0.5) * place(window).min(1.0) + 0.5
}

/// `a(w)`: segments by which the window grows in a round-trip time (RFC 3649, 5).
fn increase(window: f64) -> f64 {
    if window <= LOW_WINDOW {
        return 1.0;
    }
    let loss_rate = LOW_P * libm::exp(place(window) * libm::log(HIGH_P / LOW_P));
    let b = decrease(window);
    (window * window * loss_rate * 2.0 * b / (2.0 - b)).max(1.0)
}

/// The law.
#[derive(Clone, Copy, Debug, Default)]
pub struct HighSpeed;

impl Law for HighSpeed {
    fn name(&self) -> &'static str {
        "highspeed"
    }

    fn grow(&mut self, _now: Instant, w: &mut Cwnd, _path: &PathView, ack: &Ack, acked: u32) {
        // A window that was not used up has not been tested (RFC 2861).
        if !ack.cwnd_limited {
            return;
        }
        let acked = if w.in_slow_start() {
            w.slow_start(acked)
        } else {
            acked
        };
        if acked > 0 {
            let window = f64::from(w.cwnd);
            w.additive_increase((window / increase(window)) as u32, acked);
        }
    }

    fn threshold(
        &mut self,
        _now: Instant,
        w: &Cwnd,
        _path: &PathView,
        _event: &CongestionEvent,
    ) -> u32 {
        let window = f64::from(w.cwnd);
        ((window * (1.0 - decrease(window))) as u32).max(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3649, appendix B: window, increase, decrease; the table gives the least window of each increase.
    #[test]
    fn increase_and_decrease_are_those_of_the_rfcs_table() {
        for (window, a, b) in [
            (38.0, 1.0, 0.50),
            (118.0, 2.0, 0.44),
            (221.0, 3.0, 0.41),
            (347.0, 4.0, 0.38),
            (495.0, 5.0, 0.37),
            (1058.0, 8.0, 0.33),
            (83_981.0, 72.0, 0.10),
        ] {
            assert!(
                (increase(window) / a - 1.0).abs() < 0.04,
                "{window}: {}",
                increase(window)
            );
            assert!(
                (decrease(window) - b).abs() < 0.006,
                "{window}: {}",
                decrease(window)
            );
        }
    }

    #[test]
    fn a_small_window_is_that_of_newreno() {
        let mut w = Cwnd::new(1448, 20);
        w.ssthresh = 20;
        let mut reno = w.clone();
        for _ in 0..400 {
            let step = (f64::from(w.cwnd) / increase(f64::from(w.cwnd))) as u32;
            w.additive_increase(step, 1);
            reno.additive_increase(reno.cwnd, 1);
        }
        assert_eq!((w.cwnd, w.cnt), (reno.cwnd, reno.cnt));
        assert!(w.cwnd < 38);
    }
}
