//! The footer: a file's description of its columns and row groups (`FileMetaData` and below).

use crate::codes::encodings;
use crate::column::{Column, Pages};
use crate::thrift::{self, Fields};

/// One column of a row group, in the file.
pub(crate) struct Chunk {
    start: u64,
    dictionary: usize,
    bytes: usize,
    encoding: i32,
    values: usize,
}

/// A row group.
pub(crate) struct RowGroup {
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) rows: usize,
}

impl Chunk {
    /// The chunk of `pages` that begin at byte `start`.
    pub(crate) const fn new(pages: &Pages, start: u64, values: usize) -> Self {
        let (dictionary, bytes, encoding) = (pages.dictionary, pages.bytes.len(), pages.encoding);
        Self { start, dictionary, bytes, encoding, values }
    }

    /// `ColumnMetaData`.
    fn describe(&self, column: &Column, fields: &mut Fields<'_>) {
        fields.i32(1, column.types().0);
        fields.i32s(2, &[encodings::PLAIN, encodings::RLE, self.encoding]);
        fields.texts(3, &[&column.name]);
        fields.i32(4, UNCOMPRESSED);
        fields.i64(5, self.values as i64);
        fields.i64(6, self.bytes as i64);
        fields.i64(7, self.bytes as i64);
        fields.i64(9, self.start as i64 + self.dictionary as i64);
        if self.dictionary > 0 {
            fields.i64(11, self.start as i64);
        }
    }
}

impl RowGroup {
    fn describe(&self, columns: &[Column], fields: &mut Fields<'_>) {
        let chunks: Vec<(&Column, &Chunk)> = columns.iter().zip(&self.chunks).collect();
        fields.structures(1, &chunks, |(column, chunk), fields| {
            fields.i64(2, chunk.start as i64);
            fields.structure(3, |fields| chunk.describe(column, fields));
        });
        fields.i64(2, self.chunks.iter().map(|chunk| chunk.bytes as i64).sum());
        fields.i64(3, self.rows as i64);
    }
}

/// The footer of a file.
pub(crate) fn bytes(columns: &[Column], groups: &[RowGroup]) -> Vec<u8> {
    let mut out = Vec::new();
    thrift::structure(&mut out, |file| {
        file.i32(1, FORMAT_VERSION);
        let root: [Option<&Column>; 1] = [None];
        let elements: Vec<Option<&Column>> = root.into_iter().chain(columns.iter().map(Some)).collect();
        file.structures(2, &elements, |element, fields| match element {
            None => {
                fields.text(4, "schema");
                fields.i32(5, columns.len() as i32);
            }
            Some(column) => describe_column(column, fields),
        });
        file.i64(3, groups.iter().map(|group| group.rows as i64).sum());
        file.structures(4, groups, |group, fields| group.describe(columns, fields));
        file.text(6, concat!("lasthop version ", env!("CARGO_PKG_VERSION")));
    });
    out
}

/// `SchemaElement`.
fn describe_column(column: &Column, fields: &mut Fields<'_>) {
    let (physical, logical) = column.types();
    fields.i32(1, physical);
    fields.i32(3, i32::from(column.nullable));
    fields.text(4, &column.name);
    if let Some(logical) = logical {
        fields.i32(6, logical);
    }
}

/// Readers that know version 2 also know the encodings that came with it.
const FORMAT_VERSION: i32 = 2;

/// `CompressionCodec`.
const UNCOMPRESSED: i32 = 0;
