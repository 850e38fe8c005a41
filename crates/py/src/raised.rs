//! Exceptions of controllers written in Python.

use std::sync::{Arc, Mutex};

use pyo3::PyErr;

/// The first exception that a controller raised: it ends the run and is what the caller sees.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    pub(crate) fn keep(&self, error: PyErr) {
        if let Ok(mut first) = self.0.lock() {
            first.get_or_insert(error);
        }
    }

    pub(crate) fn is_some(&self) -> bool {
        self.0.lock().is_ok_and(|first| first.is_some())
    }

    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().ok()?.take()
    }
}
