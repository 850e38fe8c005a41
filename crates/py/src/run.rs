//! `slackwater.run`: one simulation, with the interpreter free to go on meanwhile.

use std::path::{Path, PathBuf};

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyTypeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyMapping, PyString};
use slackwater_lab::run::{Control, RunError, RunResult, run_scenario};
use slackwater_report::render;
use slackwater_report::view;
use slackwater_results::metrics::RunSummary;
use slackwater_results::output::frame::frames;
use slackwater_results::output::{OutputError, summary_json, write_run};
use slackwater_results::record::RunRecorder;
use slackwater_scenario::embedded::embedded;
use slackwater_scenario::{Plugins, Scenario, ScenarioError};

use crate::columns;
use crate::controller::plugins;
use crate::error::{build_error, scenario_error};
use crate::json::{from_python, to_python};
use crate::raised::Raised;
use crate::table::Table;

/// The results of one simulation.
///
/// Tables are made when they are first asked for: a sweep that reads summaries does not pay for them.
#[pyclass(frozen, module = "slackwater")]
pub(crate) struct Run {
    scenario: Scenario,
    summary: RunSummary,
    records: RunRecorder,
    /// By position in [`TABLES`].
    tables: [PyOnceLock<Py<Table>>; TABLES.len()],
}

/// Names of the tables, as those of the Parquet files.
const TABLES: [&str; 7] = [
    "flows",
    "links",
    "throughput",
    "internals",
    "transfers",
    "events",
    "packets",
];

impl Run {
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Py<Table>> {
        let place = TABLES
            .iter()
            .position(|t| *t == name)
            .expect("getters ask for tables that there are");
        self.tables[place]
            .get_or_try_init(py, || {
                let table = py.detach(|| {
                    let parts = frames(&self.records).into_iter().find(|(n, _)| *n == name);
                    columns::table(parts.into_iter().flat_map(|(_, parts)| parts))
                });
                Py::new(py, table)
            })
            .map(|table| table.clone_ref(py))
    }
}

#[pymethods]
impl Run {
    /// The scenario's name.
    #[getter]
    fn name(&self) -> &str {
        &self.scenario.name
    }

    /// The seed that every random draw came from.
    #[getter]
    fn seed(&self) -> u64 {
        self.scenario.seed
    }

    /// The metrics, as in `summary.json`.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &summary_json(&self.summary))
    }

    /// The scenario with every default filled in.
    #[getter]
    fn scenario<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.scenario.to_json().to_string())
    }

    /// Senders over time: a row a flow and sample.
    #[getter]
    fn flows(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.table(py, "flows")
    }

    /// Queues of links and bearers over time: a row a queue and sample.
    #[getter]
    fn links(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.table(py, "links")
    }

    /// What arrived and how long it queued: a row a flow and tenth of a second.
    #[getter]
    fn throughput(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.table(py, "throughput")
    }

    /// Controllers' named internals over time: a row a flow, sample and name.
    #[getter]
    fn internals(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.table(py, "internals")
    }

    /// Finite transfers that ended: a row a transfer.
    #[getter]
    fn transfers(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.table(py, "transfers")
    }

    /// Drops, marks and retransmissions, the first so many: a row an event.
    #[getter]
    fn events(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.table(py, "events")
    }

    /// Packets: a row an event; empty unless the scenario sets `record.packets`.
    #[getter]
    fn packets(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.table(py, "packets")
    }

    fn __repr__(&self) -> String {
        format!(
            "<slackwater.Run: {}, seed {}>",
            self.scenario.name, self.scenario.seed
        )
    }
}

/// How far a run is.
#[pyclass(frozen, get_all, module = "slackwater")]
pub(crate) struct Progress {
    /// Simulated seconds so far.
    simulated: f64,
    /// Simulated seconds in all.
    duration: f64,
    /// Share that is done, 0 to 1.
    fraction: f64,
}

#[pymethods]
impl Progress {
    fn __repr__(&self) -> String {
        format!(
            "<slackwater.Progress: {} s of {} s>",
            self.simulated, self.duration
        )
    }
}

