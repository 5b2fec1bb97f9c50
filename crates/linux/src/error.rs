//! The errors of this crate.

use std::io;

use nix::errno::Errno;

/// Why the operating system did not do what it was asked for. A function that makes one system call returns its
/// [`io::Error`]; one that makes several, or reads an answer, returns this.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refused a system call or a request.
    #[error(transparent)]
    System(#[from] io::Error),

    /// An answer of the kernel ends within a field that it should have.
    #[error("the kernel's netlink answer is too short")]
    Truncated,

    /// An answer of the kernel is an object where an acknowledgment should be.
    #[error("the kernel answered a netlink request with an object instead of an acknowledgment")]
    UnexpectedAnswer,

    /// Every network that a pair of devices could have is in use.
    #[error(
        "every network of 198.18.0.0/16 is in use by an interface here; end another shell or router first"
    )]
    NoFreeAddress,

    /// Every name that a device could have is in use.
    #[error(
        "every name from lasthop0 to lasthop255 is in use by an interface here; end another shell or router first"
    )]
    NoFreeName,
}

impl From<Errno> for Error {
    fn from(number: Errno) -> Self {
        Self::System(number.into())
    }
}
