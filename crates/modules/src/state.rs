//! The variables of a module's own state, `icsk_ca_priv`, read from its bytes.

use std::sync::Arc;

use crate::interface::PRIVATE;

/// The struct that a module keeps in `icsk_ca_priv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The name of the struct.
    pub name: String,
    /// Its numbers, in the order of the file: those of structs within it as "clock.start", of short arrays as "rtt[0]".
    pub variables: Vec<Variable>,
}

/// A number in the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: Arc<str>,
    /// Its first bit, from the begin of the struct.
    pub(crate) bit: usize,
    /// Its number of bits, 64 at most.
    pub(crate) bits: usize,
    pub(crate) signed: bool,
}

impl State {
    /// The values of the variables. Whole numbers above 2^53 are rounded.
    pub(crate) fn read(&self, bytes: &[u8; PRIVATE]) -> Vec<(Arc<str>, f64)> {
        self.variables.iter().map(|variable| (Arc::clone(&variable.name), variable.read(bytes))).collect()
    }
}

impl Variable {
    /// Its value; the bytes are in the order of a little-endian machine.
    fn read(&self, bytes: &[u8; PRIVATE]) -> f64 {
        let (first, shift) = (self.bit / 8, self.bit % 8);
        // Nine bytes, of which a number that begins within a byte may have the last.
        let wide =
            bytes.iter().skip(first).take(9).rev().fold(0, |wide: u128, byte| wide << 8 | u128::from(*byte));
        let unused = 64 - self.bits;
        let value = ((wide >> shift) as u64) << unused;
        if self.signed { (value.cast_signed() >> unused) as f64 } else { (value >> unused) as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_their_bits() {
        let mut bytes = [0; PRIVATE];
        bytes[..4].copy_from_slice(&(-5_i32).to_le_bytes());
        bytes[4] = 0b1011_0110;
        bytes[8..16].copy_from_slice(&(1_u64 << 40).to_le_bytes());
        let read = |bit, bits, signed| Variable { name: Arc::from("it"), bit, bits, signed }.read(&bytes);
        assert_eq!((read(0, 32, true), read(0, 8, false)), (-5.0, 251.0));
        assert_eq!((read(33, 3, false), read(36, 4, true), read(32, 1, false)), (3.0, -5.0, 0.0));
        assert_eq!(read(64, 64, false), (1_u64 << 40) as f64);
        assert_eq!(read(8 * PRIVATE - 8, 8, false), 0.0);
    }
}
