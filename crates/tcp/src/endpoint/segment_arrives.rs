//! SEGMENT ARRIVES (RFC 9293 §3.10.7), as a list of steps.

use units::{Duration, Instant};
use wire::{Flags, Payload, Segment};

use super::{CloseReason, Endpoint, Event};
use crate::receive_half::Reception;
use crate::state::{Change, State};
use crate::timers::Timer;
use crate::{Kind, Transmit};

impl Endpoint {
    /// Takes in a segment that is addressed to this connection.
    #[inline]
    pub fn handle_segment(&mut self, now: Instant, segment: &Segment) {
        if self.is_predicted(segment) {
            self.take_in_predicted(now, segment);
        } else if self.is_predicted_ack(segment) {
            self.take_in_predicted_ack(now, segment);
        } else {
            self.handle_any_segment(now, segment);
        }
        self.watch_congestion_deadline(now);
    }

    /// Takes in any segment, in any state.
    pub(super) fn handle_any_segment(&mut self, now: Instant, segment: &Segment) {
        match self.state {
            State::Closed => self.refuse(segment),
            State::Listen => self.segment_in_listen(now, segment),
            State::SynSent => self.segment_in_syn_sent(now, segment),
            _ => match self.stripped(segment) {
                None => self.segment_arrives(now, segment),
                Some(stripped) => self.segment_arrives(now, &stripped),
            },
        }
    }

    /// The checks of RFC 9293 §3.10.7.4, for all other states.
    fn segment_arrives(&mut self, now: Instant, segment: &Segment) {
        if self.agreed.dummies && segment.flags.contains(Flags::DUMMY) && !segment.flags.contains(Flags::SYN)
        {
            return self.on_dummy(now, segment);
        }
        if self.lacks_timestamps(segment) {
            return;
        }
        if self.is_from_the_past(now, segment) || !self.receive.is_acceptable(segment) {
            return self.answer_unacceptable(now, segment);
        }
        if segment.flags.contains(Flags::RST) {
            return self.on_reset(now, segment.seq);
        }
        if segment.flags.contains(Flags::SYN) {
            return self.on_syn_in_window(now);
        }
        if !segment.flags.contains(Flags::ACK) {
            return;
        }
        self.note_mark(now, segment);
        self.restart_keep_alive(now);
        if self.check_ack_field(now, segment) {
            self.remember_timestamp(now, segment);
            self.process_text(now, segment);
        }
    }

    /// A dummy segment is answered at once, and its data are not read; an ACK of one is reported to congestion control.
    /// Of either the acknowledgment of data counts, if it is new.
    fn on_dummy(&mut self, now: Instant, segment: &Segment) {
        if !segment.payload.is_empty() {
            let mut answer = self.segment(self.send.acceptable_seq(), Flags::DUMMY, Payload::EMPTY);
            self.complete(now, &mut answer);
            self.outbox.push_back(Transmit { segment: answer, kind: Kind::Ack });
        } else if self.state.is_synchronised() {
            self.send.on_dummy_acked(now);
        }
        if segment.ack.after(self.send.una()) {
            self.check_ack_field(now, segment);
        }
    }

    /// The segment without the parts that this end ignores, if there are any, which is rare.
    ///
    /// In a simultaneous open the peer's SYN comes twice: alone, and with the ACK that completes the handshake (RFC
    /// 9293 §3.5, figure 7). Of the second only the ACK counts. A closed window takes in neither data nor FIN, but the
    /// acknowledgment of a segment that probes it counts (RFC 9293 §3.10.7.4, first), as it may open the window of the
    /// other direction.
    #[inline]
    fn stripped(&mut self, segment: &Segment) -> Option<Segment> {
        let repeated_syn = self.state == State::SynReceived
            && segment.flags.contains(Flags::SYN.with(Flags::ACK))
            && segment.seq == self.receive.irs();
        let closed = self.receive.wnd().is_zero();
        if repeated_syn || closed { self.strip(segment, repeated_syn, closed) } else { None }
    }

    #[cold]
    fn strip(&mut self, segment: &Segment, repeated_syn: bool, closed: bool) -> Option<Segment> {
        let mut stripped = segment.clone();
        if repeated_syn {
            stripped.flags = segment.flags.without(Flags::SYN);
            stripped.seq += 1;
        }
        let at_edge = closed && stripped.seq == self.receive.next();
        let brings = !segment.payload.is_empty() || segment.flags.contains(Flags::FIN);
        if at_edge && brings && !self.receive.admits_fin(segment) {
            stripped.payload = Payload::EMPTY;
            stripped.flags = stripped.flags.without(Flags::FIN);
            self.receive.acknowledge_now();
        }
        Some(stripped)
    }

