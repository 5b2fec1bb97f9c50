//! What is wrong, where, and the remedy, as the page shows it.

use scenario::InputError;
use serde::Serialize;

/// An error of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The error.
    pub message: String,
    /// The remedy, where one is known.
    pub help: Option<String>,
    /// The line of the text, counted from 1.
    pub line: Option<usize>,
    /// The dotted key.
    pub key: Option<String>,
}

impl Fault {
    /// An error that no place of the text is to blame for.
    pub(crate) fn of(error: &impl std::error::Error) -> Self {
        Self { message: error.to_string(), help: None, line: None, key: None }
    }
}

impl From<InputError> for Fault {
    fn from(error: InputError) -> Self {
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Self { help: known(&error.help), line: error.line(), key: known(&error.key), message: error.message }
    }
}
