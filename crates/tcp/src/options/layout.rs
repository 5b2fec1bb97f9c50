//! Order of options on a SYN, and the segment size of a SYN without any.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The order and the padding of the options on a SYN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OptionLayout {
    /// MSS, SACK-permitted with timestamps, NOP and window scale; NOPs fill each word (Linux `tcp_options_write`).
    #[default]
    Linux,
    /// MSS, NOP and window scale, SACK-permitted with timestamps; zeros fill the header (FreeBSD `tcp_addoptions`).
    FreeBsd,
    /// The same, but with two NOPs before SACK-permitted where there are no timestamps (Windows 10, by nmap's
    /// `nmap-os-db`).
    Windows,
    /// MSS, NOP and window scale, timestamps after two NOPs, SACK-permitted, and zeros (macOS, by nmap's
    /// `nmap-os-db`).
    Darwin,
}

impl From<OptionLayout> for wire::OptionLayout {
    fn from(layout: OptionLayout) -> Self {
        match layout {
            OptionLayout::Linux => Self::Linux,
            OptionLayout::FreeBsd => Self::FreeBsd,
            OptionLayout::Windows => Self::Windows,
            OptionLayout::Darwin => Self::Darwin,
        }
    }
}

/// The SYN's payload limit where the peer names none (RFC 9293 §3.7.1, for IPv4).
pub(crate) const DEFAULT_MSS: u16 = 536;
