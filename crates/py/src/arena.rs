//! The arena for Python: its tasks, one run of them, and the table of what they left.

use std::sync::OnceLock;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyMapping;
use slackwater_lab::arena::{Options, Plan, Row, Table, Task, TaskError, work};
use slackwater_lab::run::Control;

use crate::controller::plugins;
use crate::raised::Raised;

fn wrong(e: &dyn core::fmt::Display) -> PyErr {
    PyValueError::new_err(e.to_string())
}

fn task(text: &str) -> PyResult<Task> {
    serde_json::from_str(text).map_err(|e| wrong(&e))
}

fn line(row: Result<Row, TaskError>) -> PyResult<String> {
    serde_json::to_string(&row.map_err(|e| wrong(&e))?).map_err(|e| wrong(&e))
}

/// Runs one task (JSON) of the published set; returns its row as a line of JSON.
#[pyfunction]
pub(crate) fn arena_task(py: Python<'_>, task: &str) -> PyResult<String> {
    static PLAN: OnceLock<Plan> = OnceLock::new();
    let task = self::task(task)?;
    line(py.detach(|| {
        let plan = PLAN.get_or_init(|| Plan::new(&Options::default()).expect("the published set"));
        work(plan, &task, &mut |_| Control::Continue, &mut |_| {})
    }))
}

/// What an arena runs; the interpreter goes on while it does.
#[pyclass(frozen, module = "slackwater")]
pub(crate) struct ArenaPlan {
    plan: Plan,
    /// What a controller in Python raises.
    raised: Raised,
}

#[pymethods]
impl ArenaPlan {
    #[new]
    #[expect(
        clippy::too_many_arguments,
        reason = "the options of the command, by name"
    )]
    #[pyo3(signature = (*, cells, systems, also, seeds, first_seed, quick, drawn, controllers = None, program = ""))]
    fn new(
        cells: Vec<String>,
        systems: Vec<String>,
        also: Vec<String>,
        seeds: u64,
        first_seed: u64,
        quick: bool,
        drawn: Vec<String>,
        controllers: Option<&Bound<'_, PyMapping>>,
        program: &str,
    ) -> PyResult<Self> {
        let raised = Raised::default();
        let added = controllers.map(|c| plugins(c, &raised)).transpose()?;
        let drawn = drawn.into_iter().map(|d| d.parse());
        let options = Options {
            drawn: drawn
                .collect::<Result<_, String>>()
                .map_err(|e| PyValueError::new_err(format!("drawn: {e}")))?,
            seeds,
            first_seed,
            quick,
            cells,
            systems,
            also,
        };
        let plan = Plan::with_plugins(&options, &added.unwrap_or_default(), program);
        // What a class raised says more than the plan's complaint.
        if let Some(error) = raised.take() {
            return Err(error);
        }
        let plan = plan.map_err(|e| wrong(&e))?;
        Ok(Self { plan, raised })
    }

    /// The tasks, as lines of JSON.
    #[getter]
    fn tasks(&self) -> PyResult<Vec<String>> {
        let lines = self.plan.tasks.iter().map(serde_json::to_string);
        lines.collect::<Result<_, _>>().map_err(|e| wrong(&e))
    }

    /// What decides the result of a task: a row with another key is of another version or program.
    fn key(&self, task: &str) -> PyResult<String> {
        Ok(self.plan.key(&self::task(task)?))
    }

    /// Runs a task; returns its row as a line of JSON.
    fn work(&self, py: Python<'_>, task: &str) -> PyResult<String> {
        let task = self::task(task)?;
        let row = py.detach(|| {
            let mut go = |_| {
                if self.raised.is_some() {
                    Control::Stop
                } else {
                    Control::Continue
                }
            };
            work(&self.plan, &task, &mut go, &mut |_| {})
        });
        if let Some(error) = self.raised.take() {
            return Err(error);
        }
        line(row)
    }

    /// The table of `rows`, as JSON.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "PyO3 hands arguments over by value"
    )]
    fn table(&self, rows: Vec<String>) -> PyResult<String> {
        let rows = rows.iter().map(|row| serde_json::from_str(row));
        let rows: Vec<Row> = rows.collect::<Result<_, _>>().map_err(|e| wrong(&e))?;
        serde_json::to_string(&Table::new(&self.plan, &rows)).map_err(|e| wrong(&e))
    }
}
