//! The transport formats of HSDPA (3GPP TS 25.214 §6A.2, tables 7A and 7D), each of one size, and of LTE (3GPP TS
//! 36.213 table 7.2.3-1), whose size depends on the resource blocks that a user gets.

use super::indicator::threshold_db;
use crate::decibel::ratio;

/// A transport format: one size of transport block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Format {
    /// Bits of the block.
    pub bits: u32,
    /// Codes of spreading factor 16 that it occupies, or resource blocks.
    pub codes: u32,
    /// Required signal-to-interference ratio after despreading, as a ratio.
    pub needs: f64,
}

/// The formats of a channel, in order of size; the channel-quality indicator `n` means the n-th.
#[derive(Clone, Debug, PartialEq)]
pub struct Formats {
    /// The formats of LTE with all resource blocks.
    formats: Vec<Format>,
    /// Whether a block may have any part of its codes, and then that part of its bits: LTE's resource blocks.
    divisible: bool,
}

/// Bits of data that a resource element carries, by channel-quality indicator, 1 to 15 (3GPP TS 36.213 table 7.2.3-1).
pub const LTE_EFFICIENCIES: [f64; 15] = [
    0.1523, 0.2344, 0.3770, 0.6016, 0.8770, 1.1758, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223, 3.9023, 4.5234,
    5.1152, 5.5547,
];

/// Resource elements for data in a pair of resource blocks, which is 1 ms long: 12 subcarriers in 14 symbols, without
/// three symbols of control and 12 elements of reference signals (3GPP TS 36.211 §6.2.3, §6.7, §6.10.1).
const LTE_ELEMENTS: f64 = 120.0;

/// The gap Γ to Shannon's law at a bit error rate of 5 · 10⁻⁵, −ln(5 · BER) / 1.5: a spectral efficiency η needs a
/// signal-to-interference ratio of Γ (2^η − 1) (Piro, Baldo and Miozzo 2011, "An LTE module for the ns-3 network
/// simulator").
const LTE_GAP: f64 = 5.529;

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

/// Number of sizes of user equipment of categories 1 to 6: its indicators 23 to 30 mean the size of 22 with less power
/// (TS 25.214 table 7A).
pub const CATEGORY_6_SIZES: usize = 22;

impl Formats {
    /// The first `count` sizes of a table, each with the threshold of its indicator.
    #[must_use]
    pub fn of(table: &[(u32, u32)], count: usize) -> Self {
        let numbered = table.iter().take(count).zip(1..);
        let formats =
            numbered.map(|(&(bits, codes), cqi)| Format { bits, codes, needs: ratio(threshold_db(cqi)) });
        Self::custom(formats.collect())
    }

    /// The 15 formats of LTE with `resource_blocks` resource blocks.
    #[must_use]
    pub fn lte(resource_blocks: u32) -> Self {
        let format = |efficiency: f64| Format {
            bits: (LTE_ELEMENTS * efficiency * f64::from(resource_blocks)) as u32,
            codes: resource_blocks,
            needs: LTE_GAP * (libm::exp2(efficiency) - 1.0),
        };
        Self { formats: LTE_EFFICIENCIES.map(format).to_vec(), divisible: true }
    }

    /// Formats with given sizes and thresholds, in order of size.
    #[must_use]
    pub const fn custom(formats: Vec<Format>) -> Self {
        Self { formats, divisible: false }
    }

    /// Whether a user may have any number of the codes, and then that part of a block.
    #[must_use]
    pub const fn are_divisible(&self) -> bool {
        self.divisible
    }

    /// The part of a divisible format that holds `wanted` bits, or that uses the `codes` left, whichever is smaller.
    #[must_use]
    pub fn part(&self, format: Format, codes: u32, wanted: u32) -> Format {
        let each = f64::from(format.bits) / f64::from(format.codes);
        let enough = (f64::from(wanted) / each) as u32 + 1;
        let codes = codes.min(enough).min(format.codes);
        Format { bits: (each * f64::from(codes)) as u32, codes, needs: format.needs }
    }

