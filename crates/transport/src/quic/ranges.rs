//! Sets of numbers as ranges: which packets arrived, which bytes are there.

/// Disjoint ranges `[start, end)`, ascending, that do not touch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Adds `[start, end)`; returns how many numbers of it are new.
    #[inline]
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> u64 {
        match self.0.last_mut() {
            Some(last) if last.1 == start => {
                last.1 = end;
                end - start
            }
            Some(last) if start <= last.1 => self.insert_below(start, end),
            _ => {
                self.0.push((start, end));
                end - start
            }
        }
    }

    fn insert_below(&mut self, start: u64, end: u64) -> u64 {
        let first = self.0.partition_point(|r| r.1 < start);
        let after = self.0.partition_point(|r| r.0 <= end);
        if first == after {
            self.0.insert(first, (start, end));
            return end - start;
        }
        let known: u64 = self.0[first..after]
            .iter()
            .map(|r| r.1.min(end) - r.0.max(start).min(r.1.min(end)))
            .sum();
        let joined = (self.0[first].0.min(start), self.0[after - 1].1.max(end));
        self.0[first] = joined;
        self.0.drain(first + 1..after);
        end - start - known
    }

    /// The newest `n` ranges, newest first.
    #[inline]
    pub(crate) fn newest(&self, n: usize) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().rev().take(n).copied()
    }

    /// One past the largest number; zero where there is none.
    #[inline]
    pub(crate) fn end(&self) -> u64 {
        self.0.last().map_or(0, |r| r.1)
    }

    /// The least number that may still be told from one seen before; zero where there is none.
    #[inline]
    pub(crate) fn floor(&self) -> u64 {
        self.0.first().map_or(0, |r| r.0)
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn contains(&self, n: u64) -> bool {
        let at = self.0.partition_point(|r| r.1 <= n);
        self.0.get(at).is_some_and(|r| r.0 <= n)
    }

    /// Forgets the oldest range.
    pub(crate) fn forget_oldest(&mut self) {
        self.0.remove(0);
    }

    /// Takes out the range that starts at or below `at`; returns its end.
    pub(crate) fn take_from(&mut self, at: u64) -> Option<u64> {
        let &(start, end) = self.0.first()?;
        if start > at {
            return None;
        }
        self.0.remove(0);
        Some(end)
    }
}

/// A prefix of a stream and islands beyond it: what arrived, or what is acknowledged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stream {
    next: u64,
    islands: Ranges,
}

impl Stream {
    /// Bytes `[start, end)` are there; returns how many of them were not before.
    #[inline]
    pub(crate) fn take(&mut self, start: u64, end: u64) -> u64 {
        if start == self.next && self.islands.is_empty() {
            self.next = end;
            return end - start;
        }
        self.take_apart(start, end)
    }

    fn take_apart(&mut self, start: u64, end: u64) -> u64 {
        let start = start.max(self.next);
        if start >= end {
            return 0;
        }
        let new = self.islands.insert(start, end);
        while let Some(end) = self.islands.take_from(self.next) {
            self.next = self.next.max(end);
        }
        new
    }

    /// The first byte that is missing.
    #[inline]
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// All of `[start, end)` is there.
    #[inline]
    pub(crate) fn has(&self, start: u64, end: u64) -> bool {
        end <= self.next
            || self
                .islands
                .0
                .iter()
                .any(|r| r.0 <= start.max(self.next) && end <= r.1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_are_the_set_that_they_stand_for(
            pieces in prop::collection::vec((0..200u64, 1..20u64), 1..60)
        ) {
            let (mut ranges, mut stream) = (Ranges::default(), Stream::default());
            let mut set = BTreeSet::new();
            for (start, len) in pieces {
                let before = set.len();
                set.extend(start..start + len);
                let new = (set.len() - before) as u64;
                prop_assert_eq!(ranges.insert(start, start + len), new);
                prop_assert_eq!(stream.take(start, start + len), new);
                prop_assert!(ranges.0.windows(2).all(|w| w[0].1 < w[1].0));
                let missing = (0..240).find(|n| !set.contains(n)).unwrap();
                prop_assert_eq!(stream.next(), missing);
                prop_assert!(stream.has(start, start + len));
            }
            for n in 0..240 {
                prop_assert_eq!(ranges.contains(n), set.contains(&n));
            }
        }
    }
}
