//! The bottleneck modeller's four variables: path RTT, average RTT, target queue delay, target RTT.

use slackwater_core::{Duration, Instant, Rate};

use super::config::{Mode, VaqmConfig};
use crate::upf::passive::{RttSample, SampleKind, WindowedMax, WindowedMin};

/// Packet size in delay floors and in "four segments".
pub(super) const MTU: u64 = 1500;
/// A flight that makes no queue worth speaking of.
pub(super) const SMALL_FLIGHT: u64 = 4 * MTU;

/// No round trip counts as longer: products of it stay far from the end of 64 bits.
const LONGEST: Duration = Duration::from_secs(1_000);

/// State of the check whether the RTT follows the flight.
#[derive(Clone, Copy, Debug, Default)]
struct FollowCheck {
    due: Option<Instant>,
    /// Mean flight and least RTT of the check before.
    before: Option<(f64, u64)>,
    /// The same of an earlier check, from which the flight fell slowly.
    reference: Option<(f64, u64)>,
    flight_sum: f64,
    samples: u32,
    least: u64,
    hits: u8,
}

/// The search for the path RTT with the radio's queue let run empty.
#[derive(Clone, Copy, Debug)]
struct Dip {
    /// Samples count from here on.
    listen: Instant,
    until: Instant,
    least: u64,
    /// Half of what is taken for the path's bandwidth-delay product may fly, for that product holds a queue.
    deep: bool,
}

/// A round trip, and what was seen with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// The round trip without what its ACK waited in the uplink.
    pub(super) sample: RttSample,
    /// What its ACK waited there.
    pub(super) uplink: Duration,
    /// What was in flight before its ACK, bytes.
    pub(super) flight: u64,
    /// What the bottleneck delivers.
    pub(super) rate: Rate,
}

/// How long a wait of ACKs in the uplink is remembered: grants of an upload come and go within this.
const WAITS: Duration = Duration::from_secs(1);

/// What each sample uses stands first.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct PathModel {
    /// Nanoseconds; zero until the first sample.
    path: u64,
    average: f64,
    /// Mean wait of ACKs in the uplink, which `average` does not hold; nanoseconds.
    uplink: f64,
    /// What the last ACK waited there, and when it passed.
    waited: (Instant, Duration),
    /// The longest wait of late, nanoseconds.
    longest_wait: WindowedMax,
    target: Duration,
    last_sample: Instant,
    /// When the path RTT was last seen to hold.
    validated: Instant,
    jitter: f64,
    window: WindowedMin,
    check: FollowCheck,
    dip: Option<Dip>,
    /// The path was said to have changed, and no dip has shown the new one yet.
    switched: bool,
    changes: u32,
    /// Least RTT of the last 50 ms among those that weigh, the direct variant's decision variable; kept for it alone.
    recent: WindowedMin,
}

impl PathModel {
    pub(super) const fn new(config: &VaqmConfig) -> Self {
        Self {
            path: 0,
            window: WindowedMin::new(config.path_window),
            validated: Instant::ZERO,
            average: 0.0,
            uplink: 0.0,
            waited: (Instant::ZERO, Duration::ZERO),
            longest_wait: WindowedMax::new(WAITS),
            last_sample: Instant::ZERO,
            jitter: 0.0,
            target: Duration::ZERO,
            check: FollowCheck {
                due: None,
                before: None,
                reference: None,
                flight_sum: 0.0,
                samples: 0,
                least: u64::MAX,
                hits: 0,
            },
            dip: None,
            recent: WindowedMin::new(Duration::from_millis(50)),
            changes: 0,
            switched: false,
        }
    }

    pub(super) const fn known(&self) -> bool {
        self.path > 0
    }

    pub(super) const fn path(&self) -> Duration {
        Duration::from_nanos(self.path)
    }

    pub(super) const fn average(&self) -> Duration {
        Duration::from_nanos(self.average as u64)
    }

    /// The average of the whole control loop between here and the UE, the wait of ACKs in the uplink with it.
    pub(super) const fn loop_time(&self) -> Duration {
        Duration::from_nanos((self.average + self.uplink) as u64)
    }

    /// Mean wait of ACKs in the uplink.
    pub(super) const fn uplink(&self) -> Duration {
        Duration::from_nanos(self.uplink as u64)
    }

