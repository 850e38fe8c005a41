//! A seat for an agent outside: it reads what a policy would read, and acts where a policy would act.
//!
//! A decision has two halves: at its instant the controller looks, one nanosecond later it acts. An agent outside runs
//! the world up to the first, reads [`Seat::take`], answers with [`Seat::act`] and runs on; a policy inside does the same
//! without leaving. Both go through the same code, so their runs are the same to the bit.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use slackwater_core::{Bytes, Duration, Instant};

use super::action::Action;
use super::observe::{FEATURES, INPUTS, ObsMode, Signals, features, inputs};

/// What was seen at one decision, and what happened since the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Look {
    /// The instant.
    pub at: Instant,
    /// What the sender knows.
    pub signals: Signals,
    /// Time since the decision before.
    pub span: Duration,
    /// Payload bytes acknowledged in it.
    pub delivered: Bytes,
    /// Payload bytes lost in it.
    pub lost: Bytes,
    /// Sum of the RTT samples in it, seconds.
    pub rtt_sum: f64,
    /// Number of the RTT samples in it.
    pub rtts: u32,
    /// Smoothed RTT.
    pub srtt: Duration,
    /// The radio's reports steer; false while the fallback does.
    pub steers: bool,
}

impl Look {
    /// The five inputs.
    pub fn inputs(&self, mode: ObsMode) -> [f32; INPUTS] {
        inputs(mode, &self.signals)
    }

    /// The features of residual policies.
    pub fn features(&self) -> [f32; FEATURES] {
        features(&self.signals)
    }
}

#[derive(Debug, Default)]
struct Inner {
    look: Option<Look>,
    action: Option<Action>,
    /// Decisions so far.
    decisions: u64,
}

/// The seat; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Seat(Arc<Mutex<Inner>>);

impl Seat {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // What is inside is plain data: it is whole whoever panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was seen at the last decision, once.
    pub fn take(&self) -> Option<Look> {
        self.lock().look.take()
    }

    /// The action of this decision.
    pub fn act(&self, action: Action) {
        self.lock().action = Some(action);
    }

    /// Decisions so far.
    pub fn decisions(&self) -> u64 {
        self.lock().decisions
    }

    pub(super) fn show(&self, look: Look) {
        let mut inner = self.lock();
        inner.look = Some(look);
        inner.action = None;
        inner.decisions += 1;
    }

    pub(super) fn answer(&self) -> Option<Action> {
        self.lock().action.take()
    }
}
