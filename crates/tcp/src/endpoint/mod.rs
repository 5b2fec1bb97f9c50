//! One end of a connection: the state machine of RFC 9293, which ties the two halves together.
//!
//! [`SendHalf`] and [`ReceiveHalf`] keep the state of each direction; here are the steps of RFC 9293 §3.10, one file
//! each:
//!
//! - `open.rs`, `syn_data.rs` and `close.rs`: the handshake, also with data, FIN, reset, TIME-WAIT;
//! - `segment_arrives.rs`: SEGMENT ARRIVES; `ack_field.rs`: its fifth check; `prediction.rs`: the short way for the
//!   usual segments of a bulk transfer;
//! - `transmit.rs`: the next segment to send;
//! - `timeout.rs`: expired timers;
//! - `ecn_feedback.rs`: congestion marks;
//! - `icmp.rs`: messages of the network on segments of ours;
//! - `control_block.rs`: the state that another connection may take over; `info.rs`: the state that a program may read.

mod ack_field;
mod challenges;
mod close;
mod control_block;
mod ecn_feedback;
mod icmp;
pub mod info;
mod open;
mod prediction;
mod segment_arrives;
mod syn_data;
#[cfg(test)]
mod tests;
mod timeout;
mod transmit;

use std::collections::VecDeque;
use std::sync::Arc;

use units::{Bytes, Duration, Instant, Seq};
use wire::Payload;

use crate::ecn::EcnState;
use crate::fast_open::FastOpen;
use crate::options::Agreed;
use crate::receive_half::ReceiveHalf;
use crate::send_half::SendHalf;
use crate::state::{Change, State};
use crate::timers::{Timer, Timers};
use crate::window::Pool;
use crate::{Config, Record, Transmit, VariableRecord};
use challenges::Challenges;

/// The two ports of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// Ours.
    pub local: u16,
    /// The peer's; 0 while listening.
    pub remote: u16,
}

/// An event that the user of an endpoint is notified of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is done.
    Connected,
    /// `read` has something.
    Readable,
    /// The unsent backlog is low: `write` more, or close.
    Writable,
    /// The peer has sent its FIN, and everything before it has arrived.
    PeerClosed,
    /// Both directions are closed and acknowledged (TIME-WAIT may still last).
    Closed,
    /// The connection is gone.
    Reset(CloseReason),
}

/// Why a connection is closed before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The peer refused the open.
    Refused,
    /// The peer reset the connection.
    ByPeer,
    /// We aborted it.
    Aborted,
    /// The peer was silent for too long.
    TimedOut,
    /// The network has reported that the peer cannot be reached.
    Unreachable,
}

/// One end of a connection.
///
/// Order of calls: after every `handle_*`, call [`Endpoint::poll_event`] until it answers `None` and react
/// ([`Endpoint::read`], [`Endpoint::write`], [`Endpoint::close`]); then [`Endpoint::poll_transmit`] until
/// `None`; then wake up at [`Endpoint::poll_timeout`]. To read before transmitting lets the
/// acknowledgment that goes out offer the room that reading has made. A call with a time must not go
/// back in time. Nothing here fails: an odd segment is answered or dropped, as
/// RFC 9293 §3.10.7 says, and a command that makes no sense in the present state does nothing.
#[derive(Debug)]
pub struct Endpoint {
    config: Arc<Config>,
    ports: Ports,
    state: State,
    agreed: Agreed,
    send: SendHalf,
    receive: ReceiveHalf,
    timers: Timers,
    /// Answers that belong to no stream: resets and challenge ACKs.
    outbox: VecDeque<Transmit>,
    events: VecDeque<Event>,
    keep_alive_probes: u32,
    /// Whether this end listened: a reset before the handshake is done then takes it back there.
    passive: bool,
    /// Whether the peer's SYN offered window scaling, which our SYN-ACK may then answer.
    peer_scales: bool,
    challenges: Challenges,
    ecn: EcnState,
    fast_open: FastOpen,
    /// A user writes as soon as the handshake is done.
    writer_waits: bool,
}

impl Endpoint {
    /// Active open: the SYN comes out of the next [`Endpoint::poll_transmit`].
    #[must_use]
    pub fn connect(config: &Arc<Config>, ports: Ports, iss: Seq) -> Self {
        let mut endpoint = Self::new(config, ports, iss);
        endpoint.change(Change::ActiveOpen);
        endpoint
    }

