//! The ACK field of a segment (RFC 9293 §3.10.7.4, fifth): what it acknowledges, and what follows for the
//! window, the timer and the segments outstanding.

use units::{Bytes, Duration, Instant, SeqRange};
use wire::{Flags, Segment};

use crate::config::RoundTrip;
use crate::congestion::{AckSample, DeliverySample, LossPhase};
use crate::dupthresh::Reordering;
use crate::ecn::EcnFeedback;
use crate::endpoint::Endpoint;
use crate::receive_half::AckDue;
use crate::recovery::{AckEvent, Actions, RecoveryState, TimerAction, WindowAction};
use crate::rto::Sample;
use crate::scoreboard::Acked;
use crate::send_half::Persist;
use crate::spurious::SignalKind;
use crate::state::State;
use crate::timers::Timer;
use crate::{Cause, Decision};

impl Endpoint {
    /// Step 5, the ACK field; whether the rest of the segment counts.
    pub(crate) fn on_acknowledgment(&mut self, now: Instant, segment: &Segment) -> bool {
        if !self.ack_is_valid(now, segment) {
            return false;
        }
        if segment.ack.before(self.sending.una) {
            return true;
        }
        if self.awaits_nothing(segment) {
            self.update_window(now, segment);
            return true;
        }
        let duplicate = self.is_duplicate_ack(segment);
        self.update_window(now, segment);
        let dsack = self.reported_twice(segment);
        let prior_in_flight = self.in_flight_for_deliveries();
        let newly_sacked = self.enter_sacks(segment);
        let flight = self.sending.board.outstanding();
        let echoed = self.agreed.ecn == EcnFeedback::Classic && self.react_to_echo(now, segment, flight);
        let acked = self.sending.board.acknowledge(segment.ack);
        let advances = segment.ack.after(self.sending.una);
        let marked = match self.agreed.ecn {
            EcnFeedback::Absent => Bytes::ZERO,
            // RFC 8257 §3.3: an echo is about all that its ACK acknowledges.
            EcnFeedback::Classic if echoed => acked.bytes.max(acked.newly + newly_sacked),
            EcnFeedback::Classic => Bytes::ZERO,
            EcnFeedback::Accurate => {
                self.take_marks(now, segment, (&acked, newly_sacked), (advances, flight))
            }
        };
        let rtt = if advances { self.on_advance(now, segment, &acked, flight) } else { None };
        let delivered = acked.newly + newly_sacked;
        let ack = AckEvent {
            advances,
            acked: acked.bytes,
            segments: acked.segments,
            newly_sacked,
            delivered,
            duplicate,
            flight,
            echo: self.agreed.echo(segment),
            one_way: self.agreed.one_way(segment),
            dsack,
            rtt,
            newest_rtt: acked.newest_sample.map(|sent| now - sent).or(rtt),
            last_rtt: acked.last_sample.map(|sent| now - sent),
            marked,
            ..self.present(now)
        };
        if self.state != State::Closed && !(acked.syn && acked.bytes.is_zero()) {
            self.on_ack(ack, echoed || !marked.is_zero());
            if let Some(prior_in_flight) = prior_in_flight {
                self.tell_delivery(&ack, prior_in_flight);
            }
        }
        self.state != State::Closed
    }

    /// What is in the network before an ACK, where congestion control wants to know what it delivers.
    fn in_flight_for_deliveries(&self) -> Option<Bytes> {
        let sending = &self.sending;
        sending.congestion_traits.observes_deliveries.then(|| sending.recovery.pipe(&sending.board))
    }

