//! The encodings of values in pages.
//!
//! Source: <https://parquet.apache.org/docs/file-format/data-pages/encodings/>; section names below are that page's.

use crate::thrift::{varint, zigzag};

/// "Run Length Encoding / Bit-Packing Hybrid (RLE = 3)": long runs as a count and a value, the rest bit by bit.
pub(crate) fn hybrid(out: &mut Vec<u8>, values: &[u32], width: u32) {
    let mut literals: Vec<u32> = Vec::new();
    let mut rest = values;
    while let Some(&value) = rest.first() {
        let run = rest.iter().take_while(|next| **next == value).count();
        if run >= GROUP {
            put_literals(out, &mut literals, width);
            varint(out, (run as u64) << 1);
            out.extend_from_slice(&value.to_le_bytes()[..width.div_ceil(8) as usize]);
            rest = &rest[run..];
        } else {
            let (group, after) = rest.split_at(rest.len().min(GROUP));
            literals.extend_from_slice(group);
            rest = after;
        }
    }
    put_literals(out, &mut literals, width);
}

/// Groups of eight values; the last group may be short, and is padded with zeros.
fn put_literals(out: &mut Vec<u8>, literals: &mut Vec<u32>, width: u32) {
    if !literals.is_empty() {
        let groups = literals.len().div_ceil(GROUP);
        varint(out, (groups as u64) << 1 | 1);
        literals.resize(groups * GROUP, 0);
        pack(out, literals.iter().map(|value| u64::from(*value)), width);
        literals.clear();
    }
}

/// Values of `width` bits each, from the lowest bit of the first byte on. They are put together in words of 64 bits:
/// wider arithmetic is slow on some machines, WebAssembly among them.
fn pack(out: &mut Vec<u8>, values: impl Iterator<Item = u64>, width: u32) {
    let (mut word, mut held): (u64, u32) = (0, 0);
    for value in values {
        word |= value << held;
        let room = u64::BITS - held;
        if width < room {
            held += width;
            continue;
        }
        out.extend_from_slice(&word.to_le_bytes());
        // The bits of the value that the full word did not take.
        word = value.checked_shr(room).unwrap_or(0);
        held = width - room;
    }
    out.extend_from_slice(&word.to_le_bytes()[..held.div_ceil(u8::BITS) as usize]);
}

/// "Delta Encoding (DELTA_BINARY_PACKED = 5)" of numbers of `bits` bits, 32 or 64: differences wrap at that width.
pub(crate) fn deltas(out: &mut Vec<u8>, values: &[i64], bits: u32) {
    varint(out, BLOCK as u64);
    varint(out, (BLOCK / MINIBLOCK) as u64);
    varint(out, values.len() as u64);
    varint(out, zigzag(values.first().copied().unwrap_or(0)));
    let narrow = |delta: i64| if bits == 32 { i64::from(delta as i32) } else { delta };
    let steps: Vec<i64> = values.windows(2).map(|pair| narrow(pair[1].wrapping_sub(pair[0]))).collect();
    for block in steps.chunks(BLOCK) {
        put_block(out, block, bits);
    }
}

/// The smallest difference, then the excess of each difference over it, in miniblocks as wide as their largest value.
fn put_block(out: &mut Vec<u8>, steps: &[i64], bits: u32) {
    let least = steps.iter().copied().min().unwrap_or(0);
    varint(out, zigzag(least));
    let mask = u64::MAX >> (64 - bits);
    let above: Vec<u64> = steps.iter().map(|step| step.wrapping_sub(least) as u64 & mask).collect();
    let width = |values: &[u64]| 64 - values.iter().fold(0, |all, value| all | value).leading_zeros();
    let mut widths = [0_u8; BLOCK / MINIBLOCK];
    for (place, miniblock) in widths.iter_mut().zip(above.chunks(MINIBLOCK)) {
        *place = width(miniblock) as u8;
    }
    out.extend_from_slice(&widths);
    for (width, miniblock) in widths.iter().zip(above.chunks(MINIBLOCK)) {
        let filled = miniblock.iter().copied().chain(std::iter::repeat(0)).take(MINIBLOCK);
        pack(out, filled, u32::from(*width));
    }
}

/// "Plain (PLAIN = 0)" of booleans: one bit each.
pub(crate) fn booleans(out: &mut Vec<u8>, values: impl Iterator<Item = bool>) {
    pack(out, values.map(u64::from), 1);
}

/// "Plain" of a text: its length, then its bytes.
pub(crate) fn text(out: &mut Vec<u8>, value: &str) {
    out.extend_from_slice(&(value.len() as u32).to_le_bytes());
    out.extend_from_slice(value.as_bytes());
}

/// Number of values packed together, and number of equal values that form a run.
const GROUP: usize = 8;

/// "the block size is a multiple of 128", "the number of values in each miniblock is a multiple of 32".
const BLOCK: usize = 128;
const MINIBLOCK: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_format_is_packed_as_it_shows() {
        let mut out = Vec::new();
        pack(&mut out, 0..8, 3);
        assert_eq!(out, [0b1000_1000, 0b1100_0110, 0b1111_1010]);
    }

    #[test]
    fn values_of_any_width_follow_each_other_bit_by_bit() {
        for width in 1..=64 {
            let value = |place: u64| (place + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - width);
            let mut out = Vec::new();
            pack(&mut out, (0..23).map(value), width);
            let bit = |at: u32| out[at as usize / 8] >> (at % 8) & 1;
            let read =
                |place: u32| (0..width).map(|at| u64::from(bit(place * width + at)) << at).sum::<u64>();
            assert!((0..23).all(|place| read(place) == value(u64::from(place))), "width {width}");
            assert_eq!(out.len() as u32, (23 * width).div_ceil(8));
        }
    }

    #[test]
    fn long_runs_are_counted_and_the_rest_is_packed() {
        let mut out = Vec::new();
        hybrid(&mut out, &[[1; 9].as_slice(), &[0, 1, 0]].concat(), 1);
        assert_eq!(out, [9 << 1, 1, 1 << 1 | 1, 0b010]);
    }

    #[test]
    fn numbers_in_even_steps_take_no_bits() {
        let mut out = Vec::new();
        deltas(&mut out, &[7, 5, 3, 1, -1], 64);
        assert_eq!(out, [128, 1, 4, 5, 14, 3, 0, 0, 0, 0]);
    }

    #[test]
    fn steps_of_32_bit_numbers_wrap() {
        let mut out = Vec::new();
        deltas(&mut out, &[i64::from(i32::MIN), i64::from(i32::MAX)], 32);
        // One step of -1.
        assert_eq!(out[out.len() - 5..], [1, 0, 0, 0, 0]);
    }
}
