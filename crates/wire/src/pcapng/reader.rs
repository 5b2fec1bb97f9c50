//! Reading pcapng: sections of either byte order; unknown blocks are skipped.

use std::io::Read;

use units::{Instant, PacketId};

use crate::frame::{Direction, Frame, Interface, LinkType, ReadError};
use crate::source::{Endian, Fields, Source};

use super::{BYTE_ORDER_MAGIC, SECTION_HEADER, TLS_KEY_LOG, block, code, options};

/// Reads a pcapng file; use [`crate::capture::open`].
#[derive(Debug)]
pub(crate) struct Reader<R> {
    source: Source<R>,
    endian: Endian,
    /// Interfaces of all sections; those of the present one begin at `section`.
    interfaces: Vec<Interface>,
    clocks: Vec<Clock>,
    section: usize,
    /// Key logs that were read and not taken.
    secrets: String,
    /// Memory for the body of the next block.
    spare: Vec<u8>,
    over: bool,
}

/// The clock of an interface.
#[derive(Clone, Copy, Debug)]
struct Clock {
    ticks_per_sec: u128,
    /// The length of a tick, if it is whole.
    nanos_per_tick: Option<u128>,
    offset_s: i64,
}

/// A block of a file.
struct Block {
    kind: u32,
    begins: u64,
    body: Vec<u8>,
}

impl<R: Read> Reader<R> {
    /// Reads the first section header, whose first four bytes have been read.
    pub(crate) fn open(source: Source<R>) -> Result<Self, ReadError> {
        let mut reader = Self {
            source,
            endian: Endian::Little,
            interfaces: Vec::new(),
            clocks: Vec::new(),
            section: 0,
            secrets: String::new(),
            spare: Vec::new(),
            over: false,
        };
        reader.read_section_header(0)?;
        Ok(reader)
    }

    pub(crate) fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// The key logs of the blocks that were read since the last call.
    pub(crate) fn take_secrets(&mut self) -> Option<String> {
        (!self.secrets.is_empty()).then(|| std::mem::take(&mut self.secrets))
    }

    pub(crate) fn next(&mut self) -> Option<Result<Frame, ReadError>> {
        if self.over {
            return None;
        }
        let frame = self.read_frame().transpose();
        self.over = !matches!(frame, Some(Ok(_)));
        frame
    }

    fn read_frame(&mut self) -> Result<Option<Frame>, ReadError> {
        while let Some(found) = self.read_block()? {
            let frame = match found.kind {
                block::INTERFACE => {
                    self.add_interface(&found)?;
                    None
                }
                block::DECRYPTION_SECRETS => {
                    self.add_secrets(&found)?;
                    None
                }
                block::ENHANCED_PACKET => Some(self.enhanced_packet(&found)?),
                block::SIMPLE_PACKET => Some(self.simple_packet(&found)?),
                block::OLD_PACKET => Some(self.old_packet(&found)?),
                _ => None,
            };
            self.spare = found.body;
            if frame.is_some() {
                return Ok(frame);
            }
        }
        Ok(None)
    }

    /// The next block that is not a section header; those are taken care of here.
    fn read_block(&mut self) -> Result<Option<Block>, ReadError> {
        loop {
            let begins = self.source.at();
            let Some(start) = self.source.start("block")? else { return Ok(None) };
            if start == SECTION_HEADER {
                self.read_section_header(begins)?;
                continue;
            }
            let kind = Fields::new(&start, self.endian).u32().expect("four bytes");
            let len: [u8; 4] = self.source.array(name(kind), begins)?;
            let total = Fields::new(&len, self.endian).u32().expect("four bytes");
            let body = self.read_body(kind, total, 8, begins)?;
            return Ok(Some(Block { kind, begins, body }));
        }
    }

    /// The body of a block of `total` bytes, of which `read` have been read, and its trailer.
    fn read_body(&mut self, kind: u32, total: u32, read: u32, begins: u64) -> Result<Vec<u8>, ReadError> {
        if total < read + 4 || total > LONGEST || !total.is_multiple_of(4) {
            let fault = format!("says that it is {total} bytes long, which cannot be");
            return Err(ReadError::Damaged { part: name(kind), begins, fault });
        }
        let mut body = std::mem::take(&mut self.spare);
        self.source.exactly(&mut body, (total - read - 4).into(), name(kind), begins)?;
        let trailer: [u8; 4] = self.source.array(name(kind), begins)?;
        let again = Fields::new(&trailer, self.endian).u32().expect("four bytes");
        if again != total {
            let fault = format!("says at its start that it is {total} bytes long, and at its end {again}");
            return Err(ReadError::Damaged { part: name(kind), begins, fault });
        }
        Ok(body)
    }

