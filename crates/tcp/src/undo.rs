//! A loss signal may have been false: what is remembered to judge it, and what is taken back.

use units::{Bytes, Seq, SeqRange};

use crate::Decision;
use crate::endpoint::Endpoint;
use crate::recovery::AckEvent;
use crate::rto::Estimate;
use crate::spurious::{Judgement, Response, Signal, SignalKind};
use crate::timers::Timer;

/// The sender as it was before the last loss signal (RFC 4015 §3.1 step 0).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    kind: SignalKind,
    /// What was outstanding.
    outstanding: SeqRange,
    cwnd: Bytes,
    ssthresh: Bytes,
    flight: Bytes,
    estimate: Option<Estimate>,
    /// Duplicate ACKs that told of the gap, once it is closed.
    pub extent: u32,
}

/// The timer is to be made more patient by the first round trip of data sent after a spurious timeout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    beyond: Seq,
    earlier: Estimate,
}

impl Endpoint {
    /// A loss signal is believed; called before the window is reduced.
    pub(crate) fn remember_signal(&mut self, signal: &Signal, flight: Bytes) {
        let sending = &mut self.sending;
        sending.spurious.on_signal(signal);
        // A further signal without any progress belongs to the reaction that goes on.
        let una = signal.outstanding.start;
        let first = sending.before_signal.filter(|before| before.outstanding.start == una);
        sending.before_signal = Some(match first {
            Some(before) if signal.kind == SignalKind::FastRetransmit => before,
            Some(before) => Before { kind: SignalKind::Timeout, ..before },
            None => Before {
                kind: signal.kind,
                outstanding: signal.outstanding,
                cwnd: sending.congestion.cwnd(),
                ssthresh: sending.congestion.ssthresh(),
                flight,
                estimate: sending.rto.estimate(),
                extent: 0,
            },
        });
    }

    /// What is outstanding, as numbers.
    pub(crate) fn outstanding(&self) -> SeqRange {
        SeqRange { start: self.sending.una, end: self.sending.nxt }
    }

    /// Asks the detector what an ACK says of the last signal; how far its reordering went if that was false,
    /// and is undone. `marked`: whether it echoes a congestion mark.
    pub(crate) fn undo_false_signal(&mut self, ack: &AckEvent, marked: bool) -> Option<u32> {
        self.learn_patience(ack);
        let sending = &mut self.sending;
        if !sending.judges {
            return None;
        }
        match sending.spurious.on_ack(ack, &sending.board) {
            Judgement::Open => return None,
            Judgement::Spurious => {}
            judgement => {
                sending.before_signal = None;
                if let Judgement::GenuineWithin(window) = judgement {
                    sending.congestion.on_restore(window, sending.congestion.ssthresh());
                }
                return None;
            }
        }
        let before = sending.before_signal.take()?;
        sending.board.clear_lost();
        sending.recovery.on_spurious();
        // RFC 4015 §3.1 step 9: nothing is given back on an ACK that echoes a congestion mark.
        if !marked {
            self.give_back(&before, ack);
        }
        self.after_false_signal(&before, ack);
        Some(before.extent.max(self.sending.duplicates))
    }

    fn give_back(&mut self, before: &Before, ack: &AckEvent) {
        let congestion = &mut self.sending.congestion;
        match self.sending.spurious.response() {
            Response::Eifel => {
                // RFC 4015 §3.1 step 9: no more than was acknowledged, or a first window, at once.
                let initial = self.config.plain.initial_window.bytes(ack.smss);
                let mut cwnd = self.sending.board.outstanding() + ack.acked.min(initial);
                if !ack.advances {
                    // A late verdict, by a duplicate: there is nothing that a burst could come of.
                    cwnd = cwnd.max(congestion.cwnd());
                }
                let infinite = before.ssthresh == Bytes::MAX;
                let ssthresh = if infinite { Bytes::MAX } else { before.flight.max(before.ssthresh) };
                congestion.on_restore(cwnd.max(ack.smss), ssthresh);
            }
            Response::Undo => {
                congestion.on_restore(
                    before.cwnd.max(congestion.cwnd()),
                    before.ssthresh.max(congestion.ssthresh()),
                );
            }
            Response::Resume => return,
        }
        // Step 10.
        congestion.was_not_idle(ack.now);
    }

    fn after_false_signal(&mut self, before: &Before, ack: &AckEvent) {
        if before.kind == SignalKind::Timeout {
            self.sending.backoff = 0;
            if self.sending.spurious.response() == Response::Eifel {
                let beyond = before.outstanding.end;
                self.sending.patience = before.estimate.map(|earlier| Patience { beyond, earlier });
            }
        }
        if let Some(deadline) = self.sending.rto_deadline(ack.now) {
            self.set_retransmission_timer(deadline);
        } else {
            self.timers.clear(Timer::Retransmission);
        }
        self.note(ack.now, Decision::Undo, before.kind.id(), ack.number, 0);
    }

    /// RFC 4015 §3.1 step 11: the first round trip of data that were sent after the timeout.
    fn learn_patience(&mut self, ack: &AckEvent) {
        let sending = &mut self.sending;
        let (Some(patience), Some(rtt)) = (sending.patience, ack.rtt) else { return };
        if ack.number.after(patience.beyond) {
            sending.rto.on_spurious_timeout(rtt, patience.earlier);
            sending.patience = None;
        }
    }
}
