//! Rate-Halving (Mathis, Semke, Mahdavi and Lahey 1999): one segment goes out for each two that are
//! acknowledged, all through the first round trip of a recovery, instead of none in its first half and a burst
//! in its second. The ACK clock never stops.
//!
//! Losses are detected as by FACK (`fack.rs`), lost retransmissions included (the "thorough recovery" of the note). At
//! the end the window is half of what it was, less what was sent again; the threshold is no lower than a quarter of it.
//! Checked against the authors' own simulator code (ns-2, `tcp-sack-rh.cc`), which names the note's sections; the note
//! itself was not at hand.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::composed::{Detection, Event, Response};
use super::disorder::Disorder;
use super::fack::{self, Rampdown};
use super::{AckEvent, Actions, Finding, Recovery, SendWindow, SentEvent, Style, TimerAction, WindowAction};
use crate::scoreboard::Scoreboard;
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Retransmission after a timeout.
    pub after_timeout: Style,
}

/// Section 7.14, bounding parameters: the threshold at the end is at least a quarter of the former window.
const LEAST_PART: u64 = 4;

/// Rampdown, and at the end half of the former window, less the retransmissions.
#[derive(Debug)]
struct HalveTheRate {
    rampdown: Rampdown,
    /// Retransmissions of this recovery.
    again: Bytes,
}

impl Response for HalveTheRate {
    fn enter(&mut self, ack: &AckEvent, disorder: &Disorder, board: &Scoreboard) -> Actions {
        self.again = Bytes::ZERO;
        self.rampdown.enter(ack, disorder, board)
    }

    fn in_recovery(&mut self, ack: &AckEvent, found: Detection, board: &Scoreboard) -> Actions {
        self.rampdown.in_recovery(ack, found, board)
    }

    /// Sections 7.10 to 7.14. One segment for two acknowledged makes half of the window; each hole took the place of a
    /// segment that was never acknowledged.
    fn exit(&mut self, ack: &AckEvent, _board: &Scoreboard) -> Actions {
        self.rampdown.on_event(Event::Abandoned);
        let before = self.rampdown.before();
        let cwnd = (before.saturating_sub(self.again) / 2).max(ack.smss);
        let window = WindowAction::Set { cwnd, ssthresh: cwnd.max(before / LEAST_PART) };
        Actions { window, timer: TimerAction::Restart, finding: Finding::Resized("halved") }
    }

    fn on_event(&mut self, event: Event) {
        self.rampdown.on_event(event);
    }

    fn on_sent(&mut self, sent: &SentEvent, _disorder: &Disorder, _board: &Scoreboard) {
        self.again += if sent.again { sent.len } else { Bytes::ZERO };
    }

    fn window(&self, cwnd: Bytes, disorder: &Disorder) -> SendWindow {
        self.rampdown.window(cwnd, disorder)
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Recovery> = Algorithm::of(
    "rate-halving",
    "FACK that sends one segment for each two acknowledged until the window is halved",
    "Mathis, Semke, Mahdavi and Lahey 1999; draft-mathis-tcp-ratehalving-00",
    &Build(|parameters: &Parameters| {
        let Parameters { after_timeout } = *parameters;
        let fack = fack::Parameters { rampdown: true, after_timeout, ..fack::Parameters::default() };
        let response = HalveTheRate { rampdown: Rampdown::new(&fack), again: Bytes::ZERO };
        Box::new(fack::respond_by(&fack, response))
    }),
);
