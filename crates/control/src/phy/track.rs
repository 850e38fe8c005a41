//! The network state tracker (Tyrus, section 2): from ACKs and transport blocks to [`Signals`].

use slackwater_core::{Bytes, Duration, Instant};

use super::ewma::Ewmas;
use super::observe::{BANK_MS, Signals};
use crate::{Ack, PathView};

/// Steps below this are gathered before they count, so that a burst of ACKs costs one average.
const LEAST_STEP: f64 = 0.001;
/// The longest step that counts whole: what a report says about longer is old.
const LONGEST_STEP: f64 = 2.0;
/// The variability is that of the mean over so much (a study: rule v2).
const BOX: f64 = 0.020;
/// Its mean is taken over this.
const VARIANCE_TAU: f64 = 0.200;
/// Queueing and delivery rate are averaged over this (the poster leaves it open).
const ACK_TAU: f64 = 0.020;
/// An arrival counts as a busy link's where even the quickest packet of a round or two took this much longer than the least
/// RTT: single packets wait for their slot on an idle link as well.
const BUSY: Duration = Duration::from_millis(1);
/// An idle link's estimate grows by this per second: 0.2 % per ms (a study).
const IDLE_GROWTH: f64 = 2.0;

/// Mean rates and variability of a stream of (bytes, time).
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    bank: Ewmas<6>,
    variance: Ewmas<1>,
    /// Bytes and seconds that wait for a whole step.
    pending: (f64, f64),
    /// The last steps of [`BOX`], oldest first from `head`: bytes, seconds.
    recent: [(f64, f64); Self::RING],
    head: usize,
    len: usize,
    sum: (f64, f64),
    /// Seconds since bytes arrived.
    silent: f64,
}

impl Default for Meter {
    fn default() -> Self {
        Self {
            bank: Ewmas::new(BANK_MS.map(|ms| ms / 1e3)),
            variance: Ewmas::new([VARIANCE_TAU]),
            pending: (0.0, 0.0),
            recent: [(0.0, 0.0); Self::RING],
            head: 0,
            len: 0,
            sum: (0.0, 0.0),
            silent: 0.0,
        }
    }
}

impl Meter {
    /// Steps of at least 1 ms that fit into 20 ms, and one that crosses the border.
    const RING: usize = 24;

    /// `bytes` in `seconds`.
    #[inline]
    pub fn push(&mut self, bytes: f64, seconds: f64) {
        // What is cut of the time is cut of the bytes: the rate stays.
        let part = if seconds > LONGEST_STEP {
            LONGEST_STEP / seconds
        } else {
            1.0
        };
        self.pending.0 += bytes * part;
        self.pending.1 += seconds * part;
        // Half a nanosecond of slack: sums of slots are not exact.
        if self.pending.1 >= LEAST_STEP - 5e-10 {
            self.step();
        }
    }

    fn step(&mut self) {
        let (bytes, seconds) = core::mem::take(&mut self.pending);
        let mbps = bytes * 8e-6 / seconds;
        self.silent = if bytes > 0.0 {
            0.0
        } else {
            self.silent + seconds
        };
        self.bank.push(mbps, seconds);
        if self.len == Self::RING {
            self.drop_oldest();
        }
        let tail = (self.head + self.len) % Self::RING;
        self.recent[tail] = (bytes, seconds);
        self.len += 1;
        self.sum = (self.sum.0 + bytes, self.sum.1 + seconds);
        while self.len > 1 && self.sum.1 - self.recent[self.head].1 >= BOX - 5e-10 {
            self.drop_oldest();
        }
        if self.len == 1 {
            // No rounding survives an empty box.
            self.sum = self.recent[self.head];
        }
        let off = self.sum.0 * 8e-6 / self.sum.1 - self.bank.get(3);
        self.variance.push(off * off, seconds);
    }

    fn drop_oldest(&mut self) {
        let (bytes, seconds) = self.recent[self.head];
        self.sum = (self.sum.0 - bytes, self.sum.1 - seconds);
        self.head = (self.head + 1) % Self::RING;
        self.len -= 1;
    }

