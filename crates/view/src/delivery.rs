//! The delivery of a flow's data: the data in flight, and the round trips.

use crate::coverage::{Block, Covered, covered};
use crate::flow::{FIRST_DATA_SEQ, Flow, extent, highest};
use crate::table::{Rows, not};

/// The reason of a row of a kernel's sender, which was read from time to time.
const SAMPLED: &str = "sampled";

/// Event of a row that was written while segments were sent; all other events precede it.
const AFTER_SENDING: &str = "retransmit";

/// The column of the round trip that an acknowledgment ended, in tables of captures.
pub(crate) const MEASURED: &str = "rtt_ns";

/// Times in nanoseconds, and a value for each.
pub(crate) struct Series {
    pub(crate) time: Vec<f64>,
    pub(crate) value: Vec<f64>,
}

/// The data in flight after each packet that the sender sent or received, in bytes.
///
/// Data that were selectively acknowledged are not in flight; nor, where the sender's own record has it, are data that
/// it had marked as lost.
pub(crate) fn flight(flow: &Flow<'_>) -> Series {
    if flow.is_of_datagrams() {
        // For QUIC and DCCP the sender's record has it: acknowledgments of QUIC are encrypted.
        let recorded =
            |column| flow.decisions.as_ref().map(|recorded| recorded.numbers(column)).unwrap_or_default();
        return Series { time: recorded("time_ns"), value: recorded("flight") };
    }
    let rows = &flow.at_sender;
    let time = rows.numbers("time_ns");
    let mut in_flight = vec![0.0; rows.len()];
    let pipes = recorded_pipes(flow);
    for places in rows.groups("connection") {
        let mine = rows.at(&places);
        let bytes = pipes.as_ref().map_or_else(|| outstanding(&mine), |pipes| pipe(&mine, pipes));
        for (place, bytes) in places.into_iter().zip(bytes) {
            in_flight[place] = bytes;
        }
    }
    let last = |row: &usize| time.get(row + 1) != Some(&time[*row]);
    let (time, value) = (0..rows.len()).filter(last).map(|row| (time[row], in_flight[row])).unzip();
    Series { time, value }
}

/// The decisions in which the sender noted its pipe, before it sent anything on them.
fn recorded_pipes<'a>(flow: &Flow<'a>) -> Option<Rows<'a>> {
    let decisions = flow.decisions.as_ref()?;
    let sampled = decisions.among("reason", &[SAMPLED]).contains(&true);
    let noted = decisions.has("pipe") && !decisions.is_empty() && !sampled;
    noted.then(|| decisions.marked(&not(&decisions.among("event", &[AFTER_SENDING]))))
}

/// The pipe at the last decision with all that was sent since, after each packet of one connection.
fn pipe(rows: &Rows<'_>, pipes: &Rows<'_>) -> Vec<f64> {
    let pipes = of_connection(pipes, rows);
    let (time, at) = (rows.numbers("time_ns"), pipes.numbers("time_ns"));
    let sent = rows.among("direction", &["sent"]);
    let mut total = 0.0;
    let sent: Vec<f64> = (rows.numbers("len").into_iter().zip(sent))
        .map(|(length, sent)| {
            total += if sent { length } else { 0.0 };
            total
        })
        .collect();
    // What a decision lets go leaves at its own time.
    let before = |at: &f64| match time.partition_point(|time| time < at) {
        0 => 0.0,
        place => sent[place - 1],
    };
    let known: Vec<f64> =
        pipes.numbers("pipe").into_iter().zip(&at).map(|(pipe, at)| pipe - before(at)).collect();
    let at_time = |time: &f64| match at.partition_point(|at| at <= time) {
        0 => 0.0,
        place => known[place - 1],
    };
    sent.iter().zip(&time).map(|(sent, time)| (sent + at_time(time)).max(0.0)).collect()
}

/// The rows of a table that are of the connection of others, where both tables have connections.
fn of_connection<'a>(rows: &Rows<'a>, others: &Rows<'_>) -> Rows<'a> {
    if !rows.has("connection") || !others.has("connection") || others.is_empty() {
        return rows.clone();
    }
    let number = others.numbers("connection")[0];
    rows.marked(&rows.numbers("connection").iter().map(|one| *one == number).collect::<Vec<_>>())
}

