//! The error of reading a script.

/// A text that is not a script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ParseError {
    /// Line in the file, from 1.
    pub line: u32,
    /// The error, and the remedy.
    pub message: String,
}
