//! The round trips of a sender.

use units::{Duration, Instant};

use crate::flow::{HalfConnection, Repair};

/// The round trips of one sender, in the order of time, each from the sending of some data to their acknowledgment.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    rounds: Vec<Round>,
    open: Option<Open>,
    segment: u32,
}

/// One round trip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Round {
    /// Its end.
    pub(super) at: Instant,
    /// The largest amount in flight, in bytes.
    pub(super) flight: f64,
    /// The latest measured round-trip time.
    pub(super) time: Duration,
    /// Whether losses were repaired in it.
    pub(super) repairing: bool,
    /// Whether the peer's window was full.
    pub(super) limited: bool,
}

/// The round trip that has begun.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Its end, by acknowledged bytes.
    until: u64,
    flight: u64,
    repairing: bool,
    limited: bool,
}

impl Rounds {
    /// A packet of either side passed, after which the sender is in this state; `sent` is the length of its data if it
    /// is the sender's.
    pub fn on_packet(&mut self, at: Instant, half: &HalfConnection, sent: u32) {
        let flight = half.flight().0;
        if flight == 0 && self.open.is_none() {
            return;
        }
        self.segment = self.segment.max(sent);
        let acked = half.acked().0;
        let begun = Open { until: acked + flight, flight, repairing: false, limited: false };
        let open = self.open.get_or_insert(begun);
        open.flight = open.flight.max(flight);
        open.repairing |= half.repair() != Repair::None;
        open.limited |= flight + u64::from(self.segment) > half.peer_window().0;
        if acked >= open.until {
            let ended = *open;
            self.open = (flight > 0).then_some(begun);
            self.finish(at, half, ended);
        }
    }

    pub(super) fn rounds(&self) -> &[Round] {
        &self.rounds
    }

    /// The largest segment in bytes, at least 1.
    pub(super) fn segment(&self) -> f64 {
        f64::from(self.segment.max(1))
    }

    fn finish(&mut self, at: Instant, half: &HalfConnection, ended: Open) {
        let Some(time) = half.latest_round_trip() else { return };
        if self.rounds.len() < MOST_ROUNDS {
            let Open { flight, repairing, limited, .. } = ended;
            self.rounds.push(Round { at, flight: flight as f64, time, repairing, limited });
        }
    }

    #[cfg(test)]
    pub(super) fn with(rounds: Vec<Round>, segment: u32) -> Self {
        Self { rounds, open: None, segment }
    }
}

/// Bounds the memory of a connection; later ones do not change the shape.
const MOST_ROUNDS: usize = 1024;
