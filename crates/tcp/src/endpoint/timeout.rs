//! A timer ran out.

use units::Instant;
use wire::{Flags, Payload};

use crate::endpoint::{CloseReason, Endpoint};
use crate::receive_half::AckDue;
use crate::recovery::{TimeoutEvent, WindowAction};
use crate::send_half::Persist;
use crate::spurious::SignalKind;
use crate::state::{Change, State};
use crate::timers::Timer;
use crate::{Cause, Decision, Event, Kind, Transmit};

impl Endpoint {
    /// Handles every timer that has run out by `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(timer) = self.timers.take_expired(now) {
            match timer {
                Timer::Retransmission if self.sending.tail_probe.is_armed() => self.probe_tail(now),
                Timer::Retransmission => self.on_retransmission_timeout(now),
                Timer::Recovery => self.on_recovery_deadline(now),
                // It only wakes the sender.
                Timer::Pacing => {}
                Timer::Persist => self.on_persist_timeout(now),
                Timer::DelayedAck => self.receiving.ack_due = AckDue::Now,
                Timer::KeepAlive => self.on_keep_alive_timeout(now),
                Timer::TimeWait => self.change(Change::LifetimePassed),
            }
        }
    }

    /// RFC 6298 §5.4 to §5.7, and the end of retries (RFC 9293 §3.8.3).
    pub(crate) fn on_retransmission_timeout(&mut self, now: Instant) {
        let Some(oldest) = self.sending.board.front() else { return };
        let (range, is_syn, first_sent) = (oldest.range, oldest.syn, oldest.first_sent);
        let closed = self.sending.peer_window.is_closed();
        let repeated = oldest.transmissions > 1 && (self.sending.rto.expirations() > 0 || closed);
        let retries = if is_syn { self.config.plain.syn_retries } else { self.config.plain.retries };
        if self.sending.rto.expirations() >= retries || self.user_gives_up(now, first_sent) {
            return self.give_up(CloseReason::TimedOut);
        }
        self.sending.rto.on_timeout(self.sending.nxt);
        self.sending.tail_probe.end();
        if is_syn {
            // A lost SYN says nothing about the data that follows: recovery must not hold it against them.
            self.sending.board.mark_lost(0, Cause::Timeout);
            self.on_syn_timeout();
        } else {
            self.start_over(now, repeated);
        }
        let deadline = self.before_user_gives_up(self.sending.rto_from(now), first_sent);
        if is_syn {
            self.timers.set(Timer::Retransmission, deadline);
        } else {
            self.set_retransmission_timer(deadline);
        }
        self.note(now, Decision::Timeout, if repeated { "again" } else { "" }, range.start, range.len());
    }

    /// What follows from a timeout of data.
    fn start_over(&mut self, now: Instant, repeated: bool) {
        let sending = &mut self.sending;
        let timeout = TimeoutEvent {
            now,
            nxt: sending.nxt,
            flight: sending.board.outstanding(),
            pipe: sending.board.pipe(),
            cwnd: sending.congestion.cwnd(),
            ssthresh: sending.congestion.ssthresh(),
            smss: sending.smss,
            repeated,
            srtt: sending.rto.srtt(),
        };
        if sending.board.front().is_some_and(|oldest| oldest.sacked) {
            // RFC 2018 §8: the oldest segment is sent again, SACKed or not; the receiver has not kept it.
            sending.board.forget_sacks();
        }
        let actions = sending.recovery.on_timeout(&timeout, &mut sending.board);
        sending.dupthresh.on_timeout();
        sending.duplicates.clear();
        sending.polls.on_timeout();
        if let WindowAction::Reduce { event, held, plus } = actions.window {
            self.remember_signal(now, SignalKind::Timeout, repeated, event.flight);
            if self.state.is_synchronised() {
                self.sending.reduce(event, held, plus);
            }
        }
    }

    /// The deadline of the recovery algorithm has come.
    fn on_recovery_deadline(&mut self, now: Instant) {
        if self.sending.board.is_empty() || !self.may_send_data() {
            return;
        }
        self.sending.deadline_met = Some(now);
        let present = self.present(now);
        let actions = self.sending.recovery.on_deadline(&present, &mut self.sending.board);
        self.perform(actions, &present);
    }

    /// Keeps the recovery algorithm's timer at the deadline of the algorithm. The ACK that ends a connection
    /// does not reach it any more.
    pub(crate) fn watch_recovery_deadline(&mut self, now: Instant) {
        if self.sending.recovery.is_idle() {
            return self.timers.clear(Timer::Recovery);
        }
        let deadline = self.sending.recovery_deadline();
        // The handshake has the usual timer, and a connection that is given up has none.
        let outstanding = !self.sending.board.is_empty() && self.may_send_data();
        let at_work = outstanding && self.sending.persist == Persist::Idle;
        match deadline.filter(|_| at_work) {
            // An ACK may shorten the wait of a segment that was sent long ago: its deadline has then passed already.
            Some(at) => self.timers.set(Timer::Recovery, at.max(now)),
            None => self.timers.clear(Timer::Recovery),
        }
    }

    /// RFC 9293 §3.8.6.1: probe, at growing intervals, for as long as the peer answers.
    fn on_persist_timeout(&mut self, now: Instant) {
        let Persist::Probing { probes, .. } = self.sending.persist else { return };
        let since = *self.sending.user_timeout.probing_since.get_or_insert(now);
        if self.sending.rto.expirations() > self.config.plain.retries || self.user_gives_up(now, since) {
            return self.give_up(CloseReason::TimedOut);
        }
        if self.new_segment_may_go() && !self.sending.user_timeout.device_refuses {
            // A partial segment has waited for more data, not for the window: the wait is over.
            self.sending.partial.pushes = true;
            return self.stop_probing();
        }
        self.sending.rto.on_probe();
        self.sending.persist = Persist::Probing { probes, due: true };
        let wait = self.sending.rto.length().doubled(probes + 1).min(self.sending.rto.longest());
        self.timers.set(Timer::Persist, now + wait);
    }

    /// RFC 9293 §3.8.4: a segment that the peer has seen before, which it must answer.
    fn on_keep_alive_timeout(&mut self, now: Instant) {
        if !matches!(self.state, State::Established | State::CloseWait) {
            return;
        }
        if self.keep_alive_probes >= self.config.plain.keep_alive_probes {
            return self.give_up(CloseReason::TimedOut);
        }
        self.keep_alive_probes += 1;
        self.timers.set(Timer::KeepAlive, now + self.config.plain.keep_alive_interval);
        let mut probe = self.segment(self.sending.una - 1, Flags::empty(), Payload::EMPTY);
        self.complete(now, &mut probe);
        self.outbox.push_back(Transmit { segment: probe, kind: Kind::KeepAlive });
    }

    /// The connection was silent until now: the keep-alive timer starts over.
    pub(crate) fn restart_keep_alive(&mut self, now: Instant) {
        if self.config.plain.keep_alive {
            self.keep_alive_probes = 0;
            self.timers.set(Timer::KeepAlive, now + self.config.plain.keep_alive_idle);
        }
    }

    /// Ends the connection without a word to the peer.
    pub(crate) fn give_up(&mut self, reason: CloseReason) {
        // In TIME-WAIT the user knows already that all is closed (RFC 9293 §3.10.7.4, second).
        if self.state != State::TimeWait {
            self.events.push_back(Event::Reset(reason));
        }
        self.change(Change::Reset);
        self.receiving.window.leave();
        self.timers = crate::timers::Timers::UNSET;
        self.receiving.ack_due = AckDue::No;
    }
}
