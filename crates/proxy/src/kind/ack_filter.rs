//! ACK filter (RFC 3449 §5.2.1): cumulative ACKs that a later one makes redundant are discarded.
//!
//! The RFC's filter looks for earlier ACKs of the connection in the queue of the slow way back. This node stands before
//! any queue: it holds an ACK for a short time, and lets the latest one pass for several. ACKs that say more than a
//! number pass at once, after what is held: duplicates, SACK blocks, echoes of congestion, the bounds of a stream.

use std::collections::BTreeMap;

use link::ConfigError;
use registry::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Seq};
use wire::{Flags, Segment};

use super::{ProxyParameters, at_least_one};
use crate::agent::{Action, Agent, Event, Heading, Output, Passing, Ticket, Verdict, What, is_plain_ack};

/// The list's line.
pub const ENTRY: Entry =
    Entry::new("ack-filter", "lets one cumulative ACK pass for several, the latest", "RFC 3449 §5.2.1");

/// A node that thins the ACKs that enter the link.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Of how many cumulative ACKs in a row one passes, the latest. Default: 4.
    pub every: u32,
    /// The longest time for which an ACK is held. Default: 50 ms. It adds to the round-trip time of a sender whose
    /// window is smaller than `every` ACKs.
    pub delay: Duration,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { every: 4, delay: Duration::from_millis(50) }
    }
}

impl ProxyParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        if self.every < 2 {
            let message = "of one ACK every one passes";
            return Err(ConfigError::new("every", message, "write 2 or more, or leave the proxy out"));
        }
        at_least_one("delay", self.delay.as_nanos(), "write a time like \"50 ms\", or leave the proxy out")
    }

    fn agent(&self) -> Option<Box<dyn Agent>> {
        Some(Box::new(AckFilter {
            parameters: self.clone(),
            held: BTreeMap::new(),
            last: BTreeMap::new(),
            thinned: 0,
            passed: 0,
        }))
    }
}

#[derive(Debug)]
struct AckFilter {
    parameters: Parameters,
    /// The ACK that is held, by connection.
    held: BTreeMap<u32, Held>,
    /// The latest acknowledgment number of each connection.
    last: BTreeMap<u32, Seq>,
    thinned: u64,
    passed: u64,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    ticket: Ticket,
    ack: Seq,
    flags: Flags,
    bytes: Bytes,
    /// ACKs for which it stands, itself included.
    stands_for: u32,
    due: Instant,
}

impl Agent for AckFilter {
    fn handle_segment(&mut self, now: Instant, passing: Passing<'_>, output: &mut Output) -> Verdict {
        let Passing { connection, heading, segment } = passing;
        if heading == Heading::Out {
            return Verdict::Forward;
        }
        if segment.flags.intersects(Flags::SYN.with(Flags::RST)) {
            self.last.remove(&connection);
        }
        let is_new = self.is_new(connection, segment);
        if segment.flags.contains(Flags::ACK) {
            self.last.insert(connection, segment.ack);
        }
        let same = |held: &Held| held.flags == segment.flags;
        let before = self.held.get(&connection).copied();
        if !is_new || !before.as_ref().is_none_or(same) {
            self.release(now, connection, output);
            self.passed += u64::from(is_plain_ack(segment));
            return Verdict::Forward;
        }
        self.hold(now, connection, segment, output)
    }

    fn handle_timeout(&mut self, now: Instant, output: &mut Output) {
        let due: Vec<u32> = self.held.iter().filter(|(_, held)| held.due <= now).map(|(id, _)| *id).collect();
        due.into_iter().for_each(|connection| self.release(now, connection, output));
    }

    fn poll_timeout(&self) -> Instant {
        self.held.values().map(|held| held.due).min().unwrap_or(Instant::NEVER)
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("acks_thinned", self.thinned), ("acks_passed", self.passed)]
    }
}

impl AckFilter {
    /// Whether a segment acknowledges more than the last one, and says nothing else.
    fn is_new(&self, connection: u32, segment: &Segment) -> bool {
        is_plain_ack(segment) && self.last.get(&connection).is_some_and(|last| segment.ack.after(*last))
    }

    fn hold(&mut self, now: Instant, connection: u32, segment: &Segment, output: &mut Output) -> Verdict {
        let before = self.held.remove(&connection);
        if let Some(before) = before {
            self.thinned += 1;
            output.actions.push(Action::Drop(before.ticket));
            output.note(|| event(now, connection, What::Thinned, &before));
        }
        let stands_for = before.map_or(0, |before| before.stands_for) + 1;
        if stands_for >= self.parameters.every {
            self.passed += 1;
            return Verdict::Forward;
        }
        let due = before.map_or(now + self.parameters.delay, |before| before.due);
        let (ack, flags) = (segment.ack, segment.flags);
        let bytes = Bytes(u64::from(segment.wire_len()));
        let held = Held { ticket: output.next_ticket(), ack, flags, bytes, stands_for, due };
        self.held.insert(connection, held);
        Verdict::Hold(held.ticket)
    }

    fn release(&mut self, now: Instant, connection: u32, output: &mut Output) {
        if let Some(held) = self.held.remove(&connection) {
            self.passed += 1;
            output.actions.push(Action::Release(held.ticket));
            output.note(|| event(now, connection, What::Released, &held));
        }
    }
}

fn event(at: Instant, connection: u32, what: What, held: &Held) -> Event {
    let (seq, bytes) = (held.ack, held.bytes);
    Event { at, connection, what, seq, len: 0, packets: 1, bytes, srtt: None, timer: None }
}
