//! Segments that the script expects to go out.

use units::Instant;

use super::ids::{ConnectionId, START};
use super::{PATIENCE, ScriptRun, Stop, compare, segment};
use crate::script::{Event, EventTime, Packet};
use crate::text::seconds;

impl ScriptRun {
    /// Waits for the next segment that goes out, and compares it.
    pub(super) fn expect(&mut self, event: &Event, due: Instant, packet: &Packet) -> Result<(), Stop> {
        let limit = due + PATIENCE;
        while !self.has_segment_of_last() {
            let Some(at) = self.host.next_timeout().filter(|at| *at <= limit) else {
                return Err(self.failure(event.line, packet.to_string(), "no segment goes out".to_owned()));
            };
            self.host.run_timers(at);
            self.retry_blocked()?;
        }
        let notation = self.notation_for(packet);
        let take = if self.strict_segments { compare::take_one } else { compare::take };
        let Some((at, came)) = take(&mut self.host.outgoing, packet, notation) else {
            return Ok(());
        };
        let earliest = self.earliest(event, due);
        let latest = self.latest(event, due);
        if let Some(what) = compare::difference(packet, &came, &mut self.clocks, self.tolerance) {
            // Window and ECN field are omitted where the script omits them.
            let came =
                Packet { window: packet.window.and(came.window), ecn: packet.ecn.and(came.ecn), ..came };
            return Err(self.failure(event.line, packet.to_string(), format!("{came} ({what})")));
        }
        if at < earliest || at > latest {
            let expected = format!("{packet} at {} s", seconds(due.saturating_since(START)));
            let got = format!("it at {} s", seconds(at.saturating_since(START)));
            return Err(self.failure(event.line, expected, got));
        }
        self.host.now = self.host.now.max(at);
        Ok(())
    }

    /// Whether the connection of last has sent something; segments of those before it are not compared any more.
    fn has_segment_of_last(&mut self) -> bool {
        let last = self.host.connections.len().saturating_sub(1);
        self.host.outgoing.retain(|sent| sent.connection == ConnectionId(last));
        !self.host.outgoing.is_empty()
    }

    /// How the script writes the segments of the connection of last; a SYN of ours shows our initial number.
    fn notation_for(&mut self, expected: &Packet) -> segment::Notation {
        let Some(last) = self.host.connections.last_mut() else { return segment::Notation::default() };
        if expected.flags.syn {
            last.notation.ours = expected.start;
        }
        last.notation
    }

    fn earliest(&self, event: &Event, due: Instant) -> Instant {
        match event.time {
            EventTime::Any => START,
            _ => Instant::from_nanos(due.as_nanos().saturating_sub(self.tolerance.as_nanos())),
        }
    }

    fn latest(&self, event: &Event, due: Instant) -> Instant {
        match event.time {
            EventTime::Any => Instant::NEVER,
            EventTime::AbsoluteRange(_, end) => START + end + self.tolerance,
            EventTime::RelativeRange(start, end) => due + end.saturating_sub(start) + self.tolerance,
            EventTime::Absolute(_) | EventTime::Relative(_) => due + self.tolerance,
        }
    }
}
