//! The pacer that every host shares: it spreads packets at the rate that a controller asks for.
//!
//! It works as Linux's internal pacing does: each packet moves the earliest time of the next one by its length over
//! the rate, and credit for time in which nothing was sent is bounded by one burst.

use slackwater_core::{Bytes, Duration, Instant, Rate};

use crate::{Intent, PathView};

/// Without a burst of the controller's, a millisecond worth of data may leave at once (Linux `tcp_tso_autosize`).
const QUANTUM_TIME: Duration = Duration::from_millis(1);

/// Segments that are never paced: a new connection's first window (Linux `tcp_update_skb_after_send`).
const UNPACED_SEGMENTS: u32 = 10;

/// Earliest departure times by a rate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pacer {
    rate: Option<Rate>,
    burst: Bytes,
    /// When the next burst may start.
    next: Instant,
    /// Bytes that may still leave with the present burst.
    left: u64,
    /// Lateness of the present burst that may shorten the wait for the next one.
    credit: Duration,
    /// Segments sent, counted up to [`UNPACED_SEGMENTS`].
    sent: u32,
}

impl Pacer {
    /// A pacer without a rate: everything may leave at once.
    pub fn new() -> Self {
        Self::default()
    }

    /// A pacer that spares no first segments: media have no initial window.
    pub fn from_the_first() -> Self {
        Self {
            sent: UNPACED_SEGMENTS,
            ..Self::default()
        }
    }

    /// Takes the rate (wire bytes) and the burst from `intent`.
    #[inline]
    pub fn follow(&mut self, intent: &Intent) {
        self.set_rate(intent.pacing, intent.burst);
    }

    /// Paces at `rate`, at most `burst` bytes at once (zero: a millisecond's worth); `None` or a zero rate stops
    /// pacing. What was already scheduled stays.
    #[inline]
    pub fn set_rate(&mut self, rate: Option<Rate>, burst: Bytes) {
        self.rate = rate.filter(|r| r.as_bps() > 0);
        self.burst = burst;
    }

    /// The present rate.
    pub const fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// When the next burst may start, after what has left of the present one; the past where nothing holds it.
    #[inline]
    pub const fn next(&self) -> Instant {
        self.next
    }

    /// When a packet of `bytes` wire bytes may leave: `now` or later.
    #[inline]
    pub fn earliest_departure(&self, now: Instant, bytes: Bytes) -> Instant {
        if self.rate.is_none() || self.next <= now || self.left >= bytes.0 {
            now
        } else {
            self.next
        }
    }

    /// A packet of `bytes` wire bytes left.
    #[inline]
    pub fn on_sent(&mut self, now: Instant, bytes: Bytes) {
        if self.sent < UNPACED_SEGMENTS {
            self.sent += 1;
            return;
        }
        let Some(rate) = self.rate else { return };
        if self.next <= now || self.left < bytes.0 {
            let quantum = if self.burst.0 == 0 {
                rate.bytes_in(QUANTUM_TIME).0
            } else {
                self.burst.0
            };
            self.credit = now.since(self.next);
            self.next = self.next.max(now);
            self.left = quantum.max(bytes.0);
        }
        self.left -= bytes.0;
        // A late burst may win back half of its own length, so that late timers cost no rate and silence earns no
        // long burst (Linux `tcp_update_skb_after_send`).
        let length = rate.time_for(bytes);
        let won = (length / 2).min(self.credit);
        self.credit -= won;
        self.next = self.next.saturating_add(length - won);
    }

    /// `count` packets left where no rate paces them.
    #[inline]
    pub fn on_row(&mut self, count: u64) {
        debug_assert!(self.rate.is_none(), "a rate spreads packets");
        self.sent += count.min(u64::from(UNPACED_SEGMENTS - self.sent)) as u32;
    }

