//! Averages over time: samples weigh by the time that they cover.

/// Decay factors of a bank of time constants for one step; steps mostly repeat, so the last one is kept.
#[derive(Clone, Copy, Debug)]
struct Keep<const N: usize> {
    step: f64,
    keep: [f64; N],
}

/// Exponentially weighted means of one signal under `N` time constants. They start without bias: the first sample is the
/// mean, whatever time it covers.
#[derive(Clone, Copy, Debug)]
pub struct Ewmas<const N: usize> {
    /// Inverse time constants, 1/s.
    rates: [f64; N],
    sum: [f64; N],
    weight: [f64; N],
    cached: Keep<N>,
}

impl<const N: usize> Ewmas<N> {
    /// Means with these time constants in seconds.
    pub fn new(taus: [f64; N]) -> Self {
        Self {
            rates: taus.map(|tau| 1.0 / tau),
            sum: [0.0; N],
            weight: [0.0; N],
            cached: Keep {
                step: 0.0,
                keep: [1.0; N],
            },
        }
    }

    /// The signal had `value` for `seconds`: `a = 1 - exp(-dt/tau)`.
    #[inline]
    pub fn push(&mut self, value: f64, seconds: f64) {
        if seconds != self.cached.step {
            self.cached.step = seconds;
            for (keep, rate) in self.cached.keep.iter_mut().zip(&self.rates) {
                *keep = libm::exp(-seconds * rate);
            }
        }
        for i in 0..N {
            let keep = self.cached.keep[i];
            self.sum[i] = self.sum[i] * keep + value * (1.0 - keep);
            self.weight[i] = self.weight[i] * keep + (1.0 - keep);
        }
    }

    /// The mean under time constant `i`; zero before the first sample.
    #[inline]
    pub fn get(&self, i: usize) -> f64 {
        if self.weight[i] > 0.0 {
            self.sum[i] / self.weight[i]
        } else {
            0.0
        }
    }

    /// True before the first sample.
    pub fn is_empty(&self) -> bool {
        self.weight[0] == 0.0
    }

    /// Multiplies all means.
    pub fn scale(&mut self, factor: f64) {
        for sum in &mut self.sum {
            *sum *= factor;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_is_the_mean_and_time_weighs() {
        let mut e = Ewmas::new([0.05, 0.1]);
        assert!(e.is_empty());
        e.push(8.0, 0.001);
        assert!((e.get(0) - 8.0).abs() < 1e-12 && (e.get(1) - 8.0).abs() < 1e-12);
        // One sample over 20 ms and twenty over 1 ms are the same.
        let (mut one, mut many) = (e, e);
        one.push(2.0, 0.020);
        for _ in 0..20 {
            many.push(2.0, 0.001);
        }
        for i in 0..2 {
            assert!((one.get(i) - many.get(i)).abs() < 1e-9);
        }
        // Long after, only the new value is left.
        one.push(2.0, 10.0);
        assert!((one.get(1) - 2.0).abs() < 1e-9);
    }
}
