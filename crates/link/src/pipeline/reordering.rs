//! Packets that are overtaken: chosen at random, or every n-th.

use units::{Duration, Stream, Streams};

use super::errors::Hit;
use crate::config::{self, Chosen};
use crate::distribution::Source;
use crate::random::happens;

#[derive(Debug)]
pub(super) struct ReorderingStage {
    probability: f64,
    gap: u64,
    chosen: Chosen,
    /// Packets since the last that was chosen.
    since: u64,
    stream: Stream,
    delay: Source<Duration>,
}

impl ReorderingStage {
    pub(super) fn new(config: &config::Reordering, streams: &Streams) -> Self {
        Self {
            probability: config.probability.get(),
            gap: config.gap.unwrap_or(1),
            chosen: config.chosen,
            since: 0,
            stream: streams.stream("reordering"),
            delay: Source::new(&config.delay, streams.stream("reordering_delay")),
        }
    }

    /// What becomes of the next packet. One number is drawn for each, whoever's turn it is.
    pub(super) fn hit(&mut self) -> Option<Hit> {
        self.since += 1;
        let is_chosen = happens(&mut self.stream, self.probability) && self.since >= self.gap;
        if is_chosen {
            self.since = 0;
        }
        match (self.chosen, is_chosen) {
            (Chosen::FallBehind, true) => Some(Hit::Aside(self.delay.draw())),
            (Chosen::FallBehind, false) => None,
            (Chosen::GoAhead, true) => Some(Hit::Aside(Duration::ZERO)),
            (Chosen::GoAhead, false) => Some(Hit::Delay(self.delay.draw())),
        }
    }
}
