//! FQ-CoDel: flows are sorted into lanes by a hash, served by deficit round robin with new flows
//! first, and each lane has a CoDel of its own (RFC 8290).
//!
//! The quantum is 1514 bytes and the limit, which the queue has, should be "10240 packets" (RFC 8290
//! §5.2). Where the limit is reached, packets are dropped from the head of the lane with the most
//! bytes: half of them, at most 64 (§4.1). We look for that lane before the packet comes in, not after.

use std::collections::VecDeque;

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Stream};

use super::codel::{self, Codel};
use super::{Entry, Keys, Lane, Policy, Scheduler, Service, Setting};
use crate::config::ConfigError;

/// The registry's line.
pub const ENTRY: Entry = Entry {
    id: "fq-codel",
    summary: "each flow for itself with a controlled delay, new flows first",
    example: "{ fq-codel = { target = \"5 ms\", interval = \"100 ms\" } }",
    source: "RFC 8290",
};

/// Those of CoDel, and of the round robin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// The stay in the queue that is acceptable (RFC 8290 §5.2.3).
    pub target: Duration,
    /// How long packets may stay longer (§5.2.2).
    pub interval: Duration,
    /// Bytes that a lane may send in a turn (§5.2.1: the MTU with the Ethernet header).
    pub quantum: Bytes,
    /// Lanes into which flows are hashed (§5.2.5). Two flows can fall into one.
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

impl Setting for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        self.codel().check()?;
        if self.quantum.is_zero() {
            return Err(ConfigError::new("quantum", "a turn of 0 bytes", "write a size like \"1514 bytes\""));
        }
        if !(1..=65_536).contains(&self.flows) {
            let message = format!("{} lanes", self.flows);
            return Err(ConfigError::new("flows", message, "write 1 to 65536"));
        }
        Ok(())
    }

    fn service(&self, mut stream: Stream) -> Service {
        let turns = vec![Turn::default(); self.flows as usize];
        let perturbation = stream.next_u64();
        let (new, old) = (VecDeque::new(), VecDeque::new());
        Service::Lanes(Box::new(FqCodel { parameters: *self, perturbation, turns, new, old }))
    }
}

/// What a lane has of its turn.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    deficit: i64,
    is_listed: bool,
}

#[derive(Debug)]
struct FqCodel {
    parameters: Parameters,
    perturbation: u64,
    turns: Vec<Turn>,
    /// The lanes of the RFC's two lists, next first.
    new: VecDeque<usize>,
    old: VecDeque<usize>,
}

impl Scheduler for FqCodel {
    fn lane_of(&mut self, keys: &Keys) -> usize {
        (mixed(keys.flow ^ self.perturbation) % u64::from(self.parameters.flows)) as usize
    }

    fn policy(&self, _: usize) -> Box<dyn Policy> {
        Box::new(Codel::new(self.parameters.codel()))
    }

    fn on_queued(&mut self, lane: usize) {
        let turn = &mut self.turns[lane];
        if !turn.is_listed {
            *turn = Turn { deficit: self.parameters.quantum.0 as i64, is_listed: true };
            self.new.push_back(lane);
        }
    }

    /// RFC 8290 §4.2. What the RFC does with an empty lane when it is served, happens here when the
    /// next is looked for.
    fn next(&mut self, lanes: &[Lane]) -> Option<usize> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let lane = *list.front()?;
            let turn = &mut self.turns[lane];
            if turn.deficit <= 0 {
                turn.deficit += self.parameters.quantum.0 as i64;
                list.pop_front();
                self.old.push_back(lane);
            } else if lanes[lane].is_empty() {
                list.pop_front();
                // A new lane that ran empty goes round once more, so that it cannot be new at once.
                if is_new && !self.old.is_empty() {
                    self.old.push_back(lane);
                } else {
                    turn.is_listed = false;
                }
            } else {
                return Some(lane);
            }
        }
    }

    fn on_served(&mut self, lane: usize, size: Bytes) {
        self.turns[lane].deficit -= size.0 as i64;
    }

    fn victims(&self, lanes: &[Lane], _: usize) -> Option<(usize, u32)> {
        let (lane, fattest) = lanes.iter().enumerate().max_by_key(|(_, lane)| lane.bytes())?;
        Some((lane, fattest.len().div_ceil(2).min(BATCH)))
    }
}

/// RFC 8290 §4.1: at most 64 packets are dropped at once.
const BATCH: u32 = 64;

/// The finalizer of SplitMix64 (Steele, Lea and Flood 2014): near keys fall far apart.
const fn mixed(key: u64) -> u64 {
    let key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}
