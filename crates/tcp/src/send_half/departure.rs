//! Which segment of the stream leaves next, in the order in which the sender considers them.

use units::{Bytes, Instant, Seq, SeqRange};
use wire::{AckRate, AckScheme, Flags, Payload};

use super::SendHalf;
use super::mtu_search::Verdict;
use super::offload::{Moment, SegmentationOffload};
use super::pacing::PacedSender;
use super::stream::SegmentLen;
use crate::congestion::SendEvent;
use crate::poll::Outgoing;
use crate::recovery::{Next, Room, SentEvent};
use crate::scoreboard::New;
use crate::timers::{Timer, Timers};
use crate::{Cause, Decision, Kind};

/// Permissions of the connection's state, and requirements of its options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowed {
    /// Data may leave.
    pub data: bool,
    /// Our FIN may leave. That of a Fast Open waits for the end of the handshake.
    pub fin: bool,
    /// Segments may ask for ACKs.
    pub polls: bool,
    /// The option by which segments may request a rate of ACKs.
    pub requests: Option<AckScheme>,
}

/// A segment of the stream that leaves now.
#[derive(Debug)]
pub(crate) struct Departure {
    /// Its sequence number.
    pub seq: Seq,
    /// Its flags besides ACK.
    pub flags: Flags,
    /// Its data.
    pub payload: Payload,
    /// The rate of ACKs that it requests.
    pub request: Option<AckRate>,
    /// Its purpose.
    pub kind: Kind,
    /// It is the first with our FIN.
    pub first_fin: bool,
    /// The unsent data have become few, which the user does not know yet.
    pub writable: bool,
}

impl SendHalf {
    /// The next segment of the stream, new or again, or a probe of the peer's window.
    #[inline]
    pub(crate) fn poll(&mut self, now: Instant, allowed: Allowed, timers: &mut Timers) -> Option<Departure> {
        let mut room = self.room(allowed);
        if room.new.is_none() && self.buffer_is_full() && self.grow_full_buffer(&room) {
            room = self.room(allowed);
        }
        if self.mtu.is_on() {
            match self.judge_mtu_probe(now, allowed) {
                Verdict::No => {}
                Verdict::Waits => return None,
                Verdict::Probes(len) => return Some(self.send_mtu_probe(now, len, allowed, timers)),
            }
        }
        match self.next(now, allowed, &room, timers) {
            Next::Retransmit { index, cause } => {
                return Some(self.retransmit(now, index, cause, allowed, timers));
            }
            Next::New => {
                return Some(self.send_new(now, room.new.unwrap_or(Bytes::ZERO), allowed, timers));
            }
            Next::Nothing => self.watch_recovery_deadline(now, allowed, timers),
        }
        if self.persist.is_due() { self.probe(now, allowed, timers) } else { None }
    }

    /// Data and FIN, new or again.
    #[inline]
    fn next(&mut self, now: Instant, allowed: Allowed, room: &Room, timers: &mut Timers) -> Next {
        if !allowed.data {
            return Next::Nothing;
        }
        if let Some(until) = self.pacer.holds_until(now) {
            timers.set(Timer::Pacing, until);
            return Next::Nothing;
        }
        if let Some(next) = self.spurious.next(room) {
            return next;
        }
        if self.tail_probe.is_due() {
            return self.next_tail_probe(room);
        }
        if self.recovery.is_idle() && !self.board.has_lost() {
            return if self.waits_for_burst(now, room) { Next::Nothing } else { room.next_new() };
        }
        self.recovery.next(&self.board, room)
    }

    /// Whether new data wait until a larger burst may leave.
    #[inline]
    fn waits_for_burst(&mut self, now: Instant, room: &Room) -> bool {
        let Some(rule) = self.bursts.rule().copied() else { return false };
        if room.new.is_none_or(|len| len > room.usable) || self.bursts.continues(now) {
            return false;
        }
        let permitted = room.usable.min(self.peer_room());
        let unsent = self.sendable();
        let is_last = unsent <= self.smss || (unsent <= permitted && self.stream.wants_fin());
        !is_last && !self.begins_burst(now, rule, permitted)
    }

    fn begins_burst(&mut self, now: Instant, rule: SegmentationOffload, room: Bytes) -> bool {
        let sender = self.paced_sender();
        let moment = Moment {
            now,
            room,
            window: self.congestion.cwnd().min(self.peer_window.size()),
            burst: rule.burst(&sender, self.rto.min_rtt()),
            oldest_sent: self.board.get(0).map(|oldest| oldest.last_sent),
            srtt: self.rto.srtt(),
        };
        self.bursts.begin(rule, &moment)
    }

