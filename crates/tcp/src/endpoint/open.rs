//! The handshake: active, passive and simultaneous (RFC 9293 §3.5, §3.10.7.2 and §3.10.7.3).

use units::{Bytes, Instant, SeqRange};
use wire::{Flags, Payload, Segment, Timestamps};

use crate::endpoint::{CloseReason, Endpoint};
use crate::options::{Agreed, offer};
use crate::receive_half::AckDue;
use crate::scoreboard::{Mark, New};
use crate::send_half::peer_window::PeerWindow;
use crate::spurious::Needs;
use crate::state::{Change, State};
use crate::timers::Timer;
use crate::timestamp::Timestamp;
use crate::{Decision, Event, Kind, Transmit};

impl Endpoint {
    /// Writes the SYN or SYN-ACK into `out` if it is due: at first, and when its timer has run out.
    #[cold]
    pub(crate) fn poll_syn(&mut self, now: Instant, out: &mut Segment) -> Option<Kind> {
        if self.sending.nxt == self.sending.iss {
            let range = SeqRange::new(self.sending.iss, 1);
            let syn = New { range, payload: Payload::EMPTY, syn: true, fin: false };
            self.sending.board.push(syn, now, Bytes::ZERO);
            self.sending.nxt = range.end;
            self.timers.set(Timer::Retransmission, self.sending.rto_from(now));
            *out = self.syn(now);
            self.add_fast_open(now, out);
            return Some(Kind::Syn);
        }
        let oldest = self.sending.board.front()?;
        let Mark::Lost(cause) = oldest.mark else { return None };
        let earlier_copies = oldest.transmissions;
        self.sending.board.on_retransmitted(0, now, Bytes::ZERO);
        *out = self.syn(now);
        Some(Kind::Retransmission { cause, earlier_copies })
    }

    /// Our SYN, or our SYN-ACK if the peer's SYN has arrived.
    fn syn(&mut self, now: Instant) -> Segment {
        let answers = self.state == State::SynReceived;
        let understood = if answers { self.agreed.polls } else { self.config.understands_polls() };
        let polls = if understood { Flags::POLL } else { Flags::empty() };
        let flags = Flags::SYN.with(self.ecn_offer(answers)).with(polls);
        let mut segment = self.segment(self.sending.iss, flags, Payload::EMPTY);
        let clock = self.receiving.timestamps(now);
        let unscaled = self.receiving.offer_on_syn();
        if answers {
            self.complete(now, &mut segment);
            segment.options = offer(&self.config, Some(&self.peer_offers()), clock);
            self.receiving.edge = self.receiving.stream.next() + u32::from(unscaled);
        } else {
            segment.options = offer(&self.config, None, clock);
        }
        segment.window = unscaled;
        segment
    }

    /// The options of the peer's SYN, as far as our answer depends on them.
    fn peer_offers(&self) -> wire::Options {
        wire::Options {
            window_scale: self.peer_scales.then_some(self.agreed.send_shift),
            sack_permitted: self.agreed.sack,
            timestamps: self.agreed.timestamps.then(Timestamps::default),
            ..wire::Options::default()
        }
    }

    /// RFC 9293 §3.10.7.2.
    pub(crate) fn segment_in_listen(&mut self, now: Instant, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        if segment.flags.contains(Flags::ACK) {
            return self.refuse(segment);
        }
        if segment.flags.contains(Flags::SYN) {
            self.ports.remote = segment.source_port;
            self.take_syn(now, segment);
            self.change(Change::SynArrived);
            self.judge_fast_open(now, segment);
        }
    }

    /// RFC 9293 §3.10.7.3.
    pub(crate) fn segment_in_syn_sent(&mut self, now: Instant, segment: &Segment) {
        let acks = segment.flags.contains(Flags::ACK);
        let sent = SeqRange { start: self.sending.iss, end: self.sending.nxt };
        if acks && (self.sending.nxt == self.sending.iss || !sent.contains(segment.ack - 1)) {
            return self.refuse(segment);
        }
        if segment.flags.contains(Flags::RST) {
            if acks {
                self.give_up(CloseReason::Refused);
            }
            return;
        }
        if !segment.flags.contains(Flags::SYN) {
            return;
        }
        self.take_syn(now, segment);
        if acks {
            self.change(Change::SynAckArrived);
            self.finish_active_open(now, segment);
        } else {
            // Simultaneous open (RFC 9293 §3.5, figure 7): our SYN again, now with an ACK of theirs.
            self.change(Change::SynArrived);
            let answer = self.syn(now);
            self.outbox.push_back(Transmit { segment: answer, kind: Kind::Syn });
        }
    }

    /// Takes over sequence number, window and options of the peer's SYN.
    fn take_syn(&mut self, now: Instant, segment: &Segment) {
        self.receiving.start(segment.seq);
        self.agreed = Agreed::new(&self.config, segment);
        self.peer_scales = segment.options.window_scale.is_some();
        if let Some(theirs) = segment.options.timestamps.filter(|_| self.agreed.timestamps) {
            self.receiving.ts_recent = Some((Timestamp(theirs.value), now));
        }
        self.take_ecn_of_syn(now, segment);
        self.sending.smss = self.agreed.smss;
        // A window field on a SYN is never scaled (RFC 7323 §2.2).
        let window = Bytes(u64::from(segment.window));
        self.sending.peer_window = PeerWindow::of_syn(window, segment.seq, segment.ack);
    }

