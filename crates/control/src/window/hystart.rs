//! `HyStart`: leave slow start before the first loss (Ha and Rhee, "Taming the elephants", 2011), as Linux
//! `tcp_cubic.c` runs it and as ns-3 does.
//!
//! Linux compares clock readings in microseconds; here they are nanoseconds.

use slackwater_core::{Duration, Instant};

use crate::window::Cwnd;
use crate::{Ack, PathView};

/// No detection below this window, in segments (Linux `hystart_low_window`).
const LOW_WINDOW: u32 = 16;
/// RTT samples of a round before its delay is judged (Linux `HYSTART_MIN_SAMPLES`).
const MIN_SAMPLES: u8 = 8;
/// ACKs closer than this belong to one train (Linux `hystart_ack_delta_us`).
const ACK_DELTA: Duration = Duration::from_millis(2);
/// Least delay increase that ends slow start (Linux `HYSTART_DELAY_MIN`).
const DELAY_MIN: Duration = Duration::from_millis(4);
/// Largest delay increase asked for (Linux `HYSTART_DELAY_MAX`).
const DELAY_MAX: Duration = Duration::from_millis(16);
/// ns-3 `TcpCubic::HyStartDelayMax` defaults to 1000 ms.
const NS3_DELAY_MAX: Duration = Duration::from_millis(1000);
/// Upper bound of the allowance for segmentation offload (Linux `hystart_ack_delay`).
const ACK_DELAY_MAX: Duration = Duration::from_millis(1);
/// Four offload units (Linux: `sk_gso_max_size` of 65,536 bytes, times 4).
const ACK_DELAY_BYTES: u64 = 4 * 65_536;

/// Whose `HyStart`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// Linux since 5.6.
    #[default]
    Linux,
    /// ns-3's `TcpCubic`: the delay threshold is the whole least delay, not an eighth of it, bounded by 4 ms and 1 s;
    /// an ACK train ends slow start after a whole least delay, not half.
    Ns3,
}

/// State of one round of detection.
#[derive(Clone, Copy, Debug)]
pub struct HyStart {
    variant: Variant,
    found: bool,
    samples: u8,
    round_start: Instant,
    last_ack: Instant,
    round_end: u64,
    round_rtt: Duration,
}

impl HyStart {
    /// Detection that starts with the connection.
    pub const fn new(variant: Variant) -> Self {
        Self {
            variant,
            found: false,
            samples: 0,
            round_start: Instant::ZERO,
            last_ack: Instant::ZERO,
            round_end: 0,
            round_rtt: Duration::MAX,
        }
    }

    /// A round begins; it ends when what is sent by now is acknowledged.
    fn begin(&mut self, now: Instant, next: u64) {
        self.round_start = now;
        self.last_ack = now;
        self.round_end = next;
        self.round_rtt = Duration::MAX;
        self.samples = 0;
    }

    /// Slow start begins again (after a timeout).
    pub fn reset(&mut self, now: Instant, next: u64) {
        self.found = false;
        self.begin(now, next);
    }

    /// True once an exit was found.
    pub const fn found(&self) -> bool {
        self.found
    }

    /// An RTT sample in slow start; `delay_min` is the least delay so far, this sample included. True where slow
    /// start should end now.
    pub fn sample(
        &mut self,
        now: Instant,
        w: &Cwnd,
        path: &PathView,
        ack: &Ack,
        rtt: Duration,
        delay_min: Duration,
    ) -> bool {
        if self.found {
            return false;
        }
        if ack.una > self.round_end {
            self.begin(now, ack.next);
        }
        if w.cwnd < LOW_WINDOW {
            return false;
        }
        if now.since(self.last_ack) <= ACK_DELTA {
            self.last_ack = now;
            let limit = match self.variant {
                // Unpaced senders leave half of the RTT as margin.
                Variant::Linux => (delay_min + ack_delay(w, path)) / 2,
                Variant::Ns3 => delay_min,
            };
            if now.since(self.round_start) > limit {
                self.found = true;
            }
        }
        self.round_rtt = self.round_rtt.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
        } else {
            let limit = match self.variant {
                Variant::Linux => (delay_min / 8).clamp(DELAY_MIN, DELAY_MAX),
                Variant::Ns3 => delay_min.clamp(DELAY_MIN, NS3_DELAY_MAX),
            };
            if self.round_rtt > delay_min + limit {
                self.found = true;
            }
        }
        self.found
    }
}

/// What segmentation offload may add to an ACK train. Linux divides by the socket's pacing rate, which in slow start
/// is twice the window per smoothed RTT.
fn ack_delay(w: &Cwnd, path: &PathView) -> Duration {
    let per_rtt = 2 * u64::from(w.cwnd) * u64::from(w.mss);
    let ns = u128::from(ACK_DELAY_BYTES) * u128::from(path.srtt.as_nanos()) / u128::from(per_rtt);
    Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX)).min(ACK_DELAY_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux `hystart_update`: eight samples of a round are taken before its least delay is judged.
    #[test]
    fn the_ninth_sample_of_a_round_ends_slow_start_where_all_came_late() {
        let mut hystart = HyStart::new(Variant::Linux);
        let w = Cwnd::new(1000, 16);
        let ms = Duration::from_millis;
        let ended = (1..20u64).find(|n| {
            let ack = Ack {
                una: 1000 + n,
                next: 100_000,
                ..Ack::default()
            };
            // 5 ms apart they are no train; an eighth of 100 ms are 12.5.
            let now = Instant::from_millis(1000 + 5 * n);
            hystart.sample(now, &w, &PathView::default(), &ack, ms(113), ms(100))
        });
        assert_eq!(ended, Some(9));
    }
}
