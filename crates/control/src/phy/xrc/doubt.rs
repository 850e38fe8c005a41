//! What speaks against reports, by laws that no radio breaks. Ours; the paper trusts its agent, and the option is not
//! authenticated.
//!
//! 1. **A queue in order.** What waits at its head came after the packet that was acknowledged last, whoever it belongs to. It is no
//!    older than that packet: the time since the ACK and the ACK's RTT. An older head is refused. A report may be late itself, so
//!    the largest RTT of two windows of data counts.
//! 2. **What arrives was carried.** A window of data that arrives at a multiple of all rates that were reported meanwhile contradicts
//!    them. A flow may hold more than its fair part of a shared queue, and so more of what is reported.
//! 3. **A queue delays.** Where no report of a window of data shows a shorter wait, no packet of it was spared that wait. Jitter delays
//!    some packets and spares others, so the least RTT tells. A small window may have no packet that jitter spared, so the law holds
//!    over a run of windows as well.
//!
//! Laws 2 and 3 bend for a moment, as a rate falls. Reports are refuted where windows of data contradict them for a second, and the
//! sender is then as without reports. So are reports of which more than a few break law 1: what they say in between is no better.

use slackwater_core::{Duration, Instant};
use slackwater_signal::PathReport;

use super::round::Measured;

/// Law 2: what arrives may exceed the reported rate by this factor, for a flow alone and among others. A flow that grows by a segment
/// in each RTT above its target shows any lower rate within half of the link.
const CARRIED: [f64; 2] = [2.0, 8.0];
/// Of reports in a window of data, one in so many that breaks law 1 speaks against the others.
const REFUSED: u32 = 10;
/// Windows of data, net of those that agree, that refute reports...
const WINDOWS: u32 = 10;
/// ...and the time that they take at least.
const LASTING: Duration = Duration::from_secs(1);
/// Reports that were refuted are believed again after so long without a contradiction, and after twice that the next time...
const AGAIN: Duration = Duration::from_secs(2);
/// ...up to 64 s.
const DOUBLINGS: u32 = 5;

/// What was seen of late.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Doubt {
    /// The last ACK with an RTT.
    acked: Option<Instant>,
    /// Largest RTT of this window of data and of the last.
    rtt: [Duration; 2],
    /// Largest reported rate of the same, bit/s.
    rate: [f64; 2],
    /// Reports of this window of data, and those among them that break law 1.
    heard: u32,
    refused: u32,
    /// Windows that contradict, net of those that agree, and when the first of them ended.
    windows: u32,
    since: Instant,
    /// Law 3 over the present run of [`WINDOWS`] windows and the last.
    standing: [Standing; 2],
    /// Windows of the present run.
    run: u32,
    /// When the last contradiction was seen of reports that are refuted.
    refuted: Option<Instant>,
    /// How often they were.
    times: u32,
}

/// The least head-of-line delay and the least RTT of a run of windows, seconds. Infinite without any.
#[derive(Clone, Copy, Debug)]
struct Standing {
    hol: f64,
    rtt: f64,
}

impl Default for Standing {
    fn default() -> Self {
        Self {
            hol: f64::INFINITY,
            rtt: f64::INFINITY,
        }
    }
}

impl Standing {
    fn min(self, other: Self) -> Self {
        Self {
            hol: self.hol.min(other.hol),
            rtt: self.rtt.min(other.rtt),
        }
    }

    /// A queue of `budget` stood that the least RTT does not show: law 3.
    fn is_unseen(self, rtt_min: f64, budget: f64) -> bool {
        self.hol >= budget && self.rtt - rtt_min < self.hol / 2.0
    }
}

/// What else is known of a window of data that ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    /// Arrived in it, bit/s of IP bytes.
    pub(super) carried: f64,
    /// The least RTT, seconds.
    pub(super) rtt_min: f64,
    /// The queue that the sender drains, seconds.
    pub(super) budget: f64,
    /// Other flows are active in the queue.
    pub(super) shared: bool,
    /// Reports come.
    pub(super) hears: bool,
}

impl Doubt {
    /// `report` breaks law 1.
    pub(super) fn is_older(&self, now: Instant, report: &PathReport) -> bool {
        matches!(report, PathReport::Share { hol_delay, .. }
            if self.oldest(now).is_some_and(|oldest| *hol_delay > oldest))
    }

    /// The oldest that the head of the queue can be. `None` before an RTT is known.
    fn oldest(&self, now: Instant) -> Option<Duration> {
        let rtt = self.rtt[0].max(self.rtt[1]);
        self.acked.map(|at| now.since(at) + rtt)
    }

    #[inline]
    pub(super) fn acked(&mut self, now: Instant, rtt: Duration) {
        self.acked = Some(now);
        self.rtt[0] = self.rtt[0].max(rtt);
    }

    /// A report came and was believed.
    #[inline]
    pub(super) fn reported(&mut self, rate: f64) {
        self.rate[0] = self.rate[0].max(rate);
        self.heard += 1;
    }

    /// A report came that breaks law 1.
    #[cold]
    pub(super) fn refused(&mut self) {
        self.heard += 1;
        self.refused += 1;
    }

    /// Reports are not believed.
    #[inline]
    pub(super) const fn is_refuted(&self) -> bool {
        self.refuted.is_some()
    }

    /// The least of the windows of this run and of the last, `here` among them.
    fn stood(&mut self, here: Standing) -> Standing {
        if self.run == WINDOWS {
            self.standing = [Standing::default(), self.standing[0]];
            self.run = 0;
        }
        self.run += 1;
        self.standing[0] = self.standing[0].min(here);
        self.standing[0].min(self.standing[1])
    }

