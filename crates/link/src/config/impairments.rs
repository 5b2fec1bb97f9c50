//! What else may happen to a packet between its transmission and its leaving: settings.

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
    /// From the start of one to the start of the next.
    pub every: Duration,
    /// How long each lasts: a packet that arrives exactly at its end is through.
    pub length: Duration,
    /// When the first starts; without it, at the start of the run.
    #[serde(default, skip_serializing_if = "crate::serde_default::is_default")]
    #[schemars(!skip_serializing_if)]
    pub phase: Duration,
}

/// A link layer that sends again what did not arrive. An attempt that fails costs a round trip of
/// the link; the channel's capacity is not reduced by it. In which order packets leave is said by the
/// receive buffer: in order, those behind wait for one that is sent again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arq {
    /// Probability that an attempt fails: of each attempt alike, or, with `retransmissions`, of the
    /// first. Needed unless there is a `model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<Probability>,
    /// Another model of which attempts fail; it is asked for every attempt, and sees one after the
    /// other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ErrorModel>,
    /// What each retransmission adds to the packet's delay.
    pub round_trip: Distribution<Duration>,
    /// Retransmissions that a packet needs whose first attempt failed: always this many. Without it,
    /// as many as fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmissions: Option<u32>,
    /// The most retransmissions of one packet. One whose last fails is discarded, when it has failed.
    /// Without it, the link layer never gives up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// What happens at the limit.
    #[serde(default, skip_serializing_if = "crate::serde_default::is_default")]
    #[schemars(!skip_serializing_if)]
    pub at_limit: LimitAction,
}

/// What a link layer does when a packet has reached the limit of its retransmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitAction {
    /// It discards the packet.
    #[default]
    Discard,
    /// It starts anew: all that is in its buffers and on the way is lost.
    Reset,
}

/// What becomes of what a link and its queue hold as a handover begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HeldPackets {
    /// It waits, and goes on afterwards; what is on the way arrives.
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
    /// Probability that a packet is chosen; with `gap`, that one is whose turn it is. Without it, 1.
    #[serde(default = "certain", skip_serializing_if = "is_certain")]
    pub probability: Probability,
    /// Only every n-th packet may be chosen; if it is not, the next may. Without it, any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<u64>,
    /// The extra delay.
    pub delay: Distribution<Duration>,
    /// What the delay does to the chosen packets.
    #[serde(default, skip_serializing_if = "crate::serde_default::is_default")]
    #[schemars(!skip_serializing_if)]
    pub chosen: ReorderingMode,
}

/// Whom the extra delay of the reordering holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReorderingMode {
    /// The chosen packets: the others overtake them.
    #[default]
    FallBehind,
    /// All but the chosen packets, which overtake: as netem reorders.
    GoAhead,
}

/// Packets that arrive twice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Duplicates {
    /// Probability that a packet which was not lost is copied. The copy leaves right behind it and
    /// takes no place in any buffer.
    pub probability: Probability,
}

impl Arq {
    /// Whether the link starts anew at the limit.
    #[must_use]
    pub const fn resets(&self) -> bool {
        matches!(self.at_limit, LimitAction::Reset)
    }

    /// Which attempts fail.
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
