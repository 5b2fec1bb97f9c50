//! Parts of headers that may be cut off.

use super::NotIp;

/// The bytes after a header of `len` bytes.
pub(super) fn after(bytes: &[u8], len: usize) -> Result<&[u8], NotIp> {
    bytes.get(len..).ok_or(NotIp::CutOff)
}

/// The two bytes at `place`, in network order.
pub(super) fn field(bytes: &[u8], place: usize) -> Result<u16, NotIp> {
    let two = bytes.get(place..place + 2).ok_or(NotIp::CutOff)?;
    Ok(u16::from_be_bytes([two[0], two[1]]))
}
