//! Captures: packets seen at points of observation, and reading them from files.
//!
//! [`open`] takes a pcap or pcapng file, in either byte order, and returns [`Frame`]s in the order of the file. A
//! truncated file gives the frames before its end, then an error with the position.

use std::io::Read;

pub use crate::frame::{Direction, Frame, Interface, LinkType, ReadError, VIRTUAL_EPOCH};
use crate::source::Source;
use crate::{pcap, pcapng};

/// Reads the frames of a capture.
#[derive(Debug)]
pub struct Reader<R>(Format<R>);

/// Reads the header of a capture.
///
/// # Errors
/// If it is neither pcap nor pcapng, or its header is truncated or damaged.
pub fn open<R: Read>(input: R) -> Result<Reader<R>, ReadError> {
    let mut source = Source::new(input);
    let mut magic = [0; 4];
    let count = source.fill(&mut magic)?;
    let unknown = || ReadError::Unknown { start: magic[..count].to_vec() };
    if count < magic.len() {
        return Err(unknown());
    }
    if magic == pcapng::SECTION_HEADER {
        Ok(Reader(Format::Pcapng(pcapng::Reader::open(source)?)))
    } else if let Some(variant) = pcap::Variant::of(magic) {
        Ok(Reader(Format::Pcap(pcap::Reader::open(source, variant)?)))
    } else {
        Err(unknown())
    }
}

impl<R: Read> Reader<R> {
    /// The interfaces read so far: all to which the frames read so far refer.
    #[must_use]
    pub fn interfaces(&self) -> &[Interface] {
        match &self.0 {
            Format::Pcap(reader) => reader.interfaces(),
            Format::Pcapng(reader) => reader.interfaces(),
        }
    }
}

impl<R: Read> Reader<R> {
    /// The logs of TLS secrets that the file carried since the last call (draft-ietf-opsawg-pcapng §4.7).
    pub fn take_secrets(&mut self) -> Option<String> {
        match &mut self.0 {
            Format::Pcap(_) => None,
            Format::Pcapng(reader) => reader.take_secrets(),
        }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Frame, ReadError>;

    /// The next frame. After an error there is none.
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Format::Pcap(reader) => reader.next(),
            Format::Pcapng(reader) => reader.next(),
        }
    }
}

#[derive(Debug)]
enum Format<R> {
    Pcap(pcap::Reader<R>),
    Pcapng(pcapng::Reader<R>),
}
