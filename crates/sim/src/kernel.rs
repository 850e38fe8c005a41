//! The event kernel: who acts next.
//!
//! Each component has one timer. An indexed 4-ary heap over the armed components finds the earliest; ties go to the
//! lower component number, so the order of events is a function of the model alone. Up to 16 components a scan
//! of the plain array is faster and gives the same order.

use slackwater_core::Instant;

/// Up to this many components the kernel scans.
const SMALL: usize = 16;
const ARITY: usize = 4;
const ABSENT: u32 = u32::MAX;

/// A priority queue of component timers.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    /// Timer of each component; `Instant::MAX` where unarmed.
    when: Vec<Instant>,
    /// Armed components in heap order (unused in the small form).
    heap: Vec<u32>,
    /// Position of each component in `heap`, or [`ABSENT`].
    place: Vec<u32>,
}

impl Kernel {
    /// A kernel for `n` components, none armed.
    pub fn new(n: usize) -> Self {
        Self {
            when: vec![Instant::MAX; n],
            heap: Vec::with_capacity(n),
            place: vec![ABSENT; n],
        }
    }

    /// Sets, moves or clears the timer of `component`.
    #[inline]
    pub fn arm(&mut self, component: usize, at: Option<Instant>) {
        let at = at.unwrap_or(Instant::MAX);
        let old = core::mem::replace(&mut self.when[component], at);
        if self.when.len() <= SMALL || old == at {
            return;
        }
        self.update(component, old);
    }

    /// The timer of `component`; `Instant::MAX` where unarmed.
    #[inline]
    pub fn when(&self, component: usize) -> Instant {
        self.when[component]
    }

    /// Moves the timer of `component` to `at` where that is earlier.
    #[inline]
    pub fn arm_earlier(&mut self, component: usize, at: Instant) {
        if at < self.when[component] {
            self.arm(component, Some(at));
        }
    }

    /// The earliest armed component and its time.
    #[inline]
    pub fn peek(&self) -> Option<(Instant, usize)> {
        if self.when.len() <= SMALL {
            let mut best = (Instant::MAX, 0);
            for (i, &t) in self.when.iter().enumerate() {
                if t < best.0 {
                    best = (t, i);
                }
            }
            return (best.0 != Instant::MAX).then_some(best);
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
