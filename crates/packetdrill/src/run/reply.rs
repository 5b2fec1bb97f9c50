//! The result of a system call.

use super::arguments::Unsupported;

/// The result of a system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// It returns this value.
    Value(i64),
    /// It returns −1 with this error.
    Error(&'static str),
    /// It blocks.
    Blocks,
    /// It writes something else through its arguments than the script expects.
    Differs {
        /// The expected result.
        expected: String,
        /// The actual result.
        got: String,
    },
}

/// A reply, or why the call cannot be carried out.
pub(super) type CallResult = Result<Reply, Unsupported>;
