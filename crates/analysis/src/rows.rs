//! The second reading: the packets of a capture as rows of the table `segments`.
//!
//! A connection is seen from the side that sent the data: the packets that it sent and received, with the times at
//! which they passed the point of observation. Times are nanoseconds from the first packet of the capture; sequence
//! numbers are relative.

use std::collections::BTreeMap;
use std::io::Read;

use arrow_array::RecordBatch;
use parquet::Columns;
use trace::capture::Capture;
use trace::flow::{Judgement, ObservedSegment, SegmentKind};
use units::{Duration, Instant, PacketId};
use wire::Segment;
use wire::capture::Frame;

use crate::frames::Frames;
use crate::segment_kind::kind_id;
use crate::survey::{Known, Survey};

/// Reads the frames of which `survey` is the first reading again, and gives their rows to `each`, some thousand at a
/// time.
///
/// # Errors
/// Errors of `each`, which end the reading.
pub fn rows<R: Read, E>(
    mut frames: Frames<R>,
    survey: &Survey,
    mut each: impl FnMut(RecordBatch) -> Result<(), E>,
) -> Result<(), E> {
    let mut reading = SegmentReader {
        began: survey.began(),
        known: survey.known(),
        captures: Vec::new(),
        samples: Vec::new(),
        rows: Vec::new(),
    };
    while let Some(frame) = frames.next() {
        reading.add(&frame, &mut frames);
        if reading.rows.len() == ROWS {
            each(reading.take())?;
        }
    }
    each(reading.take())
}

struct SegmentReader {
    began: Instant,
    known: Vec<Vec<Known>>,
    captures: Vec<Capture>,
    /// The number of round trips measured so far, of both sides of each connection, by point.
    samples: Vec<BTreeMap<usize, [u64; 2]>>,
    rows: Vec<SegmentRow>,
}

/// One packet; `flow` is the index of its point and that of its connection there.
struct SegmentRow {
    at: Duration,
    flow: [usize; 2],
    packet: PacketId,
    observed: ObservedSegment,
    flags: String,
    sack: Option<String>,
    round_trip: Option<Duration>,
    judgement: Option<Judgement>,
}

impl SegmentReader {
    fn add<R: Read>(&mut self, frame: &Frame, frames: &mut Frames<R>) {
        let point = frame.interface as usize;
        self.captures.resize_with(self.captures.len().max(point + 1), Capture::new);
        self.samples.resize_with(self.captures.len(), BTreeMap::new);
        let (Some(packet), Ok(unpacked)) = (frame.packet, frames.unpack(frame)) else { return };
        let Ok(parsed) = unpacked.parse_headers() else { return };
        let Some((flow, observed)) = self.captures[point].handle_parsed(frame.at, packet, &parsed) else {
            return;
        };
        let Some(segment) = parsed.segment() else { return };
        let heard = self.captures[point].flows()[flow].half(observed.sender.peer());
        let samples = &mut self.samples[point].entry(flow).or_default()[observed.sender.peer() as usize];
        let before = std::mem::replace(samples, heard.round_trips().count);
        self.rows.push(SegmentRow {
            at: frame.at.saturating_since(self.began),
            flow: [point, flow],
            packet,
            observed,
            flags: segment.flags.to_string(),
            sack: sack_text(segment, |seq| heard.relative(seq)),
            round_trip: heard.latest_round_trip().filter(|_| *samples > before),
            judgement: self.known[point][flow].judgements.get(&packet).copied(),
        });
    }

    fn take(&mut self) -> RecordBatch {
        let rows = std::mem::take(&mut self.rows);
        let rows = || rows.iter();
        let known = |row: &SegmentRow| &self.known[row.flow[0]][row.flow[1]];
        let judged = || rows().map(|row| row.judgement);
        Columns::default()
            .time("time_ns", rows().map(|row| Instant::START + row.at))
            .text("flow", rows().map(|row| known(row).name.as_str()))
            .text("host", rows().map(|row| known(row).hosts[known(row).bulk_sender as usize].as_str()))
            .text("direction", rows().map(|row| row.direction(known(row))))
            .u64("packet", rows().map(|row| row.packet.0))
            .text("kind", rows().map(|row| kind_id(row.observed.kind)))
            .u64("seq", rows().map(|row| row.observed.seq))
            .u32("len", rows().map(|row| row.observed.len))
            .maybe_u64("ack", rows().map(|row| row.observed.ack))
            .u64("window", rows().map(|row| row.observed.window.0))
            .boolean("retransmission", rows().map(SegmentRow::is_retransmission))
            .maybe_text("cause", rows().map(SegmentRow::cause))
            .maybe_boolean("needless", judged().map(|one| one?.needed.map(|needed| !needed)))
            .maybe_text("why", judged().map(|one| one.map(|judgement| judgement.sign.id())))
            .maybe_text("explanation", judged().map(|one| one.map(|judgement| judgement.explanation())))
            .maybe_text("confidence", judged().map(|one| one.map(|judgement| judgement.confidence.id())))
            .text("flags", rows().map(|row| row.flags.as_str()))
            .maybe_text("sack", rows().map(|row| row.sack.as_deref()))
            .maybe_u64("rtt_ns", rows().map(|row| row.round_trip.map(Duration::as_nanos)))
            .u32("connection", rows().map(|_| 1))
            .finish()
    }
}

impl SegmentRow {
    fn direction(&self, known: &Known) -> &'static str {
        if self.observed.sender == known.bulk_sender { "sent" } else { "received" }
    }

    const fn is_retransmission(&self) -> bool {
        matches!(self.observed.kind, SegmentKind::Retransmission(_))
    }

    const fn cause(&self) -> Option<&'static str> {
        match self.observed.kind {
            SegmentKind::Retransmission(cause) => Some(cause.id()),
            _ => None,
        }
    }
}

/// The SACK blocks as the table has them, in the peer's relative numbers: "513-1025 1281-1537".
fn sack_text(segment: &Segment, relative: impl Fn(units::Seq) -> u64) -> Option<String> {
    let blocks = segment.options.sack.as_slice();
    let texts: Vec<_> =
        blocks.iter().map(|block| format!("{}-{}", relative(block.start), relative(block.end))).collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}

/// Rows of a batch: the size of a row group of a run.
const ROWS: usize = 16_384;
