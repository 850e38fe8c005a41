//! The live view on the terminal.

use std::io::{IsTerminal as _, Write as _};

use slackwater_core::{Duration, Instant};

use super::bridge::Counters;
use super::clock::Lag;
use super::teller::{Moment, Teller};

/// Time between two lines.
const EVERY: Duration = Duration::from_millis(500);

/// Keeps the terminal's title on its stack (xterm's control sequences, XTWINOPS 22).
const KEEP_TITLE: &str = "\x1b[22;2t";
/// Takes it back from there (XTWINOPS 23).
const RESTORE_TITLE: &str = "\x1b[23;2t";

/// Where the live view goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// Nowhere.
    Off,
    /// A line of the terminal, overwritten in place.
    Line,
    /// The terminal's title: lines and cursor belong to a command.
    Title,
}

impl View {
    /// Where a view that is `wanted` goes. Commands that run beside share the terminal: a line of ours would land in a shell's
    /// prompt or a table of theirs.
    pub(crate) fn new(wanted: bool, commands: bool) -> Self {
        let kind = std::env::var("TERM").unwrap_or_default();
        Self::on(wanted && std::io::stderr().is_terminal(), commands, &kind)
    }

    /// As [`View::new`], with what is known of the terminal: whether there is one, and its kind.
    fn on(terminal: bool, commands: bool, kind: &str) -> Self {
        // Without a window there is no title (term(7)).
        let untitled = matches!(kind, "" | "dumb" | "linux");
        match (terminal, commands) {
            (false, _) => Self::Off,
            (true, false) => Self::Line,
            (true, true) if untitled => Self::Off,
            (true, true) => Self::Title,
        }
    }
}

/// Shows throughput, queue delay and lag on standard error, and tells them to the page of results.
#[derive(Debug)]
pub(crate) struct Meter {
    /// Where they are shown.
    view: View,
    /// The run's name.
    name: String,
    /// When they were shown last.
    last: Instant,
    /// The counters of that time.
    before: Counters,
    /// Something stands on the terminal that must go.
    shown: bool,
    /// The page of results.
    teller: Option<Teller>,
    /// When the run ends at the latest.
    limit: Option<Duration>,
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Meter {
    /// A meter for the run `name`.
    pub(crate) fn new(view: View, name: &str) -> Self {
        Self {
            view,
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
    pub(crate) fn show(&mut self, now: Instant, counters: &mut Counters, lag: &Lag) {
        let passed = now.since(self.last);
        if (self.view == View::Off && self.teller.is_none()) || passed < EVERY {
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
        if self.view != View::Off {
            let text = line(&self.name, passed, &self.before, counters, lag);
            self.draw(&text);
        }
        self.before = *counters;
        counters.queue_max = Duration::ZERO;
        self.last = now;
    }

    /// Shows `text`, by one write: nothing of the command's comes between its bytes.
    fn draw(&mut self, text: &str) {
        let first = !core::mem::replace(&mut self.shown, true);
        let drawn = match self.view {
            View::Off => return,
            View::Line => format!("\r\x1b[2K{text}\r"),
            View::Title => {
                let keep = if first { KEEP_TITLE } else { "" };
                format!("{keep}{}", title(text))
            }
        };
        // A terminal that is gone is no reason to stop.
        let _ignored = std::io::stderr().write_all(drawn.as_bytes());
    }

    /// Takes the line away, or gives the title back.
    pub(crate) fn finish(&mut self) {
        if core::mem::take(&mut self.shown) {
            let last = match self.view {
                View::Title => RESTORE_TITLE,
                View::Off | View::Line => "\r\x1b[2K",
            };
            let _ignored = std::io::stderr().write_all(last.as_bytes());
        }
    }
}

/// Mbit/s that left on the way `way`.
fn rate(way: usize, passed: Duration, before: &Counters, after: &Counters) -> f64 {
    let bytes = after.delivered[way] - before.delivered[way];
    bytes as f64 * 8.0 / passed.as_secs_f64() / 1e6
}

/// What makes `text` the title of the terminal's window (xterm's control sequences, OSC 2). A run's name may hold anything.
fn title(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    format!("\x1b]2;{text}\x07")
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
    fn a_terminal_that_a_command_uses_has_no_line_of_ours() {
        assert_eq!(View::on(true, true, "xterm-256color"), View::Title);
        assert_eq!(View::on(true, true, "dumb"), View::Off);
        assert_eq!(View::on(true, true, ""), View::Off);
        assert_eq!(View::on(true, false, "dumb"), View::Line);
        assert_eq!(View::on(false, false, "xterm"), View::Off);
    }

    #[test]
    fn a_title_cannot_end_its_sequence() {
        assert_eq!(title("a\x07b\x1b[2Jc\n"), "\x1b]2;ab[2Jc\x07");
    }

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