    /// The room that the windows leave, and the new segment that is ready for it.
    #[inline]
    fn room(&self, allowed: Allowed) -> Room {
        let (window, pipe) = self.window_and_pipe();
        let window = if self.pacer.is_rate_based() { self.rate_based_window(window) } else { window };
        Room {
            usable: window.saturating_sub(pipe + self.polls.held_back()),
            smss: self.smss,
            new: self.new_segment_len(allowed),
        }
    }

    /// The window where the rate decides when segments leave: once there is a rate, and while nothing is missing.
    fn rate_based_window(&self, window: Bytes) -> Bytes {
        let has_rate = self.rto.srtt().is_some() && !self.is_repairing();
        if has_rate { self.pacer.permitted(window) } else { window }
    }

    /// Length of the new segment that the peer's window, Nagle's rule and the avoidance of silly windows permit (RFC
    /// 9293 §3.7.4 and §3.8.6.2.1).
    #[inline]
    pub(super) fn new_segment_len(&self, allowed: Allowed) -> Option<Bytes> {
        let unsent = self.sendable();
        let room = self.peer_room();
        let ends = unsent.is_zero() && !(allowed.fin && self.stream.ends_here());
        if room.is_zero() || ends {
            return None;
        }
        let record = self.record_left();
        let len = unsent.min(self.smss).min(room).min(record);
        if len == self.smss || unsent.is_zero() || (len == record && len < unsent) {
            return Some(len);
        }
        if len < unsent {
            // The peer's window cuts it short: worth sending if it is half of the largest window ever offered.
            return (len >= self.peer_window.greatest() / 2).then_some(len);
        }
        (!self.stream.holds_partial(self.partial_segment_waits())).then_some(len)
    }

    /// Whether Nagle's rule holds a small segment back now: while data are unacknowledged, or another small segment.
    #[inline]
    fn partial_segment_waits(&self) -> bool {
        if self.config.plain.minshall {
            return self.small_end.after(self.una);
        }
        !self.board.outstanding().is_zero()
    }

    /// The unsent data up to the end of the record.
    #[inline]
    pub(super) fn record_left(&self) -> Bytes {
        if self.records_end.is_empty() { Bytes::MAX } else { self.record_left_of_some() }
    }

    #[cold]
    fn record_left_of_some(&self) -> Bytes {
        let end = self.records_end.iter().find(|end| end.after(self.nxt));
        end.map_or(Bytes::MAX, |end| Bytes(u64::from(end.since(self.nxt))))
    }

    /// Of the unsent data, the part that the send buffer holds.
    #[inline]
    pub(super) fn sendable(&self) -> Bytes {
        self.stream.sendable(self.board.outstanding(), self.smss, self.greatest_peer_window())
    }

    /// Whether the send buffer alone holds data back.
    fn buffer_is_full(&self) -> bool {
        !self.stream.is_empty() && self.sendable().is_zero()
    }

    /// The send buffer is full: it may grow if the congestion window has room (Linux `tcp_should_expand_sndbuf`). If it
    /// does not, the sender counts as limited by the application.
    #[cold]
    fn grow_full_buffer(&mut self, room: &Room) -> bool {
        if room.usable.is_zero() {
            return false;
        }
        let grows = self.grow_buffer();
        if !grows {
            self.on_application_limited();
        }
        grows
    }

    /// The user waits for room (Linux `tcp_new_space`).
    pub(crate) fn grow_for_user(&mut self) {
        if self.board.pipe() < self.window() {
            self.grow_buffer();
        }
    }

    /// Lets the send buffer grow; returns whether it has grown.
    pub(super) fn grow_buffer(&mut self) -> bool {
        let (cwnd, dupthresh) = (self.congestion.cwnd(), self.dup_threshold());
        self.stream.grow_buffer(cwnd, self.smss, dupthresh)
    }

    /// Sends `len` bytes of new data, with the FIN if they are the last.
    #[inline]
    pub(super) fn send_new(
        &mut self,
        now: Instant,
        len: Bytes,
        allowed: Allowed,
        timers: &mut Timers,
    ) -> Departure {
        let payload = self.stream.take(SegmentLen::of(len));
        let fin = allowed.fin && self.stream.ends_here() && self.peer_room() > len;
        let kind = if fin { Kind::Fin } else { Kind::Data };
        let writable = self.stream.becomes_writable();
        Departure { writable, ..self.send_first(now, payload, fin, kind, allowed, timers) }
    }

