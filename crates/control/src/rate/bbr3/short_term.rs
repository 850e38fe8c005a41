//! The short-term model: how much the path delivered in the last round with losses (5.5.10.3).

use crate::rate::bbr3::BETA;

/// No bound.
pub const NONE: u64 = u64::MAX;

/// The bounds that hold until the next probe for bandwidth, and the signals that they follow.
#[derive(Clone, Copy, Debug)]
pub struct ShortTerm {
    /// `bw_shortterm` in payload bytes per second; infinite for none.
    pub bw: f64,
    /// `inflight_shortterm` in bytes; [`NONE`] for none.
    pub inflight: u64,
    bw_latest: f64,
    inflight_latest: u64,
    loss_in_round: bool,
    round_delivered: u64,
    round_start: bool,
    /// ACKs of this round that told of losses.
    events: u32,
}

impl Default for ShortTerm {
    fn default() -> Self {
        Self {
            bw: f64::INFINITY,
            inflight: NONE,
            bw_latest: 0.0,
            inflight_latest: 0,
            loss_in_round: false,
            round_delivered: 0,
            round_start: false,
            events: 0,
        }
    }
}

impl ShortTerm {
    /// Lifts the bounds (`ResetShortTermModel`).
    pub const fn lift(&mut self) {
        self.bw = f64::INFINITY;
        self.inflight = NONE;
    }

    /// Forgets what the last round said (`ResetCongestionSignals`).
    pub const fn forget_signals(&mut self) {
        self.loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0;
    }

    /// The losses were none.
    pub const fn forgive(&mut self) {
        self.loss_in_round = false;
    }

    /// The most that was delivered over one sample of this round.
    pub const fn inflight_latest(&self) -> u64 {
        self.inflight_latest
    }

    /// A round without regard to phases ended with this ACK (`loss_round_start`).
    pub const fn round_start(&self) -> bool {
        self.round_start
    }

    /// ACKs that told of losses in the round.
    pub const fn events(&self) -> u32 {
        self.events
    }

    /// Losses were found with `delivered` bytes delivered; true for the first of a round (`NoteLoss`).
    pub const fn note_loss(&mut self, delivered: u64) -> bool {
        let first = !self.loss_in_round;
        if first {
            self.round_delivered = delivered;
        }
        self.loss_in_round = true;
        self.events = self.events.saturating_add(1);
        first
    }

    /// `UpdateLatestDeliverySignals`: a sample of `rate` over `volume` bytes, of a packet sent with `prior` bytes delivered.
    #[inline]
    pub fn update(&mut self, rate: f64, volume: u64, prior: Option<u64>, delivered: u64) {
        self.bw_latest = self.bw_latest.max(rate);
        self.inflight_latest = self.inflight_latest.max(volume);
        self.round_start = prior.is_some_and(|p| p >= self.round_delivered);
        if self.round_start {
            self.round_delivered = delivered;
        }
    }

    /// At the end of a round: less, if it had losses and did not probe (`AdaptLowerBoundsFromCongestion`).
    #[inline]
    pub fn adapt(&mut self, probing: bool, max_bw: f64, cwnd: u64) {
        if !self.round_start {
            return;
        }
        if self.loss_in_round && !probing {
            if self.bw.is_infinite() {
                self.bw = max_bw;
            }
            if self.inflight == NONE {
                self.inflight = cwnd;
            }
            self.bw = self.bw_latest.max(BETA * self.bw);
            self.inflight = self
                .inflight_latest
                .max((BETA * self.inflight as f64 + 0.5) as u64);
        }
        self.loss_in_round = false;
    }

    /// Last, on each ACK: a round's end starts the next with this sample (`AdvanceLatestDeliverySignals`).
    #[inline]
    pub const fn advance(&mut self, rate: f64, volume: u64) {
        if self.round_start {
            self.bw_latest = rate;
            self.inflight_latest = volume;
            self.events = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lossy_round_costs_three_tenths_but_not_less_than_was_delivered() {
        let mut st = ShortTerm::default();
        assert!(st.note_loss(10));
        assert!(!st.note_loss(11), "one loss a round opens it");
        st.update(50.0, 400, Some(10), 20);
        st.adapt(false, 100.0, 1000);
        assert_eq!((st.bw, st.inflight), (70.0, 700));
        st.advance(50.0, 400);
        // The next lossy round: the rate delivered is the floor.
        st.note_loss(20);
        st.update(60.0, 400, Some(20), 30);
        st.adapt(false, 100.0, 1000);
        assert_eq!((st.bw, st.inflight), (60.0, 490));
        st.lift();
        assert!(st.bw.is_infinite() && st.inflight == NONE);
    }

    #[test]
    fn probing_ignores_losses() {
        let mut st = ShortTerm::default();
        st.note_loss(10);
        st.update(50.0, 400, Some(10), 20);
        st.adapt(true, 100.0, 1000);
        assert!(st.bw.is_infinite());
    }
}
