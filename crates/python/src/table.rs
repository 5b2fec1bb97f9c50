//! Tables, handed over through the Arrow C data interface.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

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
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }
}
