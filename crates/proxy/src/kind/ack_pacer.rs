//! ACK pacer: ACKs leave at the pace of the data that they acknowledge, and not in the bursts in which a queue or a
//! channel allocation of the way back has pressed them together (ACK spacing: RFC 3135 §3.1.1).

use std::collections::{BTreeMap, VecDeque};

use link::ConfigError;
use registry::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Rate, Seq};
use wire::Flags;

use super::{ProxyParameters, at_least_one};
use crate::agent::{Action, Agent, Event, Heading, Output, Passing, Ticket, Verdict, What, is_ack};

/// The list's line.
pub const ENTRY: Entry = Entry::new(
    "ack-pacer",
    "lets ACKs pass at the pace of the data that they acknowledge",
    "RFC 3135 §3.1.1; Zhang, Shenker and Clark 1991 on ACK compression",
);

/// A node that spreads the ACKs that enter the link.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Rate at which a connection's data may be acknowledged: an ACK of n bytes passes n/rate after the one before.
    /// Default: 1 Mbit/s. The rate of the way forward keeps it busy.
    pub rate: Rate,
    /// The most ACKs of a connection that are held; with one more the first passes at once. Default: 20.
    pub limit: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { rate: Rate::from_bits_per_sec(1_000_000), limit: 20 }
    }
}

impl ProxyParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        at_least_one("rate", self.rate.bits_per_sec(), "write a rate like \"1 Mbit/s\"")?;
        at_least_one("limit", self.limit.into(), "write a number of ACKs, or leave the proxy out")
    }

    fn agent(&self) -> Option<Box<dyn Agent>> {
        Some(Box::new(AckPacer {
            parameters: self.clone(),
            connections: BTreeMap::new(),
            paced: 0,
            hurried: 0,
        }))
    }
}

#[derive(Debug)]
struct AckPacer {
    parameters: Parameters,
    connections: BTreeMap<u32, Connection>,
    paced: u64,
    hurried: u64,
}

#[derive(Debug, Default)]
struct Connection {
    last: Option<Seq>,
    /// Time from which on the next ACK may pass.
    free: Instant,
    held: VecDeque<Held>,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    ticket: Ticket,
    ack: Seq,
    bytes: Bytes,
    /// Time for which it keeps the next one back.
    takes: Duration,
}

impl Agent for AckPacer {
    fn handle_segment(&mut self, now: Instant, passing: Passing<'_>, output: &mut Output) -> Verdict {
        let Passing { connection, heading, segment } = passing;
        if heading == Heading::Out {
            return Verdict::Forward;
        }
        if segment.flags.intersects(Flags::SYN.with(Flags::RST)) || !is_ack(segment) {
            // Whatever is no ACK passes, and nothing overtakes what came before it.
            self.release_all(now, connection, output);
            return Verdict::Forward;
        }
        let rate = self.parameters.rate;
        let state = self.connections.entry(connection).or_default();
        let news =
            state.last.filter(|last| segment.ack.after(*last)).map_or(0, |last| segment.ack.since(last));
        state.last = Some(state.last.map_or(segment.ack, |last| last.max(segment.ack)));
        let takes = rate.time_for(Bytes(news.into()));
        if state.held.is_empty() && state.free <= now {
            state.free = now + takes;
            return Verdict::Forward;
        }
        let (ticket, ack, bytes) = (output.next_ticket(), segment.ack, Bytes(u64::from(segment.wire_len())));
        state.held.push_back(Held { ticket, ack, bytes, takes });
        self.paced += 1;
        if state.held.len() > self.parameters.limit as usize {
            self.hurried += 1;
            self.release(now, connection, output);
        }
        Verdict::Hold(ticket)
    }

    fn handle_timeout(&mut self, now: Instant, output: &mut Output) {
        let due = |state: &Connection| !state.held.is_empty() && state.free <= now;
        let due: Vec<u32> =
            self.connections.iter().filter(|(_, state)| due(state)).map(|(id, _)| *id).collect();
        due.into_iter().for_each(|connection| self.release(now, connection, output));
    }

    fn poll_timeout(&self) -> Instant {
        let waiting = self.connections.values().filter(|state| !state.held.is_empty());
        waiting.map(|state| state.free).min().unwrap_or(Instant::NEVER)
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("acks_held", self.paced), ("acks_hurried", self.hurried)]
    }
}

impl AckPacer {
    /// Lets the first ACK that is held pass.
    fn release(&mut self, now: Instant, connection: u32, output: &mut Output) {
        let Some(state) = self.connections.get_mut(&connection) else { return };
        let Some(held) = state.held.pop_front() else { return };
        state.free = state.free.max(now) + held.takes;
        output.actions.push(Action::Release(held.ticket));
        let packets = state.held.len() as u32;
        output.note(|| Event {
            at: now,
            connection,
            what: What::Released,
            seq: held.ack,
            len: 0,
            packets,
            bytes: held.bytes * u64::from(packets),
            srtt: None,
            timer: None,
        });
    }

    fn release_all(&mut self, now: Instant, connection: u32, output: &mut Output) {
        while self.connections.get(&connection).is_some_and(|state| !state.held.is_empty()) {
            self.release(now, connection, output);
        }
    }
}
