//! What a policy may answer (Tyrus, section 2, "Action Space": `W_t = W_{t-1} (1 +- sigma)`).

/// The least factor of one action: the set's -100 % would be a window of nothing.
const LEAST_FACTOR: f64 = 0.02;

/// A decision.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Action {
    /// The window stays.
    #[default]
    Hold,
    /// The window is multiplied by the exponential of this.
    LogRatio(f64),
    /// The window is that of the rule, times the exponential of this.
    Residual(f64),
}

/// Readings of the poster's "sigma = 0.5%, 10%, ..., 100%".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ActionSet {
    /// 0.5, 10, 20, ..., 100 %, both signs, and no change: 23 actions.
    #[default]
    L0,
    /// The same without "no change": 22.
    L,
    /// 5, 10, ..., 100 %, both signs ("0.5%" a misprint): 40.
    F,
    /// Symmetric in the logarithm: exp(+-{.01, .05, .1, .2, .4, .69}) and no change, 13.
    Sym,
}

/// Most actions of a set.
pub const MAX_ACTIONS: usize = 40;

impl ActionSet {
    /// The set called `name`.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "L0" => Self::L0,
            "L" => Self::L,
            "F" => Self::F,
            "sym" => Self::Sym,
            _ => return None,
        })
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::L0 => "L0",
            Self::L => "L",
            Self::F => "F",
            Self::Sym => "sym",
        }
    }

    /// Logarithms of the factors, ascending. Where the factor is zero (-100 %) it is taken as 2 %.
    pub fn log_ratios(self) -> Vec<f64> {
        let ln = |percent: f64| libm::log((1.0 + percent / 100.0).max(LEAST_FACTOR));
        let tens = (1..=10).map(|k| f64::from(k) * 10.0);
        let literal = || core::iter::once(0.5).chain(tens.clone());
        let both = |up: Vec<f64>, zero: bool| {
            let down = up.iter().rev().map(|p| -p);
            let middle = zero.then_some(0.0);
            let all: Vec<f64> = down.chain(middle).chain(up.iter().copied()).collect();
            all
        };
        match self {
            Self::L0 => both(literal().collect(), true)
                .into_iter()
                .map(ln)
                .collect(),
            Self::L => both(literal().collect(), false)
                .into_iter()
                .map(ln)
                .collect(),
            Self::F => {
                let fives = (1..=20).map(|k| f64::from(k) * 5.0).collect();
                both(fives, false).into_iter().map(ln).collect()
            }
            Self::Sym => both(vec![0.01, 0.05, 0.1, 0.2, 0.4, 0.69], true),
        }
    }
}

/// How an action is taken from a network's outputs. A policy is trained, selected and shipped in one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The action of the greatest output.
    #[default]
    Greedy,
    /// Drawn by the outputs' softmax.
    Sample {
        /// Seed of the draws.
        seed: u64,
    },
    /// The mean of the logarithms of the factors under the softmax.
    Mean,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sets_have_the_sizes_that_their_readings_give() {
        for (set, n) in [
            (ActionSet::L0, 23),
            (ActionSet::L, 22),
            (ActionSet::F, 40),
            (ActionSet::Sym, 13),
        ] {
            let all = set.log_ratios();
            assert_eq!(all.len(), n, "{set:?}");
            assert!(n <= MAX_ACTIONS && all.windows(2).all(|w| w[0] < w[1]));
            assert_eq!(ActionSet::parse(set.name()), Some(set));
            // +100 % doubles, but for the symmetric set.
            let most = all[n - 1];
            assert!((most - core::f64::consts::LN_2).abs() < 4e-3, "{most}");
        }
        let l0 = ActionSet::L0.log_ratios();
        assert_eq!(l0[11], 0.0);
        assert!((libm::exp(l0[12]) - 1.005).abs() < 1e-12);
        assert!((libm::exp(l0[10]) - 0.995).abs() < 1e-12);
    }
}
