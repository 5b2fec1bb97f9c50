//! Undoing the reaction to a spurious loss signal (RFC 4015): what was in use before the signal, and what is restored of
//! it once a detector of `spurious/` has found that nothing was lost.

use units::{Bytes, Duration, Instant, Seq, SeqRange};

use crate::Decision;
use crate::congestion::CongestionControl;
use crate::endpoint::Endpoint;
use crate::recovery::{AckEvent, Next, Room};
use crate::retransmission::RetransmissionTimer;
use crate::rto::Estimate;
use crate::scoreboard::Scoreboard;
use crate::spurious::{
    Judgement, Needs, Response, SendLimit, Signal, SignalKind, Spurious, without_evidence,
};
use crate::timers::Timer;
use registry::Choice;

/// The detector of spurious loss signals, and the state of the sender before the last signal.
#[derive(Debug)]
pub(crate) struct SpuriousDetection {
    detector: Box<dyn Spurious>,
    /// Whether it ever detects anything: most connections have none, and need not ask it at each segment.
    active: bool,
    pre_loss: Option<PreLossState>,
    rto_adaptation: Option<RtoAdaptation>,
}

/// The sender before a loss signal (RFC 4015 §3.1 step 0, and step 5).
#[derive(Clone, Copy, Debug)]
pub(crate) struct PreLossState {
    pub kind: SignalKind,
    /// What was outstanding.
    pub outstanding: SeqRange,
    pub cwnd: Bytes,
    pub ssthresh: Bytes,
    pub flight: Bytes,
    pub estimate: Option<Estimate>,
    /// Duplicate ACKs that told of the gap, once it is closed.
    pub extent: u32,
}

/// The timer is adapted by the first round trip of data sent after a spurious timeout (RFC 4015 §3.1 step 11).
#[derive(Clone, Copy, Debug)]
struct RtoAdaptation {
    /// SND.NXT at the timeout: data beyond it were sent later.
    recover: Seq,
    /// The estimate before the timeout.
    earlier: Estimate,
}

/// What a detector finds in an ACK.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Nothing that changes anything.
    Nothing,
    /// The loss was real; the congestion window is this after the probing that found it so.
    Genuine(Bytes),
    /// The last signal was spurious; the sender was in this state before it.
    Spurious(PreLossState),
}

impl SpuriousDetection {
    pub(crate) fn new(choice: &Choice<dyn Spurious>) -> Self {
        let active = choice.id() != crate::spurious::NONE;
        Self { detector: choice.build(), active, pre_loss: None, rto_adaptation: None }
    }

    /// What the detector cannot do without.
    pub(crate) fn needs(&self) -> Needs {
        self.detector.needs()
    }

    /// Whether it wants to see an ACK that tells of new data and of nothing else.
    #[inline]
    pub(crate) fn observes_advances(&self) -> bool {
        self.rto_adaptation.is_some() || (self.active && self.detector.observes_advances())
    }

    /// The peer does not give the evidence that the detector needs: every signal is believed.
    pub(crate) fn disable(&mut self) {
        self.detector = without_evidence();
        self.active = false;
    }

    /// A loss signal is believed; called before the window is reduced. A further signal without any progress belongs
    /// to the reaction that goes on.
    pub(crate) fn on_signal(&mut self, signal: &Signal, state: PreLossState) {
        self.detector.on_signal(signal);
        let una = state.outstanding.start;
        let first = self.pre_loss.filter(|earlier| earlier.outstanding.start == una);
        self.pre_loss = Some(match first {
            Some(earlier) if signal.kind == SignalKind::FastRetransmit => earlier,
            Some(earlier) => PreLossState { kind: SignalKind::Timeout, ..earlier },
            None => state,
        });
    }

    /// A segment was sent again.
    pub(crate) fn on_retransmitted(&mut self, now: Instant, range: SeqRange) {
        if self.active {
            self.detector.on_retransmitted(now, range);
        }
    }

    /// A new segment was sent.
    #[inline]
    pub(crate) fn on_new(&mut self, len: Bytes) {
        if self.active {
            self.detector.on_new(len);
        }
    }

    /// A gap that `duplicates` have told of is closed while a loss is being repaired.
    pub(crate) fn on_gap_closed(&mut self, duplicates: u32) {
        if let Some(state) = &mut self.pre_loss {
            state.extent = state.extent.max(duplicates);
        }
    }

