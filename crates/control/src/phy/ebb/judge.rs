//! Whether something else than the radio decides (rules 6 and 7), and whether its word holds (rule 8): what a report has for each of
//! these rules.

use slackwater_core::{Duration, Instant};
use slackwater_signal::Counters;

use super::clock::RadioClock;
use super::elsewhere::Way;
use super::flight::STANDING;
use super::order::{greater, lesser};
use super::trust::{self, Span};
use super::upload;

/// Packets of a host that does not pause leave no more than so many apart at the rate that is served.
const STEADY: f64 = 2.0;

impl RadioClock {
    /// Of `gone` bytes, those that left and those that were dropped. What feedback reports of media was not dropped, whatever the counters
    /// hold: a forged count of drops would starve it.
    pub(super) fn shown(&mut self, gone: u64, dropped: u64) -> [u64; 2] {
        let left = gone.saturating_sub(dropped);
        if !self.limited {
            return [left, dropped];
        }
        // Feedback comes in bursts, and later than the counters.
        let arrived = (self.acked - self.shown).min(gone);
        self.shown += arrived;
        let left = left.max(arrived);
        [left, dropped.min(gone - left.min(gone))]
    }

    /// Part of what is offered that the flow's bytes in its queue can have had. Beside others a queue serves it by its part of the bytes.
    fn part(&self, counters: &Counters) -> f64 {
        let all = f64::from(counters.backlog) + f64::from(counters.company);
        if !self.limited || counters.company == 0 {
            return 1.0;
        }
        let flows = f64::from(counters.active.max(1));
        (flows * f64::from(counters.backlog) / all).min(1.0)
    }

    /// Rule 8: holds what was offered against what left, which are bytes delivered and dropped; `base` is the least loop.
    pub(super) fn believe(
        &mut self,
        now: Instant,
        counters: &Counters,
        gone: [u64; 2],
        offered: f64,
        base: Duration,
    ) {
        if !self.params.rules.trust {
            return;
        }
        let [left, dropped] = gone.map(|bytes| bytes as f64);
        let span = Span {
            left,
            dropped,
            offered,
            part: if self.is_idle(now) && counters.backlog == 0 {
                0.0
            } else {
                self.part(counters)
            },
            hol: counters.hol,
            excess: self.round.saturating_sub(base),
            foreign: std::mem::take(&mut self.foreign) as f64,
        };
        let packet = f64::from(self.mss + self.headers);
        // Counters that lag make a loop seem long; what was acknowledged does not.
        let round = base.min(self.min_rtt * 4);
        if self.params.rules.gone && self.trust.holds(now, round) {
            let heard = trust::Heard {
                gone: self.gone,
                acked: self.acked,
                flying: self.wire(self.in_flight),
            };
            self.trust.hold(now, heard, packet);
        }
        let met = self.company.is_met() || self.elsewhere.is_met();
        // A host that has less to send than it might shows nothing by a probe.
        let probes = self.steers && !met && !self.is_idle(now);
        self.trust.look(now, span, base, packet, probes);
    }

    /// Rules 6 and 7: whether something else than the radio decides.
    pub(super) fn choose(
        &mut self,
        now: Instant,
        counters: &Counters,
        base: Duration,
        (seconds, left): (f64, u64),
    ) {
        let rate = self.forecast.rate();
        let packet = f64::from(self.mss + self.headers);
        if self.params.rules.company {
            self.company.look(now, counters, rate, base, packet);
        }
        if self.upload {
            self.choose_behind(now, seconds, base);
            return;
        }

        self.wait = self.round.saturating_sub(base + counters.hol);
        if !self.wait.is_zero() {
            // What came meanwhile waits too, and the oldest byte does not say so.
            let drain = self.known.waits as f64 / greater(rate, 1.0);
            let queue = Duration::from_secs_f64(lesser(drain, 10.0));
            self.wait = self.wait.min(self.round.saturating_sub(base + queue));
            // The newest byte that is gone may have left long before the report, where the host paused behind it. Media is level with this.
            if !self.limited {
                let apart = STEADY * packet / greater(self.served, packet);
                let oldest = self.age_of_oldest(now) + Duration::from_secs_f64(apart);
                self.wait = self.wait.min(oldest.saturating_sub(base + counters.hol));
            }
        }
        if !self.min_rtt.is_zero() {
            // A queue there is a part of the host's round trip, too.
            self.wait = self.wait.min(self.srtt.saturating_sub(self.min_rtt));
        }
        let way = Way {
            round: self.round,
            wait: self.wait,
            empty: counters.hol <= STANDING,
            base,
            served: self.served,
            forecast: rate,
            lost: std::mem::take(&mut self.lost) as f64,
            left: left as f64,
            packet,
            idle: self.is_idle(now),
        };
        if self.params.rules.elsewhere
            && let Some(base) = self.elsewhere.look(now, way)
        {
            self.least.restart(now, base);
        }
    }

    /// The host sends less than it might, as one without enough data. An encoder always does, and rule 6 looks at it all the same, unless
    /// nothing is in flight: it pauses, or its next frame is due.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        if self.limited {
            self.in_flight == 0
        } else {
            self.host.is_idle(now)
        }
    }

    /// Rule 6 for an upload: whether what lies behind the radio decides. `seconds` are those of the report, `base` is the least loop.
    fn choose_behind(&mut self, now: Instant, seconds: f64, base: Duration) {
        let sample = upload::Sample {
            seconds,
            acked: self.acked,
            radio: self.round.saturating_sub(base),
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            forecast: self.forecast.rate(),
            dropped: self.dropped,
            packet: f64::from(self.mss + self.headers),
            idle: self.is_idle(now),
        };
        self.granted
            .serve(self.served, sample.forecast, 1.0 - self.fades.peak);
        let way = self.behind.way(now, &sample, &self.fades);
        self.wait = way.wait;
        if self.params.rules.elsewhere {
            // A longer path behind the radio makes no loop longer.
            let _ = self.elsewhere.look(now, way);
        }
    }
}