/// The bytes of one connection that were sent and not yet reported, after each packet at its sender.
fn outstanding(rows: &Rows<'_>) -> Vec<f64> {
    let sent = rows.among("direction", &["sent"]);
    let acknowledges = rows.known("ack");
    let heard: Vec<usize> = (0..rows.len()).filter(|row| !sent[*row] && acknowledges[*row]).collect();
    let acks = rows.at(&heard);
    let mut reported = vec![0.0; rows.len()];
    for range in covered(&acks_of(&acks), &Flow::blocks(&acks)) {
        reported[heard[range.row]] += range.end - range.start;
    }
    let (seq, len) = (rows.numbers("seq"), rows.numbers("len"));
    let end = |row: usize| if sent[row] && len[row] > 0.0 { seq[row] + len[row] } else { FIRST_DATA_SEQ };
    let ends = highest(&(0..rows.len()).map(end).collect::<Vec<_>>());
    let mut known = 0.0;
    let left = |(end, new): (f64, f64)| {
        known += new;
        // The ACK of a FIN is beyond all bytes.
        (end - FIRST_DATA_SEQ - known).max(0.0)
    };
    ends.into_iter().zip(reported).map(left).collect()
}

/// When each segment was first reported, by an ACK or a SACK block, and its round trip, in nanoseconds.
///
/// Only segments that were sent once count, and only if nothing is reported with them that was sent again: an ACK does
/// not say which copy it is for (Karn's algorithm, RFC 6298 §3). An ACK that fills a gap is late for what lies after
/// the gap, so that without SACK only the gap's own segment counts. The table of a capture has the round trips that its
/// analysis measured.
pub(crate) fn round_trips(flow: &Flow<'_>) -> Series {
    let heard = &flow.heard;
    if heard.has(MEASURED) {
        let measured = heard.marked(&heard.known(MEASURED));
        return Series { time: measured.numbers("time_ns"), value: measured.numbers(MEASURED) };
    }
    let groups = heard.groups("connection");
    let mut found: Vec<(f64, f64)> =
        groups.iter().flat_map(|places| of_one(flow, &heard.at(places))).collect();
    found.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (time, value) = found.into_iter().unzip();
    Series { time, value }
}

/// The round trips of one connection.
fn of_one(flow: &Flow<'_>, heard: &Rows<'_>) -> Vec<(f64, f64)> {
    let sent = of_connection(&flow.data_sent, heard);
    let (extents, left) = (extent(&sent), sent.numbers("time_ns"));
    let (acks, time) = (acks_of(heard), heard.numbers("time_ns"));
    let mut reported = covered(&acks, &Flow::blocks(heard));
    reported.sort_by(|one, other| one.start.total_cmp(&other.start));
    let once = sent_once(&sent, &extents);
    let which: Vec<Option<usize>> = extents.iter().map(|extent| holder(&reported, *extent)).collect();
    let mut of_copies = vec![false; reported.len()];
    for (place, once) in which.iter().zip(&once) {
        if let (Some(place), false) = (place, once) {
            of_copies[*place] = true;
        }
    }
    let late = after_duplicates(&acks, heard);
    let timed = |segment: usize| {
        let place = which[segment].filter(|place| once[segment] && !of_copies[*place])?;
        let range = reported[place];
        let fills_gap = late[range.row] && range.by_ack;
        let counts = range.start == extents[segment].0 || !fills_gap;
        counts.then(|| (time[range.row], time[range.row] - left[segment]))
    };
    (0..extents.len()).filter_map(timed).collect()
}

/// The reported range, of those in the order of their starts, that holds a whole segment.
fn holder(reported: &[Covered], (start, end): Block) -> Option<usize> {
    let place = reported.partition_point(|range| range.start <= end - 1.0).checked_sub(1)?;
    (reported[place].start <= start && end <= reported[place].end).then_some(place)
}

/// Whether no byte of a segment was sent twice.
fn sent_once(sent: &Rows<'_>, extents: &[Block]) -> Vec<bool> {
    let again = sent.flags("retransmission");
    let mut resent: Vec<Block> =
        extents.iter().zip(&again).filter(|(_, again)| **again).map(|(one, _)| *one).collect();
    resent.sort_by(|one, other| one.0.total_cmp(&other.0));
    let ends = highest(&resent.iter().map(|(_, end)| *end).collect::<Vec<_>>());
    let touched = |(start, end): &Block| {
        let before = resent.partition_point(|(other, _)| other < end);
        before > 0 && ends[before - 1] > *start
    };
    extents.iter().zip(&again).map(|(extent, again)| !again && !touched(extent)).collect()
}

/// Which ACKs advance after duplicate ACKs, so that the reported data may have arrived earlier.
fn after_duplicates(acks: &[f64], heard: &Rows<'_>) -> Vec<bool> {
    let pure = heard.among("kind", &["ack"]);
    let repeats = |row: usize| row > 0 && acks[row] == acks[row - 1] && pure[row];
    (0..acks.len()).map(|row| row > 0 && repeats(row - 1) && !repeats(row)).collect()
}

/// The ACKs' numbers as offsets, none smaller than one before it.
fn acks_of(rows: &Rows<'_>) -> Vec<f64> {
    highest(&rows.numbers("ack")).into_iter().map(|ack| ack - FIRST_DATA_SEQ).collect()
}
