//! The handshake: active, passive and simultaneous (RFC 9293 §3.5, §3.10.7.2 and §3.10.7.3).

use units::{Instant, SeqRange};
use wire::{Flags, Options, Payload, Segment, Timestamps};

use super::{CloseReason, Endpoint, Event};
use crate::options::{Agreed, offer};
use crate::state::{Change, State};
use crate::timers::Timer;
use crate::timestamp::Timestamp;
use crate::{Decision, Kind, Transmit};

impl Endpoint {
    /// Writes the SYN or SYN-ACK into `out` if it is due: at first, and when its timer has expired.
    #[cold]
    pub(super) fn poll_syn(&mut self, now: Instant, out: &mut Segment) -> Option<Kind> {
        if !self.send.has_sent_syn() {
            self.send.send_syn(now, &mut self.timers);
            self.begin_open_timeout(now);
            *out = self.syn(now);
            self.add_fast_open(now, out);
            return Some(Kind::Syn);
        }
        let kind = self.send.resend_syn(now)?;
        *out = self.syn(now);
        Some(kind)
    }

    /// Our SYN, or our SYN-ACK if the peer's SYN has arrived.
    fn syn(&mut self, now: Instant) -> Segment {
        let answers = self.state == State::SynReceived;
        let understood = if answers { self.agreed.polls } else { self.config.understands_polls() };
        let polls = if understood { Flags::POLL } else { Flags::empty() };
        let dummies = if answers { self.agreed.dummies } else { self.config.knows_dummies() };
        let dummies = if dummies { Flags::DUMMY } else { Flags::empty() };
        let flags = Flags::SYN.with(self.ecn_offer(answers)).with(polls).with(dummies);
        let mut segment = self.segment(self.send.iss(), flags, Payload::EMPTY);
        let clock = self.receive.timestamps(now);
        let unscaled = self.receive.offer_on_syn(self.config.plain.mss);
        if answers {
            self.complete(now, &mut segment);
            segment.options = offer(&self.config, Some(&self.peer_offers()), clock);
            self.receive.open(unscaled);
        } else {
            segment.options = offer(&self.config, None, clock);
            if self.drops_syn_options() {
                segment.options = keep_mss(&segment.options);
            }
        }
        segment.window = unscaled;
        self.complete_ecn_of_syn(&mut segment, answers);
        segment
    }

    /// Whether our SYN carries no option but the segment size: it may be an option that the path drops.
    fn drops_syn_options(&self) -> bool {
        self.config.plain.drops_syn_options && self.send.syns_sent() > SYNS_WITH_OPTIONS
    }

