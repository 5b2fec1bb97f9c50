//! Tables of a result as columns in memory: numbers, yes and no, and texts by their place among the distinct ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;

/// Nanoseconds of a second.
pub(crate) const SECOND: f64 = 1e9;

/// Why a table cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The result is of another version of lasthop.
    #[error("the table {table:?} has no column {column:?}")]
    MissingColumn {
        /// The table.
        table: String,
        /// The column.
        column: &'static str,
    },
    /// The column has a type that no table of lasthop has.
    #[error("the column {column:?} of the table {table:?} has the type {found}, which is not known here")]
    UnknownType {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// Its type.
        found: DataType,
    },
}

/// The place of no text.
const NULL: u32 = u32::MAX;

/// A column of texts: the place of each row's text among the distinct ones, [`NULL`] where it is null.
#[derive(Debug, Default)]
struct Texts {
    places: Vec<u32>,
    distinct: Vec<String>,
}

#[derive(Debug)]
enum Column {
    /// NaN where it is null. Exact for whole numbers below 2^53.
    Numbers(Vec<f64>),
    Flags(Vec<Option<bool>>),
    Texts(Texts),
}

/// A table whose columns are decoded.
#[derive(Debug, Default)]
pub struct Table {
    columns: BTreeMap<String, Column>,
    rows: usize,
}

/// The tables of a result, by name.
pub type Tables = BTreeMap<String, Table>;

impl Table {
    /// Decodes the batches of a table, except columns that are not among `wanted`.
    ///
    /// # Errors
    /// If a column has a type that no table of lasthop has.
    pub fn new(name: &str, batches: &[RecordBatch], wanted: &[&str]) -> Result<Self, TableError> {
        let mut columns = BTreeMap::new();
        let fields = batches.first().map(RecordBatch::schema).map(|schema| schema.fields().clone());
        for (place, field) in
            fields.iter().flatten().enumerate().filter(|(_, field)| wanted.contains(&field.name().as_str()))
        {
            let arrays: Vec<_> = batches.iter().map(|batch| Arc::clone(batch.column(place))).collect();
            let column = decoded(&arrays, field.data_type()).ok_or_else(|| TableError::UnknownType {
                table: name.into(),
                column: field.name().clone(),
                found: field.data_type().clone(),
            })?;
            columns.insert(field.name().clone(), column);
        }
        Ok(Self { columns, rows: batches.iter().map(RecordBatch::num_rows).sum() })
    }

    /// Checks that the table has these columns.
    pub(crate) fn require(&self, table: &str, columns: &[&'static str]) -> Result<(), TableError> {
        let missing = columns.iter().find(|column| self.rows > 0 && !self.columns.contains_key(**column));
        missing.map_or(Ok(()), |column| Err(TableError::MissingColumn { table: table.into(), column }))
    }

    /// All rows.
    pub(crate) fn all(&self) -> Rows<'_> {
        Rows { table: self, rows: (0..self.rows).map(|row| row as u32).collect() }
    }
}

fn decoded(arrays: &[Arc<dyn Array>], of: &DataType) -> Option<Column> {
    let all = || arrays.iter().map(AsRef::as_ref);
    Some(match of {
        DataType::Int64 => Column::Numbers(
            all()
                .flat_map(|array| array.as_primitive::<Int64Type>().iter())
                .map(|one| one.map_or(f64::NAN, |n| n as f64))
                .collect(),
        ),
        DataType::Float64 => Column::Numbers(
            all()
                .flat_map(|array| array.as_primitive::<Float64Type>().iter())
                .map(|one| one.unwrap_or(f64::NAN))
                .collect(),
        ),
        DataType::Boolean => Column::Flags(all().flat_map(|array| array.as_boolean().iter()).collect()),
        DataType::Utf8 => Column::Texts(texts(all().flat_map(|array| array.as_string::<i32>().iter()))),
        DataType::Dictionary(key, value) if **key == DataType::Int32 && **value == DataType::Utf8 => {
            Column::Texts(texts_of_dictionaries(all()))
        }
        DataType::Null => Column::Numbers(vec![f64::NAN; all().map(Array::len).sum()]),
        _ => return None,
    })
}

