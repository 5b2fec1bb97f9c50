//! Header prediction (V. Jacobson, "4BSD TCP header prediction", 1990): the two segments of a bulk transfer that are
//! the usual ones, the next data of a stream and the next ACK.
//!
//! Each test of [`Endpoint::handle_any_segment`] is known to pass for them, and each step that is left out here is
//! known to do nothing; a property test compares both ways.

use units::Instant;
use wire::{Flags, Segment};

use super::Endpoint;
use crate::ecn::EcnFeedback;
use crate::state::State;

impl Endpoint {
    /// The receiver's half: whether the segment is the next one of a bulk transfer to an end that has nothing
    /// unacknowledged. It brings data in order that fit into the window, no gap waits to be filled, and nothing but
    /// data, window and clock is new.
    #[inline]
    pub(super) fn is_predicted(&self, segment: &Segment) -> bool {
        self.receive.is_next_data(segment)
            && segment.flags.without(Flags::PSH) == self.ecn.quiet_flags()
            && self.state == State::Established
            && self.send.expects_nothing(segment)
            && (!self.agreed.timestamps || self.receive.is_next_clock(segment.options.timestamps))
            && segment.options.ack_rate.is_none()
    }

    /// Takes in data that were predicted.
    pub(super) fn take_in_predicted(&mut self, now: Instant, segment: &Segment) {
        self.remember_timestamp(now, segment);
        self.note_mark(now, segment);
        self.restart_keep_alive(now);
        self.send.update_window(now, segment, &self.agreed, &mut self.timers);
        let reception = self.reception(now, segment);
        self.receive.take_next(segment, &reception, &self.agreed, &mut self.timers);
    }

    /// The sender's half: whether the segment is a mere ACK of new data, and means nothing but to the window, the
    /// estimators and the retransmission timer.
    #[inline]
    pub(super) fn is_predicted_ack(&self, segment: &Segment) -> bool {
        segment.flags == Flags::ACK
            && self.state == State::Established
            && segment.seq == self.receive.next()
            && segment.payload.is_empty()
            && segment.ack.after(self.send.una())
            && segment.ack.at_or_before(self.send.nxt())
            && segment.options.sack.is_empty()
            && (!self.agreed.timestamps || self.receive.is_next_clock(segment.options.timestamps))
            && !self.agreed.polls
            && !self.agreed.requests_acks
            && self.agreed.ecn == EcnFeedback::Absent
            && self.send.is_undisturbed()
    }

    /// Takes in an ACK that was predicted.
    pub(super) fn take_in_predicted_ack(&mut self, now: Instant, segment: &Segment) {
        self.remember_timestamp(now, segment);
        self.restart_keep_alive(now);
        self.send.on_predicted_ack(now, segment, &self.agreed, &mut self.timers);
    }
}
