//! A set of UEs as machine words.

/// A fixed-size set of small integers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitSet {
    words: Vec<u64>,
    len: u32,
}

impl BitSet {
    /// An empty set that can hold `0..n`.
    pub fn new(n: usize) -> Self {
        Self {
            words: vec![0; n.div_ceil(64)],
            len: 0,
        }
    }

    /// True where nothing is in the set.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Members.
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// True where `i` is a member.
    #[inline]
    pub fn contains(&self, i: usize) -> bool {
        self.words[i / 64] >> (i % 64) & 1 == 1
    }

    /// Adds `i`; no effect on a member.
    #[inline]
    pub fn insert(&mut self, i: usize) {
        let (word, bit) = (&mut self.words[i / 64], 1u64 << (i % 64));
        self.len += u32::from(*word & bit == 0);
        *word |= bit;
    }

    /// Removes `i`; no effect on a non-member.
    #[inline]
    pub fn remove(&mut self, i: usize) {
        let (word, bit) = (&mut self.words[i / 64], 1u64 << (i % 64));
        self.len -= u32::from(*word & bit != 0);
        *word &= !bit;
    }

    /// The first member at or after `from`.
    #[inline]
    pub fn next_from(&self, from: usize) -> Option<usize> {
        let mut index = from / 64;
        let mut word = self.words.get(index)? & (u64::MAX << (from % 64));
        loop {
            if word != 0 {
                return Some(index * 64 + word.trailing_zeros() as usize);
            }
            index += 1;
            word = *self.words.get(index)?;
        }
    }

    /// The members as words, the lowest bit of the first for 0.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The members in ascending order.
    #[inline]
    pub fn iter(&self) -> Iter<'_> {
        Iter {
            words: &self.words,
            index: 0,
            word: self.words.first().copied().unwrap_or(0),
        }
    }
}

impl<'a> IntoIterator for &'a BitSet {
    type Item = usize;
    type IntoIter = Iter<'a>;
    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Iterates over the members of a [`BitSet`].
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    words: &'a [u64],
    index: usize,
    word: u64,
}

impl Iterator for Iter<'_> {
    type Item = usize;
    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.word == 0 {
            self.index += 1;
            self.word = *self.words.get(self.index)?;
        }
        let bit = self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        Some(self.index * 64 + bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_in_order_and_are_counted_once() {
        let mut set = BitSet::new(130);
        for i in [129, 0, 64, 63, 64] {
            set.insert(i);
        }
        assert_eq!(set.len(), 4);
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 129]);
        assert_eq!(set.next_from(65), Some(129));
        assert_eq!(set.next_from(130), None);
        set.remove(64);
        set.remove(64);
        assert!(!set.contains(64) && set.contains(63));
        assert_eq!(set.len(), 3);
        assert!(BitSet::new(0).is_empty() && BitSet::new(0).iter().next().is_none());
    }
}
