//! Identities of connections and sockets, and the time at which every script starts.

use units::Instant;

/// A connection of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConnectionId(pub usize);

/// A socket of the host's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SocketId(pub usize);

/// Start of every script. It is not 0, so that no clock value is 0, which no peer would echo.
pub(super) const START: Instant = Instant::from_nanos(10_000_000_000);
