//! Tables that Python libraries take over without a copy.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyCapsule;
use slackwater_scenario::error::nearest;

use crate::column::Column;
use crate::rows::Rows;

/// A table of a run's results.
///
/// It speaks the Arrow `PyCapsule` interface: `polars.DataFrame(table)`, `pyarrow.table(table)` and others read the
/// buffers where they lie. The buffers are immutable and counted, so a data frame outlives the table it came from.
#[pyclass(frozen, module = "slackwater")]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Arc<[RecordBatch]>,
    rows: usize,
}

impl Table {
    /// A table of `batches`, which all have `schema`.
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self {
            schema,
            rows: batches.iter().map(RecordBatch::num_rows).sum(),
            batches: batches.into(),
        }
    }
}

#[pymethods]
impl Table {
    /// Number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.rows
    }

    /// Names of the columns; each ends in its unit.
    #[getter]
    fn column_names(&self) -> Vec<&str> {
        self.schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect()
    }

    /// Names of the columns, as data frames call them.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.column_names()
    }

    /// The column called `name`.
    fn __getitem__(&self, name: &str) -> PyResult<Column> {
        let at = self.schema.index_of(name).map_err(|_| {
            let names = self.column_names();
            let expected = match nearest(name, names.iter().copied()) {
                Some(near) => format!("{near:?}?"),
                None => format!("one of {}", names.join(", ")),
            };
            PyKeyError::new_err(format!("found {name:?}, expected {expected}"))
        })?;
        Ok(Column::of(name, &self.batches, at))
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        let name = name.extract::<PyBackedStr>();
        name.is_ok_and(|name| self.schema.index_of(&name).is_ok())
    }

    /// Row by row, each a dict.
    fn __iter__(&self) -> Rows {
        Rows::of(&self.batches)
    }

    /// The Arrow C stream of this table; `requested_schema` is a wish that the interface lets a producer ignore.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        // Cloning a batch counts references; the buffers stay where they are.
        let batches: Vec<Result<RecordBatch, ArrowError>> =
            self.batches.iter().cloned().map(Ok).collect();
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The Arrow C schema of this table.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// A `polars.DataFrame` over the same buffers.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.call_method1("DataFrame", (slf,))
    }

    /// A `pyarrow.Table` over the same buffers.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    /// A `pandas.DataFrame`; pandas copies what its own types cannot hold.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::to_arrow(slf)?.call_method0("to_pandas")
    }

    fn __len__(&self) -> usize {
        self.rows
    }

    fn __repr__(&self) -> String {
        format!(
            "<slackwater.Table: {} rows of {}>",
            self.rows,
            self.column_names().join(", ")
        )
    }
}
