//! Laws: who passes, who is marked, who is dropped.
//!
//! A law is one file: its parameters with their keys ([`Parameters`]), its state, and what it decides ([`Law`]). Below stand
//! its module and its row in the table; names, scenario keys and documentation follow from them.

pub mod abc;
pub mod codel;
mod none;
mod own;
pub mod parameters;
pub mod pi2;
pub mod pie;
pub mod ramp;
pub mod red;
pub mod step;
mod table;

pub use abc::{Abc, AbcConfig};
pub use codel::{Codel, CodelConfig};
pub use none::NoLaw;
pub use own::OwnLaw;
pub use parameters::{Mismatch, Parameters, Setting, Value, Values};
pub use pi2::{Pi2, Pi2Config};
pub use pie::{Pie, PieConfig};
pub use ramp::{Ramp, RampConfig, RampDelay, RampMode, RampOthers, RampTarget};
pub use red::{Red, RedConfig};
pub use step::{Step, StepConfig};

use slackwater_core::{Bytes, Draw, Duration, Ecn, Instant};

use crate::{Law, PacketMeta, QueueView, Verdict};

table::laws! {
    /// RFC 8289.
    Codel(CodelConfig),
    /// A linear ECN ramp.
    Ramp(RampConfig),
    /// RFC 8033.
    Pie(PieConfig),
    /// PI2, coupled (RFC 9332).
    Pi2(Pi2Config),
    /// ABC's router (NSDI 2020).
    Abc(AbcConfig),
    /// DCTCP's threshold (RFC 8257).
    Step(StepConfig),
    /// Random early detection (1993).
    Red(RedConfig),
}

impl LawConfig {
    /// Whether a packet that comes with `ecn` may leave with a mark. What a law from outside does nobody knows: it may.
    pub fn may_mark(&self, ecn: Ecn) -> bool {
        let marks = match self {
            Self::None => false,
            Self::Codel(codel) => codel.ecn,
            Self::Pie(pie) => pie.ecn,
            Self::Red(red) => red.ecn,
            Self::Ramp(ramp) => ramp.target == RampTarget::Capable || ecn.is_scalable(),
            Self::Pi2(_) | Self::Abc(_) | Self::Step(_) | Self::Own(_) => true,
        };
        marks && ecn.is_capable()
    }
}

impl Law for AnyLaw {
    #[inline]
    fn on_enqueue(
        &mut self,
        now: Instant,
        delay: Duration,
        queue: &QueueView,
        packet: &PacketMeta,
    ) -> Verdict {
        each!(self, law => law.on_enqueue(now, delay, queue, packet))
    }

    #[inline]
    fn on_dequeue(
        &mut self,
        now: Instant,
        delay: Duration,
        queue: &QueueView,
        packet: &PacketMeta,
    ) -> Verdict {
        each!(self, law => law.on_dequeue(now, delay, queue, packet))
    }

    fn on_delivered(&mut self, now: Instant, delay: Duration, packet: &PacketMeta) -> Verdict {
        each!(self, law => law.on_delivered(now, delay, packet))
    }

    #[inline]
    fn on_empty(&mut self, now: Instant) {
        each!(self, law => law.on_empty(now));
    }

    fn wants_capacity(&self) -> bool {
        each!(self, law => law.wants_capacity())
    }

    fn on_capacity(&mut self, now: Instant, capacity: Bytes) {
        each!(self, law => law.on_capacity(now, capacity));
    }

    fn on_path(&mut self, target: Duration, interval: Duration) {
        each!(self, law => law.on_path(target, interval));
    }

    fn is_dropping(&self) -> bool {
        each!(self, law => law.is_dropping())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in LawConfig::NAMES {
            let law = LawConfig::from_name(name).expect("listed");
            assert_eq!(law.name(), *name);
            assert!(law.about().ends_with('.'), "{name}");
        }
        assert_eq!(LawConfig::from_name("stack"), None);
    }

    /// A ramp marks ECT(1) alone (RFC 9331) or every ECN-capable packet; nothing marks one that is not capable (RFC 3168, 5).
    #[test]
    fn a_ramp_marks_those_for_whom_it_is() {
        let ramp = |target| {
            LawConfig::Ramp(RampConfig {
                target,
                ..RampConfig::default()
            })
        };
        let marks = |law: &LawConfig| {
            [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce].map(|ecn| law.may_mark(ecn))
        };
        assert_eq!(marks(&ramp(RampTarget::Ect1)), [false, false, true, true]);
        assert_eq!(marks(&ramp(RampTarget::Capable)), [false, true, true, true]);
        assert_eq!(marks(&LawConfig::None), [false; 4]);
    }

    /// What a key shows it takes back, and the defaults are within the ranges that the keys state.
    #[test]
    fn every_key_can_be_read_and_set_within_its_range() {
        for name in LawConfig::NAMES {
            let law = LawConfig::from_name(name).expect("listed");
            for key in law.settings() {
                let mut again = law.clone();
                assert!(again.set(key.name, key.value), "{name}.{}", key.name);
                assert_eq!(again, law);
                let within = match (key.values, key.value) {
                    (Values::Time(low, high), Value::Time(v)) => low <= v && v <= high,
                    (Values::Rate(low, high), Value::Rate(v)) => low <= v && v <= high,
                    (Values::Data(low, high), Value::Data(v)) => low <= v && v <= high,
                    (Values::Number(low, high), Value::Number(v)) => low <= v && v <= high,
                    (Values::Flag, Value::Flag(_)) => true,
                    (Values::Words(words), Value::Word(v)) => words.contains(&v),
                    _ => false,
                };
                assert!(within, "{name}.{}: {:?}", key.name, key.value);
                assert!(!again.set(key.name, Value::Word("no such word")));
            }
            assert!(!law.clone().set("no such key", Value::Flag(true)));
        }
    }

    #[test]
    fn an_own_law_is_built_with_its_parameters() {
        let law = OwnLaw::new(
            "half",
            "drops every second packet",
            |_, parameters| match parameters {
                "" | "fair" => Ok(Box::new(NoLaw)),
                other => Err(format!("found {other:?}, expected \"fair\"")),
            },
        );
        assert!(law.with_parameters("fair").is_ok());
        assert_eq!(
            law.with_parameters("odd"),
            Err("found \"odd\", expected \"fair\"".to_owned())
        );
        let config = LawConfig::Own(law);
        assert_eq!(config.name(), "half");
        assert!(matches!(config.build(Draw::new(1)), AnyLaw::Own(_)));
    }
}