    /// The formats, in order of size.
    #[must_use]
    pub fn all(&self) -> &[Format] {
        &self.formats
    }

    /// The smallest format.
    ///
    /// # Panics
    /// If there is none: a configuration without formats is refused.
    #[must_use]
    pub fn smallest(&self) -> Format {
        self.formats[0]
    }

    /// The largest format that `quality` (a ratio) carries within `codes`, or the smallest that holds `wanted` bits, if
    /// that is smaller; none, if not even the smallest format is carried.
    #[must_use]
    pub fn best(&self, quality: f64, codes: u32, wanted: u32) -> Option<Format> {
        let carried = self.formats.partition_point(|format| format.needs <= quality);
        let enough = self.formats.partition_point(|format| format.bits < wanted) + 1;
        self.formats[..carried.min(enough).min(self.formats.len())]
            .iter()
            .rev()
            .find(|format| format.codes <= codes)
            .copied()
    }

    /// The smallest format of at least `bits`; the largest, if none is.
    #[must_use]
    pub fn holding(&self, bits: u32) -> Format {
        let place = self.formats.partition_point(|format| format.bits < bits);
        self.formats[place.min(self.formats.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifty_resource_blocks_of_the_best_indicator_carry_33_megabits_a_second_in_blocks_of_a_millisecond() {
        let formats = Formats::lte(50);
        assert!(
            formats.all().windows(2).all(|pair| pair[0].bits < pair[1].bits && pair[0].needs < pair[1].needs)
        );
        let best = formats.best(ratio(30.0), 50, u32::MAX).expect("30 dB carry it");
        assert_eq!((best.bits, best.codes), (33_328, 50));
        // 120 elements of 5.5547 bits: 666 bits in a resource block.
        let part = formats.part(best, 50, 1_000);
        assert_eq!((part.bits, part.codes), (1_333, 2), "two blocks hold 1000 bits");
        assert_eq!(formats.part(best, 7, u32::MAX).codes, 7, "no more are left");
    }

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
        assert_eq!(bits(-3.5, 15, u32::MAX), Some(137));
        assert_eq!(bits(-3.5, 15, 1), Some(137), "the smallest holds it");
        assert_eq!(bits(32.0, 15, u32::MAX), Some(25_558));
        assert_eq!(bits(32.0, 5, u32::MAX), Some(7_168), "five codes carry no more");
        assert_eq!(bits(32.0, 15, 500), Some(650), "enough for what is wanted");
        assert_eq!(bits(-5.0, 15, u32::MAX), None);
    }

    /// Shannon's limit of a carrier in bits per second; `sir` is after despreading by `spreading`.
    fn capacity(bandwidth: f64, sir: f64, spreading: f64) -> f64 {
        bandwidth * libm::log2(1.0 + sir / spreading)
    }

    #[test]
    fn no_format_of_hsdpa_carries_more_than_shannons_limit_of_its_carrier() {
        for (format, cqi) in Formats::of(CATEGORY_10, 30).all().iter().zip(1..) {
            let rate = f64::from(format.bits) / 2e-3;
            let limit = capacity(3.84e6, format.needs, 16.0);
            assert!(rate < limit, "indicator {cqi}: {rate} of {limit} bit/s");
        }
    }

    #[test]
    fn no_format_of_lte_carries_more_than_shannons_limit_of_its_resource_blocks() {
        for blocks in [6, 50, 100] {
            for (format, cqi) in Formats::lte(blocks).all().iter().zip(1..) {
                let rate = f64::from(format.bits) / 1e-3;
                let limit = capacity(180e3 * f64::from(blocks), format.needs, 1.0);
                assert!(rate < limit, "indicator {cqi} in {blocks} blocks: {rate} of {limit} bit/s");
            }
        }
    }
}
