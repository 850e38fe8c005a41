//! One column of a table, as values of Python and as an array of numpy.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyList, PySlice};

/// A column of a table of results: a sequence of numbers or texts. `None` stands where a number is missing.
#[pyclass(frozen, module = "slackwater")]
pub(crate) struct Column {
    /// Name in the table.
    name: String,
    /// The column of each batch, none of them empty.
    parts: Vec<ArrayRef>,
    /// Values in all parts.
    len: usize,
}

/// What goes through a column once.
#[pyclass(module = "slackwater")]
pub(crate) struct Values {
    column: Py<Column>,
    /// The part that the next value is in.
    part: usize,
    /// Its index there.
    at: usize,
}

/// The value at `at` of `part`, which is of one of the three types that tables have.
pub(crate) fn value<'py>(
    py: Python<'py>,
    part: &dyn Array,
    at: usize,
) -> PyResult<Bound<'py, PyAny>> {
    if part.is_null(at) {
        return Ok(py.None().into_bound(py));
    }
    if let Some(whole) = part.as_primitive_opt::<Int64Type>() {
        return whole.value(at).into_bound_py_any(py);
    }
    if let Some(number) = part.as_primitive_opt::<Float64Type>() {
        return number.value(at).into_bound_py_any(py);
    }
    let texts = part.as_dictionary::<UInt32Type>();
    let words = texts.values().as_string::<i32>();
    let word = words.value(texts.keys().value(at) as usize);
    word.into_bound_py_any(py)
}

impl Column {
    /// Column number `at` of `batches`.
    pub(crate) fn of(name: &str, batches: &[RecordBatch], at: usize) -> Self {
        let parts: Vec<ArrayRef> = batches.iter().map(|b| Arc::clone(b.column(at))).collect();
        Self {
            name: name.to_owned(),
            len: parts.iter().map(Array::len).sum(),
            parts,
        }
    }

    fn at<'py>(&self, py: Python<'py>, mut index: usize) -> PyResult<Bound<'py, PyAny>> {
        for part in &self.parts {
            if index < part.len() {
                return value(py, part, index);
            }
            index -= part.len();
        }
        Err(PyIndexError::new_err(format!(
            "{}: expected an index below {}",
            self.name, self.len
        )))
    }

    fn is_text(&self) -> bool {
        let first = self.parts.first();
        first.is_some_and(|p| p.as_dictionary_opt::<UInt32Type>().is_some())
    }
}

#[pymethods]
impl Column {
    /// Name in the table.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    fn __len__(&self) -> usize {
        self.len
    }

    /// A value, from the end where `index` is negative; a list of them for a slice.
    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(slice) = index.cast::<PySlice>() {
            let range = slice.indices(isize::try_from(self.len)?)?;
            let list = PyList::empty(py);
            for k in 0..range.slicelength {
                let place = range.start + k as isize * range.step;
                list.append(self.at(py, place.unsigned_abs())?)?;
            }
            return Ok(list.into_any());
        }
        let index: isize = index.extract()?;
        let from_end = || self.len.checked_sub(index.unsigned_abs());
        let place = usize::try_from(index).ok().or_else(from_end);
        self.at(py, place.unwrap_or(self.len))
    }

    fn __iter__(slf: Bound<'_, Self>) -> Values {
        Values {
            column: slf.unbind(),
            part: 0,
            at: 0,
        }
    }

    /// The values as a list.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for part in &self.parts {
            for at in 0..part.len() {
                list.append(value(py, part, at)?)?;
            }
        }
        Ok(list)
    }

    /// The values as an array of numpy; a missing number is NaN.
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let numpy = py.import("numpy")?;
        if self.is_text() {
            return numpy.call_method1("array", (self.to_list(py)?,));
        }
        let mut bytes = Vec::with_capacity(8 * self.len);
        let mut dtype = "float64";
        for part in &self.parts {
            if let Some(whole) = part.as_primitive_opt::<Int64Type>() {
                dtype = "int64";
                bytes.extend(whole.values().iter().flat_map(|v| v.to_ne_bytes()));
            } else {
                let numbers = part.as_primitive::<Float64Type>().iter();
                let numbers = numbers.map(|v| v.unwrap_or(f64::NAN));
                bytes.extend(numbers.flat_map(f64::to_ne_bytes));
            }
        }
        // One that may be written into, as of any library.
        numpy.call_method1("frombuffer", (PyByteArray::new(py, &bytes), dtype))
    }

    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            let wrong = "a column of Arrow buffers becomes an array by a copy";
            return Err(PyValueError::new_err(wrong));
        }
        let array = self.to_numpy(py)?;
        match dtype {
            Some(dtype) => array.call_method1("astype", (dtype,)),
            None => Ok(array),
        }
    }

    fn __repr__(&self) -> String {
        format!("<slackwater.Column: {}, {} values>", self.name, self.len)
    }
}

#[pymethods]
impl Values {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        while let Some(part) = self.column.get().parts.get(self.part) {
            if self.at < part.len() {
                self.at += 1;
                return value(py, part, self.at - 1).map(Some);
            }
            self.part += 1;
            self.at = 0;
        }
        Ok(None)
    }
}
