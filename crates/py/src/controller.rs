//! Controllers written in Python: the interpreter is asked at each event that the class has a method for.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Mutex;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyType};
use pyo3::{IntoPyObjectExt as _, intern};
use slackwater_lab::control::registry::Plugin;
use slackwater_lab::control::{
    Ack, Config, CongestionEvent, Controller, EcnMode, Feedback, Intent, MediaController,
    PathReport, PathView, RecoveryMode, Sent,
};
use slackwater_lab::core::{Bytes, Duration, Instant, Rate};
use slackwater_scenario::Plugins;

use crate::raised::Raised;
use crate::{policy, samples};

/// Texts that must live as long as the process, each kept once: names of internals.
fn lasting(text: &str) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut kept = KEPT.lock().expect("no holder panics");
    if let Some(found) = kept.get(text) {
        return found;
    }
    let new: &'static str = Box::leak(text.to_owned().into_boxed_str());
    kept.insert(new);
    new
}

/// Which events the class has methods for: a call into Python for nothing would cost as much as one for something.
#[derive(Clone, Copy)]
struct Hears {
    on_sent: bool,
    on_ack: bool,
    on_feedback: bool,
    on_undo: bool,
    on_recovered: bool,
    on_report: bool,
    on_timer: bool,
    snapshot: bool,
}

impl Hears {
    fn of(class: &Bound<'_, PyType>, base: &Bound<'_, PyAny>) -> PyResult<Self> {
        let own =
            |name: &str| -> PyResult<bool> { Ok(!class.getattr(name)?.is(&base.getattr(name)?)) };
        Ok(Self {
            on_sent: own("on_sent")?,
            on_ack: own("on_ack")?,
            on_feedback: own("on_feedback")?,
            on_undo: own("on_undo")?,
            on_recovered: own("on_recovered")?,
            on_report: own("on_report")?,
            on_timer: own("on_timer")?,
            snapshot: own("snapshot")?,
        })
    }
}

/// The plugins that `controllers` names: by name a class of controllers, or a policy.
pub(crate) fn plugins(controllers: &Bound<'_, PyMapping>, raised: &Raised) -> PyResult<Plugins> {
    let py = controllers.py();
    let base = py.import("slackwater.controller")?.getattr("Controller")?;
    let policies = py.import("slackwater.policy")?.getattr("Policy")?;
    let taken =
        |e: slackwater_lab::control::registry::BadName| PyValueError::new_err(e.to_string());
    let mut plugins = Plugins::new();
    for item in controllers.items()? {
        let (name, class): (String, Bound<'_, PyAny>) = item.extract()?;
        if class.is_instance(&policies)? {
            let plugin = policy::plugin(&name, &class, raised)?;
            plugins = plugins.with_controller(plugin).map_err(taken)?;
            continue;
        }
        let wrong = || {
            PyTypeError::new_err(format!(
                "controllers[{name:?}]: found {class}, expected a class derived from slackwater.Controller, or a slackwater.Policy"
            ))
        };
        let class = class.cast::<PyType>().map_err(|_| wrong())?;
        if !class.is_subclass(&base)? {
            return Err(wrong());
        }
        let media: bool = class.getattr("media")?.extract()?;
        let hears = Hears::of(class, &base)?;
        let about = class.name()?.to_string();
        let (made, kept, own) = (class.clone().unbind(), raised.clone(), name.clone());
        let make = move |config: &Config, parameters: &str| {
            let built = Python::attach(|py| {
                PyController::new(
                    py,
                    made.bind(py),
                    own.clone(),
                    hears,
                    kept.clone(),
                    config,
                    parameters,
                )
            });
            built.map_err(|error| {
                let text = error.to_string();
                kept.keep(error);
                text
            })
        };
        let plugin = if media {
            Plugin::media_with_parameters(&name, &about, move |config, parameters| {
                Ok(Box::new(PyMedia(make(config, parameters)?)))
            })
        } else {
            Plugin::with_parameters(&name, &about, move |config, parameters| {
                Ok(Box::new(make(config, parameters)?))
            })
        };
        plugins = plugins.with_controller(plugin).map_err(taken)?;
    }
    Ok(plugins)
}

/// One flow's controller.
struct PyController {
    object: Py<PyAny>,
    name: String,
    hears: Hears,
    media: bool,
    takes_reports: bool,
    takes_blocks: bool,
    takes_counters: bool,
    intent: Intent,
    timer: Option<Instant>,
    mss: u64,
    raised: Raised,
}

impl fmt::Debug for PyController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PyController({:?})", self.name)
    }
}

