//! Snoop (Balakrishnan, Seshan, Amir and Katz 1995, "Improving TCP/IP Performance over Wireless Networks"): an agent
//! before a wireless link that repairs the link's losses out of sight of the sender.
//!
//! It keeps the data that enter the link until they are acknowledged. A duplicate ACK that asks for a segment it keeps
//! shows a loss on the link: the agent sends the segment again and discards the duplicate ACKs, so the sender does
//! not reduce its window. Where they ask for a segment that it does not keep, or that the sender has sent again,
//! the loss was before the node, and they pass. A timer of the link's own round-trip time covers the losses that no
//! duplicate ACK reports.
//!
//! What the papers leave open and decides whether the agent helps (docs/spec/proxies.md): SACK blocks of ACKs that pass
//! while it repairs are taken out, window updates always pass, duplicate ACKs beyond those that the segments ahead of
//! a repair can cause show that it was lost too, and the round-trip time is sampled from undisturbed segments alone.
//! The receiver answers a copy of what it has with a duplicate ACK, which shows no loss: the agent counts the copies
//! that are under way.

mod connection;

use std::collections::BTreeMap;

use link::ConfigError;
use registry::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};
use wire::{Flags, Segment};

use self::connection::{Connection, Repair, Sign};
use super::{ProxyParameters, at_least_one};
use crate::agent::{Action, Agent, Heading, Output, Passing, Verdict, What};
use crate::cache::Cached;

/// The list's line.
pub const ENTRY: Entry = Entry::new(
    "snoop",
    "keeps the data that enter the link, sends what it loses again, and discards the duplicate ACKs",
    "Balakrishnan, Seshan, Amir and Katz 1995",
);

/// An agent that repairs the losses of the link before which it stands, out of sight of the sender.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Duplicate ACKs that show a loss on the link. Default: 1, as a link keeps the order (Balakrishnan 1995 §4); more
    /// for a link that reorders.
    pub duplicates: u32,
    /// The most segments that are kept, of all connections; what comes then passes without being kept. Default: 1000.
    pub cache_packets: u32,
    /// The most bytes that are kept, headers included. Default: 1.5 MB, that many of Ethernet.
    pub cache_bytes: Bytes,
    /// The shortest local retransmission timer. Default: 100 ms, so that a delayed ACK comes before it on most hosts.
    pub min_timer: Duration,
    /// Local timeouts in a row after which a segment is left to its sender. Default: 8.
    pub retries: u32,
    /// The most connections of which segments are kept; the one longest idle is forgotten for another. Default: 64.
    pub connections: u32,
    /// Treatment of SACK blocks that report losses which the agent repairs. Default: "hide".
    pub sack: SackBlocks,
}

/// Treatment of the SACK blocks of ACKs that pass while the agent repairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SackBlocks {
    /// Padding takes their place: the sender sees no loss.
    Hide,
    /// They pass, and the sender may repair the same loss a second time and reduce its window.
    Pass,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            duplicates: 1,
            cache_packets: 1000,
            cache_bytes: Bytes(1_500_000),
            min_timer: Duration::from_millis(100),
            retries: 8,
            connections: 64,
            sack: SackBlocks::Hide,
        }
    }
}

impl ProxyParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        at_least_one("duplicates", self.duplicates.into(), "write 1, or more for a link that reorders")?;
        at_least_one(
            "cache_packets",
            self.cache_packets.into(),
            "write a number of segments, or leave the proxy out",
        )?;
        at_least_one(
            "cache_bytes",
            self.cache_bytes.0,
            "write a size like \"64 kB\", or leave the proxy out",
        )?;
        at_least_one("connections", self.connections.into(), "write a number of connections")?;
        let help = "write a time like \"100 ms\"";
        at_least_one("min_timer", self.min_timer.as_nanos(), help)
    }

    fn agent(&self) -> Option<Box<dyn Agent>> {
        Some(Box::new(Snoop {
            parameters: self.clone(),
            connections: BTreeMap::new(),
            kept: (0, Bytes::ZERO),
            totals: Totals::default(),
        }))
    }
}

#[derive(Debug)]
struct Snoop {
    parameters: Parameters,
    connections: BTreeMap<u32, Connection>,
    /// Segments and bytes kept, of all connections.
    kept: (u32, Bytes),
    totals: Totals,
}

#[derive(Debug, Default)]
struct Totals {
    local_retransmissions: u64,
    local_timeouts: u64,
    suppressed: u64,
    duplicates_passed: u64,
    sender_retransmissions: u64,
    sack_hidden: u64,
    not_kept: u64,
    forgotten: u64,
    most_packets: u64,
    most_bytes: u64,
}

impl Agent for Snoop {
    fn handle_segment(&mut self, now: Instant, passing: Passing<'_>, output: &mut Output) -> Verdict {
        let Passing { connection, heading, segment } = passing;
        if segment.flags.intersects(Flags::SYN.with(Flags::RST)) {
            self.begin(now, passing);
            return Verdict::Forward;
        }
        match heading {
            Heading::In if segment.seq_len() > 0 => self.keep(now, connection, segment, output),
            Heading::Out if segment.flags.contains(Flags::ACK) => {
                return self.acknowledge(now, connection, segment, output);
            }
            _ => {}
        }
        Verdict::Forward
    }

