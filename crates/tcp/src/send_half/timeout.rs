//! Expired timers of the sender: retransmission (RFC 6298 §5), tail loss probe, recovery, persist.

use units::{Duration, Instant};

use super::persist::DEVICE_RETRY;
use super::{Allowed, SendHalf};
use crate::recovery::{TimeoutEvent, WindowAction};
use crate::spurious::SignalKind;
use crate::timers::{Timer, Timers};
use crate::{Cause, Decision};

/// The outcome of a retransmission timeout.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeoutOutcome {
    /// Nothing was outstanding, or no timer has expired.
    Nothing,
    /// Data are to be sent again.
    Retransmission,
    /// Our SYN is to be sent again.
    SynRetransmission,
    /// The retries are exhausted, or the user has waited long enough.
    GivesUp,
}

impl SendHalf {
    /// The retransmission timer has expired, or the probe timer that stands for it.
    pub(crate) fn on_retransmission_timer(&mut self, now: Instant, timers: &mut Timers) -> TimeoutOutcome {
        if self.tail_probe.is_armed() {
            self.on_probe_timeout(now, timers);
            return TimeoutOutcome::Nothing;
        }
        self.on_retransmission_timeout(now, timers)
    }

    /// RFC 6298 §5.4 to §5.7, and the end of retries (RFC 9293 §3.8.3).
    pub(super) fn on_retransmission_timeout(&mut self, now: Instant, timers: &mut Timers) -> TimeoutOutcome {
        let Some(oldest) = self.board.front() else { return TimeoutOutcome::Nothing };
        let (range, is_syn, first_sent) = (oldest.range, oldest.syn, oldest.first_sent);
        let closed = self.peer_window.is_closed();
        let repeated = oldest.transmissions > 1 && (self.rto.expirations() > 0 || closed);
        let retries = if is_syn { self.syn_retries } else { self.config.plain.retries };
        if self.rto.expirations() >= retries || self.user_timeout.is_over(now, first_sent) {
            return TimeoutOutcome::GivesUp;
        }
        if !is_syn && self.mtu.on_timeout(now, self.rto.expirations() > 0) {
            self.on_black_hole(now);
        }
        self.rto.on_timeout(self.nxt);
        self.tail_probe.end();
        if is_syn {
            // A lost SYN says nothing about the data that follows: recovery must not hold it against them.
            self.board.mark_lost(0, Cause::Timeout);
        } else {
            self.start_over(now, repeated);
        }
        let deadline = self.user_timeout.cut(self.rto_from(now), first_sent);
        if is_syn {
            timers.set(Timer::Retransmission, deadline);
        } else {
            self.set_retransmission_timer(deadline, timers);
        }
        self.note(now, Decision::Timeout, if repeated { "again" } else { "" }, range.start, range.len());
        if is_syn { TimeoutOutcome::SynRetransmission } else { TimeoutOutcome::Retransmission }
    }

    /// Reduces the window for a timeout of data, and lets recovery mark what is to be sent again.
    fn start_over(&mut self, now: Instant, repeated: bool) {
        let timeout = TimeoutEvent {
            now,
            nxt: self.nxt,
            flight: self.board.outstanding(),
            pipe: self.board.pipe(),
            cwnd: self.congestion.cwnd(),
            ssthresh: self.congestion.ssthresh(),
            smss: self.smss,
            repeated,
            srtt: self.rto.srtt(),
        };
        if self.board.front().is_some_and(|oldest| oldest.sacked) {
            // RFC 2018 §8: the oldest segment is sent again, SACKed or not; the receiver has not kept it.
            self.board.forget_sacks();
        }
        let actions = self.recovery.on_timeout(&timeout, &mut self.board);
        self.threshold.on_timeout();
        self.duplicates.clear();
        self.polls.on_timeout();
        if let WindowAction::Reduce { event, held, plus } = actions.window {
            self.remember_signal(now, SignalKind::Timeout, repeated, event.flight);
            if self.synchronised {
                self.reduce(event, held, plus);
            }
        }
    }

