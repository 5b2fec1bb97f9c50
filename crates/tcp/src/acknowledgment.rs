//! The ACK field of a segment (RFC 9293 §3.10.7.4, fifth): what it acknowledges, and what follows for the
//! window, the timer and the segments outstanding.

use units::{Bytes, Duration, Instant, SeqRange};
use wire::{Flags, Segment};

use crate::congestion::{CongestionEvent, CongestionSignal, Growth};
use crate::dupthresh::Reordering;
use crate::endpoint::Endpoint;
use crate::receiving::Wanted;
use crate::recovery::{Ack, Phase, Verdict};
use crate::rto::{Backoff, Sample};
use crate::scoreboard::Acked;
use crate::sending::Persist;
use crate::spurious::{Signal, SignalKind};
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
        let marked = self.react_to_echo(now, segment, flight);
        let acked = self.sending.board.acknowledge(segment.ack);
        let advances = segment.ack.after(self.sending.una);
        let rtt = if advances { self.on_advance(now, segment, &acked, flight) } else { None };
        let acked_bytes = acked.bytes;
        let news = Ack {
            advances,
            acked: acked_bytes,
            segments: acked.segments,
            newly_sacked,
            delivered: acked.newly + newly_sacked,
            duplicate,
            echo: self.agreed.echo(segment),
            dsack,
            rtt,
            ..self.no_news(now)
        };
        if self.state != State::Closed && !acked.syn {
            self.on_news(news, flight, marked);
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

    /// An ACK without any news: the state of things.
    pub(crate) fn no_news(&self, now: Instant) -> Ack {
        let sending = &self.sending;
        let dupthresh = sending.dup_threshold();
        Ack {
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
            cwnd: sending.congestion.cwnd(),
            ssthresh: sending.congestion.ssthresh(),
            advertised: sending.wnd,
            echo: None,
            dsack: None,
            srtt: sending.rto.estimate().map(|estimate| estimate.srtt),
            rtt: None,
        }
    }

    /// What an ACK means: for estimators, for the last loss signal, for recovery.
    fn on_news(&mut self, mut ack: Ack, flight: Bytes, marked: bool) {
        self.observe(&ack, flight);
        if let Some(extent) = self.undo_false_signal(&ack, marked) {
            self.sending.duplicates = 0;
            return self.on_reordering(extent, true);
        }
        ack.duplicate = ack.duplicate && !self.sending.spurious.excuses(&ack);
        self.count_duplicate(&ack);
        self.await_due_ack(&mut ack);
        let counted = self.sending.recovery.counted(flight, &self.sending.board);
        let event = self.congestion_event(ack.now, counted);
        let verdict = match self.sending.recovery.on_ack(&ack, &mut self.sending.board) {
            // RFC 3168 §6.1.2: no growth by an ACK that echoes a mark.
            Verdict::Ordinary if marked => Verdict::Hold { restart_timer: ack.advances },
            Verdict::Grow { restart_timer, .. } if marked => Verdict::Hold { restart_timer },
            verdict => verdict,
        };
        self.carry_out(verdict, &ack, flight, event);
        let event = if ack.duplicate { Decision::DuplicateAck } else { Decision::Ack };
        self.note(ack.now, event, "", ack.number, u32::try_from(ack.acked.0).unwrap_or(u32::MAX));
        self.hold_back(&ack);
    }

    fn observe(&mut self, ack: &Ack, flight: Bytes) {
        if ack.advances {
            self.sending.congestion.observe(&growth(ack, flight));
        }
    }

    /// How far the receiver's gap has been told of; once it is closed without a repair, it was reordering.
    fn count_duplicate(&mut self, ack: &Ack) {
        if ack.advances {
            self.on_gap_closed();
        } else if (ack.duplicate && ack.dsack.is_none()) || !ack.newly_sacked.is_zero() {
            if self.sending.duplicates == 0 {
                let sending = &mut self.sending;
                sending.at_first_duplicate = (sending.board.outstanding(), sending.to_come());
            }
            self.sending.duplicates += 1;
        }
    }

    fn on_gap_closed(&mut self) {
        let extent = std::mem::take(&mut self.sending.duplicates);
        if extent == 0 {
            return;
        }
        if self.sending.recovery.phase() == Phase::Open {
            self.on_reordering(extent, false);
        } else if let Some(before) = &mut self.sending.before_signal {
            before.extent = before.extent.max(extent);
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
            self.receiving.ack_wanted = Wanted::Now;
            return false;
        }
        let oldest = sending.una - u32::try_from(sending.greatest_wnd.0).unwrap_or(u32::MAX >> 1);
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
            && window == sending.wnd
    }

    /// RFC 9293 §3.10.7.4: a newer segment brings the window; an older one must not.
    pub(crate) fn update_window(&mut self, now: Instant, segment: &Segment) {
        let Self { sending, agreed, .. } = self;
        let newer = sending.wl1.before(segment.seq)
            || (sending.wl1 == segment.seq && sending.wl2.at_or_before(segment.ack));
        if !newer {
            return;
        }
        sending.wnd = Bytes(u64::from(segment.window) << agreed.send_shift);
        sending.greatest_wnd = sending.greatest_wnd.max(sending.wnd);
        sending.wl1 = segment.seq;
        sending.wl2 = segment.ack;
        if sending.wnd.is_zero() {
            // RFC 9293 §3.8.6.1: a peer that answers with a closed window is there, and is not given up.
            sending.expirations = 0;
        }
        self.leave_persist(now);
    }

    /// The peer answers: if its window has opened, probing is over, and a probe that it has not taken in
    /// is sent again.
    fn leave_persist(&mut self, now: Instant) {
        if self.sending.persist == Persist::Idle {
            return;
        }
        self.sending.expirations = 0;
        if self.sending.wnd.is_zero() {
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
        sending.expirations = 0;
        sending.stream_acked += acked.bytes;
        let rtt = self.take_sample(now, segment, acked, flight);
        let ends_backoff = match self.sending.rto.backoff() {
            // RFC 6298 §5, its last note.
            Backoff::UntilSample => rtt.is_some(),
            Backoff::UntilNewAck => true,
            Backoff::UntilNewData => segment.ack.after(self.sending.timed_out),
        };
        if ends_backoff {
            self.sending.backoff = 0;
        }
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

    /// What congestion control is told if a loss is found; `flight` is what a reduction goes by.
    pub(crate) fn congestion_event(&self, now: Instant, flight: Bytes) -> CongestionEvent {
        let (cwnd, pipe) = (self.sending.congestion.cwnd(), self.sending.board.pipe());
        CongestionEvent { now, signal: CongestionSignal::Loss, cwnd, flight, pipe }
    }

    /// Does what the recovery algorithm has found; `loss` is the state before it marked anything.
    pub(crate) fn carry_out(&mut self, verdict: Verdict, ack: &Ack, flight: Bytes, loss: CongestionEvent) {
        match verdict {
            Verdict::Ordinary if ack.advances => {
                self.sending.congestion.on_ack(&growth(ack, flight));
                self.restart_retransmission_timer(ack.now, true);
            }
            Verdict::Ordinary => {}
            Verdict::Hold { restart_timer } => self.restart_retransmission_timer(ack.now, restart_timer),
            Verdict::Loss => self.reduce(ack, &loss, "duplicate ACKs"),
            Verdict::LossUnder { window } => {
                self.reduce(
                    ack,
                    &CongestionEvent { cwnd: window, flight: window, ..loss },
                    "its time is over",
                );
            }
            Verdict::Collapse => {
                self.on_loss_found(ack, loss.flight);
                let signal = CongestionSignal::Timeout { repeated: false };
                self.sending.congestion.on_timeout(&CongestionEvent { signal, ..loss });
                self.note(ack.now, Decision::Collapse, "duplicate ACKs", ack.number, 0);
            }
            Verdict::Recovered { window } => {
                self.sending.congestion.on_recovery_exit(window);
                self.restart_retransmission_timer(ack.now, true);
                self.note(ack.now, Decision::Recovered, "", ack.number, 0);
            }
            Verdict::Grow { acked, restart_timer } => {
                self.grow(ack, acked, flight);
                self.restart_retransmission_timer(ack.now, restart_timer);
            }
            Verdict::Suspect { acked } => {
                self.grow(ack, acked, flight);
                self.sending.fast_retransmits += 1;
                self.note(ack.now, Decision::FastRetransmit, "to be corroborated", ack.number, 0);
            }
            Verdict::Confirmed { signal, window } => self.confirm(signal, window, ack, &loss),
            Verdict::Refuted { signal, window, acked } => {
                self.grow(ack, acked, flight);
                self.go_on(signal, ack, window);
            }
            Verdict::Timeout => self.on_retransmission_timeout(ack.now),
            Verdict::Resize { cwnd, ssthresh, reason } => {
                self.sending.congestion.on_restore(cwnd, ssthresh);
                self.restart_retransmission_timer(ack.now, true);
                self.note(ack.now, Decision::Resize, reason, ack.number, 0);
            }
        }
    }

    /// A loss was found: the window is reduced for fast recovery.
    fn reduce(&mut self, ack: &Ack, loss: &CongestionEvent, reason: &'static str) {
        self.on_loss_found(ack, loss.flight);
        self.sending.congestion.on_loss(loss);
        self.note(ack.now, Decision::FastRetransmit, reason, ack.number, 0);
    }

    /// A suspected loss was real: it is the window held meanwhile that is reduced.
    fn confirm(&mut self, signal: SignalKind, held: Bytes, ack: &Ack, loss: &CongestionEvent) {
        let congestion = &mut self.sending.congestion;
        congestion.on_restore(held, congestion.ssthresh());
        let loss = CongestionEvent { cwnd: held, ..*loss };
        match signal {
            SignalKind::FastRetransmit => congestion.on_loss(&loss),
            SignalKind::Timeout => {
                let signal = CongestionSignal::Timeout { repeated: false };
                congestion.on_timeout(&CongestionEvent { signal, ..loss });
            }
        }
        let window = congestion.cwnd() + ack.smss;
        congestion.on_recovery_exit(window);
        self.restart_retransmission_timer(ack.now, true);
        self.note(ack.now, Decision::Confirmed, signal.id(), ack.number, 0);
    }

    /// The window grows by data acknowledged in any place.
    fn grow(&mut self, ack: &Ack, acked: Bytes, flight: Bytes) {
        if !acked.is_zero() {
            self.sending.congestion.on_ack(&Growth { acked, ..growth(ack, flight) });
        }
    }

    /// Nothing was lost (Landström 2008 §4.5): cwnd = min(cwnd + 1, cwnd_aix), ssthresh = max(cwnd_aix,
    /// ssthresh), where cwnd_aix has grown unseen and is congestion control's by now. The threshold has whole
    /// segments as ever: else slow start, which goes by segments, would go past a fraction at each gap that closes.
    fn go_on(&mut self, signal: Option<SignalKind>, ack: &Ack, window: Bytes) {
        let congestion = &mut self.sending.congestion;
        let (unseen, ssthresh) = (congestion.cwnd(), congestion.ssthresh());
        let back_to = ack.smss * unseen.whole(ack.smss);
        congestion.on_restore((window + ack.smss).min(unseen), back_to.max(ssthresh));
        if signal == Some(SignalKind::Timeout) {
            self.sending.spurious_timeouts_found += 1;
        }
        self.restart_retransmission_timer(ack.now, true);
        self.note(ack.now, Decision::Refuted, signal.map_or("reordering", SignalKind::id), ack.number, 0);
    }

    /// A loss was found, not by the timer; called before the window is reduced.
    fn on_loss_found(&mut self, ack: &Ack, counted: Bytes) {
        self.sending.fast_retransmits += 1;
        // As most stacks do, and as RFC 6675 §6 allows: the retransmission gets a whole timer.
        self.set_retransmission_timer(self.sending.rto_from(ack.now));
        let outstanding = self.outstanding();
        let kind = SignalKind::FastRetransmit;
        self.remember_signal(&Signal { now: ack.now, kind, outstanding, again: false }, counted);
    }

    /// RFC 6298 §5.2 and §5.3. With nothing outstanding the timer stops in any case.
    fn restart_retransmission_timer(&mut self, now: Instant, restart: bool) {
        match self.sending.rto_deadline(now) {
            None => self.timers.clear(Timer::Retransmission),
            Some(deadline) if restart && self.sending.persist == Persist::Idle => {
                self.set_retransmission_timer(deadline);
            }
            Some(_) => {}
        }
    }

    /// Sets the retransmission timer, unless the recovery algorithm has timers of its own.
    pub(crate) fn set_retransmission_timer(&mut self, at: Instant) {
        if !self.sending.recovery.replaces_timer() {
            self.timers.set(Timer::Retransmission, at);
        }
    }
}

/// An ACK as congestion control sees it.
fn growth(ack: &Ack, flight: Bytes) -> Growth {
    let Ack { now, acked, segments, rtt, number, nxt, .. } = *ack;
    Growth { now, acked, segments, flight, rtt, number, nxt }
}
