//! Radio frames: what a packet becomes on the air, and how often its pieces are sent.
//!
//! With independent frame errors of probability p, a packet of n frames takes n / (1 − p) of them in
//! the mean, and its number of rounds beyond the first is the largest of n geometric numbers.

use units::{Bytes, Duration, Streams};

use super::errors::Hit;
use crate::config;
use crate::distribution::Source;
use crate::error_model::Process;

#[derive(Debug)]
pub(super) struct FrameStage {
    size: Bytes,
    payload: Bytes,
    attempts: Box<dyn Process>,
    round_trip: Source<Duration>,
    limit: u32,
    gives_up: bool,
    /// What became of the packets inside, by their slots.
    on_air: Vec<OnAir>,
}

/// What becomes of a packet in frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OnAir {
    /// What is transmitted for it.
    pub(super) bytes: Bytes,
    /// How long its repetitions delay it.
    pub(super) delay: Duration,
    /// Whether it is given up.
    pub(super) is_lost: bool,
}

impl OnAir {
    pub(super) const fn was_repeated(&self) -> bool {
        !self.delay.is_zero() || self.is_lost
    }

    pub(super) const fn hit(self) -> Hit {
        if self.is_lost { Hit::Discard(self.delay) } else { Hit::Delay(self.delay) }
    }
}

impl FrameStage {
    pub(super) fn new(config: &config::Frames, streams: &Streams) -> Self {
        Self {
            size: config.size,
            payload: config.payload,
            attempts: config.model().process(streams.stream("frames")),
            round_trip: Source::new(&config.round_trip, streams.stream("frames_round_trip")),
            limit: config.limit.unwrap_or(NEVER_MORE),
            gives_up: config.limit.is_some(),
            on_air: Vec::new(),
        }
    }

    /// The packet in this slot is cut and sent.
    pub(super) fn cut(&mut self, slot: u32, packet: Bytes) {
        let slot = slot as usize;
        if self.on_air.len() <= slot {
            self.on_air.resize(slot + 1, OnAir::default());
        }
        self.on_air[slot] = self.send(packet);
    }

    /// What became of the packet in this slot, which was cut.
    pub(super) fn of(&self, slot: u32) -> OnAir {
        self.on_air.get(slot as usize).copied().unwrap_or_default()
    }

    /// Sends the frames of a packet of this size, round after round those that failed.
    fn send(&mut self, packet: Bytes) -> OnAir {
        let mut missing = packet.0.div_ceil(self.payload.0).max(1);
        let (mut sent, mut delay) = (missing, Duration::ZERO);
        missing = self.failures(missing);
        for _ in 0..self.limit {
            if missing == 0 {
                break;
            }
            sent += missing;
            delay += self.round_trip.draw();
            missing = self.failures(missing);
        }
        OnAir { bytes: self.size * sent, delay, is_lost: missing > 0 && self.gives_up }
    }

    fn failures(&mut self, frames: u64) -> u64 {
        (0..frames).map(|_| u64::from(self.attempts.hits(self.size))).sum()
    }
}

/// Where the link layer never gives up but its attempts, by their model, never succeed.
const NEVER_MORE: u32 = 1_000_000;