    /// The deadline of the recovery has come.
    pub(crate) fn on_recovery_deadline(
        &mut self,
        now: Instant,
        sack: bool,
        timers: &mut Timers,
    ) -> TimeoutOutcome {
        if self.board.is_empty() {
            return TimeoutOutcome::Nothing;
        }
        self.deadline_met = Some(now);
        let present = self.present(now, sack);
        let undisturbed = self.is_open();
        let mut actions = self.recovery.on_deadline(&present, &mut self.board);
        if undisturbed {
            actions = self.without_lost_mtu_probe(actions, &present);
        }
        self.perform(actions, &present, timers)
    }

    /// The network reports that the peer cannot be reached.
    pub(crate) fn on_unreachable(&mut self) {
        if self.board.is_empty() || !self.recovery.on_unreachable(self.nxt, &mut self.board) {
            return;
        }
        if !self.congestion_traits.governs_recovery {
            let ssthresh = self.congestion.ssthresh();
            self.congestion.on_restore(self.smss, ssthresh);
        }
    }

    /// Sets the recovery timer to the deadline of the recovery. The ACK that ends a connection does not reach it any
    /// more.
    pub(super) fn watch_recovery_deadline(&mut self, now: Instant, allowed: Allowed, timers: &mut Timers) {
        if self.recovery.is_idle() {
            return timers.clear(Timer::Recovery);
        }
        let deadline = self.recovery_deadline();
        // The handshake has the usual timer, and a connection that is given up has none.
        let at_work = !self.board.is_empty() && allowed.data && self.persist.is_idle();
        match deadline.filter(|_| at_work) {
            // An ACK may shorten the wait of a segment that was sent long ago: its deadline has then passed already.
            Some(at) => timers.set(Timer::Recovery, at.max(now)),
            None => timers.clear(Timer::Recovery),
        }
    }

    /// Sets the timer of a congestion control that has one. A deadline that has passed comes a clock tick later, as in
    /// [`Self::recovery_deadline`].
    #[inline]
    pub(crate) fn watch_congestion_deadline(&self, now: Instant, timers: &mut Timers) {
        if self.congestion_traits.keeps_timer {
            let later = |at: Instant| if at <= now { now + CLOCK_TICK } else { at };
            timers.set(Timer::Congestion, self.congestion.deadline().map_or(Instant::NEVER, later));
        }
    }

    /// The congestion control's own timer has run out.
    pub(crate) fn on_congestion_deadline(&mut self, now: Instant) {
        self.congestion.on_deadline(now);
    }

    /// Time at which the recovery wants to act without an ACK. A deadline that was met has moved. One that has not, by
    /// a fault of the algorithm, comes again after a clock tick and not at once, so that no endpoint ever stands still
    /// in time.
    fn recovery_deadline(&self) -> Option<Instant> {
        let deadline = self.recovery.deadline(&self.board)?;
        Some(self.deadline_met.filter(|met| deadline <= *met).map_or(deadline, |met| met + CLOCK_TICK))
    }

    /// Sets the probe timer (RFC 8985 §7.2), unless losses are known or reported; returns whether it was set.
    /// `advancing`: the retransmission timer starts over now.
    pub(super) fn schedule_tail_probe(&mut self, now: Instant, advancing: bool, timers: &mut Timers) -> bool {
        // Not before the handshake of a Fast Open is done (Linux `tcp_schedule_loss_probe`).
        // A probe of a closed window is no tail, and the persist timer repeats it (Linux `tcp_send_probe0`).
        let unprobed = self.persist.is_idle();
        let undisturbed = self.synchronised && unprobed && self.is_open() && self.board.sacked().is_zero();
        let Some(oldest) = self.board.front().filter(|_| undisturbed) else { return false };
        let Some(wait) = self.tail_probe.wait(self.rto.srtt(), self.board.len() == 1) else { return false };
        let running = self.tail_probe.replaced().or_else(|| timers.at(Timer::Retransmission));
        // A timer that counts from the last ACK continues (RFC 6298 §5.1).
        let expiry = match running.filter(|_| !advancing && !self.rto.counts_from_oldest()) {
            Some(expiry) => expiry,
            None => self.rto_from(if advancing { now } else { oldest.last_sent }),
        };
        let probe_at = now + wait;
        timers.set(Timer::Retransmission, if expiry > now { probe_at.min(expiry) } else { probe_at });
        self.tail_probe.arm(expiry);
        true
    }

