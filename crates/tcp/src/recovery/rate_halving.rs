//! Rate-Halving (Mathis, Semke, Mahdavi and Lahey 1999): one segment goes out for each two that are
//! acknowledged, all through the first round trip of a recovery, instead of none in its first half and a burst
//! in its second. The ACK clock never stops.
//!
//! What is lost is told as FACK tells it (`fack.rs`), lost retransmissions included (the "thorough recovery" of
//! the note). At the end the window is half of what it was, less what was sent again; the threshold is no lower than
//! a quarter of it. Checked against the authors' own simulator code (ns-2, `tcp-sack-rh.cc`), which names the note's
//! sections; the note itself was not at hand.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::composed::{Detection, Event, Response};
use super::disorder::Disorder;
use super::fack::{self, Rampdown};
use super::{AckEvent, Actions, Finding, Recovery, SendWindow, SentEvent, Style, TimerAction, WindowAction};
use crate::registry::Entry;
use crate::scoreboard::Scoreboard;

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What happens after a timeout.
    pub after_timeout: Style,
}

/// Section 7.14, bounding parameters: the threshold at the end is a quarter of the window of before at the least.
const LEAST_PART: u64 = 4;

/// Rampdown, and at the end half of the window of before, less what was sent again.
#[derive(Debug)]
struct HalveTheRate {
    rampdown: Rampdown,
    /// What was sent again in this recovery.
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
pub const ENTRY: Entry<dyn Recovery> = Entry {
    id: "rate-halving",
    summary: "FACK that sends one segment for each two acknowledged until the window is halved",
    source: "Mathis, Semke, Mahdavi and Lahey 1999; draft-mathis-tcp-ratehalving-00",
    parse: |value| {
        let Params { after_timeout } = Entry::<dyn Recovery>::read(value)?;
        let params = fack::Params { rampdown: true, after_timeout, ..fack::Params::default() };
        Ok(Arc::new(move || {
            let response = HalveTheRate { rampdown: Rampdown::new(&params), again: Bytes::ZERO };
            Box::new(fack::respond_by(&params, response))
        }))
    },
    schema: Entry::<dyn Recovery>::describe::<Params>,
};
