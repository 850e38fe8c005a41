//! The delay-based rate: multiplicative far from what the link was seen to carry, additive near it
//! (draft-ietf-rmcat-gcc-02, 5.5; libwebrtc, `AimdRateControl`).

use slackwater_core::{Duration, Instant};

use super::capacity::Capacity;
use super::detector::Usage;

/// The rate after over-use, in rates at which packets arrive.
const BETA: f64 = 0.85;
/// Growth per second.
const GROWTH: f64 = 1.08;
/// Least growth in bit/s: per step, and per second near the capacity.
const LEAST: f64 = 1e3;
const LEAST_NEAR: f64 = 4e3;
/// No growth beyond so many rates at which packets arrive, and so many bit/s.
const AHEAD: (f64, f64) = (1.5, 10e3);
/// The additive growth is a packet of so many bytes at most, of frames at this rate, per response time.
const PACKET: f64 = 1200.0;
const FPS: f64 = 30.0;
/// A response takes two round trips of which each is longer by the over-use estimator's delay.
const RESPONSE: f64 = 0.1;
/// Time between two reductions.
const REDUCE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(200));

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hold,
    Increase,
    Decrease,
}

/// The rate.
#[derive(Clone, Debug)]
pub(crate) struct Aimd {
    rate: f64,
    least: f64,
    most: f64,
    state: State,
    changed: Option<Instant>,
    capacity: Capacity,
}

impl Aimd {
    pub(crate) fn new(rate: f64, least: f64, most: f64) -> Self {
        Self {
            rate,
            least,
            most,
            state: State::Hold,
            changed: None,
            capacity: Capacity::default(),
        }
    }

    pub(crate) const fn rate(&self) -> f64 {
        self.rate
    }

    pub(crate) fn set(&mut self, now: Instant, rate: f64) {
        self.rate = rate.clamp(self.least, self.most);
        self.changed = Some(now);
    }

    /// A probe gave `rate`.
    pub(crate) fn on_probe(&mut self, now: Instant, rate: f64) {
        self.capacity.on_probe(rate);
        self.set(now, rate);
    }

    /// It is time for a further reduction.
    fn reduces(&self, now: Instant, rtt: Duration, acked: f64) -> bool {
        let interval = rtt.clamp(REDUCE.0, REDUCE.1);
        self.changed.is_none_or(|at| now.since(at) >= interval) || acked < 0.5 * self.rate
    }

    /// Over-use began, where the version does not wait for a round trip.
    pub(crate) fn on_overuse(&mut self, now: Instant, acked: Option<f64>) {
        match acked {
            Some(acked) => self.decrease(now, acked),
            None => self.set(now, 0.5 * self.rate),
        }
    }

    /// The link's usage, with packets arriving at `acked` bit/s; `limited`: the media keeps below the rate.
    pub(crate) fn update(
        &mut self,
        now: Instant,
        rtt: Duration,
        usage: Usage,
        acked: Option<f64>,
        limited: bool,
    ) {
        match usage {
            Usage::Over => {
                let acked_rate = acked.unwrap_or(self.rate);
                if !self.reduces(now, rtt, acked_rate) {
                    return;
                }
                if acked.is_none() {
                    // Nothing is known of what arrives.
                    self.set(now, 0.5 * self.rate);
                    return;
                }
                self.state = State::Decrease;
            }
            Usage::Under => self.state = State::Hold,
            Usage::Normal if self.state == State::Hold => {
                self.changed = Some(now);
                self.state = State::Increase;
            }
            Usage::Normal => {}
        }
        let acked = acked.unwrap_or(self.rate);
        match self.state {
            State::Hold => {}
            State::Increase => self.increase(now, rtt, acked, limited),
            State::Decrease => self.decrease(now, acked),
        }
    }

