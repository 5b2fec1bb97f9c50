//! Orders of the driver to the thread with a kernel's sockets. The driver runs the program, whose other end is a stack
//! of this process.

use units::{FlowId, Instant};
use workload::{Ends, Key, OutgoingDatagram, ProgramHost, SocketCall, SocketId};

/// A command of [`ProgramHost`], for a flow that the thread knows.
#[derive(Debug)]
pub(crate) enum Order {
    /// Open an end.
    Open { socket: SocketId, ends: Ends, connects: bool },
    /// Make a call on an end.
    Call { socket: SocketId, call: SocketCall },
    /// Remove an end.
    Remove { socket: SocketId },
    /// Send a datagram.
    Send(OutgoingDatagram),
}

impl Order {
    /// Passes the command to the host with the sockets.
    pub(super) fn execute(self, now: Instant, flow: FlowId, host: &mut dyn ProgramHost) {
        let key = |socket| Key { flow, socket };
        match self {
            Self::Open { socket, ends, connects } => host.open(now, key(socket), ends, connects),
            Self::Call { socket, call } => host.call(now, key(socket), call),
            Self::Remove { socket } => drop(host.remove(now, key(socket))),
            Self::Send(outgoing) => host.send_datagram(flow, outgoing),
        }
    }
}
