//! The configuration of transport blocks and their errors.

use link::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;
use units::text::Probability;

use super::block_error::{BlockErrors, FixedErrors};
use super::tables::{CATEGORY_6_SIZES, CATEGORY_10, Format, Formats};
use crate::check::refuse;
use crate::decibel::ratio;
use crate::quantity::Decibels;

/// Transport blocks and their errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdaptationConfig {
    /// The table of block sizes.
    pub blocks: Blocks,
    /// Codes of spreading factor 16 that a sector has for the channel, 15 of 16 (3GPP TS 25.308 §5.1); with blocks of
    /// LTE, its resource blocks, 50 in 10 MHz (3GPP TS 36.101 table 5.6-1).
    pub codes: u32,
    /// Model of block errors.
    pub errors: Errors,
    /// Time for which a user is not served after an error. 12 ms in Landström 2008 §7.1.
    pub error_pause: Duration,
    /// Age of the reported quality on use, a whole number of TTIs. 0 in the document, whose estimation is perfect.
    pub report_delay: Duration,
    /// Whether the receiver adds up the signal of all attempts (chase combining). With errors by the curve only.
    pub chase_combining: bool,
}

/// Tables of block sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Blocks {
    /// 22 sizes up to 7168 bits (3GPP TS 25.214 table 7A).
    Category6,
    /// 30 sizes up to 25,558 bits (3GPP TS 25.214 table 7D).
    Category10,
    /// The first 23 sizes of table 7D, up to 9719 bits: Landström 2008 §7.5.1 has 23 sizes and does not say which.
    Landstrom,
    /// The 15 indicators of LTE (3GPP TS 36.213 table 7.2.3-1), over any number of the channel's resource blocks.
    /// Spreading and codes are none.
    Lte,
    /// Sizes of one's own.
    #[serde(untagged)]
    Custom(Vec<CustomBlock>),
}

/// One size of one's own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CustomBlock {
    /// Bits of the block.
    pub bits: u32,
    /// Codes that it occupies.
    pub codes: u32,
    /// Least signal-to-interference ratio after despreading.
    pub needs: Decibels,
}

/// Model of block errors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "BlockErrors")]
pub enum Errors {
    /// By quality (Brouwer et al. 2004).
    Curve,
    /// With fixed probabilities. 0.2 and 0.5 in Landström 2008 §7.5.1.
    #[serde(untagged)]
    Fixed {
        /// Probability where the quality suffices for the smallest block.
        usual: Probability,
        /// Below that.
        below_smallest: Probability,
    },
}

impl Default for AdaptationConfig {
    fn default() -> Self {
        let share = |share| Probability::new(share).unwrap_or(Probability::ZERO);
        Self {
            blocks: Blocks::Landstrom,
            codes: 15,
            errors: Errors::Fixed { usual: share(0.2), below_smallest: share(0.5) },
            error_pause: Duration::from_millis(12),
            report_delay: Duration::ZERO,
            chase_combining: false,
        }
    }
}

impl AdaptationConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if let Blocks::Custom(blocks) = &self.blocks {
            check_blocks(blocks, self.codes).map_err(|error| error.below("blocks"))?;
        }
        if self.codes == 0 {
            return refuse("codes", "without codes nothing is sent", "write a number from 1 to 15");
        }
        if self.blocks == Blocks::Lte && self.errors == Errors::Curve {
            let message = "the curve is HSDPA's, whose codes spread the signal";
            return refuse("errors", message, "write errors = { usual = 0.1, below_smallest = 0.5 }");
        }
        if self.chase_combining && self.errors != Errors::Curve {
            let message = "fixed errors do not hear a stronger signal";
            return refuse("chase_combining", message, "write errors = \"curve\" with it, or leave it out");
        }
        Ok(())
    }

    /// The transport formats.
    #[must_use]
    pub fn formats(&self) -> Formats {
        match &self.blocks {
            Blocks::Category6 => Formats::of(CATEGORY_10, CATEGORY_6_SIZES),
            Blocks::Category10 => Formats::of(CATEGORY_10, CATEGORY_10.len()),
            Blocks::Landstrom => Formats::of(CATEGORY_10, LANDSTROM_SIZES),
            Blocks::Lte => Formats::lte(self.codes),
            Blocks::Custom(blocks) => {
                let format = |block: &CustomBlock| Format {
                    bits: block.bits,
                    codes: block.codes,
                    needs: ratio(block.needs.0),
                };
                Formats::custom(blocks.iter().map(format).collect())
            }
        }
    }

    pub(crate) const fn block_errors(&self) -> BlockErrors {
        match self.errors {
            Errors::Curve => BlockErrors::Curve,
            Errors::Fixed { usual, below_smallest } => {
                BlockErrors::Fixed(FixedErrors { usual: usual.get(), below_smallest: below_smallest.get() })
            }
        }
    }
}

fn check_blocks(blocks: &[CustomBlock], codes: u32) -> Result<(), ConfigError> {
    if blocks.is_empty() {
        return refuse(
            "",
            "a list without a block carries nothing",
            "write one block or more, by growing size",
        );
    }
    for (place, block) in blocks.iter().enumerate() {
        let key = format!("[{place}]");
        if block.bits == 0 || block.codes == 0 || block.codes > codes {
            let message = format!("{} bits in {} codes cannot be sent", block.bits, block.codes);
            return refuse(&key, &message, &format!("write 1 bit or more in 1 to {codes} codes"));
        }
        if let Some(smaller) = place.checked_sub(1).map(|before| blocks[before])
            && (smaller.bits >= block.bits || smaller.needs >= block.needs)
        {
            let message = "the block is not larger, or needs no more signal, than the one before it";
            return refuse(&key, message, "write blocks by growing bits and growing needs");
        }
    }
    Ok(())
}

/// Block sizes in Landström 2008 §7.5.1.
const LANDSTROM_SIZES: usize = 23;