fn texts<'a>(rows: impl Iterator<Item = Option<&'a str>>) -> Texts {
    let mut known = Known::default();
    let places = rows.map(|row| row.map_or(NULL, |text| known.place(text))).collect();
    Texts { places, distinct: known.distinct }
}

/// The texts of columns that have each text once already: a comparison of texts for each row would take longer than
/// all else.
fn texts_of_dictionaries<'a>(arrays: impl Iterator<Item = &'a dyn Array>) -> Texts {
    let mut known = Known::default();
    let mut places = Vec::new();
    for array in arrays.map(AsArray::as_dictionary::<Int32Type>) {
        let values = array.values().as_string::<i32>();
        let of_values: Vec<u32> =
            values.iter().map(|value| value.map_or(NULL, |text| known.place(text))).collect();
        places.extend(array.keys().iter().map(|key| key.map_or(NULL, |key| of_values[key as usize])));
    }
    Texts { places, distinct: known.distinct }
}

/// The different texts so far, and the place of each.
#[derive(Default)]
struct Known<'a> {
    places: BTreeMap<&'a str, u32>,
    distinct: Vec<String>,
}

impl<'a> Known<'a> {
    fn place(&mut self, text: &'a str) -> u32 {
        *self.places.entry(text).or_insert_with(|| {
            self.distinct.push(text.into());
            self.distinct.len() as u32 - 1
        })
    }
}

/// Some rows of a table, in their order. A column that the table does not have is null in every row.
#[derive(Clone, Debug)]
pub(crate) struct Rows<'a> {
    table: &'a Table,
    rows: Vec<u32>,
}

impl<'a> Rows<'a> {
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn has(&self, column: &str) -> bool {
        self.table.columns.contains_key(column)
    }

    /// A number per row; NaN where it is null.
    pub(crate) fn numbers(&self, column: &str) -> Vec<f64> {
        match self.table.columns.get(column) {
            Some(Column::Numbers(all)) => self.rows.iter().map(|row| all[*row as usize]).collect(),
            _ => vec![f64::NAN; self.len()],
        }
    }

    /// A time per row in seconds, from a column of nanoseconds; NaN where it is null.
    pub(crate) fn seconds(&self, column: &str) -> Vec<f64> {
        self.numbers(column).into_iter().map(|nanos| nanos / SECOND).collect()
    }

    /// Yes or no per row; no where it is null.
    pub(crate) fn flags(&self, column: &str) -> Vec<bool> {
        self.maybe_flags(column).into_iter().map(|flag| flag == Some(true)).collect()
    }

    /// Yes, no or unknown per row.
    pub(crate) fn maybe_flags(&self, column: &str) -> Vec<Option<bool>> {
        match self.table.columns.get(column) {
            Some(Column::Flags(all)) => self.rows.iter().map(|row| all[*row as usize]).collect(),
            _ => vec![None; self.len()],
        }
    }

