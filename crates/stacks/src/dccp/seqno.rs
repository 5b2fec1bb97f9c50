//! Sequence numbers of 48 bits (RFC 4340 §7.1), which wrap.

/// A sequence number. It has no order of its own: one lies so far after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seqno(u64);

const BITS: u32 = 48;
const MASK: u64 = (1 << BITS) - 1;
/// Short sequence numbers (§7.6).
const SHORT_BITS: u32 = 24;
const SHORT_MASK: u64 = (1 << SHORT_BITS) - 1;

impl Seqno {
    pub(super) const fn new(number: u64) -> Self {
        Self(number & MASK)
    }

    pub(super) const fn number(self) -> u64 {
        self.0
    }

    pub(super) const fn plus(self, count: u64) -> Self {
        Self::new(self.0.wrapping_add(count))
    }

    pub(super) const fn minus(self, count: u64) -> Self {
        Self::new(self.0.wrapping_sub(count))
    }

    /// How far it lies after another, by the shorter way; negative where it lies before it.
    pub(super) const fn since(self, other: Self) -> i64 {
        let shift = u64::BITS - BITS;
        (self.0.wrapping_sub(other.0) << shift).cast_signed() >> shift
    }

    pub(super) const fn is_after(self, other: Self) -> bool {
        self.since(other) > 0
    }

    pub(super) const fn is_within(self, low: Self, high: Self) -> bool {
        self.since(low) >= 0 && high.since(self) >= 0
    }

    /// The later of two.
    pub(super) const fn latest(self, other: Self) -> Self {
        if other.is_after(self) { other } else { self }
    }

    /// The low bits, as a short packet has them.
    pub(super) const fn short(self) -> u64 {
        self.0 & SHORT_MASK
    }

    /// The number with these low bits that is nearest to a reference (§7.6).
    pub(super) const fn extended(short: u64, reference: Self) -> Self {
        let shift = u64::BITS - SHORT_BITS;
        let ahead = (short.wrapping_sub(reference.0) << shift).cast_signed() >> shift;
        Self::new(reference.0.wrapping_add(ahead.cast_unsigned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_after_48_bits() {
        let last = Seqno::new(MASK);
        assert_eq!((last.plus(3), last.plus(3).since(last)), (Seqno::new(2), 3));
        assert_eq!((Seqno::new(2).minus(3), last.since(Seqno::new(2))), (last, -3));
        assert!(Seqno::new(0).is_after(last) && Seqno::new(1).is_within(last, Seqno::new(1)));
        assert_eq!(last.latest(Seqno::new(1)), Seqno::new(1));
    }

    #[test]
    fn a_short_number_is_the_nearest_with_its_bits() {
        for number in [0, 5, 0xff_fffe, 0x100_0001, MASK - 1] {
            for away in [-1000_i64, -1, 0, 1, 1000] {
                let reference = Seqno::new(number);
                let meant = Seqno::new(number.wrapping_add(away.cast_unsigned()));
                assert_eq!(Seqno::extended(meant.short(), reference), meant, "{number} {away}");
            }
        }
    }
}
