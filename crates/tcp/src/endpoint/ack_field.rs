//! The fifth check of RFC 9293 §3.10.7.4: the ACK field.

use units::{Instant, SeqRange};
use wire::{Flags, Segment};

use super::Endpoint;
use crate::ecn::EcnFeedback;
use crate::state::State;

impl Endpoint {
    /// Checks and processes the ACK field; returns whether the rest of the segment is processed.
    pub(super) fn check_ack_field(&mut self, now: Instant, segment: &Segment) -> bool {
        let acceptable = self.ack_is_acceptable(now, segment);
        if acceptable && segment.ack.at_or_after(self.send.una()) {
            if self.expects_nothing(segment) {
                self.send.update_window(now, segment, &self.agreed, &mut self.timers);
            } else {
                self.acknowledge(now, segment);
            }
        }
        acceptable && self.state != State::Closed
    }

    /// RFC 9293 §3.10.7.4 and RFC 5961 §5: an ACK of data that were never sent, or of very old data, is answered and
    /// its segment dropped.
    fn ack_is_acceptable(&mut self, now: Instant, segment: &Segment) -> bool {
        let unacknowledged = SeqRange { start: self.send.una(), end: self.send.nxt() };
        let greatest_window = u32::try_from(self.send.greatest_peer_window().0).unwrap_or(u32::MAX >> 1);
        if self.state == State::SynReceived && !unacknowledged.contains(segment.ack - 1) {
            self.refuse(segment);
        } else if segment.ack.after(unacknowledged.end) {
            self.receive.acknowledge_now();
        } else if segment.ack.before(unacknowledged.start - greatest_window) {
            self.challenge(now);
        } else {
            return true;
        }
        false
    }

    /// Whether the ACK can report nothing but the window.
    fn expects_nothing(&self, segment: &Segment) -> bool {
        self.send.expects_nothing(segment)
            && (self.agreed.ecn == EcnFeedback::Accurate || !segment.flags.contains(Flags::ECE))
    }

    /// Processes an acceptable ACK that may concern the sender.
    fn acknowledge(&mut self, now: Instant, segment: &Segment) {
        let repairing = self.agreed.requests_acks && self.send.is_repairing();
        let mut ack = self.send.begin_ack(now, segment, &self.agreed, &mut self.timers);
        self.react_to_echo(segment, &mut ack);
        self.send.acknowledge(&mut ack);
        self.count_marks(segment, &mut ack);
        if ack.advances() {
            self.send.advance(&mut ack, &mut self.timers);
        }
        if ack.acks_syn() {
            self.establish(now);
        }
        if ack.acks_fin() {
            self.on_fin_acked(now);
        }
        if self.state != State::Closed && !ack.ends_handshake_only() {
            let agreed = self.agreed;
            self.repair(|send, timers| send.judge(&ack, &agreed, timers));
        }
        if self.agreed.requests_acks {
            self.send.observe_acks(segment, &ack, repairing);
        }
    }
}
