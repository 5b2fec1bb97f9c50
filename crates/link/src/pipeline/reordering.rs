//! Packets that are overtaken: chosen at random, or every n-th.

use units::{Duration, Stream, Streams};

use super::impairment::Impairment;
use crate::config::{self, ReorderingMode};
use crate::distribution::Source;
use crate::random::happens;

#[derive(Debug)]
pub(super) struct ReorderingStage {
    probability: f64,
    gap: u64,
    chosen: ReorderingMode,
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

    /// The impairment of the next packet. One number is drawn for each packet, whether or not it may be chosen.
    pub(super) fn impairment(&mut self) -> Option<Impairment> {
        self.since += 1;
        let is_chosen = happens(&mut self.stream, self.probability) && self.since >= self.gap;
        if is_chosen {
            self.since = 0;
        }
        match (self.chosen, is_chosen) {
            (ReorderingMode::FallBehind, true) => Some(Impairment::DelayOutOfOrder(self.delay.draw())),
            (ReorderingMode::FallBehind, false) => None,
            (ReorderingMode::GoAhead, true) => Some(Impairment::DelayOutOfOrder(Duration::ZERO)),
            (ReorderingMode::GoAhead, false) => Some(Impairment::Delay(self.delay.draw())),
        }
    }
}