    /// What the next ACK will have waited in the uplink if it passes now, as far as one of late did: those behind the last one wait on. At
    /// least the mean: ACKs come in bursts, whose last waited little.
    pub(super) fn uplink_by(&self, now: Instant) -> Duration {
        let (at, waited) = self.waited;
        let longest = Duration::from_nanos(self.longest_wait.peek().unwrap_or(0));
        (waited + now.since(at).min(longest))
            .min(longest)
            .max(self.uplink())
    }

    pub(super) fn target(&self) -> Duration {
        Duration::from_nanos(self.path) + self.target
    }

    pub(super) const fn jitter(&self) -> Duration {
        Duration::from_nanos(self.jitter as u64)
    }

    /// Times that the path was found changed.
    pub(super) const fn changes(&self) -> u32 {
        self.changes
    }

    pub(super) fn above_target(&self) -> bool {
        self.known() && self.average() > self.target()
    }

    /// The least RTT of the last 50 ms.
    pub(super) fn recent(&mut self, now: Instant) -> Option<Duration> {
        self.recent.get(now).map(Duration::from_nanos)
    }

    pub(super) const fn last_sample(&self) -> Instant {
        self.last_sample
    }

    /// True while the radio's queue is let run empty to see the path alone.
    pub(super) const fn dipping(&self) -> bool {
        self.dip.is_some()
    }

    /// The round trip whose bandwidth-delay product may be in flight while dipping.
    pub(super) fn dip_to(&self) -> Duration {
        if self.dip.is_some_and(|dip| dip.deep) {
            self.path() / 2
        } else {
            self.path()
        }
    }

    /// Forgets the path: the UE is served from elsewhere now.
    pub(super) fn path_switched(&mut self, now: Instant) {
        self.window.clear();
        self.path = 0;
        self.average = 0.0;
        self.dip = None;
        self.check = FollowCheck {
            least: u64::MAX,
            ..FollowCheck::default()
        };
        self.validated = now;
        self.changes += 1;
        self.switched = true;
    }

    /// After silence: a session that was idle has no queue.
    pub(super) const fn after_idle(&mut self) {
        if self.known() {
            self.average = self.path as f64;
        }
    }

    /// A sample.
    pub(super) fn on_sample(
        &mut self,
        now: Instant,
        seen: Seen,
        can_dip: bool,
        config: &VaqmConfig,
    ) {
        let Seen {
            sample,
            uplink,
            flight,
            rate,
        } = seen;
        let rtt = sample.rtt.min(LONGEST).as_nanos();
        if rtt == 0 {
            return;
        }
        self.window.update(now, rtt);
        let uplink = uplink.min(LONGEST);
        self.waited = (now, uplink);
        self.longest_wait.update(now, uplink.as_nanos());
        if !self.known() {
            self.path = rtt;
            self.average = rtt as f64;
            self.uplink = uplink.as_nanos() as f64;
            self.last_sample = now;
            self.validated = now;
        }
        self.track_path(now, rtt, flight, can_dip, config);
        let weighs = match sample.kind {
            SampleKind::Full => true,
            SampleKind::MinOnly => false,
            SampleKind::IfLower => (rtt as f64) < self.average,
        };
        if weighs {
            if matches!(config.mode, Mode::Auto | Mode::Direct) {
                self.recent.update(now, rtt);
            }
            // An EWMA over time, so that its time constant does not depend on the rate of ACKs: noise of RLC
            // retransmissions lasts 8 to 40 ms.
            let tau = (self.path as f64).max(20e6);
            let dt = now.since(self.last_sample).as_nanos() as f64;
            let weight = if dt < 0.02 * tau {
                // The exponential's tangent, right to 2 % here.
                dt.max(0.001 * tau) / tau
            } else {
                1.0 - libm::exp(-dt / tau)
            };
            self.average += weight * (rtt as f64 - self.average);
            self.uplink += weight * (uplink.as_nanos() as f64 - self.uplink);
            self.last_sample = now;
            self.learn_jitter(rtt, flight, rate);
            self.follow(now, rtt, flight, can_dip && config.revalidate);
        }
        self.retarget(rate, config);
    }

