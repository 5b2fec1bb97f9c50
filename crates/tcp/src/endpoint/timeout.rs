//! Expired timers.

use units::Instant;
use wire::{Flags, Payload};

use super::{CloseReason, Endpoint, Event};
use crate::send_half::{SendHalf, TimeoutOutcome};
use crate::state::{Change, State};
use crate::timers::{Timer, Timers};
use crate::{Kind, Transmit};

impl Endpoint {
    /// Handles every timer that has expired by `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(timer) = self.timers.take_expired(now) {
            match timer {
                Timer::Retransmission => {
                    self.repair(|send, timers| send.on_retransmission_timer(now, timers));
                }
                Timer::Recovery => self.on_recovery_deadline(now),
                // It only wakes the sender.
                Timer::Pacing => {}
                Timer::Congestion => self.send.on_congestion_deadline(now),
                Timer::Persist => {
                    let allowed = self.allowed();
                    let outcome = self.send.on_persist_timeout(now, allowed, &mut self.timers);
                    self.conclude_timeout(outcome);
                }
                Timer::DelayedAck => self.receive.on_ack_wait_over(),
                Timer::KeepAlive => self.on_keep_alive_timeout(now),
                Timer::TimeWait => self.change(Change::LifetimePassed),
            }
            self.watch_congestion_deadline(now);
        }
    }

    /// Lets the sender judge what is lost, and carries out the consequences for the connection.
    pub(super) fn repair(&mut self, judge: impl FnOnce(&mut SendHalf, &mut Timers) -> TimeoutOutcome) {
        let before = self.send.recovery_state();
        let outcome = judge(&mut self.send, &mut self.timers);
        self.note_reduction(before);
        self.conclude_timeout(outcome);
    }

    /// Consequence of a sender's timeout for the connection.
    fn conclude_timeout(&mut self, outcome: TimeoutOutcome) {
        match outcome {
            TimeoutOutcome::Nothing | TimeoutOutcome::Retransmission => {}
            TimeoutOutcome::SynRetransmission => self.fast_open.on_syn_timeout(),
            TimeoutOutcome::GivesUp => self.give_up(CloseReason::TimedOut),
        }
    }

    /// Sets the congestion control's own timer, while there is a connection for it.
    #[inline]
    pub(super) fn watch_congestion_deadline(&mut self, now: Instant) {
        if self.may_send_data() {
            self.send.watch_congestion_deadline(now, &mut self.timers);
        }
    }

    fn on_recovery_deadline(&mut self, now: Instant) {
        if self.may_send_data() {
            let sack = self.agreed.sack;
            self.repair(|send, timers| send.on_recovery_deadline(now, sack, timers));
        }
    }

    /// Handles a device that takes no packet: call it instead of [`Endpoint::poll_transmit`]. Data wait, and where
    /// nothing is outstanding whose ACK could come, the persist timer tries again.
    pub fn handle_device_refusal(&mut self, now: Instant) {
        if self.state.sends_data() {
            self.send.on_device_refusal(now, &mut self.timers);
        }
    }

    /// RFC 9293 §3.8.4: a segment that the peer has seen before, which it must answer.
    fn on_keep_alive_timeout(&mut self, now: Instant) {
        if matches!(self.state, State::SynSent | State::SynReceived) {
            return self.give_up(CloseReason::TimedOut);
        }
        if !matches!(self.state, State::Established | State::CloseWait) {
            return;
        }
        if self.keep_alive_probes >= self.config.plain.keep_alive_probes {
            return self.give_up(CloseReason::TimedOut);
        }
        self.keep_alive_probes += 1;
        self.timers.set(Timer::KeepAlive, now + self.config.plain.keep_alive_interval);
        let mut probe = self.segment(self.send.una() - 1, Flags::empty(), Payload::EMPTY);
        self.complete(now, &mut probe);
        self.outbox.push_back(Transmit { segment: probe, kind: Kind::KeepAlive });
    }

    /// The first SYN leaves: the time begins after which the open fails. Until it succeeds the keep-alive timer
    /// measures it, as in BSD.
    pub(super) fn begin_open_timeout(&mut self, now: Instant) {
        if let Some(timeout) = self.config.plain.open_timeout {
            self.timers.set(Timer::KeepAlive, now + timeout);
        }
    }

    /// The connection was silent until now: the keep-alive timer starts over.
    #[inline]
    pub(super) fn restart_keep_alive(&mut self, now: Instant) {
        if self.config.plain.keep_alive {
            self.keep_alive_probes = 0;
            self.timers.set(Timer::KeepAlive, now + self.config.plain.keep_alive_idle);
        }
    }

    /// Ends the connection without a segment to the peer.
    pub(super) fn give_up(&mut self, reason: CloseReason) {
        // In TIME-WAIT the user knows already that all is closed (RFC 9293 §3.10.7.4, second).
        if self.state != State::TimeWait {
            self.events.push_back(Event::Reset(reason));
        }
        self.change(Change::Reset);
        self.receive.end();
        self.timers = Timers::UNSET;
    }
}
