//! The handshake, as it concerns the sender: our SYN, the options that were agreed, the first windows.

use std::sync::Arc;

use units::{Bytes, Instant, Seq, SeqRange};
use wire::{Payload, Segment};

use super::peer_window::PeerWindow;
use super::polls::Polls;
use super::stream::SegmentLen;
use super::tail_loss_probe::TailLossProbe;
use super::{Acknowledgment, SendHalf};
use crate::options::{Agreed, DEFAULT_MSS};
use crate::recovery::Recovery;
use crate::rto::Estimate;
use crate::scoreboard::{Mark, New};
use crate::spurious::Needs;
use crate::timers::{Timer, Timers};
use crate::{Cause, Decision, Kind};

impl SendHalf {
    /// Whether our SYN was sent.
    pub(crate) fn has_sent_syn(&self) -> bool {
        self.nxt != self.iss
    }

    /// Number of times that our SYN was sent; 0 once it is acknowledged.
    pub(crate) fn syns_sent(&self) -> u32 {
        self.board.front().map_or(0, |syn| syn.transmissions)
    }

    /// Our SYN leaves for the first time.
    pub(crate) fn send_syn(&mut self, now: Instant, timers: &mut Timers) {
        let range = SeqRange::new(self.iss, 1);
        self.board.push(New { range, payload: Payload::EMPTY, syn: true, fin: false }, now, Bytes::ZERO);
        self.nxt = range.end;
        timers.set(Timer::Retransmission, self.rto_from(now));
    }

    /// Our SYN leaves again, if its timer has expired.
    pub(crate) fn resend_syn(&mut self, now: Instant) -> Option<Kind> {
        let oldest = self.board.front()?;
        let Mark::Lost(cause) = oldest.mark else { return None };
        let earlier_copies = oldest.transmissions;
        self.board.on_retransmitted(0, now, Bytes::ZERO);
        Some(Kind::Retransmission { cause, earlier_copies })
    }

    /// Our SYN cannot arrive as it was sent.
    pub(crate) fn give_up_syn(&mut self) {
        self.board.mark_lost(0, Cause::Handshake);
    }

    /// The unsent data leave with our SYN, up to `room` bytes (RFC 7413 §4.2.1); `None` if there are none.
    pub(crate) fn send_with_syn(&mut self, now: Instant, room: Bytes) -> Option<Payload> {
        let len = self.sendable().min(room);
        if len.is_zero() {
            return None;
        }
        let payload = self.stream.take(SegmentLen::of(len));
        let range = SeqRange::new(self.nxt, payload.len());
        self.board.push(New { range, payload: payload.clone(), syn: false, fin: false }, now, Bytes::ZERO);
        self.nxt = range.end;
        // Linux pushes them (`tcp_send_syn_data`).
        self.records_end.push_back(range.end);
        Some(payload)
    }

    /// Takes over window and segment size of the peer's SYN.
    pub(crate) fn take_syn(&mut self, segment: &Segment, agreed: &Agreed) {
        self.smss = agreed.smss;
        let peer = Bytes(u64::from(segment.options.mss.unwrap_or(DEFAULT_MSS)));
        self.mtu.on_syn(peer.saturating_sub(agreed.clamped_mss() - agreed.smss), agreed.smss);
        self.stream.clamp_mss(agreed.clamped_mss());
        // A window field on a SYN is never scaled (RFC 7323 §2.2).
        let window = Bytes(u64::from(segment.window));
        self.peer_window = PeerWindow::of_syn(window, segment.seq, segment.ack);
    }

    /// Segments have another size than the SYN announced; none has left yet.
    pub(crate) fn take_segment_size(&mut self, agreed: &Agreed) {
        self.mtu.make_room(self.smss.saturating_sub(agreed.smss));
        self.smss = agreed.smss;
    }

    /// Data may leave before our SYN is acknowledged: the peer's window is for them.
    pub(crate) fn open_before_ack(&mut self) {
        self.peer_window.begin_after_syn();
    }

    /// The SYN-ACK acknowledges our SYN.
    pub(crate) fn on_syn_ack(
        &mut self,
        now: Instant,
        segment: &Segment,
        agreed: &Agreed,
        timers: &mut Timers,
    ) {
        let mut ack = Acknowledgment::new(now, segment, agreed, Bytes::ZERO);
        self.acknowledge(&mut ack);
        self.una = ack.number();
        self.stream.on_acked(ack.acked.bytes);
        self.mtu.on_opened();
        self.rto.on_answer();
        if self.take_sample(&ack).is_some() {
            self.rto.end_backoff();
        }
        timers.clear(Timer::Retransmission);
    }

    /// The data that left with our SYN are not acknowledged, and leave again (RFC 7413 §4.2.2).
    pub(crate) fn resend_syn_data(&mut self, now: Instant, number: Seq) {
        self.note(now, Decision::Fallback, "the data of the SYN are not acknowledged", number, 0);
        self.board.cut(self.smss);
        for index in 0..self.board.len() {
            self.board.mark_lost(index, Cause::Handshake);
        }
    }

    /// Starts the retransmission timer for data that left with our SYN.
    pub(crate) fn time_syn_data(&mut self, now: Instant, timers: &mut Timers) {
        if !self.board.is_empty() {
            self.set_retransmission_timer(self.rto_from(now), timers);
        }
    }

    /// Our SYN is acknowledged in SYN-RECEIVED; with a Fast Open the windows have started before.
    pub(crate) fn on_established(&mut self, now: Instant, started: bool, timers: &mut Timers) {
        self.synchronised = true;
        if started {
            self.report_handshake();
        }
        if !self.board.is_empty() {
            self.start_retransmission_timer(self.rto_deadline(now), timers);
        }
    }

