//! A loss signal may have been false: what is remembered to judge it, and what is taken back.

use units::{Bytes, SeqRange};

use crate::endpoint::Endpoint;
use crate::recovery::Ack;
use crate::spurious::{Judgement, Response, Signal, SignalKind};
use crate::timers::Timer;

/// The sender as it was before the last loss signal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    kind: SignalKind,
    cwnd: Bytes,
    ssthresh: Bytes,
    flight: Bytes,
}

impl Endpoint {
    /// A loss signal is believed; called before the window is reduced.
    pub(crate) fn remember_signal(&mut self, signal: &Signal, flight: Bytes) {
        let sending = &mut self.sending;
        sending.spurious.on_signal(signal);
        if !signal.again {
            let (cwnd, ssthresh) = (sending.congestion.cwnd(), sending.congestion.ssthresh());
            sending.before_signal = Some(Before { kind: signal.kind, cwnd, ssthresh, flight });
        }
    }

    /// What is outstanding, as numbers.
    pub(crate) fn outstanding(&self) -> SeqRange {
        SeqRange { start: self.sending.una, end: self.sending.nxt }
    }

    /// Asks the detector what an ACK says of the last signal; whether that was false and is undone.
    pub(crate) fn undo_false_signal(&mut self, ack: &Ack) -> bool {
        let sending = &mut self.sending;
        match sending.spurious.on_ack(ack, &sending.board) {
            Judgement::Open => return false,
            Judgement::Genuine => {
                sending.before_signal = None;
                return false;
            }
            Judgement::Spurious => {}
        }
        let Some(before) = sending.before_signal.take() else { return false };
        sending.board.clear_lost();
        sending.recovery.on_spurious();
        self.give_back(&before, ack);
        self.after_false_signal(&before, ack);
        true
    }

    fn give_back(&mut self, before: &Before, ack: &Ack) {
        let congestion = &mut self.sending.congestion;
        match self.sending.spurious.response() {
            Response::Eifel => {
                // RFC 4015 §3.2 steps 0 and 6: no more than was acknowledged, or a first window, at once.
                let initial = self.config.plain.initial_window.bytes(ack.smss);
                let cwnd = self.sending.board.outstanding() + ack.acked.min(initial);
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
            Response::Resume => {}
        }
    }

    fn after_false_signal(&mut self, before: &Before, ack: &Ack) {
        if before.kind == SignalKind::Timeout {
            self.sending.backoff = 0;
            self.sending.spurious_timeouts_found += 1;
            if let Some(rtt) = ack.rtt {
                self.sending.rto.on_spurious_timeout(rtt);
            }
        }
        if let Some(deadline) = self.sending.rto_deadline(ack.now) {
            self.timers.set(Timer::Retransmission, deadline);
        } else {
            self.timers.clear(Timer::Retransmission);
        }
        self.note(ack.now, "undo", before.kind.id(), ack.number, 0);
    }
}