    fn handle_timeout(&mut self, now: Instant, output: &mut Output) {
        let due: Vec<u32> =
            self.connections.iter().filter(|(_, one)| one.timer.due <= now).map(|(id, _)| *id).collect();
        due.into_iter().for_each(|connection| self.expire(now, connection, output));
    }

    fn poll_timeout(&self) -> Instant {
        self.connections.values().map(|one| one.timer.due).min().unwrap_or(Instant::NEVER)
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let totals = &self.totals;
        vec![
            ("local_retransmissions", totals.local_retransmissions),
            ("local_timeouts", totals.local_timeouts),
            ("suppressed_acks", totals.suppressed),
            ("duplicates_passed", totals.duplicates_passed),
            ("sender_retransmissions", totals.sender_retransmissions),
            ("sack_hidden", totals.sack_hidden),
            ("not_kept", totals.not_kept),
            ("connections_forgotten", totals.forgotten),
            ("cache_packets_max", totals.most_packets),
            ("cache_bytes_max", totals.most_bytes),
        ]
    }
}

impl Snoop {
    /// A connection begins, or is reset: nothing of an earlier one counts.
    fn begin(&mut self, now: Instant, passing: Passing<'_>) {
        let Passing { connection, heading, segment } = passing;
        let is_syn = segment.flags.contains(Flags::SYN);
        if is_syn && heading == Heading::In && self.connections.contains_key(&connection) {
            // The answer to a SYN that came out of the link.
            return;
        }
        self.forget(connection);
        if is_syn && heading == Heading::Out && segment.flags.contains(Flags::ACK) {
            let new = Connection::new(Some(segment.ack), self.parameters.min_timer, now);
            self.connections.insert(connection, new);
        }
    }

    fn forget(&mut self, connection: u32) {
        if let Some(gone) = self.connections.remove(&connection) {
            self.kept.0 -= gone.cache.len();
            self.kept.1 = self.kept.1.saturating_sub(gone.cache.bytes());
        }
    }

    /// Makes room for the state of one more connection.
    fn admit(&mut self, now: Instant, connection: u32, output: &mut Output) {
        if self.connections.contains_key(&connection) {
            return;
        }
        if self.connections.len() >= self.parameters.connections as usize {
            let idle = self.connections.iter().min_by_key(|(_, one)| one.used).map(|(id, _)| *id);
            if let Some(gone) = idle {
                let (totals, state) = (&mut self.totals, &self.connections[&gone]);
                totals.forgotten += 1;
                let una = state.una.unwrap_or_default();
                output.note(|| state.event(now, gone, What::Forgotten, (una, 0)));
                self.forget(gone);
            }
        }
        self.connections.insert(connection, Connection::new(None, self.parameters.min_timer, now));
    }

    /// Data enter the link.
    fn keep(&mut self, now: Instant, connection: u32, segment: &Segment, output: &mut Output) {
        self.admit(now, connection, output);
        let Some(state) = self.connections.get_mut(&connection) else { return };
        let (range, totals) = (segment.seq_range(), &mut self.totals);
        state.used = now;
        state.entered += 1;
        let ordinal = state.entered;
        let is_late = state.max.is_some_and(|max| range.start.before(max));
        state.max = Some(state.max.map_or(range.end, |max| max.max(range.end)));
        if let Some(known) = state.cache.get(range) {
            (known.at, known.ordinal, known.again, known.by_sender) = (now, ordinal, true, true);
            state.add_copy(range.end);
            totals.sender_retransmissions += 1;
            let what = (range.start, segment.payload.len());
            return output.note(|| state.event(now, connection, What::SenderRetransmission, what));
        }
        // What the receiver has, and what is kept under other boundaries, is the sender's alone.
        let is_known = state.una.is_some_and(|una| range.end.at_or_before(una));
        if is_known || is_late && state.cache.overlaps(range) {
            return state.add_copy(range.end);
        }
        let size = Bytes(u64::from(segment.wire_len()));
        let bytes = self.kept.1.saturating_add(size);
        if self.kept.0 >= self.parameters.cache_packets || bytes > self.parameters.cache_bytes {
            totals.not_kept += 1;
            let what = (range.start, segment.payload.len());
            return output.note(|| state.event(now, connection, What::NotKept, what));
        }
        self.kept = (self.kept.0 + 1, bytes);
        totals.most_packets = totals.most_packets.max(u64::from(self.kept.0));
        totals.most_bytes = totals.most_bytes.max(bytes.0);
        let segment = segment.clone();
        state.cache.insert(Cached { segment, at: now, ordinal, again: false, by_sender: is_late });
        if state.timer.due == Instant::NEVER {
            state.timer.restart(now);
        }
    }