    /// RFC 7323 §3.2: without the timestamps that were agreed on, a segment is dropped, unless it is a reset.
    fn lacks_timestamps(&self, segment: &Segment) -> bool {
        let required = self.agreed.timestamps && self.config.plain.timestamps_required;
        required && segment.options.timestamps.is_none() && !segment.flags.contains(Flags::RST)
    }

    /// PAWS, RFC 7323 §5.3 step 1.
    fn is_from_the_past(&self, now: Instant, segment: &Segment) -> bool {
        self.agreed.timestamps
            && self.config.plain.paws
            && !segment.flags.contains(Flags::RST)
            && self.receive.is_from_the_past(now, segment.options.timestamps)
    }

    /// Updates TS.Recent (RFC 7323 §4.3), by a segment whose ACK is acceptable: an attacker's guess does not move it
    /// (Linux `tcp_ack`).
    #[inline]
    pub(super) fn remember_timestamp(&mut self, now: Instant, segment: &Segment) {
        if self.agreed.timestamps {
            self.receive.remember_timestamp(now, segment);
        }
    }

    /// Answers a segment that is not acceptable with an ACK, unless it was a reset.
    fn answer_unacceptable(&mut self, now: Instant, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        let reception = Reception { now, rtt: None, dsack: self.reports_duplicates(), on_syn: false };
        self.receive.on_old_data(segment, &reception, &mut self.timers);
        self.note_repeated_syn_ack(segment);
        if self.state == State::TimeWait && segment.flags.contains(Flags::FIN) {
            // RFC 9293 §3.10.7.4: the peer has missed our ACK; wait once more for stragglers.
            self.timers.set(Timer::TimeWait, now + self.config.plain.msl * 2);
        }
        self.receive.acknowledge_now();
    }

    /// The seventh and eighth checks: the segment text, and the FIN after it.
    pub(super) fn process_text(&mut self, now: Instant, segment: &Segment) {
        if !self.state.accepts_data() {
            return;
        }
        if self.send.is_closing() && self.receive.refuses_data_of(segment) {
            self.refuse(segment);
            return self.give_up(CloseReason::Aborted);
        }
        if !self.receive.finds_memory(segment) {
            return;
        }
        let fin = segment.flags.contains(Flags::FIN);
        if fin {
            self.receive.expect_fin(segment.seq + segment.payload.len());
        }
        if !segment.payload.is_empty() {
            self.take_in(now, segment);
        }
        if self.receive.take_fin() {
            let may_wait = self.state == State::Established && segment.payload.is_empty();
            self.receive.acknowledge_fin(now, may_wait, &mut self.timers);
            self.on_fin(now);
        } else if fin {
            self.receive.acknowledge_now();
        }
    }

    /// Puts the data that lie inside the window into the stream.
    pub(super) fn take_in(&mut self, now: Instant, segment: &Segment) {
        let reception = self.reception(now, segment);
        self.receive.take_in(segment, &reception, &self.agreed, &mut self.timers);
    }

    /// A data segment as the receiving half sees it.
    #[inline]
    pub(super) fn reception(&self, now: Instant, segment: &Segment) -> Reception {
        Reception {
            now,
            rtt: self.round_trip(now, segment),
            dsack: self.reports_duplicates(),
            on_syn: !self.state.is_synchronised(),
        }
    }

    fn reports_duplicates(&self) -> bool {
        self.agreed.sack && self.config.plain.dsack
    }

    /// The round trip as a receiver knows it: by the echoed clock, else as its own data have measured it.
    fn round_trip(&self, now: Instant, segment: &Segment) -> Option<Duration> {
        let echoed = self.agreed.echo(segment).and_then(|echo| echo.age(now));
        echoed.or_else(|| self.send.srtt())
    }

    /// The peer's FIN has arrived, and everything before it.
    fn on_fin(&mut self, now: Instant) {
        self.change(Change::FinArrived);
        if self.receive.take_readable() {
            self.events.push_back(Event::Readable);
        }
        self.events.push_back(Event::PeerClosed);
        if self.state == State::TimeWait {
            self.enter_time_wait(now);
        }
    }
}
