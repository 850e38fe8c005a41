//! What there is to choose from.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use slackwater_lab::control::registry;
use slackwater_scenario::Scenario;
use slackwater_scenario::{embedded, reference};

use crate::json::to_python;

/// Embedded scenarios: name and what each shows.
#[pyfunction]
pub(crate) fn scenarios(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let names = PyDict::new(py);
    for (name, text) in embedded::ALL {
        let scenario = Scenario::from_toml(text, ".").expect("embedded scenarios are tested");
        names.set_item(*name, scenario.title.unwrap_or_default())?;
    }
    Ok(names)
}

/// Controllers: name and what each is.
#[pyfunction]
pub(crate) fn controllers(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let names = PyDict::new(py);
    for (name, what) in registry::names() {
        names.set_item(name, what)?;
    }
    Ok(names)
}

/// The JSON Schema of scenario files.
#[pyfunction]
pub(crate) fn schema(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    to_python(py, &reference::json_schema().to_string())
}
