//! The input queue: packets that wait for the send buffer, and the disciplines that govern it.
//!
//! The queue keeps the packets and the limits. A discipline is either a [`Policy`] of one line, which decides
//! which packets are dropped or marked beyond the limits, or a [`Scheduler`] of several sub-queues, each with a policy.
//! One file each: a new one is a file with `ENTRY`, `Parameters` and its policy or scheduler, and a line in the list of
//! `discipline.rs`.

mod classful;
mod discipline;
mod fifo;
mod input_queue;
mod limits;
mod policy;
mod round_robin;
mod scheduler;
mod setting;
mod settings;
mod sub_queue;
mod threshold;

pub mod blue;
pub mod codel;
pub mod fq_codel;
pub mod front_drop;
pub mod infinite;
pub mod pdpc;
pub mod pie;
pub mod priority;
pub mod red;
pub mod separate;
pub mod tail_drop;
pub mod weighted_round_robin;

pub use crate::registry::Entry;
pub use discipline::{Discipline, ENTRIES};
pub(crate) use fifo::QueuedPacket;
pub(crate) use input_queue::{Admission, ArrivingPacket, InputQueue};
pub(crate) use limits::Limits;
pub use policy::{Arrival, Decision, Departure, Policy, Victim};
pub use scheduler::{Keys, Scheduler};
pub use setting::{Service, Setting};
pub use settings::{Overflow, Queue};
pub use sub_queue::SubQueue;

#[cfg(test)]
mod delay_tests;
#[cfg(test)]
mod tests;