/// Simulate one scenario.
///
/// `scenario` is a file, the name of an embedded scenario, or a dict of the file's shape. `seed` replaces the
/// scenario's; `changes` sets keys; `controllers` adds classes derived from `Controller` under names. The interpreter lock is released while the simulation runs; `progress` is called a
/// few dozen times a second. An exception that it raises ends the run and comes out here, and so does
/// `KeyboardInterrupt`. With `out` the run also writes the folder that `slackwater run` writes.
#[pyfunction]
#[expect(
    clippy::needless_pass_by_value,
    reason = "PyO3 hands arguments over by value"
)]
#[pyo3(signature = (scenario, *, seed = None, changes = None, controllers = None, progress = None, out = None))]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    seed: Option<&Bound<'_, PyAny>>,
    changes: Option<&Bound<'_, PyMapping>>,
    controllers: Option<&Bound<'_, PyMapping>>,
    progress: Option<Py<PyAny>>,
    out: Option<PathBuf>,
) -> PyResult<Run> {
    // What a controller raises.
    let failed = Raised::default();
    let plugins = controllers.map(|c| plugins(c, &failed)).transpose()?;
    let loaded = load(scenario, changes, &plugins.unwrap_or_default());
    if let Some(error) = failed.take() {
        return Err(error);
    }
    let mut scenario = loaded?;
    if let Some(given) = seed {
        scenario.seed = seed_of(given)?;
    }
    let duration = scenario.duration.as_secs_f64();

    // The first exception: it ends the run and is what the caller sees.
    let mut raised: Option<PyErr> = None;
    let mut listen = |fraction: f64| {
        Python::attach(|py| {
            if let Some(error) = failed.take() {
                raised = Some(error);
                return Control::Stop;
            }
            let told = py.check_signals().and_then(|()| match &progress {
                None => Ok(()),
                Some(callback) => {
                    let progress = Progress {
                        simulated: fraction * duration,
                        duration,
                        fraction,
                    };
                    callback.call1(py, (progress,)).map(drop)
                }
            });
            match told {
                Ok(()) => Control::Continue,
                Err(error) => {
                    raised = Some(error);
                    Control::Stop
                }
            }
        })
    };
    let finished = py.detach(|| run_scenario(&scenario, scenario.seed, &mut listen));
    if let Some(error) = raised.or_else(|| failed.take()) {
        return Err(error);
    }
    let result = finished.map_err(|error| match error {
        RunError::Build(error) => build_error(py, &error),
        RunError::Interrupted => PyRuntimeError::new_err("the run was stopped"),
    })?;
    if let Some(out) = &out {
        py.detach(|| write(&result, out))
            .map_err(|error| PyOSError::new_err(error.to_string()))?;
    }

    Ok(Run {
        scenario,
        summary: result.summary,
        records: result.records,
        tables: std::array::from_fn(|_| PyOnceLock::new()),
    })
}

/// The seed that Python gives: one that every file format of ours can hold (TOML's integers have a sign).
fn seed_of(given: &Bound<'_, PyAny>) -> PyResult<u64> {
    let number: Option<u64> = given.extract().ok();
    if let Some(seed) = number.filter(|n| i64::try_from(*n).is_ok()) {
        return Ok(seed);
    }
    let (found, most) = (given.repr()?.to_string(), i64::MAX);
    let expected = format!("a whole number from 0 to {most}");
    let error = ScenarioError::new("seed", found, expected);
    Err(scenario_error(given.py(), &error))
}

/// What errors in `changes` name as their source.
const CHANGES: &str = "changes";

/// The scenario that Python named or described, with `changes` made.
fn load(
    source: &Bound<'_, PyAny>,
    changes: Option<&Bound<'_, PyMapping>>,
    plugins: &Plugins,
) -> PyResult<Scenario> {
    let py = source.py();
    let wrong = |error: ScenarioError| scenario_error(py, &error);
    let changes = match changes {
        Some(changes) => {
            let items = changes.items()?;
            let items = items.iter().map(|item| {
                let (key, value): (String, Bound<'_, PyAny>) = item.extract()?;
                // A number, a text or a list of them reads the same in JSON and in TOML.
                Ok((key, from_python(&value)?.to_string()))
            });
            items.collect::<PyResult<Vec<_>>>()?
        }
        None => Vec::new(),
    };
    let mut scenario = if let Ok(mapping) = source.cast::<PyMapping>() {
        let mut scenario = Scenario::from_json(&from_python(mapping)?, ".").map_err(wrong)?;
        for (key, value) in &changes {
            scenario = scenario.with(key, value).map_err(|mut e| {
                CHANGES.clone_into(&mut e.file);
                wrong(e)
            })?;
        }
        scenario
    } else if let Ok(path) = source.extract::<PathBuf>() {
        let name = source.cast::<PyString>().map(ToString::to_string);
        match name
            .ok()
            .filter(|_| !path.exists())
            .and_then(|n| Some((embedded(&n)?, n)))
        {
            Some((text, name)) => {
                Scenario::parse_changed(&name, &text, Path::new("."), &changes, CHANGES)
                    .map_err(wrong)?
            }
            None => Scenario::load_changed(&path, &changes, CHANGES).map_err(wrong)?,
        }
    } else {
        return Err(PyTypeError::new_err(format!(
            "found {}, expected a path, the name of an embedded scenario or a dict",
            source.get_type().name()?
        )));
    };
    scenario = scenario.with_plugins(plugins);
    if !scenario.vary.is_empty() {
        let said = c"[vary] describes several runs; this runs the scenario as written (`slackwater compare` runs them all)";
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), said, 1)?;
    }
    scenario.check_controllers().map_err(wrong)?;
    Ok(scenario)
}

/// Writes what `slackwater run` writes.
fn write(result: &RunResult, out: &Path) -> Result<(), OutputError> {
    write_run(out, &result.scenario, &result.summary, &result.records)?;
    let page = render(&view::report(
        std::slice::from_ref(result),
        "slackwater.run",
    ));
    let path = out.join("report.html");
    std::fs::write(&path, page).map_err(|source| OutputError::File { path, source })
}
