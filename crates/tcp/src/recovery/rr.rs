//! RR-TCP (Zhang, Karp, Floyd and Peterson 2003), its sending side: SACK recovery with limited transmit extended to a
//! whole window, so that a high threshold of duplicate ACKs can be reached at all.
//!
//! The threshold itself is `dupthresh`'s (the histogram of reordering lengths), false fast retransmits are
//! found and undone by `spurious` (D-SACK); the profile `rr` puts the three together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::composed::{Detection, Response};
use super::disorder::Disorder;
use super::sack_6675::respond_by;
use super::{AckEvent, Actions, Recovery, Style, TimerAction};
use crate::scoreboard::Scoreboard;
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Windows of new data that duplicate ACKs may release beyond the window. Zhang et al. 2003: one.
    #[schemars(range(min = 0, max = 100))]
    pub extra_windows: u32,
    /// Retransmission after a timeout.
    pub after_timeout: Style,
}

impl Default for Parameters {
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

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        let Self { extra_windows, .. } = *self;
        if extra_windows > 100 {
            return Err(refusal(format!("extra_windows is {extra_windows}"), "from 0 to 100"));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Recovery> = Algorithm::checked(
    "rr",
    "SACK recovery with limited transmit extended to a window, for high duplicate thresholds",
    "Zhang, Karp, Floyd and Peterson 2003 (RR-TCP)",
    &Checked(Parameters::check, |parameters: &Parameters| {
        let Parameters { extra_windows, after_timeout } = *parameters;
        Box::new(respond_by(WholeWindow, after_timeout).with_extra_windows(extra_windows))
    }),
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_windows_more_are_the_most() {
        let check = |extra_windows| Parameters { extra_windows, ..Parameters::default() }.check();
        assert!(check(100).is_ok() && check(101).is_err());
    }
}
