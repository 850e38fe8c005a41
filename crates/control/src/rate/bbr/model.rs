//! The path as BBR sees it: delivery rate per round, round-trip time without queue, and whether the pipe is full.

use slackwater_core::{Bytes, Duration, Instant};

use crate::RateSample;
use crate::estimate::windowed_max::WindowedMax;

/// Rounds over which the largest delivery rate counts (`bbr_bw_rtts`: a gain cycle and two).
const BW_ROUNDS: u64 = 10;
/// How long a least RTT counts (`bbr_min_rtt_win_sec`).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// Growth of the rate per round that says the pipe is not full (`bbr_full_bw_thresh`).
const FULL_BW_THRESHOLD: f64 = 1.25;
/// Rounds without such growth that say it is (`bbr_full_bw_cnt`).
const FULL_BW_ROUNDS: u8 = 3;

/// A bandwidth of one packet a microsecond (Linux `BW_UNIT`).
pub const BW_UNIT: u64 = 1 << 24;

/// Bandwidth as Linux has it (`bbr_update_bw`): `delivered` in packets of `mss` bytes over `interval` in whole
/// microseconds, times [`BW_UNIT`] and truncated. A whole number.
pub fn bandwidth(delivered: Bytes, mss: u32, interval: Duration) -> f64 {
    let packets = delivered.0 as f64 / f64::from(mss.max(1));
    let micros = (interval.as_nanos() / 1000).max(1);
    libm::floor(packets * BW_UNIT as f64 / micros as f64)
}

/// Packets per second of a [`bandwidth`].
pub fn packets_per_second(bw: f64) -> f64 {
    bw * 1e6 / BW_UNIT as f64
}

/// Packet-timed rounds and the bandwidth filter over them.
#[derive(Clone, Debug)]
pub struct Rounds {
    count: u64,
    next_delivered: u64,
    bw: WindowedMax,
}

impl Default for Rounds {
    fn default() -> Self {
        Self {
            count: 0,
            next_delivered: 0,
            bw: WindowedMax::new(BW_ROUNDS),
        }
    }
}

impl Rounds {
    /// Largest delivery rate of the last rounds, a [`bandwidth`].
    #[inline]
    pub const fn max_bw(&self) -> f64 {
        self.bw.get()
    }

    /// A packet sent after the round's start was delivered: true where that starts the next round.
    pub fn update(&mut self, sample: &RateSample, delivered: u64) -> bool {
        if sample.prior_delivered.0 < self.next_delivered {
            return false;
        }
        self.next_delivered = delivered;
        self.count += 1;
        true
    }

    /// The present round starts here.
    pub const fn restart(&mut self, delivered: u64) {
        self.next_delivered = delivered;
    }

    /// Takes a rate sample, unless the application limited it and it shows less than is known; `quiet` says that BBR
    /// itself held the rate down.
    pub fn take(&mut self, sample: &RateSample, mss: u32, quiet: bool) {
        let bw = bandwidth(sample.delivered, mss, sample.interval);
        if !(sample.app_limited || quiet) || bw >= self.bw.get() {
            self.bw.update(self.count, bw);
        }
    }
}

/// The least RTT of the last ten seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct MinRtt {
    rtt: Option<Duration>,
    stamp: Instant,
}

impl MinRtt {
    /// The estimate.
    #[inline]
    pub const fn get(&self) -> Option<Duration> {
        self.rtt
    }

    /// The handshake's RTT, where there is no estimate yet.
    #[inline]
    pub fn init(&mut self, now: Instant, rtt: Duration) {
        if self.rtt.is_none() {
            self.rtt = Some(rtt);
            self.stamp = now;
        }
    }

    /// Takes a sample; true where the estimate had expired.
    pub fn update(&mut self, now: Instant, rtt: Option<Duration>, maybe_delayed: bool) -> bool {
        let expired = self.rtt.is_some() && now.since(self.stamp) > MIN_RTT_WINDOW;
        if let Some(rtt) = rtt
            && (self.rtt.is_none_or(|least| rtt <= least) || (expired && !maybe_delayed))
        {
            self.rtt = Some(rtt);
            self.stamp = now;
        }
        expired
    }

    /// The estimate counts as new.
    pub const fn touch(&mut self, now: Instant) {
        self.stamp = now;
    }
}

/// Whether start-up has filled the pipe.
#[derive(Clone, Copy, Debug, Default)]
pub struct FullPipe {
    bw: f64,
    rounds: u8,
    reached: bool,
}

impl FullPipe {
    /// The pipe was full once.
    #[inline]
    pub const fn reached(&self) -> bool {
        self.reached
    }

    /// A round that the application did not limit ended with a largest rate of `bw`.
    pub fn round(&mut self, bw: f64) {
        if self.reached {
            return;
        }
        if bw >= self.bw * FULL_BW_THRESHOLD {
            self.bw = bw;
            self.rounds = 0;
            return;
        }
        self.rounds += 1;
        self.reached = self.rounds >= FULL_BW_ROUNDS;
    }

    /// Any rate counts as growth again (after a timeout).
    pub const fn forget_level(&mut self) {
        self.bw = 0.0;
    }

    /// The rounds counted so far do not count either (after a spurious loss).
    pub const fn forget(&mut self) {
        self.bw = 0.0;
        self.rounds = 0;
    }
}
