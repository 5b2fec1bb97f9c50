//! The ACK field of a segment, as it concerns the sender (RFC 9293 §3.10.7.4, fifth check).
//!
//! An [`Acknowledgment`] passes through the steps in this order: [`SendHalf::begin_ack`], [`SendHalf::acknowledge`],
//! [`SendHalf::advance`], [`SendHalf::judge`]. Congestion marks are counted between the first and the third.

use units::{Bytes, Duration, Instant, Seq, SeqRange};
use wire::{Flags, Segment};

use super::tail_loss_probe::Answer;
use super::undo::PreLossState;
use super::{SendHalf, TimeoutOutcome};
use crate::config::RoundTrip;
use crate::congestion::{AckSample, CongestionEvent, CongestionSignal, DeliverySample, LossPhase};
use crate::dupthresh::Reordering;
use crate::options::Agreed;
use crate::recovery::{AckEvent, Actions, RecoveryState, TimerAction, WindowAction};
use crate::rto::Sample;
use crate::scoreboard::Acked;
use crate::spurious::{Signal, SignalKind};
use crate::timers::{Timer, Timers};
use crate::timestamp::{OneWayDelay, Timestamp};
use crate::{Cause, Decision};

/// An acceptable acknowledgment on its way through the sender; each step adds what it finds.
#[derive(Debug)]
pub(crate) struct Acknowledgment {
    now: Instant,
    number: Seq,
    /// It is a duplicate by RFC 5681 §2.
    duplicate: bool,
    /// The segment that it reports as arrived twice (RFC 2883 §4).
    dsack: Option<SeqRange>,
    /// The value of our clock that it echoes, where timestamps are agreed.
    echo: Option<Timestamp>,
    one_way: Option<OneWayDelay>,
    /// Data in the network before it, where congestion control observes deliveries.
    prior_in_flight: Option<Bytes>,
    /// FlightSize before it.
    flight: Bytes,
    newly_sacked: Bytes,
    /// It advances SND.UNA.
    advances: bool,
    /// The segments that it takes off the board.
    acked: Acked,
    /// It echoes a congestion mark.
    echoes_mark: bool,
    /// Of the data that it delivers, those that the peer reports as marked.
    marked: Bytes,
    /// The round-trip time that it measured.
    rtt: Option<Duration>,
}

impl Acknowledgment {
    /// An acknowledgment of nothing but the number `segment.ack`.
    #[inline]
    fn new(now: Instant, segment: &Segment, agreed: &Agreed, flight: Bytes) -> Self {
        Self {
            now,
            number: segment.ack,
            duplicate: false,
            dsack: None,
            echo: agreed.echo(segment),
            one_way: agreed.one_way(segment),
            prior_in_flight: None,
            flight,
            newly_sacked: Bytes::ZERO,
            advances: true,
            acked: Acked::default(),
            echoes_mark: false,
            marked: Bytes::ZERO,
            rtt: None,
        }
    }

    /// That of a SYN-ACK.
    pub(super) fn of_syn_ack(now: Instant, segment: &Segment, agreed: &Agreed) -> Self {
        Self::new(now, segment, agreed, Bytes::ZERO)
    }

    /// Data that it acknowledges cumulatively.
    pub(super) const fn acked_data(&self) -> Bytes {
        self.acked.bytes
    }

    /// Its acknowledgment number.
    pub(crate) const fn number(&self) -> Seq {
        self.number
    }

    /// Whether it advances SND.UNA.
    pub(crate) const fn advances(&self) -> bool {
        self.advances
    }

    /// Whether it acknowledges our SYN.
    pub(crate) const fn acks_syn(&self) -> bool {
        self.acked.syn
    }

    /// Whether it acknowledges our FIN.
    pub(crate) const fn acks_fin(&self) -> bool {
        self.acked.fin
    }

    /// Whether it acknowledges our SYN and no data: it ends the handshake and says nothing to algorithms.
    pub(crate) fn ends_handshake_only(&self) -> bool {
        self.acked.syn && self.acked.bytes.is_zero()
    }

