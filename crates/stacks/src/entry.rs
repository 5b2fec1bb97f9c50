//! An entry of the list of stacks.

use crate::stack::{Setup, Stack};

/// A stack that a host can have.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name in files.
    pub id: &'static str,
    /// One line on what it is.
    pub summary: &'static str,
    /// How a file names it.
    pub example: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Its transport.
    pub transport: Transport,
    /// Makes a stack; none for a kernel, which exists in the machine.
    pub(crate) make: Option<fn(Setup) -> Box<dyn Stack>>,
}

/// The transport of a stack. Two stacks can talk if they have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP (RFC 9293).
    Tcp,
    /// QUIC (RFC 9000).
    Quic,
    /// That of a program, which only its user knows.
    Any,
}

impl Transport {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Quic => "QUIC",
            Self::Any => "what its program speaks",
        }
    }
}
