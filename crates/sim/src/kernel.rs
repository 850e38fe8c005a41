//! The event kernel: who acts next.
//!
//! Each component has one timer. An indexed 4-ary heap over the armed components finds the earliest; ties go to the
//! lower component number, so the order of events is a function of the model alone. Up to 16 components a scan
//! of plain keys, time and number in one word, is faster and gives the same order.

use core::hint::select_unpredictable;

use slackwater_core::Instant;

/// Up to this many components the kernel scans.
const SMALL: usize = 16;
/// Bits of a key that hold the component; 60 are left for nanoseconds, 36 years.
const NUMBER_BITS: u32 = SMALL.ilog2();
/// The key of what is not armed.
const NEVER: u64 = u64::MAX;
const ARITY: usize = 4;
const ABSENT: u32 = u32::MAX;

/// A priority queue of component timers.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    /// The small form: time and number of each component in one word, or [`NEVER`].
    keys: [u64; SMALL],
    /// Fours of `keys` in use; zero in the large form.
    fours: usize,
    /// The large form: timer of each component; `Instant::MAX` where unarmed.
    when: Vec<Instant>,
    /// Armed components in heap order, each behind its time: `time << 32 | component`.
    heap: Vec<u128>,
    /// Position of each component in `heap`, or [`ABSENT`].
    place: Vec<u32>,
}

impl Kernel {
    /// A kernel for `n` components, none armed.
    pub fn new(n: usize) -> Self {
        let large = if n > SMALL { n } else { 0 };
        Self {
            keys: [NEVER; SMALL],
            fours: if n > SMALL { 0 } else { n.div_ceil(4) },
            when: vec![Instant::MAX; large],
            heap: Vec::with_capacity(large),
            place: vec![ABSENT; large],
        }
    }

    /// Sets, moves or clears the timer of `component`.
    #[inline]
    pub fn arm(&mut self, component: usize, at: Option<Instant>) {
        let at = at.unwrap_or(Instant::MAX);
        if self.fours > 0 {
            // A time beyond 36 years is none.
            let ns = at.as_nanos();
            let key = ns << NUMBER_BITS | component as u64;
            let fits = ns < NEVER >> NUMBER_BITS;
            self.keys[component] = select_unpredictable(fits, key, NEVER);
            return;
        }
        let old = core::mem::replace(&mut self.when[component], at);
        if old != at {
            self.update(component, old);
        }
    }

    /// True where `component` is armed for `at` or earlier.
    #[inline]
    pub fn is_due_by(&self, component: usize, at: Instant) -> bool {
        if self.fours > 0 {
            self.keys[component] >> NUMBER_BITS <= at.as_nanos()
        } else {
            self.when[component] <= at
        }
    }

    /// The earliest armed component and its time.
    #[inline]
    pub fn peek(&self) -> Option<(Instant, usize)> {
        if self.fours > 0 {
            // Which one is next is as good as random: a branch on it costs more than the comparison.
            let least = |a: u64, b: u64| select_unpredictable(a < b, a, b);
            let (fours, _) = self.keys.as_chunks::<4>();
            let best = fours[..self.fours].iter().fold(NEVER, |best, k| {
                least(best, least(least(k[0], k[1]), least(k[2], k[3])))
            });
            let component = (best % SMALL as u64) as usize;
            return (best != NEVER).then(|| (Instant::from_nanos(best >> NUMBER_BITS), component));
        }
        self.heap
            .first()
            .map(|&key| (Instant::from_nanos((key >> 32) as u64), Self::number(key)))
    }

    /// True where no component acts before `component`, which is armed for `at`.
    #[inline]
    pub fn is_first(&self, component: usize, at: Instant) -> bool {
        if self.fours > 0 {
            // Later components act before it only if they are armed for an earlier time, and no time has passed.
            let own = at.as_nanos() << NUMBER_BITS | component as u64;
            debug_assert_eq!(self.keys[component], own, "it is armed for {at}");
            self.keys[..component].iter().all(|&key| key > own)
        } else {
            self.peek() == Some((at, component))
        }
    }

