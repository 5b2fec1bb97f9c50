//! RR-TCP (Zhang, Karp, Floyd and Peterson 2003), its sending side: SACK recovery with limited transmit extended
//! to a whole window, so that a high threshold of duplicate ACKs can be reached at all.
//!
//! The threshold itself is `dupthresh`'s (the histogram of reordering lengths), false fast retransmits are
//! found and undone by `spurious` (D-SACK); the profile `rr` puts the three together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::composed::{Detection, Response};
use super::disorder::{Change, Disorder};
use super::sack_6675::respond_by;
use super::{AckEvent, Actions, Next, Recovery, Room, Style, TimerAction};
use crate::scoreboard::Scoreboard;
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// How many windows of new data duplicate ACKs may let out beyond the window. Zhang et al. 2003: one.
    #[schemars(range(min = 0, max = 100))]
    pub extra_windows: u32,
    /// What happens after a timeout.
    pub after_timeout: Style,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { extra_windows: 1, after_timeout: Style::default() }
    }
}

/// While a gap lasts, each duplicate ACK lets new data out; a reduction goes by the flight of before.
#[derive(Debug)]
pub(super) struct WholeWindow {
    /// How many windows may be let out beyond the window, if there is a limit.
    extra_windows: Option<u32>,
    /// The most that may be outstanding while a gap lasts.
    most: Bytes,
}

impl WholeWindow {
    /// With no limit on what is let out.
    pub(super) const fn unlimited() -> Self {
        Self { extra_windows: None, most: Bytes::MAX }
    }

    const fn limited_to(extra_windows: u32) -> Self {
        Self { extra_windows: Some(extra_windows), most: Bytes::ZERO }
    }
}

impl Response for WholeWindow {
    fn in_order(&mut self, ack: &AckEvent, _: Detection, _: Change, _board: &Scoreboard) -> Actions {
        if let Some(extra) = self.extra_windows {
            self.most = ack.cwnd * (u64::from(extra) + 1);
        }
        Actions::ordinary(ack)
    }

    fn enter(&mut self, ack: &AckEvent, disorder: &Disorder, _board: &Scoreboard) -> Actions {
        disorder.reduce(ack)
    }

    fn in_recovery(&mut self, ack: &AckEvent, _found: Detection, _board: &Scoreboard) -> Actions {
        Actions::hold(TimerAction::restart_if(ack.advances))
    }

    fn limited_transmit(&self, disorder: &Disorder) -> Bytes {
        disorder.limited_transmit()
    }

    fn allows(&self, next: Next, disorder: &Disorder, board: &Scoreboard, room: &Room) -> bool {
        let new = room.new.unwrap_or(Bytes::ZERO);
        next != Next::New || disorder.flight().is_none() || board.outstanding() + new <= self.most
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
        Box::new(respond_by(WholeWindow::limited_to(extra_windows), after_timeout))
    }),
);
