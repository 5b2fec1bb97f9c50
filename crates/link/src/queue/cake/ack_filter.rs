//! The ACK filter: a waiting ACK whose information a later one in its sub-queue repeats is dropped
//! (Høiland-Jørgensen, Täht and Morton 2018 §III.E).
//!
//! Only pure ACKs are filtered: without data and without SACK blocks, of one flow, with the same flags. A duplicate ACK
//! stays, because it indicates a loss.

use std::collections::{BTreeMap, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::packet::PureAck;
use crate::queue::Keys;

/// ACKs that are dropped (tc-cake(8)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckFilter {
    /// None.
    #[default]
    Off,
    /// The oldest redundant one where two are: the last one before the newest stays.
    Conservative,
    /// Every redundant one.
    Aggressive,
}

/// The filter's record of waiting packets.
#[derive(Debug)]
pub(super) struct QueuedAcks {
    filter: AckFilter,
    /// Each packet of a sub-queue, in order: its flow and its acknowledgment, if it is a pure ACK.
    waiting: BTreeMap<usize, VecDeque<Option<(u64, PureAck)>>>,
    arriving: Option<(u64, PureAck)>,
}

impl QueuedAcks {
    pub const fn new(filter: AckFilter) -> Self {
        Self { filter, waiting: BTreeMap::new(), arriving: None }
    }

    pub fn on_arrival(&mut self, keys: &Keys) {
        self.arriving = keys.ack.map(|ack| (keys.flow, ack));
    }

    /// The packet that arrived last waits in this sub-queue.
    pub fn push(&mut self, sub_queue: usize) {
        if self.filter != AckFilter::Off {
            self.waiting.entry(sub_queue).or_default().push_back(self.arriving);
        }
    }

    /// The head of this sub-queue is gone.
    pub fn pop_front(&mut self, sub_queue: usize) {
        if let Some(waiting) = self.waiting.get_mut(&sub_queue) {
            waiting.pop_front();
        }
    }

    /// Takes out the oldest ACK in this sub-queue that its last packet makes redundant; its position.
    pub fn superseded(&mut self, sub_queue: usize) -> Option<usize> {
        let (flow, newest) = self.arriving.filter(|_| self.filter != AckFilter::Off)?;
        let waiting = self.waiting.get_mut(&sub_queue)?;
        let redundant =
            |ack: &Option<(u64, PureAck)>| ack.is_some_and(|(of, ack)| of == flow && ack.precedes(newest));
        let mut positions =
            waiting.iter().enumerate().filter(|(_, ack)| redundant(ack)).map(|(place, _)| place);
        let oldest = positions.next()?;
        if self.filter == AckFilter::Conservative {
            positions.next()?;
        }
        waiting.remove(oldest);
        Some(oldest)
    }
}
