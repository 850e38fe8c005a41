//! Marks at a rate, evenly spaced.

/// Turns chances into evenly spaced events.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Accumulator(f32);

impl Accumulator {
    pub(super) fn fires(&mut self, chance: f64) -> bool {
        self.0 += chance as f32;
        let due = self.0 >= 1.0;
        if due {
            self.0 -= 1.0;
        }
        due
    }
}
