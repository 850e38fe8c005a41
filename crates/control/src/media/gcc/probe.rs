//! Probes: short bursts with padding that show a higher rate sooner than growth would, and the detection of media that
//! stays below its rate (libwebrtc, `ProbeController`, `ProbeBitrateEstimator`, `AlrDetector`).

use slackwater_core::{Duration, Instant};

use crate::media::al4s::pdv::span;

/// A probe lasts so long and counts so many packets at least.
const LENGTH: Duration = Duration::from_millis(15);
const PACKETS: u32 = 5;
/// The first two probes in first rates, a further one in rates, and the share of a probe that asks for it.
const FIRST: [f64; 2] = [3.0, 6.0];
const FURTHER: f64 = 2.0;
const ENOUGH: f64 = 0.7;
/// In application-limited regions a probe each so often.
const LIMITED_EVERY: Duration = Duration::from_secs(5);
/// The share of a probe's packets and bytes that must arrive, and in what time.
const ARRIVED: f64 = 0.8;
const PATIENCE: Duration = Duration::from_secs(1);
/// A rate of arrival above so many rates of sending is none; below this share of it the link was full, and so much of
/// the rate of arrival is taken.
const IMPOSSIBLE: f64 = 2.0;
const FULL: f64 = 0.9;
const TAKEN: f64 = 0.95;
/// The media's budget in rates, over which window, and the shares of unused budget at which the region starts and ends.
const BUDGET: f64 = 0.65;
const BUDGET_WINDOW: f64 = 0.5;
const REGION: (f64, f64) = (0.8, 0.5);

/// One burst, and what arrived of it. RTTs may be shorter than bursts.
#[derive(Clone, Copy, Debug)]
struct Cluster {
    /// bit/s.
    rate: f64,
    /// Packets leave yet.
    open: bool,
    first: Option<Instant>,
    last: Instant,
    sent: u32,
    sent_bytes: u64,
    received: u32,
    bytes: u64,
    /// Of those that arrived: first and last sending and arrival; bytes of the last sent and of the first arrived.
    left: (Instant, Instant),
    arrived: (Instant, Instant),
    last_bytes: u64,
    first_bytes: u64,
}

/// The probes.
#[derive(Clone, Debug)]
pub(crate) struct Prober {
    started: bool,
    queue: [f64; 2],
    cluster: Option<Cluster>,
    /// The rate that a further probe needs; infinite for none.
    further: f64,
    last: Instant,
    /// Unused budget in bytes.
    budget: f64,
    budgeted: Option<Instant>,
    limited: Option<Instant>,
}

impl Prober {
    pub(crate) const fn new() -> Self {
        Self {
            started: false,
            queue: [0.0; 2],
            cluster: None,
            further: f64::INFINITY,
            last: Instant::ZERO,
            budget: 0.0,
            budgeted: None,
            limited: None,
        }
    }

