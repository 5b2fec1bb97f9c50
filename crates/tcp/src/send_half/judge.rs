//! The meaning of an ACK for the algorithms: detection of spurious signals, recovery, congestion control.

use units::{Bytes, Instant, SeqRange};

use super::tail_loss_probe::Answer;
use super::undo::PreLossState;
use super::{Acknowledgment, SendHalf, TimeoutOutcome};
use crate::Decision;
use crate::congestion::{AckSample, DeliverySample, LossPhase};
use crate::dupthresh::Reordering;
use crate::options::Agreed;
use crate::recovery::{AckEvent, Actions, RecoveryState, TimerAction, WindowAction};
use crate::spurious::{Signal, SignalKind};
use crate::timers::{Timer, Timers};

impl SendHalf {
    /// Lets the algorithms judge an ACK that is entered: detection of spurious signals, recovery, congestion control.
    pub(crate) fn judge(
        &mut self,
        ack: &Acknowledgment,
        agreed: &Agreed,
        timers: &mut Timers,
    ) -> TimeoutOutcome {
        let event = self.event(ack, agreed.sack);
        let outcome = self.on_ack(&event, ack.echoes_mark, agreed.polls, timers);
        if let Some(prior_in_flight) = ack.prior_in_flight {
            self.on_delivery(&event, prior_in_flight);
        }
        outcome
    }

    /// An ACK as algorithms see it, once it is entered.
    fn event(&self, ack: &Acknowledgment, sack: bool) -> AckEvent {
        AckEvent {
            advances: ack.advances,
            acked: ack.acked.bytes,
            segments: ack.acked.segments,
            newly_sacked: ack.newly_sacked,
            delivered: ack.delivered(),
            duplicate: ack.duplicate,
            flight: ack.flight,
            echo: ack.echo,
            one_way: ack.one_way,
            dsack: ack.dsack,
            rtt: ack.rtt,
            newest_rtt: ack.newest_rtt(),
            last_rtt: ack.last_rtt(),
            marked: ack.marked,
            ..self.present(ack.now, sack)
        }
    }

    /// The present state, as an event that acknowledges nothing.
    pub(super) fn present(&self, now: Instant, sack: bool) -> AckEvent {
        let dupthresh = self.dup_threshold();
        AckEvent {
            now,
            number: self.una,
            sack,
            nxt: self.nxt,
            dupthresh,
            extended: self.threshold.constant().is_none().then_some(dupthresh),
            smss: self.smss,
            flight: self.board.outstanding(),
            pipe: self.board.pipe(),
            cwnd: self.congestion.cwnd(),
            ssthresh: self.congestion.ssthresh(),
            advertised: self.peer_window.size(),
            srtt: self.rto.srtt(),
            min_rtt: self.rto.min_rtt(),
            ..AckEvent::default()
        }
    }

    fn on_ack(&mut self, ack: &AckEvent, marked: bool, polls: bool, timers: &mut Timers) -> TimeoutOutcome {
        if ack.advances {
            self.congestion.observe(&ack_sample(ack));
        }
        if let Some(extent) = self.undo_spurious_signal(ack, marked, timers) {
            self.duplicates.clear();
            self.on_reordering(extent, true);
            return TimeoutOutcome::Nothing;
        }
        let duplicate = ack.duplicate && !self.spurious.explains_duplicate(ack);
        let judged = &mut AckEvent { duplicate, ..*ack };
        self.count_duplicate(judged);
        self.threshold.on_delivered(self.board.delivered(), self.smss);
        if polls {
            self.await_due_ack(judged);
        }
        let undisturbed = self.is_open();
        let mut actions = self.recovery.on_ack(judged, &mut self.board);
        if undisturbed {
            actions = self.without_lost_mtu_probe(actions, judged);
        }
        if let WindowAction::Grow { acked } = &mut actions.window {
            // RFC 3168 §6.1.2: an ACK that echoes a mark opens no window; nor does the marked part of an ACK that
            // counts marks.
            *acked = acked.saturating_sub(judged.marked);
        }
        let outcome = self.perform(actions, judged, timers);
        if self.tail_probe.is_on() {
            self.judge_tail_probe(judged, timers);
        }
        let decision = if judged.duplicate { Decision::DuplicateAck } else { Decision::Ack };
        let len = u32::try_from(judged.acked.0).unwrap_or(u32::MAX);
        self.note(judged.now, decision, "", judged.number, len);
        if polls {
            self.hold_back(judged);
        }
        outcome
    }