    /// An acknowledgment has come out of the link.
    fn acknowledge(
        &mut self,
        now: Instant,
        connection: u32,
        segment: &Segment,
        output: &mut Output,
    ) -> Verdict {
        let Some(state) = self.connections.get_mut(&connection) else { return Verdict::Forward };
        state.used = now;
        if state.una.is_none_or(|una| segment.ack.after(una)) {
            self.advance(now, connection, segment, output);
        } else if state.una == Some(segment.ack) && state.is_duplicate(segment) {
            return self.duplicate(now, connection, segment, output);
        }
        self.pass(connection, segment)
    }

    /// An ACK passes, without the SACK blocks that are no business of the sender's.
    fn pass(&mut self, connection: u32, segment: &Segment) -> Verdict {
        let Some(state) = self.connections.get_mut(&connection) else { return Verdict::Forward };
        (state.window, state.passed_window) = (segment.window, segment.window);
        if self.parameters.sack == SackBlocks::Hide && state.has_own_blocks(segment) {
            self.totals.sack_hidden += 1;
            return Verdict::ForwardWithoutSack;
        }
        Verdict::Forward
    }

    /// New data are acknowledged.
    fn advance(&mut self, now: Instant, connection: u32, segment: &Segment, output: &mut Output) {
        let Some(state) = self.connections.get_mut(&connection) else { return };
        let (ack, mut entered, mut disturbed) = (segment.ack, None, false);
        // The ordinal of the latest segment that is known to have left the link.
        let mut left = 0;
        while let Some(acked) = state.cache.take_acked(ack) {
            self.kept.0 -= 1;
            self.kept.1 = self.kept.1.saturating_sub(Bytes(u64::from(acked.segment.wire_len())));
            disturbed |= acked.again || acked.by_sender;
            entered = Some(acked.at);
            left = if acked.again { left } else { acked.ordinal };
        }
        // Karn's rule; and what came after a gap was acknowledged only when that was closed.
        if let Some(entered) = entered.filter(|_| !disturbed) {
            state.timer.sample(now - entered);
        }
        state.una = Some(ack);
        state.duplicates = 0;
        state.timer.expired = 0;
        let repair = state.repair.take();
        state.copies.retain(|copy| copy.ordinal > left);
        match state.cache.is_empty() {
            true => state.timer.stop(),
            false => state.timer.restart(now),
        }
        // A repair that closes one gap and shows the next: what entered the link before the copy that did was lost.
        if let Some(Repair { surest, .. }) = repair
            && state.cache.head(ack).is_some_and(|head| !head.by_sender && head.ordinal < surest)
        {
            self.repair(now, connection, Sign::ClosedGap { surest }, output);
        }
    }

    /// A duplicate ACK.
    fn duplicate(
        &mut self,
        now: Instant,
        connection: u32,
        segment: &Segment,
        output: &mut Output,
    ) -> Verdict {
        let Some(state) = self.connections.get_mut(&connection) else { return Verdict::Forward };
        let (ack, opens) = (segment.ack, segment.window > state.passed_window);
        let is_ours = state.cache.head(ack).is_some_and(|head| !head.by_sender);
        if !is_ours {
            self.totals.duplicates_passed += 1;
            output.note(|| state.event(now, connection, What::DuplicatePassed, (ack, 0)));
            return self.pass(connection, segment);
        }
        state.window = segment.window;
        state.duplicates += 1;
        let wanted = match state.repair {
            None => {
                let entered = state.cache.head(ack).map_or(0, |head| head.ordinal);
                state.duplicates >= u64::from(self.parameters.duplicates) + state.needless_before(entered)
            }
            Some(repair) => state.is_repair_lost(repair),
        };
        if wanted {
            self.repair(now, connection, Sign::Duplicate, output);
        }
        // The sender must learn of a window that opens; by RFC 5681 §2 it takes such an ACK for no duplicate.
        if opens {
            return self.pass(connection, segment);
        }
        self.totals.suppressed += 1;
        let state = &self.connections[&connection];
        output.note(|| state.event(now, connection, What::Suppressed, (ack, 0)));
        Verdict::Discard
    }

    /// The local timer of a connection has expired.
    fn expire(&mut self, now: Instant, connection: u32, output: &mut Output) {
        let Some(state) = self.connections.get_mut(&connection) else { return };
        let first = state.una.or_else(|| state.cache.first());
        let is_kept = first.is_some_and(|una| state.cache.head(una).is_some());
        if !is_kept || state.timer.expired >= self.parameters.retries {
            return state.timer.stop();
        }
        state.una = first;
        state.timer.expired += 1;
        self.totals.local_timeouts += 1;
        self.repair(now, connection, Sign::Timer, output);
    }

    /// Sends again what the receiver waits for.
    fn repair(&mut self, now: Instant, connection: u32, sign: Sign, output: &mut Output) {
        let Some(state) = self.connections.get_mut(&connection) else { return };
        let Some(segment) = state.resend(now, sign) else { return };
        state.timer.restart(now);
        self.totals.local_retransmissions += 1;
        let place = (segment.seq, segment.payload.len());
        let what = if sign == Sign::Timer { What::LocalTimeout } else { What::LocalRetransmission };
        output.note(|| state.event(now, connection, what, place));
        output.actions.push(Action::Resend { connection, segment });
    }
}

#[cfg(test)]
mod tests;
