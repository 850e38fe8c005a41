//! A token bucket in front of any queue.

use slackwater_core::{Bytes, Duration, Instant, PacketView, Rate};

use crate::{Queue, QueueView, Sink};

/// A rate and the burst that may exceed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShaperConfig {
    /// The long-term rate.
    pub rate: Rate,
    /// Bytes that may leave at once after a pause, beside the packet that overdraws the bucket.
    pub burst: Bytes,
}

/// One byte in the unit of the bucket: bit/s times ns, so that filling it is one exact product.
const BYTE: i128 = 8_000_000_000;

/// Releases an inner queue's packets at a rate.
///
/// A packet leaves while the bucket is not in debt, and may put it there: then no container needs to tell the length
/// of its next packet before it (and its law) has decided on it. Over any time T at most `burst + rate * T` bytes and
/// one packet leave; the mean rate is exact.
#[derive(Debug)]
pub struct Shaper<Q> {
    inner: Q,
    config: ShaperConfig,
    /// Tokens, negative in debt.
    tokens: i128,
    /// When `tokens` was right.
    filled: Instant,
}

impl<Q> Shaper<Q> {
    /// A shaper with a full bucket.
    pub fn new(config: ShaperConfig, inner: Q) -> Self {
        Self {
            inner,
            config,
            tokens: i128::from(config.burst.get()) * BYTE,
            filled: Instant::ZERO,
        }
    }

    /// The queue behind the bucket.
    pub const fn inner(&self) -> &Q {
        &self.inner
    }

    /// The rate.
    pub const fn rate(&self) -> Rate {
        self.config.rate
    }

    /// Changes the rate from `now` on.
    pub fn set_rate(&mut self, now: Instant, rate: Rate) {
        self.fill(now);
        self.config.rate = rate;
    }

    fn tokens_at(&self, now: Instant) -> i128 {
        // A nanosecond's worth above the burst: time is whole nanoseconds, and a bucket that is ready between two of
        // them must not lose the rest to its rim.
        let full =
            i128::from(self.config.burst.get()) * BYTE + i128::from(self.config.rate.as_bps());
        let gain =
            i128::from(self.config.rate.as_bps()) * i128::from(now.since(self.filled).as_nanos());
        (self.tokens + gain).min(full)
    }

    fn fill(&mut self, now: Instant) {
        self.tokens = self.tokens_at(now);
        self.filled = self.filled.max(now);
    }

    /// The earliest time from `now` on at which the bucket is out of debt.
    fn ready(&self, now: Instant) -> Instant {
        let debt = -self.tokens_at(now);
        if debt <= 0 {
            return now;
        }
        let rate = i128::from(self.config.rate.as_bps());
        if rate == 0 {
            return Instant::MAX;
        }
        let ns = (debt + rate - 1) / rate;
        now.saturating_add(Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX)))
    }
}

impl<P: PacketView, Q: Queue<P>> Queue<P> for Shaper<Q> {
    fn enqueue(&mut self, now: Instant, packet: P, sink: &mut dyn Sink<P>) {
        self.inner.enqueue(now, packet, sink);
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<(P, Instant)> {
        self.fill(now);
        if self.tokens < 0 {
            return None;
        }
        let (packet, since) = self.inner.dequeue(now, sink)?;
        self.tokens -= i128::from(packet.len()) * BYTE;
        Some((packet, since))
    }

    fn backlog(&self) -> QueueView {
        self.inner.backlog()
    }

    fn head_since(&self) -> Option<Instant> {
        self.inner.head_since()
    }

    fn next_ready(&self, now: Instant) -> Option<Instant> {
        let inner = self.inner.next_ready(now)?;
        Some(inner.max(self.ready(now)))
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::Packet;

    use super::*;
    use crate::NoSink;
    use crate::container::{Fifo, Limits, Overflow};
    use crate::law::NoLaw;

    fn shaper(rate: Rate, burst: Bytes, packets: u32) -> Shaper<Fifo<Packet, NoLaw>> {
        let inner = Fifo::new(Limits::default(), Overflow::Tail, NoLaw);
        let mut shaper = Shaper::new(ShaperConfig { rate, burst }, inner);
        for _ in 0..packets {
            let packet = Packet {
                len: 1500,
                ..Packet::default()
            };
            shaper.enqueue(Instant::ZERO, packet, &mut NoSink);
        }
        shaper
    }

    /// Departure times in microseconds of calls exactly at `next_ready`.
    fn departures(shaper: &mut Shaper<Fifo<Packet, NoLaw>>) -> Vec<u64> {
        let mut now = Instant::ZERO;
        let mut out = Vec::new();
        while let Some(at) = shaper.next_ready(now) {
            if at > now {
                let early = at.saturating_sub(Duration::from_nanos(1));
                assert_eq!(shaper.dequeue(early, &mut NoSink), None);
            }
            now = at;
            assert!(shaper.dequeue(now, &mut NoSink).is_some());
            out.push(now.as_nanos() / 1000);
        }
        out
    }

    #[test]
    fn without_a_burst_packets_are_spaced_by_their_length() {
        let mut s = shaper(Rate::from_mbps(12.0), Bytes::ZERO, 4);
        assert_eq!(departures(&mut s), [0, 1000, 2000, 3000]);
    }

    #[test]
    fn a_burst_leaves_at_once() {
        let mut s = shaper(Rate::from_mbps(12.0), Bytes(3000), 5);
        assert_eq!(departures(&mut s), [0, 0, 0, 1000, 2000]);
    }

    #[test]
    fn the_mean_rate_is_exact_at_a_rate_that_divides_nothing() {
        let mut s = shaper(Rate::from_bps(7_777_777), Bytes::ZERO, 1001);
        let last = *departures(&mut s).last().expect("1001 left");
        // 1000 packets of 12,000 bits.
        assert_eq!(last, 12_000_000 * 1_000_000 / 7_777_777);
    }

    #[test]
    fn a_new_rate_holds_from_now_and_zero_holds_everything() {
        let mut s = shaper(Rate::from_mbps(12.0), Bytes::ZERO, 3);
        assert!(s.dequeue(Instant::ZERO, &mut NoSink).is_some());
        s.set_rate(Instant::from_nanos(500_000), Rate::ZERO);
        let later = Instant::from_millis(10_000);
        assert_eq!(s.next_ready(later), Some(Instant::MAX));
        s.set_rate(later, Rate::from_mbps(6.0));
        assert_eq!(s.next_ready(later), Some(later + Duration::from_millis(1)));
    }
}
