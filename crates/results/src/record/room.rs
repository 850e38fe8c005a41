//! Samples of a run whose end nobody knows: never more than fit into some room.
//!
//! Once the room is full, each series loses every second sample, and samples come half as often from then on. So a curve has one
//! distance between its points from start to end, and at least half of the points that fit.

use slackwater_core::{Duration, Instant};

use super::{MAX_BINS, RunRecorder, bins};

/// Bins that each flow may have, however many flows there are. Ours.
const LEAST_BINS: u64 = 16;

/// Room for the samples of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Values kept at most, of all series together.
    most: u64,
    /// Values kept.
    used: u64,
    /// Instants whose samples are kept, but for the present one.
    instants: u64,
    /// The present instant; before the first sample there is none.
    now: Option<Instant>,
}

impl RunRecorder {
    /// The end of the run is not known: samples come each `interval`, and less often once there are `most` values of 8 octets. Bins
    /// take 5/4 of that room at most, and are wider in a longer run.
    pub fn open_ended(&mut self, interval: Duration, most: u64) {
        self.sampling = interval;
        self.tenths = 1;
        self.room = Some(Room {
            most,
            used: 0,
            instants: 0,
            now: None,
        });
    }

    /// Makes room for `values` of a sample at `now`.
    pub(super) fn make_room(&mut self, now: Instant, values: usize) {
        let Some(mut room) = self.room else {
            return;
        };
        // Samples of one instant go or stay together.
        if room.now != Some(now) {
            room.instants += u64::from(room.now.is_some());
            room.now = Some(now);
            // Every second one of an odd number would end with the last, and the next comes too soon behind it.
            if room.used > room.most && room.instants.is_multiple_of(2) {
                self.thin();
                room.used /= 2;
                room.instants /= 2;
            }
            self.widen_bins(room.most);
        }
        room.used += values as u64;
        self.room = Some(room);
    }

    /// Forgets every second sample.
    fn thin(&mut self) {
        for flow in &mut self.flows {
            flow.series.thin();
            flow.internals.thin();
        }
        for link in &mut self.links {
            link.series.thin();
        }
        self.sampling = self.sampling * 2;
    }

    /// Joins bins where there are too many: five values each, and a quarter as many of them as of all other values.
    fn widen_bins(&mut self, most: u64) {
        let held: u64 = self.flows.iter().map(|f| f.bins.len() as u64).sum();
        // A flow keeps some, or no width would be enough.
        let least = LEAST_BINS * self.flows.len() as u64;
        if held <= (most / 4).min(MAX_BINS).max(least) {
            return;
        }
        let factor = bins::factor(self.tenths);
        for flow in &mut self.flows {
            bins::join(&mut flow.bins, factor);
        }
        self.tenths *= factor as u64;
    }
}