    /// Down at once; up where the window, a small flight or a dip has shown it.
    fn track_path(
        &mut self,
        now: Instant,
        rtt: u64,
        flight: u64,
        can_dip: bool,
        config: &VaqmConfig,
    ) {
        if rtt < self.path {
            self.path = rtt;
        }
        if rtt * 20 <= self.path * 21 {
            self.validated = now;
        }
        if flight <= SMALL_FLIGHT {
            // No queue of its own making.
            self.path = self.window.get(now).unwrap_or(rtt);
            self.validated = now;
            self.dip = None;
            self.switched = false;
            return;
        }
        if self.switched && can_dip && config.revalidate {
            // What is measured now holds the queue that stood before the switch, and keeps it standing if it is taken for
            // the path: half of its bandwidth-delay product lets that queue run empty, whichever way the path changed.
            self.switched = false;
            self.start_dip(now, true);
        }
        if let Some(dip) = &mut self.dip {
            if now >= dip.listen {
                dip.least = dip.least.min(rtt);
            }
            if now >= dip.until && dip.least < u64::MAX {
                self.path = dip.least;
                self.window.clear();
                self.window.update(now, dip.least);
                self.validated = now;
                self.dip = None;
            }
            return;
        }
        if now.since(self.validated) <= config.path_window {
            return;
        }
        if can_dip && config.revalidate {
            // The window's minimum holds the queue that is kept in the radio on purpose; taken for the path it would raise
            // the target, and that the minimum, without end.
            self.start_dip(now, false);
        } else {
            self.path = self.window.get(now).unwrap_or(rtt);
            self.validated = now;
        }
    }

    fn start_dip(&mut self, now: Instant, deep: bool) {
        let average = self.loop_time();
        self.dip = Some(Dip {
            listen: now + average,
            until: now + (average * 2).max(Duration::from_millis(100)),
            least: u64::MAX,
            deep,
        });
    }

    /// Access jitter: what is above the path though there is no queue.
    fn learn_jitter(&mut self, rtt: u64, flight: u64, rate: Rate) {
        let quiet = rate.bytes_in(self.path() + self.uplink()).get() / 2;
        if flight > quiet.max(SMALL_FLIGHT) {
            return;
        }
        let own = if rate > Rate::ZERO {
            2.0 * MTU as f64 * 8e9 / rate.as_bps() as f64
        } else {
            0.0
        };
        let excess = ((rtt - self.path.min(rtt)) as f64 - own).clamp(0.0, 60e6);
        self.jitter += 0.01 * (excess - self.jitter);
    }

    /// Detects a longer path: twice running the flight fell to 0.8 and the RTT stayed.
    fn follow(&mut self, now: Instant, rtt: u64, flight: u64, can_dip: bool) {
        let period = self.loop_time() * 2;
        let check = &mut self.check;
        check.flight_sum += flight as f64;
        check.samples += 1;
        check.least = check.least.min(rtt);
        let Some(due) = check.due else {
            check.due = Some(now + period);
            return;
        };
        if now < due {
            return;
        }
        let (flight, least) = (check.flight_sum / f64::from(check.samples), check.least);
        let before = check.before.replace((flight, least));
        check.due = Some(now + period);
        check.flight_sum = 0.0;
        check.samples = 0;
        check.least = u64::MAX;
        let above = self.average > (self.path + self.target.as_nanos()) as f64;
        let stays =
            before.is_some_and(|(f, r)| flight <= 0.8 * f && least as f64 > 0.92 * r as f64);
        check.hits = if above && stays { check.hits + 1 } else { 0 };
        // A path little longer than the target lets the flight fall by few percent a check. So may a link that fades:
        // an empty queue tells which.
        let doubtful = match check.reference {
            Some((f, r)) if above && least as f64 > 0.92 * r as f64 => {
                if flight > f {
                    check.reference = Some((flight, least));
                }
                flight <= 0.7 * f
            }
            _ => {
                check.reference = above.then_some((flight, least));
                false
            }
        };
        if doubtful {
            check.reference = None;
            if can_dip && self.dip.is_none() {
                self.start_dip(now, false);
            }
        }
        let check = &mut self.check;
        if check.hits >= 2 && least > self.path {
            check.hits = 0;
            self.path = least;
            self.window.clear();
            self.window.update(now, least);
            self.validated = now;
            self.dip = None;
            self.changes += 1;
        }
    }

