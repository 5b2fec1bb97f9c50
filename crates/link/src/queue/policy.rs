//! What each discipline's file provides.

use std::fmt::Debug;

use units::{Bytes, Duration, Instant, Rate, Stream};

use crate::config::ConfigError;
use crate::event::DropRule;

/// A line of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name in files.
    pub id: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// How it is written in a file.
    pub example: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

/// The parameters of one discipline.
pub trait Setting {
    /// Whether they make sense.
    ///
    /// # Errors
    /// The first that does not, with its key as the path.
    fn check(&self) -> Result<(), ConfigError>;

    /// A policy of these parameters; they have passed [`Setting::check`].
    fn policy(&self, stream: Stream) -> Box<dyn Policy>;
}

/// Judges packets as they enter and leave the input queue.
pub trait Policy: Debug + Send {
    /// A packet comes to the queue. Called for every packet, before the limits are looked at.
    fn on_arrival(&mut self, arrival: &Arrival) -> Verdict;

    /// The packet at the head leaves the queue; dropped instead, if the verdict says so.
    fn on_departure(&mut self, departure: &Departure) -> Verdict;

    /// The moving average of the queue's length in packets, if the policy keeps one.
    fn average(&self) -> Option<f64> {
        None
    }
}

/// A packet that comes to the queue, and what it meets.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When.
    pub now: Instant,
    /// Its size, framing included.
    pub size: Bytes,
    /// Packets that wait.
    pub waiting: u32,
    /// The link's base rate, if it has one.
    pub rate: Option<Rate>,
}

/// A packet that leaves the queue, and what stays behind.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// When.
    pub now: Instant,
    /// How long it was in the queue.
    pub waited: Duration,
    /// Packets that still wait.
    pub left: u32,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on.
    Pass,
    /// It is dropped.
    Drop(DropRule),
}
