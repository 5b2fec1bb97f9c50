//! The end of a connection: FIN, reset, TIME-WAIT, and the defences of RFC 5961 against blind attacks.

use units::{Instant, Seq};
use wire::{Flags, Payload, Segment};

use super::{CloseReason, Endpoint, Event, Ports};
use crate::options::Agreed;
use crate::state::{Change, State};
use crate::timers::{Timer, Timers};
use crate::{Kind, Transmit};

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
            _ => self.send.close(),
        }
    }

    /// The user reads no more. Arriving data are still acknowledged, until our own stream is closed too: then they
    /// reset the connection (RFC 9293 §3.6.1, RFC 1122 §4.2.2.13).
    pub const fn shut_receiving(&mut self) {
        self.receive.shut();
    }

    /// Gives the connection up, with a reset unless both streams have ended (RFC 9293 §3.10.5).
    pub fn abort(&mut self) {
        use State::{CloseWait, Established, FinWait1, FinWait2, SynReceived};
        if matches!(self.state, SynReceived | Established | FinWait1 | FinWait2 | CloseWait) {
            let mut reset =
                self.segment(self.send.acceptable_seq(), Flags::RST.with(Flags::ACK), Payload::EMPTY);
            reset.ack = self.receive.next();
            self.outbox.push_back(Transmit { segment: reset, kind: Kind::Reset });
        }
        if self.state != State::Closed {
            self.give_up(CloseReason::Aborted);
        }
    }

    /// A segment that belongs to no connection is answered with a reset that the peer will believe
    /// (RFC 9293 §3.5.2, groups 1 and 2).
    pub(super) fn refuse(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        let ports = Ports { local: segment.destination_port, remote: segment.source_port };
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
    pub(super) fn on_reset(&mut self, now: Instant, seq: Seq) {
        if seq != self.receive.next() {
            return self.challenge(now);
        }
        match self.state {
            // The user has the connection already.
            State::SynReceived if self.fast_open.is_accepted() => self.give_up(CloseReason::ByPeer),
            State::SynReceived if self.can_listen_again() => self.listen_again(),
            State::SynReceived => self.give_up(CloseReason::Refused),
            _ => self.give_up(CloseReason::ByPeer),
        }
    }

    /// A SYN inside the window: a passive open before the handshake is done starts over (RFC 9293 §3.10.7.4, fourth), a
    /// synchronised connection answers with a challenge ACK (RFC 5961 §4.2).
    pub(super) fn on_syn_in_window(&mut self, now: Instant) {
        if self.state == State::SynReceived && self.can_listen_again() {
            self.listen_again();
        } else {
            self.challenge(now);
        }
    }

    pub(super) fn can_listen_again(&self) -> bool {
        self.passive && !self.send.is_closing()
    }

    /// Back to LISTEN after a passive open that failed (RFC 9293 §3.10.7.4, second). The send queue stays.
    pub(super) fn listen_again(&mut self) {
        self.change(Change::OpenRefused);
        self.send.restart();
        self.receive.restart(&self.config);
        self.agreed = Agreed::NOTHING;
        self.fast_open.forget_peer();
        self.ports.remote = 0;
        self.timers = Timers::UNSET;
    }

    /// A challenge ACK (RFC 5961 §3 and §4), unless too many were sent (§7).
    pub(super) fn challenge(&mut self, now: Instant) {
        if self.challenges.permit(now) {
            self.receive.acknowledge_now();
        }
    }

    /// Our FIN is acknowledged.
    pub(super) fn on_fin_acked(&mut self, now: Instant) {
        self.send.on_fin_acked();
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
    pub(super) fn enter_time_wait(&mut self, now: Instant) {
        self.timers = Timers::UNSET;
        self.timers.set(Timer::TimeWait, now + self.config.plain.msl * 2);
        self.events.push_back(Event::Closed);
    }
}
