//! The interface between a program and the connections and datagrams of its flow.
//!
//! A program numbers its connections itself, by [`SocketId`]. It issues [`Command`]s and handles [`SocketEvent`]s.

use std::collections::VecDeque;
use std::fmt::Debug;

use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Side};

/// A running program.
///
/// Order of calls: `handle_timeout` at the time that `poll_timeout` returns (the first time at the flow's start),
/// `handle_event` for each event, and after each of the two `poll_command` until it returns `None`.
pub trait Program: Debug + Send {
    /// The time of its next wake-up; [`Instant::NEVER`] if it only waits for events.
    fn poll_timeout(&self) -> Instant;

    /// The time that `poll_timeout` returned has come; it is `now`.
    fn handle_timeout(&mut self, now: Instant);

    /// An event has happened on a socket.
    fn handle_event(&mut self, _now: Instant, _socket: SocketId, _event: SocketEvent) {}

    /// The next command.
    fn poll_command(&mut self) -> Option<Command>;

    /// Whether it issues no more commands, whatever happens. Connections that it closed may still be closing.
    fn is_done(&self) -> bool;
}

/// The time from which a source computes its next wake-up, when it was due at `due` and is woken at `now`.
///
/// In virtual time both are the same. A real machine wakes the source late; its schedule stays the same, or its rate
/// would fall by the lateness of each packet. After a stall, or at a rate that the machine cannot reach, at most
/// [`MADE_UP_FOR`] is made up for.
pub(crate) fn held_to_schedule(due: Instant, now: Instant) -> Instant {
    due.max(now - MADE_UP_FOR)
}

const MADE_UP_FOR: Duration = Duration::from_secs(1);

/// A program's own number for one of its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SocketId(pub u32);

impl SocketId {
    /// The first connection, or the only one.
    pub const FIRST: Self = Self(0);

    /// Returns the present number and counts on.
    pub(crate) fn take_next(&mut self) -> Self {
        let present = *self;
        self.0 += 1;
        present
    }
}

/// A command of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Opens a connection from one side to the other, which listens.
    Connect {
        /// The new connection.
        socket: SocketId,
        /// The side that connects.
        by: Side,
    },
    /// Opens another stream in a connection of [`Command::Connect`]. Calls on it and its events are as of a connection.
    /// Only a program whose service has [streams](crate::Service::streams) does so.
    OpenStream {
        /// The new stream.
        socket: SocketId,
        /// The connection.
        connection: SocketId,
    },
    /// Makes a call on one end of a connection.
    Call {
        /// The connection.
        socket: SocketId,
        /// The side at which the end is.
        side: Side,
        /// The call.
        call: SocketCall,
    },
    /// Sends a datagram to the other side. Those of `to` are feedback, and no part of the flow's results.
    SendDatagram {
        /// The side that sends.
        by: Side,
        /// The size of the packet, IP header included.
        size: Bytes,
    },
    /// Enters a transfer that has ended into the results.
    ReportTransfer(Transfer),
}

/// A call on one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketCall {
    /// Writes more bytes.
    Write(Bytes),
    /// From now on, writes as fast as the transport takes it. Only the end at `from` can.
    WriteUnlimited,
    /// Closes this side as soon as the connection is open and everything is written.
    Close,
    /// Asks for [`SocketEvent::Read`] when this side has read up to a position: bytes since the connection was opened.
    NotifyRead(u64),
}

impl Command {
    /// Writes more bytes at one side.
    pub(crate) const fn write(socket: SocketId, side: Side, bytes: Bytes) -> Self {
        Self::Call { socket, side, call: SocketCall::Write(bytes) }
    }

    /// From now on, `from` writes as fast as the transport takes it.
    pub(crate) const fn write_unlimited(socket: SocketId) -> Self {
        Self::Call { socket, side: Side::From, call: SocketCall::WriteUnlimited }
    }

    /// Closes one side as soon as everything is written.
    pub(crate) const fn close(socket: SocketId, side: Side) -> Self {
        Self::Call { socket, side, call: SocketCall::Close }
    }

    /// Asks for [`SocketEvent::Read`] when one side has read up to a position.
    pub(crate) const fn notify_read(socket: SocketId, side: Side, position: u64) -> Self {
        Self::Call { socket, side, call: SocketCall::NotifyRead(position) }
    }
}

/// An event on a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketEvent {
    /// A side has read at least up to the position of its [`SocketCall::NotifyRead`].
    Read {
        /// The side that read.
        side: Side,
        /// Bytes since the connection was opened.
        position: u64,
    },
    /// The connection is closed at both sides, or lost.
    Closed,
    /// A datagram has arrived for the first time. Programs whose service has [feedback](crate::Service::feedback) get
    /// this event, others do not.
    DatagramReceived {
        /// The side that sent it.
        by: Side,
        /// Its number among the datagrams of that side, from 0 on.
        number: u64,
        /// The size of the packet, IP header included.
        size: Bytes,
    },
}

/// A transfer that a program asked for and received: a file, a page, an echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Transfer {
    /// Time at which the program asked for it.
    pub start: Instant,
    /// Time at which the last byte of it was read.
    pub end: Instant,
    /// Its length.
    pub bytes: Bytes,
}

/// Commands that wait to be polled.
#[derive(Debug, Default)]
pub(crate) struct CommandQueue(VecDeque<Command>);

impl CommandQueue {
    pub(crate) fn push(&mut self, command: Command) {
        self.0.push_back(command);
    }

    pub(crate) fn extend(&mut self, commands: impl IntoIterator<Item = Command>) {
        self.0.extend(commands);
    }

    pub(crate) fn poll(&mut self) -> Option<Command> {
        self.0.pop_front()
    }
}
