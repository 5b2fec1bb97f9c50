//! RR-TCP (Zhang, Karp, Floyd and Peterson 2003), its sending side: SACK recovery with limited transmit extended to a
//! whole window, so that a high threshold of duplicate ACKs can be reached at all.
//!
//! The threshold itself is `dupthresh`'s (the histogram of reordering lengths), false fast retransmits are
//! found and undone by `spurious` (D-SACK); the profile `rr` puts the three together.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::composed::{Detection, Response};
use super::disorder::Disorder;
use super::sack_6675::respond_by;
use super::{AckEvent, Actions, Recovery, Style, TimerAction};
use crate::registry::{Entry, refusal};
use crate::scoreboard::Scoreboard;

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Windows of new data that duplicate ACKs may release beyond the window. Zhang et al. 2003: one.
    #[schemars(range(min = 0, max = 100))]
    pub extra_windows: u32,
    /// What happens after a timeout.
    pub after_timeout: Style,
}

impl Default for Params {
    fn default() -> Self {
        Self { extra_windows: 1, after_timeout: Style::default() }
    }
}

/// While a gap lasts, each duplicate ACK releases new data; a reduction is based on the flight before the gap.
#[derive(Debug)]
pub(super) struct WholeWindow;

impl Response for WholeWindow {
    fn enter(&mut self, ack: &AckEvent, disorder: &Disorder, _board: &Scoreboard) -> Actions {
        disorder.reduce(ack)
    }

    fn in_recovery(&mut self, ack: &AckEvent, _found: Detection, _board: &Scoreboard) -> Actions {
        Actions::hold(TimerAction::restart_if(ack.advances))
    }

    fn limited_transmit(&self, disorder: &Disorder) -> Bytes {
        disorder.limited_transmit()
    }
}

/// This algorithm in the registry.
pub const ENTRY: Entry<dyn Recovery> = Entry {
    id: "rr",
    summary: "SACK recovery with limited transmit extended to a window, for high duplicate thresholds",
    source: "Zhang, Karp, Floyd and Peterson 2003 (RR-TCP)",
    parse: |value| {
        let Params { extra_windows, after_timeout } = Entry::<dyn Recovery>::read(value)?;
        if extra_windows > 100 {
            return Err(refusal(format!("extra_windows is {extra_windows}"), "from 0 to 100"));
        }
        Ok(Arc::new(move || {
            Box::new(respond_by(WholeWindow, after_timeout).with_extra_windows(extra_windows))
        }))
    },
    schema: Entry::<dyn Recovery>::describe::<Params>,
};
