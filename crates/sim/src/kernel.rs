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
    /// Armed components in heap order.
    heap: Vec<u32>,
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
            .map(|&c| (self.when[c as usize], c as usize))
    }

    fn update(&mut self, component: usize, old: Instant) {
        let at = self.when[component];
        let place = self.place[component];
        if place == ABSENT {
            self.place[component] = self.heap.len() as u32;
            self.heap.push(component as u32);
            self.up(self.heap.len() - 1);
        } else if at == Instant::MAX {
            let last = self.heap.pop().expect("an armed component is in the heap");
            self.place[component] = ABSENT;
            if last as usize != component {
                let hole = place as usize;
                self.heap[hole] = last;
                self.place[last as usize] = place;
                self.down(hole);
                self.up(self.place[last as usize] as usize);
            }
        } else if at < old {
            self.up(place as usize);
        } else {
            self.down(place as usize);
        }
    }

    #[inline]
    fn key(&self, slot: usize) -> (Instant, u32) {
        let c = self.heap[slot];
        (self.when[c as usize], c)
    }

    fn up(&mut self, mut slot: usize) {
        let moving = self.heap[slot];
        let key = (self.when[moving as usize], moving);
        while slot > 0 {
            let parent = (slot - 1) / ARITY;
            if self.key(parent) <= key {
                break;
            }
            self.heap[slot] = self.heap[parent];
            self.place[self.heap[slot] as usize] = slot as u32;
            slot = parent;
        }
        self.heap[slot] = moving;
        self.place[moving as usize] = slot as u32;
    }

    fn down(&mut self, mut slot: usize) {
        let moving = self.heap[slot];
        let key = (self.when[moving as usize], moving);
        loop {
            let first = slot * ARITY + 1;
            if first >= self.heap.len() {
                break;
            }
            let end = (first + ARITY).min(self.heap.len());
            let mut least = first;
            let mut least_key = self.key(first);
            for child in first + 1..end {
                let k = self.key(child);
                if k < least_key {
                    least = child;
                    least_key = k;
                }
            }
            if key <= least_key {
                break;
            }
            self.heap[slot] = self.heap[least];
            self.place[self.heap[slot] as usize] = slot as u32;
            slot = least;
        }
        self.heap[slot] = moving;
        self.place[moving as usize] = slot as u32;
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
