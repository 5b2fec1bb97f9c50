//! Options of blocks: code, length, value, padded to four bytes.

use crate::source::{Endian, Fields};

use super::code;

/// Appends one option, little-endian. A value over 65,535 bytes is cut: it is a comment.
pub(super) fn put(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(&(value.len() as u16).to_le_bytes());
    out.extend_from_slice(value);
    pad(out);
}

/// Appends a text, unless it is empty; a text that is too long is cut at a character boundary.
pub(super) fn put_text(out: &mut Vec<u8>, code: u16, text: &str) {
    if !text.is_empty() {
        let longest = text.len().min(usize::from(u16::MAX));
        let whole = (0..=longest).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        put(out, code, &text.as_bytes()[..whole]);
    }
}

/// Ends the options, if there are any after `start`.
pub(super) fn end(out: &mut Vec<u8>, start: usize) {
    if out.len() > start {
        put(out, code::END, &[]);
    }
}

/// Fills up to a multiple of four bytes.
pub(super) fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
}

/// The options that `fields` holds: codes and values. Ends where they make no sense any more.
pub(super) fn read(mut fields: Fields<'_>) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let code = fields.u16().filter(|code| *code != code::END)?;
        let len = usize::from(fields.u16()?);
        let value = fields.bytes(len)?;
        fields.bytes(len.next_multiple_of(4) - len);
        Some((code, value))
    })
}

/// The text of a value; invalid UTF-8 is marked.
pub(super) fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

/// The number that a value is.
pub(super) fn number(value: &[u8], endian: Endian) -> Option<u64> {
    let mut fields = Fields::new(value, endian);
    match value.len() {
        1 => Some(u64::from(value[0])),
        4 => fields.u32().map(u64::from),
        8 => fields.u64(),
        _ => None,
    }
}
