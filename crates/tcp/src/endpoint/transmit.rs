//! Choice of the next segment, in order of precedence, and the fields that all segments carry.

use units::{Instant, Seq};
use wire::{AckScheme, Ecn, Flags, Payload, Segment};

use super::{Endpoint, Event};
use crate::options::Agreed;
use crate::receive_half::AckDue;
use crate::send_half::{Allowed, Departure};
use crate::state::{Change, State};
use crate::timers::Timer;
use crate::{Kind, Transmit};

impl Endpoint {
    /// The next segment to send, if there is one.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        let mut segment = Segment::default();
        self.poll_transmit_into(now, &mut segment).map(|kind| Transmit { segment, kind })
    }

    /// Writes the next segment to send into `out` and returns its purpose; `None` if there is nothing to send. Every
    /// field of `out` is overwritten, so that one slot serves any number of segments; its content after `None` means
    /// nothing.
    #[inline]
    pub fn poll_transmit_into(&mut self, now: Instant, out: &mut Segment) -> Option<Kind> {
        if self.has_nothing_to_send() {
            self.timers.clear(Timer::Recovery);
            return None;
        }
        self.poll_some(now, out)
    }

    /// Whether no segment can be due, as in most polls of a receiver.
    #[inline]
    fn has_nothing_to_send(&self) -> bool {
        matches!(self.receive.ack_due(), AckDue::No | AckDue::Delayed)
            && self.send.has_nothing_left()
            && self.outbox.is_empty()
            && !matches!(self.state, State::SynSent | State::SynReceived)
    }

    /// The next segment to send, of whatever kind.
    fn poll_some(&mut self, now: Instant, out: &mut Segment) -> Option<Kind> {
        if !self.outbox.is_empty() {
            return self.poll_outbox(now, out);
        }
        if matches!(self.state, State::SynSent | State::SynReceived)
            && let Some(kind) = self.poll_syn(now, out)
        {
            return Some(kind);
        }
        if self.send.has_nothing_left() {
            // A mere receiver has nothing but acknowledgments to send.
            self.timers.clear(Timer::Recovery);
            return self.poll_ack(now, out);
        }
        self.poll_stream(now, out)
    }

    #[cold]
    fn poll_outbox(&mut self, now: Instant, out: &mut Segment) -> Option<Kind> {
        let Transmit { segment, kind } = self.outbox.pop_front()?;
        *out = segment;
        // A reset without ACK answers a segment that belongs to no connection, and has none of its options.
        let ends = kind == Kind::Reset && out.flags.contains(Flags::ACK) && out.ack == self.receive.next();
        if ends && self.agreed.timestamps && self.config.plain.timestamps_on_reset {
            out.options.timestamps = Some(self.receive.timestamps(now));
        }
        Some(kind)
    }

    /// The next segment of an end that has data to send or awaits an ACK.
    fn poll_stream(&mut self, now: Instant, out: &mut Segment) -> Option<Kind> {
        let allowed = self.allowed();
        if let Some(departure) = self.send.poll(now, allowed, &mut self.timers) {
            return Some(self.depart(now, departure, out));
        }
        if self.agreed.dummies && self.state.sends_data() && self.poll_dummy(now, out) {
            return Some(Kind::Dummy);
        }
        let ack = self.poll_ack(now, out);
        if ack.is_none() {
            self.send.watch_peer_window(now, allowed, &mut self.timers);
        }
        ack
    }

    /// Writes a dummy segment into `out`, if one leaves now.
    fn poll_dummy(&mut self, now: Instant, out: &mut Segment) -> bool {
        let Some((seq, payload)) = self.send.take_dummy() else { return false };
        self.begin_segment(out, seq, Flags::DUMMY, payload);
        self.complete(now, out);
        true
    }

    /// Data that the state of the connection permits to send.
    #[inline]
    pub(super) fn allowed(&self) -> Allowed {
        let Agreed { polls, ack_scheme, requests_acks, .. } = self.agreed;
        let requests = if requests_acks { ack_scheme } else { None };
        Allowed { data: self.may_send_data(), fin: self.state.sends_data(), polls, requests }
    }

    /// Whether data may be sent: also before the handshake is done, by a server that has accepted a Fast Open cookie.
    #[inline]
    pub(super) const fn may_send_data(&self) -> bool {
        self.state.sends_data() || (self.fast_open.is_accepted() && matches!(self.state, State::SynReceived))
    }

    /// Writes a segment of the stream into `out`.
    #[inline]
    fn depart(&mut self, now: Instant, departure: Departure, out: &mut Segment) -> Kind {
        let Departure { seq, flags, payload, request, kind, first_fin, writable } = departure;
        if writable {
            self.events.push_back(Event::Writable);
        }
        if first_fin {
            self.change(Change::FinSent);
        }
        self.begin_segment(out, seq, flags, payload);
        out.options.ack_rate = request;
        if !matches!(kind, Kind::Retransmission { .. }) {
            self.mark_outgoing(out, kind != Kind::ZeroWindowProbe);
        }
        if !out.payload.is_empty() {
            self.receive.on_data_sent(now);
        }
        self.complete(now, out);
        kind
    }

    /// An ACK of its own, if one is due.
    #[inline]
    fn poll_ack(&mut self, now: Instant, out: &mut Segment) -> Option<Kind> {
        let kind = match self.receive.ack_due() {
            AckDue::No | AckDue::Delayed => return None,
            AckDue::Now => Kind::Ack,
            AckDue::WindowUpdate => Kind::WindowUpdate,
        };
        self.begin_segment(out, self.send.acceptable_seq(), Flags::empty(), Payload::EMPTY);
        self.complete(now, out);
        Some(kind)
    }

    /// A segment with the fields that all of ours share.
    pub(super) fn segment(&self, seq: Seq, flags: Flags, payload: Payload) -> Segment {
        let mut segment = Segment::default();
        self.begin_segment(&mut segment, seq, flags, payload);
        segment
    }

    /// The same in place: nothing of the earlier content of `out` is kept.
    #[inline]
    fn begin_segment(&self, out: &mut Segment, seq: Seq, flags: Flags, payload: Payload) {
        out.source_port = self.ports.local;
        out.destination_port = self.ports.remote;
        out.seq = seq;
        out.ack = Seq::default();
        out.flags = flags;
        out.window = 0;
        out.options.clear();
        out.ecn = Ecn::NotCapable;
        out.payload = payload;
    }

    /// Fills in the fields that every segment of a synchronised connection carries: acknowledgment, window and options.
    /// No ACK is due after it.
    pub(super) fn complete(&mut self, now: Instant, segment: &mut Segment) {
        let ack = self.receive.next_ack(segment.seq_len() == 0);
        self.mark_outgoing(segment, false);
        if self.agreed.ack_scheme == Some(AckScheme::AckCc) && segment.seq_len() == 0 {
            self.mark_pure_ack(segment);
        }
        segment.flags = segment.flags.with(Flags::ACK);
        segment.ack = ack;
        segment.window = self.receive.offer(ack, self.agreed.receive_shift);
        if self.agreed.timestamps {
            segment.options.timestamps = Some(self.receive.timestamps(now));
        }
        if self.agreed.sack && segment.payload.is_empty() {
            self.receive.add_sack_blocks(&mut segment.options);
        }
        self.add_accecn_option(now, segment);
        self.receive.on_ack_sent(ack, &mut self.timers);
    }
}