    /// Tells congestion control what an ACK has delivered and what is lost, once recovery has judged it.
    fn tell_delivery(&mut self, ack: &AckEvent, prior_in_flight: Bytes) {
        let sending = &mut self.sending;
        let in_flight = sending.recovery.pipe(&sending.board);
        let phase = match sending.recovery.state() {
            RecoveryState::Open => LossPhase::Open,
            RecoveryState::FastRecovery { .. } => LossPhase::FastRecovery,
            RecoveryState::AfterTimeout { .. } => LossPhase::AfterTimeout,
        };
        let Some(account) = sending.board.delivery_rate_mut() else { return };
        for lost in account.drain_lost() {
            sending.congestion.on_segment_lost(&lost);
        }
        let rtt = ack.rtt.or_else(|| account.newest_rtt(ack.now));
        if let Some(rtt) = rtt {
            account.on_rtt(ack.now, rtt);
        }
        let (newly_delivered, rate) = account.on_ack(ack.now);
        let alone = ack.segments == 1 && ack.newly_sacked.is_zero() && ack.delivered == ack.acked;
        sending.congestion.on_delivery(&DeliverySample {
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
        if sending.congestion.limits_itself() {
            account.on_application_limited(in_flight);
        }
    }

    /// Whether there is nothing that the ACK could tell of but the window: the half of header prediction that spares
    /// a mere receiver the work (V. Jacobson, 4BSD header prediction, 1990).
    fn awaits_nothing(&self, segment: &Segment) -> bool {
        self.sending.board.is_empty()
            && segment.ack == self.sending.una
            && segment.options.sack.as_slice().is_empty()
            && (self.agreed.ecn == EcnFeedback::Accurate || !segment.flags.contains(Flags::ECE))
    }

    /// The state of things, as an event that acknowledges nothing.
    pub(crate) fn present(&self, now: Instant) -> AckEvent {
        let sending = &self.sending;
        let dupthresh = sending.dup_threshold();
        AckEvent {
            now,
            number: sending.una,
            advances: false,
            acked: Bytes::ZERO,
            segments: 0,
            sack: self.agreed.sack,
            newly_sacked: Bytes::ZERO,
            delivered: Bytes::ZERO,
            duplicate: false,
            nxt: sending.nxt,
            dupthresh,
            extended: sending.fixed_threshold.is_none().then_some(dupthresh),
            smss: sending.smss,
            flight: sending.board.outstanding(),
            pipe: sending.board.pipe(),
            cwnd: sending.congestion.cwnd(),
            ssthresh: sending.congestion.ssthresh(),
            advertised: sending.peer_window.size(),
            echo: None,
            one_way: None,
            dsack: None,
            srtt: sending.rto.srtt(),
            min_rtt: sending.rto.min_rtt(),
            rtt: None,
            newest_rtt: None,
            last_rtt: None,
            marked: Bytes::ZERO,
        }
    }

    /// What an ACK means: for estimators, for the last loss signal, for recovery. `marked`: it echoes a congestion mark.
    fn on_ack(&mut self, mut ack: AckEvent, marked: bool) {
        if ack.advances {
            self.sending.congestion.observe(&ack_sample(&ack));
        }
        if let Some(extent) = self.undo_spurious_signal(&ack, marked) {
            self.sending.duplicates.clear();
            return self.on_reordering(extent, true);
        }
        ack.duplicate = ack.duplicate && !self.sending.spurious.explains_duplicate(&ack);
        self.count_duplicate(&ack);
        if self.sending.fixed_threshold.is_none() {
            self.measure_reordering();
        }
        if self.agreed.polls {
            self.await_due_ack(&mut ack);
        }
        let mut actions = self.sending.recovery.on_ack(&ack, &mut self.sending.board);
        if let WindowAction::Grow { acked } = &mut actions.window {
            // RFC 3168 §6.1.2: no growth by an ACK that echoes a mark; nor by the marked part of one that counts marks.
            *acked = acked.saturating_sub(ack.marked);
        }
        self.perform(actions, &ack);
        if self.sending.tail_probe.is_on() {
            self.judge_tail_probe(&ack);
        }
        let event = if ack.duplicate { Decision::DuplicateAck } else { Decision::Ack };
        self.note(ack.now, event, "", ack.number, u32::try_from(ack.acked.0).unwrap_or(u32::MAX));
        if self.agreed.polls {
            self.hold_back(&ack);
        }
    }

    /// Tells a threshold that may grow how far a segment was overtaken.
    fn measure_reordering(&mut self) {
        let sending = &mut self.sending;
        let delivered = sending.board.delivered();
        if let (Some(late), Some(highest)) = (delivered.overtaken(), delivered.fack) {
            let distance = u64::from(highest.since(late.start)).div_ceil(sending.smss.0);
            sending.dupthresh.on_overtaken(u32::try_from(distance).unwrap_or(u32::MAX));
        }
    }

    /// Counts the ACKs that tell of a gap; a gap that is closed without a repair was reordering.
    fn count_duplicate(&mut self, ack: &AckEvent) {
        if ack.advances {
            self.on_gap_closed();
        } else if (ack.duplicate && ack.dsack.is_none()) || !ack.newly_sacked.is_zero() {
            let (flight, unsent) = (self.sending.board.outstanding(), self.sending.unsent());
            self.sending.duplicates.count_one(flight, unsent);
        }
    }

    fn on_gap_closed(&mut self) {
        let extent = self.sending.duplicates.clear();
        if extent == 0 {
            return;
        }
        if self.sending.is_open() {
            self.on_reordering(extent, false);
        } else {
            self.sending.spurious.on_gap_closed(extent);
        }
    }

    fn on_reordering(&mut self, extent: u32, retransmitted: bool) {
        if extent > 0 {
            let reordering = Reordering { extent, retransmitted, view: self.sending.view() };
            self.sending.dupthresh.on_reordering(&reordering);
        }
    }

    /// RFC 9293 §3.10.7.4 and RFC 5961 §5: an ACK of what we never sent, or of very long ago, is answered
    /// and its segment dropped.
    fn ack_is_valid(&mut self, now: Instant, segment: &Segment) -> bool {
        let sending = &self.sending;
        let unacknowledged = SeqRange { start: sending.una, end: sending.nxt };
        if self.state == State::SynReceived && !unacknowledged.contains(segment.ack - 1) {
            self.refuse(segment);
            return false;
        }
        if segment.ack.after(sending.nxt) {
            self.receiving.ack_due = AckDue::Now;
            return false;
        }
        let oldest = sending.una - u32::try_from(sending.peer_window.greatest().0).unwrap_or(u32::MAX >> 1);
        if segment.ack.before(oldest) {
            self.challenge(now);
            return false;
        }
        true
    }

    /// RFC 5681 §2: outstanding data, no data in the segment, no SYN or FIN, the same acknowledgment, the
    /// same window. The answers to probes of a closed window are like that too, and tell of no loss.
    fn is_duplicate_ack(&self, segment: &Segment) -> bool {
        let sending = &self.sending;
        let window = Bytes(u64::from(segment.window) << self.agreed.send_shift);
        segment.ack == sending.una
            && !sending.board.is_empty()
            && sending.persist == Persist::Idle
            && segment.payload.is_empty()
            && !segment.flags.intersects(Flags::SYN.with(Flags::FIN))
            && window == sending.peer_window.size()
    }

    /// RFC 9293 §3.10.7.4: a newer segment brings the window; an older one must not.
    pub(crate) fn update_window(&mut self, now: Instant, segment: &Segment) {
        let Self { sending, agreed, .. } = self;
        let window = Bytes(u64::from(segment.window) << agreed.send_shift);
        if !sending.peer_window.update(window, segment.seq, segment.ack) {
            return;
        }
        if window.is_zero() {
            // RFC 9293 §3.8.6.1: a peer that answers with a closed window is there, and is not given up.
            sending.rto.on_answer();
        }
        self.leave_persist(now);
    }

    /// The peer answers: if its window has opened, probing is over, and a probe that it has not taken in
    /// is sent again.
    fn leave_persist(&mut self, now: Instant) {
        if self.sending.persist == Persist::Idle {
            return;
        }
        self.sending.rto.on_answer();
        if self.sending.peer_window.is_closed() {
            return;
        }
        self.stop_probing();
        if !self.sending.board.is_empty() {
            self.sending.board.mark_lost(0, Cause::Probe);
            self.set_retransmission_timer(self.sending.rto_from(now));
        }
    }

    pub(crate) fn stop_probing(&mut self) {
        self.sending.persist = Persist::Idle;
        self.sending.user_timeout.probing_since = None;
        self.sending.user_timeout.device_refuses = false;
        self.timers.clear(Timer::Persist);
    }

    /// RFC 2883 §4: the first block, if it lies below the acknowledgment or inside the second one.
    fn reported_twice(&self, segment: &Segment) -> Option<SeqRange> {
        let blocks = segment.options.sack.as_slice();
        let first = *blocks.first().filter(|_| self.agreed.sack)?;
        let below = first.end.at_or_before(segment.ack);
        let inside = blocks.get(1).is_some_and(|second| second.covers(first));
        (below || inside).then_some(first)
    }

    /// Enters the SACK blocks on the board; a block below the acknowledgment is a D-SACK and marks nothing.
    fn enter_sacks(&mut self, segment: &Segment) -> Bytes {
        let sending = &mut self.sending;
        sending.board.begin_ack();
        if !self.agreed.sack {
            return Bytes::ZERO;
        }
        let in_flight = SeqRange { start: sending.una, end: sending.nxt };
        let blocks = segment.options.sack.as_slice().iter();
        blocks.filter(|block| in_flight.covers(**block)).map(|block| sending.board.sack(*block)).sum()
    }

    /// SND.UNA advances; the round trip that was measured.
    pub(crate) fn on_advance(
        &mut self,
        now: Instant,
        segment: &Segment,
        acked: &Acked,
        flight: Bytes,
    ) -> Option<Duration> {
        let sending = &mut self.sending;
        sending.una = segment.ack;
        sending.stream_acked += acked.bytes;
        let rtt = self.take_sample(now, segment, acked, flight);
        self.sending.rto.on_new_ack(segment.ack, rtt.is_some());
        if self.sending.has_nothing_left() {
            self.stop_probing();
        }
        if acked.syn {
            self.establish(now);
        }
        if acked.fin {
            self.on_fin_acked(now);
        }
        rtt
    }

    /// A round-trip sample, by the echoed clock (RFC 7323 §4.1) or by a segment that was sent only once.
    pub(crate) fn take_sample(
        &mut self,
        now: Instant,
        segment: &Segment,
        acked: &Acked,
        flight: Bytes,
    ) -> Option<Duration> {
        let age = self.agreed.echo(segment).and_then(|echo| echo.age(now));
        let echoed = age.map(|age| now - age);
        let sent = match self.config.plain.round_trip {
            RoundTrip::ByEcho => echoed.or(acked.sample)?,
            RoundTrip::ByOldest => acked.first_sample.or(echoed)?,
        };
        let sending = &mut self.sending;
        let cwnd = sending.congestion.cwnd().whole(sending.smss);
        sending.rto.on_sample(&Sample { sent, now, cwnd, flight: flight.whole(sending.smss) });
        Some(now - sent)
    }

    /// Does what recovery asks for.
    pub(crate) fn perform(&mut self, actions: Actions, ack: &AckEvent) {
        let Actions { window, timer, finding } = actions;
        self.sending.fast_retransmits += u64::from(finding.begins_repair());
        self.change_window(window, ack);
        match timer {
            TimerAction::Leave => {}
            TimerAction::Restart => self.start_retransmission_timer(self.sending.rto_deadline(ack.now)),
            TimerAction::RestartFromOldest => {
                self.start_retransmission_timer(self.sending.rto_from_oldest(ack.now));
            }
            TimerAction::StartWhole => self.set_retransmission_timer(self.sending.rto_from(ack.now)),
            TimerAction::Expire => self.on_retransmission_timeout(ack.now),
        }
        if let Some((decision, reason)) = finding.decision() {
            self.note(ack.now, decision, reason, ack.number, 0);
        }
    }

    fn change_window(&mut self, action: WindowAction, ack: &AckEvent) {
        let governs = self.sending.congestion_traits.governs_recovery;
        let congestion = &mut self.sending.congestion;
        match action {
            WindowAction::Hold => {}
            WindowAction::Grow { acked } => self.grow(ack, acked),
            WindowAction::Reduce { event, held, plus } => {
                self.remember_signal(event.now, SignalKind::FastRetransmit, false, event.flight);
                self.sending.reduce(event, held, plus);
            }
            WindowAction::Exit { cwnd } => congestion.on_recovery_exit(cwnd),
            WindowAction::Set { .. } | WindowAction::SlowStartFrom { .. } if governs => {}
            WindowAction::Set { cwnd, ssthresh } => congestion.on_restore(cwnd, ssthresh),
            WindowAction::SlowStartFrom { cwnd, acked } => {
                self.grow(ack, acked);
                self.sending.slow_start_from(cwnd);
            }
        }
    }

    /// The window grows by data acknowledged in any place.
    fn grow(&mut self, ack: &AckEvent, acked: Bytes) {
        if !acked.is_zero() {
            self.sending.congestion.on_ack(&AckSample { acked, ..ack_sample(ack) });
        }
    }

    /// RFC 6298 §5.2 and §5.3. With nothing outstanding there is no `deadline`, and the timer stops.
    pub(crate) fn start_retransmission_timer(&mut self, deadline: Option<Instant>) {
        match deadline {
            None => self.timers.clear(Timer::Retransmission),
            Some(deadline) if self.sending.persist == Persist::Idle => {
                self.set_retransmission_timer(deadline);
            }
            Some(_) => {}
        }
    }

    /// Sets the retransmission timer, unless the recovery algorithm has timers of its own.
    pub(crate) fn set_retransmission_timer(&mut self, at: Instant) {
        if !self.sending.has_own_timer {
            self.sending.tail_probe.disarm();
            self.timers.set(Timer::Retransmission, at);
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
