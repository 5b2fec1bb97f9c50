//! A table put together column by column.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{Field, Schema};
use units::{Duration, Instant};

/// The columns so far.
#[derive(Default)]
pub(super) struct Columns {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl Columns {
    pub(super) fn u64(self, name: &str, values: impl Iterator<Item = u64>) -> Self {
        self.add(name, UInt64Array::from_iter_values(values), false)
    }

    pub(super) fn maybe_u64(self, name: &str, values: impl Iterator<Item = Option<u64>>) -> Self {
        self.add(name, values.collect::<UInt64Array>(), true)
    }

    pub(super) fn u32(self, name: &str, values: impl Iterator<Item = u32>) -> Self {
        self.add(name, UInt32Array::from_iter_values(values), false)
    }

    pub(super) fn maybe_f64(self, name: &str, values: impl Iterator<Item = Option<f64>>) -> Self {
        self.add(name, values.collect::<Float64Array>(), true)
    }

    pub(super) fn f64(self, name: &str, values: impl Iterator<Item = f64>) -> Self {
        self.add(name, Float64Array::from_iter_values(values), false)
    }

    pub(super) fn boolean(self, name: &str, values: impl Iterator<Item = bool>) -> Self {
        self.add(name, values.map(Some).collect::<BooleanArray>(), false)
    }

    pub(super) fn maybe_boolean(self, name: &str, values: impl Iterator<Item = Option<bool>>) -> Self {
        self.add(name, values.collect::<BooleanArray>(), true)
    }

    /// Nanoseconds since the start of the run.
    pub(super) fn time(self, name: &str, values: impl Iterator<Item = Instant>) -> Self {
        let nanos = values.map(|at| at.as_nanos() as i64);
        self.add(name, Int64Array::from_iter_values(nanos), false)
    }

    pub(super) fn maybe_time(self, name: &str, values: impl Iterator<Item = Option<Instant>>) -> Self {
        let nanos = values.map(|at| at.map(|at| at.as_nanos() as i64));
        self.add(name, nanos.collect::<Int64Array>(), true)
    }

    /// Nanoseconds.
    pub(super) fn length(self, name: &str, values: impl Iterator<Item = Duration>) -> Self {
        let nanos = values.map(|length| length.as_nanos() as i64);
        self.add(name, Int64Array::from_iter_values(nanos), false)
    }

    pub(super) fn maybe_length(self, name: &str, values: impl Iterator<Item = Option<Duration>>) -> Self {
        let nanos = values.map(|length| length.map(|length| length.as_nanos() as i64));
        self.add(name, nanos.collect::<Int64Array>(), true)
    }

    pub(super) fn text<S: AsRef<str>>(self, name: &str, values: impl Iterator<Item = S>) -> Self {
        self.add(name, StringArray::from_iter_values(values), false)
    }

    pub(super) fn maybe_text<S: AsRef<str>>(
        self,
        name: &str,
        values: impl Iterator<Item = Option<S>>,
    ) -> Self {
        self.add(name, values.collect::<StringArray>(), true)
    }

    pub(super) fn finish(self) -> RecordBatch {
        RecordBatch::try_new(Arc::new(Schema::new(self.fields)), self.arrays)
            .expect("every column has a value for every row")
    }

    fn add(mut self, name: &str, array: impl arrow_array::Array + 'static, nullable: bool) -> Self {
        self.fields.push(Field::new(name, array.data_type().clone(), nullable));
        self.arrays.push(Arc::new(array));
        self
    }
}
