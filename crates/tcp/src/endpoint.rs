//! One end of a connection.

use std::sync::Arc;

use units::{Bytes, Duration, Instant, Seq};
use wire::{Payload, Segment};

use crate::{Config, Record, Transmit};

/// The two ports of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    /// Ours.
    pub local: u16,
    /// The peer's.
    pub remote: u16,
}

/// What the user of an endpoint should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is done.
    Connected,
    /// `read` has something.
    Readable,
    /// The unsent backlog fell below the send buffer's low mark: `write` more.
    Writable,
    /// The peer has sent its FIN and everything before it was read.
    PeerClosed,
    /// Both directions are closed and acknowledged (TIME-WAIT may still last).
    Closed,
    /// The peer, or `abort`, reset the connection, or it timed out.
    Reset,
}

/// The states of RFC 9293 §3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    #[allow(missing_docs)]
    Closed,
}

/// One end of a connection.
///
/// Order of calls: after every `handle_*` and command, call `poll_transmit` until it answers `None`,
/// then `poll_event` until `None`, then arm a timer for `poll_timeout`.
pub struct Endpoint {}

#[allow(unused_variables, missing_docs)]
impl Endpoint {
    /// Active open: the SYN comes out of `poll_transmit`.
    pub fn connect(config: &Arc<Config>, ports: Ports, iss: Seq) -> Self {
        Self {}
    }
    /// Passive open: waits for a SYN.
    pub fn listen(config: &Arc<Config>, local_port: u16, iss: Seq) -> Self {
        Self {}
    }
    /// Whether records are wanted (off at first).
    pub fn set_recording(&mut self, on: bool) {}
    pub fn handle_segment(&mut self, now: Instant, segment: Segment) {
        unimplemented!()
    }
    pub fn handle_timeout(&mut self, now: Instant) {
        unimplemented!()
    }
    /// Adds to the stream; all of it is accepted (callers watch `unsent`).
    pub fn write(&mut self, payload: Payload) {
        unimplemented!()
    }
    /// No more writes; a FIN follows the data.
    pub fn close(&mut self) {
        unimplemented!()
    }
    /// Gives the connection up with a reset.
    pub fn abort(&mut self) {
        unimplemented!()
    }
    /// The next bytes in order.
    pub fn read(&mut self, now: Instant) -> Option<Payload> {
        unimplemented!()
    }
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        unimplemented!()
    }
    pub fn poll_timeout(&self) -> Option<Instant> {
        unimplemented!()
    }
    pub fn poll_event(&mut self) -> Option<Event> {
        unimplemented!()
    }
    /// The records since the last call.
    pub fn take_records(&mut self) -> Vec<Record> {
        unimplemented!()
    }
    pub fn state(&self) -> State {
        unimplemented!()
    }
    /// Bytes written and not yet sent.
    pub fn unsent(&self) -> Bytes {
        unimplemented!()
    }
    /// Bytes of the stream that the peer has acknowledged (without SYN and FIN).
    pub fn acked(&self) -> Bytes {
        unimplemented!()
    }
    /// Bytes of the stream received in order.
    pub fn received(&self) -> Bytes {
        unimplemented!()
    }
    /// Whether our FIN was sent and acknowledged.
    pub fn fin_acked(&self) -> bool {
        unimplemented!()
    }
    pub fn initial_send_seq(&self) -> Seq {
        unimplemented!()
    }
    /// Shift of the window fields that this end sends (0 until negotiated).
    pub fn window_shift(&self) -> u8 {
        unimplemented!()
    }
    /// Timeouts so far.
    pub fn timeouts(&self) -> u64 {
        unimplemented!()
    }
    /// Entries into fast retransmit so far.
    pub fn fast_retransmits(&self) -> u64 {
        unimplemented!()
    }
    pub fn rto(&self) -> Duration {
        unimplemented!()
    }
}