    fn increase(&mut self, now: Instant, rtt: Duration, acked: f64, limited: bool) {
        if acked > self.capacity.bounds().1 {
            self.capacity.reset();
        }
        let passed = self.changed.map_or(0.0, |at| now.since(at).as_secs_f64());
        let most = if limited {
            self.rate
        } else {
            AHEAD.0 * acked + AHEAD.1
        };
        if self.rate < most {
            let more = if self.capacity.estimate().is_some() {
                self.near_growth(rtt) * passed
            } else {
                let grown = libm::pow(GROWTH, passed.min(1.0)) - 1.0;
                (self.rate * grown).max(LEAST)
            };
            self.set(now, (self.rate + more).min(most));
        }
        self.changed = Some(now);
    }

    /// bit/s per second.
    fn near_growth(&self, rtt: Duration) -> f64 {
        let frame = self.rate / 8.0 / FPS;
        let packet = frame / libm::ceil(frame / PACKET).max(1.0);
        let response = 2.0 * (rtt.as_secs_f64() + RESPONSE);
        (packet * 8.0 / response).max(LEAST_NEAR)
    }

    fn decrease(&mut self, now: Instant, acked: f64) {
        let mut rate = BETA * acked;
        if rate > self.rate
            && let Some(capacity) = self.capacity.estimate()
        {
            rate = BETA * capacity;
        }
        if acked < self.capacity.bounds().0 {
            self.capacity.reset();
        }
        self.capacity.on_overuse(acked);
        self.set(now, rate.min(self.rate));
        self.state = State::Hold;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn growth_is_multiplicative_until_the_capacity_was_seen() {
        let mut aimd = Aimd::new(1e6, 1e5, 1e8);
        let ms = Instant::from_millis;
        aimd.update(ms(0), RTT, Usage::Normal, Some(1e6), false);
        aimd.update(ms(1000), RTT, Usage::Normal, Some(1e6), false);
        // A thousand at once, eight percent in the second.
        assert!((aimd.rate() - 1.08 * 1.001e6).abs() < 1e-3);
        aimd.update(ms(2000), RTT, Usage::Over, Some(1e6), false);
        assert!((aimd.rate() - 0.85e6).abs() < 1e-3);
        aimd.update(ms(2010), RTT, Usage::Under, Some(1e6), false);
        assert!((aimd.rate() - 0.85e6).abs() < 1e-3);
        aimd.update(ms(3000), RTT, Usage::Normal, Some(1e6), false);
        aimd.update(ms(4000), RTT, Usage::Normal, Some(1e6), false);
        // Frames of 3542 bytes in three packets; a packet per 0.4 s.
        let packet = 0.85e6 / 30.0 / 3.0;
        assert!((aimd.rate() - 0.85e6 - packet / 0.4).abs() < 1.0);
    }

    #[test]
    fn growth_ends_above_what_arrives_and_where_the_media_limits() {
        let mut aimd = Aimd::new(2e6, 1e5, 1e8);
        let ms = Instant::from_millis;
        for i in 0..100 {
            aimd.update(ms(100 * i), RTT, Usage::Normal, Some(1e6), true);
        }
        assert_eq!(aimd.rate(), 2e6);
        let mut aimd = Aimd::new(1e6, 1e5, 1e8);
        for i in 0..1000 {
            aimd.update(ms(100 * i), RTT, Usage::Normal, Some(1e6), false);
        }
        assert!((aimd.rate() - 1.51e6).abs() < 1.0);
    }

    #[test]
    fn over_use_reduces_once_per_round_trip_or_further_where_little_arrives() {
        let mut aimd = Aimd::new(10e6, 1e5, 1e8);
        let ms = Instant::from_millis;
        aimd.update(ms(0), RTT, Usage::Over, Some(8e6), false);
        assert!((aimd.rate() - 6.8e6).abs() < 1.0);
        aimd.update(ms(50), RTT, Usage::Over, Some(6e6), false);
        assert!((aimd.rate() - 6.8e6).abs() < 1.0);
        aimd.update(ms(60), RTT, Usage::Over, Some(3e6), false);
        assert!((aimd.rate() - 2.55e6).abs() < 1.0);
        // Without a rate of arrival, half.
        aimd.update(ms(300), RTT, Usage::Over, None, false);
        assert!((aimd.rate() - 1.275e6).abs() < 1.0);
    }
}
