//! Decibels, and functions of them by table: the same bits on every host, and cheap.

use core::f64::consts::{LN_10, TAU};

/// Decibels of a power ratio.
pub fn to_db(ratio: f64) -> f64 {
    10.0 * libm::log10(ratio)
}

/// The power ratio of `db` decibels.
pub fn from_db(db: f64) -> f64 {
    libm::exp(db * (LN_10 / 10.0))
}

/// A function on an even grid, interpolated linearly and held constant outside.
#[derive(Clone, Debug)]
pub struct Grid {
    start: f64,
    per_unit: f64,
    last: f64,
    /// One entry more than the grid has steps, and one again so that the upper neighbour always exists.
    values: Box<[f64]>,
}

impl Grid {
    /// Tabulates `f` from `start` to `end` with `per_unit` steps per unit.
    pub fn new(start: f64, end: f64, per_unit: f64, f: impl Fn(f64) -> f64) -> Self {
        let steps = ((end - start) * per_unit + 0.5) as usize;
        let values = (0..=steps + 1)
            .map(|i| f(start + i.min(steps) as f64 / per_unit))
            .collect();
        Self {
            start,
            per_unit,
            last: steps as f64,
            values,
        }
    }

    /// The value at `x`.
    #[inline]
    pub fn at(&self, x: f64) -> f64 {
        // A NaN goes to the lower end: `max` returns its other operand.
        let u = ((x - self.start) * self.per_unit).max(0.0).min(self.last);
        // By way of i32: one instruction each way, where u64 takes several.
        let i = u as i32;
        let pair = &self.values[i as usize..][..2];
        pair[0] + (pair[1] - pair[0]) * (u - f64::from(i))
    }

    /// Where a falling function reaches `y`: the smallest grid argument with a value of at most `y`, less the
    /// interpolated part of its step.
    pub fn falls_to(&self, y: f64) -> f64 {
        let steps = self.last as usize;
        let i = self.values[..=steps].partition_point(|&v| v > y);
        if i == 0 {
            return self.start;
        }
        if i > steps {
            return self.start + self.last / self.per_unit;
        }
        let (high, low) = (self.values[i - 1], self.values[i]);
        self.start + (i as f64 - (y - low) / (high - low)) / self.per_unit
    }
}

/// Entries of the sine table per turn.
const SINE_STEPS: usize = 1024;

/// A turn of the cosine by table, for sums of sinusoids (error below 5e-6).
#[derive(Clone, Debug)]
pub struct Cosine {
    values: Box<[f64; SINE_STEPS + 1]>,
}

impl Default for Cosine {
    fn default() -> Self {
        Self::new()
    }
}

impl Cosine {
    /// The table.
    pub fn new() -> Self {
        let mut values = Box::new([0.0; SINE_STEPS + 1]);
        for (i, v) in values.iter_mut().enumerate() {
            *v = libm::cos(TAU * i as f64 / SINE_STEPS as f64);
        }
        Self { values }
    }

    /// The cosine of a phase in 2^-32 turns, which wraps by itself.
    #[inline]
    pub fn at(&self, phase: u32) -> f64 {
        const FRACTION_BITS: u32 = 32 - SINE_STEPS.trailing_zeros();
        let i = (phase >> FRACTION_BITS) as usize;
        let fraction =
            f64::from(phase & ((1 << FRACTION_BITS) - 1)) * (1.0 / (1u64 << FRACTION_BITS) as f64);
        let low = self.values[i];
        low + (self.values[i + 1] - low) * fraction
    }

    /// The sine of a phase in 2^-32 turns.
    #[inline]
    pub fn sine(&self, phase: u32) -> f64 {
        self.at(phase.wrapping_sub(1 << 30))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decibels_invert() {
        for db in [-30.0, -0.5, 0.0, 3.0, 46.0] {
            assert!((to_db(from_db(db)) - db).abs() < 1e-12);
        }
        assert!((from_db(30.0) - 1000.0).abs() < 1e-9);
    }

    #[test]
    fn a_grid_interpolates_and_holds_its_ends() {
        let g = Grid::new(-2.0, 3.0, 4.0, |x| x * x);
        assert_eq!(g.at(0.25), 0.0625);
        assert_eq!(g.at(0.375), f64::midpoint(0.0625, 0.25));
        assert_eq!((g.at(-9.0), g.at(9.0), g.at(3.0)), (4.0, 9.0, 9.0));
        assert_eq!(g.at(f64::NAN), 4.0);
    }

    #[test]
    fn the_inverse_of_a_falling_grid() {
        let g = Grid::new(0.0, 4.0, 8.0, |x| libm::exp(-x));
        for y in [0.9, 0.5, 0.1, 0.02] {
            let x = g.falls_to(y);
            assert!((g.at(x) - y).abs() < 1e-12, "{y}");
        }
        assert_eq!((g.falls_to(2.0), g.falls_to(0.0)), (0.0, 4.0));
    }

    #[test]
    fn the_cosine_is_one() {
        let c = Cosine::new();
        for k in 0..10_000u32 {
            let phase = k.wrapping_mul(2_654_435_761);
            let angle = TAU * f64::from(phase) / 4_294_967_296.0;
            assert!((c.at(phase) - libm::cos(angle)).abs() < 5e-6);
            assert!((c.sine(phase) - libm::sin(angle)).abs() < 5e-6);
        }
    }
}
