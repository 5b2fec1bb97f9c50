//! Undoing the reaction to a spurious loss signal (RFC 4015): the state of the sender before the signal, and what is
//! restored of it once a detector of `spurious/` has found that nothing was lost.

use registry::Choice;
use units::{Bytes, Duration, Instant, Seq, SeqRange};

use super::retransmission::RetransmissionTimer;
use crate::congestion::CongestionControl;
use crate::recovery::{AckEvent, Next, Room};
use crate::rto::Estimate;
use crate::scoreboard::Scoreboard;
use crate::spurious::{
    Judgement, Needs, Response, SendLimit, Signal, SignalKind, Spurious, without_evidence,
};

/// The detector of spurious loss signals, and the state of the sender before the last signal.
#[derive(Debug)]
pub(super) struct SpuriousDetection {
    detector: Box<dyn Spurious>,
    /// Whether it ever detects anything: most connections have none, and need not ask it at each segment.
    active: bool,
    pre_loss: Option<PreLossState>,
    rto_adaptation: Option<RtoAdaptation>,
}

/// The sender before a loss signal (RFC 4015 §3.1 step 0, and step 5).
#[derive(Clone, Copy, Debug)]
pub(super) struct PreLossState {
    kind: SignalKind,
    /// The sequence numbers that were outstanding.
    outstanding: SeqRange,
    cwnd: Bytes,
    ssthresh: Bytes,
    flight: Bytes,
    estimate: Option<Estimate>,
    /// Number of duplicate ACKs that reported the gap, once it is closed.
    extent: u32,
}

/// The timer is adapted by the first round trip of data sent after a spurious timeout (RFC 4015 §3.1 step 11).
#[derive(Clone, Copy, Debug)]
struct RtoAdaptation {
    /// SND.NXT at the timeout: data beyond it were sent later.
    recover: Seq,
    /// The estimate before the timeout.
    earlier: Estimate,
}

impl SpuriousDetection {
    pub(super) fn new(choice: &Choice<dyn Spurious>) -> Self {
        let active = choice.id() != crate::spurious::NONE;
        Self { detector: choice.build(), active, pre_loss: None, rto_adaptation: None }
    }

    /// Requirement of the detector.
    pub(super) fn needs(&self) -> Needs {
        self.detector.needs()
    }

    /// Whether it wants to see an ACK of new data that reports nothing else.
    #[inline]
    pub(super) fn observes_advances(&self) -> bool {
        self.rto_adaptation.is_some() || (self.active && self.detector.observes_advances())
    }

    /// The peer does not give the evidence that the detector needs: every signal is believed.
    pub(super) fn disable(&mut self) {
        self.detector = without_evidence();
        self.active = false;
    }

    /// A loss signal is believed; called before the window is reduced. A further signal without any progress belongs to
    /// the reaction that is under way.
    pub(super) fn on_signal(&mut self, signal: &Signal, before: PreLossState) {
        self.detector.on_signal(signal);
        let una = signal.outstanding.start;
        let first = self.pre_loss.filter(|earlier| earlier.outstanding.start == una);
        self.pre_loss = Some(match first {
            Some(earlier) if signal.kind == SignalKind::FastRetransmit => earlier,
            Some(earlier) => PreLossState { kind: SignalKind::Timeout, ..earlier },
            None => before,
        });
    }

    /// A segment was sent again.
    pub(super) fn on_retransmitted(&mut self, now: Instant, range: SeqRange) {
        if self.active {
            self.detector.on_retransmitted(now, range);
        }
    }

    /// A new segment was sent.
    #[inline]
    pub(super) fn on_new(&mut self, len: Bytes) {
        if self.active {
            self.detector.on_new(len);
        }
    }

    /// A gap that `duplicates` have reported is closed while a loss is being repaired.
    pub(super) fn on_gap_closed(&mut self, duplicates: u32) {
        if let Some(state) = &mut self.pre_loss {
            state.extent = state.extent.max(duplicates);
        }
    }

