//! The ACK field of a segment (RFC 9293 §3.10.7.4, fifth): what it acknowledges, and what follows for the
//! window, the timer and the segments outstanding.

use units::{Bytes, Duration, Instant, SeqRange};
use wire::{Flags, Segment};

use crate::congestion::AckSample;
use crate::dupthresh::Reordering;
use crate::endpoint::Endpoint;
use crate::receiving::AckDue;
use crate::recovery::{AckEvent, Actions, TimerAction, WindowAction};
use crate::rto::Sample;
use crate::scoreboard::Acked;
use crate::sending::Persist;
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
        let newly_sacked = self.enter_sacks(segment);
        let flight = self.sending.board.outstanding();
        let marked = self.agreed.ecn && self.react_to_echo(now, segment, flight);
        let acked = self.sending.board.acknowledge(segment.ack);
        let advances = segment.ack.after(self.sending.una);
        let rtt = if advances { self.on_advance(now, segment, &acked, flight) } else { None };
        let ack = AckEvent {
            advances,
            acked: acked.bytes,
            segments: acked.segments,
            newly_sacked,
            delivered: acked.newly + newly_sacked,
            duplicate,
            flight,
            echo: self.agreed.echo(segment),
            dsack,
            rtt,
            ..self.present(now)
        };
        if self.state != State::Closed && !acked.syn {
            self.on_ack(ack, marked);
        }
        self.state != State::Closed
    }

    /// Whether there is nothing that the ACK could tell of but the window: the half of header prediction that spares
    /// a mere receiver the work (V. Jacobson, 4BSD header prediction, 1990).
    fn awaits_nothing(&self, segment: &Segment) -> bool {
        self.sending.board.is_empty()
            && segment.ack == self.sending.una
            && segment.options.sack.as_slice().is_empty()
            && !segment.flags.contains(Flags::ECE)
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
            dsack: None,
            srtt: sending.rto.srtt(),
            rtt: None,
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
        if self.agreed.polls {
            self.await_due_ack(&mut ack);
        }
        let mut actions = self.sending.recovery.on_ack(&ack, &mut self.sending.board);
        if marked && matches!(actions.window, WindowAction::Grow { .. }) {
            // RFC 3168 §6.1.2: no growth by an ACK that echoes a mark.
            actions.window = WindowAction::Hold;
        }
        self.perform(actions, &ack);
        let event = if ack.duplicate { Decision::DuplicateAck } else { Decision::Ack };
        self.note(ack.now, event, "", ack.number, u32::try_from(ack.acked.0).unwrap_or(u32::MAX));
        if self.agreed.polls {
            self.hold_back(&ack);
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
        if !self.agreed.sack {
            return Bytes::ZERO;
        }
        let in_flight = SeqRange { start: sending.una, end: sending.nxt };
        let blocks = segment.options.sack.as_slice().iter();
        blocks.filter(|block| in_flight.covers(**block)).map(|block| sending.board.sack(*block)).sum()
    }

    /// SND.UNA advances; the round trip that was measured.
    fn on_advance(
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
        let sent = age.map(|age| now - age).or(acked.sample)?;
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
        let congestion = &mut self.sending.congestion;
        match action {
            WindowAction::Hold => {}
            WindowAction::Grow { acked } => self.grow(ack, acked),
            WindowAction::Reduce { event, held, plus } => {
                self.remember_signal(event.now, SignalKind::FastRetransmit, false, event.flight);
                self.sending.reduce(event, held, plus);
            }
            WindowAction::Exit { cwnd } => congestion.on_recovery_exit(cwnd),
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
    fn start_retransmission_timer(&mut self, deadline: Option<Instant>) {
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
            self.timers.set(Timer::Retransmission, at);
        }
    }
}

/// An ACK as congestion control sees it.
fn ack_sample(ack: &AckEvent) -> AckSample {
    let AckEvent { now, acked, segments, flight, rtt, number, nxt, .. } = *ack;
    AckSample { now, acked, segments, flight, rtt, number, nxt }
}
