//! A window that stands still: for tests, and to measure a path without control.

use slackwater_core::{Bytes, Instant};

use crate::registry::{AnyController, Entry, Parameter};
use crate::{Ack, CongestionEvent, Controller, Intent, PathView};

/// What the registry knows of it.
pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "fixed",
    title: "fixed window",
    about: "a window of the initial size that never moves; fixed:N for N segments",
    parameters: &PARAMETERS,
    make: |cfg, p| {
        let segments = match p.text() {
            "" => cfg.initial_window,
            // In range and whole: the conversion is exact.
            text => PARAMETERS[0].read(text)? as u32,
        };
        Ok(AnyController::Fixed(Fixed::new(cfg.mss, segments)))
    },
    ..Entry::TRANSPORT
}];

/// What may follow `:` in the name.
const PARAMETERS: [Parameter; 1] =
    [
        Parameter::number("N", 10.0, (1.0, 1e6), "segments", "the window")
            .whole()
            .bare()
            .without("the flow's initial window"),
    ];

/// Always the same number of segments.
#[derive(Clone, Debug)]
pub struct Fixed {
    segments: u32,
    mss: u32,
}

impl Fixed {
    /// A window of `segments` segments of `mss` bytes.
    pub fn new(mss: u32, segments: u32) -> Self {
        Self {
            segments: segments.max(1),
            mss: mss.max(1),
        }
    }
}

impl Controller for Fixed {
    #[inline]
    fn on_ack(&mut self, _now: Instant, path: &PathView, _ack: &Ack) {
        if path.mss != 0 {
            self.mss = path.mss;
        }
    }

    fn on_congestion(&mut self, _now: Instant, _path: &PathView, _event: &CongestionEvent) {}

    #[inline]
    fn intent(&self) -> Intent {
        Intent {
            window: Some(Bytes(u64::from(self.segments) * u64::from(self.mss))),
            ..Intent::default()
        }
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("cwnd", f64::from(self.segments)));
    }

    fn name(&self) -> &'static str {
        "fixed"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
