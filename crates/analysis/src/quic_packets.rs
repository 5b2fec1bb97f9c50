//! The packets of QUIC in a capture as rows of the table `quic`, with their frames and fates.
//!
//! All rows are in memory at once, because the fate of a packet shows later.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::SocketAddr;

use ::quic::frame::ranges_text;
use ::quic::sender::{Event, Rule};
use ::quic::{Fate, Frame, KeyLog, Origin, Packet, Space};
use arrow_array::RecordBatch;
use parquet::Columns;
use units::{Duration, Instant};
use wire::framing::Unpacked;
use wire::{Parsed, Transport};

use crate::frames::Frames;
use crate::quic::Quic;
use crate::quic_contents::QuicStep;

/// Reads frames and gives the packets of their QUIC connections, in the order in which they were opened.
///
/// `connection` is the index of the packet's connection in [`Report::quic`](crate::Report::quic) of the same capture;
/// `time_ns` is nanoseconds from the first frame.
#[must_use]
pub fn quic_packets<R: Read>(mut frames: Frames<R>) -> RecordBatch {
    let mut reading = QuicReader::default();
    while let Some(frame) = frames.next() {
        let point = frame.interface as usize;
        reading.points.resize_with(reading.points.len().max(point + 1), Point::default);
        let (Some(number), Ok(packet)) = (frame.packet, frames.unpack(&frame)) else { continue };
        let Ok(parsed) = packet.parse_headers() else { continue };
        let origin = Origin { at: frame.at, frame: number.0 };
        reading.points[point].add(origin, &parsed, &packet, frames.key_log());
    }
    let several = frames.points().len() > 1;
    let names: Vec<_> = frames.points().iter().map(|point| several.then_some(point.name.as_str())).collect();
    reading.finish(frames.began().unwrap_or(Instant::START), &names)
}

/// Source and destination of a datagram of UDP, and the bytes that it carries; `parsed` are the headers of `packet`.
pub(crate) fn datagram_of<'a>(
    parsed: &Parsed,
    packet: &'a Unpacked<'_>,
) -> Option<([SocketAddr; 2], &'a [u8])> {
    let Transport::Udp(datagram) = &parsed.transport else { return None };
    let source = SocketAddr::new(parsed.header.source(), datagram.source_port);
    let destination = SocketAddr::new(parsed.header.destination(), datagram.destination_port);
    Some(([source, destination], packet.carried_by(datagram)))
}

#[derive(Default)]
struct QuicReader {
    points: Vec<Point>,
}

/// A point of observation.
#[derive(Default)]
struct Point {
    quic: Quic,
    rows: Vec<Row>,
    /// The row of each packet with a number, by connection, side, space and number.
    places: BTreeMap<(usize, usize, Space, u64), usize>,
}

/// One packet.
struct Row {
    at: Instant,
    connection: usize,
    from_client: bool,
    frame: u64,
    kind: &'static str,
    number: Option<u64>,
    size: u32,
    generation: Option<u64>,
    frames: String,
    ranges: Option<String>,
    unopened: Option<&'static str>,
    passed: Option<::quic::sender::Passed>,
    acknowledged: Option<Instant>,
    lost: Option<(Instant, Rule)>,
}

impl Point {
    fn add(&mut self, origin: Origin, parsed: &Parsed, packet: &Unpacked<'_>, log: &KeyLog) {
        let Some((ends, datagram)) = datagram_of(parsed, packet) else { return };
        let Self { quic, rows, places } = self;
        let how = (parsed.missing > 0, log);
        quic.handle_datagram(origin, ends, datagram, how, &mut |step| {
            let packet = step.packet;
            for event in step.events {
                let key = (step.connection, event.side, event.space, event.number);
                if let Some(&place) = places.get(&key) {
                    rows[place].note(event);
                }
            }
            if let (Ok(contents), Some(space)) = (&packet.contents, packet.kind.space()) {
                places.insert((step.connection, packet.side, space, contents.number), rows.len());
            }
            rows.push(Row::of(step));
        });
    }
}