    /// An ACK has arrived and is entered on the board. If it shows that the last signal was spurious, returns the state
    /// before the signal.
    #[inline]
    pub(super) fn on_ack(
        &mut self,
        ack: &AckEvent,
        board: &Scoreboard,
        congestion: &mut dyn CongestionControl,
        rto: &mut RetransmissionTimer,
    ) -> Option<PreLossState> {
        self.adapt_rto(ack.number, ack.rtt, rto);
        if self.active { self.judge(ack, board, congestion) } else { None }
    }

    fn judge(
        &mut self,
        ack: &AckEvent,
        board: &Scoreboard,
        congestion: &mut dyn CongestionControl,
    ) -> Option<PreLossState> {
        let judgement = self.detector.on_ack(ack, board);
        if judgement == Judgement::Undecided {
            return None;
        }
        let before = self.pre_loss.take();
        if let Judgement::GenuineWithin(window) = judgement {
            congestion.on_restore(window, congestion.ssthresh());
        }
        before.filter(|_| judgement == Judgement::Spurious)
    }

    /// Whether a duplicate ACK answers a needless retransmission, and so reports no loss.
    #[inline]
    pub(super) fn explains_duplicate(&self, ack: &AckEvent) -> bool {
        self.active && self.detector.explains_duplicate(ack)
    }

    /// Data that the detector permits while it waits for its answer, if it limits them.
    #[inline]
    pub(super) fn next(&mut self, room: &Room) -> Option<Next> {
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

    /// Restores both windows as far as the detector's response permits. `initial` is the first window of a connection,
    /// `outstanding` the present FlightSize. Returns whether it permits that at all.
    pub(super) fn restore(
        &self,
        before: &PreLossState,
        ack: &AckEvent,
        initial: Bytes,
        outstanding: Bytes,
        congestion: &mut dyn CongestionControl,
    ) -> bool {
        before.restore(self.detector.response(), ack, initial, outstanding, congestion)
    }

    /// The timer is to be adapted after a spurious timeout.
    pub(super) fn adapt_rto_later(&mut self, state: &PreLossState) {
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
    /// The state before a signal of `kind`, with data `outstanding`; `flight` is what a reduction is based on.
    pub(super) fn new(
        kind: SignalKind,
        outstanding: SeqRange,
        flight: Bytes,
        congestion: &dyn CongestionControl,
        estimate: Option<Estimate>,
    ) -> Self {
        let (cwnd, ssthresh) = (congestion.cwnd(), congestion.ssthresh());
        Self { kind, outstanding, cwnd, ssthresh, flight, estimate, extent: 0 }
    }

    /// The signal.
    pub(super) const fn kind(&self) -> SignalKind {
        self.kind
    }

    /// Number of duplicate ACKs that reported the gap, once it is closed.
    pub(super) const fn extent(&self) -> u32 {
        self.extent
    }

    /// Restores both windows as far as `response` permits.
    fn restore(
        &self,
        response: Response,
        ack: &AckEvent,
        initial: Bytes,
        outstanding: Bytes,
        congestion: &mut dyn CongestionControl,
    ) -> bool {
        let (cwnd, ssthresh) = match response {
            Response::Eifel => {
                // RFC 4015 §3.1 step 9: no more than was acknowledged, or a first window, at once.
                let burst = outstanding + ack.acked.min(initial);
                // After a late verdict, by a duplicate, no burst can result.
                let cwnd = if ack.advances { burst } else { burst.max(congestion.cwnd()) };
                let infinite = self.ssthresh == Bytes::MAX;
                let ssthresh = if infinite { Bytes::MAX } else { self.flight.max(self.ssthresh) };
                (cwnd.max(ack.smss), ssthresh)
            }
            Response::Undo => (self.cwnd.max(congestion.cwnd()), self.ssthresh.max(congestion.ssthresh())),
            Response::Resume => return false,
        };
        congestion.on_restore(cwnd, ssthresh);
        true
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
