//! What a radio link does to all its packets at once, and to their pieces: settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::Probability;
use units::{Bytes, Duration, Rate};

use super::HeldPackets;
use crate::distribution::Distribution;
use crate::error_model::{ErrorModel, independent};

/// Times during which nothing is transmitted. What waits goes on waiting, and a transmission that
/// has begun stands still and then goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suspensions {
    /// From the end of one to the start of the next, and from the start of the run to the first; at
    /// least a microsecond.
    pub interval: Distribution<Duration>,
    /// How long each lasts.
    pub length: Distribution<Duration>,
}

/// Handovers: the link is suspended, and then goes on with what it held, or without, perhaps with
/// another rate and delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Handovers {
    /// From the end of one to the start of the next, and from the start of the run to the first; at
    /// least a microsecond.
    pub interval: Distribution<Duration>,
    /// How long nothing is transmitted.
    pub suspension: Distribution<Duration>,
    /// What becomes of packets that the link or its queue holds as a handover begins.
    #[serde(default, skip_serializing_if = "crate::serde_default::is_default")]
    #[schemars(!skip_serializing_if)]
    pub held: HeldPackets,
    /// The link after the first handover, after the second and so on, and from the first again.
    /// Without any, the link stays as it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<Cell>,
}

/// What a handover changes. What is left out stays as it was.
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

/// Times at which the link layer starts anew: what is in its buffers and on the way is lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resets {
    /// From one to the next, and from the start of the run to the first; at least a microsecond.
    pub interval: Distribution<Duration>,
    /// Whether the input queue is emptied, too.
    #[serde(default, skip_serializing_if = "crate::serde_default::is_default")]
    #[schemars(!skip_serializing_if)]
    pub queue: bool,
}

/// Packets are cut into radio frames, each of which is transmitted until it arrives. Repetitions take
/// the channel as the first attempts do, right behind them; and each round of them delays the packet
/// by a round trip of the link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Frames {
    /// A frame as it is transmitted: what the rate counts.
    pub size: Bytes,
    /// What it carries of a packet. The last frame of a packet is filled up.
    pub payload: Bytes,
    /// Probability that a frame has to be repeated, the same for each attempt. Needed unless there
    /// is a `model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<Probability>,
    /// Another model of which attempts fail; it sees one frame after the other as they are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ErrorModel>,
    /// What each round of repetitions adds to the packet's delay.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub round_trip: Distribution<Duration>,
    /// The most rounds. Where a frame has not arrived after the last, its packet is given up. Without
    /// it, the link layer never gives up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

impl Frames {
    /// Which attempts fail.
    #[must_use]
    pub fn model(&self) -> ErrorModel {
        let probability = self.probability.unwrap_or_default();
        let independent = || independent::Parameters { probability, ..independent::Parameters::default() };
        self.model.clone().unwrap_or_else(|| ErrorModel::Independent(independent()))
    }
}
