//! Evaluates the Python of assertions: `%{ assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd }%`.
//!
//! Scripts use little of the language: assertions, assignments and `print` over integers, comparisons and arithmetic. That much
//! is evaluated here, as Python 3 does; anything else is an error that says so. Names are looked up among what earlier code has
//! assigned, and then where the runner says (fields of `tcp_info`, constants).

mod evaluate;
mod syntax;

use std::collections::BTreeMap;
use std::fmt;

use syntax::{Expression, Statement};

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
        /// What was asserted, as written.
        condition: String,
        /// The value of the message behind it.
        value: Option<Value>,
    },
    /// The code is not Python, or more of it than is understood.
    #[error("{0}")]
    NotUnderstood(String),
    /// A name that nobody knows.
    #[error("\"{0}\" is not a name that is known here")]
    UnknownName(String),
    /// An operation on values that do not have it.
    #[error("{0}")]
    Type(String),
}

/// What code has assigned so far.
#[derive(Clone, Debug, Default)]
pub struct Namespace(BTreeMap<String, Value>);

/// Runs code; `lookup` gives the values of names that no code has assigned.
///
/// # Errors
/// The first assertion that does not hold, or what cannot be evaluated.
pub fn run(code: &str, names: &mut Namespace, lookup: &dyn Fn(&str) -> Option<Value>) -> Result<(), Failure> {
    for statement in syntax::parse(code)? {
        let evaluate = |expression: &Expression| {
            let known = |name: &str| names.0.get(name).cloned().or_else(|| lookup(name));
            evaluate::evaluate(expression, &known)
        };
        match statement {
            Statement::Pass => {}
            Statement::Assign(name, expression) => {
                let value = evaluate(&expression)?;
                names.0.insert(name, value);
            }
            Statement::Expression(expression) => drop(evaluate(&expression)?),
            Statement::Assert { condition, written, message } => {
                if !evaluate(&condition)?.is_true() {
                    let value = message.as_ref().map(evaluate).transpose()?;
                    return Err(Failure::Assertion { condition: written, value });
                }
            }
        }
    }
    Ok(())
}

impl Value {
    /// Its truth, as Python has it.
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

#[cfg(test)]
mod tests;
