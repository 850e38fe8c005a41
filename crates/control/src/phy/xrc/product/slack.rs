//! What a radio that delays some packets and varies in rate adds to the target window and to the budget: as much as was
//! measured, so that a steady channel has the paper's budget and a fading one a queue to live from.

use super::Params;

/// Weight of a round in the mean jitter.
const JITTER_WEIGHT: f64 = 0.125;
/// Weight of a round in the mean change of the reported rate (that of the deviation in RFC 6298, 2.3).
const CHANGE_WEIGHT: f64 = 0.25;
/// The budget grows by at most so much, s.
const MOST: f64 = 0.025;

/// Jitter of the radio and spread of the reported rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slack {
    /// Mean delay of packets that no queue explains, s.
    jitter: f64,
    /// The reported rate at the end of the last round, bit/s; zero before the first.
    rate: f64,
    /// Its mean change from round to round, bit/s.
    change: f64,
    /// The last two changes, bit/s.
    before: [f64; 2],
}

impl Slack {
    /// A window of data without a queue beyond the radio: packets were delayed by `delay` seconds, the radio's queue by
    /// `hol`.
    pub(super) fn delayed(&mut self, p: &Params, delay: f64, hol: f64) {
        let sample = (delay - hol).clamp(0.0, p.jitter);
        self.jitter += (sample - self.jitter) * JITTER_WEIGHT;
    }

    /// A window of data ended with `rate` reported, bit/s. A queue that is `shared` has its rate change as flows come and
    /// go; that says nothing of the radio.
    pub(super) fn reported(&mut self, rate: f64, shared: bool) {
        let last = core::mem::replace(&mut self.rate, rate);
        let change = if last == 0.0 || shared {
            0.0
        } else {
            (rate - last).abs()
        };
        // A step is over in two rounds, since the agent's mean covers one: the least change of three is what goes on.
        let [one, two] = self.before;
        self.before = [change, one];
        let lasting = change.min(one).min(two);
        self.change += (lasting - self.change) * CHANGE_WEIGHT;
    }

    /// Mean jitter, s.
    pub(super) const fn jitter(&self) -> f64 {
        self.jitter
    }

    /// Mean change of the reported rate from round to round, as a part of it; at most one.
    pub(super) fn spread(&self) -> f64 {
        (self.change / self.rate.max(1.0)).min(1.0)
    }

    /// What the target window has beyond rate times least RTT, as time, s.
    pub(super) fn of_target(&self, p: &Params, least_rtt: f64) -> f64 {
        self.jitter + p.spread * self.spread() * least_rtt
    }

    /// What the budget has beyond lambda, s: the queue that the target window keeps for a rate that varies is no excess.
    /// Jitter keeps no queue.
    pub(super) fn of_budget(&self, p: &Params, least_rtt: f64) -> f64 {
        (p.spread * self.spread() * least_rtt).min(MOST)
    }
}
