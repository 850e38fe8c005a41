//! Packets of another sender in the order of their sequence numbers.
//!
//! A gap holds up what is behind it until a retransmission fills it, or for so long: what follows cannot be decoded before.

use std::collections::BTreeMap;

use slackwater_core::{Duration, Instant};

/// Packets that wait at most: as many as a NACK requests (`slackwater_transport::rtp::nack`). Then the gap is given up.
const WAITING: usize = 1000;

/// Packets that wait for those before them.
#[derive(Debug)]
pub(super) struct Order<P> {
    /// The number after the last packet that was given.
    next: Option<u64>,
    /// With the times of their arrivals.
    waiting: BTreeMap<u64, (Instant, P)>,
    patience: Duration,
}

impl<P> Order<P> {
    /// Nothing waits for longer than `patience`; with zero, packets are given as they come.
    pub(super) const fn new(patience: Duration) -> Self {
        Self {
            next: None,
            waiting: BTreeMap::new(),
            patience,
        }
    }

    /// A packet came. One whose place was passed over, or that is here, is dropped.
    pub(super) fn push(&mut self, now: Instant, number: u64, packet: P) {
        let next = *self.next.get_or_insert(number);
        if number >= next {
            self.waiting.entry(number).or_insert((now, packet));
        }
    }

    /// The next packet that can be given.
    pub(super) fn pop(&mut self, now: Instant) -> Option<P> {
        let entry = self.waiting.first_entry()?;
        let in_order = self.next.is_none_or(|next| *entry.key() == next);
        let since = entry.get().0;
        // The first behind a gap came first, or what came before it fills the gap.
        let given_up = now.since(since) >= self.patience || self.waiting.len() > WAITING;
        if !in_order && !given_up {
            return None;
        }
        let (number, (_, packet)) = self.waiting.pop_first()?;
        self.next = Some(number + 1);
        Some(packet)
    }

    /// When [`Order::pop`] gives up a gap.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        let (_, (since, _)) = self.waiting.first_key_value()?;
        Some(since.saturating_add(self.patience))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(150);

    fn all(order: &mut Order<u64>, now: Instant) -> Vec<u64> {
        core::iter::from_fn(|| order.pop(now)).collect()
    }

    #[test]
    fn a_gap_holds_up_what_is_behind_until_it_is_filled_or_given_up() {
        let at = Instant::from_millis;
        let mut order = Order::new(PATIENCE);
        for number in [5, 7, 8] {
            order.push(at(1), number, number);
        }
        assert_eq!(all(&mut order, at(1)), [5]);
        assert_eq!(order.next_timer(), Some(at(151)));
        order.push(at(40), 6, 6);
        assert_eq!(all(&mut order, at(40)), [6, 7, 8]);
        assert_eq!(order.next_timer(), None);
        // Nothing fills this one.
        order.push(at(50), 11, 11);
        assert!(all(&mut order, at(199)).is_empty());
        assert_eq!(all(&mut order, at(200)), [11]);
        order.push(at(201), 9, 9);
        assert!(all(&mut order, at(400)).is_empty(), "too late");
    }

    #[test]
    fn no_more_wait_than_are_requested() {
        let mut order = Order::new(PATIENCE);
        let now = Instant::from_millis(1);
        order.push(now, 0, 0);
        for number in 2..=2 + WAITING as u64 {
            order.push(now, number, number);
        }
        assert_eq!(all(&mut order, now).len(), 2 + WAITING);
    }

    proptest! {
        /// Whatever comes is given once at most, in order, and all of it in the end.
        #[test]
        fn packets_come_out_in_order(
            numbers in proptest::collection::vec(0_u64..60, 1..80),
            patience in 0_u64..40,
        ) {
            let mut order = Order::new(Duration::from_millis(patience));
            let mut out = Vec::new();
            for (ms, number) in (0..).zip(&numbers) {
                let now = Instant::from_millis(ms);
                order.push(now, *number, *number);
                out.extend(all(&mut order, now));
            }
            out.extend(all(&mut order, Instant::from_millis(1000)));
            prop_assert!(out.is_sorted_by(|a, b| a < b), "{:?}", out);
            prop_assert_eq!(order.next_timer(), None);
            prop_assert!(out.contains(&numbers[0]));
        }
    }
}