    /// Reads a section header after its type.
    fn read_section_header(&mut self, begins: u64) -> Result<(), ReadError> {
        let part = name(block::SECTION_HEADER);
        let head: [u8; 8] = self.source.array(part, begins)?;
        let magic = head[4..8].try_into().expect("four bytes");
        self.endian = match (u32::from_be_bytes(magic), u32::from_le_bytes(magic)) {
            (BYTE_ORDER_MAGIC, _) => Endian::Big,
            (_, BYTE_ORDER_MAGIC) => Endian::Little,
            _ => {
                let fault = format!("has {magic:02x?} where its byte order should stand");
                return Err(ReadError::Damaged { part, begins, fault });
            }
        };
        let total = Fields::new(&head, self.endian).u32().expect("eight bytes");
        let body = self.read_body(block::SECTION_HEADER, total, 12, begins)?;
        match Fields::new(&body, self.endian).u16() {
            Some(1) => {}
            major => {
                let fault = format!("is of version {major:?}, and 1 is known");
                return Err(ReadError::Damaged { part, begins, fault });
            }
        }
        self.section = self.interfaces.len();
        Ok(())
    }

    fn add_interface(&mut self, found: &Block) -> Result<(), ReadError> {
        let mut fields = Fields::new(&found.body, self.endian);
        let mut read = || {
            let link_type = fields.u16()?;
            fields.u16()?;
            Some((link_type, fields.u32()?))
        };
        let (link_type, snap_len) = read().ok_or_else(|| too_short(found))?;
        let mut interface = Interface {
            name: String::new(),
            description: String::new(),
            link_type: LinkType(link_type),
            snap_len,
        };
        let mut clock = Clock::new(1_000_000, 0);
        for (code, value) in options::read(fields) {
            match code {
                code::IF_NAME => interface.name = options::text(value),
                code::IF_DESCRIPTION => interface.description = options::text(value),
                code::IF_TSRESOL if value.len() == 1 => {
                    clock = Clock::new(ticks_per_sec(value[0]), clock.offset_s);
                }
                code::IF_TSOFFSET => {
                    clock.offset_s = options::number(value, self.endian).unwrap_or(0) as i64;
                }
                _ => {}
            }
        }
        self.interfaces.push(interface);
        self.clocks.push(clock);
        Ok(())
    }

    fn add_secrets(&mut self, found: &Block) -> Result<(), ReadError> {
        let mut fields = Fields::new(&found.body, self.endian);
        let mut read = || {
            let (kind, len) = (fields.u32()?, fields.u32()?);
            Some((kind, fields.bytes(len as usize)?))
        };
        let (kind, secrets) = read().ok_or_else(|| too_short(found))?;
        if kind == TLS_KEY_LOG {
            self.secrets.push_str(&options::text(secrets));
            self.secrets.push('\n');
        }
        Ok(())
    }

    fn enhanced_packet(&self, found: &Block) -> Result<Frame, ReadError> {
        let mut fields = Fields::new(&found.body, self.endian);
        let interface = fields.u32().ok_or_else(|| too_short(found))?;
        let frame = self.packet(found, interface, &mut fields)?;
        Ok(self.with_options(frame, fields))
    }

    /// A packet block of the first drafts: its options differ, and are left.
    fn old_packet(&self, found: &Block) -> Result<Frame, ReadError> {
        let mut fields = Fields::new(&found.body, self.endian);
        let mut head = || {
            let interface = fields.u16()?;
            fields.u16()?; // Packets dropped since the one before.
            Some(interface)
        };
        let interface = head().ok_or_else(|| too_short(found))?;
        self.packet(found, interface.into(), &mut fields)
    }

    /// Reads the common part of both kinds of packet block: time, lengths and bytes.
    fn packet(&self, found: &Block, interface: u32, fields: &mut Fields<'_>) -> Result<Frame, ReadError> {
        let index = self.interface(found, interface)?;
        let mut read = || {
            let ticks = u64::from(fields.u32()?) << 32 | u64::from(fields.u32()?);
            let (captured, original_len) = (fields.u32()?, fields.u32()?);
            let data = fields.bytes(captured as usize)?.to_vec();
            fields.bytes(data.len().next_multiple_of(4) - data.len())?;
            Some((ticks, original_len, data))
        };
        let (ticks, original_len, data) = read().ok_or_else(|| too_short(found))?;
        let at = self.clocks[index].instant(ticks);
        Ok(Frame { interface: index as u32, at, data, original_len, ..Frame::default() })
    }