    /// The rate at which Linux paces a window where the controller names none (`tcp_update_pacing_rate`): twice the
    /// window per smoothed RTT while it is below half of the threshold, else 1.2 times. `None` before the first RTT
    /// sample.
    pub fn window_rate(intent: &Intent, path: &PathView) -> Option<Rate> {
        let window = intent.window?;
        if path.srtt.is_zero() {
            return None;
        }
        let growing = intent.ssthresh.is_none_or(|t| window.0 < t.0 / 2);
        let percent = if growing { 200 } else { 120 };
        let wire = u128::from(window.max(path.in_flight).0) * u128::from(path.wire_mss.max(1))
            / u128::from(path.mss.max(1));
        let bps = wire * 8 * percent * 10_000_000 / u128::from(path.srtt.as_nanos());
        Some(Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Bytes = Bytes(1500);

    /// Departure times in microseconds of `n` packets sent as soon as the pacer lets them, `tick` between looks.
    fn departures(pacer: &mut Pacer, start: Instant, n: usize) -> Vec<u64> {
        let mut now = start;
        (0..n)
            .map(|_| {
                now = pacer.earliest_departure(now, PACKET);
                pacer.on_sent(now, PACKET);
                now.since(start).as_micros()
            })
            .collect()
    }

    fn warm(rate: f64, burst: u64) -> Pacer {
        let mut pacer = Pacer::new();
        for _ in 0..10 {
            pacer.on_sent(Instant::ZERO, PACKET);
        }
        pacer.set_rate(Some(Rate::from_mbps(rate)), Bytes(burst));
        pacer
    }

    #[test]
    fn packets_keep_the_distance_of_the_rate() {
        let times = departures(&mut warm(12.0, 1500), Instant::ZERO, 5);
        assert_eq!(times, [0, 1000, 2000, 3000, 4000]);
    }

    #[test]
    fn a_burst_leaves_at_once_and_is_paid_for() {
        let times = departures(&mut warm(12.0, 3000), Instant::ZERO, 6);
        assert_eq!(times, [0, 0, 2000, 2000, 4000, 4000]);
        // Without a burst of the controller's, a millisecond: two packets of 1500 B at 24 Mbit/s.
        let times = departures(&mut warm(24.0, 0), Instant::ZERO, 4);
        assert_eq!(times, [0, 0, 1000, 1000]);
    }

    #[test]
    fn silence_earns_half_a_packet_not_a_train() {
        let mut pacer = warm(12.0, 1500);
        let times = departures(&mut pacer, Instant::from_millis(100), 4);
        assert_eq!(times, [0, 500, 1500, 2500]);
    }

    #[test]
    fn the_first_ten_segments_and_unpaced_senders_do_not_wait() {
        let mut pacer = Pacer::new();
        pacer.set_rate(Some(Rate::from_mbps(1.2)), PACKET);
        let times = departures(&mut pacer, Instant::from_millis(1), 13);
        assert_eq!(times[10], 0);
        assert_eq!(times[12] - times[11], 10_000);
        let mut strict = Pacer::from_the_first();
        strict.set_rate(Some(Rate::from_mbps(1.2)), PACKET);
        let times = departures(&mut strict, Instant::from_millis(1), 3);
        assert!(times[2] - times[1] == 10_000 && times[1] >= 5_000);
        pacer.set_rate(None, Bytes::ZERO);
        let now = Instant::from_millis(2);
        assert_eq!(pacer.earliest_departure(now, PACKET), now);
        pacer.set_rate(Some(Rate::ZERO), Bytes::ZERO);
        assert_eq!(pacer.earliest_departure(now, PACKET), now);
    }

    #[test]
    fn the_window_sets_the_rate_as_in_linux() {
        let path = PathView {
            srtt: Duration::from_millis(100),
            mss: 1000,
            wire_mss: 1050,
            ..PathView::default()
        };
        let mut intent = Intent {
            window: Some(Bytes(10_000)),
            ..Intent::default()
        };
        // 10,500 wire bytes in 100 ms are 840 kbit/s.
        assert_eq!(
            Pacer::window_rate(&intent, &path),
            Some(Rate::from_bps(1_680_000))
        );
        intent.ssthresh = Some(Bytes(10_000));
        assert_eq!(
            Pacer::window_rate(&intent, &path),
            Some(Rate::from_bps(1_008_000))
        );
        assert_eq!(Pacer::window_rate(&intent, &PathView::default()), None);
    }
}