/// The number that attribute `name` holds; `None` where it is None.
fn number(
    object: &Bound<'_, PyAny>,
    name: &Bound<'_, pyo3::types::PyString>,
) -> PyResult<Option<f64>> {
    let value = object.getattr(name)?;
    if value.is_none() {
        return Ok(None);
    }
    let found = value.extract::<f64>();
    match found {
        Ok(n) if n.is_finite() && n >= 0.0 => Ok(Some(n)),
        _ => Err(PyValueError::new_err(format!(
            "{}.{name}: found {}, expected None or a number that is finite and not negative",
            object.get_type().name()?,
            value.repr()?,
        ))),
    }
}

/// The value of attribute `name` among those of `known`.
fn choice<T: Copy>(object: &Bound<'_, PyAny>, name: &str, known: &[(&str, T)]) -> PyResult<T> {
    let value = object.getattr(name)?;
    let text = value.extract::<String>().unwrap_or_default();
    let found = known.iter().find(|k| k.0 == text);
    found.map(|k| k.1).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|k| k.0).collect();
        PyValueError::new_err(format!(
            "{name}: found {value:?}, expected one of {}",
            names.join(", ")
        ))
    })
}

impl PyController {
    fn new(
        py: Python<'_>,
        class: &Bound<'_, PyType>,
        name: String,
        hears: Hears,
        raised: Raised,
        config: &Config,
        parameters: &str,
    ) -> PyResult<Self> {
        let shown = Py::new(py, samples::Config::from(config))?;
        let object = if parameters.is_empty() {
            class.call1((shown,))?
        } else {
            class.call1((shown, parameters))?
        };
        let ecn = [
            ("off", EcnMode::Off),
            ("classic", EcnMode::Classic),
            ("l4s", EcnMode::L4s),
            ("dctcp", EcnMode::Dctcp),
        ];
        let recovery = [
            ("prr", RecoveryMode::Prr),
            ("controller", RecoveryMode::Controller),
        ];
        let intent = Intent {
            burst: Bytes(number(&object, intern!(py, "burst"))?.unwrap_or(0.0) as u64),
            ecn: choice(&object, "ecn", &ecn)?,
            recovery: choice(&object, "recovery", &recovery)?,
            ..Intent::default()
        };
        let mut new = Self {
            name,
            hears,
            media: object.getattr("media")?.extract()?,
            takes_reports: object.getattr("takes_reports")?.extract()?,
            takes_blocks: object.getattr("takes_blocks")?.extract()?,
            takes_counters: object.getattr("takes_counters")?.extract()?,
            intent,
            timer: None,
            mss: u64::from(config.mss),
            raised,
            object: object.clone().unbind(),
        };
        new.read(Instant::ZERO, &object)?;
        Ok(new)
    }

    /// Reads what the object wants now.
    fn read(&mut self, now: Instant, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = object.py();
        let bytes = |n: f64| Bytes(n as u64);
        let rate = |n: f64| Rate::from_bps(n as u64);
        let window = number(object, intern!(py, "window"))?;
        // A law of every controller: at least one segment.
        self.intent.window = window.map(|n| Bytes((n as u64).max(self.mss)));
        self.intent.ssthresh = number(object, intern!(py, "ssthresh"))?.map(bytes);
        self.intent.pacing = number(object, intern!(py, "pacing"))?.map(rate);
        if self.media {
            self.intent.target = number(object, intern!(py, "target"))?.map(rate);
            let padding = number(object, intern!(py, "padding"))?;
            self.intent.padding = padding.map_or(Rate::ZERO, rate);
        }
        let timer = number(object, intern!(py, "timer"))?;
        // A timer that lies in the past rings soon, and time goes on.
        let soon = now + Duration::from_micros(1);
        self.timer = timer.map(|s| Instant::from_nanos((s * 1e9) as u64).max(soon));
        Ok(())
    }

    /// Calls a method and reads what the object wants afterwards; nothing any more after an exception.
    fn call(
        &mut self,
        now: Instant,
        event: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<()>,
    ) {
        if self.raised.is_some() {
            return;
        }
        let told = Python::attach(|py| {
            let object = self.object.clone_ref(py).into_bound(py);
            event(py, &object)?;
            self.read(now, &object)
        });
        if let Err(error) = told {
            self.timer = None;
            self.raised.keep(error);
        }
    }
}

