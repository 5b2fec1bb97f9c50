//! Builds a table column by column.
//!
//! All whole numbers are signed and have 64 bits, because readers subtract them, and a negative difference of unsigned
//! numbers wraps in pandas and polars.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{Field, Schema};
use units::{Duration, Instant};

/// The columns so far.
#[derive(Default)]
pub struct Columns {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl Columns {
    /// A column of whole numbers, which may be negative.
    #[must_use]
    pub fn i64(self, name: &str, values: impl Iterator<Item = i64>) -> Self {
        self.add(name, Int64Array::from_iter_values(values), false)
    }

    /// A column of counts. Counts above 2^63 − 1 are written as that number.
    #[must_use]
    pub fn u64(self, name: &str, values: impl Iterator<Item = u64>) -> Self {
        self.i64(name, values.map(signed))
    }

    /// The same, with nulls.
    #[must_use]
    pub fn maybe_u64(self, name: &str, values: impl Iterator<Item = Option<u64>>) -> Self {
        let values = values.map(|value| value.map(signed));
        self.add(name, values.collect::<Int64Array>(), true)
    }

    /// A column of counts below 2^32.
    #[must_use]
    pub fn u32(self, name: &str, values: impl Iterator<Item = u32>) -> Self {
        self.i64(name, values.map(i64::from))
    }

    /// A column of numbers, with nulls.
    #[must_use]
    pub fn maybe_f64(self, name: &str, values: impl Iterator<Item = Option<f64>>) -> Self {
        self.add(name, values.collect::<Float64Array>(), true)
    }

    /// A column of numbers.
    #[must_use]
    pub fn f64(self, name: &str, values: impl Iterator<Item = f64>) -> Self {
        self.add(name, Float64Array::from_iter_values(values), false)
    }

    /// A column of yes and no.
    #[must_use]
    pub fn boolean(self, name: &str, values: impl Iterator<Item = bool>) -> Self {
        self.add(name, values.map(Some).collect::<BooleanArray>(), false)
    }

    /// The same, with nulls.
    #[must_use]
    pub fn maybe_boolean(self, name: &str, values: impl Iterator<Item = Option<bool>>) -> Self {
        self.add(name, values.collect::<BooleanArray>(), true)
    }

    /// Nanoseconds since the start of the run.
    #[must_use]
    pub fn time(self, name: &str, values: impl Iterator<Item = Instant>) -> Self {
        let nanos = values.map(|at| at.as_nanos() as i64);
        self.add(name, Int64Array::from_iter_values(nanos), false)
    }

    /// The same, with nulls.
    #[must_use]
    pub fn maybe_time(self, name: &str, values: impl Iterator<Item = Option<Instant>>) -> Self {
        let nanos = values.map(|at| at.map(|at| at.as_nanos() as i64));
        self.add(name, nanos.collect::<Int64Array>(), true)
    }

    /// Nanoseconds.
    #[must_use]
    pub fn length(self, name: &str, values: impl Iterator<Item = Duration>) -> Self {
        let nanos = values.map(|length| length.as_nanos() as i64);
        self.add(name, Int64Array::from_iter_values(nanos), false)
    }

    /// The same, with nulls.
    #[must_use]
    pub fn maybe_length(self, name: &str, values: impl Iterator<Item = Option<Duration>>) -> Self {
        let nanos = values.map(|length| length.map(|length| length.as_nanos() as i64));
        self.add(name, nanos.collect::<Int64Array>(), true)
    }

    /// A column of texts.
    #[must_use]
    pub fn text<S: AsRef<str>>(self, name: &str, values: impl Iterator<Item = S>) -> Self {
        self.add(name, StringArray::from_iter_values(values), false)
    }

    /// The same, with nulls.
    #[must_use]
    pub fn maybe_text<S: AsRef<str>>(self, name: &str, values: impl Iterator<Item = Option<S>>) -> Self {
        self.add(name, values.collect::<StringArray>(), true)
    }

    /// The table.
    ///
    /// # Panics
    /// If the columns differ in their number of rows.
    #[must_use]
    pub fn finish(self) -> RecordBatch {
        RecordBatch::try_new(Arc::new(Schema::new(self.fields)), self.arrays)
            .expect("every column has a value for every row")
    }

    fn add(mut self, name: &str, array: impl arrow_array::Array + 'static, nullable: bool) -> Self {
        self.fields.push(Field::new(name, array.data_type().clone(), nullable));
        self.arrays.push(Arc::new(array));
        self
    }
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
