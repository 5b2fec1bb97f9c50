//! What AIMD, Westwood+, HighSpeed TCP, BIC, H-TCP and many others have in common: slow start as in RFC 5681, α segments
//! a round trip in congestion avoidance, a new threshold on a loss. They differ in their [`Policy`].

use units::Bytes;

use super::increase::{Avoidance, Increase};
use super::window::{Alpha, SsthreshUnit, Window};
use super::{AckSample, CongestionControl, CongestionEvent, Traits, is_cwnd_limited};

/// By how much the window grows, and what a loss leaves of it.
pub(super) trait Policy: std::fmt::Debug + Send {
    /// Segments that a round trip of congestion avoidance adds, as of this ACK.
    fn alpha(&mut self, window: &Window, ack: &AckSample) -> Alpha;

    /// What a loss leaves: the new threshold, two segments at least.
    fn kept(&mut self, window: &Window, event: &CongestionEvent) -> Bytes;

    /// What a timeout leaves.
    fn kept_by_timeout(&mut self, window: &Window, event: &CongestionEvent) -> Bytes {
        self.kept(window, event)
    }

    /// Whether every timeout reduces ssthresh, and not only the first of a segment.
    fn every_timeout_reduces(&self) -> bool {
        false
    }

    /// Sees every ACK of new data.
    fn observe(&mut self, _ack: &AckSample) {}

    /// A number that differs from connection to connection, for choices that are to be random.
    fn seed(&mut self, _seed: u64) {}

    /// An ACK came outside of recovery: what was measured may change the window. Whether the window may then grow as usual.
    fn before_growth(&mut self, _window: &mut Window, _ack: &AckSample) -> bool {
        true
    }

    /// Whether the window grows only while it is used to the full (RFC 2861 §3.1), as under every algorithm of Linux
    /// (`tcp_is_cwnd_limited`).
    fn validates(&self) -> bool {
        false
    }

    /// Whether it is told of every ACK that counts marks, and decides how often they reduce the window.
    fn governs_marks(&self) -> bool {
        false
    }

    /// Whether connections of it share a link equally.
    fn shares_equally(&self) -> bool {
        true
    }

    /// Both windows are set by others: a reduction is undone, or an idle time is over.
    fn on_restore(&mut self) {}

    /// What ssthresh is counted in.
    fn ssthresh_unit(&self) -> SsthreshUnit {
        SsthreshUnit::default()
    }

    /// The window after a recovery that would end it at `wanted`.
    fn after_recovery(&self, _window: &Window, wanted: Bytes) -> Bytes {
        wanted
    }

    /// An ACK in slow start.
    fn slow_start(&mut self, window: &mut Window, acked: Bytes) {
        window.slow_start(acked);
    }

    /// Whether a window equal to the threshold still grows as in slow start.
    fn slow_start_when_equal(&self) -> bool {
        false
    }
}

/// An algorithm that is slow start, congestion avoidance, reduction.
#[derive(Debug)]
pub(super) struct Classic<P> {
    policy: P,
    window: Window,
    avoidance: Avoidance,
}

impl<P: Policy> Classic<P> {
    pub const fn new(policy: P, increase: Increase) -> Self {
        Self { policy, window: Window::UNSET, avoidance: Avoidance::new(increase) }
    }

    fn reduce_ssthresh(&mut self, kept: Bytes) {
        self.window.reduce_ssthresh(kept, self.policy.ssthresh_unit());
        self.avoidance.on_reduction();
    }
}

impl<P: Policy> CongestionControl for Classic<P> {
    fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        self.window.start(smss, initial_window);
    }

    fn traits(&self) -> Traits {
        Traits { governs_marks: self.policy.governs_marks(), ..Traits::default() }
    }

    fn seed(&mut self, seed: u64) {
        self.policy.seed(seed);
    }

    fn observe(&mut self, ack: &AckSample) {
        self.policy.observe(ack);
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if !self.policy.before_growth(&mut self.window, ack) {
            return;
        }
        if self.policy.validates() && !is_cwnd_limited(self.cwnd(), ack.flight, self.window.smss) {
            return;
        }
        if self.in_slow_start() {
            self.policy.slow_start(&mut self.window, ack.acked);
        } else {
            let alpha = self.policy.alpha(&self.window, ack);
            self.avoidance.on_ack(&mut self.window, ack.acked, alpha);
        }
    }

    fn on_loss(&mut self, event: &CongestionEvent) {
        let kept = self.policy.kept(&self.window, event);
        self.reduce_ssthresh(kept);
        self.window.reduce_to_ssthresh();
    }

    fn on_timeout(&mut self, event: &CongestionEvent) {
        // RFC 5681 §3.1: the threshold is held when the same segment times out again.
        if !event.repeats_timeout() || self.policy.every_timeout_reduces() {
            let kept = self.policy.kept_by_timeout(&self.window, event);
            self.reduce_ssthresh(kept);
        }
        self.window.collapse();
        self.avoidance.clear();
    }

    fn shares_equally(&self) -> bool {
        self.policy.shares_equally()
    }

    fn on_recovery_exit(&mut self, window: Bytes) {
        let window = self.policy.after_recovery(&self.window, window);
        self.window.set_cwnd(window);
        self.avoidance.on_reduction();
    }

    fn on_restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.window.restore(cwnd, ssthresh);
        self.policy.on_restore();
    }

    fn in_slow_start(&self) -> bool {
        let equal = self.cwnd() == self.ssthresh();
        self.window.is_below_ssthresh() || equal && self.policy.slow_start_when_equal()
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> Bytes {
        self.window.ssthresh
    }
}
