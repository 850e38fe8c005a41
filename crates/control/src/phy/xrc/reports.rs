//! Which reports a sender believes, and how far.
//!
//! The option is not authenticated: whoever can write a header can write a report. So values that no radio has are
//! ignored, the agent's counter must go forward and not faster than slots pass, and the rate counts only up to a
//! multiple of what the path really delivered.

use slackwater_core::{Duration, Instant};
use slackwater_signal::PathReport;

use super::sizes::Sizes;

/// No single UE is told more: the peak rate of IMT-2020 in the downlink (ITU-R M.2410, 4.1), bit/s.
const RATE_MAX: u64 = 20_000_000_000;
/// A longer head-of-line delay does not fit the report's field and says that it saturated.
const HOL_MAX: Duration = Duration::from_millis(8_190);
/// The shortest slot that a counter may step with: 62.5 us, a subcarrier spacing of 240 kHz (TS 38.211, 4.3.2).
const SLOT_MIN: u64 = 62_500;
/// A counter may run ahead of the clock by this many slots: reports overtake each other and queue for F1.
const SLOTS_AHEAD: u64 = 1_024;
/// Feedback is lost after this time without a report, or four smoothed RTTs where that is longer.
const SILENCE: Duration = Duration::from_millis(200);

/// What the base station reports, as far as it is believed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reports {
    /// The last report that was believed.
    pub(super) last: Feedback,
    /// The largest rate that the path delivered.
    pub(super) peak: Peak,
    /// The rate counts up to this multiple of the peak; zero for no bound.
    clamp: f64,
}

impl Reports {
    /// No report yet. The rate will count up to `clamp` times what the path delivered; zero for no bound.
    pub(super) fn new(clamp: f64) -> Self {
        Self {
            last: Feedback::default(),
            peak: Peak::default(),
            clamp,
        }
    }

    /// The reported rate as far as it is believed, bit/s of IP bytes.
    pub(super) fn rate(&self, sizes: Sizes) -> f64 {
        let peak = sizes.ip_rate(self.peak.get());
        if self.clamp > 0.0 && peak > 0.0 {
            self.last.rate.min(self.clamp * peak)
        } else {
            self.last.rate
        }
    }
}

/// The last report that was believed, and the counts of those that were not.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Feedback {
    /// Reported rate in bit/s of IP bytes.
    pub(super) rate: f64,
    /// Head-of-line delay.
    pub(super) hol: Duration,
    /// Other flows are active in the queue.
    pub(super) shared: bool,
    /// The agent's slot counter.
    seq: u16,
    /// When it arrived.
    at: Instant,
    /// At least one report was believed.
    pub(super) seen: bool,
    /// Reports that were believed.
    pub(super) accepted: u64,
    /// Reports with a counter that went backward, or forward faster than time.
    pub(super) stale: u64,
    /// Reports with values that no radio has.
    pub(super) absurd: u64,
}

impl Feedback {
    /// Takes `report` if it can be believed.
    pub(super) fn offer(&mut self, now: Instant, srtt: Duration, report: &PathReport) -> bool {
        let &PathReport::Share {
            rate,
            hol_delay,
            seq,
            shared,
        } = report
        else {
            return false;
        };
        let nothing = rate.as_bps() == 0 && hol_delay.is_zero();
        if nothing || rate.as_bps() > RATE_MAX || hol_delay >= HOL_MAX {
            self.absurd += 1;
            return false;
        }
        if self.is_fresh(now, srtt) {
            // Half of the counter's circle lies behind (RFC 1982, 3.2).
            let ahead = seq.wrapping_sub(self.seq);
            let possible = now.since(self.at).as_nanos() / SLOT_MIN + SLOTS_AHEAD;
            if ahead >= 1 << 15 || u64::from(ahead) > possible {
                self.stale += 1;
                return false;
            }
        }
        // After a silence any counter is taken: the agent may be another one after a handover.
        *self = Self {
            rate: rate.as_bps() as f64,
            hol: hol_delay,
            shared,
            seq,
            at: now,
            seen: true,
            accepted: self.accepted + 1,
            ..*self
        };
        true
    }

    /// When the last one was believed.
    pub(super) const fn at(&self) -> Instant {
        self.at
    }

    /// A report came within the last 200 ms or four smoothed RTTs.
    #[inline]
    pub(super) fn is_fresh(&self, now: Instant, srtt: Duration) -> bool {
        self.seen && {
            let since = now.since(self.at).as_nanos();
            since <= SILENCE.as_nanos() || since <= srtt.as_nanos().saturating_mul(4)
        }
    }
}

/// The share of a peak that is left after a round: 2 % decay.
const KEPT: f64 = 0.98;
/// Deliveries are counted over a quarter of the least RTT, and not over less than this: ACKs come in bunches.
const SPAN_MIN: Duration = Duration::from_millis(5);