    /// The probe timer has expired (RFC 8985 §7.3); the retransmission timer follows it.
    fn on_probe_timeout(&mut self, now: Instant, timers: &mut Timers) {
        if self.tail_probe.begin_probe() {
            self.set_retransmission_timer(self.rto_from(now), timers);
        } else {
            self.restore_retransmission_timer(now, timers);
        }
    }

    /// The retransmission timer runs again as before the probe timer replaced it.
    pub(super) fn restore_retransmission_timer(&mut self, now: Instant, timers: &mut Timers) {
        let running = self.tail_probe.expiry().filter(|_| !self.rto.counts_from_oldest());
        match self.board.front() {
            Some(oldest) => {
                let expiry = running.unwrap_or_else(|| self.rto_from(oldest.last_sent));
                self.set_retransmission_timer(expiry.max(now), timers);
            }
            None => timers.clear(Timer::Retransmission),
        }
    }

    /// The persist timer has expired: a probe is due, at growing intervals, for as long as the peer answers (RFC 9293
    /// §3.8.6.1). Returns whether the connection is to be given up.
    pub(crate) fn on_persist_timeout(
        &mut self,
        now: Instant,
        allowed: Allowed,
        timers: &mut Timers,
    ) -> TimeoutOutcome {
        if self.persist.is_idle() {
            return TimeoutOutcome::Nothing;
        }
        let since = self.persist.on_timeout(now);
        if self.rto.expirations() > self.config.plain.retries || self.user_timeout.is_over(now, since) {
            return TimeoutOutcome::GivesUp;
        }
        if self.new_segment_len(allowed).is_some() && !self.persist.device_refuses() {
            // A partial segment has waited for more data, not for the window: the wait is over.
            self.stream.partial().set_push(true);
            self.stop_probing(timers);
            return TimeoutOutcome::Nothing;
        }
        self.rto.on_probe();
        self.persist.begin_probe();
        let wait = self.rto.length().doubled(self.persist.probes() + 1).min(self.rto.longest());
        timers.set(Timer::Persist, now + wait);
        TimeoutOutcome::Nothing
    }

    /// Stops probing a closed window.
    pub(super) fn stop_probing(&mut self, timers: &mut Timers) {
        self.persist.stop();
        timers.clear(Timer::Persist);
    }

    /// The device takes no packet. With nothing outstanding no ACK will come, and the persist timer tries again.
    pub(crate) fn on_device_refusal(&mut self, now: Instant, timers: &mut Timers) {
        if !self.stream.has_more() || !self.board.is_empty() {
            return;
        }
        self.persist.on_device_refusal();
        if self.persist.is_idle() {
            self.persist.begin();
            timers.set(Timer::Persist, self.rto_from(now));
        } else if self.persist.is_due() {
            self.persist.end_probe();
            // The network has lost nothing, so the timer does not back off.
            self.rto.on_answer();
            timers.set(Timer::Persist, now + DEVICE_RETRY);
        }
    }

    /// Sets the user timeout; `None` leaves the decision to the number of retransmissions.
    pub(crate) const fn set_user_timeout(&mut self, limit: Option<Duration>) {
        self.user_timeout.set(limit);
    }
}

/// G of RFC 6298 §2.
const CLOCK_TICK: Duration = Duration::from_millis(1);
