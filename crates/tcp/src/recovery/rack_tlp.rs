//! RACK-TLP (RFC 8985): losses are told by time (`rack.rs`), the tail of a flight is probed (`tail_loss_probe.rs` of
//! the endpoint), and the window shrinks evenly (`prr.rs`) or at once.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;

use super::composed::{Composed, HalveAtOnce, LostFirst};
use super::prr::{Prr, RecoveryFrom, Reduction};
use super::rack::Rack;
use super::traits::{TailProbes, WithoutSack};
use super::{AfterTimeout, Recovery};
use crate::registry::Entry;

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Whether the tail of a flight is probed (RFC 8985 §7).
    pub tail_loss_probe: bool,
    /// What a probe of a single segment waits for the receiver's delayed ACK beyond two round trips. RFC 8985 §7.2:
    /// 200 ms where nothing is known of it, as in Linux (`TCP_RTO_MIN`).
    pub max_ack_delay: Duration,
    /// What the clock adds to the timers of reordering and of probes: nothing in the RFC; 2 ms in Linux
    /// (`TCP_TIMEOUT_MIN_US`).
    pub timer_slack: Duration,
    /// The window in recovery.
    pub reduction: Reduction,
    /// What the reduction of PRR is a part of.
    pub recovery_from: RecoveryFrom,
    /// What takes its place for a peer that does not permit SACK.
    pub without_sack: WithoutSack,
    /// Whether PRR counts whole segments, rounded up, as Linux does, and not bytes (RFC 9937).
    pub whole_segments: bool,
    /// Whether a recovery that ends while lost segments are not delivered yet, though sent again, is followed at once
    /// by another one, with a reduction of its own. So does Linux (`tcp_time_to_recover`); by RFC 8985 only what is
    /// lost anew begins one.
    pub renews: bool,
}

impl Default for Params {
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
        }
    }
}

fn composed(params: &Params) -> Composed {
    let (rack, after_timeout) = (Rack::new(params.timer_slack, params.renews), AfterTimeout::by_detector());
    let composed = match params.reduction {
        Reduction::Proportional => Composed::new(
            rack,
            LostFirst,
            Prr::new(params.recovery_from, params.whole_segments),
            after_timeout,
        ),
        Reduction::AtOnce => Composed::new(rack, LostFirst, HalveAtOnce, after_timeout),
    };
    let probes = TailProbes { max_ack_delay: params.max_ack_delay, slack: params.timer_slack };
    composed
        .on_sack()
        .without_sack_by(params.without_sack)
        .restarting_timer_for_oldest()
        .probing_tail(params.tail_loss_probe.then_some(probes))
}

/// This algorithm in the registry.
pub const ENTRY: Entry<dyn Recovery> = Entry {
    id: "rack-tlp",
    summary: "tells losses by time, probes the tail, reduces proportionally",
    source: "RFC 8985; RFC 9937, RFC 6937",
    parse: |value| {
        let params: Params = Entry::<dyn Recovery>::read(value)?;
        Ok(Arc::new(move || Box::new(composed(&params))))
    },
    schema: Entry::<dyn Recovery>::describe::<Params>,
};
