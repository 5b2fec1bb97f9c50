//! One end of a connection: what ties the parts together.
//!
//! Each direction is a type of its own, [`Sending`] and [`Receiving`]; what concerns both lives here and
//! in the files that carry on `impl Endpoint`:
//!
//! - `open.rs`, `fast_open.rs` and `close.rs`: the handshake, also with data, FIN, reset, TIME-WAIT;
//! - `receive.rs`: a segment came in; `acknowledgment.rs`: what its ACK field means for the sender; `prediction.rs`: the
//!   same where it means nothing but that new data have arrived;
//! - `send.rs`: may I send? `pacing.rs`: and when?
//! - `expire.rs`: a timer ran out;
//! - `undo.rs`: a loss signal may have been false;
//! - `ecn.rs` and `polling.rs`: congestion marks, and segments that ask for an acknowledgment;
//! - `interdependence.rs`: what is left to the next connection.

mod ack_field;
mod close;
pub mod info;
mod open;
mod prediction;
mod segment_arrives;
#[cfg(test)]
mod tests;
mod timeout;
mod transmit;

use std::collections::VecDeque;
use std::sync::Arc;

use units::{Bytes, Duration, Instant, Seq};
use wire::{Payload, Segment};

use crate::options::Agreed;
use crate::receive_half::{AckDue, Receiving};
use crate::recovery::RecoveryState;
use crate::send_half::Sending;
use crate::state::{Change, State};
use crate::timers::{Timer, Timers};
use crate::window::Pool;
use crate::{Config, Decision, Record, Transmit};

/// The two ports of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// Ours.
    pub local: u16,
    /// The peer's; 0 while listening.
    pub remote: u16,
}

