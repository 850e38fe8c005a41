//! EXP/PF: proportional fair, with an exponential weight for classes whose packets must not wait (Rhee, Holtzman, Kim,
//! "Scheduling of real/non-real time services: adaptive EXP/PF algorithm", IEEE VTC 2003-Spring; as compared in Capozzi et
//! al., "Downlink packet scheduling in LTE cellular networks", IEEE Communications Surveys & Tutorials 15(2), 2013).
//!
//! With `a = -ln(error rate) / delay budget` of a UE's class, `W` its head-of-line delay and `m` the mean of `a W` over the
//! UEs of such classes, a UE's metric is its proportional fair one times `exp((a W - m) / (1 + sqrt(m)))`. The others keep
//! the proportional fair metric: the paper's adaptive weight for them needs a count of waiting packets of each class, and
//! is left out.

use slackwater_core::{Duration, Instant};

use super::{BitSet, Built, FiveQi, Scheduler, Setup, UeSample};

/// Classes with a budget below this carry conversation, control and live media; from it on buffered media and files
/// (TS 23.501, table 5.7.4-1, column "example services").
const REAL_TIME: Duration = Duration::from_millis(300);
/// The average rate of a UE that was never served, bit/s: it wins over any that was.
const NEVER: f64 = 1e-3;

/// EXP/PF over the samples of a slot.
pub(super) struct ExpPf {
    /// The metric of each UE, as of the slot under way.
    metric: Vec<f64>,
}

/// `a W`: the delay in units of what the class can bear; none for a class that can wait.
fn urgency(sample: &UeSample) -> Option<f64> {
    let class: FiveQi = sample.class;
    let budget = class.delay_budget();
    let waited = sample.head_of_line.filter(|_| budget < REAL_TIME)?;
    let strictness = -libm::log(class.error_rate());
    Some(strictness * waited.as_secs_f64() / budget.as_secs_f64())
}

impl Built for ExpPf {
    const NAME: &'static str = "exp-pf";
    const ABOUT: &'static str = "EXP/PF: proportional fair, exponentially in favour of classes (`five_qi`) whose \
                                 packets near their delay budget.";

    fn new(setup: &Setup) -> Self {
        Self {
            metric: vec![0.0; setup.ues],
        }
    }
}

impl Scheduler for ExpPf {
    fn wants_samples(&self) -> bool {
        true
    }

    fn on_samples(&mut self, _now: Instant, samples: &[UeSample]) {
        let (mut sum, mut count) = (0.0, 0.0);
        for urgency in samples.iter().filter_map(urgency) {
            sum += urgency;
            count += 1.0;
        }
        let mean = if count > 0.0 { sum / count } else { 0.0 };

        for sample in samples {
            let average = (sample.average.as_bps() as f64).max(NEVER);
            let fair = sample.instantaneous.as_bps() as f64 / average;
            let weight = urgency(sample).map_or(1.0, |urgency| {
                // Far beyond any budget the order is what counts, not the size.
                libm::exp(((urgency - mean) / (1.0 + libm::sqrt(mean))).min(500.0))
            });
            self.metric[sample.ue.index()] = fair * weight;
        }
    }

    fn pick(&mut self, candidates: &BitSet) -> usize {
        let first = candidates.next_from(0);
        let first = first.expect("the cell calls this only where a UE is backlogged");
        let greater = |best: usize, ue: usize| {
            if self.metric[ue] > self.metric[best] {
                ue
            } else {
                best
            }
        };
        candidates.iter().fold(first, greater)
    }

    fn served(&mut self, _slot: u64, _ue: usize, _bytes: u32) {}
}

#[cfg(test)]
mod tests {
    use slackwater_core::Rate;

    use super::*;

    fn sample(ue: usize, five_qi: u8, waited_ms: u64, rate: f64, average: f64) -> UeSample {
        UeSample {
            head_of_line: Some(Duration::from_millis(waited_ms)),
            class: FiveQi::new(five_qi).expect("standardized"),
            instantaneous: Rate::from_mbps(rate),
            average: Rate::from_mbps(average),
            ..UeSample::idle(ue)
        }
    }

    fn picked(samples: &[UeSample]) -> usize {
        let ms = Duration::from_millis(1);
        let mut scheduler = ExpPf::new(&Setup::new(samples.len(), ms, ms * 100));
        let mut set = BitSet::new(samples.len());
        for ue in 0..samples.len() {
            set.insert(ue);
        }
        scheduler.on_samples(Instant::ZERO, samples);
        scheduler.pick(&set)
    }

    #[test]
    fn without_urgent_classes_it_is_proportional_fair() {
        assert_eq!(
            picked(&[sample(0, 9, 900, 10.0, 5.0), sample(1, 9, 0, 30.0, 10.0)]),
            1
        );
        // Classes of buffered media (300 ms) do not grow urgent.
        assert_eq!(
            picked(&[sample(0, 6, 900, 10.0, 5.0), sample(1, 6, 0, 30.0, 10.0)]),
            1
        );
    }

    /// Voice (5QI 1: 100 ms, 1 %): `a` is 4.6 / 100 ms. Against a UE of the same class that has not waited, after 80 ms
    /// `a W` is 3.68, the mean 1.84, and the weights exp(+-1.84 / 2.357), 4.77 times apart.
    #[test]
    fn the_one_that_has_waited_wins_by_the_papers_weight() {
        let fresh = |advantage| sample(1, 1, 0, 10.0 * advantage, 10.0);
        let waits = sample(0, 1, 80, 10.0, 10.0);
        assert_eq!(picked(&[waits, fresh(4.7)]), 0);
        assert_eq!(picked(&[waits, fresh(4.85)]), 1);
    }
}
