//! An entry of the list of stacks.

use crate::stack::{Setup, Stack};

/// A stack that a host can have, as files, lists and runs know it.
pub type Entry = ::registry::Entry<Member>;

/// Properties of a stack that a run needs.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// Its transport.
    pub transport: Transport,
    /// Makes a stack; none for a kernel, which exists in the machine, and for a program of the user's.
    pub(crate) make: Option<fn(Setup) -> Box<dyn Stack>>,
}

/// The transport of a stack. Two stacks can talk if they have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP (RFC 9293).
    Tcp,
    /// QUIC (RFC 9000).
    Quic,
    /// DCCP (RFC 4340).
    Dccp,
    /// A program's protocol, which only its user knows.
    Any,
}

impl Transport {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Quic => "QUIC",
            Self::Dccp => "DCCP",
            Self::Any => "what its program speaks",
        }
    }
}