    #[inline]
    const fn number(key: u128) -> usize {
        key as u32 as usize
    }

    fn update(&mut self, component: usize, old: Instant) {
        let at = self.when[component];
        let key = u128::from(at.as_nanos()) << 32 | component as u128;
        let place = self.place[component];
        if place == ABSENT {
            self.heap.push(key);
            self.up(self.heap.len() - 1, key);
        } else if at == Instant::MAX {
            let last = self.heap.pop().expect("an armed component is in the heap");
            self.place[component] = ABSENT;
            if Self::number(last) != component {
                // It goes into the hole, from where it may have to rise as well as to sink.
                let hole = place as usize;
                if hole > 0 && last < self.heap[(hole - 1) / ARITY] {
                    self.up(hole, last);
                } else {
                    self.down(hole, last);
                }
            }
        } else if at < old {
            self.up(place as usize, key);
        } else {
            self.down(place as usize, key);
        }
    }

    #[inline]
    fn put(&mut self, slot: usize, key: u128) {
        self.heap[slot] = key;
        self.place[Self::number(key)] = slot as u32;
    }

    /// Puts `key` into `slot` or above.
    fn up(&mut self, mut slot: usize, key: u128) {
        while slot > 0 {
            let parent = (slot - 1) / ARITY;
            let above = self.heap[parent];
            if above <= key {
                break;
            }
            self.put(slot, above);
            slot = parent;
        }
        self.put(slot, key);
    }

    /// Puts `key` into `slot` or below.
    fn down(&mut self, mut slot: usize, key: u128) {
        loop {
            let first = slot * ARITY + 1;
            let mut least = (key, slot);
            if let Some(children) = self.heap.get(first..first + ARITY) {
                // A branch on which child is the least costs more than the comparison.
                let less = |a: (u128, usize), b: (u128, usize)| {
                    (
                        select_unpredictable(b.0 < a.0, b.0, a.0),
                        select_unpredictable(b.0 < a.0, b.1, a.1),
                    )
                };
                let left = less((children[0], first), (children[1], first + 1));
                let right = less((children[2], first + 2), (children[3], first + 3));
                least = less(least, less(left, right));
            } else {
                for (child, &k) in self.heap.iter().enumerate().skip(first) {
                    if k < least.0 {
                        least = (k, child);
                    }
                }
            }
            if least.1 == slot {
                break;
            }
            self.put(slot, least.0);
            slot = least.1;
        }
        self.put(slot, key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackwater_core::Draw;

    /// The heap, the scan and a sorted list agree on every step of a random sequence of arms and pops.
    #[test]
    fn heap_and_scan_follow_a_sorted_list() {
        for (seed, n) in [(1, 5), (2, 16), (3, 17), (4, 200)] {
            let draw = Draw::new(seed);
            let mut kernel = Kernel::new(n);
            let mut model = vec![Instant::MAX; n];
            for k in 0..20_000u64 {
                let c = (draw.bits(2 * k) % n as u64) as usize;
                let r = draw.bits(2 * k + 1);
                let at = if r.is_multiple_of(5) {
                    None
                } else {
                    Some(Instant::from_nanos(r % 1_000))
                };
                kernel.arm(c, at);
                model[c] = at.unwrap_or(Instant::MAX);
                let expect = model
                    .iter()
                    .copied()
                    .zip(0..)
                    .min()
                    .filter(|e| e.0 != Instant::MAX);
                assert_eq!(kernel.peek(), expect);
            }
        }
    }

    #[test]
    fn ties_go_to_the_lower_component() {
        let mut kernel = Kernel::new(40);
        for c in (0..40).rev() {
            kernel.arm(c, Some(Instant::from_millis(1)));
        }
        for c in 0..40 {
            assert_eq!(kernel.peek(), Some((Instant::from_millis(1), c)));
            kernel.arm(c, None);
        }
        assert_eq!(kernel.peek(), None);
    }
}