    /// An ACK came and is entered on the board.
    #[inline]
    pub(crate) fn on_ack(&mut self, ack: &AckEvent, board: &Scoreboard) -> Verdict {
        if self.active { self.judge(ack, board) } else { Verdict::Nothing }
    }

    fn judge(&mut self, ack: &AckEvent, board: &Scoreboard) -> Verdict {
        match self.detector.on_ack(ack, board) {
            Judgement::Undecided => Verdict::Nothing,
            Judgement::Spurious => self.pre_loss.take().map_or(Verdict::Nothing, Verdict::Spurious),
            Judgement::Genuine => {
                self.pre_loss = None;
                Verdict::Nothing
            }
            Judgement::GenuineWithin(window) => {
                self.pre_loss = None;
                Verdict::Genuine(window)
            }
        }
    }

    /// Whether a duplicate ACK answers a needless retransmission, and so tells of no loss.
    #[inline]
    pub(crate) fn explains_duplicate(&self, ack: &AckEvent) -> bool {
        self.active && self.detector.explains_duplicate(ack)
    }

    /// What the detector wants sent while it waits for its answer, if it limits that.
    #[inline]
    pub(crate) fn next(&mut self, room: &Room) -> Option<Next> {
        if self.active { self.limited(room) } else { None }
    }

    fn limited(&mut self, room: &Room) -> Option<Next> {
        if self.detector.send_limit() == SendLimit::NewData && room.new.is_none() {
            self.detector.on_no_new_data();
        }
        match self.detector.send_limit() {
            SendLimit::None => None,
            SendLimit::NewData => Some(Next::New),
            SendLimit::Nothing => Some(Next::Nothing),
        }
    }

    /// The timer is to be adapted after a spurious timeout.
    fn adapt_rto_later(&mut self, state: &PreLossState) {
        if self.detector.response() == Response::Eifel {
            let recover = state.outstanding.end;
            self.rto_adaptation = state.estimate.map(|earlier| RtoAdaptation { recover, earlier });
        }
    }

    /// RFC 4015 §3.1 step 11: the first round trip of data that were sent after the timeout.
    fn adapt_rto(&mut self, number: Seq, rtt: Option<Duration>, rto: &mut RetransmissionTimer) {
        let (Some(adaptation), Some(rtt)) = (self.rto_adaptation, rtt) else { return };
        if number.after(adaptation.recover) {
            rto.on_spurious_timeout(rtt, adaptation.earlier);
            self.rto_adaptation = None;
        }
    }
}

impl PreLossState {
    /// Restores both windows as far as `response` says. `initial` is the first window of a connection, `outstanding`
    /// the FlightSize now.
    fn restore(
        &self,
        response: Response,
        ack: &AckEvent,
        initial: Bytes,
        outstanding: Bytes,
        congestion: &mut dyn CongestionControl,
    ) {
        let (cwnd, ssthresh) = match response {
            Response::Eifel => {
                // RFC 4015 §3.1 step 9: no more than was acknowledged, or a first window, at once.
                let burst = outstanding + ack.acked.min(initial);
                // After a late verdict, by a duplicate, there is nothing that a burst could come of.
                let cwnd = if ack.advances { burst } else { burst.max(congestion.cwnd()) };
                let infinite = self.ssthresh == Bytes::MAX;
                let ssthresh = if infinite { Bytes::MAX } else { self.flight.max(self.ssthresh) };
                (cwnd.max(ack.smss), ssthresh)
            }
            Response::Undo => (self.cwnd.max(congestion.cwnd()), self.ssthresh.max(congestion.ssthresh())),
            Response::Resume => return,
        };
        congestion.on_restore(cwnd, ssthresh);
        // Step 10.
        congestion.reset_idle_time(ack.now);
    }
}

impl Endpoint {
    /// A loss signal is believed; called before the window is reduced, with the flight that the reduction goes by.
    pub(crate) fn remember_signal(&mut self, now: Instant, kind: SignalKind, again: bool, flight: Bytes) {
        let sending = &mut self.sending;
        let outstanding = SeqRange { start: sending.una, end: sending.nxt };
        let (cwnd, ssthresh) = (sending.congestion.cwnd(), sending.congestion.ssthresh());
        let estimate = sending.rto.estimate();
        let state = PreLossState { kind, outstanding, cwnd, ssthresh, flight, estimate, extent: 0 };
        sending.spurious.on_signal(&Signal { now, kind, outstanding, again }, state);
    }

