//! Holds a feed against what arrives, and asks the path where nothing could speak against the feed.
//!
//! No link delivers more than it carries: bytes that arrive beyond what the blocks claim refute them. But a window that
//! obeys a feed which understates brings nothing that refutes it. So the window has a floor that rises as the fallback's
//! would, doubling each round at the start of a connection and by a quarter later, for as long as a round's least RTT
//! shows no queue. An honest feed's path shows one at once. What has arrived too much is summed up and forgotten at the
//! rate at which the feed claims more (a CUSUM test: Page, Biometrika 41, 1954); while the sum stands above noise the
//! floor stays, so that a lie is found out within a second. What falls short of the claims while a queue stands is summed
//! up likewise: it shows a feed that overstates, company, or a bottleneck elsewhere.

use slackwater_core::{Bytes, Duration, Instant};

use crate::{Ack, PathView};

/// Claims and arrivals are compared over this.
const BLOCK: Duration = Duration::from_millis(50);
/// Arrivals may exceed the claims by this factor: what is lost of a feed is a sample of it, not nothing.
const TOLERANCE: f64 = 1.1;
/// A feed may be this late, seconds: so much of what arrives may not have been claimed yet.
const LATE: f64 = 0.25;
/// The sum above which a floor stays, seconds of what arrives.
const NOISE: f64 = 0.03;
/// Behind a queue at the radio at least this part of what is claimed arrives.
const SHORT: f64 = 0.8;
/// Packets that either bound lets pass besides: bursts do not end with blocks of time.
const PACKETS: [f64; 2] = [8.0, 4.0];
/// A round whose least RTT is this much above the path's least has a queue (near `HyStart++`'s bound, RFC 9406, 4.3).
const QUEUE: Duration = Duration::from_millis(10);
/// Twice this is too much of a queue for a floor.
const DEEP: Duration = Duration::from_millis(20);
/// Growth of the floor each round: at the start as slow start's, later gently.
const GROWTH: [f64; 2] = [2.0, 1.25];
/// A deeper queue lets a floor that stays shrink by this each round.
const SHRINK: f64 = 0.9;
/// A loss cuts such a floor to this (RFC 9438, 4.6).
const LOSS_CUT: f64 = 0.7;
/// Between two times of asking.
const REST: Duration = Duration::from_secs(4);
/// Time constant of the rate of arrivals, seconds.
const PACE_TAU: f64 = 0.2;

/// What arrived, what was claimed, and the floor of the window.
#[derive(Clone, Copy, Debug)]
pub struct Audit {
    /// Bytes and seconds that the blocks of this time claim.
    claimed: (f64, f64),
    /// IP bytes that arrived in it.
    arrived: f64,
    from: Option<Instant>,
    /// Bytes that arrived beyond what was claimed.
    excess: f64,
    /// Bytes that were claimed while a queue stood, and did not arrive.
    deficit: f64,
    /// Bytes per second that arrive, and that are claimed.
    pace: f64,
    said: f64,
    /// Least RTT of this block.
    least_of_block: Duration,
    packet: f64,
    /// Segments below which the window does not go.
    floor: Option<f64>,
    /// The connection has just begun.
    young: bool,
    round: Instant,
    least: Duration,
    rest: Instant,
}

impl Audit {
    /// Of a connection with an initial window of `initial` segments.
    pub const fn new(initial: f64) -> Self {
        Self {
            claimed: (0.0, 0.0),
            arrived: 0.0,
            from: None,
            excess: 0.0,
            deficit: 0.0,
            pace: 0.0,
            said: 0.0,
            least_of_block: Duration::MAX,
            packet: 1500.0,
            floor: Some(initial),
            young: true,
            round: Instant::ZERO,
            least: Duration::MAX,
            rest: Instant::ZERO,
        }
    }

    /// The feed claims `bytes` for `span`.
    #[inline]
    pub fn on_blocks(&mut self, bytes: Bytes, span: Duration) {
        self.claimed.0 += bytes.0 as f64;
        self.claimed.1 += span.as_secs_f64();
    }

