//! An upload: the radio is the first hop, and its counters say nothing of the way behind it. Rule 6 then goes by ACKs, of which the
//! radio's part is taken off.

use slackwater_core::{Duration, Instant};

use super::elsewhere::Way;
use super::fades::Fades;
use super::flight::STANDING;

/// The queue that is wanted beyond that of a download, seconds. Ours: the least loop is one of a byte that found a grant at hand, which
/// those before it had requested. Most wait for their own.
pub(super) const QUEUE: f64 = 0.002;

/// Less than this part of what is offered is served: then the base is more than the least loop. It is [`LONGEST`] of it at most where so
/// much less is served. Ours.
const USED: f64 = 0.95;
const UNUSED: f64 = 0.10;
const LONGEST: f64 = 2.0;
/// More than this part of the forecast counts as this much.
const MORE: f64 = 1.5;
/// Weight of a loop in the mean of those that waited for no other. Ours.
const WEIGHT: f64 = 1.0 / 16.0;

/// How long a loop takes where the scheduler has granted all that it knows of. Nothing waits for others then, and still most loops are
/// longer than the least one: a request waits for its slot, and a grant for its block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Granted {
    /// The mean of such loops, seconds; zero before the first.
    mean: f64,
    /// When a report last told of bytes that were known and not granted.
    waited: Instant,
    /// Part of the forecast that is served, in the mean of a second.
    used: f64,
}

impl Default for Granted {
    fn default() -> Self {
        Self {
            mean: 0.0,
            waited: Instant::ZERO,
            used: 1.0,
        }
    }
}

impl Granted {
    /// A loop of `round` ends; `hol` is the age of the oldest byte, zero where all that is known is granted.
    pub(super) fn look(&mut self, now: Instant, hol: Duration, round: Duration) {
        if !hol.is_zero() {
            self.waited = now;
        }
        if now.since(self.waited) < round {
            return;
        }
        let round = round.as_secs_f64();
        let weight = if self.mean > 0.0 { WEIGHT } else { 1.0 };
        self.mean += weight * (round - self.mean);
    }

    /// `served` leaves where `forecast` could, bytes/s; a report has this `weight`.
    pub(super) fn serve(&mut self, served: f64, forecast: f64, weight: f64) {
        if forecast > 0.0 {
            self.used += weight * ((served / forecast).min(MORE) - self.used);
        }
    }

    /// The base, where `least` is the least loop.
    pub(super) fn base(&self, least: Duration) -> Duration {
        let least = least.as_secs_f64();
        let mean = self.mean.clamp(least, LONGEST * least);
        let part = ((USED - self.used) / UNUSED).clamp(0.0, 1.0);
        Duration::from_secs_f64(least + part * (mean - least))
    }
}

/// ACKs tell of packets in pairs and rows (RFC 9293, 3.8.6.3): their rate is a mean of so many times longer, the inverse. Ours.
const SMOOTH: f64 = 0.5;

/// What ACKs say of the way behind the radio.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Behind {
    /// Bytes that were acknowledged by the last report, and their rate, bytes/s.
    acked: u64,
    served: f64,
    /// Bytes that the host gave up, those that it had given up by the last report, and those that the radio dropped.
    lost: u64,
    noted: u64,
    dropped: u64,
    /// The most of what a loop took beyond the least one, in the present and the last round trip: an ACK tells of a queue that was.
    radio: [Duration; 2],
    /// When the present round trip ends.
    ends: Instant,
}

/// What the host knows when a report comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Seconds that the report covers.
    pub seconds: f64,
    /// Bytes that were acknowledged in all.
    pub acked: u64,
    /// What the last loop took beyond the least one.
    pub radio: Duration,
    /// Round trips.
    pub srtt: Duration,
    pub min_rtt: Duration,
    /// The rate that the radio would have, bytes/s.
    pub forecast: f64,
    /// Bytes that the radio dropped in all.
    pub dropped: u64,
    /// Bytes of a packet.
    pub packet: f64,
    /// The host sent less than it might.
    pub idle: bool,
}

impl Behind {
    /// The host gave up `bytes`.
    pub(super) const fn on_lost(&mut self, bytes: u64) {
        self.lost = self.lost.saturating_add(bytes);
    }

