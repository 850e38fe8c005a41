//! Marks on a linear ramp of the queue's delay, at dequeue unless its parameters say otherwise.
//!
//! With random marks this is the marker of the Jens simulator (Deutsche Telekom; shown at the IETF 115 hackathon): no
//! marks up to one sojourn time, every packet from another on, a linear chance between. Its own defaults are 4 and
//! 14 ms.

use slackwater_core::{Bytes, Draw, Duration, Ecn, Instant, Rate};

use super::parameters::{Key, Mismatch, Parameter, Parameters, Value, keys};
use crate::{Law, PacketMeta, QueueView, Verdict};

/// How a chance becomes marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RampMode {
    /// Each packet draws (the Jens marker).
    #[default]
    Random,
    /// Chances add up, and each time the sum reaches one a packet is marked: the same share without the noise.
    Even,
}

/// Which packets a ramp marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RampTarget {
    /// ECT(1) alone, which is what L4S senders set (RFC 9331).
    #[default]
    Ect1,
    /// Every ECN-capable packet, as the Jens marker does.
    Capable,
}

/// Which delay the ramp is of. All but the first are what a marker in the wrong place sees: they are here so that the cost
/// of the place can be measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RampDelay {
    /// How long the packet itself waited, when it leaves.
    #[default]
    Sojourn,
    /// How long the oldest waits when the packet comes.
    Arrival,
    /// How long what waits when the packet comes would take at a nominal rate: a marker above the queue that knows how much
    /// waits and not how fast it drains.
    Nominal,
    /// How long the packet took until the radio had delivered it, retransmissions included. Known to radio link control
    /// alone.
    Delivery,
}

impl RampDelay {
    /// The words of a scenario, in the order of the variants.
    const WORDS: [&'static str; 4] = ["sojourn", "arrival", "nominal", "delivery"];
    const ALL: [Self; 4] = [Self::Sojourn, Self::Arrival, Self::Nominal, Self::Delivery];
}

impl Parameter for RampDelay {
    fn to_value(self) -> Value {
        Value::Word(Self::WORDS[self as usize])
    }
    fn from_value(value: Value) -> Option<Self> {
        let at = Self::WORDS.iter().position(|w| value == Value::Word(w))?;
        Some(Self::ALL[at])
    }
}

/// What happens to a packet that the ramp picks and may not mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RampOthers {
    /// It passes; the buffer's limit is its only bound.
    #[default]
    Pass,
    /// It is dropped.
    Drop,
}

/// The parameters of a [`Ramp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RampConfig {
    /// The delay up to which nothing is marked.
    pub low: Duration,
    /// The delay from which everything is marked; at least `low`.
    pub high: Duration,
    /// Which delay it is.
    pub delay: RampDelay,
    /// The rate that [`RampDelay::Nominal`] counts with.
    pub nominal: Rate,
    /// How the chance becomes marks.
    pub mode: RampMode,
    /// Whom it marks.
    pub target: RampTarget,
    /// What becomes of the others.
    pub others: RampOthers,
}

impl Default for RampConfig {
    /// The thresholds of a cell's scheduling of some ms, for L4S packets; the Jens marker's own are 4 and 14 ms.
    fn default() -> Self {
        Self {
            low: Duration::from_millis(5),
            high: Duration::from_millis(20),
            delay: RampDelay::default(),
            nominal: Rate::from_mbps(10.0),
            mode: RampMode::default(),
            target: RampTarget::default(),
            others: RampOthers::default(),
        }
    }
}

impl Parameters for RampConfig {
    type Law = Ramp;
    const NAME: &'static str = "ramp";
    const ABOUT: &'static str = "Linear ECN ramp between two delays at dequeue.";
    const KEYS: &'static [Key<Self>] = keys! {
        /// No marks up to this delay.
        low = low in Time(Duration::ZERO, Duration::from_secs(10)),
        /// Every packet is marked from this delay on.
        high = high in Time(Duration::ZERO, Duration::from_secs(10)),
        /// Which delay it is.
        delay = delay in Words(&RampDelay::WORDS),
        /// The rate that `delay = "nominal"` counts with.
        nominal = nominal in Rate(Rate::from_bps(1_000), Rate::from_bps(1_000_000_000_000)),
    };

    fn check(&self) -> Result<(), Mismatch> {
        if self.high < self.low {
            return Err(Mismatch {
                found: format!("high = \"{}\" below low = \"{}\"", self.high, self.low),
                expected: "high of at least low",
            });
        }
        Ok(())
    }

    fn build(&self, draw: Draw) -> Ramp {
        Ramp::new(*self, draw)
    }
}

