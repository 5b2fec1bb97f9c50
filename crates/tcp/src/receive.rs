//! A segment came in (RFC 9293 §3.10.7), as a list of steps.

use units::{Bytes, Instant, SeqRange};
use wire::{Flags, Payload, Segment};

use crate::ack::{Data, When};
use crate::congestion::{Growth, Loss as CongestionLoss};
use crate::endpoint::Endpoint;
use crate::options::timestamp;
use crate::reassembly::Arrival;
use crate::receiving::Wanted;
use crate::recovery::{Ack, Verdict};
use crate::scoreboard::Acked;
use crate::sending::Persist;
use crate::state::{Change, State};
use crate::timers::Timer;
use crate::{Cause, Event};

impl Endpoint {
    /// Takes in a segment that is addressed to this connection.
    pub fn handle_segment(&mut self, now: Instant, segment: Segment) {
        match self.state {
            State::Closed => self.refuse(&segment),
            State::Listen => self.segment_in_listen(now, &segment),
            State::SynSent => self.segment_in_syn_sent(now, segment),
            _ => self.segment_arrived(now, segment),
        }
    }

    /// RFC 9293 §3.10.7.4: all other states.
    pub(crate) fn segment_arrived(&mut self, now: Instant, mut segment: Segment) {
        self.strip_repeated_syn(&mut segment);
        self.strip_what_finds_no_room(&mut segment);
        if self.lacks_timestamps(&segment) {
            return;
        }
        if self.is_from_the_past(now, &segment) || !self.receiving.is_acceptable(segment.seq_range()) {
            return self.answer_unacceptable(now, &segment);
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
        self.remember_timestamp(now, &segment);
        self.restart_keep_alive(now);
        if self.on_acknowledgment(now, &segment) {
            self.on_data(now, segment);
        }
    }

    /// In a simultaneous open the peer's SYN comes twice: alone, and with the ACK that completes the
    /// handshake (RFC 9293 §3.5, figure 7). The second is worth only its ACK.
    fn strip_repeated_syn(&self, segment: &mut Segment) {
        let repeated =
            segment.flags.contains(Flags::SYN.with(Flags::ACK)) && segment.seq == self.receiving.irs;
        if self.state == State::SynReceived && repeated {
            segment.flags = segment.flags.without(Flags::SYN);
            segment.seq += 1;
        }
    }

    /// A closed window takes in nothing, but what a probe of it acknowledges counts (RFC 9293 §3.10.7.4,
    /// first): it may open the window of the other direction.
    fn strip_what_finds_no_room(&mut self, segment: &mut Segment) {
        let at_edge = segment.seq == self.receiving.stream.next() && self.receiving.wnd().is_zero();
        if at_edge && (!segment.payload.is_empty() || segment.flags.contains(Flags::FIN)) {
            segment.payload = Payload::EMPTY;
            segment.flags = segment.flags.without(Flags::FIN);
            self.receiving.ack_wanted = Wanted::Now;
        }
    }

    /// RFC 7323 §3.2: without the timestamps that were agreed on, a segment is dropped, unless it is a reset.
    fn lacks_timestamps(&self, segment: &Segment) -> bool {
        self.agreed.timestamps && segment.options.timestamps.is_none() && !segment.flags.contains(Flags::RST)
    }

    /// PAWS, RFC 7323 §5.3 step 1.
    fn is_from_the_past(&self, now: Instant, segment: &Segment) -> bool {
        let (Some((recent, taken)), Some(theirs)) = (self.receiving.ts_recent, segment.options.timestamps)
        else {
            return false;
        };
        let older = units::Seq(theirs.value).before(units::Seq(recent));
        let outdated = now.saturating_since(taken) > PAWS_IDLE;
        self.agreed.timestamps && older && !outdated && !segment.flags.contains(Flags::RST)
    }

    /// RFC 7323 §4.3: the clock to echo is that of the last segment that advanced the acknowledgment.
    fn remember_timestamp(&mut self, now: Instant, segment: &Segment) {
        let Some(theirs) = segment.options.timestamps else { return };
        if self.agreed.timestamps && segment.seq.at_or_before(self.receiving.last_ack_sent) {
            self.receiving.ts_recent = Some((theirs.value, now));
        }
    }

    /// Says where we are, unless it was a reset; a segment that arrived twice is reported (RFC 2883 §4).
    fn answer_unacceptable(&mut self, now: Instant, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        let range = SeqRange::new(segment.seq, segment.payload.len());
        if !range.is_empty() && range.end.at_or_before(self.receiving.stream.next()) {
            self.report_twice(range);
            self.owe_ack(now, Bytes::ZERO, Arrival::Duplicate);
        }
        if self.state == State::TimeWait && segment.flags.contains(Flags::FIN) {
            // RFC 9293 §3.10.7.4: the peer has missed our ACK; wait once more for stragglers.
            self.timers.set(Timer::TimeWait, now + self.config.plain.msl * 2);
        }
        self.receiving.ack_wanted = Wanted::Now;
    }

    fn report_twice(&mut self, range: SeqRange) {
        if self.agreed.sack && self.config.plain.dsack {
            self.receiving.twice = Some(range);
        }
    }

    /// Step 5, the ACK field; whether the rest of the segment counts.
    fn on_acknowledgment(&mut self, now: Instant, segment: &Segment) -> bool {
        if !self.ack_is_valid(now, segment) {
            return false;
        }
        if segment.ack.before(self.sending.una) {
            return true;
        }
        let is_duplicate = self.is_duplicate_ack(segment);
        self.update_window(now, segment);
        let newly_sacked = self.enter_sacks(segment);
        let flight = self.sending.board.outstanding();
        let acked = self.sending.board.acknowledge(segment.ack);
        let advances = segment.ack.after(self.sending.una);
        if advances {
            self.on_advance(now, segment, &acked);
        }
        let ack = Ack {
            now,
            number: segment.ack,
            advances,
            acked: acked.bytes,
            newly_sacked,
            duplicate: is_duplicate,
            nxt: self.sending.nxt,
            dupthresh: self.sending.dup_threshold(),
            smss: self.sending.smss,
            ssthresh: self.sending.congestion.ssthresh(),
        };
        if self.state != State::Closed && !acked.syn {
            let verdict = self.sending.recovery.on_ack(&ack, &mut self.sending.board);
            self.carry_out(verdict, &ack, flight);
        }
        self.state != State::Closed
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
    fn update_window(&mut self, now: Instant, segment: &Segment) {
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
            self.timers.set(Timer::Retransmission, now + self.sending.rto_length());
        }
    }

    pub(crate) fn stop_probing(&mut self) {
        self.sending.persist = Persist::Idle;
        self.timers.clear(Timer::Persist);
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

    /// SND.UNA advances.
    fn on_advance(&mut self, now: Instant, segment: &Segment, acked: &Acked) {
        let sending = &mut self.sending;
        sending.una = segment.ack;
        sending.expirations = 0;
        sending.stream_acked += acked.bytes;
        self.take_sample(now, segment, acked);
        if self.sending.has_nothing_left() {
            self.stop_probing();
        }
        if acked.syn {
            self.establish(now);
        }
        if acked.fin {
            self.on_fin_acked(now);
        }
    }

    /// A round-trip sample, by the echoed clock (RFC 7323 §4.1) or by a segment that was sent only once.
    pub(crate) fn take_sample(&mut self, now: Instant, segment: &Segment, acked: &Acked) {
        let echo = segment.options.timestamps.filter(|_| self.agreed.timestamps).map(|theirs| theirs.echo);
        // A clock that is still to come was never sent, and measures nothing.
        let age = echo.map(|echo| timestamp(now).wrapping_sub(echo)).filter(|age| *age <= u32::MAX >> 1);
        let echoed = age.map(|age| now - units::Duration::from_millis(u64::from(age)));
        if let Some(sent) = echoed.or(acked.sample) {
            let cwnd = self.sending.congestion.cwnd().whole(self.sending.smss);
            self.sending.rto.on_sample(sent, now, cwnd);
            // RFC 6298 §5.7: a fresh sample ends the back-off.
            self.sending.backoff = 0;
        }
    }

    /// Does what the recovery algorithm has found.
    fn carry_out(&mut self, verdict: Verdict, ack: &Ack, flight: Bytes) {
        let loss = CongestionLoss { now: ack.now, flight, again: false };
        match verdict {
            Verdict::Ordinary if ack.advances => {
                self.sending.congestion.on_ack(&Growth { now: ack.now, acked: ack.acked, flight });
                self.restart_retransmission_timer(ack.now, true);
            }
            Verdict::Ordinary => {}
            Verdict::Hold { restart_timer } => {
                self.restart_retransmission_timer(ack.now, restart_timer && ack.advances);
            }
            Verdict::Loss => {
                self.sending.congestion.on_loss(&loss);
                self.on_loss_found(ack, "fast_retransmit");
            }
            Verdict::Collapse => {
                self.sending.congestion.on_timeout(&loss);
                self.on_loss_found(ack, "collapse");
            }
            Verdict::Recovered { window } => {
                self.sending.congestion.on_recovery_exit(window);
                self.restart_retransmission_timer(ack.now, true);
                self.note(ack.now, "recovered", "", ack.number, 0);
            }
        }
        let event = if ack.duplicate { "duplicate_ack" } else { "ack" };
        self.note(ack.now, event, "", ack.number, u32::try_from(ack.acked.0).unwrap_or(u32::MAX));
    }

    fn on_loss_found(&mut self, ack: &Ack, event: &'static str) {
        self.sending.fast_retransmits += 1;
        // As most stacks do, and as RFC 6675 §5.1 recommends: the retransmission gets a whole timer.
        self.timers.set(Timer::Retransmission, ack.now + self.sending.rto_length());
        self.note(ack.now, event, "duplicate ACKs", ack.number, 0);
    }

    /// RFC 6298 §5.2 and §5.3. With nothing outstanding the timer stops in any case.
    fn restart_retransmission_timer(&mut self, now: Instant, restart: bool) {
        match self.sending.rto_deadline(now) {
            None => self.timers.clear(Timer::Retransmission),
            Some(deadline) if restart && self.sending.persist == Persist::Idle => {
                self.timers.set(Timer::Retransmission, deadline);
            }
            Some(_) => {}
        }
    }

    /// Steps 7 and 8: the bytes, and the FIN behind them.
    fn on_data(&mut self, now: Instant, segment: Segment) {
        if !self.state.accepts_data() {
            return;
        }
        if segment.flags.contains(Flags::FIN) {
            self.receiving.fin_at = Some(segment.seq + segment.payload.len());
        }
        if !segment.payload.is_empty() {
            self.take_in(now, segment);
        } else if segment.flags.contains(Flags::FIN) {
            self.receiving.ack_wanted = Wanted::Now;
        }
        if self.receiving.fin_at == Some(self.receiving.stream.next()) {
            self.on_fin(now);
        }
    }

    /// The bytes inside the window go into the stream; the policy says when to acknowledge them.
    fn take_in(&mut self, now: Instant, segment: Segment) {
        let whole = SeqRange::new(segment.seq, segment.payload.len());
        let inside = whole.len().min(self.receiving.edge.since(whole.start));
        let range = SeqRange::new(whole.start, inside);
        let payload = if inside < whole.len() { segment.payload.slice(0, inside) } else { segment.payload };
        let known = self.known_part(range);
        let before = self.receiving.stream.next();
        let arrival = self.receiving.stream.insert(range, payload);
        if let Some(part) = known {
            self.report_twice(part);
        }
        let advanced = self.receiving.stream.next().since(before);
        self.receiving.stream_received += Bytes(u64::from(advanced));
        if advanced > 0 {
            self.events.push_back(Event::Readable);
        }
        self.owe_ack(now, Bytes(u64::from(range.len())), arrival);
    }

    /// What of `range` had arrived before, for D-SACK: its beginning, or all of it.
    fn known_part(&self, range: SeqRange) -> Option<SeqRange> {
        let next = self.receiving.stream.next();
        if range.start.before(next) {
            return Some(SeqRange { start: range.start, end: range.end.min(next) });
        }
        self.receiving.stream.island_covering(range).map(|_| range)
    }

    fn owe_ack(&mut self, now: Instant, len: Bytes, arrival: Arrival) {
        self.receiving.full = self.receiving.full.max(len);
        let gap = self.receiving.stream.has_gap();
        let data = Data { now, len, arrival, gap, full: self.receiving.full };
        match self.receiving.ack_policy.on_data(&data) {
            When::Now => self.receiving.ack_wanted = Wanted::Now,
            When::Within(wait) => {
                if self.receiving.ack_wanted == Wanted::No {
                    self.receiving.ack_wanted = Wanted::Delayed;
                    self.timers.set(Timer::DelayedAck, now + wait);
                }
            }
        }
    }

    /// The peer's stream has ended.
    fn on_fin(&mut self, now: Instant) {
        self.receiving.fin_at = None;
        self.receiving.stream.skip_one();
        self.receiving.edge = self.receiving.edge.max(self.receiving.stream.next());
        self.receiving.ack_wanted = Wanted::Now;
        self.change(Change::FinArrived);
        self.events.push_back(Event::PeerClosed);
        if self.state == State::TimeWait {
            self.enter_time_wait(now);
        }
    }
}

/// RFC 7323 §5.5: after 24 days of silence a timestamp says nothing any more.
const PAWS_IDLE: units::Duration = units::Duration::from_secs(24 * 24 * 3600);
