//! Header prediction, the sender's half (V. Jacobson, "4BSD TCP header prediction", 1990): an ACK of new data while nothing
//! else is going on. The receiver's half is in `receive.rs`.

use units::{Bytes, Instant};
use wire::{Flags, Segment};

use crate::Decision;
use crate::congestion::AckSample;
use crate::ecn::EcnFeedback;
use crate::endpoint::Endpoint;
use crate::scoreboard::Acked;
use crate::state::State;

impl Endpoint {
    /// Header prediction, the sender's half: whether the segment is a mere ACK of new data, while nothing is going on that
    /// it could mean anything to but the window, the estimators and the retransmission timer.
    ///
    /// Each step that [`Endpoint::take_in_predicted_ack`] leaves out is known to do nothing; a test holds the two equal.
    #[inline]
    pub(crate) fn is_predicted_ack(&self, segment: &Segment) -> bool {
        let Self { receiving, sending, .. } = self;
        segment.flags == Flags::ACK
            && self.state == State::Established
            && segment.seq == receiving.stream.next()
            && segment.payload.is_empty()
            && segment.ack.after(sending.una)
            && segment.ack.at_or_before(sending.nxt)
            && segment.options.sack.is_empty()
            && (!self.agreed.timestamps || self.is_next_clock(segment.options.timestamps))
            && sending.duplicates.count() == 0
            && !sending.spurious.observes_advances()
            && !sending.congestion_traits.observes_deliveries
            && !self.agreed.polls
            && self.agreed.ecn == EcnFeedback::Absent
            && sending.recovery.is_idle()
            && !sending.tail_probe.is_outstanding()
    }

    /// Takes in an ACK that was predicted.
    pub(crate) fn take_in_predicted_ack(&mut self, now: Instant, segment: &Segment) {
        self.remember_timestamp(now, segment);
        self.restart_keep_alive(now);
        self.update_window(now, segment);
        let flight = self.sending.board.outstanding();
        self.sending.board.begin_ack();
        let acked = self.sending.board.acknowledge(segment.ack);
        let rtt = self.on_advance(now, segment, &acked, flight);
        let one_way = self.agreed.one_way(segment);
        let sending = &mut self.sending;
        let Acked { bytes: acked, segments, newest_sample, last_sample, .. } = acked;
        let newest_rtt = newest_sample.map(|sent| now - sent).or(rtt);
        let last_rtt = last_sample.map(|sent| now - sent);
        let (number, nxt) = (segment.ack, sending.nxt);
        let marked = Bytes::ZERO;
        let sample = AckSample {
            now,
            acked,
            segments,
            flight,
            rtt,
            newest_rtt,
            last_rtt,
            one_way,
            number,
            nxt,
            marked,
        };
        sending.congestion.observe(&sample);
        if !acked.is_zero() {
            sending.congestion.on_ack(&sample);
        }
        self.start_retransmission_timer(self.sending.rto_deadline(now));
        if self.sending.tail_probe.is_on() {
            self.schedule_tail_probe(now, true);
        }
        self.note(now, Decision::Ack, "", number, u32::try_from(acked.0).unwrap_or(u32::MAX));
    }
}
