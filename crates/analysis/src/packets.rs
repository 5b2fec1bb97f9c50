//! The TCP packets of a capture as they were on the wire, one row each. Two captures of one connection are joined by
//! these rows, and a link is fitted to them.
//!
//! Unlike the rows of `segments` they keep raw numbers, identification and timestamps, which identify a packet at the
//! other end of its path. All rows are in memory at once, some 130 bytes for each packet.

use std::io::Read;

use arrow_array::RecordBatch;
use parquet::Columns;
use trace::capture::Capture;
use trace::flow::{Judgement, ObservedSegment, Side};
use units::{Instant, PacketId, SeqRange};
use wire::capture::Frame;
use wire::{Flags, Parsed, Segment, ip};

use crate::frames::Frames;

/// Reads frames and gives their TCP packets, in the order of the file. A truncated file is read up to the damage.
///
/// `connection` is the index of the packet's connection in [`Report::connections`](crate::Report::connections) of the
/// same capture; `time_ns` is nanoseconds since 1970.
#[must_use]
pub fn packets<R: Read>(mut frames: Frames<R>) -> RecordBatch {
    let mut reading = PacketReader::default();
    while let Some(frame) = frames.next() {
        reading.add(&frame, &mut frames);
    }
    reading.finish()
}

#[derive(Default)]
struct PacketReader {
    captures: Vec<Capture>,
    rows: Vec<PacketRow>,
}

/// One packet; `flow` is the index of its point and that of its connection there.
struct PacketRow {
    at: Instant,
    flow: [usize; 2],
    packet: PacketId,
    observed: ObservedSegment,
    seq: u32,
    ack: Option<u32>,
    flags: u16,
    size: u32,
    identification: Option<u16>,
    stamps: Option<[u32; 2]>,
    blocks: Option<Box<str>>,
}

impl PacketReader {
    fn add<R: Read>(&mut self, frame: &Frame, frames: &mut Frames<R>) {
        let point = frame.interface as usize;
        self.captures.resize_with(self.captures.len().max(point + 1), Capture::new);
        let (Some(packet), Ok(unpacked)) = (frame.packet, frames.unpack(frame)) else { return };
        let Ok(parsed) = unpacked.parse_headers() else { return };
        let Some((flow, observed)) = self.captures[point].handle_parsed(frame.at, packet, &parsed) else {
            return;
        };
        let Some(segment) = parsed.segment() else { return };
        self.rows.push(PacketRow {
            at: frame.at,
            flow: [point, flow],
            packet,
            observed,
            seq: segment.seq.0,
            ack: segment.flags.contains(Flags::ACK).then_some(segment.ack.0),
            flags: segment.flags.bits(),
            size: size_of(&parsed, segment),
            identification: parsed.header.identification(),
            stamps: segment.options.timestamps.map(|stamps| [stamps.value, stamps.echo]),
            blocks: blocks_text(segment),
        });
    }

    fn finish(self) -> RecordBatch {
        // The connections of a point follow all those of the points before it.
        let first = self.captures.iter().scan(0, |sum, capture| {
            let first = *sum;
            *sum += capture.flows().len();
            Some(first)
        });
        let first: Vec<_> = first.collect();
        let judged = self.judgements();
        let rows = || self.rows.iter();
        let judgement = |row: &PacketRow| judged.get(&row.packet);
        Columns::default()
            .u64("time_ns", rows().map(|row| row.at.saturating_since(Instant::START).as_nanos()))
            .u32("connection", rows().map(|row| (first[row.flow[0]] + row.flow[1]) as u32))
            .boolean("from_opener", rows().map(|row| row.observed.sender == Side::Opener))
            .u64("packet", rows().map(|row| row.packet.0))
            .u32("size", rows().map(|row| row.size))
            .u32("seq", rows().map(|row| row.seq))
            .u32("len", rows().map(|row| row.observed.len))
            .maybe_u64("ack", rows().map(|row| row.ack.map(u64::from)))
            .u64("window", rows().map(|row| row.observed.window.0))
            .u32("flags", rows().map(|row| u32::from(row.flags)))
            .maybe_u64("identification", rows().map(|row| row.identification.map(u64::from)))
            .maybe_u64("timestamp", rows().map(|row| row.stamps.map(|stamps| u64::from(stamps[0]))))
            .maybe_u64("echo", rows().map(|row| row.stamps.map(|stamps| u64::from(stamps[1]))))
            .maybe_text("sack", rows().map(|row| row.blocks.as_deref()))
            .text("kind", rows().map(|row| crate::segment_kind::kind_id(row.observed.kind)))
            .maybe_boolean("needless", rows().map(|row| judgement(row)?.needed.map(|needed| !needed)))
            .maybe_text("confidence", rows().map(|row| judgement(row).map(|found| found.confidence.id())))
            .finish()
    }

    fn judgements(&self) -> std::collections::BTreeMap<PacketId, Judgement> {
        let flows = self.captures.iter().flat_map(Capture::flows);
        let halves = flows.flat_map(|flow| [Side::Opener, Side::Answerer].map(|side| flow.half(side)));
        halves.flat_map(|half| half.judgements()).map(|judgement| (judgement.packet, judgement)).collect()
    }
}

/// Bytes of the IP packet as it was sent, even if the capture is shorter; without IPv4 options and extension headers.
fn size_of(parsed: &Parsed, segment: &Segment) -> u32 {
    let header = match parsed.header {
        ip::Header::V4(_) => ip::v4::HEADER_LEN,
        ip::Header::V6(_) => ip::v6::HEADER_LEN,
    };
    header as u32 + segment.wire_len() + parsed.missing
}

/// The SACK blocks by raw numbers: "513-1025 1281-1537".
fn blocks_text(segment: &Segment) -> Option<Box<str>> {
    let text = |block: &SeqRange| format!("{}-{}", block.start.0, block.end.0);
    let texts: Vec<_> = segment.options.sack.as_slice().iter().map(text).collect();
    (!texts.is_empty()).then(|| texts.join(" ").into())
}
