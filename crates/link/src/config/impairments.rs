//! Settings of further impairments between the transmission of a packet and its delivery.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;
use units::text::Probability;

use crate::distribution::Distribution;
use crate::error_model::{ErrorModel, independent};

/// Periodic outages: what arrives at the other end during one is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outages {
    /// Time from the start of one outage to the start of the next.
    pub every: Duration,
    /// Length of an outage. A packet that arrives exactly at its end is not lost.
    pub length: Duration,
    /// Start of the first outage. Default: the start of the run.
    #[serde(default, skip_serializing_if = "crate::serde_default::is_default")]
    #[schemars(!skip_serializing_if)]
    pub phase: Duration,
}

/// A link layer that retransmits lost packets. A failed attempt costs a round trip of the link, and no capacity of the
/// channel. The receive buffer determines the order of delivery: in order, later packets wait for a retransmission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arq {
    /// Probability that an attempt fails: of each attempt, or, with `retransmissions`, of the first. Required unless
    /// there is a `model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<Probability>,
    /// Another model of failing attempts, which decides on every attempt in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ErrorModel>,
    /// Delay added by each retransmission.
    pub round_trip: Distribution<Duration>,
    /// Number of retransmissions of a packet whose first attempt failed: always this number. Default: as many as fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmissions: Option<u32>,
    /// Maximum number of retransmissions of one packet. A packet whose last one fails is discarded at that time.
    /// Default: the link layer never gives up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Action at the limit.
    #[serde(default, skip_serializing_if = "crate::serde_default::is_default")]
    #[schemars(!skip_serializing_if)]
    pub at_limit: LimitAction,
}

/// The action of a link layer when a packet has reached the limit of its retransmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitAction {
    /// It discards the packet.
    #[default]
    Discard,
    /// It restarts: all packets in its buffers and in flight are lost.
    Reset,
}

/// Treatment of packets that a link and its queue hold at the beginning of a handover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HeldPackets {
    /// They wait and continue afterwards; packets in flight arrive.
    #[default]
    Delivered,
    /// It is lost, on the way, too.
    Lost,
}

/// Packets that take longer than the others and are overtaken by them, whatever the order of the
/// receive buffer: no other packet waits for them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reordering {
    /// Probability that a packet is chosen; with `gap`, that of the packet whose turn it is. Default: 1.
    #[serde(default = "certain", skip_serializing_if = "is_certain")]
    pub probability: Probability,
    /// Number n: only every n-th packet may be chosen; if it is not, the next may. Default: any packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<u64>,
    /// The extra delay.
    pub delay: Distribution<Duration>,
    /// Effect of the delay on the chosen packets.
    #[serde(default, skip_serializing_if = "crate::serde_default::is_default")]
    #[schemars(!skip_serializing_if)]
    pub chosen: ReorderingMode,
}

/// The packets that the extra delay of the reordering holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReorderingMode {
    /// The chosen packets: the others overtake them.
    #[default]
    FallBehind,
    /// All but the chosen packets, which overtake, as in netem.
    GoAhead,
}

/// Packets that arrive twice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Duplicates {
    /// Probability that a packet which was not lost is copied. The copy leaves directly after it and takes no place in
    /// any buffer.
    pub probability: Probability,
}

impl Arq {
    /// Whether the link restarts at the limit.
    #[must_use]
    pub const fn resets(&self) -> bool {
        matches!(self.at_limit, LimitAction::Reset)
    }

    /// Attempts that fail.
    #[must_use]
    pub fn model(&self) -> ErrorModel {
        let probability = self.probability.unwrap_or_default();
        let independent = || independent::Parameters { probability, ..independent::Parameters::default() };
        self.model.clone().unwrap_or_else(|| ErrorModel::Independent(independent()))
    }
}

const fn certain() -> Probability {
    Probability::ONE
}

fn is_certain(probability: &Probability) -> bool {
    *probability == Probability::ONE
}
