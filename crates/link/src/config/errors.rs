//! The error stage's settings: the random process, and the script.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;
use units::text::Probability;

use crate::distribution::Distribution;
use crate::error_model::independent::ErrorUnit;
use crate::error_model::{ErrorModel, independent};

/// The random error process: its probability and its effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ErrorProcess")]
pub struct Errors {
    /// The unit of the probability.
    #[serde(default)]
    pub per: ErrorUnit,
    /// Probability of an error in one unit. In bits, errors are independent: a packet of n bits,
    /// framing included, is hit with probability 1 − (1 − p)ⁿ. Required unless there is a `model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<Probability>,
    /// Number of consecutive packets hit by an error: the probability is then that of an event, which begins at a
    /// packet and hits this number. The packet after the last of them is the first that can begin another event.
    /// Without it, 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
    /// Another error model, in place of `probability`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ErrorModel>,
    /// Effect of an error.
    pub effect: Effect,
    /// Time for which an error holds the packet; with the effect "delay" only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Distribution<Duration>>,
}

/// The effect of an error on a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// It is lost.
    Drop,
    /// It is held, as by a link layer that retransmits it.
    #[default]
    Delay,
    /// It arrives damaged.
    Corrupt,
}

/// An error that happens to one chosen packet, in the error stage like the random ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptedEvent {
    /// The packet's number, from 1.
    pub packet: u64,
    /// Point at which packets are counted.
    #[serde(default, skip_serializing_if = "crate::serde_default::is_default")]
    #[schemars(!skip_serializing_if)]
    pub counted_at: CountedAt,
    /// Effect on the packet.
    #[serde(default)]
    pub effect: Effect,
    /// Time for which the packet is held; with the effect "delay" only. Adds to a random delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
}

/// Point at which a script counts packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CountedAt {
    /// On arrival at the link, before the input queue drops any.
    #[default]
    Arrival,
    /// As their transmission starts: only packets that the queue has passed.
    Transmission,
}

impl Errors {
    /// Packets that are hit: the model, or independent errors of the probability.
    #[must_use]
    pub fn model(&self) -> ErrorModel {
        let independent = || independent::Parameters {
            per: self.per,
            probability: self.probability.unwrap_or_default(),
            burst: self.burst.unwrap_or(1),
        };
        self.model.clone().unwrap_or_else(|| ErrorModel::Independent(independent()))
    }
}
