//! Progress on a terminal, silence in a pipe, and a flag that Ctrl-C sets.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use slackwater_lab::beacon::Beacon;
use slackwater_results::record::{BIN, FlowRecord, RunRecorder};

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

/// A bar over `runs` runs, drawn on standard error where that is a terminal.
pub(crate) fn bar(runs: usize) -> ProgressBar {
    let bar =
        ProgressBar::with_draw_target(Some(STEPS * runs as u64), ProgressDrawTarget::stderr());
    let style =
        ProgressStyle::with_template("{msg} [{wide_bar}] {percent} % {elapsed} (ETA {eta})");
    bar.set_style(style.expect("the template is valid").progress_chars("=> "));
    bar.set_message(if runs == 1 {
        "simulating".to_owned()
    } else {
        format!("simulating {runs} runs")
    });
    bar
}

/// A bar of bytes, drawn on standard error where that is a terminal.
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

    /// What a run has recorded since the tenth of a second `seen`, which moves on: goodput and queue delay of its first
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
        let bin = BIN.as_secs_f64();
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
