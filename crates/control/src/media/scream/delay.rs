//! Round trips and queue delay (draft-ietf-ccwg-rfc8298bis-screamv2, 4.2.1): one-way delay above its least.

use slackwater_core::{Duration, Instant};

/// A base delay is kept for so long...
const BASE_SPAN: Duration = Duration::from_secs(10);
/// ...in so many spans.
const BASE_SPANS: usize = 6;
/// Gain of the average queue delay, once in a round trip or the virtual RTT (`kQueueDelayAvgAlpha`, `QDelayAvgG`).
const AVERAGE: f64 = 0.25;
/// Gain of its mean deviation (`QDelayDevAvgG`) in units of 25 ms (`kQueueDelayDevNorm`).
const DEVIATION: (f64, f64) = (1.0 / 64.0, 0.025);
/// Time between samples of the least queue delay (`kSlowUpdateInterval`), their gain upwards, and above which share of
/// the target it means a wrong base (Ericsson's `getTargetBitrate`).
const SLOW: Duration = Duration::from_millis(50);
const SLOW_GAIN: f64 = 0.005;
const WRONG: f64 = 0.125;
/// Then the rate is halved for 100 ms or five round trips, at most once a minute, and the base is taken anew.
const DRAIN: (Duration, u64) = (Duration::from_millis(100), 5);
const DRAIN_EVERY: Duration = Duration::from_secs(60);

/// Delays in seconds.
#[derive(Clone, Debug)]
pub(crate) struct Delay {
    /// Smoothed RTT and a quicker one.
    srtt: f64,
    short: f64,
    /// Before the present value, for its trend.
    short_before: f64,
    base: [f64; BASE_SPANS],
    span: Option<Instant>,
    queue: f64,
    average: f64,
    averaged: Instant,
    deviation: f64,
    least: f64,
    least_average: f64,
    slow: Instant,
    /// When the last draining began, and whether it goes on.
    drained: Option<Instant>,
    draining: bool,
    /// Another flow holds the queue, so the base is not forgotten.
    kept: bool,
    /// Another flow may hold the queue.
    held: bool,
}

impl Delay {
    pub(crate) const fn new() -> Self {
        Self {
            srtt: 0.0,
            short: 0.0,
            short_before: 0.0,
            base: [f64::INFINITY; BASE_SPANS],
            span: None,
            queue: 0.0,
            average: 0.0,
            averaged: Instant::ZERO,
            deviation: 0.0,
            least: f64::INFINITY,
            least_average: 0.0,
            slow: Instant::ZERO,
            drained: None,
            draining: false,
            kept: false,
            held: false,
        }
    }

    /// The base is not forgotten while it is `kept`, and what never drains is no wrong base while it may be `held` by others.
    pub(crate) fn keep(&mut self, kept: bool, held: bool) {
        (self.kept, self.held) = (kept, kept || held);
    }

    /// The newest packet of a feedback: its round trip, and the way there with the clocks' offset.
    pub(crate) fn update(&mut self, now: Instant, rtt: f64, way: f64, target: f64, spacing: f64) {
        self.short_before = self.short;
        if self.srtt == 0.0 {
            (self.srtt, self.short, self.short_before) = (rtt, rtt, rtt);
        } else {
            self.srtt += (rtt - self.srtt) / 8.0;
            self.short += (rtt - self.short) / 2.0;
        }
        let over = |start| now.since(start) >= BASE_SPAN && !self.kept;
        if self.span.is_none_or(over) {
            self.base.rotate_right(1);
            self.base[0] = f64::INFINITY;
            self.span = Some(now);
        }
        self.base[0] = self.base[0].min(way);
        let base = self.base.iter().copied().fold(f64::INFINITY, f64::min);
        self.queue = way - base;
        self.least = self.least.min(self.queue);
        let due = self.srtt.min(spacing);
        if now.since(self.averaged).as_secs_f64() >= due {
            self.averaged = now;
            let gain = if self.queue < self.average {
                // The average does not outlast the queue.
                1.0
            } else {
                AVERAGE
            };
            let apart = (self.queue - self.average).abs() / DEVIATION.1;
            self.deviation += DEVIATION.0 * (apart - self.deviation);
            self.average += gain * (self.queue - self.average);
        }
        if now.since(self.slow) >= SLOW {
            self.slow = now;
            if self.least < self.least_average {
                self.least_average = self.least;
            } else {
                self.least_average += SLOW_GAIN * (self.least.min(1.0) - self.least_average);
            }
            self.least = f64::INFINITY;
        }
        if !self.held {
            self.seek_base(now, target);
        }
    }

    /// A queue delay that never falls may be a base that is wrong: the queue is drained, and what then stays is base.
    fn seek_base(&mut self, now: Instant, target: f64) {
        let high = self.least_average > WRONG * target;
        if self.draining && !self.drains(now) {
            self.draining = false;
            if high {
                self.base = [f64::INFINITY; BASE_SPANS];
                (self.queue, self.average, self.least_average) = (0.0, 0.0, 0.0);
            }
        } else if high
            && self
                .drained
                .is_none_or(|since| now.since(since) >= DRAIN_EVERY)
        {
            self.drained = Some(now);
            self.draining = true;
        }
    }

    /// The rate is halved so that the queue shows its base.
    pub(crate) fn drains(&self, now: Instant) -> bool {
        let rtts = Duration::from_secs_f64(self.srtt) * DRAIN.1;
        self.drained
            .is_some_and(|since| now.since(since) <= DRAIN.0.max(rtts))
    }

    pub(crate) const fn srtt(&self) -> f64 {
        self.srtt
    }

    /// The lesser of the two smoothed RTTs.
    pub(crate) fn rtt(&self) -> f64 {
        self.srtt.min(self.short)
    }

    pub(crate) fn falls(&self) -> bool {
        self.short < self.short_before
    }

    pub(crate) const fn queue(&self) -> f64 {
        self.queue
    }

    pub(crate) const fn average(&self) -> f64 {
        self.average
    }

    /// 1 where the queue delay stands still, 0 where it varies (4.2.1.4). `ratio`: a packet's share of the window.
    pub(crate) fn steadiness(&self, ratio: f64) -> f64 {
        let bound = (0.1 * (1.0 - ratio / 0.1)).max(0.05);
        ((bound - self.deviation) / bound).clamp(0.0, 1.0)
    }
}