    /// A window of data ended.
    pub(super) fn round(&mut self, now: Instant, window: &Measured, ended: Ended) {
        let Ended {
            carried,
            rtt_min,
            budget,
            shared,
            hears,
        } = ended;
        let reported = self.rate[0].max(self.rate[1]);
        self.rate = [0.0, self.rate[0]];
        self.rtt = [Duration::ZERO, self.rtt[0]];
        let absurd =
            core::mem::take(&mut self.refused) * REFUSED > core::mem::take(&mut self.heard);
        if !hears {
            return;
        }

        let more = carried > CARRIED[usize::from(shared)] * reported;
        let here = Standing {
            hol: window.hol_least,
            rtt: window.rtt_least.unwrap_or(f64::INFINITY),
        };
        let lately = self.stood(here);
        let unseen = here.is_unseen(rtt_min, budget) || lately.is_unseen(rtt_min, budget);
        if absurd || more || (!shared && unseen) {
            if self.windows == 0 {
                self.since = now;
            }
            self.windows = (self.windows + 1).min(2 * WINDOWS);
            if self.windows >= WINDOWS && now.since(self.since) >= LASTING {
                self.times += u32::from(self.refuted.is_none());
                self.refuted = Some(now);
            }
        } else {
            self.windows = self.windows.saturating_sub(1);
        }
        let again = AGAIN * (1 << self.times.saturating_sub(1).min(DOUBLINGS));
        if self.refuted.is_some_and(|at| now.since(at) >= again) {
            self.refuted = None;
            self.windows = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    /// The paper's (XRC, section IV), seconds.
    const BUDGET: f64 = 0.010;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn a_head_of_line_is_no_older_than_what_was_acknowledged_last() {
        let mut d = Doubt::default();
        assert_eq!(d.oldest(at(5)), None);
        d.acked(at(100), MS * 60);
        d.acked(at(110), MS * 40);
        assert_eq!(d.oldest(at(115)), Some(MS * 65));
        // The last window of data counts still, the one before no more.
        let w = Measured::default();
        d.round(at(120), &w, ended(0.0));
        assert_eq!(d.oldest(at(120)), Some(MS * 70));
        d.round(at(160), &w, ended(0.0));
        d.acked(at(160), MS * 45);
        assert_eq!(d.oldest(at(160)), Some(MS * 45));
    }

    fn ended(carried: f64) -> Ended {
        Ended {
            carried,
            rtt_min: 0.04,
            budget: BUDGET,
            shared: false,
            hears: true,
        }
    }

    /// Windows of 40 ms from `from` to `to` ms.
    fn windows(d: &mut Doubt, (from, to): (u64, u64), rate: f64, carried: f64, hol: f64, rtt: f64) {
        let window = Measured {
            hol_least: hol,
            rtt_least: Some(rtt),
            ..Measured::default()
        };
        for ms in (from..to).step_by(40) {
            d.reported(rate);
            d.round(at(ms), &window, ended(carried));
        }
    }

    #[test]
    fn what_arrives_refutes_a_lower_rate_within_a_second_or_so_and_the_truth_is_believed_again() {
        let mut d = Doubt::default();
        windows(&mut d, (0, 10_000), 10e6, 19e6, 0.0, 0.04);
        assert!(!d.is_refuted(), "less than twice is no contradiction");
        // A rate that fell: what was on its way arrives.
        windows(&mut d, (10_000, 10_200), 1e6, 19e6, 0.0, 0.04);
        windows(&mut d, (10_200, 12_000), 19e6, 19e6, 0.0, 0.04);
        assert!(!d.is_refuted());
        windows(&mut d, (12_000, 13_100), 1e6, 19e6, 0.0, 0.04);
        assert!(d.is_refuted());
        windows(&mut d, (13_100, 15_000), 19e6, 19e6, 0.0, 0.04);
        assert!(d.is_refuted());
        windows(&mut d, (15_000, 15_200), 19e6, 19e6, 0.0, 0.04);
        assert!(!d.is_refuted());
        // The second time it takes twice as long.
        windows(&mut d, (16_000, 17_100), 1e6, 19e6, 0.0, 0.04);
        windows(&mut d, (17_100, 21_000), 19e6, 19e6, 0.0, 0.04);
        assert!(d.is_refuted());
    }

    #[test]
    fn a_queue_that_delays_nothing_is_none() {
        let mut d = Doubt::default();
        windows(&mut d, (0, 3_000), 5e6, 5e6, 0.030, 0.068);
        assert!(!d.is_refuted(), "it shows in the RTT");
        windows(&mut d, (3_000, 6_000), 5e6, 5e6, 0.009, 0.04);
        assert!(!d.is_refuted(), "within the budget");
        windows(&mut d, (6_000, 7_200), 5e6, 5e6, 0.030, 0.045);
        assert!(d.is_refuted());
    }

    #[test]
    fn one_packet_that_jitter_spared_tells_for_a_run_of_windows() {
        // The least RTT of a window is 14 ms above the path's, in one of eight windows 2 ms.
        let mut d = Doubt::default();
        for ms in (0..2_000).step_by(320) {
            windows(&mut d, (ms, ms + 280), 5e6, 5e6, 0.019, 0.054);
            windows(&mut d, (ms + 280, ms + 320), 5e6, 5e6, 0.019, 0.042);
        }
        assert!(d.is_refuted());

        // A report of an empty queue in each run takes the contradiction away.
        let mut d = Doubt::default();
        for ms in (0..10_000).step_by(320) {
            windows(&mut d, (ms, ms + 280), 5e6, 5e6, 0.019, 0.054);
            windows(&mut d, (ms + 280, ms + 320), 5e6, 5e6, 0.001, 0.042);
        }
        assert!(!d.is_refuted());
    }
}
