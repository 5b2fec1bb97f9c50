//! What each discipline's file provides.

use std::fmt::Debug;

use units::{Bytes, Duration, Instant, Rate, Stream};

use super::scheduler::Scheduler;
use crate::config::ConfigError;
use crate::event::DropRule;
use crate::packet::Ecn;

/// The parameters of one discipline.
pub trait Setting {
    /// Whether they make sense.
    ///
    /// # Errors
    /// The first that does not, with its key as the path.
    fn check(&self) -> Result<(), ConfigError>;

    /// How packets are served and dropped by these parameters; they have passed [`Setting::check`].
    fn service(&self, stream: Stream) -> Service;
}

/// How packets leave: in one line, or from several lanes by turns.
#[derive(Debug)]
pub enum Service {
    /// First in, first out; every packet is let in within the limits, and at a limit the victim is dropped.
    Plain(Victim),
    /// First in, first out, governed by a policy.
    Line(Box<dyn Policy>),
    /// Several lanes, each a line of its own, and who is served next.
    Lanes(Box<dyn Scheduler>),
}

/// Judges packets as they enter and leave a line.
pub trait Policy: Debug + Send {
    /// A packet comes. Called for every packet, before the limits are looked at.
    fn on_arrival(&mut self, arrival: &Arrival) -> Verdict;

    /// The packet at the head leaves; dropped instead, if the verdict says so.
    fn on_departure(&mut self, departure: &Departure) -> Verdict;

    /// The packet at the head was taken away: too old, or dropped to make room.
    fn on_removal(&mut self, _now: Instant, _left: u32) {}

    /// Who goes when a packet comes and there is no room.
    fn victim(&self) -> Victim {
        Victim::Arriving
    }

    /// The moving average of the line's length, in packets or, where the policy counts bytes, in
    /// bytes, if it keeps one.
    fn average(&self) -> Option<f64> {
        None
    }
}

/// Who goes when there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// The packet that comes.
    Arriving,
    /// The one at the head.
    Oldest,
}

/// A packet that comes to a line, and what it meets.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When.
    pub now: Instant,
    /// Its size, framing included.
    pub size: Bytes,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Packets that wait.
    pub waiting: u32,
    /// Their bytes, framing included.
    pub waiting_bytes: Bytes,
    /// The link's base rate, if it has one.
    pub rate: Option<Rate>,
}

/// A packet that leaves a line, and what stays behind.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// When.
    pub now: Instant,
    /// Its size, framing included.
    pub size: Bytes,
    /// Its ECN field.
    pub ecn: Ecn,
    /// How long it was in the queue.
    pub waited: Duration,
    /// Packets that still wait.
    pub left: u32,
    /// Their bytes, framing included.
    pub left_bytes: Bytes,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on.
    Pass,
    /// It goes on, marked as having met congestion. Only for one that is ECN-capable.
    Mark(DropRule),
    /// It is dropped.
    Drop(DropRule),
    /// It goes on, but the packet at the head is dropped. On arrival only; where nobody waits, nobody
    /// is dropped.
    DropOldest(DropRule),
}
