//! Rates over a sliding window, in constant space.

use slackwater_core::{Bytes, Duration, Instant, Rate};

/// Marks kept; they stand an eighth of the window apart.
const MARKS: usize = 10;

/// Counts bytes and tells their rate over the last window.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RateMeter {
    total: u64,
    head: u8,
    len: u8,
    /// The times of the newest and of the second mark, and the oldest mark: what each packet looks at, kept together.
    newest: Instant,
    second: Instant,
    oldest: (Instant, u64),
    /// Points of the curve (time, bytes before it), oldest first from `head`.
    marks: [(Instant, u64); MARKS],
}

impl Default for RateMeter {
    fn default() -> Self {
        Self::new()
    }
}

impl RateMeter {
    /// Nothing counted.
    pub const fn new() -> Self {
        Self {
            total: 0,
            head: 0,
            len: 0,
            newest: Instant::ZERO,
            second: Instant::ZERO,
            oldest: (Instant::ZERO, 0),
            marks: [(Instant::ZERO, 0); MARKS],
        }
    }

    fn mark(&self, i: u8) -> (Instant, u64) {
        self.marks[usize::from(self.head + i) % MARKS]
    }

    /// Counts `bytes`. After a pause of two windows counting starts anew, so that the pause does not dilute the rate of
    /// what follows.
    #[inline]
    pub fn add(&mut self, now: Instant, bytes: u64, window: Duration) {
        if self.len == 0 {
            self.push(now);
        } else {
            let apart = now.since(self.newest);
            if apart > window * 2 {
                self.len = 0;
                self.push(now);
            } else if apart * 8 >= window {
                self.push(now);
            }
        }
        self.total += bytes;
    }

    fn push(&mut self, now: Instant) {
        if usize::from(self.len) == MARKS {
            self.drop_oldest();
        }
        let at = usize::from(self.head + self.len) % MARKS;
        self.marks[at] = (now, self.total);
        self.newest = now;
        match self.len {
            0 => self.oldest = (now, self.total),
            1 => self.second = now,
            _ => {}
        }
        self.len += 1;
    }

    fn drop_oldest(&mut self) {
        self.head = (self.head + 1) % MARKS as u8;
        self.len -= 1;
        self.oldest = self.mark(0);
        self.second = self.mark(1).0;
    }

    /// The rate over the last `window`, counted as if nothing shorter than `least` had passed since the start.
    pub fn rate(&mut self, now: Instant, window: Duration, least: Duration) -> Rate {
        while self.len > 1 && now.since(self.second) >= window {
            self.drop_oldest();
        }
        if self.len == 0 {
            return Rate::ZERO;
        }
        let (since, before) = self.oldest;
        let span = now.since(since).max(least).max(Duration::from_micros(1));
        Rate::from_bytes_over(Bytes(self.total - before), span)
    }

    /// Bytes counted so far.
    pub const fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_millis(100);

    #[test]
    fn a_steady_stream_reads_its_rate_and_a_step_shows_within_a_window() {
        let mut meter = RateMeter::new();
        let rate_at = |meter: &mut RateMeter, ms| {
            meter
                .rate(Instant::from_millis(ms), WINDOW, Duration::ZERO)
                .as_mbps()
        };
        for ms in 0..500 {
            meter.add(Instant::from_millis(ms), 1500, WINDOW);
        }
        // 1500 bytes a millisecond.
        assert!((rate_at(&mut meter, 499) - 12.0).abs() < 0.3);
        for ms in 500..620 {
            meter.add(Instant::from_millis(ms), 3000, WINDOW);
        }
        assert!((rate_at(&mut meter, 619) - 24.0).abs() < 0.5);
        // What is left is the last mark's eighth of a window.
        assert!(rate_at(&mut meter, 740) < 2.5);
    }

    #[test]
    fn a_pause_does_not_dilute_what_follows() {
        let mut meter = RateMeter::new();
        meter.add(Instant::ZERO, 1500, WINDOW);
        for ms in 1000..1050 {
            meter.add(Instant::from_millis(ms), 1500, WINDOW);
        }
        let now = Instant::from_millis(1050);
        let rate = meter.rate(now, WINDOW, Duration::from_millis(20)).as_mbps();
        assert!((rate - 12.0).abs() < 0.3, "{rate}");
    }
}
