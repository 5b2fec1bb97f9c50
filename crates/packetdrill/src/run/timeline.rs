//! The events of a run, in order, to show with a failure.

use units::Instant;

use super::ids::START;
use crate::text::seconds;

/// The events so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline(Vec<TimelineEvent>);

/// An event of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineEvent {
    /// Time in seconds since the start of the script.
    pub at: String,
    /// The line of the script that caused it; none for actions of the endpoint.
    pub line: Option<u32>,
    /// Description.
    pub text: String,
}

/// Number of events shown before a failure.
const SHOWN: usize = 12;

impl Timeline {
    pub(super) fn add(&mut self, at: Instant, line: Option<u32>, text: &str) {
        let at = seconds(at.saturating_since(START));
        self.0.push(TimelineEvent { at, line, text: text.split_whitespace().collect::<Vec<_>>().join(" ") });
    }

    /// The last entries.
    pub(super) fn last(&self) -> Vec<TimelineEvent> {
        self.0[self.0.len().saturating_sub(SHOWN)..].to_vec()
    }
}