    /// Passive open: waits for a SYN to `local_port`.
    #[must_use]
    pub fn listen(config: &Arc<Config>, local_port: u16, iss: Seq) -> Self {
        let mut endpoint = Self::new(config, Ports { local: local_port, remote: 0 }, iss);
        endpoint.passive = true;
        endpoint.change(Change::PassiveOpen);
        endpoint
    }

    fn new(config: &Arc<Config>, ports: Ports, iss: Seq) -> Self {
        Self {
            config: Arc::clone(config),
            ports,
            state: State::Closed,
            agreed: Agreed::NOTHING,
            send: SendHalf::new(config, iss),
            receive: ReceiveHalf::new(config),
            timers: Timers::UNSET,
            outbox: VecDeque::new(),
            events: VecDeque::new(),
            keep_alive_probes: 0,
            passive: false,
            peer_scales: false,
            challenges: Challenges::default(),
            ecn: EcnState::new(&config.plain),
            fast_open: FastOpen::default(),
            writer_waits: false,
        }
    }

    /// Turns records of the sender's decisions on or off ([`Endpoint::take_records`]); off at first.
    pub fn set_recording(&mut self, on: bool) {
        self.send.set_recording(on);
    }

    /// Makes this connection share its advertised window with the other connections of `pool`, where its policy wants
    /// that ([`Config::window_sharing`]). Call it before the handshake.
    pub fn share_window(&mut self, pool: &Arc<Pool>) {
        self.receive.share_window(pool);
    }

    /// Adds to the stream. All of it is taken: a user with limited memory watches [`Endpoint::unsent`]. Once the stream
    /// is closed nothing is taken.
    pub fn write(&mut self, payload: Payload) {
        self.send.write(payload);
    }

    /// Adds to the stream as [`Endpoint::write`] does, for a user who will write more soon (`MSG_MORE`): the segment
    /// that ends with these data carries no PSH.
    pub fn write_more(&mut self, payload: Payload) {
        self.send.write(payload);
        self.expect_more();
    }

    /// The user is about to write more: the segment that ends with the data so far carries no PSH.
    pub fn expect_more(&mut self) {
        self.send.expect_more();
    }

    /// Ends a record: data that are written later begin a segment of their own (`MSG_EOR`).
    pub fn end_record(&mut self) {
        self.send.end_record();
    }

    /// The host learns that the path carries segments of `mss` bytes, options included, and no larger ones.
    pub fn handle_path_mss(&mut self, now: Instant, mss: Bytes) {
        let options = self.agreed.clamped_mss() - self.agreed.smss;
        self.send.on_path(now, mss.saturating_sub(options).max(Bytes(1)));
    }

    /// The user waits for room in the send buffer: one that sizes itself may grow, unless the congestion window is
    /// full.
    pub fn grow_send_buffer(&mut self) {
        self.send.grow_for_user();
    }

    /// Sets the number of retransmissions of a SYN before an open fails (`TCP_SYNCNT`).
    pub const fn set_syn_retries(&mut self, retries: u32) {
        self.send.set_syn_retries(retries);
    }

    /// Sets the size of a receive buffer that counts the memory of packets (`SO_RCVBUF`).
    pub fn set_receive_buffer(&mut self, size: Bytes) {
        self.receive.resize_buffer(size);
    }

    /// Sets the size above which an arrival consists of several segments, joined by the network card (`gso_size`).
    pub const fn expect_joined(&mut self, above: Bytes) {
        self.receive.expect_joined(above);
    }

    /// Sets whether a user waits to write as soon as the handshake is done: its data then carry the ACK of the SYN-ACK
    /// (`sk_write_pending` of Linux).
    pub const fn set_writer_waits(&mut self, waits: bool) {
        self.writer_waits = waits;
    }

    /// Sets whether partial segments wait while data are unacknowledged, whatever the profile says; `TCP_NODELAY` turns
    /// it off.
    pub const fn set_nagle(&mut self, on: bool) {
        self.send.set_nagle(on);
    }

    /// Sets whether partial segments wait for more data; `TCP_CORK`.
    pub const fn set_corked(&mut self, on: bool) {
        self.send.set_corked(on);
    }

