//! One connection of a result: the sender's packets and decisions, and the fate of each packet.
//!
//! Times are seconds from the start of the run, sequence numbers relative (1 is the first byte of data), lengths bytes.

use crate::explanation::copies::{Copies, Copy};
use crate::explanation::decisions::Decisions;
use crate::explanation::hops::Hops;
use crate::flow::{Flow, highest};
use crate::table::{Rows, both, not, places};

/// Retransmissions of data that the peer sent, in the order in which they came to the sender.
pub(crate) struct Again<'a> {
    pub(crate) time: Vec<f64>,
    pub(crate) packet: Vec<f64>,
    pub(crate) seq: Vec<f64>,
    pub(crate) cause: Vec<&'a str>,
}

/// A connection's sender, its copies in the order of sending, and its decisions in the order of time.
pub(crate) struct Connection<'a> {
    pub(crate) flow: &'a str,
    pub(crate) number: i64,
    pub(crate) copies: Copies<'a>,
    /// The retransmissions, in the order of sending.
    retransmitted: Vec<Copy>,
    /// The acknowledgments that it received: times, and the highest number by then.
    ack_times: Vec<f64>,
    highest_acknowledged: Vec<f64>,
    highest_sent: Vec<f64>,
    pub(crate) back: Again<'a>,
    pub(crate) decisions: Decisions<'a>,
    /// Whether it is one of a capture, where packets are frames.
    pub(crate) captured: bool,
    /// Whether it was captured far from the sender, where timeouts are guesses.
    pub(crate) timers_hidden: bool,
    pub(crate) first_seen: f64,
    pub(crate) last_seen: f64,
    /// The usual length of its data segments in bytes, at least 1.
    pub(crate) segment_size: i64,
    /// The shortest time from a segment that was sent once to the ACK that first covered it.
    pub(crate) best_round_trip: Option<f64>,
    /// The times at which queues dropped its copies, in ascending order.
    pub(crate) queue_drops: Vec<f64>,
}

impl Connection<'_> {
    /// Unit that its packet numbers count, in words.
    pub(crate) const fn unit(&self) -> &'static str {
        if self.captured { "frame" } else { "packet" }
    }

    /// All retransmissions.
    pub(crate) fn all_retransmissions(&self) -> &[Copy] {
        &self.retransmitted
    }

    /// The retransmissions from `since`, inclusive, to `until`.
    pub(crate) fn retransmissions(&self, since: f64, until: f64) -> &[Copy] {
        let place = |time: f64| self.retransmitted.partition_point(|copy| copy.time < time);
        let first = place(since);
        &self.retransmitted[first..place(until).max(first)]
    }

    /// Whether all data sent until the copy `before` were acknowledged when the `later` one was sent.
    pub(crate) fn repaired(&self, before: &Copy, later: &Copy) -> bool {
        let sent = by(&self.copies.time, &self.highest_sent, before.time);
        by(&self.ack_times, &self.highest_acknowledged, later.time) >= sent
    }
}

/// The shortest time from a segment that was sent once to the ACK that first covered it.
fn best_round_trip(copies: &Copies<'_>, ack_times: &[f64], acknowledged: &[f64]) -> Option<f64> {
    let once = copies.sent_once();
    let trip = |row: usize| {
        let place = acknowledged.partition_point(|ack| *ack < copies.end(row));
        Some(ack_times.get(place)? - copies.time[row])
    };
    let rows = (0..copies.len()).filter(|row| once[*row] && copies.length[*row] > 0.0);
    rows.filter_map(trip).min_by(f64::total_cmp)
}

/// The last value of a history at a time; 0 before it begins.
fn by(times: &[f64], values: &[f64], time: f64) -> f64 {
    times.partition_point(|one| *one <= time).checked_sub(1).map_or(0.0, |place| values[place])
}

/// The connections of a flow of TCP.
pub(crate) fn of_flow<'a>(flow: &Flow<'a>, captured: bool, timers_hidden: bool) -> Vec<Connection<'a>> {
    let groups =
        flow.segments.groups("connection").into_iter().enumerate().filter(|(_, rows)| !rows.is_empty());
    let seen = (captured, timers_hidden);
    groups.map(|(place, rows)| one(flow, flow.segments.at(&rows), place, seen)).collect()
}

fn one<'a>(
    flow: &Flow<'a>,
    mine: Rows<'a>,
    place: usize,
    (captured, timers_hidden): (bool, bool),
) -> Connection<'a> {
    let number = if mine.has("connection") { mine.numbers("connection")[0] as i64 } else { place as i64 + 1 };
    let at_sender = mine.equal("host", flow.sender);
    let elsewhere = mine.marked(&not(&mine.among("host", &[flow.sender])));
    let copies = Copies::new(
        copies_sent(&at_sender),
        &elsewhere.equal("direction", "received"),
        Hops::new(flow.packets.clone()),
    );
    let received = at_sender.equal("direction", "received");
    let heard = received.marked(&received.known("ack"));
    let times = mine.seconds("time_ns");
    let (ack_times, highest_acknowledged) = (heard.seconds("time_ns"), highest(&heard.numbers("ack")));
    Connection {
        flow: flow.name,
        number,
        retransmitted: places(&copies.retransmission).into_iter().map(|row| copies.get(row)).collect(),
        best_round_trip: best_round_trip(&copies, &ack_times, &highest_acknowledged),
        ack_times,
        highest_acknowledged,
        highest_sent: highest(&(0..copies.len()).map(|row| copies.end(row)).collect::<Vec<_>>()),
        back: sent_back(&received),
        decisions: flow.decisions.as_ref().map(|rows| decisions(rows, number)).unwrap_or_default(),
        captured,
        timers_hidden,
        first_seen: times.iter().copied().fold(f64::INFINITY, f64::min),
        last_seen: times.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        segment_size: usual(&copies.length),
        queue_drops: copies.hops.queue_drops(&copies.packet),
        copies,
    }
}

/// Segments with data, SYNs and FINs.
fn copies_sent<'a>(at_sender: &Rows<'a>) -> Rows<'a> {
    let sent = at_sender.equal("direction", "sent");
    let special = sent.among("kind", &["syn", "fin", "retransmission"]);
    let chosen: Vec<bool> =
        sent.numbers("len").into_iter().zip(special).map(|(len, special)| len > 0.0 || special).collect();
    sent.marked(&chosen)
}

fn sent_back<'a>(received: &Rows<'a>) -> Again<'a> {
    let with_data: Vec<bool> = received.numbers("len").into_iter().map(|len| len > 0.0).collect();
    let rows = received.marked(&both(&received.flags("retransmission"), &with_data));
    Again {
        time: rows.seconds("time_ns"),
        packet: rows.numbers("packet"),
        seq: rows.numbers("seq"),
        cause: rows.texts("cause"),
    }
}

fn decisions<'a>(rows: &Rows<'a>, number: i64) -> Decisions<'a> {
    if !rows.has("connection") {
        return Decisions::new(rows.clone());
    }
    let mine: Vec<bool> = rows.numbers("connection").into_iter().map(|one| one == number as f64).collect();
    Decisions::new(rows.marked(&mine))
}

/// The most frequent length above 0, of several the smallest; 1 if there is none.
fn usual(lengths: &[f64]) -> i64 {
    let mut sorted: Vec<i64> =
        lengths.iter().filter(|length| **length > 0.0).map(|length| *length as i64).collect();
    sorted.sort_unstable();
    let runs = sorted.chunk_by(|one, other| one == other);
    runs.reduce(|most, run| if run.len() > most.len() { run } else { most }).map_or(1, |run| run[0])
}