    /// Sends a segment for the first time and enters it on the scoreboard.
    #[inline]
    fn send_first(
        &mut self,
        now: Instant,
        payload: Payload,
        fin: bool,
        kind: Kind,
        allowed: Allowed,
        timers: &mut Timers,
    ) -> Departure {
        let range = SeqRange::new(self.nxt, payload.len() + u32::from(fin));
        let push = (self.stream.pushes_end() || self.records_end.contains(&range.end)) && !payload.is_empty();
        self.nxt = range.end;
        if !payload.is_empty() && u64::from(payload.len()) < self.smss.0 {
            self.small_end = range.end;
        }
        let new = New { range, payload: payload.clone(), syn: false, fin };
        self.board.push(new, now, self.congestion.cwnd());
        if fin {
            self.stream.on_fin_sent();
        }
        if !timers.is_set(Timer::Retransmission) && kind != Kind::ZeroWindowProbe {
            self.set_retransmission_timer(self.rto_from(now), timers);
        }
        if self.tail_probe.is_on() {
            self.schedule_tail_probe(now, false, timers);
        }
        let len = Bytes(u64::from(payload.len()));
        if !self.recovery.is_idle() {
            self.report_to_recovery(self.board.len() - 1, len, false);
        }
        self.spurious.on_new(len);
        self.on_departure(now, len, false);
        let poll = self.poll_flag(len, range.end, false, allowed);
        let request = self.ack_request(len, range.end, false, allowed);
        let flags = stream_flags(push, fin).with(poll);
        Departure { seq: range.start, flags, payload, request, kind, first_fin: fin, writable: false }
    }

    /// Sends the segment at `index` of the scoreboard again.
    fn retransmit(
        &mut self,
        now: Instant,
        index: usize,
        cause: Cause,
        allowed: Allowed,
        timers: &mut Timers,
    ) -> Departure {
        if self.mtu.is_on() {
            self.mtu.abandon();
            self.board.split(index, self.smss);
        }
        let sent = self.board.get(index).expect("a policy names a segment on the board");
        let (range, payload, fin) = (sent.range, sent.payload.clone(), sent.fin);
        let earlier_copies = sent.transmissions;
        let len = Bytes(u64::from(payload.len()));
        self.board.on_retransmitted(index, now, self.congestion.cwnd());
        self.report_to_recovery(index, len, true);
        self.spurious.on_retransmitted(now, range);
        self.on_departure(now, len, true);
        let restarts = index == 0
            && cause != Cause::TailLossProbe
            && self.recovery.traits().restarts_timer_for_oldest
            && !timers.is_set(Timer::Recovery);
        if (restarts || !timers.is_set(Timer::Retransmission)) && self.persist.is_idle() {
            self.set_retransmission_timer(self.rto_from(now), timers);
        }
        self.note(now, Decision::Retransmit, cause.id(), range.start, range.len());
        let poll = self.poll_flag(len, range.end, true, allowed);
        let request = self.ack_request(len, range.end, true, allowed);
        let push = !payload.is_empty() && self.pushes_again(range.end);
        let flags = stream_flags(push, fin).with(poll);
        let kind = Kind::Retransmission { cause, earlier_copies };
        Departure { seq: range.start, flags, payload, request, kind, first_fin: false, writable: false }
    }

    /// Whether a retransmission of data up to `end` carries PSH.
    fn pushes_again(&self, end: Seq) -> bool {
        self.config.plain.pushes_retransmissions
            || self.records_end.contains(&end)
            || (end == self.nxt && self.stream.pushes_end())
    }

    fn report_to_recovery(&mut self, index: usize, len: Bytes, again: bool) {
        let srtt = self.rto.srtt();
        self.recovery.on_sent(&SentEvent { index, len, again, srtt }, &mut self.board);
    }

    /// A segment leaves: reports it to congestion control, where that observes departures, and to the pacer.
    #[inline]
    fn on_departure(&mut self, now: Instant, len: Bytes, retransmission: bool) {
        if self.congestion_traits.observes_sends {
            let flight = self.flight_with_unused_room();
            self.congestion.on_sent(&SendEvent {
                now,
                len,
                flight,
                retransmission,
                application_limited: self.stream.is_empty(),
                advertised: self.peer_window.greatest(),
                rto: self.rto.base_length(),
                busy_until: self.busy_until,
            });
        }
        if self.bursts.rule().is_some() {
            self.bursts.on_sent(now, len);
        }
        if self.pacer.is_on() {
            let sender = self.paced_sender();
            self.pacer.on_sent(now, len, &sender);
        }
    }

