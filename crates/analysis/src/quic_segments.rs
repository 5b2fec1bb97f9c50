//! The packets of QUIC as rows of the table `segments`, which pictures and explanations read.
//!
//! The data of all streams of a sender are one sequence, in the order in which they were sent first
//! (`quic_sequence.rs`). An acknowledgment has the position before which all of them were acknowledged, and as SACK
//! blocks what it adds above. The window is that of MAX_DATA. A packet whose data do not follow each other has several
//! rows. Connections without opened data of streams have none.

use std::collections::BTreeMap;
use std::io::Read;
use std::ops::Range;

use ::quic::sender::{Event, Passed, Rule};
use ::quic::{Fate, Frame, Origin, Space};
use arrow_array::RecordBatch;
use parquet::Columns;
use units::{Duration, Instant};

use crate::frames::Frames;
use crate::quic::Quic;
use crate::quic_contents::QuicStep;
use crate::quic_packets::datagram_of;
use crate::quic_sequence::{Piece, Sequence};
use crate::survey::Survey;

/// Reads the frames of which `survey` is the first reading again, and gives the rows of their QUIC connections; `None`
/// if no data of streams were opened.
#[must_use]
pub fn quic_segments<R: Read>(mut frames: Frames<R>, survey: &Survey) -> Option<RecordBatch> {
    let began = survey.began();
    let surveyed: Vec<Surveyed> = survey.quic(began).iter().map(Surveyed::of).collect();
    if surveyed.iter().all(|one| one.stream_bytes == 0) {
        return None;
    }
    let mut points: Vec<Point> = Vec::new();
    while let Some(frame) = frames.next() {
        let point = frame.interface as usize;
        points.resize_with(points.len().max(point + 1), Point::default);
        let (Some(number), Ok(packet)) = (frame.packet, frames.unpack(&frame)) else { continue };
        let Ok(parsed) = packet.parse_headers() else { continue };
        let Some((ends, datagram)) = datagram_of(&parsed, &packet) else { continue };
        let origin = Origin { at: frame.at, frame: number.0 };
        let Point { quic, connections } = &mut points[point];
        let how = (parsed.missing > 0, frames.key_log());
        quic.handle_datagram(origin, ends, datagram, how, &mut |step| {
            connections.resize_with(connections.len().max(step.connection + 1), Connection::default);
            connections[step.connection].add(step);
        });
    }
    Some(batch(points, &surveyed, began))
}

/// What the first reading found about a connection.
struct Surveyed {
    flow: String,
    ends: [String; 2],
    /// Side that sent more data.
    bulk: usize,
    stream_bytes: u64,
}

#[derive(Default)]
struct Point {
    quic: Quic,
    connections: Vec<Connection>,
}

/// The packets of one connection.
#[derive(Default)]
struct Connection {
    rows: Vec<Row>,
    packets: Vec<Sent>,
    /// The packets with data of streams, by side and number.
    numbers: BTreeMap<(usize, u64), usize>,
    sequences: [Sequence; 2],
    /// Bytes of all streams that each side may send.
    limits: [u64; 2],
}

/// A packet with data of streams.
struct Sent {
    number: u64,
    ranges: Vec<Range<u64>>,
    /// The packet that carried its first repeated data before.
    before: Option<usize>,
    acknowledged: Option<Instant>,
    lost: Option<Rule>,
}

#[derive(Clone)]
struct Row {
    at: Instant,
    side: usize,
    frame: u64,
    /// Its packet, and its data.
    piece: Option<(usize, Piece)>,
    cause: Option<&'static str>,
    ack: Option<u64>,
    window: u64,
    sack: Option<String>,
    round_trip: Option<Duration>,
}

/// Whether a retransmission was needed, and why.
struct Verdict {
    needless: bool,
    why: &'static str,
    explanation: String,
    confidence: &'static str,
}

impl Surveyed {
    fn of(one: &crate::quic::QuicConnection) -> Self {
        let sent = one.contents.senders.each_ref().map(|sender| sender.stream_bytes);
        Self {
            flow: one.flow.clone(),
            ends: one.ends.clone(),
            bulk: usize::from(sent[1] > sent[0]),
            stream_bytes: sent[0] + sent[1],
        }
    }
}

