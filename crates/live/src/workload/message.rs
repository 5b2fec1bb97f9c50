//! The messages between the two copies of a program.

use serde::{Deserialize, Serialize};
use units::{Bytes, FlowId, Instant, NodeId};
use workload::SocketId;

/// An event at the side of one copy, as a message to the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PeerEvent {
    /// A connection was opened from another port than the agreed one, which was in use.
    Opened {
        /// The connection.
        socket: SocketId,
        /// The port of the end that connects.
        port: u16,
    },
    /// An end has read up to the position that the program asked for.
    Read {
        /// The connection.
        socket: SocketId,
        /// Bytes since it was opened.
        position: u64,
        /// When.
        at: Instant,
    },
    /// Both streams of a connection have ended at this end.
    Over {
        /// The connection.
        socket: SocketId,
        /// When.
        at: Instant,
    },
    /// Both streams have ended at this end, and at the other end by the report of the other copy.
    BothOver {
        /// The connection.
        socket: SocketId,
        /// When.
        at: Instant,
    },
    /// The kernel or the stack here gave a connection up.
    Broken {
        /// The connection.
        socket: SocketId,
        /// Why.
        why: String,
        /// When.
        at: Instant,
    },
    /// A datagram has arrived, of a program with feedback.
    Arrived {
        /// Its number.
        number: u64,
        /// The size of the packet, IP header included.
        size: Bytes,
        /// When.
        at: Instant,
    },
    /// The program, which runs at the sender of this message only, sends a datagram from the receiver's host.
    Send {
        /// The size of the packet, IP header included.
        size: Bytes,
    },
    /// The program is done at `from`.
    Finished {
        /// The number of datagrams that it has sent.
        datagrams: u64,
    },
}

impl PeerEvent {
    /// The connection that it is about.
    pub(super) const fn socket(&self) -> Option<SocketId> {
        match self {
            Self::Opened { socket, .. }
            | Self::Read { socket, .. }
            | Self::Over { socket, .. }
            | Self::BothOver { socket, .. }
            | Self::Broken { socket, .. } => Some(*socket),
            Self::Arrived { .. } | Self::Send { .. } | Self::Finished { .. } => None,
        }
    }

    /// When it happened.
    pub(super) const fn at(&self) -> Option<Instant> {
        match self {
            Self::Read { at, .. }
            | Self::Over { at, .. }
            | Self::BothOver { at, .. }
            | Self::Broken { at, .. }
            | Self::Arrived { at, .. } => Some(*at),
            Self::Opened { .. } | Self::Send { .. } | Self::Finished { .. } => None,
        }
    }
}

/// An event with the address of the copy that is to handle it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Envelope {
    /// The node of that copy.
    pub(crate) node: NodeId,
    /// The flow.
    pub(crate) flow: FlowId,
    /// The event.
    pub(crate) event: PeerEvent,
}
