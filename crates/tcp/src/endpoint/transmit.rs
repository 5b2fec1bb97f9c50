//! What to send next, in the order in which it is considered, and the segments themselves.

use units::{Bytes, Instant, SeqRange};
use wire::{Flags, Payload, Segment};

use crate::congestion::SendEvent;
use crate::endpoint::Endpoint;
use crate::receive_half::AckDue;
use crate::recovery::{Next, Room, SentEvent};
use crate::scoreboard::New;
use crate::send_half::{Fin, Persist};
use crate::state::{Change, State};
use crate::timers::Timer;
use crate::{Cause, Decision, Kind, Transmit};

impl Endpoint {
    /// The next segment to send, if there is one.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        let mut segment = Segment::default();
        self.poll_transmit_into(now, &mut segment).map(|kind| Transmit { segment, kind })
    }

    /// Writes the next segment to send into `out` and returns what it is for; `None` if there is nothing to
    /// send. Every field of `out` is overwritten, so that one slot serves any number of segments; what it
    /// holds after `None` means nothing.
    #[inline]
    pub fn poll_transmit_into(&mut self, now: Instant, out: &mut Segment) -> Option<Kind> {
        if self.has_nothing_to_send() {
            self.timers.clear(Timer::Recovery);
            return None;
        }
        self.poll_some(now, out)
    }

    /// Whether no segment can be due: what most polls of a receiver find.
    #[inline]
    fn has_nothing_to_send(&self) -> bool {
        matches!(self.receiving.ack_due, AckDue::No | AckDue::Delayed)
            && self.sending.has_nothing_left()
            && self.outbox.is_empty()
            && !matches!(self.state, State::SynSent | State::SynReceived)
    }

    /// The next segment to send, of whatever kind.
    fn poll_some(&mut self, now: Instant, out: &mut Segment) -> Option<Kind> {
        if !self.outbox.is_empty() {
            return self.poll_outbox(out);
        }
        if matches!(self.state, State::SynSent | State::SynReceived)
            && let Some(kind) = self.poll_syn(now, out)
        {
            return Some(kind);
        }
        if self.sending.has_nothing_left() {
            // A mere receiver has nothing but acknowledgments to send.
            self.timers.clear(Timer::Recovery);
            return self.poll_ack(now, out);
        }
        self.poll_stream(now, out)
    }

    #[cold]
    fn poll_outbox(&mut self, out: &mut Segment) -> Option<Kind> {
        let Transmit { segment, kind } = self.outbox.pop_front()?;
        *out = segment;
        Some(kind)
    }

    /// The next segment of an end that has something to send, or to hear of.
    fn poll_stream(&mut self, now: Instant, out: &mut Segment) -> Option<Kind> {
        let mut room = self.room();
        if room.new.is_none() && self.sending.buffer_is_full() && self.grow_send_buffer(&room) {
            room = self.room();
        }
        match self.next_in_stream(now, &room) {
            Next::Retransmit { index, cause } => return Some(self.retransmit(now, index, cause, out)),
            Next::New => return Some(self.send_new(now, room.new.unwrap_or(Bytes::ZERO), out)),
            Next::Nothing => self.watch_recovery_deadline(now),
        }
        let probe = match self.sending.persist {
            Persist::Probing { probes, due: true } => self.probe(now, probes, out),
            _ => None,
        };
        if probe.is_some() {
            return probe;
        }
        let ack = self.poll_ack(now, out);
        if ack.is_none() {
            self.watch_peer_window(now);
        }
        ack
    }

    /// Data and FIN, new or again.
    #[inline]
    fn next_in_stream(&mut self, now: Instant, room: &Room) -> Next {
        if !self.may_send_data() {
            return Next::Nothing;
        }
        if self.pacing_holds(now) {
            return Next::Nothing;
        }
        if let Some(next) = self.sending.spurious.next(room) {
            return next;
        }
        if self.sending.tail_probe.is_due() {
            return self.next_tail_probe(room);
        }
        if self.sending.recovery.is_idle() && !self.sending.board.has_lost() {
            return room.next_new();
        }
        self.sending.recovery.next(&self.sending.board, room)
    }

    /// The room that the windows leave, and the new segment that is ready for it.
    fn room(&self) -> Room {
        let sending = &self.sending;
        let (window, pipe) = sending.window_and_pipe();
        Room {
            usable: window.saturating_sub(pipe + sending.polls.held_back()),
            smss: sending.smss,
            new: self.new_segment_len(),
        }
    }

    /// Length of the new segment that may go as far as the peer's window, Nagle's rule and the avoidance
    /// of silly windows are concerned (RFC 9293 §3.7.4 and §3.8.6.2.1).
    fn new_segment_len(&self) -> Option<Bytes> {
        let sending = &self.sending;
        let unsent = sending.sendable();
        let room = sending.peer_room();
        if room.is_zero() || (unsent.is_zero() && !self.fin_may_go()) {
            return None;
        }
        let len = unsent.min(sending.smss).min(room);
        if len == sending.smss || unsent.is_zero() {
            return Some(len);
        }
        if len < unsent {
            // The peer's window cuts it short: worth sending if it is half of all the peer ever offered.
            return (len >= sending.peer_window.greatest() / 2).then_some(len);
        }
        (!self.partial_segment_waits()).then_some(len)
    }

    /// Whether nothing but our FIN is left to send. The FIN of a Fast Open waits for the end of the handshake.
    fn fin_may_go(&self) -> bool {
        let sending = &self.sending;
        sending.fin == Fin::Wanted && sending.queue.is_empty() && self.state.sends_data()
    }

    /// The send buffer is full: it may grow if the congestion window has room (Linux `tcp_should_expand_sndbuf`). One that
    /// does not is as if the user wrote no more.
    #[cold]
    fn grow_send_buffer(&mut self, room: &Room) -> bool {
        if room.usable.is_zero() {
            return false;
        }
        let grows = self.sending.grow_buffer();
        if !grows {
            self.sending.on_application_limited();
        }
        grows
    }

    /// Whether peer and partial segments hold nothing back.
    pub(crate) fn new_segment_may_go(&self) -> bool {
        self.new_segment_len().is_some()
    }

    /// Writes `len` bytes of new data into `out`, with the FIN if they are the last.
    #[inline]
    fn send_new(&mut self, now: Instant, len: Bytes, out: &mut Segment) -> Kind {
        let payload = self.sending.queue.take(u32::try_from(len.0).expect("at most one segment"));
        let fin = self.fin_may_go() && self.sending.peer_room() > len;
        let kind = if fin { Kind::Fin } else { Kind::Data };
        self.tell_writable();
        self.send_first(now, payload, fin, kind, out);
        kind
    }

    /// Writes a segment that is sent for the first time into `out`, and enters it on the scoreboard.
    #[inline]
    fn send_first(&mut self, now: Instant, payload: Payload, fin: bool, kind: Kind, out: &mut Segment) {
        let range = SeqRange::new(self.sending.nxt, payload.len() + u32::from(fin));
        let push = self.sending.queue.is_empty() && self.sending.partial.pushes && !payload.is_empty();
        self.sending.nxt = range.end;
        let new = New { range, payload: payload.clone(), syn: false, fin };
        self.sending.board.push(new, now, self.sending.congestion.cwnd());
        if fin {
            self.sending.fin = Fin::Sent;
            self.change(Change::FinSent);
        }
        if !self.timers.is_set(Timer::Retransmission) && kind != Kind::ZeroWindowProbe {
            self.set_retransmission_timer(self.sending.rto_from(now));
        }
        if self.sending.tail_probe.is_on() {
            self.schedule_tail_probe(now, false);
        }
        let len = Bytes(u64::from(payload.len()));
        if !self.sending.recovery.is_idle() {
            self.tell_recovery(self.sending.board.len() - 1, len, false);
        }
        self.sending.spurious.on_new(len);
        self.tell_departure(now, len, false);
        let flags = stream_flags(push, fin).with(self.poll_flag(len, range.end, false));
        self.begin_segment(out, range.start, flags, payload);
        self.mark_outgoing(out, kind != Kind::ZeroWindowProbe);
        self.complete(now, out);
    }

    /// Writes the segment at `index` of the scoreboard into `out`, to be sent again.
    fn retransmit(&mut self, now: Instant, index: usize, cause: Cause, out: &mut Segment) -> Kind {
        let sent = self.sending.board.get(index).expect("a policy names a segment on the board");
        let (range, payload, fin) = (sent.range, sent.payload.clone(), sent.fin);
        let earlier_copies = sent.transmissions;
        self.sending.board.on_retransmitted(index, now, self.sending.congestion.cwnd());
        self.tell_recovery(index, Bytes(u64::from(payload.len())), true);
        self.sending.spurious.on_retransmitted(now, range);
        self.tell_departure(now, Bytes(u64::from(payload.len())), true);
        let restarts = index == 0
            && cause != Cause::TailLossProbe
            && self.sending.recovery.traits().restarts_timer_for_oldest
            && !self.timers.is_set(Timer::Recovery);
        if (restarts || !self.timers.is_set(Timer::Retransmission)) && self.sending.persist == Persist::Idle {
            self.set_retransmission_timer(self.sending.rto_from(now));
        }
        self.note(now, Decision::Retransmit, cause.id(), range.start, range.len());
        let poll = self.poll_flag(Bytes(u64::from(payload.len())), range.end, true);
        let push = !payload.is_empty() && self.pushes_again(range.end);
        self.begin_segment(out, range.start, stream_flags(push, fin).with(poll), payload);
        self.complete(now, out);
        Kind::Retransmission { cause, earlier_copies }
    }

    fn tell_recovery(&mut self, index: usize, len: Bytes, again: bool) {
        let sending = &mut self.sending;
        let srtt = sending.rto.srtt();
        sending.recovery.on_sent(&SentEvent { index, len, again, srtt }, &mut sending.board);
    }

    fn tell_departure(&mut self, now: Instant, len: Bytes, retransmission: bool) {
        let sending = &mut self.sending;
        if sending.congestion_traits.observes_sends {
            let (flight, rto) = (sending.board.outstanding(), sending.rto.base_length());
            let (application_limited, advertised) =
                (sending.queue.is_empty(), sending.peer_window.greatest());
            sending.congestion.on_sent(&SendEvent {
                now,
                len,
                flight,
                retransmission,
                application_limited,
                advertised,
                rto,
            });
        }
        self.pace(now, len);
    }

    /// A probe of the peer's closed window: a byte beyond it, which the peer must answer (RFC 9293 §3.8.6.1). If the
    /// window is open and only too small to be worth a segment, as much as fits is sent (the override timeout of
    /// §3.8.6.2.1).
    #[cold]
    fn probe(&mut self, now: Instant, probes: u32, out: &mut Segment) -> Option<Kind> {
        self.sending.persist = Persist::Probing { probes: probes + 1, due: false };
        if !self.sending.board.is_empty() {
            return Some(self.retransmit(now, 0, Cause::Probe, out));
        }
        if self.sending.queue.is_empty() {
            return (self.sending.fin == Fin::Wanted).then(|| {
                self.send_first(now, Payload::EMPTY, true, Kind::ZeroWindowProbe, out);
                Kind::ZeroWindowProbe
            });
        }
        let room = self.sending.peer_room().min(self.sending.smss).min(self.sending.queue.len());
        let kind = if room.is_zero() { Kind::ZeroWindowProbe } else { Kind::Data };
        if kind == Kind::Data {
            self.stop_probing();
        }
        let payload = self.sending.queue.take(u32::try_from(room.0).expect("at most one segment").max(1));
        self.send_first(now, payload, false, kind, out);
        if self.sending.queue.is_empty() {
            out.flags = out.flags.with(Flags::PSH);
        }
        Some(kind)
    }

    /// Sets the persist timer where nothing is outstanding and the peer's window holds data back: without a probe
    /// the window update that opens it could be lost for good (RFC 9293 §3.8.6.1).
    fn watch_peer_window(&mut self, now: Instant) {
        let sending = &self.sending;
        let waits = !sending.queue.is_empty() || sending.fin == Fin::Wanted;
        let held_back = waits && sending.board.is_empty() && self.may_send_data();
        if held_back && sending.persist == Persist::Idle && self.new_segment_len().is_none() {
            self.timers.set(Timer::Persist, sending.rto_from(now));
            self.sending.persist = Persist::Probing { probes: 0, due: false };
        }
    }

    /// An ACK of its own, if one is due.
    #[inline]
    fn poll_ack(&mut self, now: Instant, out: &mut Segment) -> Option<Kind> {
        let kind = match self.receiving.ack_due {
            AckDue::No | AckDue::Delayed => return None,
            AckDue::Now => Kind::Ack,
            AckDue::WindowUpdate => Kind::WindowUpdate,
        };
        self.begin_segment(out, self.sending.acceptable_seq(), Flags::empty(), Payload::EMPTY);
        self.complete(now, out);
        Some(kind)
    }

    /// Fills in the fields that every segment of a synchronised connection carries: acknowledgment, window and options.
    /// No ACK is due after it.
    pub(crate) fn complete(&mut self, now: Instant, segment: &mut Segment) {
        let ack = self.receiving.next_ack(segment.seq_len() == 0);
        self.mark_outgoing(segment, false);
        segment.flags = segment.flags.with(Flags::ACK);
        segment.ack = ack;
        segment.window = self.receiving.offer(ack, self.agreed.receive_shift);
        if self.agreed.timestamps {
            segment.options.timestamps = Some(self.receiving.timestamps(now));
        }
        if self.agreed.sack && segment.payload.is_empty() {
            self.add_sack_blocks(segment);
        }
        if segment.payload.is_empty() {
            self.add_accecn_option(segment);
        }
        let more = !self.receiving.planned_acks.is_empty();
        self.receiving.ack_due = if more { AckDue::Now } else { AckDue::No };
        self.receiving.last_ack_sent = ack;
        self.receiving.ack_policy.on_ack_sent();
        self.timers.clear(Timer::DelayedAck);
    }

    /// The SACK option (RFC 2018 §4); its first block is the D-SACK, if one is due (RFC 2883 §4).
    fn add_sack_blocks(&mut self, segment: &mut Segment) {
        let duplicate = self.receiving.duplicate.take();
        if duplicate.is_none() && !self.receiving.stream.has_gap() {
            return;
        }
        // Timestamps take the room of one block (RFC 2018 §3).
        let room = if self.agreed.timestamps { 3 } else { 4 };
        if let Some(range) = duplicate {
            segment.options.sack.push(range);
        }
        let left = room - segment.options.sack.len();
        for block in self.receiving.stream.sack_blocks(left).as_slice() {
            segment.options.sack.push(self.receiving.with_fin(*block));
        }
    }

    /// Reports once that the backlog has become low.
    fn tell_writable(&mut self) {
        let low = self.sending.queue.len() < LOW_WATER && !self.sending.is_closing();
        if low && !self.sending.told_writable {
            self.events.push_back(crate::Event::Writable);
        }
        self.sending.told_writable = low;
    }
}

/// The backlog below which [`crate::Event::Writable`] is reported; more than the window of any link that is a last hop.
const LOW_WATER: Bytes = Bytes(1 << 18);

fn stream_flags(push: bool, fin: bool) -> Flags {
    let flags = if push { Flags::PSH } else { Flags::empty() };
    if fin { flags.with(Flags::FIN) } else { flags }
}
