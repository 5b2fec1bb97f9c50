//! Values by whole numbers, such as the rows of packets: sorted once and found by bisection.
//!
//! Numbers of packets come nearly sorted, so that this is built faster than a tree.

/// Values of which several may have one number.
#[derive(Debug, Default)]
pub(crate) struct ByNumber<T>(Vec<(i64, T)>);

impl<T: Copy> ByNumber<T> {
    pub(crate) fn new(values: impl Iterator<Item = (i64, T)>) -> Self {
        let mut sorted: Vec<(i64, T)> = values.collect();
        sorted.sort_by_key(|(number, _)| *number);
        Self(sorted)
    }

    /// The values of a number, in the order in which they were given.
    pub(crate) fn all(&self, number: i64) -> impl ExactSizeIterator<Item = T> {
        let first = self.0.partition_point(|(other, _)| *other < number);
        let same = self.0[first..].partition_point(|(other, _)| *other == number);
        self.0[first..first + same].iter().map(|(_, value)| *value)
    }

    /// The last value that was given for a number.
    pub(crate) fn last(&self, number: i64) -> Option<T> {
        let end = self.0.partition_point(|(other, _)| *other <= number);
        self.0[..end].last().filter(|(other, _)| *other == number).map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_one_number_keep_their_order() {
        let found = ByNumber::new([(7, 'a'), (3, 'b'), (7, 'c'), (9, 'd')].into_iter());
        assert_eq!(found.all(7).collect::<String>(), "ac");
        assert_eq!(found.last(7), Some('c'));
        assert_eq!(found.all(8).len(), 0);
        assert_eq!((found.last(2), found.last(8), found.last(10)), (None, None, None));
    }
}
