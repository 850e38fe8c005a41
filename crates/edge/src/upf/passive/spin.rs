//! Round-trip times from the QUIC spin bit (RFC 9000, 17.4; RFC 9312, 3.8.2).

use slackwater_core::{Duration, Instant};

use super::{RttSample, SampleKind};

/// An edge that stood for so long is one, even with a single packet behind it.
const SETTLED: Duration = Duration::from_millis(1);
/// With so many packets in both directions and no edge the bit is constant.
const ENOUGH: u32 = 64;

/// Whether a flow's spin bit can be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpinState {
    /// Too few packets so far to tell, or it spins.
    #[default]
    Live,
    /// It never changes: disabled (RFC 9000, 17.4, has endpoints disable it on one connection in 16 at least).
    Constant,
    /// It changes at random: disabled per packet.
    Random,
}

/// Finds edges in one direction. A packet out of order makes an edge of one packet, which is not taken for one.
#[derive(Clone, Copy, Debug, Default)]
struct Edges {
    value: Option<bool>,
    /// When the first packet of another value came.
    candidate: Option<Instant>,
    packets: u32,
    /// Changes from packet to packet, settled or not.
    flips: u32,
    /// Those of them that came sooner after the last than a round trip allows.
    hasty: u32,
    last: Option<bool>,
    flipped: Option<Instant>,
}

impl Edges {
    /// Returns the new value and the time of its first packet where this packet confirms an edge.
    fn on_packet(&mut self, now: Instant, bit: bool, least: Duration) -> Option<(bool, Instant)> {
        // A flow that goes one way alone never starts them anew.
        self.packets = self.packets.saturating_add(1);
        if self.last.replace(bit).is_some_and(|last| last != bit) {
            let before = self.flipped.replace(now);
            self.flips = self.flips.saturating_add(1);
            let hasty = before.is_some_and(|at| now.since(at) < least || least.is_zero());
            self.hasty = self.hasty.saturating_add(u32::from(hasty));
        }
        match self.value {
            None => {
                self.value = Some(bit);
                None
            }
            Some(value) if value == bit => {
                // A settled candidate was confirmed by time, and this is the edge back.
                if let Some(since) = self.candidate.take()
                    && now.since(since) >= SETTLED
                {
                    self.value = Some(!value);
                    self.candidate = Some(now);
                    return Some((!value, since));
                }
                None
            }
            Some(_) => match self.candidate {
                None => {
                    self.candidate = Some(now);
                    None
                }
                Some(since) => {
                    self.candidate = None;
                    self.value = Some(bit);
                    Some((bit, since))
                }
            },
        }
    }

    /// A candidate that stood long enough by `now`.
    fn settle(&mut self, now: Instant) -> Option<(bool, Instant)> {
        let since = self.candidate?;
        if now.since(since) < SETTLED {
            return None;
        }
        self.candidate = None;
        let value = !self.value?;
        self.value = Some(value);
        Some((value, since))
    }
}

/// Whether the edges of both directions belong to one signal, by Wald's sequential probability ratio test ("Sequential Tests of
/// Statistical Hypotheses", Annals of Mathematical Statistics 16, 1945).
///
/// One end inverts what it receives and the other reflects it (RFC 9000, 17.4), so edges go round: between two edges that come up
/// exactly one went down. Two bits that are drawn apart do that by chance. Where edges come at rates a and b and independently, between
/// two of one kind there is one of the other with probability ab/(a+b)^2, a quarter at most.
#[derive(Clone, Copy, Debug, Default)]
struct Interleaving {
    /// Edges down since the last one up, and when the last two of them went (with one, more drawn bits pass under loss).
    down: u8,
    times: [Instant; 2],
    /// An edge came up before.
    began: bool,
    /// The logarithm of the ratio, between the bounds.
    ratio: f32,
    drawn: bool,
}

impl Interleaving {
    /// ln(0.9 / 0.5): a bit that spins interleaves at nine edges of ten or more, since some are lost or reordered; one that is drawn
    /// at half of them, which is twice the quarter above, since lost packets make edges rare.
    const ONE: f32 = 0.587_787;
    /// ln(0.1 / 0.5).
    const OTHER: f32 = -1.609_438;
    /// ln(0.999 / 0.001): one test of a thousand may err, either way (Wald, 3:1).
    const BOUND: f32 = 6.906_755;

    fn on_down(&mut self, at: Instant) {
        self.down = self.down.saturating_add(1);
        self.times = [at, self.times[0]];
    }

