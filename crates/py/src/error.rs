//! Errors as Python exceptions.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use slackwater_scenario::ScenarioError as Error;
use slackwater_scenario::build::BuildError;

pyo3::create_exception!(
    slackwater,
    ScenarioError,
    PyValueError,
    "A scenario is wrong: where, what was found and what was expected."
);

/// The exception for `error`, with its parts as attributes.
pub(crate) fn scenario_error(py: Python<'_>, error: &Error) -> PyErr {
    let exception = ScenarioError::new_err(error.to_string());
    let value = exception.value(py);
    let (line, column) = error.position.unzip();
    let set = || -> PyResult<()> {
        value.setattr("file", &error.file)?;
        value.setattr("line", line)?;
        value.setattr("column", column)?;
        value.setattr("key", &error.key)?;
        value.setattr("found", &error.found)?;
        value.setattr("expected", &error.expected)
    };
    match set() {
        Ok(()) => exception,
        Err(other) => other,
    }
}

/// The exception for a scenario whose parts contradict each other.
pub(crate) fn build_error(py: Python<'_>, error: &BuildError) -> PyErr {
    scenario_error(
        py,
        &Error::new("", error.to_string(), "parts that fit together"),
    )
}
