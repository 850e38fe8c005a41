//! Between Python's values and JSON, by Python's own `json` module.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

/// JSON text as dicts, lists, texts and numbers.
pub(crate) fn to_python<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (text,))
}

/// What Python's `json` makes of `value`; it raises `TypeError` for what JSON cannot hold.
pub(crate) fn from_python(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let options = PyDict::new(value.py());
    options.set_item("allow_nan", false)?;
    let text: String = value
        .py()
        .import("json")?
        .call_method("dumps", (value,), Some(&options))?
        .extract()?;
    serde_json::from_str(&text).map_err(|error| PyValueError::new_err(error.to_string()))
}
