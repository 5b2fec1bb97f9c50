//! Fairness between hosts: the number of bulk flows of each, by which the turns of its flows are divided.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::queue::Keys;

/// The units among which the link is shared (tc-cake(8)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Nothing: one sub-queue for all.
    Flowblind,
    /// The hosts that send.
    Srchost,
    /// The hosts that receive.
    Dsthost,
    /// Pairs of hosts.
    Hosts,
    /// Flows.
    Flows,
    /// The hosts that send, and the flows of each.
    DualSrchost,
    /// The hosts that receive, and the flows of each.
    DualDsthost,
    /// Flows, with the turn of each shrunk by the busier of its two hosts.
    #[default]
    TripleIsolate,
}

impl Isolation {
    /// The common key of packets in one sub-queue.
    pub(super) fn key(self, keys: &Keys) -> u64 {
        match self {
            Self::Flowblind => 0,
            Self::Srchost => keys.source,
            Self::Dsthost => keys.destination,
            Self::Hosts => keys.source.rotate_left(32) ^ keys.destination,
            Self::Flows | Self::DualSrchost | Self::DualDsthost | Self::TripleIsolate => keys.flow,
        }
    }

    const fn counts_sources(self) -> bool {
        matches!(self, Self::DualSrchost | Self::TripleIsolate)
    }

    const fn counts_destinations(self) -> bool {
        matches!(self, Self::DualDsthost | Self::TripleIsolate)
    }
}

/// The two hosts of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pair {
    pub source: u64,
    pub destination: u64,
}

/// The bulk flows of each host of a tin.
#[derive(Debug)]
pub(super) struct HostLoads {
    isolation: Isolation,
    sources: BTreeMap<u64, u32>,
    destinations: BTreeMap<u64, u32>,
}

impl HostLoads {
    pub const fn new(isolation: Isolation) -> Self {
        Self { isolation, sources: BTreeMap::new(), destinations: BTreeMap::new() }
    }

    pub fn add(&mut self, pair: Pair) {
        *self.sources.entry(pair.source).or_default() += 1;
        *self.destinations.entry(pair.destination).or_default() += 1;
    }

    pub fn remove(&mut self, pair: Pair) {
        for (loads, host) in [(&mut self.sources, pair.source), (&mut self.destinations, pair.destination)] {
            if let Some(load) = loads.get_mut(&host) {
                *load -= 1;
                if *load == 0 {
                    loads.remove(&host);
                }
            }
        }
    }

    /// Divisor of a flow's turn: the number of bulk flows of its host, of the busier one if both count; at least 1.
    pub fn load(&self, pair: Pair) -> u32 {
        let of = |counts: bool, loads: &BTreeMap<u64, u32>, host| {
            if counts { loads.get(&host).copied().unwrap_or(0) } else { 0 }
        };
        let source = of(self.isolation.counts_sources(), &self.sources, pair.source);
        let destination = of(self.isolation.counts_destinations(), &self.destinations, pair.destination);
        source.max(destination).max(1)
    }
}