    /// The way behind the radio, as rule 6 looks at it.
    pub(super) fn way(&mut self, now: Instant, sample: &Sample, fades: &Fades) -> Way {
        let left = sample.acked.saturating_sub(self.acked) as f64;
        self.acked = sample.acked;
        self.served += SMOOTH * fades.served * (left / sample.seconds - self.served);

        if now >= self.ends {
            self.radio = [Duration::ZERO, self.radio[0]];
            self.ends = now + sample.srtt;
        }
        self.radio[0] = self.radio[0].max(sample.radio);
        let [present, last] = self.radio;
        let taken = sample.srtt.saturating_sub(sample.min_rtt);
        let wait = taken.saturating_sub(present.max(last));

        let all = self.lost.saturating_sub(self.noted);
        let radio = sample.dropped.saturating_sub(self.dropped);
        (self.noted, self.dropped) = (self.lost, sample.dropped);
        Way {
            round: sample.min_rtt + wait,
            wait,
            empty: sample.radio <= STANDING,
            base: sample.min_rtt,
            served: self.served,
            forecast: sample.forecast,
            lost: all.saturating_sub(radio) as f64,
            left,
            packet: sample.packet,
            idle: sample.idle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_is_longer_where_less_is_served_than_offered_and_nothing_waits_for_others() {
        let ms = |ms| Instant::from_millis(ms);
        let mut granted = Granted::default();
        for n in 0..100 {
            granted.look(ms(100 + 5 * n), Duration::ZERO, MS(30));
            granted.serve(1e6, 1e6, 0.01);
        }
        assert_eq!(granted.base(MS(20)), MS(20), "all is used");
        // What waited for others on its way says nothing.
        granted.look(ms(600), MS(40), MS(90));
        granted.look(ms(680), Duration::ZERO, MS(90));
        for _ in 0..1000 {
            granted.serve(0.8e6, 1e6, 0.01);
        }
        assert_eq!(granted.base(MS(20)), MS(30));
        assert_eq!(granted.base(MS(10)), MS(20), "twice the least one at most");
    }

    const MS: fn(u64) -> Duration = Duration::from_millis;
    const RTT: Duration = Duration::from_millis(60);
    const EVERY: Duration = Duration::from_millis(5);

    /// A report each 5 ms from `from` to `to` ms, by which 1 MB/s was acknowledged; what the last one makes of the way.
    fn reports(behind: &mut Behind, from: u64, to: u64, srtt: Duration, radio: Duration) -> Way {
        let fades = Fades::over(EVERY);
        let way = |ms| {
            let sample = Sample {
                seconds: 0.005,
                acked: ms * 1_000,
                radio,
                srtt,
                min_rtt: RTT,
                forecast: 2e6,
                dropped: 0,
                packet: 1500.0,
                idle: false,
            };
            behind.way(Instant::from_millis(ms), &sample, &fades)
        };
        (from..to).step_by(5).map(way).last().expect("a report")
    }

    #[test]
    fn what_the_radio_took_of_a_round_trip_is_no_wait_behind_it() {
        let mut behind = Behind::default();
        let way = reports(&mut behind, 0, 1500, RTT + MS(30), MS(30));
        assert_eq!((way.wait, way.empty), (Duration::ZERO, false));
        assert!((way.served / 1e6 - 1.0).abs() < 0.01, "{}", way.served);
        // Its queue is gone; ACKs still tell of it for a round trip.
        let way = reports(&mut behind, 1500, 1540, RTT + MS(30), Duration::ZERO);
        assert_eq!((way.wait, way.empty), (Duration::ZERO, true));
        // What is left then is a queue elsewhere.
        let way = reports(&mut behind, 1540, 1900, RTT + MS(30), Duration::ZERO);
        assert_eq!((way.wait, way.round), (MS(30), RTT + MS(30)));
    }

    #[test]
    fn what_the_radio_dropped_was_not_lost_behind_it() {
        let mut behind = Behind::default();
        let sample = |dropped| Sample {
            seconds: 0.005,
            acked: 0,
            radio: Duration::ZERO,
            srtt: RTT,
            min_rtt: RTT,
            forecast: 1e6,
            dropped,
            packet: 1500.0,
            idle: false,
        };
        let fades = Fades::over(EVERY);
        behind.on_lost(5_000);
        let way = behind.way(Instant::from_millis(5), &sample(3_000), &fades);
        assert!((way.lost - 2_000.0).abs() < 1e-9, "{}", way.lost);
        let way = behind.way(Instant::from_millis(10), &sample(3_000), &fades);
        assert!(way.lost.abs() < 1e-9, "{}", way.lost);
    }
}
