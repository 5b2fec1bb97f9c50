//! What happened in a run, in order, to show around a failure.

use units::Instant;

use super::host::START;
use crate::text::seconds;

/// What happened.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline(Vec<Entry>);

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When, in seconds since the start of the script.
    pub at: String,
    /// The line of the script that made it happen; none for what the endpoint did.
    pub line: Option<u32>,
    /// What.
    pub text: String,
}

/// So many entries are shown before a failure.
const SHOWN: usize = 12;

impl Timeline {
    pub(super) fn add(&mut self, at: Instant, line: Option<u32>, text: &str) {
        let at = seconds(at.saturating_since(START));
        self.0.push(Entry { at, line, text: text.split_whitespace().collect::<Vec<_>>().join(" ") });
    }

    /// The last entries.
    pub(super) fn last(&self) -> Vec<Entry> {
        self.0[self.0.len().saturating_sub(SHOWN)..].to_vec()
    }
}
