//! The interface that the file of a queue discipline implements.

use units::Stream;
use units::text::QueueLimit;

use super::policy::{Policy, Victim};
use super::scheduler::Scheduler;
use crate::error::ConfigError;

/// The parameters of one discipline.
pub trait QueueParameters {
    /// Whether the parameters make sense; what has none need not say so.
    ///
    /// # Errors
    /// The first parameter that does not, with its key as the path.
    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Returns the policy of serving and dropping packets, with draws from `stream`; the parameters have passed
    /// [`QueueParameters::check`].
    fn service(&self, stream: Stream) -> Service;

    /// Whether a limit of the queue has no meaning for this discipline, and is refused with it.
    fn is_unlimited(&self) -> bool {
        false
    }

    /// The limit of each of its sub-queues, where it has one.
    fn limit_of_sub_queues(&mut self) -> Option<&mut QueueLimit> {
        None
    }
}

/// Order of departure: from one queue, or from several sub-queues.
#[derive(Debug)]
pub enum Service {
    /// First in, first out; every packet is let in within the limits, and at a limit the victim is dropped.
    Plain(Victim),
    /// First in, first out, governed by a policy.
    Fifo(Box<dyn Policy>),
    /// Several sub-queues, each a line with a policy, and the scheduler that serves them.
    Classful(Box<dyn Scheduler>),
}
