//! Values, and the errors of evaluating them.

use std::fmt;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An integer; those of scripts are far below 2⁶³.
    Integer(i64),
    /// A floating-point number, from `/` and decimals.
    Float(f64),
    /// `True` or `False`.
    Bool(bool),
    /// A string.
    Text(String),
    /// `None`.
    Nothing,
}

/// Why code did not run to its end.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Failure {
    /// An assertion does not hold.
    #[error("assertion fails: {condition}{}", .value.as_ref().map_or(String::new(), |value| format!(" (got {value})")))]
    Assertion {
        /// The asserted expression, as written.
        condition: String,
        /// The value of its message.
        value: Option<Value>,
    },
    /// The code is not Python, or more of it than is understood.
    #[error("{0}")]
    NotUnderstood(String),
    /// An unknown name.
    #[error("\"{0}\" is not a name that is known here")]
    UnknownName(String),
    /// An operation on values that do not have it.
    #[error("{0}")]
    Type(String),
}

impl Value {
    /// Its truth value, as in Python.
    #[must_use]
    pub fn is_true(&self) -> bool {
        match self {
            Self::Integer(value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Bool(value) => *value,
            Self::Text(text) => !text.is_empty(),
            Self::Nothing => false,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Bool(true) => f.write_str("True"),
            Self::Bool(false) => f.write_str("False"),
            Self::Text(text) => f.write_str(text),
            Self::Nothing => f.write_str("None"),
        }
    }
}
