//! A connection of a half: the end that is here, and what is known of the other.

use std::collections::VecDeque;

use sim::workload::Side;
use units::Instant;

use crate::workload::connection::End;

/// A connection that is not over.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) opener: Side,
    /// The port of the end that connects.
    pub(super) port: u16,
    pub(super) end: End,
    /// How far our end had read, and when.
    pub(super) reads: VecDeque<(u64, Instant)>,
    /// How far it is from being over, by our end and by what the other half has told.
    pub(super) own: Ending,
    pub(super) other: Ending,
}

/// How a connection ends. Its program hears of the end last, in both copies: what it waited for, and was read long since, is
/// told before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ending {
    Open,
    /// Both streams have ended at this end.
    Over,
    /// And it is known that they have at the other.
    BothOver,
}

impl Connection {
    pub(super) fn new(opener: Side, port: u16) -> Self {
        Self {
            opener,
            port,
            end: End::default(),
            reads: VecDeque::new(),
            own: Ending::Open,
            other: Ending::Open,
        }
    }
}
