//! Rewards.

use core::str::FromStr;

/// What happened in one window of at least an RTT.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// Throughput at the receiver, Mbit/s of IP bytes.
    pub mbps: f64,
    /// What the bottleneck could have carried, this flow's share of it, Mbit/s.
    pub capacity_mbps: f64,
    /// Mean round-trip time, milliseconds.
    pub rtt_ms: f64,
    /// Mean delay beyond that of an empty path, milliseconds.
    pub queueing_ms: f64,
    /// Share of packets lost, 0 to 1.
    pub loss: f64,
}

/// A form of reward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reward {
    /// The poster's, as printed: throughput (Mbit/s) - latency (ms) - 1e8 loss (Tyrus, section 2, "Reward Function"). A
    /// study found that it is highest at 8 to 59 % utilisation: it does not give the poster's own results.
    Literal,
    /// The same with the weights 1, 0.1 and 100.
    Balanced,
    /// Throughput relative to the link's true capacity, less half the queueing delay in units of 100 ms, less ten times the
    /// loss: the form that worked in that study. The capacity is the simulator's, never what was observed.
    #[default]
    Normalised,
}

impl Reward {
    /// All.
    pub const ALL: [Self; 3] = [Self::Literal, Self::Balanced, Self::Normalised];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Literal => "literal",
            Self::Balanced => "balanced",
            Self::Normalised => "normalised",
        }
    }

    /// The reward for `w`.
    pub fn of(self, w: &Window) -> f64 {
        match self {
            Self::Literal => w.mbps - w.rtt_ms - 1e8 * w.loss,
            Self::Balanced => w.mbps - 0.1 * w.rtt_ms - 100.0 * w.loss,
            Self::Normalised => {
                let used = (w.mbps / w.capacity_mbps.max(0.5)).min(1.5);
                used - 0.5 * (w.queueing_ms / 100.0).min(3.0) - 10.0 * w.loss
            }
        }
    }
}

impl FromStr for Reward {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|r| r.name() == name);
        known.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("reward: found {name:?}, expected one of {names}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_reward_prefers_an_idle_link_and_ours_a_full_one() {
        let idle = Window {
            mbps: 1.0,
            capacity_mbps: 10.0,
            rtt_ms: 40.0,
            ..Window::default()
        };
        let full = Window {
            mbps: 9.5,
            rtt_ms: 60.0,
            queueing_ms: 20.0,
            ..idle
        };
        assert!(Reward::Literal.of(&idle) > Reward::Literal.of(&full));
        assert!(Reward::Normalised.of(&full) > Reward::Normalised.of(&idle));
        assert!((Reward::Normalised.of(&full) - 0.85).abs() < 1e-12);
        // One packet in 10^8 weighs as much as 1 Mbit/s.
        let lossy = Window { loss: 1e-8, ..idle };
        assert!((Reward::Literal.of(&idle) - Reward::Literal.of(&lossy) - 1.0).abs() < 1e-9);
        for r in Reward::ALL {
            assert_eq!(r.name().parse(), Ok(r));
        }
        assert!("best".parse::<Reward>().is_err());
    }
}