    /// An ACK arrived while the window was `window` segments.
    #[inline]
    pub fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack, window: f64) {
        // In IP bytes, as the blocks'.
        let overhead = f64::from(path.wire_mss.max(1)) / f64::from(path.mss.max(1));
        self.packet = f64::from(path.wire_mss.max(path.mss));
        self.arrived += ack.newly_acked.0 as f64 * overhead;
        if let Some(rtt) = ack.rtt {
            self.least = self.least.min(rtt);
            self.least_of_block = self.least_of_block.min(rtt);
        }
        self.compare(now, path.min_rtt);
        if now.since(self.round) >= path.srtt && self.least < Duration::MAX {
            let queue = self.least.saturating_sub(path.min_rtt);
            self.round = now;
            self.least = Duration::MAX;
            self.ask(now, queue, ack.cwnd_limited, window);
        }
    }

    /// Once a block of time is over: what arrived against what was claimed.
    fn compare(&mut self, now: Instant, min_rtt: Duration) {
        let from = *self.from.get_or_insert(now);
        let passed = now.since(from).as_secs_f64();
        if passed < BLOCK.as_secs_f64() {
            return;
        }
        let arrived = core::mem::take(&mut self.arrived);
        self.from = Some(now);
        let keep = libm::exp(-passed / PACE_TAU);
        self.pace = self.pace * keep + arrived / passed * (1.0 - keep);
        let (bytes, seconds) = core::mem::take(&mut self.claimed);
        // Time that no report covers is skipped: missing is not zero.
        if seconds > 0.0 {
            let claimed = bytes / seconds * passed;
            self.said = self.said * keep + bytes / seconds * (1.0 - keep);
            let most = self.limit(self.pace);
            self.excess = (self.excess + arrived - TOLERANCE * claimed).clamp(0.0, most);
            let least = core::mem::replace(&mut self.least_of_block, Duration::MAX);
            let queued = least < Duration::MAX && least.saturating_sub(min_rtt) > QUEUE;
            let short = SHORT * claimed - arrived;
            if queued || short < 0.0 {
                let most = self.limit(self.said);
                self.deficit = (self.deficit + short).clamp(0.0, most);
            }
        }
    }

    fn limit(&self, pace: f64) -> f64 {
        LATE * pace + PACKETS[0] * self.packet
    }

    /// A round ended whose least queueing was `queue`.
    fn ask(&mut self, now: Instant, queue: Duration, full: bool, window: f64) {
        let Some(floor) = self.floor else {
            if full && queue < QUEUE && (now >= self.rest || self.is_suspect()) {
                self.floor = Some(window.max(1.0) * GROWTH[1] + 1.0);
            }
            return;
        };
        let growth = GROWTH[usize::from(!self.young)];
        if queue < QUEUE {
            if full {
                self.floor = Some(floor * growth + 1.0);
            }
        } else if self.has_evidence() {
            // A little speaks against the feed: ask on, at a queue that is short.
            if queue > DEEP {
                self.floor = Some((floor * SHRINK).max(1.0));
            }
        } else {
            self.rested(now);
        }
    }

    /// Nothing is asked for a while.
    fn rested(&mut self, now: Instant) {
        self.floor = None;
        self.young = false;
        self.rest = now + REST;
    }

    /// A loss: the floor has found its end, or goes back as CUBIC's window does.
    pub fn on_congestion(&mut self, now: Instant) {
        if let Some(floor) = self.floor {
            if self.has_evidence() {
                self.floor = Some(floor * LOSS_CUT);
            } else {
                self.rested(now);
            }
        }
    }

    /// Something speaks against the feed, if only a little.
    fn has_evidence(&self) -> bool {
        self.excess > PACKETS[1] * self.packet
    }

    /// More arrived than was claimed, beyond noise.
    pub fn is_suspect(&self) -> bool {
        self.excess > NOISE * self.pace + PACKETS[1] * self.packet
    }

    /// So much more that no late feed explains it.
    pub fn is_refuted(&self) -> bool {
        self.pace > 0.0 && self.excess >= self.limit(self.pace)
    }

    /// So much of what was claimed did not arrive that no late feed explains it: another link is the bottleneck, others
    /// share this one, or the feed overstates.
    pub fn is_short(&self) -> bool {
        self.said > 0.0 && self.deficit >= self.limit(self.said)
    }

    /// Segments below which the window does not go.
    pub fn floor(&self) -> f64 {
        self.floor.unwrap_or(0.0)
    }

    /// CUBIC took over: it asks by itself.
    pub fn hand_over(&mut self, now: Instant) {
        self.rested(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Feeds 10 packets each 10 ms for `ms`, claims of `share` of it that are `late`; the time at which it is refuted.
    fn refuted(share: f64, late: u64, ms: u64) -> Option<u64> {
        let mut audit = Audit::new(10.0);
        let path = PathView {
            mss: 1448,
            wire_mss: 1500,
            srtt: Duration::from_millis(40),
            min_rtt: Duration::from_millis(40),
            ..PathView::default()
        };
        for k in 0..ms / 10 {
            let now = Instant::from_millis(k * 10);
            // The rate doubles after two seconds.
            let packets = |at: u64| if at < 2000 { 10 } else { 20 };
            let ack = Ack {
                newly_acked: Bytes(1448 * packets(k * 10)),
                rtt: Some(Duration::from_millis(40)),
                ..Ack::default()
            };
            if k * 10 >= late {
                let bytes = 1500.0 * packets(k * 10 - late) as f64 * share;
                audit.on_blocks(Bytes(bytes as u64), MS * 10);
            }
            audit.on_ack(now, &path, &ack, 40.0);
            if audit.is_refuted() {
                return Some(k * 10);
            }
        }
        None
    }

    #[test]
    fn honest_and_late_feeds_stand_and_lies_fall_within_a_second() {
        for late in [0, 50, 200] {
            assert_eq!(refuted(1.0, late, 10_000), None, "{late} ms late");
        }
        for share in [0.0, 0.1, 0.5, 0.7] {
            let at = refuted(share, 0, 10_000);
            assert!(at.is_some_and(|ms| ms < 1500), "{share}: {at:?}");
        }
    }

    #[test]
    fn a_floor_rises_until_a_queue_shows_and_rests() {
        let mut audit = Audit::new(10.0);
        let none = Duration::ZERO;
        let t = Instant::from_millis;
        audit.ask(t(40), none, true, 10.0);
        audit.ask(t(80), none, true, 10.0);
        assert!((audit.floor() - 43.0).abs() < 1e-9, "{}", audit.floor());
        // Nobody grows a window that is not full.
        audit.ask(t(120), none, false, 10.0);
        assert!((audit.floor() - 43.0).abs() < 1e-9);
        audit.ask(t(160), Duration::from_millis(12), true, 43.0);
        assert_eq!(audit.floor(), 0.0);
        audit.ask(t(2000), none, true, 40.0);
        assert_eq!(audit.floor(), 0.0);
        audit.ask(t(5000), none, true, 40.0);
        assert!((audit.floor() - 51.0).abs() < 1e-9);
    }
}