    /// A text per row; empty where it is null.
    pub(crate) fn texts(&self, column: &str) -> Vec<&'a str> {
        match self.table.columns.get(column) {
            Some(Column::Texts(all)) => {
                let text = |row: &u32| {
                    all.distinct.get(all.places[*row as usize] as usize).map_or("", String::as_str)
                };
                self.rows.iter().map(text).collect()
            }
            _ => vec![""; self.len()],
        }
    }

    /// The rows in which the column is not null.
    pub(crate) fn known(&self, column: &str) -> Vec<bool> {
        match self.table.columns.get(column) {
            None => vec![false; self.len()],
            Some(Column::Numbers(all)) => self.rows.iter().map(|row| !all[*row as usize].is_nan()).collect(),
            Some(Column::Flags(all)) => self.rows.iter().map(|row| all[*row as usize].is_some()).collect(),
            Some(Column::Texts(all)) => {
                self.rows.iter().map(|row| all.places[*row as usize] != NULL).collect()
            }
        }
    }

    /// The rows in which a column has one of some texts, none of which is empty.
    pub(crate) fn among(&self, column: &str, wanted: &[&str]) -> Vec<bool> {
        let Some(Column::Texts(all)) = self.table.columns.get(column) else { return vec![false; self.len()] };
        let places: Vec<bool> = all.distinct.iter().map(|text| wanted.contains(&text.as_str())).collect();
        let is = |row: &u32| places.get(all.places[*row as usize] as usize) == Some(&true);
        self.rows.iter().map(is).collect()
    }

    /// Only the rows that have a text in a column.
    pub(crate) fn equal(&self, column: &str, text: &str) -> Self {
        let Some(Column::Texts(all)) = self.table.columns.get(column) else { return self.none() };
        let Some(place) = all.distinct.iter().position(|one| one == text) else { return self.none() };
        let rows =
            self.rows.iter().copied().filter(|row| all.places[*row as usize] == place as u32).collect();
        Self { table: self.table, rows }
    }

    fn none(&self) -> Self {
        Self { table: self.table, rows: Vec::new() }
    }

    /// Only the rows that are marked.
    pub(crate) fn marked(&self, marks: &[bool]) -> Self {
        let rows = self.rows.iter().zip(marks).filter(|(_, mark)| **mark).map(|(row, _)| *row).collect();
        Self { table: self.table, rows }
    }

    /// Only the rows at some places, in the order of these.
    pub(crate) fn at(&self, places: &[usize]) -> Self {
        Self { table: self.table, rows: places.iter().map(|place| self.rows[*place]).collect() }
    }

    /// The places of the rows of each number in a column, in the order of the numbers; all where there is no such
    /// column.
    pub(crate) fn groups(&self, column: &str) -> Vec<Vec<usize>> {
        if !self.has(column) {
            return vec![(0..self.len()).collect()];
        }
        let mut groups: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        let numbers: Vec<i64> = self.numbers(column).into_iter().map(|number| number as i64).collect();
        let mut place = 0;
        for same in numbers.chunk_by(|one, next| one == next) {
            groups.entry(same[0]).or_default().extend(place..place + same.len());
            place += same.len();
        }
        groups.into_values().collect()
    }

    /// The place of each row's text among the distinct ones of its column; [`NULL`] where it is null.
    fn codes(&self, column: &str) -> Vec<u32> {
        match self.table.columns.get(column) {
            Some(Column::Texts(all)) => self.rows.iter().map(|row| all.places[*row as usize]).collect(),
            _ => vec![NULL; self.len()],
        }
    }

    /// The different combinations of texts in some columns, in the order in which they come first, and the place of
    /// each row's among them.
    pub(crate) fn combinations<const N: usize>(&self, columns: [&str; N]) -> (Vec<[&'a str; N]>, Vec<usize>) {
        let codes = columns.map(|column| self.codes(column));
        let (mut known, mut last): (Vec<[u32; N]>, usize) = (Vec::new(), 0);
        let mut place = |row: usize| {
            let wanted = std::array::from_fn(|column| codes[column][row]);
            if known.get(last) != Some(&wanted) {
                last = known.iter().position(|one| *one == wanted).unwrap_or(known.len());
                if last == known.len() {
                    known.push(wanted);
                }
            }
            last
        };
        let places = (0..self.len()).map(&mut place).collect();
        let texts = |codes: &[u32; N]| std::array::from_fn(|at| self.text(columns[at], codes[at]));
        (known.iter().map(texts).collect(), places)
    }

    /// A text of a column by its place among the distinct ones.
    fn text(&self, column: &str, place: u32) -> &'a str {
        match self.table.columns.get(column) {
            Some(Column::Texts(all)) => all.distinct.get(place as usize).map_or("", String::as_str),
            _ => "",
        }
    }

    /// The texts of a column, each once, in the order in which they come first.
    pub(crate) fn distinct(&self, column: &str) -> Vec<&'a str> {
        self.combinations([column]).0.into_iter().map(|[text]| text).collect()
    }
}

/// Each value once, in the order in which they come first.
pub(crate) fn first_seen<T: PartialEq + Copy>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut found: Vec<T> = Vec::new();
    for value in values {
        if found.last() != Some(&value) && !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// The marks of both.
pub(crate) fn both(some: &[bool], others: &[bool]) -> Vec<bool> {
    some.iter().zip(others).map(|(one, other)| *one && *other).collect()
}

/// The marks that are not set.
pub(crate) fn not(marks: &[bool]) -> Vec<bool> {
    marks.iter().map(|mark| !mark).collect()
}

/// The places of the marks.
pub(crate) fn places(marks: &[bool]) -> Vec<usize> {
    marks.iter().enumerate().filter(|(_, mark)| **mark).map(|(place, _)| place).collect()
}
