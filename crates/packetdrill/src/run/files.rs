//! Files and pipes, as far as data go from a file to a socket and from a socket to a pipe. A file has as many bytes as
//! a call asks for, and a pipe has room for all.

/// An open descriptor that is no socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenFile {
    /// A file that is read.
    Regular,
    /// One end of a pipe.
    Pipe,
}
