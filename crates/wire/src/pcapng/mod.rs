//! The pcapng capture format (draft-ietf-opsawg-pcapng): several interfaces, each with a name,
//! nanoseconds, and a comment with each packet.

mod options;
mod reader;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use reader::Reader;
pub use writer::{Section, Writer};

/// The first bytes of a file: the type of the section header block, which reads the same in both
/// byte orders.
pub(crate) const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// Types of blocks (draft-ietf-opsawg-pcapng §11.1).
mod block {
    pub(super) const INTERFACE: u32 = 1;
    pub(super) const OLD_PACKET: u32 = 2;
    pub(super) const SIMPLE_PACKET: u32 = 3;
    pub(super) const ENHANCED_PACKET: u32 = 6;
    pub(super) const DECRYPTION_SECRETS: u32 = 10;
    pub(super) const SECTION_HEADER: u32 = u32::from_be_bytes(super::SECTION_HEADER);
}

/// Codes of options (draft-ietf-opsawg-pcapng §3.5, §4.1, §4.2, §4.3).
mod code {
    pub(super) const END: u16 = 0;
    pub(super) const COMMENT: u16 = 1;
    pub(super) const SHB_HARDWARE: u16 = 2;
    pub(super) const SHB_OS: u16 = 3;
    pub(super) const SHB_USERAPPL: u16 = 4;
    pub(super) const IF_NAME: u16 = 2;
    pub(super) const IF_DESCRIPTION: u16 = 3;
    pub(super) const IF_TSRESOL: u16 = 9;
    pub(super) const IF_TSOFFSET: u16 = 14;
    pub(super) const EPB_FLAGS: u16 = 2;
    pub(super) const EPB_PACKETID: u16 = 5;
}

/// Secrets in the NSS key log format (draft-ietf-opsawg-pcapng §4.7).
const TLS_KEY_LOG: u32 = 0x544c_534b;

/// Shows the byte order of a section.
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
