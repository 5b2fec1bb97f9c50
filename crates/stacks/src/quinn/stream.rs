//! One stream of a connection.

use quinn_proto::{Connection, ReadError, StreamId};

/// One stream, in both directions.
#[derive(Debug, Default)]
pub(super) struct StreamState {
    /// Whether ours was acknowledged to its end, and whether the peer's was read to its end.
    pub(super) is_sent: bool,
    pub(super) has_ended: bool,
    /// Whether it was closed without a stream of ours.
    pub(super) is_closed: bool,
    pub(super) is_released: bool,
}

/// Appends what a stream has in order to `out`. Returns whether it has ended there.
pub(super) fn read_stream(connection: &mut Connection, stream: StreamId, out: &mut Vec<u8>) -> bool {
    let mut receiving = connection.recv_stream(stream);
    let Ok(mut chunks) = receiving.read(true) else { return false };
    let has_ended = loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => out.extend_from_slice(&chunk.bytes),
            Ok(None) => break true,
            Err(ReadError::Blocked | ReadError::Reset(_)) => break false,
        }
    };
    // Whether anything is to be sent because of it, `poll_transmit` finds out.
    let _ = chunks.finalize();
    has_ended
}
