//! Compact columns of numbers: differences of whole numbers as LEB128.
//!
//! Times are whole nanoseconds and sequence numbers whole bytes, which grow slowly: most differences fit into one to
//! three bytes. `web/src/packing.ts` reads them.

use serde::Serialize;

/// Bits of a number in each byte; the eighth says whether another byte follows (LEB128, as in DWARF).
const PAYLOAD_BITS: u32 = 7;

/// Collects columns. The view has the return value of [`Packer::add`] in place of the column.
#[derive(Debug, Default)]
pub struct Packer {
    bytes: Vec<u8>,
    /// The number of bytes before these.
    offset: usize,
}

/// The place of a column among the packed bytes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Packed {
    at: usize,
    bytes: usize,
    count: usize,
}

impl Packer {
    /// Collects columns that will follow `offset` bytes of others.
    #[must_use]
    pub const fn after(offset: usize) -> Self {
        Self { bytes: Vec::new(), offset }
    }

    /// Packs a column of whole numbers; others are rounded to the nearest.
    pub fn add(&mut self, column: impl IntoIterator<Item = f64>) -> Packed {
        let begin = self.bytes.len();
        let (mut last, mut count) = (0_i64, 0);
        for number in column {
            let whole = whole(number);
            self.write(zigzag(whole.wrapping_sub(last)));
            last = whole;
            count += 1;
        }
        Packed { at: self.offset + begin, bytes: self.bytes.len() - begin, count }
    }

    /// Packs a column of places.
    pub fn places(&mut self, column: impl IntoIterator<Item = usize>) -> Packed {
        self.add(column.into_iter().map(|place| place as f64))
    }

    /// Packs a column of yes and no, as 1 and 0.
    pub fn flags(&mut self, column: impl IntoIterator<Item = bool>) -> Packed {
        self.add(column.into_iter().map(|flag| f64::from(u8::from(flag))))
    }

    /// The bytes of all columns.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }

    /// Writes a number in as few bytes as possible, the lowest seven bits first.
    fn write(&mut self, mut number: u64) {
        while number >> PAYLOAD_BITS != 0 {
            self.bytes.push(number as u8 | 1 << PAYLOAD_BITS);
            number >>= PAYLOAD_BITS;
        }
        self.bytes.push(number as u8);
    }
}

/// The nearest whole number. Most are whole, and to round them takes longer than to see that.
fn whole(number: f64) -> i64 {
    let cut = number as i64;
    if cut as f64 == number { cut } else { number.round_ties_even() as i64 }
}

/// A signed number as an unsigned one of similar magnitude: 0, −1, 1, −2 become 0, 1, 2, 3 (zigzag).
const fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_take_one_byte_for_each_seven_bits() {
        let mut packer = Packer::default();
        let packed = packer.add([0.0, -1.0, 63.0, 64.5, 8255.0]);
        assert_eq!((packed.at, packed.count), (0, 5));
        assert_eq!(packer.finish(), [0, 1, 0x80, 1, 2, 0xfe, 0x7f]);
    }

    #[test]
    fn columns_follow_each_other() {
        let mut packer = Packer::default();
        packer.flags([true, false]);
        assert_eq!(packer.places([3]).at, 2);
    }
}