    /// It echoes a congestion mark.
    pub(crate) const fn set_echoes_mark(&mut self) {
        self.echoes_mark = true;
    }

    /// An echo concerns all data that its ACK acknowledges (RFC 8257 §3.3).
    pub(crate) fn mark_by_echo(&mut self) {
        if self.echoes_mark {
            self.marked = self.acked.bytes.max(self.delivered());
        }
    }

    /// The peer reports `marked` bytes as marked.
    pub(crate) fn set_marked(&mut self, marked: Bytes) {
        self.marked = marked;
        self.echoes_mark |= !marked.is_zero();
    }

    /// Segments that it is the first to report, where SACKed data count by segments of `smss`.
    pub(crate) fn segments(&self, smss: Bytes) -> u32 {
        self.acked.segments + self.newly_sacked.0.div_ceil(smss.0) as u32
    }

    /// Data that it acknowledges, cumulatively or newly by SACK.
    pub(crate) fn acknowledged(&self) -> Bytes {
        self.acked.bytes + self.newly_sacked
    }

    /// Data that it is the first to report.
    fn delivered(&self) -> Bytes {
        self.acked.newly + self.newly_sacked
    }

    /// The round-trip time of the newest segment that it acknowledges and no SACK has reported before.
    fn newest_rtt(&self) -> Option<Duration> {
        self.acked.newest_sample.map(|sent| self.now - sent).or(self.rtt)
    }

    /// The round-trip time of the last segment that it acknowledges.
    fn last_rtt(&self) -> Option<Duration> {
        self.acked.last_sample.map(|sent| self.now - sent)
    }
}

impl SendHalf {
    /// Takes in an ACK: peer window and SACK blocks.
    pub(crate) fn begin_ack(
        &mut self,
        now: Instant,
        segment: &Segment,
        agreed: &Agreed,
        timers: &mut Timers,
    ) -> Acknowledgment {
        let duplicate = self.is_duplicate(segment, agreed);
        self.update_window(now, segment, agreed, timers);
        let observes = self.congestion_traits.observes_deliveries;
        let prior_in_flight = observes.then(|| self.recovery.pipe(&self.board));
        let newly_sacked = self.enter_sacks(segment, agreed);
        Acknowledgment {
            duplicate,
            dsack: reported_twice(segment).filter(|_| agreed.sack),
            prior_in_flight,
            newly_sacked,
            advances: segment.ack.after(self.una),
            ..Acknowledgment::new(now, segment, agreed, self.board.outstanding())
        }
    }

    /// Takes the acknowledged segments off the board.
    pub(crate) fn acknowledge(&mut self, ack: &mut Acknowledgment) {
        ack.acked = self.board.acknowledge(ack.number);
    }

    /// SND.UNA advances: samples the round trip, and restarts what waits for an answer.
    pub(crate) fn advance(&mut self, ack: &mut Acknowledgment, timers: &mut Timers) {
        self.una = ack.number;
        self.stream.on_acked(ack.acked.bytes);
        ack.rtt = self.take_sample(ack);
        self.rto.on_new_ack(ack.number, ack.rtt.is_some());
        if self.has_nothing_left() {
            self.stop_probing(timers);
        }
    }

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

    /// Whether an ACK can report nothing but the window (V. Jacobson, "4BSD TCP header prediction", 1990).
    pub(crate) fn expects_nothing(&self, segment: &Segment) -> bool {
        self.board.is_empty() && segment.ack == self.una && segment.options.sack.is_empty()
    }

    /// Whether an ACK of new data means nothing to any algorithm but to the window, the estimators and the retransmission
    /// timer: the sender's half of header prediction.
    #[inline]
    pub(crate) fn is_undisturbed(&self) -> bool {
        self.duplicates.count() == 0
            && !self.spurious.observes_advances()
            && !self.congestion_traits.observes_deliveries
            && self.recovery.is_idle()
            && !self.tail_probe.is_outstanding()
    }

