//! Retransmission by the link layer: the number of attempts of a packet, and their cost.
//!
//! An attempt fails or not; each that fails is followed by another a round trip later. So with equal
//! probability p for each attempt, k retransmissions have the probability pᵏ·(1 − p) exactly.

use units::{Bytes, Duration, Streams};

use super::impairment::Impairment;
use crate::config;
use crate::distribution::Source;
use crate::error_model::Process;

#[derive(Debug)]
pub(super) struct ArqStage {
    attempts: Box<dyn Process>,
    round_trip: Source<Duration>,
    retransmissions: Option<u32>,
    limit: u32,
    gives_up: bool,
}

impl ArqStage {
    pub(super) fn new(config: &config::Arq, streams: &Streams) -> Self {
        Self {
            attempts: config.model().process(streams.stream("arq")),
            round_trip: Source::new(&config.round_trip, streams.stream("arq_round_trip")),
            retransmissions: config.retransmissions,
            limit: config.limit.unwrap_or(NO_LIMIT),
            gives_up: config.limit.is_some(),
        }
    }

    /// The link layer's effect on the next packet: none, a delay, or a loss after a delay.
    pub(super) fn impairment(&mut self, size: Bytes) -> Option<Impairment> {
        if !self.attempts.hits(size) {
            return None;
        }
        if let Some(retransmissions) = self.retransmissions {
            return Some(Impairment::Delay(self.round_trips(retransmissions)));
        }
        for retransmission in 1..=self.limit {
            if !self.attempts.hits(size) {
                return Some(Impairment::Delay(self.round_trips(retransmission)));
            }
        }
        let by = self.round_trips(self.limit);
        Some(if self.gives_up { Impairment::DelayThenDrop(by) } else { Impairment::Delay(by) })
    }

    fn round_trips(&mut self, count: u32) -> Duration {
        match self.round_trip.constant() {
            Some(round_trip) => round_trip * u64::from(count),
            None => (0..count).fold(Duration::ZERO, |sum, _| sum + self.round_trip.draw()),
        }
    }
}

/// The limit of a link layer that never gives up: if no attempt ever succeeds, the run must continue. At an attempt a
/// millisecond this is a quarter of an hour.
const NO_LIMIT: u32 = 1_000_000;
