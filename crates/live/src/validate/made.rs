//! A trace that no one recorded: opportunities at random in a rate that wanders, with silences.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use slackwater_core::Draw;
use slackwater_core::rng;
use slackwater_lab::wire::trace::MahimahiTrace;

use crate::LiveError;

/// Length of the trace, ms; it is longer than a run, so that nothing repeats.
const LENGTH_MS: u64 = 60_000;
/// The rate moves once in this time (as in Sprout's model, 3.1: 20 ms).
const STEP_MS: u64 = 20;
/// Opportunities a second around which the rate wanders: 9.6 Mbit/s.
const CENTRE: f64 = 800.0;
/// Bounds of the rate: 1 and 30 Mbit/s.
const BOUNDS: [f64; 2] = [83.0, 2_500.0];
/// Standard deviation of one step of the logarithm, and the share of the way back to the centre: a deviation of 0.7 over
/// some two seconds.
const STEP: f64 = 0.1;
const BACK: f64 = 0.01;
/// Silences: their chance in a step, and their length in steps.
const SILENCE: f64 = 1.0 / 400.0;
const SILENT_STEPS: u64 = 10;

/// The trace. It is always the same.
fn trace() -> MahimahiTrace {
    let mut stream = Draw::new(14).stream(0);
    let mut offset: f64 = 0.0;
    let mut silent = 0;
    let mut times = Vec::new();
    let mut owed: f64 = 0.0;
    for step in 0..LENGTH_MS / STEP_MS {
        offset += STEP * rng::normal(&mut stream) - BACK * offset;
        let rate = (CENTRE * offset.exp()).clamp(BOUNDS[0], BOUNDS[1]);
        if silent == 0 && rng::uniform(&mut stream) < SILENCE {
            silent = SILENT_STEPS;
        }
        for ms in 0..STEP_MS {
            // Exponential gaps: a Poisson process of that rate.
            let mut left = rate / 1_000.0;
            while owed <= left {
                left -= owed;
                owed = -(1.0 - rng::uniform(&mut stream)).ln();
                if silent == 0 {
                    times.push(step * STEP_MS + ms + 1);
                }
            }
            owed -= left;
        }
        silent = silent.saturating_sub(1);
    }
    // The last line is the period.
    times.push(LENGTH_MS);
    MahimahiTrace::from_millis(times).expect("times rise")
}

/// A folder of this process that holds the trace while it is read.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> Result<Self, LiveError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("slackwater-made-{}-{count}", std::process::id());
        let folder = Self(std::env::temp_dir().join(name));
        let wrote = std::fs::create_dir_all(&folder.0)
            .and_then(|()| std::fs::write(folder.0.join("made.trace"), trace().to_text()));
        wrote.map_err(|e| {
            LiveError::kernel(
                format!("cannot write the made trace in {}", folder.0.display()),
                e,
            )
        })?;
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder for temporary files that stays is no harm.
        let _ignored = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::Duration;

    use super::*;

    #[test]
    fn the_trace_wanders_between_its_bounds_and_is_silent_at_times() {
        let trace = trace();
        assert_eq!(trace.period(), Duration::from_millis(LENGTH_MS));
        let mbps = trace.mean_rate().as_bps() as f64 / 1e6;
        assert!((4.0..20.0).contains(&mbps), "{mbps}");
        let gaps = trace.times_ms().windows(2).map(|w| w[1] - w[0]);
        let longest = gaps.max().unwrap_or(0);
        assert!((200..400).contains(&longest), "{longest}");
    }
}
