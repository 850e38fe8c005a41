//! Randomness as a function of a seed.
//!
//! A [`Draw`] is keyed: the same seed, purpose and indices give the same number whatever else was drawn before, so
//! skipping or reordering work cannot change another component's luck. Where a sequence is wanted, [`Draw::stream`]
//! seeds a Xoshiro256++ generator of its own.

pub use rand_core::Rng;
use rand_core::SeedableRng;

/// A generator with state, for components that consume a sequence.
pub type Stream = rand_xoshiro::Xoshiro256PlusPlus;

/// A source of keyed random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw(u64);

/// The finaliser of `SplitMix64` (Steele, Lea, Flood 2014): a bijection with full avalanche.
#[inline]
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Draw {
    /// The root of all draws of one run.
    pub const fn new(seed: u64) -> Self {
        Self(mix(seed.wrapping_add(GOLDEN)))
    }

    /// A source of its own for `purpose` (a constant of the component) and `index` (which of its instances).
    #[inline]
    #[must_use]
    pub const fn fork(self, purpose: u64, index: u64) -> Self {
        Self(mix(
            mix(self.0 ^ purpose.wrapping_mul(GOLDEN)).wrapping_add(index.wrapping_mul(GOLDEN))
        ))
    }

    /// 64 uniform bits for `key`.
    #[inline]
    pub const fn bits(self, key: u64) -> u64 {
        mix(self.0.wrapping_add(key.wrapping_mul(GOLDEN)))
    }

    /// A uniform number in [0, 1) for `key`.
    #[inline]
    pub const fn uniform(self, key: u64) -> f64 {
        (self.bits(key) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A standard normal number for `key` (Box-Muller on two keyed uniforms, with `libm` so that hosts agree).
    pub fn normal(self, key: u64) -> f64 {
        let u1 = 1.0 - self.uniform(key);
        let u2 = Self(self.0 ^ GOLDEN).uniform(key);
        libm::sqrt(-2.0 * libm::log(u1)) * libm::cos(core::f64::consts::TAU * u2)
    }

    /// A generator with state, seeded for `key`.
    pub fn stream(self, key: u64) -> Stream {
        Stream::seed_from_u64(self.bits(key))
    }
}

/// A uniform number in [0, 1) from a stream.
#[inline]
pub fn uniform(stream: &mut Stream) -> f64 {
    (stream.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// A standard normal number from a stream (Box-Muller; one of the pair is used).
pub fn normal(stream: &mut Stream) -> f64 {
    let u1 = 1.0 - uniform(stream);
    let u2 = uniform(stream);
    libm::sqrt(-2.0 * libm::log(u1)) * libm::cos(core::f64::consts::TAU * u2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_depend_on_key_alone() {
        let d = Draw::new(1).fork(3, 4);
        assert_eq!(d.bits(9), Draw::new(1).fork(3, 4).bits(9));
        assert_ne!(d.bits(9), d.bits(10));
        assert_ne!(d.bits(9), Draw::new(2).fork(3, 4).bits(9));
        assert_ne!(d.bits(9), Draw::new(1).fork(4, 3).bits(9));
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let d = Draw::new(42);
        let n = 100_000;
        let mean_u: f64 = (0..n).map(|k| d.uniform(k)).sum::<f64>() / n as f64;
        let (m, v) = (0..n)
            .map(|k| d.normal(k))
            .fold((0.0, 0.0), |(m, v), x| (m + x, v + x * x));
        assert!((mean_u - 0.5).abs() < 0.005, "{mean_u}");
        assert!((m / n as f64).abs() < 0.015 && (v / n as f64 - 1.0).abs() < 0.02);
    }
}