    /// All means grow by `factor`.
    fn grow(&mut self, factor: f64) {
        self.bank.scale(factor);
    }

    /// True before the first whole step.
    pub fn is_empty(&self) -> bool {
        self.bank.is_empty()
    }

    /// Mean rate under the bank's time constant `i`, Mbit/s.
    pub fn mean(&self, i: usize) -> f64 {
        self.bank.get(i)
    }

    /// Standard deviation of the rate over 20 ms, Mbit/s.
    pub fn sd(&self) -> f64 {
        libm::sqrt(self.variance.get(0).max(0.0))
    }
}

/// Where the rates of the signals come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Source {
    /// Transport blocks, as the receiver reports them.
    #[default]
    Phy,
    /// Arrivals of ACKs while the link is busy: what a sender knows without the radio.
    Acks,
}

/// The least RTT of the present round and of the one before: what is left of it without jitter.
#[derive(Clone, Copy, Debug, Default)]
struct Floor {
    /// When the present round began.
    from: Instant,
    present: Duration,
    before: Duration,
}

impl Floor {
    #[inline]
    fn see(&mut self, now: Instant, rtt: Duration, round: Duration) {
        if now.since(self.from) >= round {
            *self = Self {
                from: now,
                present: rtt,
                before: self.present,
            };
        } else {
            self.present = self.present.min(rtt);
        }
    }

    fn get(&self) -> Duration {
        self.present.min(self.before)
    }
}

/// What the sender knows. Feed it every ACK and report.
#[derive(Clone, Copy, Debug)]
pub struct Tracker {
    source: Source,
    meter: Meter,
    /// What arrives of a busy link's ACKs, beside the transport blocks.
    arrivals: Meter,
    /// Queueing (seconds) and delivery rate (Mbit/s).
    queueing: Ewmas<1>,
    rate: Ewmas<1>,
    min_rtt: Duration,
    /// The least RTT of late.
    floor: Floor,
    packet: u32,
    last_rtt: Duration,
    last_ack: Option<Instant>,
    last_sample: Option<Instant>,
    in_flight: Bytes,
    /// Time of the ACK from which arrivals count.
    arrivals_from: Option<Instant>,
    arrived: u64,
    /// When the last report was heard, and where it ended, in ms modulo 2^16.
    end: Option<(Instant, u16)>,
}

impl Tracker {
    /// A tracker whose rates come from `source`.
    pub fn new(source: Source) -> Self {
        Self {
            source,
            meter: Meter::default(),
            arrivals: Meter::default(),
            queueing: Ewmas::new([ACK_TAU]),
            rate: Ewmas::new([ACK_TAU]),
            min_rtt: Duration::ZERO,
            floor: Floor::default(),
            packet: 0,
            last_rtt: Duration::ZERO,
            last_ack: None,
            last_sample: None,
            in_flight: Bytes::ZERO,
            arrivals_from: None,
            arrived: 0,
            end: None,
        }
    }

