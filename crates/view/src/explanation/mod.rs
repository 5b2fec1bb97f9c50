//! Explanations of a run: the events of each connection, their causes, and the shares of its time.
//!
//! Read `connection.rs` first (one connection's rows of the tables), then `story.rs` (events in order, in words),
//! `causes.rs` (of retransmissions) and `time_shares.rs` (the elapsed time, divided by its use).

mod causes;
mod connection;
mod copies;
mod decisions;
mod hops;
mod proxies;
mod quic;
mod story;
mod time_shares;
mod words;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use causes::Cause;
use connection::Connection;

use crate::flow::{Flow, flow_names};
use crate::table::{TableError, Tables};
use crate::tables::check;

/// An event, from `start` to `end`, the end of its consequences, in seconds.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Event {
    /// Its start.
    pub start: f64,
    /// The end of its consequences.
    pub end: f64,
    /// Its kind, such as `spurious_timeout`.
    pub kind: String,
    /// Its description.
    pub text: String,
    /// The packets that it is about.
    #[serde(default)]
    pub packets: Vec<i64>,
}

/// Seconds of a connection's elapsed time with one use.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct TimeShare {
    /// The use.
    pub kind: String,
    /// Its length.
    pub seconds: f64,
    /// The use in words.
    pub words: String,
    /// That of a capture: "certain", "likely" or "unsure"; none in a run, which knows its links.
    pub confidence: Option<String>,
}

/// What the analysis of a capture found about one connection, besides its tables.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Report {
    /// Sentences on the whole of it.
    pub facts: Vec<String>,
    /// Events except retransmissions of data.
    pub incidents: Vec<Event>,
    /// The limits of the sender, in place of the shares of time.
    pub limits: Vec<TimeShare>,
    /// Whether the sender is so far from the capture that its timers are guesses.
    #[serde(default)]
    pub timers_hidden: bool,
}

/// The reports on a capture's connections, by flow; none for a run.
pub type Reports = BTreeMap<String, Report>;

/// One connection: its events in order of time, the causes of its retransmissions, and its shares of time.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// Its flow.
    pub flow: String,
    /// Its number in the flow.
    pub connection: i64,
    /// The time of its first packet, in seconds.
    pub start: f64,
    /// The time of its last packet, in seconds.
    pub end: f64,
    /// Its events.
    pub events: Vec<Event>,
    /// Its retransmissions by cause, the most frequent first.
    pub causes: Vec<Cause>,
    /// The uses of its time.
    pub time_shares: Vec<TimeShare>,
    /// Sentences on the whole of a connection that was captured.
    pub facts: Vec<String>,
}

/// Explains the connections of a result, of one flow or of all. The table `segments` must be there; `tcp` adds the
/// sender's decisions, of which the story of a connection of QUIC or DCCP consists; `packets` adds the drops and delays
/// of links. `captured` says that packets are frames.
///
/// # Errors
/// If a table lacks a column.
pub fn explain(
    tables: &Tables,
    flow: Option<&str>,
    captured: bool,
    reports: &Reports,
) -> Result<Vec<Explanation>, TableError> {
    check(tables)?;
    let names = flow.map_or_else(|| flow_names(tables), |flow| vec![flow]);
    Ok(names
        .into_iter()
        .flat_map(|name| explain_flow(tables, &Flow::new(tables, name), captured, reports))
        .collect())
}

/// Explains the connections of a flow: of TCP, QUIC or DCCP; none of a flow of other datagrams.
pub(crate) fn explain_flow(
    tables: &Tables,
    flow: &Flow<'_>,
    captured: bool,
    reports: &Reports,
) -> Vec<Explanation> {
    if flow.is_of_datagrams() {
        return quic::explain_flow(flow);
    }
    let report = reports.get(flow.name);
    connection::of_flow(flow, captured, report.is_some_and(|report| report.timers_hidden))
        .iter()
        .map(|connection| explained(tables, connection, report))
        .collect()
}

fn explained(tables: &Tables, connection: &Connection<'_>, report: Option<&Report>) -> Explanation {
    let mut events = story::story(connection);
    events.extend(proxies::events(tables, connection.flow, connection.number));
    events.extend(report.iter().flat_map(|report| report.incidents.clone()));
    story::sort(&mut events);
    Explanation {
        flow: connection.flow.into(),
        connection: connection.number,
        start: connection.first_seen,
        end: connection.last_seen,
        events,
        causes: causes::causes(connection),
        time_shares: report
            .map_or_else(|| time_shares::time_shares(tables, connection), |report| report.limits.clone()),
        facts: report.map(|report| report.facts.clone()).unwrap_or_default(),
    }
}