    fn on_up(&mut self, at: Instant) {
        // An edge is confirmed a little later than it came: others may have gone down since.
        let later = self.times.into_iter().map(|t| u8::from(t > at)).sum();
        let between = core::mem::replace(&mut self.down, later).saturating_sub(later);
        if !core::mem::replace(&mut self.began, true) {
            return;
        }
        let step = if between == 1 { Self::ONE } else { Self::OTHER };
        // It goes on: what is decided holds until the other bound is reached.
        self.ratio = (self.ratio + step).clamp(-Self::BOUND, Self::BOUND);
        if self.ratio <= -Self::BOUND {
            self.drawn = true;
        } else if self.ratio >= Self::BOUND {
            self.drawn = false;
        }
    }
}

/// An edge on its way down.
#[derive(Clone, Copy, Debug)]
struct Open {
    value: bool,
    at: Instant,
    /// The longest gap in the downlink since, its last packet's to the next not counted.
    silence: Duration,
}

/// Observes one QUIC flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpinFlow {
    down: Edges,
    up: Edges,
    /// The last edge going down that no edge coming up has answered.
    open: Option<Open>,
    /// The one before, as long as that is not answered: where packets are few the answer is only sure when the next edge
    /// is on its way.
    earlier: Option<Open>,
    last_down: Option<Instant>,
    /// Positive where the UE inverts the bit (it is the client), negative where it reflects it.
    role: i8,
    interleaving: Interleaving,
    last_edge: Option<Instant>,
    /// Half of the path's round trip, as far as it is known.
    least: Duration,
    /// The last sample was too long to be believed at once.
    doubted: bool,
    state: SpinState,
}

impl SpinFlow {
    /// Whether the bit can be used.
    pub const fn state(&self) -> SpinState {
        self.state
    }

    /// A short-header packet leaves for the UE.
    pub fn on_left(&mut self, now: Instant, bit: bool) {
        if let Some(last) = self.last_down.replace(now)
            && let Some(open) = &mut self.open
        {
            open.silence = open.silence.max(now.since(last));
        }
        if let Some((value, at)) = self.down.on_packet(now, bit, self.least) {
            // The packet that confirms the edge may be the one whose arrival has the UE answer.
            self.open_edge(value, at, now.since(at));
        }
    }

    fn open_edge(&mut self, value: bool, at: Instant, silence: Duration) {
        let edge = Open { value, at, silence };
        self.interleaving.on_down(at);
        self.earlier = self.open.replace(edge);
    }

    /// A short-header packet of the UE passes. `path` and `average` are the round-trip times known so far.
    pub fn on_uplink(
        &mut self,
        now: Instant,
        bit: bool,
        path: Option<Duration>,
        average: Option<Duration>,
    ) -> Option<RttSample> {
        if let Some((value, at)) = self.down.settle(now) {
            self.open_edge(value, at, Duration::ZERO);
        }
        self.least = path.map_or(Duration::ZERO, |p| p / 2);
        let edge = self.up.on_packet(now, bit, self.least);
        if let Some((_, at)) = edge {
            self.interleaving.on_up(at);
        }
        self.judge(now, average);
        let (value, at) = edge?;
        self.last_edge = Some(now);
        if self.state == SpinState::Constant {
            self.state = SpinState::Live;
        }
        // The newest that may have been answered.
        let answered = |open: &Open| open.at <= at;
        let Open {
            value: sent,
            at: since,
            silence: gap,
        } = match self.open.take_if(|open| answered(open)) {
            Some(open) => {
                self.earlier = None;
                open
            }
            None => self.earlier.take().filter(answered)?,
        };
        // The client inverts what it receives and the server reflects it (RFC 9000, 17.4): the answer's value tells
        // which the UE is, and one that disagrees with those before is no answer.
        let vote = if value == sent { -1 } else { 1 };
        self.role = (self.role + vote).clamp(-4, 4);
        if self.state != SpinState::Live || self.role.signum() != vote {
            return None;
        }
        let rtt = at.since(since);
        let too_short = path.is_some_and(|p| rtt < p / 2);
        let too_long = average.is_some_and(|a| rtt > a * 10);
        // One may be an edge that was missed. Two running are a queue that grew between samples: without belief in the
        // second no later one would be believed either.
        let doubted = core::mem::replace(&mut self.doubted, too_long);
        if too_short || (too_long && !doubted) || rtt.is_zero() {
            return None;
        }
        // The server fell silent: the client may have had nothing to answer until later. That makes a sample longer and
        // never shorter, so what lies below the average is welcome in it. Were it not, a rate limit of a packet an RTT
        // would leave no sample that tells of its own effect.
        let silence = self.last_down.map_or(Duration::ZERO, |last| at.since(last));
        let kind = if silence.max(gap) * 4 > rtt {
            SampleKind::IfLower
        } else {
            SampleKind::Full
        };
        Some(RttSample { rtt, kind })
    }