/// The largest rate that the path delivered, decaying by rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Peak {
    /// Payload bytes per second; zero before the least RTT is known.
    rate: f64,
    /// When the present span began.
    since: Instant,
    /// The connection's total of delivered bytes then.
    delivered: u64,
}

impl Peak {
    /// Payload bytes per second.
    #[inline]
    pub(super) const fn get(&self) -> f64 {
        self.rate
    }

    /// An ACK raised the connection's total to `delivered` payload bytes. `first` is the initial window: standards
    /// let it leave unasked (RFC 6928), so a first peak of it in one span asks for no more trust than they do.
    #[inline]
    pub(super) fn ack(&mut self, now: Instant, min_rtt: Duration, delivered: u64, first: u64) {
        let span = Duration::from_nanos(min_rtt.as_nanos() >> 2).max(SPAN_MIN);
        let passed = now.since(self.since);
        if self.rate == 0.0 {
            if min_rtt.is_zero() {
                return;
            }
            self.rate = first as f64 / span.as_secs_f64();
        } else if passed >= span {
            let gained = delivered.saturating_sub(self.delivered) as f64;
            self.rate = self.rate.max(gained / passed.as_secs_f64());
        } else {
            return;
        }
        self.since = now;
        self.delivered = delivered;
    }

    /// A round ended.
    pub(super) fn round(&mut self) {
        self.rate *= KEPT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackwater_core::Rate;

    fn share(bps: u64, hol_ms: u64, seq: u16) -> PathReport {
        PathReport::Share {
            rate: Rate::from_bps(bps),
            hol_delay: Duration::from_millis(hol_ms),
            seq,
            shared: false,
        }
    }

    const SRTT: Duration = Duration::from_millis(40);

    #[test]
    fn a_counter_goes_forward_around_its_circle_and_not_back() {
        let mut f = Feedback::default();
        let at = Instant::from_millis;
        assert!(f.offer(at(1), SRTT, &share(1_000_000, 0, 65_530)));
        // Several reports of one slot are one age.
        assert!(f.offer(at(1), SRTT, &share(1_000_000, 1, 65_530)));
        assert!(f.offer(at(11), SRTT, &share(2_000_000, 0, 4)));
        assert!(!f.offer(at(12), SRTT, &share(9_000_000, 0, 3)));
        assert!(!f.offer(at(12), SRTT, &share(9_000_000, 0, 65_535)));
        assert_eq!((f.rate, f.accepted, f.stale), (2e6, 3, 2));
    }

    #[test]
    fn a_counter_from_the_future_does_not_shut_the_honest_out() {
        let mut f = Feedback::default();
        let at = Instant::from_millis;
        assert!(f.offer(at(1), SRTT, &share(1_000_000, 0, 100)));
        assert!(!f.offer(at(2), SRTT, &share(1_000_000, 0, 30_000)));
        assert!(f.offer(at(3), SRTT, &share(1_000_000, 0, 102)));
        // After a silence the agent may be another one.
        assert!(!f.is_fresh(at(204), SRTT) && f.is_fresh(at(203), SRTT));
        assert!(f.offer(at(204), SRTT, &share(1_000_000, 0, 30_000)));
        // Four RTTs where they are longer.
        assert!(f.is_fresh(at(504), Duration::from_millis(75)));
    }

    #[test]
    fn values_of_no_radio_are_ignored() {
        let mut f = Feedback::default();
        let now = Instant::from_millis(1);
        for r in [
            share(0, 0, 1),
            share(20_000_000_001, 0, 1),
            share(1000, 8_191, 1),
        ] {
            assert!(!f.offer(now, SRTT, &r));
        }
        assert!(!f.seen && f.absurd == 3);
        // A standstill with a queue is news.
        assert!(f.offer(now, SRTT, &share(0, 30, 1)));
        assert!(!f.offer(now, SRTT, &PathReport::ThroughputAdvice { max: Rate::ZERO }));
    }

    #[test]
    fn a_peak_is_kept_and_fades_by_rounds() {
        let mut p = Peak::default();
        let rtt = Duration::from_millis(40);
        let at = Instant::from_millis;
        p.ack(at(1), Duration::ZERO, 0, 10_000);
        assert_eq!(p.get(), 0.0);
        // Ten segments in a quarter of 40 ms.
        p.ack(at(1), rtt, 1_000, 10_000);
        assert_eq!(p.get(), 1e6);
        p.ack(at(6), rtt, 50_000, 10_000);
        assert_eq!(p.get(), 1e6, "half a span counts nothing");
        p.ack(at(11), rtt, 51_000, 10_000);
        assert_eq!(p.get(), 5e6);
        p.round();
        assert_eq!(p.get(), 4.9e6);
    }
}
