//! The transport formats of HSDPA (3GPP TS 25.214 §6A.2, tables 7A and 7D).

use super::threshold_db;
use crate::decibel::ratio;

/// A transport format: one size of transport block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Format {
    /// Bits of the block.
    pub bits: u32,
    /// Codes of spreading factor 16 that it occupies.
    pub codes: u32,
    /// Least signal-to-interference ratio that it needs, as a ratio.
    pub needs: f64,
}

/// The formats that a channel has, by growing size; the channel-quality indicator `n` stands for the n-th.
#[derive(Clone, Debug, PartialEq)]
pub struct Formats(Vec<Format>);

/// Sizes in bits and codes of the indicators 1 to 30, for user equipment of category 10 (TS 25.214 table 7D). The first
/// [`CATEGORY_6_SIZES`] are those of categories 1 to 6 (table 7A).
pub const CATEGORY_10: &[(u32, u32)] = &[
    (137, 1),
    (173, 1),
    (233, 1),
    (317, 1),
    (377, 1),
    (461, 1),
    (650, 2),
    (792, 2),
    (931, 2),
    (1262, 3),
    (1483, 3),
    (1742, 3),
    (2279, 4),
    (2583, 4),
    (3319, 5),
    (3565, 5),
    (4189, 5),
    (4664, 5),
    (5287, 5),
    (5887, 5),
    (6554, 5),
    (7168, 5),
    (9719, 7),
    (11_418, 8),
    (14_411, 10),
    (17_237, 12),
    (21_754, 15),
    (23_370, 15),
    (24_222, 15),
    (25_558, 15),
];

/// Sizes that user equipment of categories 1 to 6 has: its indicators 23 to 30 are as 22, with less power (TS 25.214
/// table 7A).
pub const CATEGORY_6_SIZES: usize = 22;

impl Formats {
    /// The first `count` sizes of a table, each with the threshold of its indicator.
    #[must_use]
    pub fn of(table: &[(u32, u32)], count: usize) -> Self {
        let numbered = table.iter().take(count).zip(1..);
        Self(
            numbered
                .map(|(&(bits, codes), cqi)| Format { bits, codes, needs: ratio(threshold_db(cqi)) })
                .collect(),
        )
    }

    /// Formats of sizes and thresholds of one's own, by growing size.
    #[must_use]
    pub const fn custom(formats: Vec<Format>) -> Self {
        Self(formats)
    }

    /// The formats, by growing size.
    #[must_use]
    pub fn all(&self) -> &[Format] {
        &self.0
    }

    /// The smallest format.
    ///
    /// # Panics
    /// If there is none: a configuration without formats is refused.
    #[must_use]
    pub fn smallest(&self) -> Format {
        self.0[0]
    }

    /// The largest format that `quality` (a ratio) carries within `codes`, or the smallest that holds `wanted` bits, if
    /// that is smaller; none, if not even the smallest format is carried.
    #[must_use]
    pub fn best(&self, quality: f64, codes: u32, wanted: u32) -> Option<Format> {
        let carried = self.0.partition_point(|format| format.needs <= quality);
        let enough = self.0.partition_point(|format| format.bits < wanted) + 1;
        self.0[..carried.min(enough).min(self.0.len())]
            .iter()
            .rev()
            .find(|format| format.codes <= codes)
            .copied()
    }

    /// The smallest format of at least `bits`; the largest, if none is.
    #[must_use]
    pub fn holding(&self, bits: u32) -> Format {
        let place = self.0.partition_point(|format| format.bits < bits);
        self.0[place.min(self.0.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_thresholds_grow() {
        let formats = Formats::of(CATEGORY_10, usize::MAX);
        let grows = |pair: &[Format]| pair[0].bits < pair[1].bits && pair[0].needs < pair[1].needs;
        assert!(formats.all().windows(2).all(grows));
        assert_eq!(formats.all().len(), 30);
        assert_eq!(CATEGORY_10[CATEGORY_6_SIZES - 1], (7168, 5), "the largest block of five codes");
    }

    #[test]
    fn the_best_format_is_bounded_by_quality_codes_and_what_is_wanted() {
        let formats = Formats::of(CATEGORY_10, 30);
        let bits = |quality_db: f64, codes, wanted| {
            formats.best(ratio(quality_db), codes, wanted).map(|best| best.bits)
        };
        assert_eq!(bits(-15.5, 15, u32::MAX), Some(137));
        assert_eq!(bits(-15.5, 15, 1), Some(137), "the smallest holds it");
        assert_eq!(bits(20.0, 15, u32::MAX), Some(25_558));
        assert_eq!(bits(20.0, 5, u32::MAX), Some(7_168), "five codes carry no more");
        assert_eq!(bits(20.0, 15, 500), Some(650), "enough for what is wanted");
        assert_eq!(bits(-17.0, 15, u32::MAX), None);
    }
}
