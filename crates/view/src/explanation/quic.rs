//! The story of a connection of QUIC or DCCP: its packets are datagrams, and its decisions are those that the sender's
//! stack reports. Nothing of DCCP is sent again, so its story has no retransmissions.

use crate::explanation::decisions::Decisions;
use crate::explanation::words::{at, count, grouped, joined, lasting, listed};
use crate::explanation::{Event, Explanation, story};
use crate::flow::Flow;
use crate::table::Rows;

/// Explains the connections of a flow of datagrams whose sender has decided something: none of other datagrams.
pub(super) fn explain_flow(flow: &Flow<'_>) -> Vec<Explanation> {
    let Some(rows) = flow.decisions.as_ref().filter(|rows| !rows.is_empty()) else { return Vec::new() };
    let of_connection = |group: &Vec<usize>| explained(flow, &rows.at(group));
    rows.groups("connection").iter().filter(|group| !group.is_empty()).map(of_connection).collect()
}

fn explained(flow: &Flow<'_>, rows: &Rows<'_>) -> Explanation {
    let number = rows.numbers("connection")[0];
    let seen = flow.segments.numbers("connection").into_iter().zip(flow.segments.seconds("time_ns"));
    let seen: Vec<f64> = seen.filter(|(connection, _)| *connection == number).map(|(_, time)| time).collect();
    let decisions = Decisions::new(rows.clone());
    let start = seen.iter().copied().fold(decisions.time[0], f64::min);
    let mut events: Vec<Event> = opening(&decisions, start).into_iter().collect();
    events.extend(reductions(&decisions));
    events.extend(probes(&decisions));
    events.extend(migrations(&decisions));
    story::sort(&mut events);
    Explanation {
        flow: flow.name.into(),
        connection: number as i64,
        start,
        end: seen.into_iter().chain(decisions.time.last().copied()).fold(start, f64::max),
        events,
        causes: Vec::new(),
        time_shares: Vec::new(),
        facts: Vec::new(),
    }
}

fn event(start: f64, end: f64, kind: &str, text: String) -> Event {
    Event { start, end, kind: kind.into(), text, packets: Vec::new() }
}

fn opening(decisions: &Decisions<'_>, start: f64) -> Option<Event> {
    let established = decisions.time[*decisions.of("established").first()?];
    let text = format!("connected after {}", lasting(established - start));
    Some(event(start, established, "opening", text))
}

/// The losses and marks to which the congestion control answers.
fn reductions(decisions: &Decisions<'_>) -> Vec<Event> {
    let kinds = ["fast_retransmit", "collapse", "mark", "congestion"];
    let event_at = |kind: &'static str, place: usize| {
        let made = decisions.get(place);
        let text = joined(&[made.reason.to_owned(), window_change(decisions, place)]);
        event(made.time, made.time, kind, text)
    };
    kinds
        .into_iter()
        .flat_map(|kind| decisions.of(kind).into_iter().map(move |place| event_at(kind, place)))
        .collect()
}

fn probes(decisions: &Decisions<'_>) -> Option<Event> {
    let times: Vec<f64> = decisions.of("timeout").into_iter().map(|place| decisions.time[place]).collect();
    let (first, last) = (*times.first()?, *times.last()?);
    let shown: Vec<String> = times.iter().take(MANY_PROBES).map(|time| at(*time)).collect();
    let others = times.len() - shown.len();
    let others = if others > 0 { format!(", and {} later", count(others, "more")) } else { String::new() };
    // QUIC probes; of DCCP the reason says that nothing was heard.
    let reason = decisions.get(*decisions.of("timeout").first()?).reason;
    let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    let what = if reason.is_empty() { "probe timeout" } else { "timeout" };
    let text = format!("{} at {}{others}{because}", count(times.len(), what), listed(&shown));
    Some(event(first, last, "timeout", text))
}

fn migrations(decisions: &Decisions<'_>) -> Vec<Event> {
    let event_at = |place: usize| {
        let made = decisions.get(place);
        let text = joined(&[made.reason.to_owned(), window_change(decisions, place)]);
        event(made.time, made.time, "migration", text)
    };
    decisions.of("migrate").into_iter().map(event_at).collect()
}

/// The change of the window by a decision, in words; nothing where it stays.
fn window_change(decisions: &Decisions<'_>, place: usize) -> String {
    let after = decisions.get(place);
    match decisions.before(place) {
        Some(before) if before.cwnd != after.cwnd => {
            format!("cwnd {} to {} bytes", grouped(before.cwnd as i64), grouped(after.cwnd as i64))
        }
        _ => String::new(),
    }
}

/// Probe timeouts that are listed with their times.
const MANY_PROBES: usize = 5;