impl Connection {
    fn add(&mut self, step: &QuicStep<'_>) {
        let news = self.note_fates(step.packet.side, step.events);
        let (Ok(contents), Some(passed)) = (&step.packet.contents, step.passed) else { return };
        let (side, origin) = (step.packet.side, step.packet.origin);
        self.limits = [0, 1].map(|side| self.limits[side].max(step.limits[side]));
        for frame in &contents.frames {
            if let Frame::MaxData(limit) = frame {
                self.limits[1 - side] = self.limits[1 - side].max(*limit);
            }
        }
        let mut pieces = Vec::new();
        for frame in &contents.frames {
            if let Frame::Stream { stream, offset, len, .. } = frame {
                let bytes = *offset..offset.saturating_add(*len);
                pieces.extend(self.sequences[side].send(*stream, bytes, self.packets.len()));
            }
        }
        let pieces = merged(pieces);
        let acknowledged = self.sequences[1 - side].acknowledged();
        let row = Row {
            at: origin.at,
            side,
            frame: origin.frame,
            piece: None,
            cause: None,
            ack: (!news.is_empty()).then_some(acknowledged),
            window: self.limits[1 - side].saturating_sub(acknowledged),
            sack: blocks(&news, acknowledged),
            round_trip: passed.round_trip,
        };
        self.push(row, &pieces, passed);
        if !pieces.is_empty() {
            self.numbers.insert((side, contents.number), self.packets.len());
            self.packets.push(Sent {
                number: contents.number,
                before: pieces.iter().find_map(|piece| piece.before),
                ranges: pieces.into_iter().map(|piece| piece.range).collect(),
                acknowledged: None,
                lost: None,
            });
        }
    }

    /// Adds a row for each piece, or one without data. The first has the acknowledgment.
    fn push(&mut self, row: Row, pieces: &[Piece], passed: Passed) {
        let packet = self.packets.len();
        let mut row = row;
        for piece in pieces {
            let next = Row { ack: None, sack: None, round_trip: None, ..row.clone() };
            let cause = piece.before.map(|before| self.cause(before, passed.probe));
            let piece = Some((packet, piece.clone()));
            self.rows.push(Row { piece, cause, ..std::mem::replace(&mut row, next) });
        }
        if pieces.is_empty() {
            self.rows.push(row);
        }
    }

    /// Why data are sent again.
    fn cause(&self, before: usize, probe: bool) -> &'static str {
        match self.packets.get(before).and_then(|packet| packet.lost) {
            Some(rule) => rule.id(),
            None if probe => "probe",
            None => "unknown",
        }
    }

    /// Notes what a packet of `side` shows. Returns the ranges that it acknowledges, each with what is known around it.
    fn note_fates(&mut self, side: usize, events: &[Event]) -> Vec<Range<u64>> {
        let mut news = Vec::new();
        for event in events.iter().filter(|event| event.space == Space::Application) {
            let Some(packet) = self.numbers.get(&(event.side, event.number)) else { continue };
            let packet = &mut self.packets[*packet];
            match event.fate {
                Fate::Lost(rule) => packet.lost = Some(rule),
                Fate::Acknowledged | Fate::Spurious => {
                    packet.acknowledged = Some(event.at);
                    if event.side != side {
                        let sequence = &mut self.sequences[event.side];
                        news.extend(packet.ranges.iter().map(|range| sequence.deliver(range)));
                    }
                }
            }
        }
        news
    }

    fn verdict(&self, row: &Row) -> Option<Verdict> {
        let (packet, piece) = row.piece.as_ref()?;
        let mut earlier = Some(piece.before?);
        let first = self.packets.get(piece.before?)?;
        for _ in 0..MOST_COPIES {
            let Some(copy) = earlier.and_then(|place| self.packets.get(place)) else { break };
            if let Some(at) = copy.acknowledged {
                let when = if at <= row.at { "before" } else { "after" };
                return Some(Verdict {
                    needless: true,
                    why: "original_acknowledged",
                    explanation: format!(
                        "packet {} with these data was acknowledged {when} that",
                        copy.number
                    ),
                    confidence: "certain",
                });
            }
            earlier = copy.before;
        }
        self.packets[*packet].acknowledged.map(|_| Verdict {
            needless: false,
            why: "original_not_acknowledged",
            explanation: format!("packet {} with these data was never acknowledged", first.number),
            confidence: "likely",
        })
    }
}

