//! Errors of reading a quantity.

/// The separator of a message's two halves: "what is wrong; what would be right".
pub const REMEDY: &str = "; ";

/// A text that is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// A number has no unit.
    #[error("{text} has no unit{REMEDY}write a {what} like {example}")]
    NoUnit {
        /// The written text.
        text: String,
        /// The expected quantity: "duration".
        what: &'static str,
        /// A right one.
        example: String,
    },
    /// The unit is not one of this quantity's.
    #[error("\"{unit}\" is not a unit of {what}{REMEDY}{advice}")]
    UnknownUnit {
        /// The unit that was written.
        unit: String,
        /// The expected quantity.
        what: &'static str,
        /// The valid units, or the unit that was probably meant.
        advice: String,
    },
    /// The number is not written in plain decimal digits.
    #[error(
        "\"{text}\" has no plain number{REMEDY}write digits, with a point if need be, and a unit, like {example}"
    )]
    NotPlain {
        /// The written text.
        text: String,
        /// A right one.
        example: &'static str,
    },
    /// There is no number before the unit.
    #[error("\"{text}\" is not a {what}{REMEDY}write a number and a unit, like {example}")]
    NoNumber {
        /// The written text.
        text: String,
        /// The expected quantity.
        what: &'static str,
        /// A right one.
        example: &'static str,
    },
    /// The number is below zero.
    #[error("\"{text}\" is negative{REMEDY}a {what} is zero or more, like {example}")]
    Negative {
        /// The written text.
        text: String,
        /// The expected quantity.
        what: &'static str,
        /// A right one.
        example: &'static str,
    },
    /// The number is finer than the type can represent.
    #[error("\"{text}\" is finer than {finest}{REMEDY}write a whole number of {finest}")]
    TooFine {
        /// The written text.
        text: String,
        /// The smallest step, in the plural.
        finest: &'static str,
    },
    /// The number is larger than the type can represent.
    #[error("\"{text}\" is too large{REMEDY}the largest {what} is {largest}")]
    TooLarge {
        /// The written text.
        text: String,
        /// The expected quantity.
        what: &'static str,
        /// The largest number that the type can represent.
        largest: String,
    },
}

impl UnitError {
    /// The error, and the remedy.
    #[must_use]
    pub fn halves(&self) -> (String, String) {
        let both = self.to_string();
        let (wrong, right) = both.split_once(REMEDY).unwrap_or((&both, ""));
        (wrong.to_owned(), right.to_owned())
    }
}
