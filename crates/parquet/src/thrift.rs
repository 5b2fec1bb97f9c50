//! The compact protocol of Apache Thrift, as far as Parquet's headers and footer need it.
//!
//! Source: <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>.

/// Types of fields and elements.
mod kind {
    pub(super) const I32: u8 = 5;
    pub(super) const I64: u8 = 6;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const STRUCT: u8 = 12;
}

/// Writes the fields of one struct, in the order of their ids.
pub(crate) struct Fields<'a> {
    out: &'a mut Vec<u8>,
    last: u8,
}

/// Writes a struct with the fields that `write` writes.
pub(crate) fn structure(out: &mut Vec<u8>, write: impl FnOnce(&mut Fields<'_>)) {
    let mut fields = Fields { out, last: 0 };
    write(&mut fields);
    fields.out.push(STOP);
}

impl Fields<'_> {
    pub(crate) fn i32(&mut self, id: u8, value: i32) {
        self.begin(id, kind::I32);
        varint(self.out, zigzag(value.into()));
    }

    pub(crate) fn i64(&mut self, id: u8, value: i64) {
        self.begin(id, kind::I64);
        varint(self.out, zigzag(value));
    }

    pub(crate) fn text(&mut self, id: u8, value: &str) {
        self.begin(id, kind::BINARY);
        put_text(self.out, value);
    }

    pub(crate) fn structure(&mut self, id: u8, write: impl FnOnce(&mut Fields<'_>)) {
        self.begin(id, kind::STRUCT);
        structure(self.out, write);
    }

    pub(crate) fn i32s(&mut self, id: u8, values: &[i32]) {
        self.begin_list(id, kind::I32, values.len());
        for value in values {
            varint(self.out, zigzag((*value).into()));
        }
    }

    pub(crate) fn texts(&mut self, id: u8, values: &[&str]) {
        self.begin_list(id, kind::BINARY, values.len());
        for value in values {
            put_text(self.out, value);
        }
    }

    pub(crate) fn structures<T>(&mut self, id: u8, items: &[T], mut write: impl FnMut(&T, &mut Fields<'_>)) {
        self.begin_list(id, kind::STRUCT, items.len());
        for item in items {
            structure(self.out, |fields| write(item, fields));
        }
    }

    /// The head of a field: its distance from the one before, and its type.
    fn begin(&mut self, id: u8, kind: u8) {
        let distance = id - self.last;
        assert!((1..16).contains(&distance), "fields are written in the order of their ids");
        self.out.push(distance << 4 | kind);
        self.last = id;
    }

    fn begin_list(&mut self, id: u8, kind: u8, len: usize) {
        self.begin(id, kind::LIST);
        if len < LONG_LIST {
            self.out.push((len as u8) << 4 | kind);
        } else {
            self.out.push((LONG_LIST as u8) << 4 | kind);
            varint(self.out, len as u64);
        }
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Seven bits per byte, the lowest first; all bytes except the last have the high bit set.
pub(crate) fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Maps a signed number to an unsigned one, so that numbers near zero stay small.
pub(crate) const fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// Ends a struct.
const STOP: u8 = 0;

/// From this length on, the length of a list follows its header.
const LONG_LIST: usize = 15;