/// A linear ECN ramp.
#[derive(Clone, Debug)]
pub struct Ramp {
    config: RampConfig,
    draw: Draw,
    /// Packets that drew so far: the key of the next draw.
    drawn: u64,
    /// Chances that have not become a mark yet, below one.
    owed: f64,
}

impl Ramp {
    /// A ramp; `draw` decides the random marks.
    pub const fn new(config: RampConfig, draw: Draw) -> Self {
        Self {
            config,
            draw,
            drawn: 0,
            owed: 0.0,
        }
    }

    /// The chance in [0, 1] at `delay`.
    #[inline]
    pub fn chance(&self, delay: Duration) -> f64 {
        chance(self.config.low, self.config.high, delay)
    }

    /// Replaces the thresholds, as a cell does that adapts them to its load.
    pub const fn set_thresholds(&mut self, low: Duration, high: Duration) {
        self.config.low = low;
        self.config.high = high;
    }

    #[inline]
    fn picks(&mut self, chance: f64) -> bool {
        match self.config.mode {
            RampMode::Random => {
                self.drawn += 1;
                self.draw.uniform(self.drawn) < chance
            }
            RampMode::Even => {
                self.owed += chance;
                let due = self.owed >= 1.0;
                if due {
                    self.owed -= 1.0;
                }
                due
            }
        }
    }
}

/// The chance in [0, 1] at `delay` on the ramp from `low` to `high`.
#[inline]
pub(crate) fn chance(low: Duration, high: Duration, delay: Duration) -> f64 {
    if delay <= low {
        0.0
    } else if delay >= high {
        1.0
    } else {
        (delay - low).as_nanos() as f64 / (high - low).as_nanos() as f64
    }
}

impl Law for Ramp {
    fn on_enqueue(
        &mut self,
        _now: Instant,
        delay: Duration,
        queue: &QueueView,
        packet: &PacketMeta,
    ) -> Verdict {
        match self.config.delay {
            RampDelay::Arrival => self.judge(delay, *packet),
            RampDelay::Nominal => {
                let waits = Bytes(queue.bytes.0 + u64::from(packet.len));
                self.judge(self.config.nominal.time_for(waits), *packet)
            }
            RampDelay::Sojourn | RampDelay::Delivery => Verdict::Pass,
        }
    }

    fn on_dequeue(
        &mut self,
        _now: Instant,
        delay: Duration,
        _queue: &QueueView,
        packet: &PacketMeta,
    ) -> Verdict {
        if self.config.delay == RampDelay::Sojourn {
            self.judge(delay, *packet)
        } else {
            Verdict::Pass
        }
    }

    fn on_delivered(&mut self, _now: Instant, delay: Duration, packet: &PacketMeta) -> Verdict {
        if self.config.delay == RampDelay::Delivery {
            self.judge(delay, *packet)
        } else {
            Verdict::Pass
        }
    }
}