    /// Counts the ACKs that report a gap; a gap that is closed without a repair was reordering.
    fn count_duplicate(&mut self, ack: &AckEvent) {
        if ack.advances {
            self.on_gap_closed();
        } else if (ack.duplicate && ack.dsack.is_none()) || !ack.newly_sacked.is_zero() {
            self.duplicates.on_duplicate(self.board.outstanding(), self.stream.backlog());
        }
    }

    fn on_gap_closed(&mut self) {
        let extent = self.duplicates.clear();
        if extent == 0 {
            return;
        }
        if self.is_open() {
            self.on_reordering(extent, false);
        } else {
            self.spurious.on_gap_closed(extent);
        }
    }

    fn on_reordering(&mut self, extent: u32, retransmitted: bool) {
        if extent > 0 {
            let reordering = Reordering { extent, retransmitted, view: self.view() };
            self.threshold.on_reordering(&reordering);
        }
    }

    /// Before recovery sees an ACK: no duplicates mean a loss before the next polled ACK is due.
    fn await_due_ack(&mut self, ack: &mut AckEvent) {
        if self.polls.awaits_due_ack(ack.number, self.board.highest_sacked()) && self.is_open() {
            ack.dupthresh = u32::MAX;
        }
    }

    /// After recovery has seen an ACK: the room that it must not release.
    fn hold_back(&mut self, ack: &AckEvent) {
        if !self.is_open() || self.board.sacked().is_zero() {
            self.polls.release();
        } else {
            let usable = self.window().saturating_sub(self.pipe());
            self.polls.hold_back(ack, usable);
        }
    }

    /// Recovery has judged an ACK: what it says of a tail loss probe, and when the next one is due.
    fn judge_tail_probe(&mut self, ack: &AckEvent, timers: &mut Timers) {
        let answer = self.tail_probe.on_ack(ack);
        if !self.is_open() {
            self.tail_probe.end();
        } else if answer == Answer::Repaired {
            self.reduce(ack.congestion_event(ack.flight), None, Bytes::ZERO);
        }
        if ack.advances || !ack.newly_sacked.is_zero() {
            let armed = self.tail_probe.is_armed();
            if !self.schedule_tail_probe(ack.now, ack.advances, timers) && armed {
                self.restore_retransmission_timer(ack.now, timers);
            }
        }
    }

    /// Asks the detector what an ACK says of the last loss signal. If that was spurious, its reaction is undone;
    /// returns the extent of the reordering. `marked`: the ACK echoes a congestion mark.
    fn undo_spurious_signal(&mut self, ack: &AckEvent, marked: bool, timers: &mut Timers) -> Option<u32> {
        let initial = self.config.plain.initial_window.bytes(ack.smss);
        let state = self.spurious.on_ack(ack, &self.board, self.congestion.as_mut(), &mut self.rto)?;
        self.board.clear_lost();
        self.recovery.on_spurious();
        // RFC 4015 §3.1 step 9: nothing is restored on an ACK that echoes a congestion mark.
        if !marked {
            let outstanding = self.board.outstanding();
            let congestion = self.congestion.as_mut();
            if self.spurious.restore(&state, ack, initial, outstanding, congestion) {
                // Step 10.
                self.busy_until = ack.now;
            }
        }
        if state.kind() == SignalKind::Timeout {
            self.rto.end_backoff();
            self.spurious.adapt_rto_later(&state);
        }
        match self.rto_deadline(ack.now) {
            Some(deadline) => self.set_retransmission_timer(deadline, timers),
            None => timers.clear(Timer::Retransmission),
        }
        self.note(ack.now, Decision::Undo, state.kind().id(), ack.number, 0);
        Some(state.extent().max(self.duplicates.count()))
    }

    /// A loss signal is believed; called before the window is reduced, with the flight on which the reduction is based.
    pub(super) fn remember_signal(&mut self, now: Instant, kind: SignalKind, again: bool, flight: Bytes) {
        let outstanding = SeqRange { start: self.una, end: self.nxt };
        let (congestion, estimate) = (self.congestion.as_ref(), self.rto.estimate());
        let before = PreLossState::new(kind, outstanding, flight, congestion, estimate);
        self.spurious.on_signal(&Signal { now, kind, outstanding, again }, before);
    }

