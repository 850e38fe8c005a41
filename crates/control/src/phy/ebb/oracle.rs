//! What nobody knows: how much the radio will offer over the next round. It shows how near to the ceiling the forecast is.

use core::fmt;
use std::sync::Arc;

use slackwater_core::{Duration, Rate};
use slackwater_signal::Counters;

/// Answers with the rate that the radio will offer after some counters, over a time.
type Answer = dyn Fn(&Counters, Duration) -> Option<Rate> + Send + Sync;

/// An oracle that knows what the radio will offer. It is called with each report that is newer than the last one.
#[derive(Clone)]
pub struct Oracle(Arc<Answer>);

impl Oracle {
    /// `answer` takes counters and the least loop, and returns the mean rate of the time from the counters' stamp on; `None` where it is
    /// not known.
    pub fn new(
        answer: impl Fn(&Counters, Duration) -> Option<Rate> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(answer))
    }

    /// The rate over the next round, bytes/s.
    pub(super) fn rate(&self, counters: &Counters, round: Duration) -> Option<f64> {
        let rate = (self.0)(counters, round)?;
        Some(rate.as_bps() as f64 / 8.0)
    }
}

impl fmt::Debug for Oracle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Oracle")
    }
}
