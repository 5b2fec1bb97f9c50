//! The old capture format (draft-ietf-opsawg-pcap): one interface, no comments. Written for tools
//! that do not know pcapng, with nanoseconds; read with micro- and nanoseconds.

use std::io::{self, Read, Write};

use units::Instant;

use crate::frame::{Frame, Interface, LinkType, ReadError};
use crate::source::{Endian, Fields, Source};

/// Writes a pcap file, little-endian, with nanoseconds.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
}

impl<W: Write> Writer<W> {
    /// Writes the head of the file.
    ///
    /// # Errors
    /// If the system cannot write.
    pub fn new(mut out: W, link_type: LinkType) -> io::Result<Self> {
        out.write_all(&NANOSECONDS.to_le_bytes())?;
        out.write_all(&[2, 0, 4, 0])?; // Version 2.4.
        out.write_all(&[0; 8])?; // Time zone and accuracy, both unused.
        out.write_all(&SNAP_LEN.to_le_bytes())?;
        out.write_all(&u32::from(link_type.0).to_le_bytes())?;
        Ok(Self { out })
    }

    /// Writes one frame; its interface, direction, identity and comment have no place here.
    ///
    /// # Errors
    /// If the system cannot write.
    pub fn write(&mut self, frame: &Frame) -> io::Result<()> {
        let nanos = frame.at.as_nanos();
        let seconds = (nanos / NANOS_PER_SEC) as u32; // Until 2106.
        let captured = frame.data.len() as u32;
        for number in [seconds, (nanos % NANOS_PER_SEC) as u32, captured, frame.original_len.max(captured)] {
            self.out.write_all(&number.to_le_bytes())?;
        }
        self.out.write_all(&frame.data)
    }

    /// Writes buffered bytes and returns the output.
    ///
    /// # Errors
    /// If the system cannot write.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Byte order and resolution, given by the first four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Variant {
    endian: Endian,
    nanos_per_tick: u64,
}

impl Variant {
    pub(crate) fn of(magic: [u8; 4]) -> Option<Self> {
        let orders = [(Endian::Big, u32::from_be_bytes(magic)), (Endian::Little, u32::from_le_bytes(magic))];
        orders.into_iter().find_map(|(endian, number)| match number {
            MICROSECONDS => Some(Self { endian, nanos_per_tick: 1000 }),
            NANOSECONDS => Some(Self { endian, nanos_per_tick: 1 }),
            _ => None,
        })
    }
}

/// Reads a pcap file; use [`crate::capture::open`].
#[derive(Debug)]
pub(crate) struct Reader<R> {
    source: Source<R>,
    variant: Variant,
    interface: [Interface; 1],
    over: bool,
}

impl<R: Read> Reader<R> {
    /// Reads the header, whose first four bytes have been read.
    pub(crate) fn open(mut source: Source<R>, variant: Variant) -> Result<Self, ReadError> {
        let head = source.array::<20>("file header", 0)?;
        let mut fields = Fields::new(&head, variant.endian);
        let mut read = || {
            fields.bytes(12)?; // Version, time zone and accuracy.
            Some((fields.u32()?, fields.u32()?))
        };
        let (snap_len, link_type) = read().expect("the head has 20 bytes");
        // The high bits describe frame check sequences.
        let link_type = LinkType(link_type as u16);
        let interface = [Interface { name: String::new(), description: String::new(), link_type, snap_len }];
        Ok(Self { source, variant, interface, over: false })
    }

    pub(crate) const fn interfaces(&self) -> &[Interface] {
        &self.interface
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
        let begins = self.source.at();
        let Some(head) = self.source.start::<HEAD_LEN>(PART)? else { return Ok(None) };
        let mut fields = Fields::new(&head, self.variant.endian);
        let mut read = || Some((fields.u32()?, fields.u32()?, fields.u32()?, fields.u32()?));
        let (seconds, ticks, captured, original_len) = read().expect("the head has 16 bytes");
        if captured > LONGEST {
            let fault = format!("says that it holds {captured} bytes, and {LONGEST} is the most");
            return Err(ReadError::Damaged { part: PART, begins, fault });
        }
        let nanos = u64::from(seconds) * NANOS_PER_SEC + u64::from(ticks) * self.variant.nanos_per_tick;
        let mut data = Vec::new();
        self.source.exactly(&mut data, captured.into(), PART, begins)?;
        Ok(Some(Frame { at: Instant::from_nanos(nanos), data, original_len, ..Frame::default() }))
    }
}

/// The magic numbers of the two resolutions.
const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
const NANOS_PER_SEC: u64 = 1_000_000_000;
/// "No limit", as tcpdump writes it.
const SNAP_LEN: u32 = 262_144;
/// More than any tool captures of a packet (Wireshark stops at 256 KiB; USB captures reach 128 MiB).
const LONGEST: u32 = 128 << 20;
const PART: &str = "packet record";
const HEAD_LEN: usize = 16;
