//! The common part of AIMD, Westwood+, HighSpeed TCP, BIC, H-TCP and many others: slow start as in RFC 5681, α segments
//! a round trip in congestion avoidance, a new threshold on a loss. They differ in their [`Policy`].

use units::Bytes;

use super::increase::{Avoidance, Increase};
use super::window::{Alpha, SsthreshUnit, Window};
use super::{AckSample, CongestionControl, CongestionEvent, Traits, is_cwnd_limited};

/// The growth of the window in congestion avoidance, and its reduction.
pub(super) trait Policy: std::fmt::Debug + Send {
    /// Segments that a round trip of congestion avoidance adds, as of this ACK.
    fn alpha(&mut self, window: &Window, ack: &AckSample) -> Alpha;

    /// The threshold after a loss, before it is rounded; two segments at least.
    fn ssthresh_on_loss(&mut self, window: &Window, event: &CongestionEvent) -> Bytes;

    /// The threshold after a timeout.
    fn ssthresh_on_timeout(&mut self, window: &Window, event: &CongestionEvent) -> Bytes {
        self.ssthresh_on_loss(window, event)
    }

    /// The constants of the algorithm with its parameters.
    fn rules(&self) -> Rules {
        Rules::default()
    }

    /// Sees every ACK of new data.
    fn observe(&mut self, _ack: &AckSample) {}

    /// A number that differs from connection to connection, for random choices.
    fn seed(&mut self, _seed: u64) {}

    /// An ACK has arrived outside of recovery: measurements may change the window. Returns whether the window may then
    /// grow as usual.
    fn before_growth(&mut self, _window: &mut Window, _ack: &AckSample) -> bool {
        true
    }

    /// Another part has set both windows: a reduction is undone, or an idle time is over.
    fn on_restore(&mut self) {}

    /// An ACK in slow start.
    fn slow_start(&mut self, window: &mut Window, acked: Bytes) {
        window.slow_start(acked);
    }
}

/// The constants of a policy: where algorithms differ in a rule and not in a formula.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rules {
    /// Unit of ssthresh.
    pub ssthresh_unit: SsthreshUnit,
    /// The window grows only while the flight fills it (RFC 2861 §3.1), as under every algorithm of Linux
    /// (`tcp_is_cwnd_limited`).
    pub is_cwnd_limited_only: bool,
    /// It observes every ACK that counts marks, and decides how often they reduce the window.
    pub governs_marks: bool,
    /// Every timeout reduces ssthresh, and not only the first of a segment.
    pub every_timeout_reduces: bool,
    /// A window equal to the threshold still grows as in slow start.
    pub slow_start_when_equal: bool,
    /// Connections of it that share a link need not get equal shares.
    pub unequal_shares: bool,
    /// The end of a recovery does not raise the window to ssthresh.
    pub keeps_window_at_exit: bool,
}

/// An algorithm that is slow start, congestion avoidance, reduction.
#[derive(Debug)]
pub(super) struct Classic<P> {
    policy: P,
    rules: Rules,
    window: Window,
    avoidance: Avoidance,
}

impl<P: Policy> Classic<P> {
    pub fn new(policy: P, increase: Increase) -> Self {
        let rules = policy.rules();
        Self { policy, rules, window: Window::UNSET, avoidance: Avoidance::new(increase) }
    }

    fn reduce_ssthresh(&mut self, ssthresh: Bytes) {
        self.window.reduce_ssthresh(ssthresh, self.rules.ssthresh_unit);
        self.avoidance.on_reduction();
    }
}

impl<P: Policy> CongestionControl for Classic<P> {
    fn start(&mut self, smss: Bytes, initial_window: Bytes) {
        self.window.start(smss, initial_window);
    }

    fn on_segment_size(&mut self, smss: Bytes) {
        self.window.smss = smss;
    }

    fn traits(&self) -> Traits {
        let Rules { governs_marks, unequal_shares, .. } = self.rules;
        Traits { governs_marks, unequal_shares, ..Traits::default() }
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
        if self.rules.is_cwnd_limited_only && !is_cwnd_limited(self.cwnd(), ack.flight, self.window.smss) {
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
        let ssthresh = self.policy.ssthresh_on_loss(&self.window, event);
        self.reduce_ssthresh(ssthresh);
        self.window.reduce_to_ssthresh();
    }

    fn on_timeout(&mut self, event: &CongestionEvent) {
        // RFC 5681 §3.1: the threshold is held when the same segment times out again.
        if !event.repeats_timeout() || self.rules.every_timeout_reduces {
            let ssthresh = self.policy.ssthresh_on_timeout(&self.window, event);
            self.reduce_ssthresh(ssthresh);
        }
        self.window.collapse();
        self.avoidance.clear();
    }

    fn on_recovery_exit(&mut self, window: Bytes) {
        let window = if self.rules.keeps_window_at_exit { window.min(self.cwnd()) } else { window };
        self.window.set_cwnd(window);
        self.avoidance.on_reduction();
    }

    fn on_restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.window.restore(cwnd, ssthresh);
        self.policy.on_restore();
    }

    fn in_slow_start(&self) -> bool {
        let equal = self.cwnd() == self.ssthresh();
        self.window.is_below_ssthresh() || equal && self.rules.slow_start_when_equal
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> Bytes {
        self.window.ssthresh
    }
}
