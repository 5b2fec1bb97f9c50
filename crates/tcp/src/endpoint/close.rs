//! The end of a connection: FIN, reset, TIME-WAIT, and what RFC 5961 asks against blind attacks.

use units::{Duration, Instant, Seq};
use wire::{Flags, Payload, Segment};

use crate::endpoint::{CloseReason, Endpoint};
use crate::options::Agreed;
use crate::receive_half::Receiving;
use crate::send_half::{Fin, Sending};
use crate::state::{Change, State};
use crate::timers::{Timer, Timers};
use crate::{Event, Kind, Transmit};

/// Challenge ACKs given in the present interval (RFC 5961 §7).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Challenges {
    since: Instant,
    given: u32,
}

impl Endpoint {
    /// Ends our stream: the FIN follows the data. Before the handshake the connection is closed without a FIN
    /// (RFC 9293 §3.10.4).
    pub fn close(&mut self) {
        match self.state {
            State::Listen | State::SynSent => {
                self.change(Change::Reset);
                self.timers = Timers::UNSET;
                self.events.push_back(Event::Closed);
            }
            _ if self.sending.fin == Fin::Open => self.sending.fin = Fin::Wanted,
            _ => {}
        }
    }

    /// The user reads no more. Data that arrive are still acknowledged, until our own stream is closed too: then nobody
    /// is left to take them, and they reset the connection (RFC 9293 §3.6.1, RFC 1122 §4.2.2.13).
    pub const fn shut_receiving(&mut self) {
        self.receiving.shut = true;
    }

    /// Whether a segment brings new data to an end that is closed in both directions.
    pub(crate) fn reaches_nobody(&self, segment: &Segment) -> bool {
        let end = segment.seq + segment.payload.len();
        self.sending.is_closing() && end.after(self.receiving.stream.next())
    }

    /// Gives the connection up, with a reset unless both streams have ended (RFC 9293 §3.10.5).
    pub fn abort(&mut self) {
        use State::{CloseWait, Established, FinWait1, FinWait2, SynReceived};
        if matches!(self.state, SynReceived | Established | FinWait1 | FinWait2 | CloseWait) {
            let mut reset =
                self.segment(self.sending.acceptable_seq(), Flags::RST.with(Flags::ACK), Payload::EMPTY);
            reset.ack = self.receiving.stream.next();
            self.outbox.push_back(Transmit { segment: reset, kind: Kind::Reset });
        }
        if self.state != State::Closed {
            self.give_up(CloseReason::Aborted);
        }
    }

    /// A segment that belongs to no connection is answered with a reset that the peer will believe
    /// (RFC 9293 §3.5.2, groups 1 and 2).
    pub(crate) fn refuse(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        let ports = crate::Ports { local: segment.destination_port, remote: segment.source_port };
        let mut reset = self.segment(Seq::default(), Flags::RST, Payload::EMPTY);
        (reset.source_port, reset.destination_port) = (ports.local, ports.remote);
        if segment.flags.contains(Flags::ACK) {
            reset.seq = segment.ack;
        } else {
            reset.flags = reset.flags.with(Flags::ACK);
            reset.ack = segment.seq_range().end;
        }
        self.outbox.push_back(Transmit { segment: reset, kind: Kind::Reset });
    }

    /// A reset inside the window. Only the exact next number counts (RFC 5961 §3.2). Any other may be an attacker's
    /// guess and draws a challenge ACK, which the peer, if the reset was its own, answers with the right number.
    pub(crate) fn on_reset(&mut self, now: Instant, seq: Seq) {
        if seq != self.receiving.stream.next() {
            return self.challenge(now);
        }
        match self.state {
            State::SynReceived if self.can_listen_again() => self.listen_again(),
            State::SynReceived => self.give_up(CloseReason::Refused),
            _ => self.give_up(CloseReason::ByPeer),
        }
    }

    /// A SYN inside the window: a passive open before the handshake is done starts over (RFC 9293 §3.10.7.4, fourth), a
    /// synchronised connection answers with a challenge ACK (RFC 5961 §4.2).
    pub(crate) fn on_syn_in_window(&mut self, now: Instant) {
        if self.state == State::SynReceived && self.can_listen_again() {
            self.listen_again();
        } else {
            self.challenge(now);
        }
    }

    fn can_listen_again(&self) -> bool {
        self.passive && self.sending.fin == Fin::Open
    }

    /// Back to LISTEN after a passive open that failed (RFC 9293 §3.10.7.4, second). The send queue stays.
    fn listen_again(&mut self) {
        self.change(Change::OpenRefused);
        let queue = std::mem::take(&mut self.sending.queue);
        self.sending = Sending::new(&self.config, self.sending.iss);
        self.sending.queue = queue;
        self.receiving.window.leave();
        let window = std::mem::replace(&mut self.receiving.window, self.config.window.build());
        self.receiving = Receiving { window, ..Receiving::new(&self.config) };
        self.agreed = Agreed::NOTHING;
        self.fast_open.forget_peer();
        self.ports.remote = 0;
        self.timers = Timers::UNSET;
    }

    /// A challenge ACK (RFC 5961 §3 and §4), of which there are at most so many per interval (§7).
    pub(crate) fn challenge(&mut self, now: Instant) {
        if now.saturating_since(self.challenges.since) >= CHALLENGE_INTERVAL {
            self.challenges = Challenges { since: now, given: 0 };
        }
        if self.challenges.given < CHALLENGES_PER_INTERVAL {
            self.challenges.given += 1;
            self.receiving.ack_due = crate::receive_half::AckDue::Now;
        }
    }

    /// Our FIN is acknowledged.
    pub(crate) fn on_fin_acked(&mut self, now: Instant) {
        self.sending.fin_acked = true;
        self.timers.clear(Timer::Retransmission);
        self.change(Change::FinAcked);
        match self.state {
            State::TimeWait => self.enter_time_wait(now),
            State::Closed => {
                self.timers = Timers::UNSET;
                self.events.push_back(Event::Closed);
            }
            _ => {}
        }
    }

    /// Enters TIME-WAIT: old segments have twice their lifetime to leave the network (RFC 9293 §3.6.1).
    pub(crate) fn enter_time_wait(&mut self, now: Instant) {
        self.timers = Timers::UNSET;
        self.timers.set(Timer::TimeWait, now + self.config.plain.msl * 2);
        self.events.push_back(Event::Closed);
    }
}

/// RFC 5961 §7 suggests ten in five seconds.
const CHALLENGES_PER_INTERVAL: u32 = 10;
/// See [`CHALLENGES_PER_INTERVAL`].
const CHALLENGE_INTERVAL: Duration = Duration::from_secs(5);
