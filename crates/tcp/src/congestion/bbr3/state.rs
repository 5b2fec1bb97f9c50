//! The state of BBRv3: where its state machine stands, the cycle of PROBE_BW, the full-pipe estimator, the shortest
//! round trips.

use units::{Bytes, Duration, Instant, Rate};

/// The state machine (§5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Startup,
    /// With the round in which it began.
    Drain {
        since: u64,
    },
    ProbeBw(Phase),
    /// Until when the flight stays small, once it is, and whether a round trip has passed.
    ProbeRtt {
        until: Option<Instant>,
        round_done: bool,
    },
}

/// A phase of the cycle (§5.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Down,
    Cruise,
    Refill,
    Up,
}

/// The data that the present ACKs report (`BBR.ack_phase`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// The state of the cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    pub ack_phase: AckPhase,
    /// Time at which it began, and maximum time until the next probe.
    pub began: Instant,
    pub wait: Duration,
    pub rounds_since_probe_up: u64,
    /// Samples come from a probe that has not been answered yet.
    pub is_bw_probe_sample: bool,
    pub prev_probe_too_high: bool,
    pub prev_probe_precautionary: bool,
    /// Acknowledged data for each segment by which `inflight_longterm` grows.
    pub probe_up_rounds: u32,
    pub probe_up_acked: Bytes,
    pub acked_per_increment: Bytes,
}

impl Cycle {
    pub const fn new() -> Self {
        Self {
            ack_phase: AckPhase::Init,
            began: Instant::START,
            wait: Duration::ZERO,
            rounds_since_probe_up: 0,
            is_bw_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            probe_up_rounds: 0,
            probe_up_acked: Bytes::ZERO,
            acked_per_increment: Bytes::MAX,
        }
    }
}

/// The full-pipe estimator (§5.3.1.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// The pipe was full once; it is now.
    pub reached: bool,
    pub now: bool,
    pub bandwidth: Rate,
    pub rounds: u32,
}

impl FullPipe {
    /// `ResetFullBW`, with a baseline.
    pub const fn reset(&mut self, bandwidth: Rate) {
        (self.now, self.bandwidth, self.rounds) = (false, bandwidth, 0);
    }
}

/// The shortest round trips (§5.3.4.3).
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrip {
    pub min: Option<Duration>,
    pub min_at: Instant,
    pub probe_rtt_min: Option<Duration>,
    pub probe_rtt_min_at: Instant,
    pub probe_rtt_expired: bool,
}

impl RoundTrip {
    pub const fn new() -> Self {
        Self {
            min: None,
            min_at: Instant::START,
            probe_rtt_min: None,
            probe_rtt_min_at: Instant::START,
            probe_rtt_expired: false,
        }
    }
}