    /// Carries out the actions of recovery.
    pub(super) fn perform(
        &mut self,
        actions: Actions,
        ack: &AckEvent,
        timers: &mut Timers,
    ) -> TimeoutOutcome {
        let Actions { window, timer, finding } = actions;
        self.fast_retransmits += u64::from(finding.begins_repair());
        self.change_window(window, ack);
        let mut outcome = TimeoutOutcome::Nothing;
        match timer {
            TimerAction::Leave => {}
            TimerAction::Restart => self.start_retransmission_timer(self.rto_deadline(ack.now), timers),
            TimerAction::RestartFromOldest => {
                self.start_retransmission_timer(self.rto_from_oldest(ack.now), timers);
            }
            TimerAction::StartWhole => self.set_retransmission_timer(self.rto_from(ack.now), timers),
            TimerAction::Expire => outcome = self.on_retransmission_timeout(ack.now, timers),
        }
        if let Some((decision, reason)) = finding.decision() {
            self.note(ack.now, decision, reason, ack.number, 0);
        }
        outcome
    }

    fn change_window(&mut self, action: WindowAction, ack: &AckEvent) {
        let governs = self.congestion_traits.governs_recovery;
        let congestion = &mut self.congestion;
        match action {
            WindowAction::Hold => {}
            WindowAction::Grow { acked } => self.grow(ack, acked),
            WindowAction::Reduce { event, held, plus } => {
                self.remember_signal(event.now, SignalKind::FastRetransmit, false, event.flight);
                self.reduce(event, held, plus);
            }
            WindowAction::Exit { cwnd } => congestion.on_recovery_exit(cwnd),
            WindowAction::Set { .. } | WindowAction::SlowStartFrom { .. } if governs => {}
            WindowAction::Set { cwnd, ssthresh } => congestion.on_restore(cwnd, ssthresh),
            WindowAction::SlowStartFrom { cwnd, acked } => {
                self.grow(ack, acked);
                self.slow_start_from(cwnd);
            }
        }
    }

    /// The window grows by acknowledged data.
    fn grow(&mut self, ack: &AckEvent, acked: Bytes) {
        if !acked.is_zero() {
            self.congestion.on_ack(&AckSample { acked, ..ack_sample(ack) });
        }
    }

    /// Reports to congestion control the data that an ACK has delivered and the losses, once recovery has judged it.
    fn on_delivery(&mut self, ack: &AckEvent, prior_in_flight: Bytes) {
        let in_flight = self.recovery.pipe(&self.board);
        let phase = match self.recovery.state() {
            RecoveryState::Open => LossPhase::Open,
            RecoveryState::FastRecovery { .. } => LossPhase::FastRecovery,
            RecoveryState::AfterTimeout { .. } => LossPhase::AfterTimeout,
        };
        let account = self.board.delivery_rate_mut();
        let (Some(account), Some(model)) = (account, self.congestion.path_model()) else { return };
        let rtt = ack.rtt.or_else(|| account.newest_rtt(ack.now));
        if let Some(rtt) = rtt {
            account.on_rtt(ack.now, rtt);
        }
        let (newly_delivered, rate) = account.on_ack(ack.now);
        let alone = ack.segments == 1 && ack.newly_sacked.is_zero() && ack.delivered == ack.acked;
        let sample = DeliverySample {
            now: ack.now,
            newly_delivered,
            newly_lost: account.take_newly_lost(),
            marked: ack.marked.min(ack.delivered),
            delivered: account.delivered(),
            lost: account.lost(),
            rate,
            rtt,
            maybe_delayed: alone && rate.is_some_and(|rate| rate.delivered == newly_delivered),
            prior_in_flight,
            in_flight,
            application_limited: account.is_application_limited(),
            phase,
        };
        model.on_delivery(&sample, account.lost_segments());
        account.forget_lost_segments();
        if model.limits_itself() {
            account.on_application_limited(in_flight);
        }
    }
}

/// An ACK as congestion control sees it.
fn ack_sample(ack: &AckEvent) -> AckSample {
    let AckEvent {
        now,
        acked,
        segments,
        flight,
        rtt,
        newest_rtt,
        last_rtt,
        one_way,
        marked,
        number,
        nxt,
        ..
    } = *ack;
    AckSample { now, acked, segments, flight, rtt, newest_rtt, last_rtt, one_way, marked, number, nxt }
}
