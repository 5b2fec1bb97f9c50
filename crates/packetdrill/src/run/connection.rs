//! A connection under test: the endpoint, and the state of the socket layer.

use tcp::{CloseReason, Endpoint, Event, Kind, Ports, State};
use units::{Bytes, Duration, Instant};
use wire::{Payload, Segment};

use super::epoll::Noticed;
use super::error_queue::Stamps;
use super::ids::SocketId;
use super::segment::Notation;

/// A connection.
#[derive(Debug)]
pub(super) struct TestedConnection {
    pub endpoint: Endpoint,
    pub ports: Ports,
    /// The socket that listened for it, until a program has accepted it.
    pub awaits_accept_of: Option<SocketId>,
    /// The error that the next call on its socket reports.
    pub error: Option<&'static str>,
    /// The handshake was done.
    pub was_connected: bool,
    /// The peer has closed its stream, or the connection is gone.
    pub at_end: bool,
    /// The rest of the last payload that the program has read in part.
    left_over: Option<Payload>,
    /// Bytes that the program has read.
    taken: Bytes,
    /// A call that writes waits for room in the send buffer.
    pub writer_waits: bool,
    pub counters: TcpInfoCounters,
    /// How the script writes its segments.
    pub notation: Notation,
    /// The error with which ICMP reports that the peer cannot be reached.
    pub unreachable: &'static str,
    /// Payload of the segments of which a larger arrival consists, as a card hands it over.
    pub gso_size: Option<Bytes>,
    /// It opened with Fast Open, as a client.
    pub asks_for_fast_open: bool,
    /// It sends data with its SYN without a cookie.
    pub needs_no_cookie: bool,
    /// Ends of the writes whose data are not to be copied (`MSG_ZEROCOPY`), in bytes of the stream.
    pub zero_copies: Vec<Bytes>,
    /// Number of them whose completion the program has read.
    pub completions_read: usize,
    /// The times of writes (`SO_TIMESTAMPING`).
    pub stamps: Stamps,
    /// The place of the last urgent byte in the peer's stream.
    pub urgent: Option<Bytes>,
    /// A call waits for the handshake to write the rest of its data.
    pub awaits_connection: bool,
    /// A write has found too little room.
    pub lacks_room: bool,
    /// What epoll instances have noticed of it.
    pub noticed: Noticed,
    /// What it has learned was taken over into the cache.
    pub is_cached: bool,
}

/// Counters of a connection for `TCP_INFO`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TcpInfoCounters {
    pub segments_out: u64,
    pub segments_in: u64,
    pub data_segments_out: u64,
    pub data_segments_in: u64,
    pub bytes_sent: Bytes,
    pub bytes_retransmitted: Bytes,
    pub retransmissions: u64,
    pub last_data_sent: Instant,
    pub last_data_received: Instant,
    pub last_ack_received: Instant,
    /// Time with something to send or to be acknowledged, and of it the time that the peer's window held it back.
    pub busy: Stopwatch,
    pub window_limited: Stopwatch,
    /// Time with everything sent that the send buffer has room for, while a program waits to write more.
    pub buffer_limited: Stopwatch,
}

/// Time added up over several spans.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stopwatch {
    past: Duration,
    since: Option<Instant>,
}

impl Stopwatch {
    fn set_running(&mut self, now: Instant, on: bool) {
        match (self.since, on) {
            (None, true) => self.since = Some(now),
            (Some(_), false) => {
                self.past = self.at(now);
                self.since = None;
            }
            _ => {}
        }
    }

    /// The time that it shows.
    pub(super) fn at(&self, now: Instant) -> Duration {
        self.past + self.since.map_or(Duration::ZERO, |since| now.saturating_since(since))
    }
}

impl TestedConnection {
    pub(super) fn new(now: Instant, endpoint: Endpoint, ports: Ports) -> Self {
        let counters = TcpInfoCounters {
            last_data_sent: now,
            last_data_received: now,
            last_ack_received: now,
            ..TcpInfoCounters::default()
        };
        Self {
            endpoint,
            ports,
            awaits_accept_of: None,
            error: None,
            was_connected: false,
            at_end: false,
            left_over: None,
            taken: Bytes::ZERO,
            writer_waits: false,
            counters,
            notation: Notation::default(),
            unreachable: "EHOSTUNREACH",
            gso_size: None,
            asks_for_fast_open: false,
            needs_no_cookie: false,
            awaits_connection: false,
            lacks_room: false,
            noticed: Noticed::default(),
            zero_copies: Vec::new(),
            completions_read: 0,
            stamps: Stamps::default(),
            urgent: None,
            is_cached: false,
        }
    }