/// What the user of an endpoint should know.
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
    /// Nothing was heard from the peer for too long.
    TimedOut,
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
    pub(crate) config: Arc<Config>,
    pub(crate) ports: Ports,
    pub(crate) state: State,
    pub(crate) agreed: Agreed,
    pub(crate) sending: Sending,
    pub(crate) receiving: Receiving,
    pub(crate) timers: Timers,
    /// Answers that belong to no stream: resets and challenge ACKs.
    pub(crate) outbox: VecDeque<Transmit>,
    pub(crate) events: VecDeque<Event>,
    /// Whether data have arrived of which the user is yet to be told.
    pub(crate) readable: bool,
    pub(crate) records: Option<Vec<Record>>,
    pub(crate) keep_alive_probes: u32,
    /// Whether this end listened: a reset before the handshake is done then takes it back there.
    pub(crate) passive: bool,
    /// Whether the peer's SYN offered window scaling, which our SYN-ACK may then answer.
    pub(crate) peer_scales: bool,
    pub(crate) challenges: close::Challenges,
    pub(crate) ecn: crate::ecn::EcnState,
    pub(crate) fast_open: crate::fast_open::FastOpen,
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
            sending: Sending::new(config, iss),
            receiving: Receiving::new(config),
            timers: Timers::UNSET,
            outbox: VecDeque::new(),
            events: VecDeque::new(),
            readable: false,
            records: None,
            keep_alive_probes: 0,
            passive: false,
            peer_scales: false,
            challenges: close::Challenges::default(),
            ecn: crate::ecn::EcnState::default(),
            fast_open: crate::fast_open::FastOpen::default(),
        }
    }

    /// Whether [`Endpoint::take_records`] shall have something to give; off at first.
    pub fn set_recording(&mut self, on: bool) {
        self.records = on.then(Vec::new);
    }

    /// Makes this connection share its advertised window with those that have the same pool, where its
    /// policy wants that ([`Config::window_sharing`]). Call it before the handshake.
    pub fn share_window(&mut self, pool: &Arc<Pool>) {
        self.receiving.window.join(pool);
    }

    /// Adds to the stream. All of it is taken (a user that cares watches [`Endpoint::unsent`]); nothing is
    /// once the stream is closed.
    pub fn write(&mut self, payload: Payload) {
        if !self.sending.is_closing() {
            self.sending.check_application_limited();
            self.sending.queue.push(payload);
            self.sending.partial.pushes = true;
            self.sending.told_writable = false;
        }
    }

    /// The next bytes in order.
    #[inline]
    pub fn read(&mut self) -> Option<Payload> {
        let Some(payload) = self.receiving.stream.read() else {
            self.readable = false;
            return None;
        };
        let owed = matches!(self.receiving.ack_due, AckDue::No | AckDue::Delayed);
        if owed && self.state.accepts_data() && self.receiving.window_reopened(self.agreed.receive_shift) {
            self.receiving.ack_due = AckDue::WindowUpdate;
        }
        Some(payload)
    }

    /// When to call [`Endpoint::handle_timeout`].
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// The next thing that the user should know. Of data that the user has read already there is nothing to tell.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        if self.events.is_empty() {
            return std::mem::take(&mut self.readable).then_some(Event::Readable);
        }
        self.events.pop_front()
    }

    /// The records since the last call, oldest first; none while recording is off.
    pub fn take_records(&mut self) -> Vec<Record> {
        self.records.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// What it is made of.
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
        self.sending.queue.len()
    }

    /// Bytes of our stream that the peer has acknowledged.
    #[must_use]
    pub const fn acked(&self) -> Bytes {
        self.sending.stream_acked
    }

    /// Bytes of the peer's stream that arrived in order.
    #[must_use]
    pub const fn received(&self) -> Bytes {
        self.receiving.stream_received
    }

    /// Whether our FIN was sent and acknowledged.
    #[must_use]
    pub const fn fin_acked(&self) -> bool {
        self.sending.fin_acked
    }

    /// Our initial sequence number.
    #[must_use]
    pub const fn initial_send_seq(&self) -> Seq {
        self.sending.iss
    }

    /// Shift of the window fields that this end sends (0 until agreed).
    #[must_use]
    pub const fn window_shift(&self) -> u8 {
        self.agreed.receive_shift
    }

    /// How often the retransmission timer ran out.
    #[must_use]
    pub const fn timeouts(&self) -> u64 {
        self.sending.rto.timeouts()
    }

    /// How often duplicate or selective ACKs started a recovery.
    #[must_use]
    pub const fn fast_retransmits(&self) -> u64 {
        self.sending.fast_retransmits
    }

    /// The congestion window, with what recovery adds to it.
    #[must_use]
    pub fn cwnd(&self) -> Bytes {
        self.sending.window()
    }

    /// The slow-start threshold; [`Bytes::MAX`] until there was a loss.
    #[must_use]
    pub fn ssthresh(&self) -> Bytes {
        self.sending.congestion.ssthresh()
    }

    /// Sent and not acknowledged.
    #[must_use]
    pub const fn flight(&self) -> Bytes {
        self.sending.board.outstanding()
    }

    /// The retransmission timer's present length, back-off included.
    #[must_use]
    pub fn rto(&self) -> Duration {
        self.sending.rto.length()
    }

    /// The longest that the retransmission timer may become.
    #[must_use]
    pub fn longest_rto(&self) -> Duration {
        self.sending.rto.longest()
    }

    /// Whether everything written, SYN and FIN among it, was sent and acknowledged.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.sending.has_nothing_left()
    }

    /// The sender's phase, as tables name it.
    #[must_use]
    pub fn phase(&self) -> &'static str {
        match self.sending.recovery.state() {
            RecoveryState::FastRecovery { .. } => "fast_recovery",
            RecoveryState::AfterTimeout { .. } => "after_timeout",
            RecoveryState::Open if self.sending.congestion.in_slow_start() => "slow_start",
            RecoveryState::Open => "congestion_avoidance",
        }
    }

    /// Makes a legal change of state; one that is not legal is a bug of ours.
    pub(crate) fn change(&mut self, change: Change) {
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

    /// Writes down what the sender did and on what grounds, if anyone wants to know.
    #[inline]
    pub(crate) fn note(&mut self, now: Instant, event: Decision, reason: &'static str, seq: Seq, len: u32) {
        if self.records.is_some() {
            self.record(now, event, reason, seq, len);
        }
    }

    #[cold]
    fn record(&mut self, now: Instant, event: Decision, reason: &'static str, seq: Seq, len: u32) {
        let estimate = self.sending.rto.estimate();
        let record = Record {
            at: now,
            event,
            reason,
            seq,
            len,
            cwnd: self.cwnd(),
            ssthresh: self.ssthresh(),
            flight: self.flight(),
            advertised: self.sending.peer_window.size(),
            srtt: estimate.map(|estimate| estimate.srtt),
            rttvar: estimate.map(|estimate| estimate.rttvar),
            rto: self.rto(),
            phase: self.phase(),
        };
        if let Some(records) = &mut self.records {
            records.push(record);
        }
    }

    /// A segment with the fields that all of ours share.
    pub(crate) fn segment(&self, seq: Seq, flags: wire::Flags, payload: Payload) -> Segment {
        let mut segment = Segment::default();
        self.begin_segment(&mut segment, seq, flags, payload);
        segment
    }

    /// The same in place: `out` keeps nothing of what it held.
    #[inline]
    pub(crate) fn begin_segment(&self, out: &mut Segment, seq: Seq, flags: wire::Flags, payload: Payload) {
        out.source_port = self.ports.local;
        out.destination_port = self.ports.remote;
        out.seq = seq;
        out.ack = Seq::default();
        out.flags = flags;
        out.window = 0;
        out.options.clear();
        out.ecn = wire::Ecn::NotCapable;
        out.payload = payload;
    }
}
