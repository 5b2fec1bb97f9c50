//! Tables, handed over through the Arrow C data interface.

use std::path::PathBuf;

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchIterator};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::Failure;
use crate::files;

/// One recorded table; `pyarrow.table(it)` takes it over without copying.
#[pyclass(frozen, module = "lasthop._native")]
pub(crate) struct Table(RecordBatch);

impl Table {
    pub(crate) const fn new(batch: RecordBatch) -> Self {
        Self(batch)
    }
}

#[pymethods]
impl Table {
    /// A capsule of the Arrow PyCapsule interface. The schema that a consumer asks for is a wish, and not followed.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), STREAM)
    }
}

/// Writes a table of a run (anything with `__arrow_c_stream__`) as a Parquet file: the bytes that the run itself
/// writes.
#[pyfunction]
pub(crate) fn write_table(table: &Bound<'_, PyAny>, path: PathBuf) -> Result<(), Failure> {
    Ok(files::write_table(&path, &batches(table)?)?)
}

/// The batches of a table: anything with `__arrow_c_stream__`.
pub(crate) fn batches(table: &Bound<'_, PyAny>) -> PyResult<Vec<RecordBatch>> {
    let capsule = table.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>().map_err(PyErr::from)?;
    let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: by the Arrow PyCapsule interface, a capsule of this name holds a valid stream, which is moved out.
    let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) };
    let batches: Result<Vec<_>, _> = reader.and_then(Iterator::collect);
    batches.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The name that the interface gives to capsules of streams.
const STREAM: &std::ffi::CStr = c"arrow_array_stream";
