//! Policies that Python computes: the sender of `tyrus`, with its signals, guards and fallback, whose decisions come from a callable.

use std::fmt;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use slackwater_lab::control::phy::rule::Rule2;
use slackwater_lab::control::phy::track::Source;
use slackwater_lab::control::phy::{Action, Look, Seat};
use slackwater_lab::control::registry::{AnyController, Plugin, seated};
use slackwater_lab::control::{
    Ack, Config, CongestionEvent, Controller, Intent, PathReport, PathView, Sent,
};
use slackwater_lab::core::{Duration, Instant};
use slackwater_lab::gym::Scheme;

use crate::gym::scheme;
use crate::raised::Raised;

/// The controller `name` that asks `object`, a `slackwater.Policy`, at each decision.
pub(crate) fn plugin(name: &str, object: &Bound<'_, PyAny>, raised: &Raised) -> PyResult<Plugin> {
    let py = object.py();
    let text: String = object.getattr(intern!(py, "scheme_json"))?.extract()?;
    let seconds: f64 = object.getattr(intern!(py, "interval"))?.extract()?;
    let blocks: bool = object.getattr(intern!(py, "blocks"))?.extract()?;
    // As of a policy's file: `interval_ms` is from 1 to 1000.
    if !(0.001..=1.0).contains(&seconds) {
        return Err(PyValueError::new_err(format!(
            "interval: found {seconds}, expected 0.001 to 1 s"
        )));
    }
    let scheme = scheme(&text)?;
    let z = match scheme {
        Scheme::Residual { z, .. } => z,
        Scheme::Relative { .. } => Rule2::PHY.z,
    };
    let base = Rule2 {
        z,
        source: if blocks { Source::Phy } else { Source::Acks },
        ..Rule2::PHY
    };
    let asked = Arc::new(object.getattr(intern!(py, "log_factor"))?.unbind());
    let about = format!("a policy in Python: {}", object.get_type().name()?);
    let (own, raised) = (name.to_owned(), raised.clone());
    Ok(Plugin::with_parameters(
        name,
        &about,
        move |config: &Config, parameters| {
            if !parameters.is_empty() {
                return Err(format!("found {parameters:?}, expected no parameters"));
            }
            let seat = Seat::default();
            let interval = Duration::from_secs_f64(seconds);
            Ok(Box::new(PyPolicy {
                sender: seated(seat.clone(), interval, base, config),
                seat,
                scheme,
                asked: asked.clone(),
                raised: raised.clone(),
                name: own.clone(),
            }))
        },
    ))
}

/// One flow's controller.
#[derive(Clone)]
struct PyPolicy {
    /// The sender, which looks and acts.
    sender: AnyController,
    /// Where what it sees and what it shall do are exchanged.
    seat: Seat,
    /// What the policy sees, and how its answer is taken.
    scheme: Scheme,
    /// The method that answers.
    asked: Arc<Py<PyAny>>,
    /// The first exception.
    raised: Raised,
    name: String,
}

impl fmt::Debug for PyPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PyPolicy({:?})", self.name)
    }
}

impl PyPolicy {
    /// The policy's answer to what was seen; none after an exception, and the window stays.
    fn answer(&self, look: &Look) -> Option<Action> {
        if self.raised.is_some() {
            return None;
        }
        let mut seen = vec![0f32; self.scheme.width()];
        self.scheme.observe(look, &mut seen);
        let answer = Python::attach(|py| -> PyResult<f64> {
            let answer = self.asked.bind(py).call1((seen,))?;
            let found = answer.extract::<f64>().ok().filter(|v| v.is_finite());
            found.ok_or_else(|| {
                let shown = answer
                    .repr()
                    .map_or_else(|_| String::new(), |r| r.to_string());
                PyValueError::new_err(format!(
                    "{}: found the answer {shown}, expected a finite number",
                    self.name
                ))
            })
        });
        match answer {
            Ok(value) => Some(match self.scheme {
                Scheme::Relative { .. } => Action::LogRatio(value),
                Scheme::Residual { bound, .. } => Action::Residual(value.clamp(-bound, bound)),
            }),
            Err(error) => {
                self.raised.keep(error);
                None
            }
        }
    }
}

impl Controller for PyPolicy {
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        self.sender.on_sent(now, path, sent);
    }

    fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        self.sender.on_ack(now, path, ack);
    }

    fn on_congestion(&mut self, now: Instant, path: &PathView, event: &CongestionEvent) {
        self.sender.on_congestion(now, path, event);
    }

    fn on_undo(&mut self, now: Instant, path: &PathView) {
        self.sender.on_undo(now, path);
    }

    fn on_recovered(&mut self, now: Instant, path: &PathView) {
        self.sender.on_recovered(now, path);
    }

    fn takes_blocks(&self) -> bool {
        self.sender.takes_blocks()
    }

    fn on_report(&mut self, now: Instant, path: &PathView, report: &PathReport) {
        self.sender.on_report(now, path, report);
    }

    /// A decision has two halves, one nanosecond apart: the sender looks, then acts. The policy answers between them.
    fn on_timer(&mut self, now: Instant, path: &PathView) {
        self.sender.on_timer(now, path);
        if let Some(look) = self.seat.take()
            && let Some(action) = self.answer(&look)
        {
            self.seat.act(action);
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        self.sender.next_timer()
    }

    fn intent(&self) -> Intent {
        self.sender.intent()
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        self.sender.snapshot(out);
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