    /// Takes in an ACK of new data while the sender [is undisturbed](Self::is_undisturbed).
    pub(crate) fn on_predicted_ack(
        &mut self,
        now: Instant,
        segment: &Segment,
        agreed: &Agreed,
        timers: &mut Timers,
    ) {
        self.update_window(now, segment, agreed, timers);
        self.board.begin_ack();
        let mut ack = Acknowledgment::new(now, segment, agreed, self.board.outstanding());
        self.acknowledge(&mut ack);
        self.advance(&mut ack, timers);
        let sample = AckSample {
            now,
            acked: ack.acked.bytes,
            segments: ack.acked.segments,
            flight: ack.flight,
            rtt: ack.rtt,
            newest_rtt: ack.newest_rtt(),
            last_rtt: ack.last_rtt(),
            one_way: ack.one_way,
            number: ack.number,
            nxt: self.nxt,
            marked: Bytes::ZERO,
        };
        self.congestion.observe(&sample);
        if !sample.acked.is_zero() {
            self.congestion.on_ack(&sample);
        }
        self.start_retransmission_timer(self.rto_deadline(now), timers);
        if self.tail_probe.is_on() {
            self.schedule_tail_probe(now, true, timers);
        }
        self.note(now, Decision::Ack, "", ack.number, u32::try_from(sample.acked.0).unwrap_or(u32::MAX));
    }

    /// RFC 5681 §2: outstanding data, no data in the segment, no SYN or FIN, the same acknowledgment, the same window.
    /// The answers to probes of a closed window are like that too, and report no loss.
    fn is_duplicate(&self, segment: &Segment, agreed: &Agreed) -> bool {
        segment.ack == self.una
            && !self.board.is_empty()
            && self.persist.is_idle()
            && segment.payload.is_empty()
            && !segment.flags.intersects(Flags::SYN.with(Flags::FIN))
            && agreed.window(segment) == self.peer_window.size()
    }

    /// RFC 9293 §3.10.7.4: a newer segment brings the window; an older one must not.
    pub(crate) fn update_window(
        &mut self,
        now: Instant,
        segment: &Segment,
        agreed: &Agreed,
        timers: &mut Timers,
    ) {
        let window = agreed.window(segment);
        if !self.peer_window.update(window, segment.seq, segment.ack) {
            return;
        }
        if window.is_zero() {
            // RFC 9293 §3.8.6.1: a peer that answers with a closed window is there, and is not given up.
            self.rto.on_answer();
        }
        if !self.persist.is_idle() {
            self.on_probe_answer(now, timers);
        }
    }

    /// The peer answers a probe: if its window has opened, probing ends, and a probe that it has not taken in is sent
    /// again.
    #[cold]
    fn on_probe_answer(&mut self, now: Instant, timers: &mut Timers) {
        self.rto.on_answer();
        if self.peer_window.is_closed() {
            return;
        }
        self.stop_probing(timers);
        if !self.board.is_empty() {
            self.board.mark_lost(0, Cause::Probe);
            self.set_retransmission_timer(self.rto_from(now), timers);
        }
    }

    /// Enters the SACK blocks on the board; a block below the acknowledgment is a D-SACK and marks nothing.
    fn enter_sacks(&mut self, segment: &Segment, agreed: &Agreed) -> Bytes {
        self.board.begin_ack();
        if !agreed.sack {
            return Bytes::ZERO;
        }
        let in_flight = SeqRange { start: self.una, end: self.nxt };
        let blocks = segment.options.sack.as_slice().iter();
        blocks.filter(|block| in_flight.covers(**block)).map(|block| self.board.sack(*block)).sum()
    }

