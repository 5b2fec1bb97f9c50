//! The bytes of CRYPTO frames in order (RFC 9000 §19.6).

use std::collections::BTreeMap;

/// What TLS sends at one level in one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct CryptoStream {
    in_order: Vec<u8>,
    ahead: BTreeMap<u64, Vec<u8>>,
    kept: usize,
}

impl CryptoStream {
    /// Takes the data of a frame. Returns whether more is in order than before.
    pub(crate) fn add(&mut self, offset: u64, data: &[u8]) -> bool {
        let before = self.in_order.len();
        if offset > before as u64 {
            if self.kept + data.len() <= MOST {
                self.kept += data.len();
                self.ahead.insert(offset, data.to_vec());
            }
            return false;
        }
        self.append(offset, data);
        while let Some(entry) = self.ahead.first_entry()
            && *entry.key() <= self.in_order.len() as u64
        {
            let (offset, data) = entry.remove_entry();
            self.append(offset, &data);
        }
        self.in_order.len() > before
    }

    /// The bytes from the first that have no gap.
    pub(crate) fn in_order(&self) -> &[u8] {
        &self.in_order
    }

    fn append(&mut self, offset: u64, data: &[u8]) {
        let known = self.in_order.len() - offset as usize;
        let room = MOST.saturating_sub(self.in_order.len());
        let new = data.get(known..).unwrap_or_default();
        self.in_order.extend_from_slice(&new[..new.len().min(room)]);
    }
}

/// More than hellos and certificate chains need; bounds the memory of a connection.
const MOST: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_in_any_order_and_with_overlaps_give_the_bytes() {
        let mut stream = CryptoStream::default();
        assert!(!stream.add(4, b"efgh"));
        assert!(!stream.add(2, b"cdef"));
        assert!(stream.add(0, b"abc"));
        assert_eq!(stream.in_order(), b"abcdefgh");
        assert!(!stream.add(1, b"bc") && stream.add(7, b"hi"));
        assert_eq!(stream.in_order(), b"abcdefghi");
    }

    #[test]
    fn a_stream_without_end_is_bounded() {
        let mut stream = CryptoStream::default();
        stream.add(u64::MAX, &[0; 10]);
        for place in 0..100 {
            stream.add(place * 1000, &[0; 1000]);
        }
        assert_eq!(stream.in_order().len(), MOST);
    }
}
