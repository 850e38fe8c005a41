//! The line on the terminal.

use std::io::{IsTerminal as _, Write as _};

use slackwater_core::{Duration, Instant};

use super::bridge::Counters;
use super::clock::Lag;
use super::teller::{Moment, Teller};

/// Time between two lines.
const EVERY: Duration = Duration::from_millis(500);

/// Shows throughput, queue delay and lag on standard error, and tells them to the page of results.
#[derive(Debug)]
pub struct Meter {
    on: bool,
    name: String,
    last: Instant,
    before: Counters,
    shown: bool,
    teller: Option<Teller>,
    limit: Option<Duration>,
}

impl Meter {
    /// A meter for the run `name`. It shows nothing where standard error is no terminal.
    pub fn new(on: bool, name: &str) -> Self {
        Self {
            on: on && std::io::stderr().is_terminal(),
            name: name.to_owned(),
            last: Instant::ZERO,
            before: Counters::default(),
            shown: false,
            teller: None,
            limit: None,
        }
    }

    /// Tells the page of results as well; `limit` is when the run ends at the latest.
    pub(crate) fn tell(&mut self, teller: Teller, limit: Option<Duration>) {
        self.teller = Some(teller);
        self.limit = limit;
    }

    /// Draws the line anew where it is time.
    pub fn show(&mut self, now: Instant, counters: &mut Counters, lag: &Lag) {
        let passed = now.since(self.last);
        if !(self.on || self.teller.is_some()) || passed < EVERY {
            return;
        }
        if let Some(teller) = &self.teller {
            teller.tell(Moment {
                at: now.as_secs_f64(),
                share: self.limit.map(|l| now.as_secs_f64() / l.as_secs_f64()),
                rates: [0, 1].map(|way| rate(way, passed, &self.before, counters)),
                queue: counters.queue_max.as_millis_f64(),
            });
        }
        if self.on {
            let text = line(&self.name, passed, &self.before, counters, lag);
            // The line is overwritten in place; a terminal that is gone is no reason to stop.
            let _ignored = write!(std::io::stderr(), "\r\x1b[2K{text}\r");
            self.shown = true;
        }
        self.before = *counters;
        counters.queue_max = Duration::ZERO;
        self.last = now;
    }

    /// Takes the line away.
    pub fn finish(&mut self) {
        if core::mem::take(&mut self.shown) {
            let _ignored = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

/// Mbit/s that left on the way `way`.
fn rate(way: usize, passed: Duration, before: &Counters, after: &Counters) -> f64 {
    let bytes = after.delivered[way] - before.delivered[way];
    bytes as f64 * 8.0 / passed.as_secs_f64() / 1e6
}

/// What happened between `before` and `after`, in one line.
fn line(name: &str, passed: Duration, before: &Counters, after: &Counters, lag: &Lag) -> String {
    let rate = |way: usize| rate(way, passed, before, after);
    let late = lag.histogram.quantile(0.99).unwrap_or_default();
    format!(
        "{name}: down {:.2} Mbit/s, up {:.2} Mbit/s | queue {:.1} ms | {} dropped, {} marked | late {:.2} ms (p99)",
        rate(0),
        rate(1),
        after.queue_max.as_millis_f64(),
        after.dropped - before.dropped,
        after.marked - before.marked,
        late.as_millis_f64(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_rates_of_the_time_since_the_last() {
        let before = Counters {
            delivered: [1_000_000, 0],
            ..Counters::default()
        };
        let after = Counters {
            delivered: [1_750_000, 12_500],
            queue_max: Duration::from_millis(34),
            dropped: 3,
            ..before
        };
        let passed = Duration::from_millis(500);
        let line = line("x", passed, &before, &after, &Lag::default());
        assert!(
            line.starts_with("x: down 12.00 Mbit/s, up 0.20 Mbit/s | queue 34.0 ms | 3 dropped"),
            "{line}"
        );
    }
}