impl Controller for PyController {
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        if self.hears.on_sent {
            self.call(now, |py, object| {
                let told = (
                    now.as_secs_f64(),
                    samples::Path::from(path),
                    samples::Sent::from(sent),
                );
                object.call_method1(intern!(py, "on_sent"), told).map(drop)
            });
        }
    }

    fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        self.mss = u64::from(path.mss).max(1);
        if self.hears.on_ack {
            self.call(now, |py, object| {
                let told = (
                    now.as_secs_f64(),
                    samples::Path::from(path),
                    samples::Ack::from(ack),
                );
                object.call_method1(intern!(py, "on_ack"), told).map(drop)
            });
        }
    }

    fn on_congestion(&mut self, now: Instant, path: &PathView, event: &CongestionEvent) {
        self.call(now, |py, object| {
            let told = (
                now.as_secs_f64(),
                samples::Path::from(path),
                samples::CongestionEvent::from(event),
            );
            object
                .call_method1(intern!(py, "on_congestion"), told)
                .map(drop)
        });
    }

    fn on_undo(&mut self, now: Instant, path: &PathView) {
        if self.hears.on_undo {
            self.call(now, |py, object| {
                let told = (now.as_secs_f64(), samples::Path::from(path));
                object.call_method1(intern!(py, "on_undo"), told).map(drop)
            });
        }
    }

    fn on_recovered(&mut self, now: Instant, path: &PathView) {
        if self.hears.on_recovered {
            self.call(now, |py, object| {
                let told = (now.as_secs_f64(), samples::Path::from(path));
                object
                    .call_method1(intern!(py, "on_recovered"), told)
                    .map(drop)
            });
        }
    }

    fn takes_reports(&self) -> bool {
        self.takes_reports
    }

    fn takes_blocks(&self) -> bool {
        self.takes_blocks
    }

    fn takes_counters(&self) -> bool {
        self.takes_counters
    }

    fn on_report(&mut self, now: Instant, path: &PathView, report: &PathReport) {
        if self.hears.on_report {
            self.call(now, |py, object| {
                let report = samples::report(py, report)?;
                let told = (now.as_secs_f64(), samples::Path::from(path), report);
                object
                    .call_method1(intern!(py, "on_report"), told)
                    .map(drop)
            });
        }
    }

    fn on_timer(&mut self, now: Instant, path: &PathView) {
        self.timer = None;
        if self.hears.on_timer {
            self.call(now, |py, object| {
                object.setattr(intern!(py, "timer"), py.None())?;
                let told = (now.as_secs_f64(), samples::Path::from(path));
                object.call_method1(intern!(py, "on_timer"), told).map(drop)
            });
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        self.timer
    }

    fn intent(&self) -> Intent {
        self.intent
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        if !self.hears.snapshot || self.raised.is_some() {
            return;
        }
        let told = Python::attach(|py| -> PyResult<()> {
            let values = self.object.bind(py).call_method0(intern!(py, "snapshot"))?;
            for item in values.cast::<PyMapping>()?.items()? {
                let (name, value): (String, f64) = item.extract()?;
                out.push((lasting(&name), value));
            }
            Ok(())
        });
        if let Err(error) = told {
            self.raised.keep(error);
        }
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.copied())
    }
}

impl PyController {
    /// A copy whose object is a deep copy.
    fn copied(&self) -> Self {
        let copy = Python::attach(|py| {
            let copied = py
                .import("copy")
                .and_then(|copy| copy.call_method1("deepcopy", (self.object.bind(py),)));
            copied.and_then(|object| object.into_py_any(py))
        });
        let object = copy.unwrap_or_else(|error| {
            self.raised.keep(error);
            Python::attach(|py| self.object.clone_ref(py))
        });
        Self {
            object,
            name: self.name.clone(),
            hears: self.hears,
            media: self.media,
            takes_reports: self.takes_reports,
            takes_blocks: self.takes_blocks,
            takes_counters: self.takes_counters,
            intent: self.intent,
            timer: self.timer,
            mss: self.mss,
            raised: self.raised.clone(),
        }
    }
}

/// The controller of one media flow.
#[derive(Debug)]
struct PyMedia(PyController);

impl MediaController for PyMedia {
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        self.0.on_sent(now, path, sent);
    }

    fn on_feedback(&mut self, now: Instant, path: &PathView, feedback: &Feedback<'_>) {
        if self.0.hears.on_feedback {
            self.0.call(now, |py, object| {
                let feedback = samples::Feedback::new(py, feedback)?;
                let told = (now.as_secs_f64(), samples::Path::from(path), feedback);
                object
                    .call_method1(intern!(py, "on_feedback"), told)
                    .map(drop)
            });
        }
    }

    fn takes_reports(&self) -> bool {
        self.0.takes_reports
    }

    fn on_report(&mut self, now: Instant, path: &PathView, report: &PathReport) {
        self.0.on_report(now, path, report);
    }

    fn on_timer(&mut self, now: Instant, path: &PathView) {
        self.0.on_timer(now, path);
    }

    fn next_timer(&self) -> Option<Instant> {
        self.0.timer
    }

    fn intent(&self) -> Intent {
        self.0.intent
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        self.0.snapshot(out);
    }

    fn name(&self) -> &str {
        &self.0.name
    }

    fn clone_box(&self) -> Box<dyn MediaController> {
        Box::new(Self(self.0.copied()))
    }
}