    /// Asks the detector what an ACK says of the last loss signal. If that was spurious, its reaction is undone; returns
    /// how far the reordering went. `marked`: whether the ACK echoes a congestion mark.
    pub(crate) fn undo_spurious_signal(&mut self, ack: &AckEvent, marked: bool) -> Option<u32> {
        let sending = &mut self.sending;
        sending.spurious.adapt_rto(ack.number, ack.rtt, &mut sending.rto);
        let state = match sending.spurious.on_ack(ack, &sending.board) {
            Verdict::Nothing => return None,
            Verdict::Genuine(window) => {
                sending.congestion.on_restore(window, sending.congestion.ssthresh());
                return None;
            }
            Verdict::Spurious(state) => state,
        };
        sending.board.clear_lost();
        sending.recovery.on_spurious();
        // RFC 4015 §3.1 step 9: nothing is restored on an ACK that echoes a congestion mark.
        if !marked {
            let initial = self.config.plain.initial_window.bytes(ack.smss);
            let response = sending.spurious.detector.response();
            let outstanding = sending.board.outstanding();
            state.restore(response, ack, initial, outstanding, sending.congestion.as_mut());
        }
        self.resume_after_undo(&state, ack);
        Some(state.extent.max(self.sending.duplicates.count()))
    }

    fn resume_after_undo(&mut self, state: &PreLossState, ack: &AckEvent) {
        if state.kind == SignalKind::Timeout {
            self.sending.rto.end_backoff();
            self.sending.spurious.adapt_rto_later(state);
        }
        if let Some(deadline) = self.sending.rto_deadline(ack.now) {
            self.set_retransmission_timer(deadline);
        } else {
            self.timers.clear(Timer::Retransmission);
        }
        self.note(ack.now, Decision::Undo, state.kind.id(), ack.number, 0);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use units::Seq;

    use super::*;

    const SMSS: Bytes = Bytes(1000);

    fn reno(segments: u64) -> Box<dyn CongestionControl> {
        let entry = crate::congestion::ENTRIES.iter().find(|entry| entry.id == "reno").expect("it is listed");
        let mut congestion = entry.choice(json!({})).expect("defaults do").build();
        congestion.start(SMSS, SMSS * segments);
        congestion
    }

    fn state(ssthresh: Bytes) -> PreLossState {
        let outstanding = SeqRange::new(Seq(1), 10_000);
        let kind = SignalKind::Timeout;
        PreLossState {
            kind,
            outstanding,
            cwnd: SMSS * 10,
            ssthresh,
            flight: SMSS * 10,
            estimate: None,
            extent: 0,
        }
    }

    fn ack(acked: Bytes, advances: bool) -> AckEvent {
        AckEvent { acked, advances, smss: SMSS, ..AckEvent::default() }
    }

    #[test]
    fn the_eifel_response_restores_the_threshold_and_lets_out_no_burst() {
        let mut congestion = reno(1);
        state(SMSS * 6).restore(Response::Eifel, &ack(SMSS * 9, true), SMSS * 2, SMSS, congestion.as_mut());
        assert_eq!((congestion.cwnd(), congestion.ssthresh()), (SMSS * 3, SMSS * 10));
    }

    #[test]
    fn a_threshold_that_was_infinite_is_infinite_again() {
        let mut congestion = reno(1);
        state(Bytes::MAX).restore(Response::Eifel, &ack(SMSS, true), SMSS * 2, SMSS * 4, congestion.as_mut());
        assert_eq!((congestion.cwnd(), congestion.ssthresh()), (SMSS * 5, Bytes::MAX));
    }

    #[test]
    fn a_verdict_by_a_duplicate_leaves_a_larger_window() {
        let mut congestion = reno(7);
        state(SMSS * 6).restore(
            Response::Eifel,
            &ack(Bytes::ZERO, false),
            SMSS * 2,
            SMSS,
            congestion.as_mut(),
        );
        assert_eq!(congestion.cwnd(), SMSS * 7);
    }

    #[test]
    fn undo_restores_both_windows_and_resume_none() {
        for (response, cwnd) in [(Response::Undo, 10), (Response::Resume, 1)] {
            let mut congestion = reno(1);
            state(SMSS * 6).restore(response, &ack(SMSS, true), SMSS * 2, SMSS, congestion.as_mut());
            assert_eq!(congestion.cwnd(), SMSS * cwnd, "{response:?}");
        }
    }
}
