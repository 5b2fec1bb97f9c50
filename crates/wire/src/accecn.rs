//! The AccECN option of TCP (RFC 9768 §3.2.3).

/// The AccECN option (RFC 9768 §3.2.3): the number of payload bytes received with each ECN field, as counters of 24
/// bits. It has all three of them, or the first ones of its order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccEcn {
    order: AccEcnOrder,
    count: u8,
    /// The counters in the order and format of the option; those after `count` are 0.
    fields: [[u8; 3]; 3],
}

/// The order of the counters in an AccECN option, given by its kind (RFC 9768 figure 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccEcnOrder {
    /// AccECN0: ECT(0), CE, ECT(1).
    #[default]
    Ect0First,
    /// AccECN1: ECT(1), CE, ECT(0).
    Ect1First,
}

impl AccEcn {
    /// Room of an option with all counters in bytes, with its padding.
    pub const LARGEST: u64 = 12;

    /// An option with the first `count` of three counters, which are written as 24 bits.
    #[must_use]
    pub const fn new(order: AccEcnOrder, ect0: u32, ce: u32, ect1: u32, count: u8) -> Self {
        let counters = match order {
            AccEcnOrder::Ect0First => [ect0, ce, ect1],
            AccEcnOrder::Ect1First => [ect1, ce, ect0],
        };
        let mut option = Self { order, count: if count > 3 { 3 } else { count }, fields: [[0; 3]; 3] };
        let mut place = 0;
        while place < option.count as usize {
            let [_, high, middle, low] = counters[place].to_be_bytes();
            option.fields[place] = [high, middle, low];
            place += 1;
        }
        option
    }

    /// The option with these counters, in the given order, from the bytes of a header.
    #[must_use]
    pub(crate) fn from_fields(order: AccEcnOrder, counters: &[[u8; 3]]) -> Self {
        let mut fields = [[0; 3]; 3];
        let count = counters.len().min(fields.len());
        fields[..count].copy_from_slice(&counters[..count]);
        Self { order, count: count as u8, fields }
    }

    /// The order of its counters.
    #[must_use]
    pub const fn order(&self) -> AccEcnOrder {
        self.order
    }

    /// The counters as bytes of a header.
    #[must_use]
    pub fn fields(&self) -> &[[u8; 3]] {
        &self.fields[..self.count as usize]
    }

    /// Bytes that arrived as ECT(0), modulo 2^24, with the initial value of 1, if present.
    #[must_use]
    pub fn ect0(&self) -> Option<u32> {
        self.counter(if self.order == AccEcnOrder::Ect0First { 0 } else { 2 })
    }

    /// Bytes that arrived as CE, modulo 2^24, if present.
    #[must_use]
    pub fn ce(&self) -> Option<u32> {
        self.counter(1)
    }

    /// Bytes that arrived as ECT(1), modulo 2^24, with the initial value of 1, if present.
    #[must_use]
    pub fn ect1(&self) -> Option<u32> {
        self.counter(if self.order == AccEcnOrder::Ect0First { 2 } else { 0 })
    }

    fn counter(&self, place: usize) -> Option<u32> {
        self.fields().get(place).map(|[high, middle, low]| u32::from_be_bytes([0, *high, *middle, *low]))
    }

    /// Size of an option with `count` counters in bytes, padded to a multiple of four.
    #[must_use]
    pub const fn padded_len(count: u8) -> u32 {
        (2 + 3 * count as u32).next_multiple_of(4)
    }

    /// Its size in bytes, without padding.
    pub(crate) const fn option_len(&self) -> u32 {
        2 + 3 * self.count as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_accecn_option_says_the_first_counters_of_its_order() {
        let all = AccEcn::new(AccEcnOrder::Ect0First, 1, 2, 0x0100_0003, 3);
        assert_eq!((all.ect0(), all.ce(), all.ect1()), (Some(1), Some(2), Some(3)));
        let two = AccEcn::new(AccEcnOrder::Ect1First, 1, 2, 3, 2);
        assert_eq!((two.ect0(), two.ce(), two.ect1()), (None, Some(2), Some(3)));
        assert_eq!([0, 1, 2, 3].map(AccEcn::padded_len), [4, 8, 8, 12]);
    }
}