impl Row {
    fn of(step: &QuicStep<'_>) -> Self {
        let Packet { origin, side, kind, size, contents } = step.packet;
        let contents = contents.as_ref();
        let frames = contents.map_or(&[][..], |contents| &contents.frames);
        Self {
            at: origin.at,
            connection: step.connection,
            from_client: *side == 0,
            frame: origin.frame,
            kind: kind.id(),
            number: contents.ok().map(|contents| contents.number),
            size: *size,
            generation: contents.ok().map(|contents| contents.generation),
            frames: frames.iter().map(words).collect::<Vec<_>>().join(" "),
            ranges: frames.iter().find_map(|frame| match frame {
                Frame::Ack(ack) => Some(ranges_text(&ack.ranges)),
                _ => None,
            }),
            unopened: contents.err().map(|why| why.words()),
            passed: step.passed,
            acknowledged: None,
            lost: None,
        }
    }

    fn note(&mut self, event: &Event) {
        match event.fate {
            Fate::Acknowledged | Fate::Spurious => self.acknowledged = Some(event.at),
            Fate::Lost(rule) => self.lost = Some((event.at, rule)),
        }
    }
}

impl QuicReader {
    fn finish(self, began: Instant, points: &[Option<&str>]) -> RecordBatch {
        // The connections of a point follow all those of the points before it.
        let mut first = 0;
        let mut all: Vec<(usize, Row)> = Vec::new();
        let mut flows = Vec::new();
        for (Point { quic, rows, .. }, point) in self.points.into_iter().zip(points) {
            all.extend(rows.into_iter().map(|row| (first + row.connection, row)));
            flows.extend(quic.names(*point));
            first += quic.len();
        }
        let rows = || all.iter().map(|(_, row)| row);
        let passed = || rows().map(|row| row.passed);
        let since = |at: Instant| at.saturating_since(began).as_nanos();
        Columns::default()
            .u64("time_ns", rows().map(|row| since(row.at)))
            .text("flow", all.iter().map(|(connection, _)| flows[*connection].as_str()))
            .u32("connection", all.iter().map(|(connection, _)| *connection as u32))
            .boolean("from_client", rows().map(|row| row.from_client))
            .u64("packet", rows().map(|row| row.frame))
            .text("kind", rows().map(|row| row.kind))
            .maybe_u64("number", rows().map(|row| row.number))
            .u32("size", rows().map(|row| row.size))
            .maybe_u64("generation", rows().map(|row| row.generation))
            .text("frames", rows().map(|row| row.frames.as_str()))
            .maybe_text("ranges", rows().map(|row| row.ranges.as_deref()))
            .maybe_boolean("ack_eliciting", passed().map(|one| one.map(|one| one.ack_eliciting)))
            .maybe_u64("data", passed().map(|one| one.map(|one| one.data)))
            .maybe_u64("retransmitted", passed().map(|one| one.map(|one| one.retransmitted)))
            .maybe_u64("needless", passed().map(|one| one.map(|one| one.needless)))
            .maybe_boolean("probe", passed().map(|one| one.map(|one| one.probe)))
            .maybe_u64("flight", passed().map(|one| one.map(|one| one.flight)))
            .maybe_u64("rtt_ns", passed().map(|one| one?.round_trip.map(Duration::as_nanos)))
            .maybe_u64("acknowledged_ns", rows().map(|row| row.acknowledged.map(since)))
            .maybe_u64("lost_ns", rows().map(|row| row.lost.map(|(at, _)| since(at))))
            .maybe_text("lost_by", rows().map(|row| row.lost.map(|(_, rule)| rule.id())))
            .maybe_text("unopened", rows().map(|row| row.unopened))
            .finish()
    }
}

/// A frame as the table has it: its name, and for data the stream and the bytes.
fn words(frame: &Frame<'_>) -> String {
    match frame {
        Frame::Stream { stream, offset, len, fin } => {
            format!(
                "stream:{stream}:{offset}-{}{}",
                offset.saturating_add(*len),
                if *fin { ":fin" } else { "" }
            )
        }
        Frame::Crypto { offset, data } => {
            format!("crypto:{offset}-{}", offset.saturating_add(data.len() as u64))
        }
        other => other.id().to_owned(),
    }
}
