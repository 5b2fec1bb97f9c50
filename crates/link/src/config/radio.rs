//! Settings of a radio link: effects on all packets at once, and on radio frames.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::Probability;
use units::{Bytes, Duration, Rate};

use super::HeldPackets;
use crate::distribution::Distribution;
use crate::error_model::{ErrorModel, independent};

/// Times during which nothing is transmitted. Waiting packets continue to wait, and a transmission in progress pauses
/// and then continues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suspensions {
    /// Time from the end of one to the start of the next, and from the start of the run to the first; at least a
    /// microsecond.
    pub interval: Distribution<Duration>,
    /// Length of each.
    pub length: Distribution<Duration>,
}

/// Handovers: the link is suspended, and then continues with or without the packets that it held, possibly with another
/// rate and delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Handovers {
    /// Time from the end of one to the start of the next, and from the start of the run to the first; at least a
    /// microsecond.
    pub interval: Distribution<Duration>,
    /// Time for which nothing is transmitted.
    pub suspension: Distribution<Duration>,
    /// Treatment of packets that the link or its queue holds at the beginning of a handover.
    #[serde(default, skip_serializing_if = "crate::serde_default::is_default")]
    #[schemars(!skip_serializing_if)]
    pub held: HeldPackets,
    /// The link after the first handover, after the second and so on, and from the first again.
    /// Without any, the link stays as it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<Cell>,
}

/// Changes by a handover. Missing keys change nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cell {
    /// The rate of transmission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The propagation delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub propagation: Option<Distribution<Duration>>,
}

/// Times at which the link layer restarts: packets in its buffers and in flight are lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resets {
    /// Time from one to the next, and from the start of the run to the first; at least a microsecond.
    pub interval: Distribution<Duration>,
    /// Whether the input queue is emptied as well.
    #[serde(default, skip_serializing_if = "crate::serde_default::is_default")]
    #[schemars(!skip_serializing_if)]
    pub queue: bool,
}

/// Packets are divided into radio frames, each of which is transmitted until it arrives. Repetitions use the channel as
/// first attempts do, directly after them; each round of repetitions delays the packet by a round trip of the link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Frames {
    /// Size of a frame as transmitted, to which the rate applies.
    pub size: Bytes,
    /// Bytes of a packet in a frame. The last frame of a packet is padded.
    pub payload: Bytes,
    /// Probability that an attempt to send a frame fails, equal for all attempts. Needed unless there
    /// is a `model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<Probability>,
    /// Another model of failing attempts, applied to each frame in the order of transmission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ErrorModel>,
    /// Delay added by each round of retransmissions.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub round_trip: Distribution<Duration>,
    /// Maximum number of rounds. If a frame has not arrived after the last, its packet is discarded. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

impl Frames {
    /// Attempts that fail.
    #[must_use]
    pub fn model(&self) -> ErrorModel {
        let probability = self.probability.unwrap_or_default();
        let independent = || independent::Parameters { probability, ..independent::Parameters::default() };
        self.model.clone().unwrap_or_else(|| ErrorModel::Independent(independent()))
    }
}
