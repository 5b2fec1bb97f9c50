//! The order and the padding of the options on a SYN, in which hosts differ. RFC 9293 §3.1 leaves both open.

/// The order and the padding of the options on a SYN. All other segments have two NOPs before the timestamps and two
/// before the SACK blocks (RFC 7323 appendix A), in every layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OptionLayout {
    /// MSS, SACK-permitted with timestamps, NOP and window scale, Fast Open; NOPs fill each word (Linux
    /// `tcp_options_write`).
    #[default]
    Linux,
    /// MSS, NOP and window scale, SACK-permitted with timestamps; zeros fill the header (FreeBSD `tcp_addoptions`).
    FreeBsd,
    /// MSS, NOP and window scale, SACK-permitted after two NOPs or with timestamps; NOPs fill each word (the SYN of
    /// Windows 10 in nmap's `nmap-os-db`).
    Windows,
    /// MSS, NOP and window scale, timestamps after two NOPs, SACK-permitted; zeros fill the header (the SYN of macOS in
    /// nmap's `nmap-os-db`).
    Darwin,
}

impl OptionLayout {
    /// Whether SACK-permitted comes at the end, after the timestamps; `timestamps` says whether there are any.
    pub(crate) const fn ends_with_sack_permitted(self, timestamps: bool) -> bool {
        match self {
            Self::Linux | Self::Windows => false,
            Self::FreeBsd => !timestamps,
            Self::Darwin => true,
        }
    }

    /// Whether zeros fill the header, and not NOPs.
    pub(crate) const fn ends_with_zeros(self) -> bool {
        matches!(self, Self::FreeBsd | Self::Darwin)
    }
}
