//! The interface between a workload's program and the connections of its flow.
//!
//! A program is a state machine without input or output. It numbers its connections itself, by [`SocketId`]; it issues
//! [`Command`]s and handles the [`SocketEvent`]s that it has asked for.

use std::collections::VecDeque;
use std::fmt::Debug;

use units::{Bytes, Duration, Instant};

pub use crate::ids::Side;

/// A running program.
///
/// Order of calls: `handle_timeout` when `poll_timeout` says so (the first time at the flow's start),
/// `handle_event` as events come, and after each of the two `poll_command` until it gives nothing.
pub trait Program: Debug + Send {
    /// When it wants to be woken; [`Instant::NEVER`] if it only waits for events.
    fn poll_timeout(&self) -> Instant;

    /// It is `now`, the time that it asked for.
    fn handle_timeout(&mut self, now: Instant);

    /// Something happened on a socket.
    fn handle_event(&mut self, _now: Instant, _socket: SocketId, _event: SocketEvent) {}

    /// Whether it is told of datagrams that arrive ([`SocketEvent::DatagramReceived`]). Most senders of datagrams learn
    /// nothing of them.
    fn hears_datagrams(&self) -> bool {
        false
    }

    /// The next command.
    fn poll_command(&mut self) -> Option<Command>;

    /// Whether it will issue no more commands, whatever happens. Connections that it closed may still be closing.
    fn is_done(&self) -> bool;
}

/// The time by which a source counts that was to act at `due` and is woken at `now`.
///
/// In virtual time they are the same. A real machine wakes it late: what follows keeps its times all the same, or a source
/// would fall short of its rate by the lateness of each packet. A stall, or a rate that the machine cannot give, is made
/// up for by no more than [`MADE_UP_FOR`].
pub(super) fn held_to_schedule(due: Instant, now: Instant) -> Instant {
    due.max(now - MADE_UP_FOR)
}

const MADE_UP_FOR: Duration = Duration::from_secs(1);

/// A program's own number for one of its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketId(pub u32);

impl SocketId {
    /// The first connection, or the only one.
    pub const FIRST: Self = Self(0);

    /// Returns the present number and counts on.
    pub(super) fn take_next(&mut self) -> Self {
        let present = *self;
        self.0 += 1;
        present
    }
}

/// What a program can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Opens a connection from one side to the other, which listens.
    Connect {
        /// The new connection.
        socket: SocketId,
        /// The side that connects.
        by: Side,
    },
    /// Writes more bytes.
    Write {
        /// The connection.
        socket: SocketId,
        /// The side that writes.
        side: Side,
        /// How many.
        bytes: Bytes,
    },
    /// From now on, `from` writes as fast as TCP takes it.
    WriteUnlimited {
        /// The connection.
        socket: SocketId,
    },
    /// Closes this side as soon as it is connected and everything is written.
    Close {
        /// The connection.
        socket: SocketId,
        /// The side that closes.
        side: Side,
    },
    /// Asks for [`SocketEvent::Read`] when this side has read up to a position.
    NotifyRead {
        /// The connection.
        socket: SocketId,
        /// The side that reads.
        side: Side,
        /// Bytes since the connection was opened.
        position: u64,
    },
    /// Sends a datagram from `from` to `to`.
    SendDatagram {
        /// The packet, IP header included.
        size: Bytes,
    },
    /// Sends a datagram from `to` back to `from`. It is no part of the flow's results.
    SendFeedback {
        /// The packet, IP header included.
        size: Bytes,
    },
    /// Enters a transfer that has ended into the results.
    ReportTransfer(Transfer),
}

/// What happened on a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketEvent {
    /// A side has read at least as far as was asked for.
    Read {
        /// The side that read.
        side: Side,
        /// Bytes since the connection was opened.
        position: u64,
    },
    /// The connection is closed at both sides, or lost.
    Closed,
    /// A datagram has arrived for the first time. Only for programs that [hear](Program::hears_datagrams) of them.
    DatagramReceived {
        /// The side that sent it.
        by: Side,
        /// Its number among the datagrams of that side, from 0 on.
        number: u64,
        /// The packet, IP header included.
        size: Bytes,
    },
    /// A datagram was lost. A program ignores it, since a sender of datagrams does not learn of losses; the flow waits
    /// until its last datagram has arrived or is lost.
    DatagramLost,
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

/// Commands that wait to be polled.
#[derive(Debug, Default)]
pub(super) struct CommandQueue(VecDeque<Command>);

impl CommandQueue {
    pub(super) fn push(&mut self, command: Command) {
        self.0.push_back(command);
    }

    pub(super) fn poll(&mut self) -> Option<Command> {
        self.0.pop_front()
    }
}
