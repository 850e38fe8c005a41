//! Tunnel numbers that are chosen here (TS 29.244, 5.5).

use std::ops::RangeInclusive;

use slackwater_core::{Draw, Teid};

/// Numbers in an order that nobody can guess: who sends to another session's tunnel must find it first.
#[derive(Debug)]
pub(super) struct Tunnels {
    range: RangeInclusive<u32>,
    draw: Draw,
    drawn: u64,
}

impl Tunnels {
    /// Draws before the range counts as full. With half of the range in use 64 fail once in 2^64 times.
    const TRIES: u32 = 64;

    pub(super) fn new(range: RangeInclusive<u32>, seed: u64) -> Self {
        Self {
            range,
            draw: Draw::new(seed),
            drawn: 0,
        }
    }

    /// A number that `taken` does not hold, and not 0 (TS 29.281, 5.1: for messages without a tunnel).
    pub(super) fn choose(&mut self, taken: impl Fn(Teid) -> bool) -> Option<Teid> {
        let (first, last) = (*self.range.start(), *self.range.end());
        let span = u64::from(last.checked_sub(first)?) + 1;
        let free = |teid: &Teid| teid.0 != 0 && !taken(*teid);
        for _ in 0..Self::TRIES {
            let at = self.draw.bits(self.drawn) % span;
            self.drawn += 1;
            let teid = Teid(first + at as u32);
            if free(&teid) {
                return Some(teid);
            }
        }
        // A small range may be nearly full: then one by one.
        let small = span <= 1 << 16;
        small.then(|| self.range.clone().map(Teid).find(free))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_of_a_small_range_is_given_once() {
        let mut tunnels = Tunnels::new(0..=9, 1);
        let mut given = Vec::new();
        while let Some(teid) = tunnels.choose(|t| given.contains(&t)) {
            given.push(teid);
        }
        given.sort_unstable();
        assert_eq!(given, (1..=9).map(Teid).collect::<Vec<_>>());
    }
}
