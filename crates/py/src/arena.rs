//! Tasks of the arena, for `slackwater.arena`.

use std::sync::OnceLock;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use slackwater_lab::arena::{Options, Plan, Task, work};
use slackwater_lab::run::Control;

/// Runs one task (JSON) of the published set; returns its row as a line of JSON.
#[pyfunction]
pub(crate) fn arena_task(py: Python<'_>, task: &str) -> PyResult<String> {
    static PLAN: OnceLock<Plan> = OnceLock::new();
    let wrong = |e: &dyn core::fmt::Display| PyValueError::new_err(e.to_string());
    let task: Task = serde_json::from_str(task).map_err(|e| wrong(&e))?;
    let row = py.detach(|| {
        let plan = PLAN.get_or_init(|| Plan::new(&Options::default()).expect("the published set"));
        work(plan, &task, &mut |_| Control::Continue, &mut |_| {})
    });
    let row = row.map_err(|e| wrong(&e))?;
    serde_json::to_string(&row).map_err(|e| wrong(&e))
}
