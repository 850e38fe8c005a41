//! Values of one scenario, one after the other.

use slackwater_core::Draw;

/// The values of a scenario.
pub(super) struct Dice {
    draw: Draw,
    /// How many were drawn.
    drawn: u64,
}

impl Dice {
    /// Those of scenario `number`.
    pub(super) fn new(number: u64) -> Self {
        Self {
            draw: Draw::new(number),
            drawn: 0,
        }
    }

    fn uniform(&mut self) -> f64 {
        self.drawn += 1;
        self.draw.uniform(self.drawn)
    }

    /// One of `all`; what stands there twice comes twice as often.
    pub(super) fn one<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.uniform() * all.len() as f64) as usize]
    }

    /// Between `low` and `high`: each factor is as likely as any other.
    pub(super) fn factor(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.uniform())
    }
}