    /// A round-trip sample, by the echoed clock (RFC 7323 §4.1) or by a segment that was sent only once.
    pub(super) fn take_sample(&mut self, ack: &Acknowledgment) -> Option<Duration> {
        let now = ack.now;
        let echoed = ack.echo.and_then(|echo| echo.age(now)).map(|age| now - age);
        let sent = match self.config.plain.round_trip {
            RoundTrip::ByEcho => echoed.or(ack.acked.sample)?,
            RoundTrip::ByOldest => ack.acked.first_sample.or(echoed)?,
        };
        let cwnd = self.congestion.cwnd().whole(self.smss);
        self.rto.on_sample(&Sample { sent, now, cwnd, flight: ack.flight.whole(self.smss) });
        Some(now - sent)
    }

    /// Whether a mark that an ACK reports may reduce the window.
    pub(crate) fn may_reduce_for_mark(&self, ack: &Acknowledgment) -> bool {
        self.is_open() && !ack.flight.is_zero()
    }

    /// Whether congestion control itself decides how often marks reduce the window.
    pub(crate) const fn governs_marks(&self) -> bool {
        self.congestion_traits.governs_marks
    }

    /// Reports a congestion mark to congestion control; `first`: it is the first of a window of data.
    pub(crate) fn on_mark(&mut self, ack: &Acknowledgment, signal: CongestionSignal, first: bool) {
        let (cwnd, pipe) = (self.congestion.cwnd(), self.board.pipe());
        let event = CongestionEvent { now: ack.now, signal, cwnd, flight: ack.flight, pipe };
        self.congestion.on_mark(&event);
        let reduced = self.congestion.cwnd() < cwnd;
        if reduced || first {
            self.note(ack.now, Decision::Mark, "the peer echoes a congestion mark", ack.number, 0);
        }
        if reduced && !self.congestion_traits.governs_marks {
            self.recovery.on_mark(cwnd, self.nxt);
        }
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
        let mut actions = self.recovery.on_ack(judged, &mut self.board);
        if let WindowAction::Grow { acked } = &mut actions.window {
            // RFC 3168 §6.1.2: an ACK that echoes a mark opens no window; nor does the marked part of one that counts marks.
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

    /// Asks the detector what an ACK says of the last loss signal. If that was spurious, its reaction is undone; returns
    /// the extent of the reordering. `marked`: the ACK echoes a congestion mark.
    fn undo_spurious_signal(&mut self, ack: &AckEvent, marked: bool, timers: &mut Timers) -> Option<u32> {
        let initial = self.config.plain.initial_window.bytes(ack.smss);
        let state = self.spurious.on_ack(ack, &self.board, self.congestion.as_mut(), &mut self.rto)?;
        self.board.clear_lost();
        self.recovery.on_spurious();
        // RFC 4015 §3.1 step 9: nothing is restored on an ACK that echoes a congestion mark.
        if !marked {
            let outstanding = self.board.outstanding();
            self.spurious.restore(&state, ack, initial, outstanding, self.congestion.as_mut());
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
        let Some(account) = self.board.delivery_rate_mut() else { return };
        for lost in account.drain_lost() {
            self.congestion.on_segment_lost(&lost);
        }
        let rtt = ack.rtt.or_else(|| account.newest_rtt(ack.now));
        if let Some(rtt) = rtt {
            account.on_rtt(ack.now, rtt);
        }
        let (newly_delivered, rate) = account.on_ack(ack.now);
        let alone = ack.segments == 1 && ack.newly_sacked.is_zero() && ack.delivered == ack.acked;
        self.congestion.on_delivery(&DeliverySample {
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
        });
        if self.congestion.limits_itself() {
            account.on_application_limited(in_flight);
        }
    }
}

/// RFC 2883 §4: the first block, if it lies below the acknowledgment or inside the second one.
fn reported_twice(segment: &Segment) -> Option<SeqRange> {
    let blocks = segment.options.sack.as_slice();
    let first = *blocks.first()?;
    let below = first.end.at_or_before(segment.ack);
    let inside = blocks.get(1).is_some_and(|second| second.covers(first));
    (below || inside).then_some(first)
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
