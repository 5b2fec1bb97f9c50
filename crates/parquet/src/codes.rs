//! Numbers of physical types and encodings in the format.

/// Physical types (`Type`).
pub(crate) mod physical {
    pub(crate) const BOOLEAN: i32 = 0;
    pub(crate) const INT32: i32 = 1;
    pub(crate) const INT64: i32 = 2;
    pub(crate) const DOUBLE: i32 = 5;
    pub(crate) const BYTE_ARRAY: i32 = 6;
}

/// Encodings (`Encoding`).
pub(crate) mod encodings {
    pub(crate) const PLAIN: i32 = 0;
    pub(crate) const RLE: i32 = 3;
    pub(crate) const DELTA_BINARY_PACKED: i32 = 5;
    pub(crate) const RLE_DICTIONARY: i32 = 8;
}
