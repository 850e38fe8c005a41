//! Rules 4 and 5, and the drain of rule 2: how much may be on its way after a report, and the pace that leads there.

use slackwater_core::{Duration, Instant, Rate};
use slackwater_signal::Counters;

use super::clock::RadioClock;
use super::flight::STANDING;
use super::order::{greater, lesser};
use super::{trust, upload};

/// The pacing rate lies within these parts of the forecast.
const PACE: [f64; 2] = [0.05, 2.0];
/// That of an upload comes so far: its UE is granted what waits in it.
const PACE_UP: f64 = 3.0;
/// A target is at most so many times what left in a loop, and a first flight: the word of a base station is not proof.
const GROWTH: f64 = 4.0;
/// A probe has so many packets more on their way: a flight of two rounds to two at any gain.
const PROBE_PACKETS: f64 = 2.0;
/// Packets of a first flight: twice the initial window of RFC 6928.
const FIRST_FLIGHT: f64 = 20.0;
/// Gain of a first probe of media.
const GENTLE: f64 = 1.4;

/// What the last report made of the flow, bytes of IP packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Aim {
    /// As many bytes may be on their way.
    pub(crate) target: f64,
    /// The same and what leaves the radio between two reports.
    pub(crate) most: f64,
    /// The rate that the radio is expected to have for the flow, bytes/s.
    pub(crate) rate: f64,
    /// More is to be sent for a while, to see whether more leaves.
    pub(crate) probes: bool,
    /// Pacing rate.
    pub(crate) pace: Rate,
}

impl RadioClock {
    /// Rules 4 and 5.
    pub(super) fn aim(&mut self, now: Instant, counters: &Counters, span: f64) {
        let packet = f64::from(self.mss + self.headers);
        let base = self.base().as_secs_f64();
        let round = self.wanted();
        let gain = self.gain(now);
        let forecast = self.forecast.rate();
        let mut rate = gain * forecast;
        let margin = self.params.z * self.forecast.error();
        // A probe lasts no longer than a window, and fills a long path no further.
        let more = (rate - forecast) * lesser(round, trust::WINDOW.as_secs_f64());
        // Below two packets a round each one would wait for a report.
        let mut target = greater((forecast + margin) * round + more, 2.0 * packet);
        if gain > 1.0 {
            target += PROBE_PACKETS * packet;
        }
        // What has left says how far a promise is followed.
        let ceiling = self.peak * round;
        target = lesser(target, GROWTH * ceiling + FIRST_FLIGHT * packet);
        let held = self.elsewhere.rate(now);
        if let Some(held) = held {
            rate = lesser(rate, held);
            target = lesser(target, rate * round + 2.0 * packet);
        }
        if let Some(held) = self.company.held(counters, self.limited) {
            target = greater(target, rate * base + held);
        }
        let out = self.outstanding() as f64;
        self.clear.note(counters.hol, gain > 1.0);
        let alone = self.base().saturating_sub(self.own_queue());
        let little = greater(rate * alone.as_secs_f64(), 2.0 * packet);
        // Not tried for media.
        if !self.limited && self.clear.look(now, gain > 1.0, out, little, self.base()) {
            target = lesser(target, little);
        }
        let floor = packet / greater(base, 0.010);
        let fastest = if self.upload { PACE_UP } else { PACE[1] } * rate;
        let pace = match () {
            // The queue is not on the way to the radio: the rate alone drains it.
            () if self.upload && held.is_some() => rate,
            // A report that comes later than that would find more made up than there was, and the next one as much too little.
            () if self.params.rules.pace => {
                let missing = target - out;
                let within = self.params.within;
                // What is missing on the way is no room in a queue. Sent at once it would fill one, and the radio takes no more than its rate. Where
                // others fill a queue, a part of it is wanted. An upload at the rate of its grants would be granted less and less.
                let alone = held.is_none() && !self.company.is_met() && !self.upload;
                let fills = alone && missing > within * rate;
                let most = if fills { rate } else { fastest };
                lesser(rate + missing / greater(within, self.interval), most)
            }
            () => 2.0 * rate,
        };
        let sent = self.log.sent();
        let might = lesser(
            self.aim.pace.as_bps() as f64 / 8.0 * span,
            self.aim.target - self.looked.1,
        );
        let left = sent.saturating_sub(self.looked.0) as f64;
        self.host
            .note(now, (left, might), span, self.base(), self.round);
        self.looked = (sent, out);
        let pace = lesser(greater(pace, PACE[0] * rate), fastest);
        // What leaves until the next report: as far as what has left shows, until it has shown the rate once.
        self.shows |= GROWTH * self.peak >= rate;
        let shown = GROWTH * self.peak * self.interval + FIRST_FLIGHT * packet;
        let ahead = if self.shows {
            rate * self.interval
        } else {
            lesser(rate * self.interval, shown)
        };
        self.aim = Aim {
            target,
            most: target + ahead,
            rate,
            probes: gain > 1.0,
            pace: Rate::from_bps((greater(pace, floor) * 8.0) as u64),
        };
    }

    /// The least loop and the queue that is wanted, seconds.
    fn wanted(&self) -> f64 {
        // A queue below zero may be wanted; not less than nothing is in flight.
        let grants = if self.upload { upload::QUEUE } else { 0.0 };
        greater(self.base().as_secs_f64() + self.params.q + grants, 0.0)
    }

    /// The flow's own queue that the least loop may hold: a loop through more is no sample, unless no other has come.
    pub(super) fn own_queue(&self) -> Duration {
        let wanted = Duration::from_secs_f64(greater(self.params.q, 0.0));
        STANDING.max(self.clear.standing()).saturating_sub(wanted)
    }

    /// What is sent over what is offered: more in a probe. Media that waits behind a probe is late, so the first one is short of what
    /// confirms it.
    fn gain(&self, now: Instant) -> f64 {
        let gain = self.trust.gain(now);
        if self.limited && !self.trust.suspects() {
            gain.min(GENTLE)
        } else {
            gain
        }
    }

    /// The rate that the radio is expected to have for the flow, bytes/s, as far as what has left shows that a promise is followed.
    pub(crate) fn promised(&self) -> f64 {
        let round = self.wanted().max(1e-3);
        self.aim.rate.min(self.aim.target / round)
    }
}
