//! HyStart++: slow start that first slows down and looks again (RFC 9406).

use slackwater_core::Duration;

use crate::Ack;
use crate::window::{Cwnd, INFINITE};

/// RFC 9406, 4.3: `MIN_RTT_THRESH`.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
/// RFC 9406, 4.3: `MAX_RTT_THRESH`.
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
/// RFC 9406, 4.3: `MIN_RTT_DIVISOR`.
const MIN_RTT_DIVISOR: u64 = 8;
/// RFC 9406, 4.3: `N_RTT_SAMPLE`.
const N_RTT_SAMPLE: u32 = 8;
/// RFC 9406, 4.3: `CSS_GROWTH_DIVISOR`.
const CSS_GROWTH_DIVISOR: u32 = 4;
/// RFC 9406, 4.3: `CSS_ROUNDS`.
const CSS_ROUNDS: u32 = 5;
/// RFC 9406, 4.3: L of a sender that does not pace.
const L: u32 = 8;

/// State of `HyStart++`.
#[derive(Clone, Copy, Debug)]
pub struct HyStartPp {
    round_end: u64,
    last_round: Duration,
    this_round: Duration,
    samples: u32,
    css: Option<Css>,
    /// Growth in conservative slow start that does not fill a segment yet, in quarters.
    quarters: u32,
}

/// Conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Css {
    baseline: Duration,
    rounds: u32,
}

impl Default for HyStartPp {
    fn default() -> Self {
        Self {
            round_end: 0,
            last_round: Duration::MAX,
            this_round: Duration::MAX,
            samples: 0,
            css: None,
            quarters: 0,
        }
    }
}

impl HyStartPp {
    /// Only the initial slow start is watched (RFC 9406, 4.3: while ssthresh is arbitrarily high).
    const fn applies(w: &Cwnd) -> bool {
        w.ssthresh >= INFINITE
    }

    /// True in conservative slow start.
    pub const fn in_css(&self) -> bool {
        self.css.is_some()
    }

    /// An ACK in slow start. True where slow start should end now.
    pub fn acked(&mut self, w: &Cwnd, ack: &Ack) -> bool {
        if !Self::applies(w) {
            return false;
        }
        let mut done = false;
        if ack.una > self.round_end {
            self.round_end = ack.next;
            self.last_round = self.this_round;
            self.this_round = Duration::MAX;
            self.samples = 0;
            if let Some(css) = &mut self.css {
                // RFC 9406, 4.2: a round that conservative slow start began in counts too.
                css.rounds += 1;
                done = css.rounds >= CSS_ROUNDS;
            }
        }
        if let Some(rtt) = ack.rtt {
            self.this_round = self.this_round.min(rtt);
            self.samples += 1;
        }
        if self.samples >= N_RTT_SAMPLE && self.this_round != Duration::MAX {
            match self.css {
                None => {
                    if self.last_round != Duration::MAX {
                        let threshold = (self.last_round / MIN_RTT_DIVISOR)
                            .clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                        if self.this_round >= self.last_round + threshold {
                            self.css = Some(Css {
                                baseline: self.this_round,
                                rounds: 0,
                            });
                        }
                    }
                }
                // The rise was no queue: back to slow start.
                Some(css) if self.this_round < css.baseline => {
                    self.css = None;
                    done = false;
                }
                Some(_) => {}
            }
        }
        done
    }

    /// How many segments `acked` segments add in slow start (RFC 9406, 4.2).
    pub fn growth(&mut self, w: &Cwnd, acked: u32) -> u32 {
        if !Self::applies(w) {
            return acked;
        }
        let acked = acked.min(L);
        if self.css.is_none() {
            return acked;
        }
        self.quarters += acked;
        let whole = self.quarters / CSS_GROWTH_DIVISOR;
        self.quarters %= CSS_GROWTH_DIVISOR;
        whole
    }
}
