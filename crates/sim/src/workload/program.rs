//! What every workload's program is: a state machine without input or output, like all others here.
//!
//! A program speaks of its connections as lines, which it numbers itself, and of their two sides. It
//! is told the news that it has asked for and gives orders; what a connection does with them is the
//! endpoints' business.

use std::collections::VecDeque;
use std::fmt::Debug;

use units::{Bytes, Instant};

/// A running program.
///
/// Order of calls: `handle_timeout` when `poll_timeout` says so (the first time at the flow's start),
/// `handle_news` as it comes, and after each of the two `poll_order` until it gives nothing.
pub trait Program: Debug + Send {
    /// When it wants to be woken; [`Instant::NEVER`] if only news will do.
    fn poll_timeout(&self) -> Instant;

    /// It is `now`, the time that it asked for.
    fn handle_timeout(&mut self, now: Instant);

    /// Something happened on a line.
    fn handle_news(&mut self, _now: Instant, _line: u32, _news: News) {}

    /// What it wants done next.
    fn poll_order(&mut self) -> Option<Order>;

    /// Whether it wants nothing any more, whatever comes. Lines that it closed may still be closing.
    fn is_done(&self) -> bool;
}

/// An end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The flow's `from`: the host that sends what the flow is about.
    From,
    /// The flow's `to`.
    To,
}

impl Side {
    /// The far end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::From => Self::To,
            Self::To => Self::From,
        }
    }
}

/// What a program can want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// A new connection, opened by one side to the other, which listens.
    Open {
        /// Its number.
        line: u32,
        /// Who connects.
        by: Side,
    },
    /// So many bytes more.
    Write {
        /// Which line.
        line: u32,
        /// Who writes.
        side: Side,
        /// How many.
        bytes: Bytes,
    },
    /// `from` writes whatever goes, from now on.
    Pour {
        /// Which line.
        line: u32,
    },
    /// This side has no more to say; once it is connected it closes.
    Close {
        /// Which line.
        line: u32,
        /// Who.
        side: Side,
    },
    /// News are wanted when this side has read so much in all.
    Expect {
        /// Which line.
        line: u32,
        /// Who reads.
        side: Side,
        /// Bytes since the line was opened.
        position: u64,
    },
    /// A datagram from `from` to `to`.
    Send {
        /// The packet, IP header included.
        size: Bytes,
    },
    /// Something that the program waited for is there.
    Report(Transfer),
}

/// What a program is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// A side has read at least as much as was expected.
    Read {
        /// Who read.
        side: Side,
        /// Bytes since the line was opened.
        position: u64,
    },
    /// The line is closed at both sides, or lost.
    Over,
    /// A datagram was lost. No line is meant, and nobody can have told the program of it; it is news for
    /// the flow, which waits for the fate of its last datagram.
    Lost,
}

/// Something that was asked for and came: a file, a page, an echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// When it was asked for.
    pub start: Instant,
    /// When the last byte of it was read.
    pub end: Instant,
    /// What was asked for.
    pub bytes: Bytes,
}

/// Orders that wait to be polled.
#[derive(Debug, Default)]
pub(super) struct Orders(VecDeque<Order>);

impl Orders {
    pub(super) fn give(&mut self, order: Order) {
        self.0.push_back(order);
    }

    pub(super) fn poll(&mut self) -> Option<Order> {
        self.0.pop_front()
    }
}