    /// A packet of the section's first interface, without a time.
    fn simple_packet(&self, found: &Block) -> Result<Frame, ReadError> {
        let index = self.interface(found, 0)?;
        let mut fields = Fields::new(&found.body, self.endian);
        let original_len = fields.u32().ok_or_else(|| too_short(found))?;
        let snap_len = match self.interfaces[index].snap_len {
            0 => u32::MAX,
            limit => limit,
        };
        let captured = original_len.min(snap_len) as usize;
        let data = fields.bytes(captured).ok_or_else(|| too_short(found))?.to_vec();
        Ok(Frame { interface: index as u32, data, original_len, ..Frame::default() })
    }

    fn with_options(&self, mut frame: Frame, fields: Fields<'_>) -> Frame {
        for (code, value) in options::read(fields) {
            match code {
                code::COMMENT => frame.comment = Some(options::text(value)),
                code::EPB_PACKETID => frame.packet = options::number(value, self.endian).map(PacketId),
                code::EPB_FLAGS => {
                    // The low two bits (draft-ietf-opsawg-pcapng §4.3.1).
                    frame.direction = match options::number(value, self.endian).unwrap_or(0) & 3 {
                        1 => Some(Direction::Inbound),
                        2 => Some(Direction::Outbound),
                        _ => None,
                    };
                }
                _ => {}
            }
        }
        frame
    }

    /// The place of the present section's interface `number` among all.
    fn interface(&self, found: &Block, number: u32) -> Result<usize, ReadError> {
        let known = self.interfaces.len() - self.section;
        if number as usize >= known {
            let fault = format!("speaks of interface {number}, and there are {known} in its section so far");
            return Err(ReadError::Damaged { part: name(found.kind), begins: found.begins, fault });
        }
        Ok(self.section + number as usize)
    }
}

impl Clock {
    fn new(ticks_per_sec: u128, offset_s: i64) -> Self {
        let is_whole = NANOS_PER_SEC.is_multiple_of(ticks_per_sec);
        let nanos_per_tick = is_whole.then(|| NANOS_PER_SEC / ticks_per_sec);
        Self { ticks_per_sec, nanos_per_tick, offset_s }
    }

    /// The time of a count of ticks, clamped to the range of `Instant`.
    fn instant(self, ticks: u64) -> Instant {
        let ticks = u128::from(ticks);
        // Divisions of 128 bits are slow.
        let nanos = self.nanos_per_tick.map_or_else(
            || ticks * NANOS_PER_SEC / self.ticks_per_sec,
            |nanos_per_tick| ticks * nanos_per_tick,
        ) as i128;
        let offset = i128::from(self.offset_s) * NANOS_PER_SEC as i128;
        Instant::from_nanos(u64::try_from((nanos + offset).max(0)).unwrap_or(u64::MAX))
    }
}

/// The resolution of an if_tsresol: a power of ten or, with the high bit, of two. An excessive resolution becomes the
/// finest that can be represented.
fn ticks_per_sec(resolution: u8) -> u128 {
    let exponent = u32::from(resolution & 0x7f);
    let base: u128 = if resolution & 0x80 == 0 { 10 } else { 2 };
    base.checked_pow(exponent).unwrap_or(u128::MAX)
}

fn too_short(found: &Block) -> ReadError {
    let fault = format!("is too short for what it should hold: {} bytes", found.body.len());
    ReadError::Damaged { part: name(found.kind), begins: found.begins, fault }
}

/// The name of a kind of block.
fn name(kind: u32) -> &'static str {
    match kind {
        block::SECTION_HEADER => "section header block",
        block::INTERFACE => "interface description block",
        block::ENHANCED_PACKET => "enhanced packet block",
        block::DECRYPTION_SECRETS => "decryption secrets block",
        block::SIMPLE_PACKET => "simple packet block",
        block::OLD_PACKET => "packet block",
        _ => "block",
    }
}

const NANOS_PER_SEC: u128 = 1_000_000_000;
/// More than any block of a sane file: Wireshark stops at 16 MiB but for those of USB captures.
const LONGEST: u32 = 128 << 20;
