//! Radio frames: the division of a packet, and the transmissions of its frames.
//!
//! With independent frame errors of probability p, a packet of n frames takes n / (1 − p) of them in
//! the mean, and its number of rounds beyond the first is the largest of n geometric numbers.

use units::{Bytes, Duration, Streams};

use super::impairment::Impairment;
use crate::config;
use crate::distribution::Source;
use crate::error_model::Process;
use crate::store::Handle;

#[derive(Debug)]
pub(super) struct FrameStage {
    size: Bytes,
    payload: Bytes,
    attempts: Box<dyn Process>,
    round_trip: Source<Duration>,
    limit: u32,
    gives_up: bool,
    /// Transmissions of the packets inside, by their handles.
    transmissions: Vec<FrameTransmission>,
}

/// The transmission of a packet in frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FrameTransmission {
    /// Bytes transmitted for it.
    pub(super) bytes: Bytes,
    /// Delay by its retransmissions.
    pub(super) delay: Duration,
    /// Whether it is given up.
    pub(super) is_lost: bool,
}

impl FrameTransmission {
    pub(super) const fn was_repeated(&self) -> bool {
        !self.delay.is_zero() || self.is_lost
    }

    pub(super) const fn impairment(self) -> Impairment {
        if self.is_lost { Impairment::DelayThenDrop(self.delay) } else { Impairment::Delay(self.delay) }
    }
}

impl FrameStage {
    pub(super) fn new(config: &config::Frames, streams: &Streams) -> Self {
        Self {
            size: config.size,
            payload: config.payload,
            attempts: config.model().process(streams.stream("frames")),
            round_trip: Source::new(&config.round_trip, streams.stream("frames_round_trip")),
            limit: config.limit.unwrap_or(NO_LIMIT),
            gives_up: config.limit.is_some(),
            transmissions: Vec::new(),
        }
    }

    /// The packet in this handle is cut and sent.
    pub(super) fn cut(&mut self, handle: Handle, packet: Bytes) {
        let place = handle.index();
        if self.transmissions.len() <= place {
            self.transmissions.resize(place + 1, FrameTransmission::default());
        }
        self.transmissions[place] = self.send(packet);
    }

    /// The transmission of the divided packet in this handle.
    pub(super) fn of(&self, handle: Handle) -> FrameTransmission {
        self.transmissions.get(handle.index()).copied().unwrap_or_default()
    }

    /// Sends the frames of a packet of this size, and in each further round the failed frames.
    fn send(&mut self, packet: Bytes) -> FrameTransmission {
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
        FrameTransmission { bytes: self.size * sent, delay, is_lost: missing > 0 && self.gives_up }
    }

    fn failures(&mut self, frames: u64) -> u64 {
        (0..frames).map(|_| u64::from(self.attempts.hits(self.size))).sum()
    }
}

/// The limit of a link layer that never gives up: if no attempt ever succeeds, the run must continue.
const NO_LIMIT: u32 = 1_000_000;
