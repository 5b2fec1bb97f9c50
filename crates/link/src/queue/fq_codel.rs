//! FQ-CoDel: flows are hashed into sub-queues, which are served by deficit round robin with new flows
//! first, and each sub-queue has its own CoDel (RFC 8290).
//!
//! The quantum is 1514 bytes and the limit, which the queue has, should be "10240 packets" (RFC 8290
//! §5.2). Where the limit is reached, packets are dropped from the head of the sub-queue with the
//! most bytes: half of them, at most 64 (§4.1). That sub-queue is determined before the packet enters, not after.

use std::collections::VecDeque;

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Stream};

use super::codel::{self, Codel};
use super::{Entry, Keys, Policy, QueueParameters, Scheduler, Service, SubQueue};
use crate::error::ConfigError;

/// The registry's line.
pub const ENTRY: Entry =
    Entry::new("fq-codel", "fair queueing of flows, each with its own CoDel, new flows first", "RFC 8290")
        .written("{ fq-codel = { target = \"5 ms\", interval = \"100 ms\" } }");

/// The parameters of CoDel and of the deficit round robin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Acceptable queueing delay (RFC 8290 §5.2.3).
    pub target: Duration,
    /// Time for which the queueing delay may exceed the target (§5.2.2).
    pub interval: Duration,
    /// Bytes that a sub-queue may send in a round (§5.2.1: the MTU with the Ethernet header).
    pub quantum: Bytes,
    /// Number of sub-queues into which flows are hashed (§5.2.5). Two flows can share one.
    pub flows: u32,
    /// Whether ECN-capable packets are marked where they would be dropped (§5.2.7).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ecn: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        let codel::Parameters { target, interval, ecn } = codel::Parameters::default();
        Self { target, interval, quantum: Bytes(1514), flows: 1024, ecn }
    }
}

impl Parameters {
    const fn codel(self) -> codel::Parameters {
        codel::Parameters { target: self.target, interval: self.interval, ecn: self.ecn }
    }
}

impl QueueParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        self.codel().check()?;
        if self.quantum.is_zero() {
            return Err(ConfigError::new("quantum", "a turn of 0 bytes", "write a size like \"1514 bytes\""));
        }
        if !(1..=65_536).contains(&self.flows) {
            let message = format!("{} sub-queues", self.flows);
            return Err(ConfigError::new("flows", message, "write 1 to 65536"));
        }
        Ok(())
    }

    fn service(&self, mut stream: Stream) -> Service {
        let flows = vec![FlowState::default(); self.flows as usize];
        let perturbation = stream.next_u64();
        let (new, old) = (VecDeque::new(), VecDeque::new());
        Service::Classful(Box::new(FqCodel { parameters: *self, perturbation, flows, new, old }))
    }
}

/// A sub-queue in the round robin.
#[derive(Clone, Copy, Debug, Default)]
struct FlowState {
    /// Bytes that it may still send in this round.
    deficit: i64,
    /// Whether it is in one of the two lists.
    is_listed: bool,
}

#[derive(Debug)]
struct FqCodel {
    parameters: Parameters,
    perturbation: u64,
    flows: Vec<FlowState>,
    /// The RFC's two lists of sub-queues, the one served next first.
    new: VecDeque<usize>,
    old: VecDeque<usize>,
}

impl Scheduler for FqCodel {
    fn classify(&mut self, keys: &Keys) -> usize {
        (mixed(keys.flow ^ self.perturbation) % u64::from(self.parameters.flows)) as usize
    }

    fn policy(&self, _: usize) -> Box<dyn Policy> {
        Box::new(Codel::new(self.parameters.codel()))
    }

    fn on_queued(&mut self, sub_queue: usize) {
        let flow = &mut self.flows[sub_queue];
        if !flow.is_listed {
            *flow = FlowState { deficit: self.parameters.quantum.0 as i64, is_listed: true };
            self.new.push_back(sub_queue);
        }
    }

    /// RFC 8290 §4.2. Where the RFC serves a sub-queue and finds it empty, this finds it empty as it looks for the
    /// next.
    fn next(&mut self, sub_queues: &[SubQueue], _: Instant) -> Option<usize> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let number = *list.front()?;
            let flow = &mut self.flows[number];
            if flow.deficit <= 0 {
                flow.deficit += self.parameters.quantum.0 as i64;
                list.pop_front();
                self.old.push_back(number);
            } else if sub_queues[number].is_empty() {
                list.pop_front();
                // A new sub-queue that ran empty goes round once more, so that it cannot be new again at once.
                if is_new && !self.old.is_empty() {
                    self.old.push_back(number);
                } else {
                    flow.is_listed = false;
                }
            } else {
                return Some(number);
            }
        }
    }

    fn on_served(&mut self, sub_queue: usize, size: Bytes) {
        self.flows[sub_queue].deficit -= size.0 as i64;
    }

    fn victims(&self, sub_queues: &[SubQueue], _: usize) -> Option<(usize, u32)> {
        let (number, longest) = sub_queues.iter().enumerate().max_by_key(|(_, queue)| queue.bytes())?;
        Some((number, longest.len().div_ceil(2).min(BATCH)))
    }
}

/// RFC 8290 §4.1: at most 64 packets are dropped at once.
const BATCH: u32 = 64;

/// The finalizer of SplitMix64 (Steele, Lea and Flood 2014): near keys fall far apart.
pub(super) const fn mixed(key: u64) -> u64 {
    let key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}
