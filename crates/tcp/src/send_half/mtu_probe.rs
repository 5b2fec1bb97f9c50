//! What a search for the path's MTU ([`MtuSearch`](super::mtu_search::MtuSearch)) means for the sender: the probe, its
//! arrival or loss, and a black hole.

use units::{Bytes, Instant};

use super::SendHalf;
use super::departure::{Allowed, Departure};
use super::mtu_search::{Moment, Verdict};
use crate::recovery::{AckEvent, Actions, TimerAction, WindowAction};
use crate::timers::Timers;
use crate::{Cause, Decision};

impl SendHalf {
    /// Whether a probe leaves now.
    pub(super) fn judge_mtu_probe(&mut self, now: Instant, allowed: Allowed) -> Verdict {
        if !allowed.data || self.tail_probe.is_due() || self.pacer.holds_until(now).is_some() {
            return Verdict::No;
        }
        let moment = Moment {
            now,
            undisturbed: self.is_open()
                && !self.has_gap()
                && !self.board.has_lost()
                && self.persist.is_idle(),
            smss: self.smss,
            cwnd: self.congestion.cwnd(),
            pipe: self.board.pipe(),
            unsent: self.sendable().min(self.record_left()),
            window: self.peer_window.size(),
            room: self.peer_room(),
            dupthresh: self.dup_threshold(),
        };
        self.mtu.judge(&moment)
    }

    /// Sends a probe of `len` bytes. It counts as two segments (Linux `tcp_mtu_probe`).
    pub(super) fn send_mtu_probe(
        &mut self,
        now: Instant,
        len: Bytes,
        allowed: Allowed,
        timers: &mut Timers,
    ) -> Departure {
        let departure = self.send_new(now, len, allowed, timers);
        if let Some(probe) = self.board.back() {
            self.mtu.on_sent(probe.range);
        }
        if !self.congestion_traits.governs_recovery {
            let (cwnd, ssthresh) = (self.congestion.cwnd(), self.congestion.ssthresh());
            self.congestion.on_restore(cwnd.saturating_sub(self.smss), ssthresh);
        }
        departure
    }

    /// The path carries the probe: segments become as large.
    #[cold]
    pub(super) fn on_mtu_probe_arrived(&mut self, now: Instant) {
        self.resize_segments(now, "a probe has arrived");
    }

    /// Timeouts suggest that the path drops segments of the present size: all that is outstanding is cut.
    #[cold]
    pub(super) fn on_black_hole(&mut self, now: Instant) {
        self.mtu.abandon();
        self.resize_segments(now, "a black hole");
        self.board.split_all(self.smss);
    }

    /// The host learns that the path carries segments of `len` bytes, options included, and no more. A search continues
    /// with it.
    pub(crate) fn on_path(&mut self, now: Instant, len: Bytes) {
        self.mtu.on_path(len);
        if self.synchronised && !self.mtu.is_on() {
            self.resize_segments(now, "the host knows another MTU");
            self.board.split_all(self.smss);
        }
    }

    fn resize_segments(&mut self, now: Instant, reason: &'static str) {
        let smss = self.mtu.segment();
        if smss == self.smss {
            return;
        }
        self.smss = smss;
        self.congestion.on_segment_size(smss);
        self.note(now, Decision::SegmentSize, reason, self.una, u32::try_from(smss.0).unwrap_or(u32::MAX));
    }

    /// Replaces the actions that begin a repair, where the oldest segment is a probe: its loss is no congestion, and
    /// the window stays (RFC 4821 §7.6.2; Linux `tcp_fastretrans_alert`). Its data leave again in smaller segments, and
    /// no other repair begins before all that is outstanding is acknowledged (`tcp_simple_retransmit`).
    pub(super) fn without_lost_mtu_probe(&mut self, actions: Actions, ack: &AckEvent) -> Actions {
        if !matches!(actions.window, WindowAction::Reduce { .. }) {
            return actions;
        }
        let Some(len) = self.mtu.oldest_probe(self.una) else { return actions };
        self.mtu.on_lost();
        // The window stays: what it would do to it is left out.
        let _ = self.recovery.on_timeout(&ack.as_timeout(self.nxt), &mut self.board);
        self.board.clear_lost();
        for index in 0..self.board.split(0, self.smss) {
            self.board.mark_lost(index, Cause::FastRetransmit);
        }
        if !self.congestion_traits.governs_recovery {
            let (cwnd, ssthresh) = (self.congestion.cwnd(), self.congestion.ssthresh());
            self.congestion.on_restore(cwnd + self.smss, ssthresh);
        }
        let len = u32::try_from(len.0).unwrap_or(u32::MAX);
        self.note(ack.now, Decision::SegmentSize, "the probe is lost", self.una, len);
        Actions::hold(TimerAction::Leave)
    }
}