    /// The options of the peer's SYN, as far as our answer depends on them.
    fn peer_offers(&self) -> wire::Options {
        wire::Options {
            window_scale: self.peer_scales.then_some(self.agreed.send_shift),
            sack_permitted: self.agreed.sack,
            timestamps: self.agreed.timestamps.then(Timestamps::default),
            ack_rate: self.agreed.ack_scheme.map(|scheme| wire::AckRate { scheme, ratio: None }),
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
        let sent = SeqRange { start: self.send.iss(), end: self.send.nxt() };
        if acks && (!self.send.has_sent_syn() || !sent.contains(segment.ack - 1)) {
            return self.refuse(segment);
        }
        if acks && self.echoes_nothing_sent(now, segment) {
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

    /// Whether the SYN-ACK echoes a clock value that our SYNs cannot have had (Linux `tcp_rcv_synsent_state_process`).
    fn echoes_nothing_sent(&self, now: Instant, segment: &Segment) -> bool {
        let Some(theirs) = segment.options.timestamps.filter(|theirs| theirs.echo != 0) else { return false };
        self.config.plain.timestamps && Timestamp(theirs.echo).age(now).is_none()
    }

    /// Takes over sequence number, window and options of the peer's SYN.
    fn take_syn(&mut self, now: Instant, segment: &Segment) {
        self.agreed = if self.state == State::SynSent && self.drops_syn_options() {
            Agreed::new(&self.config, &Segment { options: keep_mss(&segment.options), ..segment.clone() })
        } else {
            Agreed::new(&self.config, segment)
        };
        self.peer_scales = segment.options.window_scale.is_some();
        let theirs = segment.options.timestamps.filter(|_| self.agreed.timestamps);
        self.receive.start(segment.seq, theirs, self.agreed.smss, now);
        self.take_ecn_of_syn(now, segment);
        self.send.take_syn(segment, &self.agreed);
    }

    /// The SYN-ACK has arrived: our SYN is acknowledged, and the third segment of the handshake follows.
    fn finish_active_open(&mut self, now: Instant, segment: &Segment) {
        self.send.on_syn_ack(now, segment, &self.agreed, &mut self.timers);
        self.begin(now);
        self.conclude_fast_open(now, segment);
        if self.send.board().has_lost() || self.writer_waits {
            // The data of the SYN that leave again, or those of a waiting user, carry the ACK (Linux
            // `tcp_rcv_fastopen_synack`, `tcp_rcv_synsent_state_process`).
            if self.writer_waits {
                self.receive.expect_reply(now);
            }
            return self.receive.acknowledge_now();
        }
        // It leaves before the user learns of the connection, and so never carries data.
        let mut third = self.segment(self.send.nxt(), Flags::empty(), Payload::EMPTY);
        self.complete(now, &mut third);
        self.outbox.push_back(Transmit { segment: third, kind: Kind::Ack });
    }

    /// Our SYN is acknowledged in SYN-RECEIVED.
    pub(super) fn establish(&mut self, now: Instant) {
        self.timers.clear(Timer::Retransmission);
        self.change(Change::SynAcked);
        let started = self.fast_open.is_accepted();
        if !started {
            self.begin(now);
        }
        self.send.on_established(now, started, &mut self.timers);
    }

    /// The handshake is done at this end: the windows start, and data may flow.
    pub(super) fn begin(&mut self, now: Instant) {
        self.send.settle(now, &self.agreed);
        self.settle_polls(now);
        self.settle_requests(now);
        self.settle_marks(now);
        self.send.start(now, self.state.is_synchronised());
        if self.agreed.dummies {
            self.send.start_dummies(now);
        }
        self.timers.clear(Timer::KeepAlive);
        self.restart_keep_alive(now);
        self.events.push_back(Event::Connected);
        self.send.note(now, Decision::Established, "", self.send.una(), 0);
    }

    /// The peer does not poll, or does not answer polls: each end continues without.
    fn settle_polls(&mut self, now: Instant) {
        if self.agreed.polls || !self.config.understands_polls() {
            return;
        }
        self.send.stop_polling();
        let reason = if self.receive.stop_awaiting_polls() {
            "the peer does not poll: delayed ACKs"
        } else {
            "the peer does not answer polls: none are sent"
        };
        self.send.note(now, Decision::Fallback, reason, self.send.una(), 0);
    }

    /// The peer complies with no requests for a rate of ACKs: none are sent, and two segments are acknowledged at once.
    fn settle_requests(&mut self, now: Instant) {
        if self.agreed.ack_scheme.is_some() || self.config.ack_scheme().is_none() {
            return;
        }
        if self.send.requests_acks() {
            self.send.stop_polling();
        }
        let reason = "the peer complies with no requests for ACKs: delayed ACKs";
        self.send.note(now, Decision::Fallback, reason, self.send.una(), 0);
    }
}

/// The segment size among these options.
fn keep_mss(options: &Options) -> Options {
    Options { mss: options.mss, layout: options.layout, ..Options::default() }
}

/// SYNs with all options where later ones go without: the first and two retransmissions (FreeBSD `tcp_timer_rexmt`).
const SYNS_WITH_OPTIONS: u32 = 3;
