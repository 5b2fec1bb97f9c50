//! A separate queue for each user, or for each flow, like the buffers of a radio network for each bearer. Each has its
//! limit and its discipline; they are served in turn, one packet each. The limit of the whole queue applies in
//! addition.

use std::collections::BTreeMap;

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::text::QueueLimit;
use units::{Bytes, Instant, Stream, Streams};

use super::round_robin::RoundRobin;
use super::{Discipline, Entry, Keys, Policy, Scheduler, Service, Setting, SubQueue, tail_drop};
use crate::error::ConfigError;

/// The registry's line.
pub const ENTRY: Entry = Entry {
    id: "separate",
    summary: "a queue of its own for each user or flow, served by turns",
    example: "{ separate = { by = \"destination\", limit = \"20 packets\" } }",
    source: "the dedicated buffers of a radio network; Nagle 1987 (RFC 970)",
};

/// The key of the queues, and the settings of each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The common key of packets in one queue.
    pub by: By,
    /// Limit of each queue; a time means the data that the whole link transmits in it. Default: only the limit of the
    /// whole queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<QueueLimit>,
    /// The discipline of each, which must serve in order.
    #[serde(default)]
    pub discipline: Box<Discipline>,
}

/// The common key of packets in one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The host that the packets are for: users of a downlink.
    Destination,
    /// The host that sent the packets: users of an uplink.
    Source,
    /// The flow and its direction.
    Flow,
}

impl Setting for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        if self.limit.is_some_and(QueueLimit::is_zero) {
            return Err(ConfigError::new(
                "limit",
                "a queue of 0 lets nothing wait",
                "write 1 packet or more",
            ));
        }
        self.discipline.check().map_err(|error| error.below("discipline"))?;
        if let Service::Classful(_) = self.discipline.service(Streams::new(0).stream("check")) {
            let message = format!("{} has sub-queues of its own", self.discipline.id());
            return Err(ConfigError::new("discipline", message, "write one that serves in order"));
        }
        Ok(())
    }

    fn limit_of_sub_queues(&mut self) -> Option<&mut QueueLimit> {
        self.limit.as_mut()
    }

    fn service(&self, mut stream: Stream) -> Service {
        Service::Classful(Box::new(Separate {
            by: self.by,
            limit: self.limit,
            discipline: (*self.discipline).clone(),
            streams: Streams::new(stream.next_u64()),
            sub_queues: BTreeMap::new(),
            keys: Vec::new(),
            round_robin: RoundRobin::default(),
        }))
    }
}

#[derive(Debug)]
struct Separate {
    by: By,
    limit: Option<QueueLimit>,
    discipline: Discipline,
    streams: Streams,
    /// The number of each key's sub-queue, in the order of their first packets, and the key of each number.
    sub_queues: BTreeMap<u64, usize>,
    keys: Vec<u64>,
    round_robin: RoundRobin,
}

impl Scheduler for Separate {
    fn classify(&mut self, keys: &Keys) -> usize {
        let key = match self.by {
            By::Destination => keys.destination,
            By::Source => keys.source,
            By::Flow => keys.flow,
        };
        *self.sub_queues.entry(key).or_insert_with(|| {
            self.keys.push(key);
            self.keys.len() - 1
        })
    }

    /// Every sub-queue draws from the stream of its key, so that a new user moves no draws of the others.
    fn policy(&self, sub_queue: usize) -> Box<dyn Policy> {
        match self.discipline.service(self.streams.stream(&self.keys[sub_queue].to_string())) {
            Service::Fifo(policy) => policy,
            Service::Plain(_) | Service::Classful(_) => tail_drop::policy(),
        }
    }

    fn has_room(&self, sub_queue: &SubQueue, size: Bytes) -> bool {
        match self.limit {
            // The link writes a limit in time in bytes.
            None | Some(QueueLimit::Time(_)) => true,
            Some(QueueLimit::Packets(packets)) => u64::from(sub_queue.len()) < packets.0,
            Some(QueueLimit::Bytes(bytes)) => sub_queue.bytes().saturating_add(size) <= bytes,
        }
    }

    fn next(&mut self, sub_queues: &[SubQueue], _: Instant) -> Option<usize> {
        self.round_robin.next(sub_queues, |_| 1)
    }

    fn on_served(&mut self, _: usize, _: Bytes) {
        self.round_robin.on_served();
    }
}
