//! From an Arrow array to the pages of a column chunk.

use std::collections::BTreeMap;
use std::io;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_schema::{DataType, Field};

use crate::codes::{encodings, physical};
use crate::encoding;
use crate::thrift;

/// A column of a file.
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) nullable: bool,
}

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Boolean,
    UInt32,
    UInt64,
    Int64,
    Double,
    Text,
}

/// The pages of one column of a row group.
pub(crate) struct Pages {
    pub(crate) bytes: Vec<u8>,
    /// Length of the dictionary's page in bytes; 0 without one.
    pub(crate) dictionary: usize,
    pub(crate) encoding: i32,
}

/// Types of pages (`PageType`).
const DATA_PAGE: i32 = 0;
const DICTIONARY_PAGE: i32 = 2;

impl Column {
    /// # Errors
    /// If [`Kind`] has no member for the type of the field.
    pub(crate) fn of(field: &Field) -> io::Result<Self> {
        let kind = match field.data_type() {
            DataType::Boolean => Kind::Boolean,
            DataType::UInt32 => Kind::UInt32,
            DataType::UInt64 => Kind::UInt64,
            DataType::Int64 => Kind::Int64,
            DataType::Float64 => Kind::Double,
            DataType::Utf8 => Kind::Text,
            other => {
                let fault = format!("column {:?}: {other} is not written to Parquet", field.name());
                return Err(io::Error::new(io::ErrorKind::Unsupported, fault));
            }
        };
        Ok(Self { name: field.name().clone(), kind, nullable: field.is_nullable() })
    }

    /// The pages that hold an array.
    pub(crate) fn pages(&self, array: &ArrayRef) -> Pages {
        let mut body = Vec::new();
        if self.nullable {
            put_definition_levels(&mut body, array);
        }
        let (encoding, dictionary) = self.put_values(&mut body, array);
        let mut bytes = Vec::new();
        if let Some((entries, page)) = dictionary {
            put_page(&mut bytes, DICTIONARY_PAGE, &page, |header| {
                header.structure(7, |dictionary| {
                    dictionary.i32(1, entries as i32);
                    dictionary.i32(2, encodings::PLAIN);
                });
            });
        }
        let dictionary = bytes.len();
        put_page(&mut bytes, DATA_PAGE, &body, |header| {
            header.structure(5, |data| {
                data.i32(1, array.len() as i32);
                data.i32(2, encoding);
                data.i32(3, encodings::RLE);
                data.i32(4, encodings::RLE);
            });
        });
        Pages { bytes, dictionary, encoding }
    }

    /// Appends the values that are not null; gives their encoding, and their dictionary if they have one.
    fn put_values(&self, out: &mut Vec<u8>, array: &ArrayRef) -> (i32, Option<Dictionary>) {
        match self.kind {
            Kind::Boolean => {
                encoding::booleans(out, array.as_boolean().iter().flatten());
                (encodings::PLAIN, None)
            }
            Kind::Double => {
                let values = array.as_primitive::<Float64Type>().iter().flatten();
                out.extend(values.flat_map(f64::to_le_bytes));
                (encodings::PLAIN, None)
            }
            Kind::UInt32 => put_integers::<UInt32Type>(out, array, |value| i64::from(value as i32), 32),
            Kind::UInt64 => put_integers::<UInt64Type>(out, array, |value| value as i64, 64),
            Kind::Int64 => put_integers::<Int64Type>(out, array, |value| value, 64),
            Kind::Text => put_texts(out, array),
        }
    }

    /// The physical type, and the logical one where it says more (`ConvertedType`).
    pub(crate) const fn types(&self) -> (i32, Option<i32>) {
        match self.kind {
            Kind::Boolean => (physical::BOOLEAN, None),
            Kind::UInt32 => (physical::INT32, Some(13)),
            Kind::UInt64 => (physical::INT64, Some(14)),
            Kind::Int64 => (physical::INT64, None),
            Kind::Double => (physical::DOUBLE, None),
            Kind::Text => (physical::BYTE_ARRAY, Some(0)),
        }
    }
}

/// Number of texts, and a page of them.
type Dictionary = (usize, Vec<u8>);

fn put_integers<T: ArrowPrimitiveType>(
    out: &mut Vec<u8>,
    array: &ArrayRef,
    signed: impl Fn(T::Native) -> i64,
    bits: u32,
) -> (i32, Option<Dictionary>) {
    let values: Vec<i64> = array.as_primitive::<T>().iter().flatten().map(signed).collect();
    encoding::deltas(out, &values, bits);
    (encodings::DELTA_BINARY_PACKED, None)
}

/// Texts as indices into a dictionary, in order of appearance; or plain, if most of them differ.
fn put_texts(out: &mut Vec<u8>, array: &ArrayRef) -> (i32, Option<Dictionary>) {
    let texts = || array.as_string::<i32>().iter().flatten();
    let mut places = BTreeMap::new();
    let mut page = Vec::new();
    let mut used = Vec::with_capacity(array.len());
    for text in texts() {
        let next = places.len() as u32;
        used.push(*places.entry(text).or_insert_with(|| {
            encoding::text(&mut page, text);
            next
        }));
    }
    if places.len() > array.len() / 2 {
        texts().for_each(|text| encoding::text(out, text));
        return (encodings::PLAIN, None);
    }
    let width = (u32::BITS - (places.len() as u32).saturating_sub(1).leading_zeros()).max(1);
    out.push(width as u8);
    encoding::hybrid(out, &used, width);
    (encodings::RLE_DICTIONARY, Some((places.len(), page)))
}

/// For each value 1, or 0 for null. The length in bytes comes first.
fn put_definition_levels(out: &mut Vec<u8>, array: &ArrayRef) {
    let there: Vec<u32> = (0..array.len()).map(|row| u32::from(!array.is_null(row))).collect();
    let mut levels = Vec::new();
    encoding::hybrid(&mut levels, &there, 1);
    out.extend_from_slice(&(levels.len() as u32).to_le_bytes());
    out.append(&mut levels);
}

/// Appends a page and its header (`PageHeader`); `more` writes the fields of the page's type.
fn put_page(out: &mut Vec<u8>, page_type: i32, body: &[u8], more: impl FnOnce(&mut thrift::Fields<'_>)) {
    thrift::structure(out, |header| {
        header.i32(1, page_type);
        header.i32(2, body.len() as i32);
        header.i32(3, body.len() as i32);
        more(header);
    });
    out.extend_from_slice(body);
}
