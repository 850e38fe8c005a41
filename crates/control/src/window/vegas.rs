//! Vegas: hold a few packets in the queue (Brakmo, O'Malley, Peterson, SIGCOMM 1994), as Linux `tcp_vegas.c` has it.

use slackwater_core::{Duration, Instant};

use crate::registry::{AnyController, Entry};
use crate::window::windowed;
use crate::window::{Cwnd, Law};
use crate::{Ack, PathView, Recovery};

/// What the registry knows of it.
pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "vegas",
    title: "Vegas",
    about: "Vegas: two to four packets in the queue, as in Linux",
    make: |cfg, p| {
        p.none()?;
        Ok(AnyController::Vegas(windowed(Vegas::default(), cfg)))
    },
    ..Entry::TRANSPORT
}];

/// Fewer queued packets than this: grow (Linux `alpha`).
const ALPHA: u64 = 2;
/// More queued packets than this: shrink (Linux `beta`).
const BETA: u64 = 4;
/// More queued packets than this end slow start (Linux `gamma`).
const GAMMA: u64 = 1;
/// RTT samples that a round needs (Linux: more than two).
const MIN_SAMPLES: u32 = 3;

/// Vegas.
#[derive(Clone, Debug)]
pub struct Vegas {
    /// Off outside Linux `TCP_CA_Open`, where Reno rules.
    on: bool,
    base_rtt: Duration,
    round_rtt: Duration,
    samples: u32,
    round_end: u64,
    /// Packets in the queue by the last round's estimate.
    diff: u64,
}

impl Default for Vegas {
    fn default() -> Self {
        Self {
            on: true,
            base_rtt: Duration::MAX,
            round_rtt: Duration::MAX,
            samples: 0,
            round_end: 0,
            diff: 0,
        }
    }
}

impl Vegas {
    fn begin_round(&mut self, next: u64) {
        self.round_end = next;
        self.round_rtt = Duration::MAX;
        self.samples = 0;
    }

    fn judge(&mut self, w: &mut Cwnd, acked: u32) {
        let (rtt, base) = (self.round_rtt.as_nanos(), self.base_rtt.as_nanos().max(1));
        let cwnd = u64::from(w.cwnd);
        let target = wide_ratio(cwnd, base, rtt);
        self.diff = wide_ratio(cwnd, rtt - base, base);
        if w.in_slow_start() {
            if self.diff > GAMMA {
                w.set(
                    w.cwnd
                        .min(target.saturating_add(1).min(u64::from(u32::MAX)) as u32),
                );
                w.ssthresh = w.ssthresh.min(w.cwnd);
            } else {
                w.slow_start(acked);
            }
        } else if self.diff > BETA {
            w.set(w.cwnd - 1);
            w.ssthresh = w.ssthresh.min(w.cwnd);
        } else if self.diff < ALPHA {
            w.set(w.cwnd + 1);
        }
        w.set(w.cwnd.max(2));
        w.ssthresh = w.ssthresh.max((w.cwnd >> 1) + (w.cwnd >> 2));
    }
}

/// `a * b / c` without overflow.
pub(super) fn wide_ratio(a: u64, b: u64, c: u64) -> u64 {
    let q = u128::from(a) * u128::from(b) / u128::from(c.max(1));
    u64::try_from(q).unwrap_or(u64::MAX)
}

impl Law for Vegas {
    fn name(&self) -> &'static str {
        "vegas"
    }

    #[inline]
    fn acked(&mut self, _now: Instant, _w: &mut Cwnd, _path: &PathView, ack: &Ack) {
        let open = ack.recovery == Recovery::Open;
        if open && !self.on {
            self.begin_round(ack.next);
        }
        self.on = open;
        if let Some(rtt) = ack.rtt {
            // One more than measured, so that it is never zero (Linux adds a microsecond).
            let rtt = rtt + Duration::from_micros(1);
            self.base_rtt = self.base_rtt.min(rtt);
            self.round_rtt = self.round_rtt.min(rtt);
            self.samples += 1;
        }
    }

    #[inline]
    fn grow(&mut self, _now: Instant, w: &mut Cwnd, _path: &PathView, ack: &Ack, acked: u32) {
        if !self.on {
            if ack.cwnd_limited {
                w.reno(acked);
            }
            return;
        }
        if ack.una > self.round_end {
            if self.samples >= MIN_SAMPLES {
                self.judge(w, acked);
            } else if ack.cwnd_limited {
                // With delayed ACKs two samples may be one receiver's timer: not enough to judge by.
                w.reno(acked);
            }
            self.begin_round(ack.next);
        } else if w.in_slow_start() {
            w.slow_start(acked);
        }
    }

    fn restarted(&mut self, _now: Instant, _w: &mut Cwnd, _idle: Duration) {
        // The path may have changed: learn it again (Linux `tcp_vegas_cwnd_event`). The round ends with the first
        // ACK of what is sent now.
        *self = Self {
            round_end: self.round_end,
            ..Self::default()
        };
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("diff", self.diff as f64));
        if self.base_rtt != Duration::MAX {
            out.push(("base_rtt", self.base_rtt.as_secs_f64()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Feed;
    use crate::window::Windowed;

    fn vegas(cwnd: u32) -> Feed<Windowed<Vegas>> {
        Feed::new(Windowed::new(Vegas::default(), 1000, cwnd))
    }

    #[test]
    fn slow_start_ends_when_more_than_gamma_packets_queue() {
        let mut feed = vegas(20);
        feed.round_at(100);
        assert_eq!(feed.cwnd(), 40);
        // 40 packets, base 100 ms, now 110 ms: 4 in the queue; target 36, plus one. The round is judged by its end's
        // minimum, after slow start has added what was acknowledged meanwhile.
        feed.round_at(110);
        let before = feed.cwnd();
        feed.round_at(110);
        assert!(feed.cwnd() < before, "{} after {before}", feed.cwnd());
        assert!(feed.ssthresh().is_some());
    }

    #[test]
    fn two_to_four_queued_packets_hold_the_window() {
        // (RTT, change over a round): below alpha, between, above beta (Linux tcp_vegas.c).
        for (rtt, change) in [(101, 1i64), (110, 0), (115, 0), (130, -1)] {
            let mut feed = vegas(30);
            feed.round_at(100);
            feed.lose();
            feed.recover();
            let held = i64::from(feed.cwnd());
            assert_eq!(held, 30);
            // One round to take the base with Vegas on again, then the round at the new RTT, judged at its end.
            feed.round_at(rtt);
            let start = i64::from(feed.cwnd());
            feed.round_at(rtt);
            assert_eq!(i64::from(feed.cwnd()) - start, change, "rtt {rtt}");
        }
    }
}