    /// Handles events of the endpoint.
    pub(super) fn on_events(&mut self, now: Instant) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Connected => {
                    self.was_connected = true;
                    self.counters.last_data_received = now;
                }
                Event::PeerClosed => self.at_end = true,
                Event::Reset(reason) => {
                    self.error = match reason {
                        CloseReason::Unreachable => Some(self.unreachable),
                        _ => error_of(reason, self.was_connected),
                    };
                    self.at_end = true;
                }
                Event::Readable | Event::Writable | Event::Closed => {}
            }
        }
    }

    pub(super) fn on_arrival(&mut self, now: Instant, segment: &Segment) {
        self.counters.segments_in += 1;
        if segment.flags.contains(wire::Flags::ACK) {
            self.counters.last_ack_received = now;
        }
        if !segment.payload.is_empty() {
            self.counters.data_segments_in += 1;
            self.counters.last_data_received = now;
        }
    }

    pub(super) fn on_departure(&mut self, now: Instant, segment: &Segment, kind: Kind) {
        let len = Bytes(u64::from(segment.payload.len()));
        self.note_times(now);
        let counters = &mut self.counters;
        counters.segments_out += 1;
        if matches!(kind, Kind::Retransmission { .. }) {
            counters.retransmissions += 1;
            counters.bytes_retransmitted += len;
        }
        if !len.is_zero() {
            counters.data_segments_out += 1;
            counters.bytes_sent += len;
            counters.last_data_sent = now;
        }
    }

    /// Starts or stops the stopwatches, after the endpoint has sent what it may.
    pub(super) fn on_settled(&mut self, now: Instant) {
        let info = self.endpoint.info();
        let synchronised = self.endpoint.state().is_synchronised();
        let busy = synchronised && !(self.endpoint.flight().is_zero() && info.unsent.is_zero());
        let room = info.peer_window.saturating_sub(self.endpoint.flight());
        let limited = busy && !info.unsent.is_zero() && room < info.unsent.min(info.smss);
        // A full congestion window counts first (tcp_output.c, tcp_write_xmit).
        let limited = limited && self.endpoint.flight() + info.smss <= info.cwnd;
        self.counters.busy.set_running(now, busy);
        self.counters.window_limited.set_running(now, limited);
        let starved = busy && self.writer_waits && info.unsent.is_zero();
        self.counters.buffer_limited.set_running(now, starved && self.endpoint.flight() < info.cwnd);
    }

    /// Bytes that have arrived in order and were not read.
    pub(super) fn unread(&self) -> Bytes {
        self.endpoint.received() - self.taken
    }

    /// Takes up to `most` bytes of received data; returns their number.
    pub(super) fn read(&mut self, most: Bytes) -> Bytes {
        let mut wanted = most.min(self.unread());
        let all = wanted;
        while !wanted.is_zero() {
            let Some(payload) = self.left_over.take().or_else(|| self.endpoint.read()) else { break };
            let len = Bytes(u64::from(payload.len()));
            if len > wanted {
                let taken = u32::try_from(wanted.0).unwrap_or(u32::MAX);
                self.left_over = Some(payload.slice(taken, payload.len() - taken));
            }
            wanted = wanted.saturating_sub(len);
        }
        self.taken += all - wanted;
        all - wanted
    }

    /// Bytes written and not yet acknowledged.
    pub(super) fn held_for_sending(&self) -> Bytes {
        self.endpoint.unsent() + self.endpoint.flight()
    }

    /// The completions of writes without a copy that wait in the error queue: the numbers of the first and the one
    /// after the last. A write is complete when all its data are acknowledged.
    pub(super) fn completions(&self) -> (usize, usize) {
        let acked = self.endpoint.acked();
        let done = self.zero_copies.iter().filter(|end| **end <= acked).count();
        (self.completions_read, done)
    }

    /// Whether its error queue holds something.
    pub(super) fn has_reports(&self) -> bool {
        let (read, done) = self.completions();
        read < done || !self.stamps.is_empty()
    }

    /// Notes at which time data have left and were acknowledged.
    pub(super) fn note_times(&mut self, now: Instant) {
        let acked = self.endpoint.acked();
        self.stamps.note(now, acked + self.endpoint.flight(), acked);
    }

    /// The unread bytes before an urgent byte that was not read.
    pub(super) fn before_urgent_byte(&self) -> Option<Bytes> {
        self.urgent.filter(|at| *at >= self.taken).map(|at| at - self.taken)
    }

    /// Whether it is closed.
    pub(super) fn is_gone(&self) -> bool {
        self.endpoint.state() == State::Closed
    }

    /// Whether its SYN has no answer yet.
    pub(super) fn awaits_answer(&self) -> bool {
        self.endpoint.state() == State::SynSent
    }

    /// Whether it can carry the program's data.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self.endpoint.state(), State::Closed | State::Listen | State::TimeWait)
    }
}

/// The error that a program sees (POSIX; RFC 9293 §3.9.1).
const fn error_of(reason: CloseReason, was_connected: bool) -> Option<&'static str> {
    match reason {
        CloseReason::Refused => Some("ECONNREFUSED"),
        CloseReason::ByPeer if was_connected => Some("ECONNRESET"),
        CloseReason::ByPeer => Some("ECONNREFUSED"),
        CloseReason::TimedOut => Some("ETIMEDOUT"),
        CloseReason::Aborted | CloseReason::Unreachable => None,
    }
}
