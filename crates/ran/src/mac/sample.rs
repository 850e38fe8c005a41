//! What a cell shows a scheduler of a UE, where the scheduler wants it.

use slackwater_core::{Bytes, Duration, Rate, UeId};

use super::{FiveQi, Setup};

/// A UE that wants a block of new data, as a slot begins.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct UeSample {
    /// The UE.
    pub ue: UeId,
    /// How long the oldest byte has waited in the queue that a grant would serve first. None in the uplink, where the queue
    /// is the UE's and a buffer status report has no times.
    pub head_of_line: Option<Duration>,
    /// Bytes that all its queues need, headers included; in the uplink by its latest buffer status.
    pub backlog: Bytes,
    /// The class of the bearer that a grant would serve first; in the uplink, of the bearer of highest priority.
    pub class: FiveQi,
    /// The guaranteed rate of that bearer, where it has one.
    pub guaranteed: Option<Rate>,
    /// The rate of a UE that would get every block at its present MCS.
    pub instantaneous: Rate,
    /// The mean rate of what it was given, with the time constant of [`Setup::window`].
    pub average: Rate,
}

impl UeSample {
    /// A UE about which nothing is known.
    #[cfg(test)]
    pub(crate) fn idle(ue: usize) -> Self {
        Self {
            ue: UeId(ue as u32),
            head_of_line: None,
            backlog: Bytes::ZERO,
            class: FiveQi::DEFAULT,
            guaranteed: None,
            instantaneous: Rate::ZERO,
            average: Rate::ZERO,
        }
    }
}

/// The mean of what a UE was given, in bytes a slot, as of a slot.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    bytes: f64,
    slot: u64,
}

/// Gathers the samples of one direction.
pub(crate) struct Sampler {
    /// What is left of a mean after one slot without a grant.
    decay: f64,
    /// Length of a slot in seconds.
    slot_secs: f64,
    means: Vec<Mean>,
    /// Those of the slot under way.
    pub(crate) samples: Vec<UeSample>,
}

impl Sampler {
    pub(crate) fn new(setup: &Setup) -> Self {
        let slots = setup.window.as_nanos() as f64 / setup.slot.as_nanos().max(1) as f64;
        Self {
            decay: 1.0 - 1.0 / slots.max(1.0),
            slot_secs: setup.slot.as_secs_f64(),
            means: vec![Mean::default(); setup.ues],
            samples: Vec::new(),
        }
    }

    /// Brings the mean of `ue` to `slot`: slots without a grant count too, also where the cell slept through them.
    fn mean(&mut self, slot: u64, ue: usize) -> &mut Mean {
        let mean = &mut self.means[ue];
        let passed = slot.saturating_sub(mean.slot);
        if passed > 0 {
            mean.bytes *= libm::pow(self.decay, passed as f64);
            mean.slot = slot;
        }
        mean
    }

    /// `ue` was given `bytes` in `slot`.
    pub(crate) fn served(&mut self, slot: u64, ue: usize, bytes: u32) {
        let weight = 1.0 - self.decay;
        self.mean(slot, ue).bytes += weight * f64::from(bytes);
    }

    /// The mean rate of `ue` at the beginning of `slot`.
    pub(crate) fn average(&mut self, slot: u64, ue: usize) -> Rate {
        let bytes = self.mean(slot, ue).bytes;
        self.rate(bytes)
    }

    /// The rate of `bytes` in each slot.
    pub(crate) fn rate(&self, bytes: f64) -> Rate {
        Rate::from_bps((bytes * 8.0 / self.slot_secs) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_forgets_with_the_window_asleep_or_awake() {
        let ms = Duration::from_millis(1);
        let setup = Setup::new(2, ms, ms * 100);
        let (mut awake, mut asleep) = (Sampler::new(&setup), Sampler::new(&setup));
        for slot in 0..2_000 {
            awake.served(slot, 0, 1500);
            asleep.served(slot, 0, 1500);
        }
        // 1,500 bytes a millisecond are 12 Mbit/s.
        let full = awake.average(2_000, 0);
        assert!((full.as_mbps() - 12.0).abs() < 0.2, "{full}");

        for slot in 2_000..2_100 {
            awake.average(slot, 0);
        }
        let (a, b) = (awake.average(2_100, 0), asleep.average(2_100, 0));
        assert!((a.as_mbps() - b.as_mbps()).abs() < 1e-3, "{a} {b}");
        // (1 - 1/100)^100 is 0.366.
        assert!((b.as_mbps() / 12.0 - 0.366).abs() < 0.01, "{b}");
        assert_eq!(awake.average(2_100, 1), Rate::ZERO);
    }
}
