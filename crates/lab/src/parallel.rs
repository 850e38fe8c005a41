//! Runs on all cores. Runs share nothing, so results depend on their inputs alone; they come back in input order.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Cores that the operating system grants, at least one.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Applies `f` to each of `0..n` on up to `jobs` threads.
pub fn map<R: Send>(n: usize, jobs: usize, f: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let jobs = jobs.clamp(1, n.max(1));
    if jobs == 1 {
        return (0..n).map(f).collect();
    }
    let next = AtomicUsize::new(0);
    let slots: Vec<Mutex<Option<R>>> = (0..n).map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= n {
                        break;
                    }
                    let result = f(i);
                    *slots[i].lock().expect("no other thread writes this slot") = Some(result);
                }
            });
        }
    });
    let take = |m: Mutex<Option<R>>| m.into_inner().ok().flatten();
    slots
        .into_iter()
        .map(|m| take(m).expect("every item was run"))
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_come_in_input_order_at_any_thread_count() {
        for jobs in [1, 2, 7] {
            let squares = super::map(100, jobs, |i| i * i);
            assert!(squares.iter().enumerate().all(|(i, s)| *s == i * i));
        }
        assert!(super::map(0, 4, |i| i).is_empty());
    }
}
