//! The second reading: the packets of a capture as rows of the table `segments`.
//!
//! Of each connection the view of the side is taken that sent the data: what it sent, and what came to it, when they passed
//! the point of observation. Times are nanoseconds from the first packet of the capture; sequence numbers are relative.

use std::io::Read;

use arrow_array::RecordBatch;
use parquet::Columns;
use trace::capture::Capture;
use trace::flow::{Judgement, Kind, Sighting};
use units::{Duration, Instant, PacketId};
use wire::Segment;
use wire::capture::{Frame, Interface, Reader};
use wire::framing;

use crate::survey::{Known, Survey};

/// Reads a capture again, of which `survey` is the first reading, and gives its rows to `each`, some thousand at a time.
///
/// # Errors
/// What `each` returns; then the reading ends.
pub fn rows<R: Read, E>(
    mut reader: Reader<R>,
    survey: &Survey,
    mut each: impl FnMut(RecordBatch) -> Result<(), E>,
) -> Result<(), E> {
    let mut reading =
        Reading { began: survey.began(), known: survey.known(), captures: Vec::new(), rows: Vec::new() };
    let mut place = 0;
    while let Some(Ok(frame)) = reader.next() {
        reading.add(&frame, PacketId(place), reader.interfaces());
        place += 1;
        if reading.rows.len() == ROWS {
            each(reading.take())?;
        }
    }
    each(reading.take())
}

struct Reading {
    began: Instant,
    known: Vec<Vec<Known>>,
    captures: Vec<Capture>,
    rows: Vec<Row>,
}

/// One packet; `flow` is the place of its point and that of its connection there.
struct Row {
    at: Duration,
    flow: [usize; 2],
    packet: PacketId,
    sighting: Sighting,
    flags: String,
    sack: Option<String>,
    judgement: Option<Judgement>,
}

impl Reading {
    fn add(&mut self, frame: &Frame, packet: PacketId, interfaces: &[Interface]) {
        let point = frame.interface as usize;
        let Some(interface) = interfaces.get(point) else { return };
        self.captures.resize_with(self.captures.len().max(point + 1), Capture::new);
        let Some(bytes) = framing::ip_packet(interface.link_type, &frame.data) else { return };
        let Ok(parsed) = wire::parse(bytes) else { return };
        let Some((flow, sighting)) = self.captures[point].handle_parsed(frame.at, packet, &parsed) else {
            return;
        };
        let Some(segment) = parsed.segment() else { return };
        let heard = self.captures[point].flows()[flow].half(sighting.sender.peer());
        self.rows.push(Row {
            at: frame.at.saturating_since(self.began),
            flow: [point, flow],
            packet,
            sighting,
            flags: segment.flags.to_string(),
            sack: sack_text(segment, |seq| heard.relative(seq)),
            judgement: self.known[point][flow].judgements.get(&packet).copied(),
        });
    }

    fn take(&mut self) -> RecordBatch {
        let rows = std::mem::take(&mut self.rows);
        let rows = || rows.iter();
        let known = |row: &Row| &self.known[row.flow[0]][row.flow[1]];
        let judged = || rows().map(|row| row.judgement);
        Columns::default()
            .time("time_ns", rows().map(|row| Instant::START + row.at))
            .text("flow", rows().map(|row| known(row).name.as_str()))
            .text("host", rows().map(|row| known(row).hosts[known(row).bulk_sender as usize].as_str()))
            .text("direction", rows().map(|row| row.direction(known(row))))
            .u64("packet", rows().map(|row| row.packet.0))
            .text("kind", rows().map(|row| kind_id(row.sighting.kind)))
            .u64("seq", rows().map(|row| row.sighting.seq))
            .u32("len", rows().map(|row| row.sighting.len))
            .maybe_u64("ack", rows().map(|row| row.sighting.ack))
            .u64("window", rows().map(|row| row.sighting.window.0))
            .boolean("retransmission", rows().map(Row::is_retransmission))
            .maybe_text("cause", rows().map(Row::cause))
            .maybe_boolean("needless", judged().map(|one| one?.needed.map(|needed| !needed)))
            .maybe_text("why", judged().map(|one| one.map(|judgement| judgement.sign.id())))
            .maybe_text("explanation", judged().map(|one| one.map(|judgement| judgement.explanation())))
            .maybe_text("confidence", judged().map(|one| one.map(|judgement| judgement.confidence.id())))
            .text("flags", rows().map(|row| row.flags.as_str()))
            .maybe_text("sack", rows().map(|row| row.sack.as_deref()))
            .u32("connection", rows().map(|_| 1))
            .finish()
    }
}

impl Row {
    fn direction(&self, known: &Known) -> &'static str {
        if self.sighting.sender == known.bulk_sender { "sent" } else { "received" }
    }

    const fn is_retransmission(&self) -> bool {
        matches!(self.sighting.kind, Kind::Retransmission(_))
    }

    const fn cause(&self) -> Option<&'static str> {
        match self.sighting.kind {
            Kind::Retransmission(cause) => Some(cause.id()),
            _ => None,
        }
    }
}

/// The name of a kind in tables.
pub(crate) const fn kind_id(kind: Kind) -> &'static str {
    match kind {
        Kind::Syn => "syn",
        Kind::Data => "data",
        Kind::Fin => "fin",
        Kind::Retransmission(_) => "retransmission",
        Kind::Ack => "ack",
        Kind::Probe => "probe",
        Kind::Reset => "rst",
    }
}

/// The blocks as they stand in the table, by the peer's relative numbers: "513-1025 1281-1537".
fn sack_text(segment: &Segment, relative: impl Fn(units::Seq) -> u64) -> Option<String> {
    let blocks = segment.options.sack.as_slice();
    let texts: Vec<_> =
        blocks.iter().map(|block| format!("{}-{}", relative(block.start), relative(block.end))).collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}

/// Rows of a batch: as many as a run of lasthop's own puts into a row group.
const ROWS: usize = 16_384;