    /// The rate at which packets should leave now, bit/s.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.cluster.filter(|c| c.open).map(|c| c.rate)
    }

    /// The media stays below its rate.
    pub(crate) const fn limited(&self) -> bool {
        self.limited.is_some()
    }

    /// A packet of `bytes` left; `rate` is the target.
    pub(crate) fn on_sent(&mut self, now: Instant, bytes: u64, rate: f64, most: f64) {
        self.spend(now, bytes, rate);
        if !self.started {
            self.started = true;
            self.queue = FIRST.map(|factor| (factor * rate).min(most));
            self.next(now);
            return;
        }
        let Some(cluster) = self.cluster.as_mut().filter(|c| c.open) else {
            self.next(now);
            return;
        };
        let first = *cluster.first.get_or_insert(now);
        cluster.last = now;
        cluster.sent += 1;
        cluster.sent_bytes = cluster.sent_bytes.saturating_add(bytes);
        let passed = now.since(first);
        let enough = cluster.rate / 8.0 * LENGTH.as_secs_f64();
        let full = cluster.sent >= PACKETS && cluster.sent_bytes as f64 >= enough;
        cluster.open = !(full && passed >= LENGTH || passed >= PATIENCE);
    }

    fn spend(&mut self, now: Instant, bytes: u64, rate: f64) {
        let passed = self.budgeted.map_or(0.0, |at| now.since(at).as_secs_f64());
        self.budgeted = Some(now);
        let full = BUDGET * rate / 8.0 * BUDGET_WINDOW;
        let refill = BUDGET * rate / 8.0 * passed;
        self.budget = (self.budget + refill - bytes as f64).clamp(-full, full);
        let ratio = self.budget / full.max(1.0);
        if ratio > REGION.0 {
            self.limited.get_or_insert(now);
        } else if ratio < REGION.1 {
            self.limited = None;
        }
    }

    /// Starts the next probe, if it is time.
    fn next(&mut self, now: Instant) {
        let late = |c: &Cluster| !c.open && now.since(c.last) > PATIENCE;
        if self.cluster.as_ref().is_some_and(late) {
            self.cluster = None;
        }
        if self.cluster.is_some() || self.queue[0] <= 0.0 {
            return;
        }
        self.last = now;
        self.cluster = Some(Cluster {
            rate: self.queue[0],
            open: true,
            first: None,
            last: now,
            sent: 0,
            sent_bytes: 0,
            received: 0,
            bytes: 0,
            left: (Instant::MAX, Instant::ZERO),
            arrived: (Instant::MAX, Instant::ZERO),
            last_bytes: 0,
            first_bytes: 0,
        });
        self.further = ENOUGH * self.queue[0];
        self.queue = [self.queue[1], 0.0];
    }

    /// The target is `rate` now: a further probe may be due.
    pub(crate) fn on_target(&mut self, now: Instant, rate: f64, most: f64) {
        let waits = self.cluster.is_some() || self.queue[0] > 0.0;
        if !waits && rate > self.further && rate < most {
            self.queue[0] = (FURTHER * rate).min(most);
        }
        if !waits && now.since(self.last) > PATIENCE {
            self.further = f64::INFINITY;
        }
        let long = self
            .limited
            .is_some_and(|since| now.since(since) >= LIMITED_EVERY);
        if !waits && long && now.since(self.last) >= LIMITED_EVERY && rate < most {
            self.queue[0] = (FURTHER * rate).min(most);
        }
    }

    /// A packet arrived; gives what a complete probe shows, bit/s.
    pub(crate) fn on_packet(&mut self, sent: Instant, arrived: Instant, bytes: u64) -> Option<f64> {
        let c = self.cluster.as_mut()?;
        let first = c.first?;
        if sent >= first && sent <= c.last {
            c.received += 1;
            c.bytes = c.bytes.saturating_add(bytes);
            c.left.0 = c.left.0.min(sent);
            if sent >= c.left.1 {
                (c.left.1, c.last_bytes) = (sent, bytes);
            }
            if arrived < c.arrived.0 {
                (c.arrived.0, c.first_bytes) = (arrived, bytes);
            }
            c.arrived.1 = c.arrived.1.max(arrived);
        }
        let packets = f64::from(c.sent) * ARRIVED;
        let enough = c.sent_bytes as f64 * ARRIVED;
        if c.open || f64::from(c.received) < packets || (c.bytes as f64) < enough {
            return None;
        }
        let c = self.cluster.take()?;
        Self::evaluate(&c)
    }

    fn evaluate(c: &Cluster) -> Option<f64> {
        let over = |bytes: u64, (from, to): (Instant, Instant)| {
            let seconds = span(from, to);
            (seconds > 0.0 && seconds < 1.0).then(|| bytes as f64 * 8.0 / seconds)
        };
        // The last packet's bytes left after the interval, the first one's arrived before it.
        let sent = over(c.bytes.saturating_sub(c.last_bytes), c.left)?;
        let arrived = over(c.bytes.saturating_sub(c.first_bytes), c.arrived)?;
        if arrived > IMPOSSIBLE * sent {
            return None;
        }
        Some(if arrived < FULL * sent {
            TAKEN * arrived
        } else {
            arrived.min(sent)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends at the prober's rate from 1 s on until the burst is over; returns the packets' times.
    fn burst(p: &mut Prober) -> Vec<Instant> {
        let mut now = Instant::from_millis(1000);
        p.on_sent(now, 1200, 1e6, 1e8);
        let mut sent = Vec::new();
        while let Some(rate) = p.rate() {
            now += Duration::from_secs_f64(1200.0 * 8.0 / rate);
            p.on_sent(now, 1200, 1e6, 1e8);
            sent.push(now);
        }
        sent
    }

    #[test]
    fn a_burst_lasts_fifteen_milliseconds_and_five_packets() {
        let mut p = Prober::new();
        let sent = burst(&mut p);
        assert!(sent.len() >= 5);
        let length = sent[sent.len() - 1].since(sent[0]);
        assert!(length >= LENGTH && length < LENGTH * 2, "{length}");
    }

    #[test]
    fn an_empty_link_shows_the_probes_rate_and_a_full_one_its_own() {
        for (spacing_ms, expected) in [(3.2, 3e6), (9.6, 0.95e6)] {
            let mut p = Prober::new();
            let sent = burst(&mut p);
            let start = Instant::from_millis(5000);
            let found = sent.iter().enumerate().find_map(|(i, at)| {
                let after = Duration::from_secs_f64(spacing_ms * 1e-3 * i as f64);
                p.on_packet(*at, start + after, 1200)
            });
            let found = found.expect("the probe is complete");
            assert!((found / expected - 1.0).abs() < 0.01, "{found}");
        }
    }

    #[test]
    fn faster_arrival_than_possible_is_no_result() {
        let mut p = Prober::new();
        let sent = burst(&mut p);
        let start = Instant::from_millis(5000);
        for (i, at) in sent.iter().enumerate() {
            let after = Duration::from_micros(100) * (i as u64);
            assert_eq!(p.on_packet(*at, start + after, 1200), None);
        }
        assert!(p.cluster.is_none());
    }

    #[test]
    fn media_below_its_rate_is_found_and_probed() {
        let mut p = Prober::new();
        p.started = true;
        let mut now = Instant::from_millis(10_000);
        for _ in 0..100 {
            now += Duration::from_millis(10);
            p.on_sent(now, 125, 1e6, 1e8);
        }
        assert!(p.limited(), "a tenth of the rate");
        p.on_target(now, 1e6, 1e8);
        assert!(p.queue[0] == 0.0);
        now += Duration::from_secs(5);
        p.on_target(now, 1e6, 1e8);
        assert_eq!(p.queue[0], 2e6);
        for _ in 0..100 {
            now += Duration::from_millis(10);
            p.spend(now, 1250, 1e6);
        }
        assert!(!p.limited());
    }

    /// libwebrtc, `ProbeBitrateEstimator`: four fifths of a probe's packets and of its bytes must have arrived.
    #[test]
    fn small_packets_alone_are_no_complete_probe() {
        let mut p = Prober::new();
        let mut now = Instant::from_millis(1000);
        p.on_sent(now, 1200, 1e6, 1e8);
        let mut sent = Vec::new();
        while let Some(rate) = p.rate() {
            let bytes = if sent.len() % 2 == 0 { 200 } else { 1200 };
            now += Duration::from_secs_f64(bytes as f64 * 8.0 / rate);
            p.on_sent(now, bytes, 1e6, 1e8);
            sent.push((now, bytes));
        }
        // Five of each size, 7,000 bytes.
        assert_eq!(sent.len(), 10);
        let mut arrive = |k: usize| {
            let (at, bytes) = sent[k];
            p.on_packet(at, at + Duration::from_millis(20), bytes)
        };
        // Eight packets, and 4,600 bytes.
        for k in [0, 1, 2, 3, 4, 6, 8, 9] {
            assert_eq!(arrive(k), None);
        }
        // With the ninth 5,800 are there: what is missing lowers the rate to 4,600 bytes in the time of 6,800.
        let rate = arrive(7).expect("the probe is complete");
        assert!((rate / 3e6 - 4600.0 / 6800.0).abs() < 0.01, "{rate}");
    }
}
