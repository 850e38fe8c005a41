//! Progress: a bar on a terminal, a line at sensible steps in a pipe or a log; and a flag that Ctrl-C sets.

use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as Wall, Instant as Clock};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use slackwater_lab::beacon::Beacon;
use slackwater_results::record::{FlowRecord, RunRecorder};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Steps of a full bar: a thousandth of a run each.
pub(crate) const STEPS: u64 = 1_000;

/// True once Ctrl-C was pressed.
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Lets Ctrl-C end runs at the next progress report; pressed again it ends the process.
pub(crate) fn catch_interrupts() {
    let handler = || {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    // Without the handler the default action ends the process: no progress is lost by going on.
    let _ = ctrlc::set_handler(handler);
}

/// Of lines in a log: none before the command has run so long, and none sooner after another.
const QUIET: Wall = Wall::from_secs(2);
/// A line at least so often, however long a step takes.
const PATIENCE: Wall = Wall::from_secs(60);
/// Shares at which a line is due: tenths.
const PARTS: u64 = 10;
/// In builds with debug assertions, another number of shares, and no line is too soon: tests wait for a line.
const OVERRIDE: &str = "SLACKWATER_PROGRESS_PARTS";

/// How far a command is.
#[derive(Debug)]
pub(crate) struct Bar {
    bar: ProgressBar,
    /// What is written where no bar is drawn.
    log: Option<Mutex<Log>>,
}

#[derive(Debug)]
struct Log {
    what: String,
    all: u64,
    start: Clock,
    last: Clock,
    /// Shares that were told of.
    told: u64,
    parts: u64,
    quiet: Wall,
}

impl Log {
    fn new(what: String, all: u64, now: Clock) -> Self {
        Self {
            what,
            all,
            start: now,
            last: now,
            told: 0,
            parts: PARTS,
            quiet: QUIET,
        }
    }

    /// With what a test wants.
    fn overridden(mut self) -> Self {
        let parts = std::env::var(OVERRIDE).ok().and_then(|v| v.parse().ok());
        if let Some(parts) = parts.filter(|_| cfg!(debug_assertions)) {
            (self.parts, self.quiet) = (parts, Wall::ZERO);
        }
        self
    }

    /// The line that is due at `now`, with `done` steps behind.
    fn line(&mut self, done: u64, now: Clock) -> Option<String> {
        let part = self.parts * done / self.all.max(1);
        let since = now.duration_since(self.last);
        let due = (part > self.told && since >= self.quiet) || since >= PATIENCE;
        // The end is told by what is printed then.
        if !due || done >= self.all {
            return None;
        }
        (self.told, self.last) = (part, now);
        let spent = now.duration_since(self.start).as_secs_f64();
        let share = done as f64 / self.all.max(1) as f64;
        let left = if done == 0 {
            String::new()
        } else {
            format!(", about {} left", words(spent * (1.0 - share) / share))
        };
        let percent = (share * 100.0).floor();
        Some(format!(
            "progress: {}, {percent:.0} %, {}{left}",
            self.what,
            words(spent)
        ))
    }
}

/// A time for readers.
fn words(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

impl Bar {
    fn look(&self) {
        let Some(log) = &self.log else { return };
        let line = log
            .lock()
            .ok()
            .and_then(|mut log| log.line(self.bar.position(), Clock::now()));
        if let Some(line) = line {
            // Nobody may be there to read it.
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }

    pub(crate) fn set_position(&self, steps: u64) {
        self.bar.set_position(steps);
        self.look();
    }

    pub(crate) fn inc(&self, steps: u64) {
        self.bar.inc(steps);
        self.look();
    }

    pub(crate) fn position(&self) -> u64 {
        self.bar.position()
    }

    /// Says what is done.
    pub(crate) fn set_message(&self, what: String) {
        if let Some(mut log) = self.log.as_ref().and_then(|log| log.lock().ok()) {
            log.what.clone_from(&what);
        }
        self.bar.set_message(what);
    }

    pub(crate) fn finish_and_clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Does `f` while no bar is drawn.
    pub(crate) fn suspend(&self, f: impl FnOnce()) {
        self.bar.suspend(f);
    }
}

/// A bar over `runs` runs, drawn on standard error where that is a terminal; lines elsewhere.
pub(crate) fn bar(runs: usize) -> Bar {
    let all = STEPS * runs as u64;
    let what = if runs == 1 {
        "simulating".to_owned()
    } else {
        format!("simulating {runs} runs")
    };
    let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::stderr());
    let style =
        ProgressStyle::with_template("{msg} [{wide_bar}] {percent} % {elapsed} (ETA {eta})");
    bar.set_style(style.expect("the template is valid").progress_chars("=> "));
    bar.set_message(what.clone());
    let log = bar
        .is_hidden()
        .then(|| Mutex::new(Log::new(what, all, Clock::now()).overridden()));
    Bar { bar, log }
}

/// A bar of bytes, drawn on standard error where that is a terminal.
#[cfg(target_os = "linux")]
pub(crate) fn transfer(hidden: bool) -> ProgressBar {
    let target = if hidden {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let bar = ProgressBar::with_draw_target(None, target);
    let style = ProgressStyle::with_template(
        "[{wide_bar}] {bytes} of {total_bytes} {bytes_per_sec} (ETA {eta})",
    );
    bar.set_style(style.expect("the template is valid").progress_chars("=> "));
    bar
}

/// Flows whose curves are told while they grow.
const FLOWS: usize = 4;

/// Tells the page of `slackwater serve` what runs; says nothing where no files are wanted.
#[derive(Debug)]
pub(crate) struct Signal(Mutex<Option<Beacon>>);

impl Signal {
    /// Lit in the folder of results.
    pub(crate) fn new(folder: &Path, wanted: bool, title: &str) -> Self {
        Self(Mutex::new(
            wanted.then(|| Beacon::light(folder, "simulation", title)),
        ))
    }

    /// The share that is done, 0 to 1.
    pub(crate) fn share(&self, share: f64) {
        if let Ok(mut beacon) = self.0.lock()
            && let Some(beacon) = beacon.as_mut()
        {
            beacon.share(share);
        }
    }

    /// What a run has recorded since the bin `seen`, which moves on: goodput and queue delay of its first
    /// flows.
    pub(crate) fn see(&self, records: &RunRecorder, seen: &mut usize) {
        let whole = |f: &FlowRecord| f.bins.len().saturating_sub(1);
        let until = records.flows.iter().map(whole).max().unwrap_or(0);
        let (Ok(mut beacon), true) = (self.0.lock(), until > *seen) else {
            return;
        };
        let Some(beacon) = beacon.as_mut() else {
            return;
        };
        let bin = records.bin().as_secs_f64();
        let (at, span) = (until as f64 * bin, (until - *seen) as f64 * bin);
        for (flow, info) in records
            .flows
            .iter()
            .zip(&records.config().flows)
            .take(FLOWS)
        {
            let end = until.min(flow.bins.len());
            let bins = &flow.bins[(*seen).min(end)..end];
            let bytes: u64 = bins.iter().map(|b| b.delivered).sum();
            let name = &info.label;
            let mbps = bytes as f64 * 8e-6 / span;
            beacon.point(&format!("{name}: throughput"), "Mbit/s", at, mbps);
            let left: u64 = bins.iter().map(|b| u64::from(b.dequeued)).sum();
            if left > 0 {
                let waited: u64 = bins.iter().map(|b| b.queue_sum).sum();
                let ms = waited as f64 / left as f64 * 1e-6;
                beacon.point(&format!("{name}: mean queue delay"), "ms", at, ms);
            }
        }
        *seen = until;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_gets_a_line_a_tenth_and_at_most_one_in_a_while() {
        let start = Clock::now();
        let at = |s: u64| start + Wall::from_secs(s);
        let mut log = Log::new("simulating 40 runs".to_owned(), 40_000, start);
        // A short command says nothing.
        assert_eq!(log.line(20_000, at(1)), None);
        let line = log.line(10_000, at(3)).expect("the first");
        assert_eq!(
            line,
            "progress: simulating 40 runs, 25 %, 3 s, about 9 s left"
        );
        assert_eq!(log.line(13_000, at(4)), None, "too soon");
        assert_eq!(log.line(11_000, at(9)), None, "the same tenth");
        assert!(log.line(13_000, at(9)).is_some());
        // A minute without a tenth.
        assert_eq!(log.line(13_100, at(60)), None);
        let line = log.line(13_100, at(200)).expect("a sign of life");
        assert!(line.contains("32 %, 3 min, about 7 min left"), "{line}");
        assert_eq!(log.line(40_000, at(400)), None, "the end is told elsewhere");
    }
}
