//! A table row by row.

use std::collections::VecDeque;

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::column::value;

/// What goes through the rows of a table once.
#[pyclass(module = "slackwater")]
pub(crate) struct Rows {
    /// What is left.
    batches: VecDeque<RecordBatch>,
    /// The next row of the first batch.
    next: usize,
}

impl Rows {
    pub(crate) fn of(batches: &[RecordBatch]) -> Self {
        Self {
            batches: batches.iter().cloned().collect(),
            next: 0,
        }
    }
}

#[pymethods]
impl Rows {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        while let Some(batch) = self.batches.front() {
            if self.next < batch.num_rows() {
                let row = PyDict::new(py);
                for (field, part) in batch.schema_ref().fields().iter().zip(batch.columns()) {
                    row.set_item(field.name(), value(py, part, self.next)?)?;
                }
                self.next += 1;
                return Ok(Some(row));
            }
            self.batches.pop_front();
            self.next = 0;
        }
        Ok(None)
    }
}
