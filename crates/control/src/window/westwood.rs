//! Westwood+: after a loss, the window that the measured rate fills (Mascolo et al., `MobiCom` 2001; Grieco and
//! Mascolo, CCR 2004), as Linux `tcp_westwood.c` and as ns-3 run it.

use slackwater_core::{Duration, Instant};

use crate::registry::{AnyController, Entry};
use crate::window::vegas::wide_ratio;
use crate::window::windowed;
use crate::window::{Cwnd, Law};
use crate::{Ack, CongestionEvent, PathView};

/// What the registry knows of them.
pub(crate) const ENTRIES: &[Entry] = &[
    Entry {
        name: "westwood",
        aliases: &["westwood+", "westwood-linux"],
        title: "Westwood+",
        about: "Westwood+ as in Linux: after a loss, the measured rate's window",
        make: |cfg, p| {
            p.none()?;
            Ok(AnyController::Westwood(windowed(Westwood::default(), cfg)))
        },
        ..Entry::TRANSPORT
    },
    Entry {
        name: "westwood-ns3",
        aliases: &["westwood+-ns3"],
        title: "Westwood+ (ns-3)",
        about: "Westwood+ as in ns-3: a sample per RTT, Tustin's filter",
        make: |cfg, p| {
            p.none()?;
            Ok(AnyController::WestwoodNs3(windowed(
                WestwoodNs3::default(),
                cfg,
            )))
        },
        ..Entry::TRANSPORT
    },
];

/// Rate samples cover at least this (Linux `TCP_WESTWOOD_RTT_MIN`).
const WINDOW_MIN: Duration = Duration::from_millis(50);
/// RTT before the first sample (Linux `TCP_WESTWOOD_INIT_RTT`): long, so that the first sample replaces it.
const INIT_RTT: Duration = Duration::from_secs(20);

/// Westwood+ as Linux runs it: Reno, but recovery ends with the window that the rate estimate fills at the least RTT.
#[derive(Clone, Debug)]
pub struct Westwood {
    /// First filter's output, bytes per second.
    rate_once: u64,
    /// Second filter's output, bytes per second.
    rate: u64,
    window_start: Option<Instant>,
    /// Bytes counted in the present window.
    counted: u64,
    una: u64,
    /// Duplicate ACKs' segments that later cumulative ACKs must not count again.
    accounted: u64,
    rtt: Duration,
    rtt_min: Duration,
    reset_rtt_min: bool,
}

impl Default for Westwood {
    fn default() -> Self {
        Self {
            rate_once: 0,
            rate: 0,
            window_start: None,
            counted: 0,
            una: 0,
            accounted: 0,
            rtt: INIT_RTT,
            rtt_min: INIT_RTT,
            reset_rtt_min: true,
        }
    }
}

impl Westwood {
    /// Closes the sampling window where an RTT, at least 50 ms, has passed.
    fn roll(&mut self, now: Instant) {
        let start = *self.window_start.get_or_insert(now);
        let span = now.since(start);
        if span <= self.rtt.max(WINDOW_MIN) {
            return;
        }
        let sample = wide_ratio(self.counted, 1_000_000_000, span.as_nanos());
        if self.rate_once == 0 && self.rate == 0 {
            self.rate_once = sample;
            self.rate = sample;
        } else {
            // Two low-pass filters in a row, each 7/8 old.
            self.rate_once = mix(self.rate_once, sample);
            self.rate = mix(self.rate, self.rate_once);
        }
        self.counted = 0;
        self.window_start = Some(now);
    }

    /// Bytes that this ACK says were delivered: a duplicate counts one segment, which a later cumulative ACK gives
    /// back (Linux `westwood_acked_count`).
    fn delivered(&mut self, una: u64, mss: u64) -> u64 {
        let mut bytes = una - self.una;
        self.una = una;
        if bytes == 0 {
            self.accounted += mss;
            return mss;
        }
        if bytes > mss {
            if self.accounted >= bytes {
                self.accounted -= bytes;
                bytes = mss;
            } else {
                bytes -= self.accounted;
                self.accounted = 0;
            }
        }
        bytes
    }

    /// The window that the rate fills at the least RTT, at least two segments.
    fn fitting(&self, w: &Cwnd) -> u32 {
        let bytes = wide_ratio(self.rate, self.rtt_min.as_nanos(), 1_000_000_000);
        (bytes / u64::from(w.mss)).clamp(2, 1 << 30) as u32
    }
}

fn mix(old: u64, new: u64) -> u64 {
    wide_ratio(old, 7, 8).saturating_add(new / 8)
}

