//! The average fraction of marked packets (draft-ietf-ccwg-rfc8298bis-screamv2, 4.2.1.3): fast up, slow down.

use slackwater_core::{Duration, Instant};

use super::params::Params;

/// `l4s_alpha` and the packets since its last update.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alpha {
    value: f64,
    received: u32,
    marked: u32,
    updated: Instant,
}

impl Alpha {
    pub(crate) const fn new(p: &Params) -> Self {
        Self {
            value: p.alpha_start,
            received: 0,
            marked: 0,
            updated: Instant::ZERO,
        }
    }

    pub(crate) const fn get(&self) -> f64 {
        self.value
    }

    pub(crate) fn set(&mut self, value: f64) {
        self.value = value;
    }

    /// A feedback told of `received` packets, `marked` of them with CE.
    pub(crate) fn update(
        &mut self,
        now: Instant,
        p: &Params,
        rtt: Duration,
        received: u32,
        marked: u32,
    ) {
        self.received += received;
        self.marked += marked;
        if self.received == 0 || now.since(self.updated) < p.alpha_interval.min(rtt) {
            return;
        }
        let fraction = f64::from(self.marked) / f64::from(self.received);
        (self.received, self.marked, self.updated) = (0, 0, now);
        if fraction > self.value {
            self.value += p.alpha_up * (fraction - self.value);
        } else {
            let towards = if p.alpha_decays { 0.0 } else { fraction };
            self.value += p.alpha_down * (towards - self.value);
        }
    }
}