    /// Replaces algorithms that need options which were not agreed.
    pub(crate) fn settle(&mut self, now: Instant, agreed: &Agreed) {
        self.settle_recovery(now, agreed);
        self.settle_evidence(now, agreed);
        self.tail_probe.settle(self.recovery.traits().probes_tail);
    }

    fn settle_recovery(&mut self, now: Instant, agreed: &Agreed) {
        if self.recovery.traits().needs_timestamps && !agreed.timestamps {
            self.set_recovery(crate::recovery::without_timestamps());
            self.note(now, Decision::Fallback, "the peer gives no timestamps: SACK", self.una, 0);
        }
        if self.recovery.traits().needs_sack && !agreed.sack {
            // RFC 6675 §1: without SACK information NewReno is the algorithm to fall back on.
            let choice = self.recovery.traits().without_sack;
            self.set_recovery(crate::recovery::without_sack(choice));
            self.note(now, Decision::Fallback, "the peer does not permit SACK: NewReno", self.una, 0);
        }
    }

    fn set_recovery(&mut self, recovery: Box<dyn Recovery>) {
        self.has_own_timer = recovery.traits().replaces_timer;
        self.tail_probe = TailLossProbe::default();
        self.recovery = recovery;
    }

    fn settle_evidence(&mut self, now: Instant, agreed: &Agreed) {
        let reason = match self.spurious.needs() {
            Needs::Timestamps if !agreed.timestamps => "the peer gives no timestamps: no detection",
            Needs::Dsack if !agreed.sack => "the peer does not permit SACK: no detection",
            _ => return,
        };
        self.spurious.disable();
        self.note(now, Decision::Fallback, reason, self.una, 0);
    }

    /// Both ends know dummy segments.
    pub(crate) fn start_dummies(&mut self, now: Instant) {
        self.congestion.start_dummies(now, self.rto.srtt(), self.peer_window.size());
    }

    /// Whether a dummy segment leaves now. It has the data of the first segment of the stream, whose number is returned
    /// with it.
    pub(crate) fn take_dummy(&mut self) -> Option<(Seq, Payload)> {
        let len = self.smss.0 as u32;
        self.congestion.take_dummy().then(|| (self.iss + 1, Payload::Pattern { offset: 0, len }))
    }

    /// A dummy segment has arrived at the peer.
    pub(crate) fn on_dummy_acked(&mut self, now: Instant) {
        self.congestion.on_dummy_acked();
        self.note(now, Decision::Ack, "of a dummy segment", self.una, 0);
    }

    /// Whether a rate of ACKs is requested by an option.
    pub(crate) fn requests_acks(&self) -> bool {
        self.polls.requests()
    }

    /// The peer does not answer polls or requests: none are sent.
    pub(crate) fn stop_polling(&mut self) {
        self.polls = Polls::new(crate::poll::unanswered());
    }

    /// The handshake is done at this end: the windows start. `synchronised`: the peer has acknowledged our SYN.
    pub(crate) fn start(&mut self, now: Instant, synchronised: bool) {
        self.synchronised = synchronised;
        let smss = self.mtu.begin(now);
        self.smss = smss;
        let initial = self.config.plain.initial_window.bytes(smss);
        // RFC 5681 §3.1: after a lost SYN the first window is one segment.
        let syn_lost = self.rto.timeouts() > 0;
        let window = if syn_lost { smss } else { initial };
        if syn_lost {
            self.rto.on_lost_syn();
        }
        self.congestion.seed(u64::from(self.iss.0));
        self.congestion.start(smss, window);
        self.report_handshake();
        self.set_first_threshold(now, window);
        self.grow_buffer();
    }

    /// Reports the round trip of the handshake to a model of the path.
    fn report_handshake(&mut self) {
        if let (Some(rtt), Some(model)) = (self.rto.srtt(), self.congestion.path_model()) {
            model.on_handshake(rtt);
        }
    }

    /// The first slow-start threshold, where an earlier connection or the profile names one.
    fn set_first_threshold(&mut self, now: Instant, window: Bytes) {
        let (threshold, reason) = match (self.inherited_ssthresh, self.config.plain.initial_ssthresh) {
            // RFC 9040 §6: the window itself is not inherited, only where slow start ends.
            (Some(inherited), _) => (inherited, "from an earlier connection to the peer"),
            (None, Some(threshold)) => (threshold.bytes(self.smss), "a threshold of the profile"),
            (None, None) => return,
        };
        self.congestion.on_restore(window, threshold.max(self.smss * 2));
        self.note(now, Decision::Inherit, reason, self.una, 0);
    }

    /// Begins with the round-trip estimate of an earlier connection.
    pub(crate) fn inherit_estimate(&mut self, estimate: Estimate) {
        self.rto.inherit(estimate);
    }

    /// Begins with the slow-start threshold of an earlier connection.
    pub(crate) const fn inherit_ssthresh(&mut self, ssthresh: Bytes) {
        self.inherited_ssthresh = Some(ssthresh);
    }

    /// Back to before the handshake, after a passive open that failed. The unsent data and the records stay.
    pub(crate) fn restart(&mut self) {
        let config = Arc::clone(&self.config);
        let mut earlier = std::mem::replace(self, Self::new(&config, self.iss));
        self.stream.take_unsent_of(&mut earlier.stream);
        self.records = earlier.records;
    }
}