    /// An ACK.
    #[inline]
    pub fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        self.view(path);
        let since = self.last_ack.map_or(Duration::ZERO, |t| now.since(t));
        let dt = since.as_secs_f64();
        if let Some(rtt) = ack.rtt {
            self.last_rtt = rtt;
            self.floor.see(now, rtt, path.srtt);
            // The first sample counts fully, whatever `dt`.
            let q = rtt.saturating_sub(self.min_rtt).as_secs_f64();
            self.queueing.push(q, dt.max(1e-5));
        }
        if let Some(sample) = ack.rate.filter(|s| !s.interval.is_zero()) {
            // In IP bytes, as the blocks'.
            let overhead = f64::from(path.wire_mss.max(1)) / f64::from(path.mss.max(1));
            let bytes = sample.delivered.0 as f64 * overhead;
            let mbps = bytes * 8e-6 / sample.interval.as_secs_f64();
            self.rate.push(mbps, dt.max(1e-5));
        }
        self.arrival(now, path, ack);
        self.last_ack = Some(now);
        self.in_flight = path.in_flight;
    }

    fn arrival(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        // IP bytes per payload byte of a full packet.
        let overhead = f64::from(path.wire_mss.max(1)) / f64::from(path.mss.max(1));
        let Some(from) = self.arrivals_from else {
            self.arrivals_from = Some(now);
            return;
        };
        self.arrived += ack.newly_acked.0;
        let span = now.since(from);
        if span < Duration::from_millis(1) {
            return;
        }
        let bytes = self.arrived as f64 * overhead;
        let seconds = span.as_secs_f64();
        let busy = self.floor.get() > self.min_rtt + BUSY;
        // What arrives from an idle link is what was sent: it shows no more than a lower bound.
        let higher = bytes * 8e-6 / seconds > self.arrivals.mean(0);
        if busy || higher || self.arrivals.is_empty() {
            self.arrivals.push(bytes, seconds);
        } else {
            self.arrivals
                .grow(1.0 + IDLE_GROWTH * seconds.min(LONGEST_STEP / 10.0));
        }
        if self.source == Source::Acks {
            self.meter = self.arrivals;
            self.last_sample = Some(now);
        }
        self.arrived = 0;
        self.arrivals_from = Some(now);
    }

    /// Transport blocks of `bytes` over `span` that end at `end` (ms modulo 2^16 of the reporter's clock). Returns false
    /// for what was heard before. Time that no report covers is skipped: missing is not zero.
    #[inline]
    pub fn on_blocks(&mut self, now: Instant, bytes: Bytes, span: Duration, end: u16) -> bool {
        if self.source != Source::Phy || span.is_zero() {
            return false;
        }
        if let Some((heard, last)) = self.end {
            // The clock wraps after 65.5 s and says nothing about pauses of half of that or more: the time that passed here
            // does, to which the reporter's is close (as an index is found from 16 bits in RFC 3711, 3.3.1).
            let passed = (now.since(heard).as_nanos() / 1_000_000) as i64;
            let off = end.wrapping_sub(last).wrapping_sub(passed as u16) as i16;
            // Slots shorter than a millisecond end in the same one; what lies behind is a duplicate.
            if passed + i64::from(off) < 0 {
                return false;
            }
        }
        self.end = Some((now, end));
        self.meter.push(bytes.0 as f64, span.as_secs_f64());
        self.last_sample = Some(now);
        true
    }

    /// Follows the path's sizes.
    #[inline]
    pub fn view(&mut self, path: &PathView) {
        if !path.min_rtt.is_zero() {
            self.min_rtt = path.min_rtt;
        }
        self.packet = path.wire_mss.max(path.mss);
    }

    /// The outage or idle time ended: arrivals before say nothing about rates.
    pub fn restart(&mut self) {
        self.arrivals_from = None;
        self.arrived = 0;
    }

    /// When the rates last heard something.
    pub const fn last_sample(&self) -> Option<Instant> {
        self.last_sample
    }

    /// True when a window can be computed: a least RTT and a rate are known.
    pub fn is_ready(&self) -> bool {
        !self.min_rtt.is_zero() && !self.meter.is_empty()
    }

    /// Mean over 100 ms and deviation of what arrives, Mbit/s: what a sender knows without the radio.
    pub fn arrivals(&self) -> (f64, f64) {
        (self.arrivals.mean(3), self.arrivals.sd())
    }

    /// Least RTT; zero before the first sample.
    pub const fn min_rtt(&self) -> Duration {
        self.min_rtt
    }

    /// The rates' meter.
    pub const fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The signals at `now`, with the window and the previous action of the caller.
    pub fn signals(&self, now: Instant, window: f64, action: f64) -> Signals {
        let mut bank = [0.0; BANK_MS.len()];
        for (i, mean) in bank.iter_mut().enumerate() {
            *mean = self.meter.mean(i);
        }
        let waited = self.last_ack.map_or(Duration::ZERO, |t| now.since(t));
        let unheard = self.last_sample.map_or(Duration::ZERO, |t| now.since(t));
        let age = if self.in_flight == Bytes::ZERO {
            Duration::ZERO
        } else {
            // The packet after the one that was acknowledged last left just after it.
            (waited + self.last_rtt).saturating_sub(self.min_rtt)
        };
        Signals {
            bank,
            sd: self.meter.sd(),
            silent: self.meter.silent + unheard.as_secs_f64(),
            queueing: self.queueing.get(0),
            rate: self.rate.get(0),
            window,
            action,
            min_rtt: self.min_rtt.as_secs_f64(),
            age: age.as_secs_f64(),
            packet: f64::from(self.packet),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_knows_rates_variability_and_silence() {
        let mut m = Meter::default();
        for _ in 0..2000 {
            m.push(1500.0, 0.001);
        }
        assert!((m.mean(0) - 12.0).abs() < 1e-9 && (m.mean(5) - 12.0).abs() < 1e-9);
        assert!(m.sd() < 1e-6);
        // Blocks of 20 ms that alternate between 24 and 0 Mbit/s: the mean over any 20 ms moves between them.
        for k in 0..4000 {
            let bytes = if k / 20 % 2 == 0 { 3000.0 } else { 0.0 };
            m.push(bytes, 0.001);
        }
        assert!((4.0..10.0).contains(&m.sd()), "{}", m.sd());
        assert!((m.silent - 0.020).abs() < 1e-9, "{}", m.silent);
    }

    #[test]
    fn waits_for_a_slot_are_no_queue() {
        // Two packets each 60 ms. One of them waits 12 ms for its slot; or both wait for others.
        let rate = |least: u64| {
            let mut t = Tracker::new(Source::Acks);
            let mut path = PathView {
                mss: 1500,
                wire_mss: 1500,
                srtt: Duration::from_millis(50),
                min_rtt: Duration::from_millis(40),
                ..PathView::default()
            };
            path.in_flight = Bytes(3000);
            for k in 0..100 {
                let rtt = 40 + if k % 2 == 0 { least } else { 12 };
                let ack = Ack {
                    newly_acked: Bytes(1500),
                    rtt: Some(Duration::from_millis(rtt)),
                    ..Ack::default()
                };
                t.on_ack(Instant::from_millis(30 * k), &path, &ack);
            }
            t.meter().mean(3)
        };
        assert!(rate(0) > 4.0, "it looks for more: {}", rate(0));
        assert!((rate(12) - 0.4).abs() < 0.1, "a queue: {}", rate(12));
    }

    #[test]
    fn reports_count_once_and_gaps_are_not_zero() {
        let mut t = Tracker::new(Source::Phy);
        let now = Instant::from_millis(5);
        let ms = Duration::from_millis;
        assert!(t.on_blocks(now, Bytes(15_000), ms(10), 10));
        assert!(!t.on_blocks(now, Bytes(0), ms(10), 9));
        assert!(t.on_blocks(now, Bytes(15_000), ms(10), 65));
        assert!((t.meter().mean(0) - 12.0).abs() < 1e-9);
    }

    #[test]
    fn a_long_report_weighs_as_two_seconds_and_keeps_its_rate() {
        let mut m = Meter::default();
        m.push(1e6, 0.8);
        m.push(125e6, 100.0);
        assert!((m.mean(5) - 10.0).abs() < 1e-9, "{}", m.mean(5));
    }

    proptest::proptest! {
        /// The reporter's clock has 16 bits of milliseconds: reports in order are all heard, whatever the pauses and
        /// delays, and none of them twice.
        #[test]
        fn wraps_of_the_reporters_clock_lose_nothing(
            start in 0_u64..200_000,
            steps in proptest::collection::vec((1_u64..200_000, 0_u64..2_000), 1..40),
        ) {
            let mut t = Tracker::new(Source::Phy);
            let ms = Duration::from_millis;
            let (mut end, mut heard) = (start, start);
            for (pause, delay) in steps {
                end += pause;
                // A lane keeps the order.
                heard = heard.max(end + delay);
                let now = Instant::from_millis(heard);
                proptest::prop_assert!(t.on_blocks(now, Bytes(1000), ms(1), end as u16));
                for late in [1, 5, 1000] {
                    let copy = (end - late.min(end)) as u16;
                    let again = now + ms(late);
                    proptest::prop_assert!(end < late || !t.on_blocks(again, Bytes(1000), ms(1), copy));
                }
            }
        }
    }
}