    /// FlightSize, with the rest of the window that waits for a larger burst.
    #[inline]
    fn flight_with_unused_room(&self) -> Bytes {
        let flight = self.board.outstanding();
        if self.bursts.rule().is_none() || self.stream.is_empty() {
            return flight;
        }
        let rest = self.congestion.cwnd().saturating_sub(flight);
        if self.bursts.leaves_unused(rest) { flight + rest } else { flight }
    }

    fn paced_sender(&mut self) -> PacedSender {
        let paces = self.congestion_traits.paces;
        PacedSender {
            srtt: self.rto.srtt(),
            cwnd: self.congestion.cwnd(),
            window: self.window(),
            ssthresh: self.congestion.ssthresh(),
            flight: self.board.outstanding(),
            smss: self.smss,
            pace: self.congestion.path_model().filter(|_| paces).map(|model| model.pace()),
        }
    }

    /// The flag of a data segment that asks for an ACK, if it does.
    #[inline]
    fn poll_flag(&mut self, len: Bytes, end: Seq, again: bool, allowed: Allowed) -> Flags {
        if !allowed.polls || !self.polls.is_on() {
            return Flags::empty();
        }
        let outgoing = self.outgoing(len, end, again);
        if self.polls.asks(&outgoing) { Flags::POLL } else { Flags::empty() }
    }

    /// The rate of ACKs that a data segment requests, if it does.
    #[inline]
    fn ack_request(&mut self, len: Bytes, end: Seq, again: bool, allowed: Allowed) -> Option<AckRate> {
        let scheme = allowed.requests.filter(|_| !len.is_zero())?;
        let outgoing = self.outgoing(len, end, again);
        self.polls.request(&outgoing).map(|ratio| AckRate { scheme, ratio: Some(ratio) })
    }

    fn outgoing(&self, len: Bytes, end: Seq, again: bool) -> Outgoing {
        let window = self.congestion.cwnd().min(self.peer_window.size());
        Outgoing { len, end, window, smss: self.smss, again, last: self.stream.is_empty() }
    }

    /// The tail loss probe: a new segment where the peer's window has room for it, else the last one again (RFC 8985
    /// §7.3).
    fn next_tail_probe(&mut self, room: &Room) -> Next {
        let last = self.board.len().checked_sub(1);
        match (room.new, last) {
            (Some(len), _) => {
                self.tail_probe.sent(self.nxt + len.0 as u32, false);
                Next::New
            }
            (None, Some(index)) => {
                self.tail_probe.sent(self.nxt, true);
                Next::Retransmit { index, cause: Cause::TailLossProbe }
            }
            (None, None) => {
                self.tail_probe.cancel();
                Next::Nothing
            }
        }
    }

    /// Probes the peer's closed window with a byte beyond it, which the peer must answer (RFC 9293 §3.8.6.1). If the
    /// window is open and only too small to be worth a segment, as much as fits is sent (the override timeout of
    /// §3.8.6.2.1).
    #[cold]
    fn probe(&mut self, now: Instant, allowed: Allowed, timers: &mut Timers) -> Option<Departure> {
        self.persist.end_probe();
        if !self.board.is_empty() {
            return Some(self.retransmit(now, 0, Cause::Probe, allowed, timers));
        }
        if self.stream.is_empty() {
            let fin = self.stream.wants_fin();
            let (empty, kind) = (Payload::EMPTY, Kind::ZeroWindowProbe);
            return fin.then(|| self.send_first(now, empty, true, kind, allowed, timers));
        }
        let room = self.peer_room().min(self.smss).min(self.stream.unsent());
        let kind = if room.is_zero() { Kind::ZeroWindowProbe } else { Kind::Data };
        if kind == Kind::Data {
            self.stop_probing(timers);
        }
        let payload = self.stream.take(SegmentLen::of(room).at_least_one());
        let mut probe = self.send_first(now, payload, false, kind, allowed, timers);
        if self.stream.is_empty() {
            probe.flags = probe.flags.with(Flags::PSH);
        }
        Some(probe)
    }

    /// Sets the persist timer where nothing is outstanding and the peer's window holds data back. Without a probe, the
    /// loss of the window update would stop the connection for good (RFC 9293 §3.8.6.1).
    pub(crate) fn watch_peer_window(&mut self, now: Instant, allowed: Allowed, timers: &mut Timers) {
        let held_back = self.stream.has_more() && self.board.is_empty() && allowed.data;
        if held_back && self.persist.is_idle() && self.new_segment_len(allowed).is_none() {
            timers.set(Timer::Persist, self.rto_from(now));
            self.persist.begin();
        }
    }
}

fn stream_flags(push: bool, fin: bool) -> Flags {
    let flags = if push { Flags::PSH } else { Flags::empty() };
    if fin { flags.with(Flags::FIN) } else { flags }
}