impl Law for Westwood {
    fn name(&self) -> &'static str {
        "westwood"
    }

    #[inline]
    fn acked(&mut self, now: Instant, w: &mut Cwnd, _path: &PathView, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.rtt = rtt;
        }
        self.roll(now);
        let una = ack.una.max(self.una);
        self.counted = self
            .counted
            .saturating_add(self.delivered(una, u64::from(w.mss)));
        if self.reset_rtt_min {
            self.rtt_min = self.rtt;
            self.reset_rtt_min = false;
        } else {
            self.rtt_min = self.rtt_min.min(self.rtt);
        }
    }

    #[inline]
    fn grow(&mut self, _now: Instant, w: &mut Cwnd, _path: &PathView, ack: &Ack, acked: u32) {
        if ack.cwnd_limited {
            w.reno(acked);
        }
    }

    fn timed_out(&mut self, _now: Instant, w: &mut Cwnd, _event: &CongestionEvent) {
        w.ssthresh = self.fitting(w);
        self.reset_rtt_min = true;
    }

    fn completed(&mut self, _now: Instant, w: &mut Cwnd) {
        // Linux: during recovery PRR goes down to Reno's half, then the estimate takes over.
        let fitting = self.fitting(w);
        w.ssthresh = fitting;
        w.set(fitting);
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("bwe", self.rate as f64 * 8.0));
        out.push(("rtt_min", self.rtt_min.as_secs_f64()));
    }
}

/// Westwood+ as ns-3 runs it: a sample per RTT, Tustin's filter, and the estimate already as the threshold of the
/// loss.
#[derive(Clone, Debug, Default)]
pub struct WestwoodNs3 {
    /// Filtered and last raw rate, bytes per second.
    rate: f64,
    last: f64,
    segments: u64,
    /// End of the present sample and the RTT that it covers.
    due: Option<(Instant, Duration)>,
}

impl WestwoodNs3 {
    fn catch_up(&mut self, now: Instant, mss: u32) {
        let Some((due, span)) = self.due else { return };
        if now < due {
            return;
        }
        let sample = (self.segments * u64::from(mss)) as f64 / span.as_secs_f64();
        // ns-3 `TcpWestwoodPlus::EstimateBW`, filter TUSTIN, alpha 0.9.
        self.rate = self.rate * 0.9 + (sample + self.last) * 0.5 * (1.0 - 0.9);
        self.last = sample;
        self.segments = 0;
        self.due = None;
    }
}

impl Law for WestwoodNs3 {
    const VALIDATES: bool = false;

    fn name(&self) -> &'static str {
        "westwood-ns3"
    }

    fn acked(&mut self, now: Instant, w: &mut Cwnd, _path: &PathView, ack: &Ack) {
        // ns-3 counts with a timer of one RTT; nothing reads the estimate before the next event.
        self.catch_up(now, w.mss);
        let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero()) else {
            return;
        };
        self.segments += ack.newly_acked.0.div_ceil(u64::from(w.mss)).min(1 << 30);
        if self.due.is_none() {
            self.due = Some((now.saturating_add(rtt), rtt));
        }
    }

    #[inline]
    fn grow(&mut self, _now: Instant, w: &mut Cwnd, _path: &PathView, _ack: &Ack, _acked: u32) {
        w.reno_per_ack();
    }

    fn threshold(
        &mut self,
        now: Instant,
        w: &Cwnd,
        path: &PathView,
        _event: &CongestionEvent,
    ) -> u32 {
        self.catch_up(now, w.mss);
        let bytes = (self.rate * path.min_rtt.as_secs_f64()) as u64;
        (bytes / u64::from(w.mss)).clamp(2, 1 << 30) as u32
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("bwe", self.rate * 8.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Feed;
    use crate::window::Windowed;

    #[test]
    fn recovery_ends_with_the_bandwidth_delay_product() {
        // A link of 20 packets per 100 ms; the window has grown to 40, half of it waits.
        let mut feed = Feed::new(Windowed::new(Westwood::default(), 1000, 20));
        feed.round_at(100);
        for _ in 0..60 {
            feed.segments_over(20, 100, 200);
        }
        feed.lose();
        feed.recover();
        assert!((19..=21).contains(&feed.cwnd()), "{}", feed.cwnd());
        assert_eq!(feed.ssthresh(), Some(feed.cwnd()));
    }

    #[test]
    fn duplicates_are_counted_once() {
        let mut law = Westwood::default();
        assert_eq!(law.delivered(1000, 1000), 1000);
        // Two duplicates count a segment each; the cumulative ACK of four then counts two.
        assert_eq!(law.delivered(1000, 1000), 1000);
        assert_eq!(law.delivered(1000, 1000), 1000);
        assert_eq!(law.delivered(5000, 1000), 2000);
    }

    #[test]
    fn ns3_reduces_to_the_estimate_at_once() {
        let mut feed = Feed::new(Windowed::new(WestwoodNs3::default(), 1000, 20));
        feed.round_at(100);
        for _ in 0..80 {
            feed.segments_over(20, 100, 200);
        }
        feed.lose();
        assert!((18..=21).contains(&feed.cwnd()), "{}", feed.cwnd());
    }
}
