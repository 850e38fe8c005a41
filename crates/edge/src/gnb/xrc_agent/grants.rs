//! A UE's grants of new data, as far back as a report may ask.

/// New data granted up to a slot, from the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Granted {
    /// Bytes of new transport blocks.
    pub(super) bytes: u64,
    /// Their number.
    pub(super) blocks: u64,
}

/// A place between two grants: the number of those before it, since the start.
pub(super) type Cursor = u64;

/// A slot with grants, and the sum up to and including it.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    slot: u64,
    sum: Granted,
}

/// Slots with grants, the latest in a ring by their number. The ring grows to the slots that are kept and then stays.
#[derive(Clone, Debug, Default)]
pub(super) struct Grants {
    /// Empty or a power of two.
    ring: Vec<Entry>,
    /// The numbers of the first that is kept and of the next to come.
    first: Cursor,
    next: Cursor,
    /// The sum before the first.
    before: Granted,
}

impl Grants {
    #[inline]
    fn entry(&self, number: u64) -> &Entry {
        &self.ring[number as usize & (self.ring.len() - 1)]
    }

    /// Slots that are kept.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        (self.next - self.first) as usize
    }

    /// A block of new data in `slot`, which no earlier call lies behind. What is older than `depth` slots goes, but for
    /// one entry, where a whole turn may begin.
    #[inline]
    pub(super) fn push(&mut self, slot: u64, bytes: u64, depth: u64) {
        let mut sum = self.sum_before(self.next);
        sum.bytes += bytes;
        sum.blocks += 1;
        let mask = self.ring.len().wrapping_sub(1);
        if self.next > self.first {
            let last = &mut self.ring[(self.next - 1) as usize & mask];
            if last.slot == slot {
                last.sum = sum;
                return;
            }
            while self.first + 1 < self.next && self.entry(self.first + 1).slot + depth < slot {
                self.before = self.entry(self.first).sum;
                self.first += 1;
            }
        }
        if (self.next - self.first) as usize == self.ring.len() {
            self.grow();
        }
        let mask = self.ring.len() - 1;
        self.ring[self.next as usize & mask] = Entry { slot, sum };
        self.next += 1;
    }

    #[cold]
    fn grow(&mut self) {
        let mut wider = vec![Entry::default(); (self.ring.len() * 2).max(16)];
        let mask = wider.len() - 1;
        for number in self.first..self.next {
            wider[number as usize & mask] = *self.entry(number);
        }
        self.ring = wider;
    }

    /// The place before the first grant that does not lie before `slot`. It is looked for from where `cursor` is: time
    /// goes on, so that it is mostly there or a step further.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called three times for each estimate; a call costs as much again"
    )]
    pub(super) fn seek(&self, cursor: &mut Cursor, slot: u64) -> Cursor {
        if self.next == self.first || self.entry(self.next - 1).slot < slot {
            *cursor = self.next;
            return self.next;
        }
        let mut at = (*cursor).clamp(self.first, self.next);
        while at < self.next && self.entry(at).slot < slot {
            at += 1;
        }
        while at > self.first && self.entry(at - 1).slot >= slot {
            at -= 1;
        }
        *cursor = at;
        at
    }

    /// The slot of the last grant before `at`, if it is kept.
    #[inline]
    pub(super) fn slot_before(&self, at: Cursor) -> Option<u64> {
        (at > self.first).then(|| self.entry(at - 1).slot)
    }

    #[inline]
    fn sum_before(&self, at: Cursor) -> Granted {
        if at > self.first {
            self.entry(at - 1).sum
        } else {
            self.before
        }
    }

    /// What was granted from `begin` to `end`.
    #[inline]
    pub(super) fn between(&self, begin: Cursor, end: Cursor) -> Granted {
        let (a, b) = (self.sum_before(begin), self.sum_before(end));
        Granted {
            bytes: b.bytes - a.bytes,
            blocks: b.blocks - a.blocks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_a_plain_list() {
        let draw = slackwater_core::Draw::new(5);
        let mut grants = Grants::default();
        let mut list: Vec<(u64, u64)> = Vec::new();
        let (mut slot, mut begin, mut end) = (0, 0, 0);
        for n in 0..20_000 {
            let bits = draw.bits(n);
            slot += [0, 1, 1, 2, 60][bits as usize % 5];
            grants.push(slot, bits >> 40 & 0xffff, 64);
            list.push((slot, bits >> 40 & 0xffff));
            // Mostly the latest window, now and then an older one.
            let to = slot + 1 - (bits >> 8 & 3).min(slot);
            let from = to.saturating_sub([40, 40, 40, 55][bits as usize >> 16 & 3]);
            let (a, b) = (grants.seek(&mut begin, from), grants.seek(&mut end, to));
            let within = || {
                list.iter()
                    .rev()
                    .take(400)
                    .filter(|g| (from..to).contains(&g.0))
            };
            let expected = Granted {
                bytes: within().map(|g| g.1).sum(),
                blocks: within().count() as u64,
            };
            assert_eq!(grants.between(a, b), expected, "{n}");
            let last = list.iter().rev().map(|g| g.0).find(|&s| s < to);
            assert_eq!(
                grants.slot_before(b),
                last.filter(|_| b > grants.first),
                "{n}"
            );
        }
        assert!(grants.len() <= 66 && grants.ring.len() <= 128);
    }
}
