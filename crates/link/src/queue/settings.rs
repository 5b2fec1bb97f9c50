//! The configuration of the input queue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;
use units::text::QueueLimit;

use super::Discipline;

/// The input queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Queue {
    /// Maximum length, in packets, in bytes (framing included), or as a time: the bytes that the link transmits
    /// in it at its rate, at its mean rate where that varies. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<QueueLimit>,
    /// A second limit, in bytes, where both packets and bytes are limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_bytes: Option<Bytes>,
    /// Whether a limit in packets counts the packet in transmission, as in the drop-tail queue of ns-2. Default: only
    /// waiting packets count.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub counts_transmission: bool,
    /// The discipline: which packets are dropped, and when.
    pub discipline: Discipline,
    /// Treatment of a packet that finds the queue at its limit.
    pub overflow: Overflow,
}

impl Queue {
    /// Whether it treats packets by their traffic class or their DSCP.
    #[must_use]
    pub const fn reads_classes(&self) -> bool {
        matches!(
            self.discipline,
            Discipline::Priority(_) | Discipline::WeightedRoundRobin(_) | Discipline::Cake(_)
        )
    }

    /// Its limit and that of its sub-queues, each with its path.
    pub(crate) fn limits(&mut self) -> impl Iterator<Item = (String, &mut QueueLimit)> {
        let of_sub_queues = format!("discipline.{}.limit", self.discipline.id());
        let own = self.limit.as_mut().map(|limit| ("limit".to_owned(), limit));
        let each = self.discipline.limit_of_sub_queues().map(|limit| (of_sub_queues, limit));
        own.into_iter().chain(each)
    }
}

/// Treatment of a packet that finds the queue at its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Overflow {
    /// It is dropped.
    #[default]
    Drop,
    /// It is dropped, and the run stops.
    Stop,
    /// The link asks its upstream neighbour to hold packets back while the queue is at its limit.
    FlowControl,
}