    fn retarget(&mut self, rate: Rate, config: &VaqmConfig) {
        let fraction = self.path().mul_f64(config.fraction);
        let learned = self.jitter() + config.jitter_margin;
        let mut target = fraction
            .max(config.min_target)
            .max(learned)
            .min(config.max_target);
        if rate > Rate::ZERO {
            // Two packets must fit, whatever the link.
            let two = rate.time_for(slackwater_core::Bytes(2 * MTU));
            target = target.max(two.min(Duration::from_millis(400)));
        }
        self.target = target;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> (PathModel, VaqmConfig) {
        let config = VaqmConfig::default();
        (PathModel::new(&config), config)
    }

    fn full(ms: u64) -> RttSample {
        RttSample {
            rtt: Duration::from_millis(ms),
            kind: SampleKind::Full,
        }
    }

    const fn seen(sample: RttSample, flight: u64, rate: Rate) -> Seen {
        Seen {
            sample,
            uplink: Duration::ZERO,
            flight,
            rate,
        }
    }

    #[test]
    fn while_no_ack_passes_the_next_one_waits_on_in_the_uplink() {
        let (mut m, config) = model();
        let mut on = |ms: u64, wait: u64| {
            let mut seen = seen(full(17), BIG, RATE);
            seen.uplink = Duration::from_millis(wait);
            m.on_sample(Instant::from_millis(ms), seen, false, &config);
            let by = |later: u64| m.uplink_by(Instant::from_millis(ms + later));
            [0, 10, 500].map(|later| by(later).as_nanos() / 1_000_000)
        };
        assert_eq!(on(0, 0), [0, 0, 0]);
        assert_eq!(on(100, 60), [60, 60, 60]);
        // The mean is 38 ms still: by less the gate shuts at each burst of ACKs.
        assert_eq!(on(110, 5), [38, 38, 60]);
        // What was long ago no longer counts.
        assert_eq!(on(1_200, 8), [8, 8, 8]);
    }

    const RATE: Rate = Rate::from_bps(20_000_000);
    const BIG: u64 = 100_000;

    #[test]
    fn the_target_is_the_largest_of_its_floors() {
        let (mut m, config) = model();
        m.on_sample(Instant::ZERO, seen(full(17), BIG, RATE), false, &config);
        assert_eq!(m.target(), Duration::from_millis(37));
        let (mut m, config) = model();
        m.on_sample(Instant::ZERO, seen(full(60), BIG, RATE), false, &config);
        assert_eq!(m.target(), Duration::from_millis(90));
        // 200 kbit/s: two packets take 120 ms, more than the largest target else.
        let (mut m, config) = model();
        m.on_sample(
            Instant::ZERO,
            seen(full(17), BIG, Rate::from_bps(200_000)),
            false,
            &config,
        );
        assert_eq!(m.target(), Duration::from_millis(137));
    }

    #[test]
    fn access_jitter_is_what_round_trips_without_a_queue_are_above_the_path() {
        let (mut m, config) = model();
        let mut learn = |flight: u64, rtts: [u64; 2]| {
            for k in 0..1_000 {
                let sample = seen(full(rtts[k % 2]), flight, RATE);
                let now = m.last_sample() + Duration::from_millis(5);
                m.on_sample(now, sample, false, &config);
            }
            m.jitter().as_millis_f64()
        };
        // 10 ms above the path each second time, of which two packets' own time at the rate is 1.2 ms.
        let learned = learn(3_000, [20, 30]);
        assert!((learned - 4.4).abs() < 0.1, "{learned}");
        // What stands above it with much in flight is a queue.
        assert!((learn(BIG, [60, 60]) - learned).abs() < 1e-9);
    }

    #[test]
    fn a_round_trip_of_a_century_does_not_overflow() {
        let (mut m, config) = model();
        let mut long = full(0);
        long.rtt = Duration::MAX;
        for ms in [0, 1_000, 1_000_000] {
            let now = Instant::from_millis(ms);
            m.on_sample(now, seen(long, BIG, RATE), true, &config);
        }
        assert_eq!(m.path(), LONGEST);
        m.on_sample(
            Instant::from_millis(2_000_000),
            seen(full(17), BIG, RATE),
            true,
            &config,
        );
        assert_eq!(m.path(), Duration::from_millis(17));
    }

    #[test]
    fn the_averages_time_constant_is_time_not_samples() {
        for step_ms in [1_u64, 10] {
            let (mut m, config) = model();
            m.on_sample(Instant::ZERO, seen(full(20), BIG, RATE), false, &config);
            for ms in (step_ms..=20).step_by(step_ms as usize) {
                m.on_sample(
                    Instant::from_millis(ms),
                    seen(full(120), BIG, RATE),
                    false,
                    &config,
                );
            }
            // One time constant: 63 % of the step.
            let got = m.average().as_millis_f64();
            assert!((got - 83.2).abs() < 2.0, "{got}");
        }
    }

    #[test]
    fn idle_time_samples_and_delayed_acks_do_not_raise_the_average() {
        let (mut m, config) = model();
        m.on_sample(Instant::ZERO, seen(full(20), BIG, RATE), false, &config);
        for (i, kind) in [SampleKind::MinOnly, SampleKind::IfLower]
            .into_iter()
            .enumerate()
        {
            let slow = RttSample {
                rtt: Duration::from_millis(300),
                kind,
            };
            m.on_sample(
                Instant::from_millis(50 * (i as u64 + 1)),
                seen(slow, BIG, RATE),
                false,
                &config,
            );
        }
        assert_eq!(m.average(), Duration::from_millis(20));
    }

    #[test]
    fn a_longer_path_is_found_by_a_small_flight_a_window_or_the_rtt_not_following() {
        let (mut m, config) = model();
        m.on_sample(Instant::ZERO, seen(full(20), BIG, RATE), false, &config);
        for s in 1..=12 {
            m.on_sample(
                Instant::from_millis(s * 1000),
                seen(full(45), BIG, RATE),
                false,
                &config,
            );
        }
        assert_eq!(m.path(), Duration::from_millis(45), "window");
        let (mut m, config) = model();
        m.on_sample(Instant::ZERO, seen(full(20), BIG, RATE), true, &config);
        let mut flight = BIG as f64;
        for ms in (5..1500).step_by(5) {
            flight *= 0.985;
            m.on_sample(
                Instant::from_millis(ms),
                seen(full(60), flight as u64, RATE),
                true,
                &config,
            );
        }
        assert_eq!((m.path(), m.changes()), (Duration::from_millis(60), 1));
        // And a lower sample undoes a wrong jump.
        m.on_sample(
            Instant::from_millis(1500),
            seen(full(22), BIG, RATE),
            true,
            &config,
        );
        assert_eq!(m.path(), Duration::from_millis(22));
    }

    #[test]
    fn a_switch_that_was_told_is_followed_by_a_dip_that_shows_the_new_path() {
        let (mut m, config) = model();
        m.on_sample(Instant::ZERO, seen(full(42), BIG, RATE), true, &config);
        m.path_switched(Instant::from_millis(100));
        // The path is 25 ms shorter, and the queue of 45 ms stands until less may fly than the path alone takes.
        for ms in (110..500).step_by(5) {
            let rtt = if m.dipping() && m.dip_to() < Duration::from_millis(40) {
                18
            } else {
                62
            };
            m.on_sample(
                Instant::from_millis(ms),
                seen(full(rtt), BIG, RATE),
                true,
                &config,
            );
        }
        assert_eq!(m.path(), Duration::from_millis(18));
        assert!(!m.dipping());
    }

    #[test]
    fn a_standing_queue_of_its_own_does_not_become_the_path() {
        let (mut m, config) = model();
        m.on_sample(Instant::ZERO, seen(full(20), BIG, RATE), true, &config);
        for ms in (10..60_000).step_by(10) {
            let rtt = if m.dipping() { 21 } else { 40 };
            m.on_sample(
                Instant::from_millis(ms),
                seen(full(rtt), BIG, RATE),
                true,
                &config,
            );
        }
        assert!(m.path() <= Duration::from_millis(21), "{}", m.path());
    }
}
