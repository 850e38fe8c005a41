//! The extreme of a sliding window, from a handful of candidates.

use slackwater_core::{Duration, Instant};

/// Candidates kept. A window's extreme is known to a quarter of the window.
const CANDIDATES: usize = 4;

/// Candidates, best and oldest first: each is better than all values since, until the next.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Window<const MAX: bool> {
    len: u8,
    span: Duration,
    kept: [(Instant, u64); CANDIDATES],
}

impl<const MAX: bool> Window<MAX> {
    const fn new(span: Duration) -> Self {
        Self {
            span,
            kept: [(Instant::ZERO, 0); CANDIDATES],
            len: 0,
        }
    }

    const fn at_least_as_good(a: u64, b: u64) -> bool {
        if MAX { a >= b } else { a <= b }
    }

    /// Candidates that the window has left; the last stays, so that silence does not erase what is known.
    fn expire(&mut self, now: Instant) {
        let len = usize::from(self.len);
        let mut gone = 0;
        while gone + 1 < len && now.since(self.kept[gone].0) > self.span {
            gone += 1;
        }
        if gone > 0 {
            self.kept.copy_within(gone..len, 0);
            self.len -= gone as u8;
        }
    }

    fn update(&mut self, now: Instant, value: u64) {
        while self.len > 0 && Self::at_least_as_good(value, self.kept[usize::from(self.len) - 1].1)
        {
            self.len -= 1;
        }
        self.expire(now);
        let len = usize::from(self.len);
        if len == 1 && now.since(self.kept[0].0) > self.span {
            self.kept[0] = (now, value);
        } else if len < CANDIDATES {
            self.kept[len] = (now, value);
            self.len += 1;
        } else if now.since(self.kept[len - 1].0) * CANDIDATES as u64 >= self.span {
            self.kept[len - 1] = (now, value);
        }
    }

    fn get(&mut self, now: Instant) -> Option<u64> {
        self.expire(now);
        (self.len > 0).then_some(self.kept[0].1)
    }

    fn peek(&self) -> Option<u64> {
        (self.len > 0).then_some(self.kept[0].1)
    }
}

macro_rules! windowed {
    ($(#[$doc:meta])* $name:ident, $max:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name(Window<$max>);

        impl $name {
            /// An empty filter over the last `window`.
            pub const fn new(window: Duration) -> Self {
                Self(Window::new(window))
            }
            /// A new value; times do not go back.
            pub fn update(&mut self, now: Instant, value: u64) {
                self.0.update(now, value);
            }
            /// The extreme of the window, or of what was seen last where the window is empty.
            pub fn get(&mut self, now: Instant) -> Option<u64> {
                self.0.get(now)
            }
            /// The extreme as of the last call.
            pub fn peek(&self) -> Option<u64> {
                self.0.peek()
            }
            /// Forgets everything.
            pub const fn clear(&mut self) {
                self.0.len = 0;
            }
        }
    };
}

windowed!(
    /// The largest value of a sliding window.
    WindowedMax, true
);
windowed!(
    /// The least value of a sliding window.
    WindowedMin, false
);

#[cfg(test)]
mod tests {
    use slackwater_core::Draw;

    use super::*;

    #[test]
    fn it_stays_within_a_quarter_window_of_the_exact_extreme() {
        let window = Duration::from_millis(100);
        let mut filter = WindowedMin::new(window);
        let draw = Draw::new(3);
        let values: Vec<u64> = (0..2_000).map(|i| 10_000 + draw.bits(i) % 5_000).collect();
        for (i, value) in values.iter().enumerate() {
            let now = Instant::from_millis(i as u64);
            filter.update(now, *value);
            let got = filter.get(now).expect("one was seen");
            let least = |span: usize| {
                *values[i.saturating_sub(span)..=i]
                    .iter()
                    .min()
                    .expect("one")
            };
            assert!(least(125) <= got && got <= least(25), "at {i}: {got}");
        }
    }

    #[test]
    fn a_better_value_counts_at_once_and_an_old_one_goes() {
        let mut filter = WindowedMax::new(Duration::from_millis(10));
        filter.update(Instant::ZERO, 5);
        filter.update(Instant::from_millis(1), 9);
        filter.update(Instant::from_millis(2), 7);
        assert_eq!(filter.get(Instant::from_millis(2)), Some(9));
        assert_eq!(filter.get(Instant::from_millis(12)), Some(7));
        // Silence: the last is all that is known.
        assert_eq!(filter.get(Instant::from_millis(90)), Some(7));
        filter.update(Instant::from_millis(91), 3);
        assert_eq!(filter.get(Instant::from_millis(91)), Some(3));
    }
}
