//! Writing pcapng: little-endian, one section, nanoseconds.

use std::io::{self, Write};

use crate::frame::{Direction, Frame, Interface};

use super::{BYTE_ORDER_MAGIC, block, code, options};

/// Writes a pcapng file.
///
/// Order of calls: [`Writer::add_interface`] before the frames that were seen there.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    interfaces: u32,
    /// The block that is being put together.
    body: Vec<u8>,
}

/// The description of a file. Empty texts are omitted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// The program that wrote it, with its version.
    pub application: String,
    /// The hardware on which it was captured.
    pub hardware: String,
    /// The operating system on which it was captured.
    pub system: String,
    /// Anything else: the scenario and its seed.
    pub comment: String,
}

impl<W: Write> Writer<W> {
    /// Writes the section header.
    ///
    /// # Errors
    /// If the system cannot write.
    pub fn new(out: W, section: &Section) -> io::Result<Self> {
        let mut writer = Self { out, interfaces: 0, body: Vec::new() };
        writer.put_u32(BYTE_ORDER_MAGIC);
        writer.body.extend_from_slice(&[1, 0, 0, 0]); // Version 1.0.
        writer.put_u64(u64::MAX); // A section of unspecified length.
        let start = writer.body.len();
        options::put_text(&mut writer.body, code::COMMENT, &section.comment);
        options::put_text(&mut writer.body, code::SHB_HARDWARE, &section.hardware);
        options::put_text(&mut writer.body, code::SHB_OS, &section.system);
        options::put_text(&mut writer.body, code::SHB_USERAPPL, &section.application);
        options::end(&mut writer.body, start);
        writer.write_block(block::SECTION_HEADER)?;
        Ok(writer)
    }

    /// Adds a point of observation; gives the index that its frames carry.
    ///
    /// # Errors
    /// If the system cannot write.
    pub fn add_interface(&mut self, interface: &Interface) -> io::Result<u32> {
        self.body.extend_from_slice(&interface.link_type.0.to_le_bytes());
        self.body.extend_from_slice(&[0; 2]);
        self.put_u32(interface.snap_len);
        options::put_text(&mut self.body, code::IF_NAME, &interface.name);
        options::put_text(&mut self.body, code::IF_DESCRIPTION, &interface.description);
        options::put(&mut self.body, code::IF_TSRESOL, &[NANOSECONDS]);
        options::put(&mut self.body, code::END, &[]);
        self.write_block(block::INTERFACE)?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Writes one frame.
    ///
    /// # Errors
    /// If the system cannot write.
    ///
    /// # Panics
    /// If its interface was not added.
    pub fn write(&mut self, frame: &Frame) -> io::Result<()> {
        assert!(frame.interface < self.interfaces, "interface {} of {}", frame.interface, self.interfaces);
        let nanos = frame.at.as_nanos();
        let captured = u32::try_from(frame.data.len()).map_err(io::Error::other)?;
        for number in
            [frame.interface, (nanos >> 32) as u32, nanos as u32, captured, frame.original_len.max(captured)]
        {
            self.put_u32(number);
        }
        self.body.extend_from_slice(&frame.data);
        options::pad(&mut self.body);
        self.put_frame_options(frame);
        self.write_block(block::ENHANCED_PACKET)
    }

    /// The output, between two frames.
    pub const fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Writes buffered bytes and returns the output.
    ///
    /// # Errors
    /// If the system cannot write.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn put_frame_options(&mut self, frame: &Frame) {
        let start = self.body.len();
        options::put_text(&mut self.body, code::COMMENT, frame.comment.as_deref().unwrap_or_default());
        if let Some(direction) = frame.direction {
            let flags: u32 = match direction {
                Direction::Inbound => 1,
                Direction::Outbound => 2,
            };
            options::put(&mut self.body, code::EPB_FLAGS, &flags.to_le_bytes());
        }
        if let Some(packet) = frame.packet {
            options::put(&mut self.body, code::EPB_PACKETID, &packet.0.to_le_bytes());
        }
        options::end(&mut self.body, start);
    }

    fn put_u32(&mut self, number: u32) {
        self.body.extend_from_slice(&number.to_le_bytes());
    }

    fn put_u64(&mut self, number: u64) {
        self.body.extend_from_slice(&number.to_le_bytes());
    }

    /// Writes the block with the assembled body.
    fn write_block(&mut self, kind: u32) -> io::Result<()> {
        let total = (self.body.len() as u32 + 12).to_le_bytes();
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&total)?;
        self.out.write_all(&self.body)?;
        self.body.clear();
        self.out.write_all(&total)
    }
}

/// Ticks of 10⁻⁹ s (draft-ietf-opsawg-pcapng §4.2, if_tsresol).
const NANOSECONDS: u8 = 9;
