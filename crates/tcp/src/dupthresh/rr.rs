//! The threshold of RR-TCP (Zhang, Karp, Floyd and Peterson 2003): high enough for a share of all reordering
//! seen lately; needless fast retransmits raise the share, timeouts lower it, each by what it costs.
//!
//! The lengths come from a histogram; the share is the paper's *false-fast-retransmit avoidance ratio*.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DupThresh, Reordering, STANDARD, View};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters. The paper's own figures were not at hand: these are ours.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The share of reordering that shall draw no fast retransmit, in percent, at first.
    #[schemars(range(min = 1, max = 100))]
    pub initial_percent: u8,
    /// Increase of the share after an unnecessary fast retransmit, in percentage points.
    #[schemars(range(min = 0, max = 100))]
    pub step_percent: u8,
    /// Factor by which a timeout lowers the share more strongly. 2: a needless fast retransmit costs half a window, a
    /// timeout a whole one.
    pub timeout_cost: u8,
    /// Number of reorderings that are remembered.
    #[schemars(range(min = 1))]
    pub events: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { initial_percent: 90, step_percent: 1, timeout_cost: 2, events: 100 }
    }
}

#[derive(Debug)]
struct Rr {
    parameters: Parameters,
    share_percent: u8,
    /// Lengths by age, and the same by length.
    recent: VecDeque<u32>,
    sorted: Vec<u32>,
}

impl DupThresh for Rr {
    fn segments(&self, _view: &View) -> u32 {
        self.length_at_share().map_or(0, |length| length + 1).max(STANDARD as u32)
    }

    fn on_reordering(&mut self, reordering: &Reordering) {
        self.remember(reordering.extent);
        if reordering.retransmitted {
            self.share_percent = self.share_percent.saturating_add(self.parameters.step_percent).min(100);
        }
    }

    fn on_timeout(&mut self) {
        let fall = self.parameters.step_percent.saturating_mul(self.parameters.timeout_cost);
        self.share_percent = self.share_percent.saturating_sub(fall);
    }
}

impl Rr {
    fn new(parameters: Parameters) -> Self {
        Self {
            share_percent: parameters.initial_percent,
            parameters,
            recent: VecDeque::new(),
            sorted: vec![],
        }
    }

    fn remember(&mut self, length: u32) {
        if self.recent.len() >= self.parameters.events as usize {
            let oldest = self.recent.pop_front().expect("there is at least one");
            let place = self.sorted.partition_point(|known| *known < oldest);
            self.sorted.remove(place);
        }
        self.recent.push_back(length);
        let place = self.sorted.partition_point(|known| *known < length);
        self.sorted.insert(place, length);
    }

    /// The smallest length that the share of all does not exceed.
    fn length_at_share(&self) -> Option<u32> {
        let rank = (self.sorted.len() * usize::from(self.share_percent)).div_ceil(100);
        self.sorted.get(rank.checked_sub(1)?).copied()
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if !(1..=100).contains(&self.initial_percent) {
            let wrong = format!("initial_percent is {}, and no share", self.initial_percent);
            return Err(refusal(wrong, "from 1 to 100"));
        }
        if self.step_percent > 100 {
            let wrong = format!("step_percent is {}, more than there is", self.step_percent);
            return Err(refusal(wrong, "from 0 to 100"));
        }
        if self.events == 0 {
            return Err(refusal("events is 0, and nothing would be remembered", "1 or more"));
        }
        Ok(())
    }
}

/// This policy in the registry.
pub const ENTRY: Algorithm<dyn DupThresh> = Algorithm::checked(
    "rr",
    "a percentile of the lengths of reordering, moved by the cost of being wrong",
    "Zhang, Karp, Floyd and Peterson 2003",
    &Checked(Parameters::check, |parameters: &Parameters| Box::new(Rr::new(parameters.clone()))),
);
