//! RACK-TLP (RFC 8985): losses are detected by time (`rack.rs`), the tail of a flight is probed (`tail_loss_probe.rs`
//! of the endpoint), and the window shrinks evenly (`prr.rs`) or at once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;

use super::composed::{Composed, HalveAtOnce, LostFirst};
use super::prr::{Prr, RecoveryFrom, Reduction};
use super::rack::Rack;
use super::traits::{TailProbes, WithoutSack};
use super::{AfterTimeout, Recovery};
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Whether the tail of a flight is probed (RFC 8985 §7).
    pub tail_loss_probe: bool,
    /// Additional time that a probe of a single segment waits for a delayed ACK, beyond two round trips. RFC 8985 §7.2:
    /// 200 ms where nothing is known of it, as in Linux (`TCP_RTO_MIN`).
    pub max_ack_delay: Duration,
    /// Time that the clock adds to the timers of reordering and of probes: none in the RFC; 2 ms in Linux
    /// (`TCP_TIMEOUT_MIN_US`).
    pub timer_slack: Duration,
    /// The reduction of the window in recovery: evenly over a round trip, or at once.
    pub reduction: Reduction,
    /// Base of the reduction of PRR.
    pub recovery_from: RecoveryFrom,
    /// Recovery for a peer that does not permit SACK.
    pub without_sack: WithoutSack,
    /// Whether PRR counts whole segments, rounded up, as Linux does, and not bytes (RFC 9937).
    pub whole_segments: bool,
    /// Whether a recovery that ends while lost segments are not delivered yet, though sent again, is followed at once
    /// by another one, with a reduction of its own. So does Linux (`tcp_time_to_recover`); by RFC 8985 only what is
    /// lost anew begins one.
    pub renews: bool,
    /// Whether the round trip to which the time for reordering is added is that of the segment which an ACK has
    /// delivered last, though others were sent later, as in Linux (`tcp_rack_advance`); by RFC 8985 it is that of the
    /// segment which was sent last.
    pub rtt_of_last: bool,
    /// Whether a timeout during fast recovery keeps the threshold that recovery has set: one reduction for the losses
    /// of a window. So does Linux (`tcp_enter_loss`); by RFC 5681 §3.1 the first timeout of a segment reduces it.
    pub reduces_once: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            tail_loss_probe: true,
            max_ack_delay: Duration::from_millis(200),
            timer_slack: Duration::ZERO,
            reduction: Reduction::default(),
            recovery_from: RecoveryFrom::default(),
            without_sack: WithoutSack::default(),
            whole_segments: false,
            renews: false,
            rtt_of_last: false,
            reduces_once: false,
        }
    }
}

fn composed(parameters: &Parameters) -> Composed {
    let rack = Rack::new(parameters.timer_slack, parameters.renews).with_rtt_of_last(parameters.rtt_of_last);
    let after_timeout = AfterTimeout::by_detector();
    let composed = match parameters.reduction {
        Reduction::Proportional => Composed::new(
            rack,
            LostFirst,
            Prr::new(parameters.recovery_from, parameters.whole_segments),
            after_timeout,
        ),
        Reduction::AtOnce => Composed::new(rack, LostFirst, HalveAtOnce, after_timeout),
    };
    let probes = TailProbes { max_ack_delay: parameters.max_ack_delay, slack: parameters.timer_slack };
    composed
        .on_sack()
        .without_sack_by(parameters.without_sack)
        .restarting_timer_for_oldest()
        .reducing_once(parameters.reduces_once)
        .probing_tail(parameters.tail_loss_probe.then_some(probes))
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Recovery> = Algorithm::of(
    "rack-tlp",
    "detects losses by time, probes the tail, reduces proportionally",
    "RFC 8985; RFC 9937, RFC 6937",
    &Build(|parameters: &Parameters| Box::new(composed(parameters))),
);