    /// Sets the user timeout (RFC 5482, `TCP_USER_TIMEOUT` of Linux); without one, the default, the number of
    /// retransmissions decides.
    pub const fn set_user_timeout(&mut self, limit: Option<Duration>) {
        self.send.set_user_timeout(limit);
    }

    /// The next bytes in order.
    #[inline]
    pub fn read(&mut self) -> Option<Payload> {
        let payload = self.receive.read();
        if payload.is_some() && self.state.accepts_data() {
            self.receive.update_window_if_reopened(self.agreed.receive_shift);
        }
        payload
    }

    /// Time at which to call [`Endpoint::handle_timeout`].
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// The next event for the user. Data that the user has read already are not reported.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        if self.events.is_empty() {
            return self.receive.take_readable().then_some(Event::Readable);
        }
        self.events.pop_front()
    }

    /// The records since the last call, oldest first; none while recording is off.
    pub fn take_records(&mut self) -> Vec<Record> {
        self.send.take_records()
    }

    /// Takes the changes of the congestion control's named variables, as they were at its decisions
    /// ([`CongestionControl::variables`](crate::congestion::CongestionControl::variables)).
    pub fn take_variables(&mut self) -> Vec<VariableRecord> {
        self.send.take_variables()
    }

    /// Its configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The state of RFC 9293 §3.3.2.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// The options agreed on in the handshake.
    #[must_use]
    pub const fn agreed(&self) -> Agreed {
        self.agreed
    }

    /// Bytes written and not yet sent for the first time.
    #[must_use]
    pub const fn unsent(&self) -> Bytes {
        self.send.unsent()
    }

    /// Bytes of our stream that the peer has acknowledged.
    #[must_use]
    pub const fn acked(&self) -> Bytes {
        self.send.acked()
    }

    /// Bytes of the peer's stream that arrived in order.
    #[must_use]
    pub const fn received(&self) -> Bytes {
        self.receive.received()
    }

    /// Whether our FIN was sent and acknowledged.
    #[must_use]
    pub const fn fin_acked(&self) -> bool {
        self.send.fin_is_acked()
    }

    /// Our initial sequence number.
    #[must_use]
    pub const fn initial_send_seq(&self) -> Seq {
        self.send.iss()
    }

    /// Shift of the window fields that this end sends (0 until agreed).
    #[must_use]
    pub const fn window_shift(&self) -> u8 {
        self.agreed.receive_shift
    }

    /// Number of retransmission timeouts.
    #[must_use]
    pub const fn timeouts(&self) -> u64 {
        self.send.rto().timeouts()
    }

    /// Number of times that duplicate or selective ACKs have started a recovery.
    #[must_use]
    pub const fn fast_retransmits(&self) -> u64 {
        self.send.fast_retransmits()
    }

    /// The congestion window, with the changes of recovery.
    #[must_use]
    pub fn cwnd(&self) -> Bytes {
        self.send.window()
    }

    /// The slow-start threshold; [`Bytes::MAX`] until there was a loss.
    #[must_use]
    pub fn ssthresh(&self) -> Bytes {
        self.send.ssthresh()
    }

    /// Sent and not acknowledged.
    #[must_use]
    pub const fn flight(&self) -> Bytes {
        self.send.board().outstanding()
    }

    /// The retransmission timer's present length, back-off included.
    #[must_use]
    pub fn rto(&self) -> Duration {
        self.send.rto().length()
    }

    /// The greatest length of the retransmission timer.
    #[must_use]
    pub fn longest_rto(&self) -> Duration {
        self.send.rto().longest()
    }

    /// Whether everything written, SYN and FIN among it, was sent and acknowledged.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.send.has_nothing_left()
    }

    /// The sender's phase, as tables name it.
    #[must_use]
    pub fn phase(&self) -> &'static str {
        self.send.phase()
    }

    /// Makes a legal change of state; an illegal change is a bug in this crate.
    fn change(&mut self, change: Change) {
        let next = self.state.after(change);
        debug_assert!(next.is_some(), "{change:?} is not legal in {}", self.state.name());
        if let Some(next) = next {
            self.state = next;
        }
    }

    /// Whether a timer is set: for timelines.
    #[must_use]
    pub fn timer_is_set(&self, timer: Timer) -> bool {
        self.timers.is_set(timer)
    }
}
