//! Errors of decoding.

/// Why a packet could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Neither version 4 nor 6.
    #[error("IP version {0}: 4 and 6 are known")]
    Version(u8),
    /// A header is not all there.
    #[error("the {header} header is cut off: it takes {need} bytes, and {have} are there")]
    CutOff {
        /// Which header.
        header: &'static str,
        /// Number of bytes that it takes, as far as is known.
        need: usize,
        /// Number of bytes present.
        have: usize,
    },
    /// A header's length field is too small.
    #[error("the {header} header says that its length is {said} bytes: {least} is the least")]
    HeaderLength {
        /// Which header.
        header: &'static str,
        /// The length in the header.
        said: usize,
        /// The least that is possible.
        least: usize,
    },
    /// The total length of an IPv4 packet is less than that of its header.
    #[error("the IPv4 header of {header_len} bytes says that the whole packet has {said}")]
    TotalLength {
        /// The length in the header.
        said: usize,
        /// Length of its header.
        header_len: usize,
    },
}