impl Ramp {
    /// What becomes of a packet at `delay`.
    #[inline]
    fn judge(&mut self, delay: Duration, packet: PacketMeta) -> Verdict {
        let markable = match (self.config.target, packet.ecn) {
            // A packet that carries CE already says all that a mark could.
            (_, Ecn::Ce) => return Verdict::Pass,
            (RampTarget::Ect1, ecn) => ecn == Ecn::Ect1,
            (RampTarget::Capable, ecn) => ecn.is_capable(),
        };
        if !markable && self.config.others == RampOthers::Pass {
            return Verdict::Pass;
        }
        let chance = self.chance(delay);
        if chance == 0.0 || !self.picks(chance) {
            Verdict::Pass
        } else if markable {
            Verdict::Mark
        } else {
            Verdict::Drop
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::LawConfig;

    /// The Jens marker's thresholds.
    fn jens() -> RampConfig {
        RampConfig {
            low: Duration::from_millis(4),
            high: Duration::from_millis(14),
            ..RampConfig::default()
        }
    }

    fn ramp(mode: RampMode, target: RampTarget, others: RampOthers) -> Ramp {
        Ramp::new(
            RampConfig {
                mode,
                target,
                others,
                ..jens()
            },
            Draw::new(1),
        )
    }

    fn verdict(law: &mut Ramp, delay_us: u64, ecn: Ecn) -> Verdict {
        let packet = PacketMeta { len: 1500, ecn };
        law.on_dequeue(
            Instant::ZERO,
            Duration::from_micros(delay_us),
            &QueueView::default(),
            &packet,
        )
    }

    #[test]
    fn a_ramp_goes_by_the_delay_it_is_told() {
        let packet = PacketMeta {
            len: 1500,
            ecn: Ecn::Ect1,
        };
        let queue = QueueView {
            bytes: Bytes(24_750),
            packets: 17,
        };
        let verdicts = |delay, nominal| {
            let config = RampConfig {
                delay,
                nominal,
                ..jens()
            };
            // As links and cells hold it.
            let mut law = LawConfig::Ramp(config).build(Draw::new(1));
            let now = Instant::ZERO;
            let late = Duration::from_millis(20);
            [
                law.on_enqueue(now, late, &queue, &packet),
                law.on_enqueue(now, Duration::ZERO, &queue, &packet),
                law.on_dequeue(now, late, &queue, &packet),
                law.on_delivered(now, late, &packet),
            ]
        };
        let (yes, no) = (Verdict::Mark, Verdict::Pass);
        let (slow, fast) = (Rate::from_mbps(15.0), Rate::from_mbps(100.0));
        assert_eq!(verdicts(RampDelay::Sojourn, slow), [no, no, yes, no]);
        assert_eq!(verdicts(RampDelay::Arrival, slow), [yes, no, no, no]);
        // 26,250 bytes at 15 Mbit/s are 14 ms, at 100 Mbit/s 2.1 ms.
        assert_eq!(verdicts(RampDelay::Nominal, slow), [yes, yes, no, no]);
        assert_eq!(verdicts(RampDelay::Nominal, fast), [no; 4]);
        assert_eq!(verdicts(RampDelay::Delivery, slow), [no, no, no, yes]);
    }

    #[test]
    fn the_share_of_marks_is_the_ramps() {
        for mode in [RampMode::Random, RampMode::Even] {
            let mut law = ramp(mode, RampTarget::Ect1, RampOthers::Pass);
            for (delay_us, want) in [(4_000, 0), (6_500, 2_500), (9_000, 5_000), (14_000, 10_000)] {
                let marks = (0..10_000)
                    .filter(|_| verdict(&mut law, delay_us, Ecn::Ect1) == Verdict::Mark)
                    .count();
                // Four standard deviations of 10,000 draws at one half are 200.
                let slack = if mode == RampMode::Even { 1 } else { 200 };
                assert!(
                    marks.abs_diff(want) <= slack,
                    "{mode:?} {delay_us}: {marks}"
                );
            }
        }
    }

    #[test]
    fn even_marks_are_spaced_evenly() {
        let mut law = ramp(RampMode::Even, RampTarget::Ect1, RampOthers::Pass);
        let marks: Vec<bool> = (0..8)
            .map(|_| verdict(&mut law, 6_500, Ecn::Ect1) == Verdict::Mark)
            .collect();
        assert_eq!(
            marks,
            [false, false, false, true, false, false, false, true]
        );
    }

    #[test]
    fn others_pass_or_drop_as_told() {
        let late = 20_000;
        let mut law = ramp(RampMode::Random, RampTarget::Ect1, RampOthers::Pass);
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ce] {
            assert_eq!(verdict(&mut law, late, ecn), Verdict::Pass);
        }
        let mut law = ramp(RampMode::Random, RampTarget::Ect1, RampOthers::Drop);
        assert_eq!(verdict(&mut law, late, Ecn::Ect0), Verdict::Drop);
        let mut law = ramp(RampMode::Random, RampTarget::Capable, RampOthers::Drop);
        assert_eq!(verdict(&mut law, late, Ecn::Ect0), Verdict::Mark);
        assert_eq!(verdict(&mut law, late, Ecn::NotEct), Verdict::Drop);
        assert_eq!(verdict(&mut law, late, Ecn::Ce), Verdict::Pass);
    }

    #[test]
    fn equal_thresholds_make_a_step() {
        let mut law = ramp(RampMode::Random, RampTarget::Ect1, RampOthers::Pass);
        law.set_thresholds(Duration::from_millis(1), Duration::from_millis(1));
        assert_eq!(verdict(&mut law, 1_000, Ecn::Ect1), Verdict::Pass);
        assert_eq!(verdict(&mut law, 1_001, Ecn::Ect1), Verdict::Mark);
    }
}
