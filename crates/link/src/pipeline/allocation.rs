//! Allocation of the channel before a transmission.

use units::{Duration, Instant, Streams};

use crate::config::{Allocation, Config};
use crate::distribution::Source;

#[derive(Debug)]
pub(super) struct AllocationStage {
    delay: Option<Source<Duration>>,
    when: Allocation,
    /// Time at which the last transmission ended.
    last_end: Option<Instant>,
}

impl AllocationStage {
    pub(super) fn new(config: &Config, streams: &Streams) -> Self {
        let source = |delay| Source::new(delay, streams.stream("allocation"));
        Self { delay: config.allocation_delay.as_ref().map(source), when: config.allocation, last_end: None }
    }

    /// Time that the next transmission waits for the channel.
    pub(super) fn delay(&mut self, now: Instant) -> Duration {
        let Some(delay) = &mut self.delay else { return Duration::ZERO };
        if self.when == Allocation::AfterIdle && self.last_end == Some(now) {
            return Duration::ZERO;
        }
        delay.draw()
    }

    pub(super) const fn on_transmitted(&mut self, now: Instant) {
        self.last_end = Some(now);
    }
}