    /// The SYN-ACK has arrived: our SYN is acknowledged, and the third segment of the handshake follows.
    fn finish_active_open(&mut self, now: Instant, segment: &Segment) {
        let acked = self.sending.board.acknowledge(segment.ack);
        self.sending.una = segment.ack;
        self.sending.stream_acked += acked.bytes;
        self.sending.rto.on_answer();
        if self.take_sample(now, segment, &acked, Bytes::ZERO).is_some() {
            self.sending.rto.end_backoff();
        }
        self.timers.clear(Timer::Retransmission);
        self.begin(now);
        self.conclude_fast_open(now, segment);
        if self.sending.board.has_lost() {
            // The data of the SYN that go again carry the ACK (Linux `tcp_rcv_fastopen_synack`).
            self.receiving.ack_due = AckDue::Now;
            return;
        }
        // It goes out before the user hears of the connection, and so never carries data.
        let mut third = self.segment(self.sending.nxt, Flags::empty(), Payload::EMPTY);
        self.complete(now, &mut third);
        self.outbox.push_back(Transmit { segment: third, kind: Kind::Ack });
    }

    /// Our SYN is acknowledged in SYN-RECEIVED.
    pub(crate) fn establish(&mut self, now: Instant) {
        self.timers.clear(Timer::Retransmission);
        self.change(Change::SynAcked);
        if !self.is_fast_open() {
            self.begin(now);
        } else if let Some(rtt) = self.sending.rto.srtt() {
            // The windows have started already, without a sample.
            self.sending.congestion.on_handshake(rtt);
        }
        if !self.sending.board.is_empty() {
            self.start_retransmission_timer(self.sending.rto_deadline(now));
        }
    }

    /// Does without a detector of spurious losses that needs options which were not agreed.
    fn settle_evidence(&mut self, now: Instant) {
        let reason = match self.sending.spurious.needs() {
            Needs::Timestamps if !self.agreed.timestamps => "the peer gives no timestamps: no detection",
            Needs::Dsack if !self.agreed.sack => "the peer does not permit SACK: no detection",
            _ => return,
        };
        self.sending.spurious.disable();
        self.note(now, Decision::Fallback, reason, self.sending.una, 0);
    }

    /// Replaces a recovery algorithm that needs options which were not agreed by a simpler one.
    fn settle_recovery(&mut self, now: Instant) {
        if self.sending.recovery.traits().needs_timestamps && !self.agreed.timestamps {
            self.sending.set_recovery(crate::recovery::without_timestamps());
            self.note(now, Decision::Fallback, "the peer gives no timestamps: SACK", self.sending.una, 0);
        }
        if self.sending.recovery.traits().needs_sack && !self.agreed.sack {
            // RFC 6675 §1: without SACK information NewReno is the algorithm to fall back on.
            self.sending.set_recovery(self.sending.recovery.without_sack());
            self.note(now, Decision::Fallback, "the peer does not permit SACK: NewReno", self.sending.una, 0);
        }
    }

    /// The handshake is done at this end: the windows start, and data may flow.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.settle_recovery(now);
        self.settle_evidence(now);
        self.settle_polls(now);
        self.sending.tail_probe.settle(self.sending.recovery.traits().probes_tail);
        self.settle_marks(now);
        let smss = self.sending.smss;
        let initial = self.config.plain.initial_window.bytes(smss);
        // RFC 5681 §3.1: after a lost SYN the first window is one segment.
        let syn_lost = self.sending.rto.timeouts() > 0;
        let window = if syn_lost { smss } else { initial };
        if syn_lost {
            self.sending.rto.on_lost_syn();
        }
        self.sending.congestion.seed(u64::from(self.sending.iss.0));
        self.sending.congestion.start(smss, window);
        if let Some(rtt) = self.sending.rto.srtt() {
            self.sending.congestion.on_handshake(rtt);
        }
        if let Some(ssthresh) = self.sending.inherited_ssthresh {
            // RFC 9040 §6: the window itself is not inherited, only where slow start ends.
            self.sending.congestion.on_restore(window, ssthresh.max(smss * 2));
            self.note(now, Decision::Inherit, "from an earlier connection to the peer", self.sending.una, 0);
        } else if let Some(threshold) = self.config.plain.initial_ssthresh {
            self.sending.congestion.on_restore(window, threshold.bytes(smss).max(smss * 2));
            self.note(now, Decision::Inherit, "a threshold of the profile", self.sending.una, 0);
        }
        self.sending.grow_buffer();
        self.restart_keep_alive(now);
        self.events.push_back(Event::Connected);
        self.note(now, Decision::Established, "", self.sending.una, 0);
    }
}