    /// Finds out whether the bit spins at all.
    fn judge(&mut self, now: Instant, average: Option<Duration>) {
        let since = *self.last_edge.get_or_insert(now);
        let (up, down) = (&mut self.up, &mut self.down);
        if up.packets < ENOUGH || down.packets < ENOUGH {
            return;
        }
        // A bit that is drawn for each packet changes within a round trip; one that spins may change with each packet too,
        // where there is one a round trip.
        let mostly = |e: &Edges| u64::from(e.hasty) * 4 > u64::from(e.packets);
        if self.interleaving.drawn || mostly(up) || mostly(down) {
            self.state = SpinState::Random;
        } else if self.state == SpinState::Random {
            self.state = SpinState::Live;
        }
        let patience = average
            .map_or(Duration::ZERO, |a| a * 8)
            .max(Duration::from_secs(2));
        if up.flips == 0 && now.since(since) > patience {
            self.state = SpinState::Constant;
        }
        if up.packets.min(down.packets) >= 4 * ENOUGH {
            for edges in [up, down] {
                edges.packets = 0;
                edges.flips = 0;
                edges.hasty = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::Draw;

    use super::*;

    /// What a connection does at one instant.
    struct Trace {
        /// (time in us, up, spin bit).
        events: Vec<(u64, bool, bool)>,
        /// Round trip between this function and the UE, in us.
        truth: u64,
    }

    /// A server that sends a packet each `gap` us and reflects; a UE that answers every second packet and inverts.
    /// `reorder` is the chance that a packet comes `3 * gap` late, on each of the two legs before the clock.
    fn trace(gap: u64, seconds: u64, reorder: f64, bit: impl Fn(u64, bool) -> bool) -> Trace {
        let draw = Draw::new(5);
        let (radio_down, radio_up, wired) = (11_000, 6_000, 9_000);
        let mut events = Vec::new();
        // Bits by the time they are known to each end.
        let mut to_ue: Vec<(u64, u64, bool)> = Vec::new();
        let mut to_server: std::collections::VecDeque<(u64, bool)> =
            std::collections::VecDeque::new();
        let (mut server_bit, mut ue_bit) = (false, false);
        let mut count = 0;
        for n in 0..seconds * 1_000_000 / gap {
            let now = n * gap;
            while to_server.front().is_some_and(|(at, _)| *at <= now) {
                server_bit = to_server.pop_front().expect("checked").1;
            }
            let late = if draw.uniform(n) < reorder {
                3 * gap
            } else {
                0
            };
            let sent = bit(n, server_bit);
            events.push((now + wired + late, false, sent));
            to_ue.push((now + wired + late + radio_down, n, sent));
            to_ue.sort_unstable();
            let mut highest = None;
            while to_ue.first().is_some_and(|(at, ..)| *at <= now + gap) {
                let (at, number, value) = to_ue.remove(0);
                if highest.is_none_or(|h| number > h) {
                    highest = Some(number);
                    ue_bit = !value;
                }
                count += 1;
                if count % 2 == 0 {
                    let late = if draw.uniform(n + (1 << 40)) < reorder {
                        3 * gap
                    } else {
                        0
                    };
                    let value = bit(n + 1, ue_bit);
                    events.push((at + radio_up + late, true, value));
                    to_server.push_back((at + radio_up + wired, value));
                }
            }
        }
        events.sort_unstable();
        Trace {
            events,
            truth: radio_down + radio_up,
        }
    }

    fn observe(trace: &Trace) -> (SpinFlow, Vec<RttSample>) {
        let mut flow = SpinFlow::default();
        let mut samples = Vec::new();
        let (mut path, mut average) = (None, None);
        for (us, up, bit) in &trace.events {
            let now = Instant::from_nanos(us * 1000);
            if *up {
                if let Some(s) = flow.on_uplink(now, *bit, path, average) {
                    path = Some(path.map_or(s.rtt, |p: Duration| p.min(s.rtt)));
                    average = Some(s.rtt);
                    samples.push(s);
                }
            } else {
                flow.on_left(now, *bit);
            }
        }
        (flow, samples)
    }

    fn p95_error_us(samples: &[RttSample], truth: u64) -> u64 {
        let mut errors: Vec<u64> = samples
            .iter()
            .map(|s| s.rtt.as_micros().abs_diff(truth))
            .collect();
        errors.sort_unstable();
        errors[errors.len() * 95 / 100]
    }

    #[test]
    fn edges_that_go_round_are_told_from_those_of_two_drawn_bits() {
        let at = |us: u64| Instant::from_nanos(us * 1000);
        let draw = Draw::new(9);
        // One of ten edges is missed on its way up.
        let mut spins = Interleaving::default();
        for k in 0..1000 {
            spins.on_down(at(k * 20_000));
            if draw.uniform(k) > 0.1 {
                spins.on_up(at(k * 20_000 + 10_000));
            }
            assert!(!spins.drawn, "edge {k}");
        }
        // Each millisecond an edge goes down or up by chance, as often or half as often.
        for often in [0.5, 0.67] {
            let mut drawn = Interleaving::default();
            for k in 0..100 {
                if draw.uniform(2000 + k) < often {
                    drawn.on_down(at(k * 1000));
                } else {
                    drawn.on_up(at(k * 1000));
                }
            }
            assert!(drawn.drawn, "{often}");
        }
    }

    /// An edge that was missed makes one sample too long. Two running are a queue that grew.
    #[test]
    fn ten_times_the_average_is_believed_the_second_time() {
        let ms = Instant::from_millis;
        let mut flow = SpinFlow::default();
        let (mut down, mut up, mut at) = (false, true, 0);
        let mut exchange = |rtt: u64| {
            (down, up) = (!down, !up);
            flow.on_left(ms(at), down);
            let path = Duration::from_millis(20);
            let sample = flow.on_uplink(ms(at + rtt), up, Some(path), Some(path));
            at += rtt + 20;
            sample.map(|sample| sample.rtt.as_millis())
        };
        for _ in 0..10 {
            exchange(20);
        }
        // What goes down next settles what the last one was.
        let samples = [199, 20, 201, 20, 201, 201, 20].map(exchange);
        let told = [20, 199, 20, 0, 20, 0, 201].map(|ms| (ms > 0).then_some(ms));
        assert_eq!(samples, told);
    }

    #[test]
    fn one_sample_a_round_trip_and_it_is_true() {
        let trace = trace(400, 10, 0.0, |_, bit| bit);
        let (flow, samples) = observe(&trace);
        // 35 ms end to end.
        assert!((250..290).contains(&samples.len()), "{}", samples.len());
        assert!(p95_error_us(&samples, trace.truth) < 1_000);
        assert!(
            samples
                .iter()
                .filter(|s| s.kind == SampleKind::Full)
                .count()
                > 240
        );
        assert_eq!(flow.state(), SpinState::Live);
    }

    #[test]
    fn reordering_of_one_percent_does_not_fool_it() {
        let trace = trace(300, 10, 0.01, |_, bit| bit);
        let (flow, samples) = observe(&trace);
        assert!(samples.len() > 150, "{}", samples.len());
        let error = p95_error_us(&samples, trace.truth);
        assert!(error < 1_000, "{error} us");
        assert_eq!(flow.state(), SpinState::Live);
    }

    #[test]
    fn a_bit_that_is_disabled_gives_no_sample_and_is_found_out() {
        let (flow, samples) = observe(&trace(400, 5, 0.0, |_, _| true));
        assert_eq!((samples.len(), flow.state()), (0, SpinState::Constant));
        let draw = Draw::new(9);
        let (flow, samples) = observe(&trace(400, 5, 0.0, |n, _| draw.bits(n) & 1 == 0));
        assert_eq!(flow.state(), SpinState::Random);
        assert!(samples.len() < 10, "{}", samples.len());
    }

    #[test]
    fn a_bit_that_spins_with_each_packet_is_not_taken_for_random() {
        // A packet each 12 ms down and half as many up: three and one or two a round trip of 35 ms.
        let (flow, samples) = observe(&trace(12_000, 20, 0.0, |_, bit| bit));
        assert!(samples.len() > 50, "{}", samples.len());
        assert_eq!(flow.state(), SpinState::Live);
    }

    #[test]
    fn a_queue_that_grew_tenfold_between_two_samples_is_believed_at_the_second() {
        let mut flow = SpinFlow::default();
        let ms = |n: u64| Instant::from_millis(n);
        let mut sampled = vec![];
        let mut bit = false;
        // Edges each 400 ms that take 200 ms to be answered, and an average of 15 ms.
        for k in 0..6 {
            let at = 400 * k;
            bit = !bit;
            for n in 0..20 {
                flow.on_left(ms(at + 10 * n), bit);
            }
            for n in 0..20 {
                let (path, average) = (Duration::from_millis(11), Duration::from_millis(15));
                flow.on_left(ms(at + 200 + 10 * n), bit);
                let up = ms(at + 200 + 10 * n);
                sampled.extend(flow.on_uplink(up, !bit, Some(path), Some(average)));
            }
        }
        assert!(sampled.len() >= 3, "{}", sampled.len());
        assert!(sampled.iter().all(|s| s.rtt == Duration::from_millis(200)));
    }

    #[test]
    fn silence_of_the_server_makes_a_sample_that_may_only_lower_the_average() {
        // A packet each 20 ms: every sample has waited for the next packet.
        let (_, samples) = observe(&trace(20_000, 5, 0.0, |_, bit| bit));
        assert!(samples.iter().all(|s| s.kind == SampleKind::IfLower));
    }
}
