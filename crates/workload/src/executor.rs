//! The interface of a place that executes the commands of a program.

use units::{Bytes, Side};

use crate::program::{Command, SocketCall, SocketId, Transfer};

/// Executes the commands of one program, at both hosts of its flow.
pub trait Executor {
    /// Opens a connection from the side `by` to the other side, which listens.
    fn connect(&mut self, socket: SocketId, by: Side);

    /// Opens another stream in a connection. Places whose transport has one stream only are never asked: the flows of
    /// programs with streams run over QUIC.
    fn open_stream(&mut self, socket: SocketId, connection: SocketId);

    /// Makes a call on one end of a connection. A connection that is over takes no calls.
    fn call(&mut self, socket: SocketId, side: Side, call: SocketCall);

    /// Sends a datagram of `size` bytes, IP header included, from the side `by`.
    fn send_datagram(&mut self, by: Side, size: Bytes);

    /// Enters a transfer that has ended into the results.
    fn report(&mut self, transfer: Transfer);
}

impl Command {
    /// Lets an executor execute the command.
    pub fn execute(self, executor: &mut impl Executor) {
        match self {
            Self::Connect { socket, by } => executor.connect(socket, by),
            Self::OpenStream { socket, connection } => executor.open_stream(socket, connection),
            Self::Call { socket, side, call } => executor.call(socket, side, call),
            Self::SendDatagram { by, size } => executor.send_datagram(by, size),
            Self::ReportTransfer(transfer) => executor.report(transfer),
        }
    }
}
