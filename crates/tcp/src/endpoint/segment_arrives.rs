//! A segment came in (RFC 9293 §3.10.7), as a list of steps; and a shortcut for the next segment of a bulk transfer.

use units::{Bytes, Duration, Instant, SeqRange};
use wire::{Flags, Payload, Segment, Timestamps};

use crate::Event;
use crate::ack::{Data, When};
use crate::endpoint::Endpoint;
use crate::reassembly::Arrival;
use crate::receive_half::AckDue;
use crate::state::{Change, State};
use crate::timers::Timer;
use crate::timestamp::Timestamp;
use crate::window::Arrived;

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
    }

    /// Header prediction (V. Jacobson, "4BSD TCP header prediction", 1990), the receiver's half: whether the segment is
    /// the next one of a bulk transfer towards an end that has sent nothing which is not acknowledged. It brings
    /// data in order that fit into the window, no gap waits to be filled, and nothing but data, window and clock is new.
    ///
    /// Of such a segment all tests of [`Endpoint::handle_any_segment`] are known to pass, and each step that is left out
    /// of [`Endpoint::take_in_predicted`] is known to do nothing; a test holds the two equal.
    #[inline]
    pub(super) fn is_predicted(&self, segment: &Segment) -> bool {
        let Self { receiving, sending, .. } = self;
        segment.seq == receiving.stream.next()
            && segment.flags.without(Flags::PSH) == self.quiet_flags()
            && self.state == State::Established
            && segment.ack == sending.una
            && sending.board.is_empty()
            && (1..=receiving.edge.since(segment.seq)).contains(&segment.payload.len())
            && !receiving.stream.has_gap()
            && receiving.fin_at.is_none()
            && segment.options.sack.is_empty()
            && (!self.agreed.timestamps || self.is_next_clock(segment.options.timestamps))
    }

    /// Whether the peer's clock has not gone back.
    pub(crate) fn is_next_clock(&self, theirs: Option<Timestamps>) -> bool {
        let clock = theirs.map(|theirs| Timestamp(theirs.value));
        let recent = self.receiving.ts_recent.map(|(recent, _)| recent);
        clock.zip(recent).is_some_and(|(clock, recent)| !clock.is_older_than(recent))
    }

    /// Takes in a segment that was predicted.
    fn take_in_predicted(&mut self, now: Instant, segment: &Segment) {
        self.remember_timestamp(now, segment);
        self.note_mark(now, segment);
        self.restart_keep_alive(now);
        self.update_window(now, segment);
        let len = Bytes(u64::from(segment.payload.len()));
        let (rtt, full) = (self.round_trip(now, segment), self.receiving.largest_segment.max(len));
        let unread = self.receiving.stream.held().unread;
        self.receiving.stream.append_in_order(segment.payload.clone());
        self.receiving.stream_received += len;
        self.readable = true;
        if self.receiving.tunes_window {
            self.tune_window(now, segment, (len, unread));
        }
        self.owe_ack(Data {
            now,
            len,
            arrival: Arrival::InOrder,
            gap: false,
            scattered: false,
            full,
            polled: false,
            rtt,
        });
    }

    /// Takes in any segment, in any state.
    pub(super) fn handle_any_segment(&mut self, now: Instant, segment: &Segment) {
        match self.state {
            State::Closed => self.refuse(segment),
            State::Listen => self.segment_in_listen(now, segment),
            State::SynSent => self.segment_in_syn_sent(now, segment),
            _ => match self.stripped(segment) {
                None => self.segment_arrived(now, segment),
                Some(stripped) => self.segment_arrived(now, &stripped),
            },
        }
    }

    /// The steps of RFC 9293 §3.10.7.4, for all other states.
    fn segment_arrived(&mut self, now: Instant, segment: &Segment) {
        if self.lacks_timestamps(segment) {
            return;
        }
        if self.is_from_the_past(now, segment) || !self.is_acceptable(segment) {
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
        self.remember_timestamp(now, segment);
        self.note_mark(now, segment);
        self.restart_keep_alive(now);
        if self.on_acknowledgment(now, segment) {
            self.on_data(now, segment);
        }
    }

    /// The segment without the parts that this end leaves out of account, where there are any; it is rare.
    ///
    /// In a simultaneous open the peer's SYN comes twice: alone, and with the ACK that completes the handshake (RFC 9293
    /// §3.5, figure 7). Of the second only the ACK counts. A closed window takes in neither data nor FIN, but the
    /// acknowledgment of a segment that probes it counts (RFC 9293 §3.10.7.4, first), as it may open the window of the
    /// other direction.
    #[inline]
    fn stripped(&mut self, segment: &Segment) -> Option<Segment> {
        let repeated_syn = self.state == State::SynReceived
            && segment.flags.contains(Flags::SYN.with(Flags::ACK))
            && segment.seq == self.receiving.irs;
        let closed = self.receiving.wnd().is_zero();
        if repeated_syn || closed { self.strip(segment, repeated_syn, closed) } else { None }
    }

    #[cold]
    fn strip(&mut self, segment: &Segment, repeated_syn: bool, closed: bool) -> Option<Segment> {
        let mut stripped = segment.clone();
        if repeated_syn {
            stripped.flags = segment.flags.without(Flags::SYN);
            stripped.seq += 1;
        }
        let at_edge = closed && stripped.seq == self.receiving.stream.next();
        if at_edge && (!segment.payload.is_empty() || segment.flags.contains(Flags::FIN)) {
            stripped.payload = Payload::EMPTY;
            stripped.flags = stripped.flags.without(Flags::FIN);
            self.receiving.ack_due = AckDue::Now;
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
        let (Some((recent, taken)), Some(theirs)) = (self.receiving.ts_recent, segment.options.timestamps)
        else {
            return false;
        };
        let older = Timestamp(theirs.value).is_older_than(recent);
        let outdated = now.saturating_since(taken) > PAWS_IDLE;
        self.agreed.timestamps
            && self.config.plain.paws
            && older
            && !outdated
            && !segment.flags.contains(Flags::RST)
    }

    /// The segment arrival test of RFC 9293 §3.10.7.4, except that a segment without data may stand at the right edge of
    /// the window, as in Linux. A peer that has filled the window sends its ACKs with that number. Where two ends have
    /// filled each other's windows and retransmit old data, to the letter of the RFC neither would ever read an
    /// ACK of the other.
    fn is_acceptable(&self, segment: &Segment) -> bool {
        let mere_ack = segment.seq_len() == 0 && !segment.flags.contains(Flags::RST);
        self.receiving.is_acceptable(segment.seq_range()) || (mere_ack && segment.seq == self.receiving.edge)
    }

    /// Updates TS.Recent, which our segments echo: it is of the last segment that advanced the acknowledgment
    /// (RFC 7323 §4.3).
    pub(crate) fn remember_timestamp(&mut self, now: Instant, segment: &Segment) {
        let Some(theirs) = segment.options.timestamps else { return };
        if self.agreed.timestamps && segment.seq.at_or_before(self.receiving.last_ack_sent) {
            self.receiving.ts_recent = Some((Timestamp(theirs.value), now));
        }
    }

    /// Answers a segment that is not acceptable with an ACK, unless it was a reset; one that arrived twice is reported
    /// (RFC 2883 §4).
    fn answer_unacceptable(&mut self, now: Instant, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        let range = SeqRange::new(segment.seq, segment.payload.len());
        if !range.is_empty() && range.end.at_or_before(self.receiving.stream.next()) {
            self.report_duplicate(range);
            let nothing = SeqRange::new(range.start, 0);
            self.owe_ack(self.arrived(now, nothing, Arrival::Duplicate));
        }
        if self.state == State::TimeWait && segment.flags.contains(Flags::FIN) {
            // RFC 9293 §3.10.7.4: the peer has missed our ACK; wait once more for stragglers.
            self.timers.set(Timer::TimeWait, now + self.config.plain.msl * 2);
        }
        self.receiving.ack_due = AckDue::Now;
    }

    fn report_duplicate(&mut self, range: SeqRange) {
        if self.agreed.sack && self.config.plain.dsack {
            self.receiving.duplicate = Some(range);
        }
    }

    /// Steps 7 and 8: the bytes, and the FIN behind them.
    fn on_data(&mut self, now: Instant, segment: &Segment) {
        if !self.state.accepts_data() {
            return;
        }
        if self.receiving.shut && self.reaches_nobody(segment) {
            self.refuse(segment);
            return self.give_up(crate::endpoint::CloseReason::Aborted);
        }
        if segment.flags.contains(Flags::FIN) {
            self.receiving.fin_at = Some(segment.seq + segment.payload.len());
        }
        if !segment.payload.is_empty() {
            self.take_in(now, segment);
        } else if segment.flags.contains(Flags::FIN) {
            self.receiving.ack_due = AckDue::Now;
        }
        if self.receiving.fin_at == Some(self.receiving.stream.next()) {
            self.on_fin(now);
        }
    }

    /// Puts the data that lie inside the window into the stream, and asks the policy when to acknowledge them.
    pub(crate) fn take_in(&mut self, now: Instant, segment: &Segment) {
        let polled = self.agreed.polls && segment.flags.contains(Flags::POLL);
        let rtt = self.round_trip(now, segment);
        let whole = SeqRange::new(segment.seq, segment.payload.len());
        let inside = whole.len().min(self.receiving.edge.since(whole.start));
        let range = SeqRange::new(whole.start, inside);
        let payload = &segment.payload;
        let payload = if inside < whole.len() { payload.slice(0, inside) } else { payload.clone() };
        let known = self.duplicate_part(range);
        let (before, unread) = (self.receiving.stream.next(), self.receiving.stream.held().unread);
        let scattered = self.receiving.stream.is_apart(range);
        let arrival = self.receiving.stream.insert(range, payload);
        if let Some(part) = known {
            self.report_duplicate(part);
        }
        let advanced = self.receiving.stream.next().since(before);
        self.receiving.stream_received += Bytes(u64::from(advanced));
        if advanced > 0 {
            self.readable = true;
        }
        if self.receiving.tunes_window && arrival != Arrival::Duplicate {
            self.tune_window(now, segment, (Bytes(u64::from(inside)), unread));
        }
        self.owe_ack(Data { polled, rtt, scattered, ..self.arrived(now, range, arrival) });
    }

    /// Tells a window that sizes itself of data that have arrived: so many bytes, and so many were unread before.
    fn tune_window(&mut self, now: Instant, segment: &Segment, (len, unread): (Bytes, Bytes)) {
        let echoed = self.agreed.echo(segment).and_then(|echo| echo.age(now)).map(|age| now - age);
        let receiving = &mut self.receiving;
        let (next, out_of_order) = (receiving.stream.next(), receiving.stream.held().out_of_order);
        let behind_gap = receiving.stream.highest().map_or(0, |end| end.since(next));
        let arrived = Arrived {
            now,
            len,
            received: receiving.stream_received,
            unread,
            out_of_order,
            behind_gap: Bytes(u64::from(behind_gap)),
            asks_for_duplicate: !self.agreed.sack && segment.seq.after(next),
            offered: receiving.wnd(),
            echoed,
        };
        if receiving.window.on_data(&arrived) {
            receiving.ack_policy.on_window_opened();
        }
    }

    /// The round trip as a receiver knows it: by the echoed clock, else as its own data have measured it.
    fn round_trip(&self, now: Instant, segment: &Segment) -> Option<Duration> {
        let echoed = self.agreed.echo(segment).and_then(|echo| echo.age(now));
        echoed.or_else(|| self.sending.rto.srtt())
    }

    /// The part of `range` that had arrived before, which a D-SACK reports: its beginning, or all of it.
    fn duplicate_part(&self, range: SeqRange) -> Option<SeqRange> {
        let next = self.receiving.stream.next();
        if range.start.before(next) {
            return Some(SeqRange { start: range.start, end: range.end.min(next) });
        }
        self.receiving.stream.island_covering(range).map(|_| range)
    }

    /// The data segment as the acknowledgment policy sees it, without poll, round trip and place.
    fn arrived(&self, now: Instant, range: SeqRange, arrival: Arrival) -> Data {
        let len = Bytes(u64::from(range.len()));
        let (gap, full) = (self.receiving.stream.has_gap(), self.receiving.largest_segment.max(len));
        Data { now, len, arrival, gap, scattered: false, full, polled: false, rtt: None }
    }

    /// Asks the acknowledgment policy when the data are to be acknowledged.
    fn owe_ack(&mut self, data: Data) {
        self.receiving.largest_segment = data.full;
        match self.receiving.ack_policy.on_data(&data) {
            When::Now => self.receiving.ack_due = AckDue::Now,
            When::Series(series) => {
                self.receiving.plan_acks(series);
                self.receiving.ack_due = AckDue::Now;
            }
            When::Within(wait) => {
                if self.receiving.ack_due == AckDue::No {
                    self.receiving.ack_due = AckDue::Delayed;
                    self.timers.set(Timer::DelayedAck, data.now + wait);
                }
            }
        }
    }

    /// The peer's FIN has arrived, and everything before it.
    fn on_fin(&mut self, now: Instant) {
        self.receiving.fin_at = None;
        self.receiving.window.leave();
        self.receiving.stream.skip_one();
        self.receiving.edge = self.receiving.edge.max(self.receiving.stream.next());
        self.receiving.ack_due = AckDue::Now;
        self.change(Change::FinArrived);
        if std::mem::take(&mut self.readable) {
            self.events.push_back(Event::Readable);
        }
        self.events.push_back(Event::PeerClosed);
        if self.state == State::TimeWait {
            self.enter_time_wait(now);
        }
    }
}

/// Age at which TS.Recent is outdated and rejects no segment any more (RFC 7323 §5.5).
const PAWS_IDLE: Duration = Duration::from_secs(24 * 24 * 3600);