/// Joins pieces that follow each other in the sequence, of several frames.
fn merged(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut merged: Vec<Piece> = Vec::new();
    for piece in pieces {
        match merged.last_mut() {
            Some(last)
                if last.range.end == piece.range.start && last.before.is_none() == piece.before.is_none() =>
            {
                last.range.end = piece.range.end;
            }
            _ => merged.push(piece),
        }
    }
    merged
}

/// The acknowledged ranges above a position, as the table has SACK blocks.
fn blocks(news: &[Range<u64>], acknowledged: u64) -> Option<String> {
    let mut above: Vec<_> =
        news.iter().filter(|range| range.end > acknowledged).map(|range| (range.start, range.end)).collect();
    above.sort_unstable();
    // What an ACK frame adds may grow together step by step: the last form of a range contains the others.
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (start, end) in above {
        match joined.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    let texts: Vec<_> = joined.iter().map(|(start, end)| format!("{}-{}", start + 1, end + 1)).collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}

fn batch(points: Vec<Point>, surveyed: &[Surveyed], began: Instant) -> RecordBatch {
    // The connections of a point follow all those of the points before it.
    let mut all: Vec<(&Surveyed, &Connection, &Row)> = Vec::new();
    let mut first = 0;
    for Point { quic, connections } in &points {
        for (place, connection) in connections.iter().enumerate() {
            let surveyed = &surveyed[first + place];
            if surveyed.stream_bytes > 0 {
                all.extend(connection.rows.iter().map(|row| (surveyed, connection, row)));
            }
        }
        first += quic.len();
    }
    all.sort_by_key(|(_, _, row)| row.at);
    let verdicts: Vec<_> = all.iter().map(|(_, connection, row)| connection.verdict(row)).collect();
    let rows = || all.iter().map(|(_, _, row)| *row);
    let judged = || verdicts.iter().map(Option::as_ref);
    Columns::default()
        .time("time_ns", rows().map(|row| Instant::START + row.at.saturating_since(began)))
        .text("flow", all.iter().map(|(surveyed, ..)| surveyed.flow.as_str()))
        .text("host", all.iter().map(|(surveyed, ..)| surveyed.ends[surveyed.bulk].as_str()))
        .text(
            "direction",
            all.iter().map(|(surveyed, _, row)| if row.side == surveyed.bulk { "sent" } else { "received" }),
        )
        .u64("packet", rows().map(|row| row.frame))
        .text("kind", rows().map(Row::kind))
        .u64("seq", rows().map(|row| 1 + row.piece.as_ref().map_or(0, |(_, piece)| piece.range.start)))
        .u32("len", rows().map(Row::len))
        .maybe_u64("ack", rows().map(|row| row.ack.map(|ack| ack + 1)))
        .u64("window", rows().map(|row| row.window))
        .boolean("retransmission", rows().map(|row| row.cause.is_some()))
        .maybe_text("cause", rows().map(|row| row.cause))
        .maybe_boolean("needless", judged().map(|one| one.map(|verdict| verdict.needless)))
        .maybe_text("why", judged().map(|one| one.map(|verdict| verdict.why)))
        .maybe_text("explanation", judged().map(|one| one.map(|verdict| verdict.explanation.as_str())))
        .maybe_text("confidence", judged().map(|one| one.map(|verdict| verdict.confidence)))
        .text("flags", rows().map(|_| ""))
        .maybe_text("sack", rows().map(|row| row.sack.as_deref()))
        .maybe_u64("rtt_ns", rows().map(|row| row.round_trip.map(Duration::as_nanos)))
        .u32("connection", rows().map(|_| 1))
        .finish()
}

impl Row {
    const fn kind(&self) -> &'static str {
        match (&self.piece, self.cause) {
            (None, _) => "ack",
            (Some(_), None) => "data",
            (Some(_), Some(_)) => "retransmission",
        }
    }

    fn len(&self) -> u32 {
        self.piece.as_ref().map_or(0, |(_, piece)| (piece.range.end - piece.range.start) as u32)
    }
}

/// Earlier copies of data that a verdict examines.
const MOST_COPIES: usize = 64;
