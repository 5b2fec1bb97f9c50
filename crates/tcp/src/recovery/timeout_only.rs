//! No fast retransmit at all: only the timer tells of losses, as in the TCPs before 1988 and in the
//! "Tahoe without fast retransmit" that simulations compare with (Fall and Floyd 1996).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ack, AfterTimeout, Next, Phase, Recovery, Room, Style, Timeout, Verdict, lost_first};
use crate::registry::Entry;
use crate::scoreboard::Scoreboard;

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What happens after a timeout.
    pub after_timeout: Style,
}

#[derive(Debug)]
struct TimeoutOnly {
    after_timeout: AfterTimeout,
}

impl Recovery for TimeoutOnly {
    fn on_ack(&mut self, ack: &Ack, board: &mut Scoreboard) -> Verdict {
        self.after_timeout.on_ack(ack, board);
        Verdict::Ordinary
    }

    fn on_timeout(&mut self, timeout: &Timeout, board: &mut Scoreboard) {
        self.after_timeout.on_timeout(timeout.nxt, board);
    }

    fn on_spurious(&mut self) {
        self.after_timeout.leave();
    }

    fn next(&self, board: &Scoreboard, room: &Room) -> Next {
        lost_first(board, room, self.after_timeout.forces(), self.after_timeout.allows_new())
    }

    fn inflation(&self) -> i64 {
        self.after_timeout.inflation()
    }

    fn phase(&self) -> Phase {
        self.after_timeout.recover().map_or(Phase::Open, |recover| Phase::AfterTimeout { recover })
    }
}

/// This algorithm in the registry.
pub const ENTRY: Entry<dyn Recovery> = Entry {
    id: "timeout-only",
    summary: "Tahoe without fast retransmit: only the timer finds losses",
    source: "RFC 793; Fall and Floyd 1996",
    parse: |value| {
        let Params { after_timeout } = Entry::<dyn Recovery>::read(value)?;
        Ok(Arc::new(move || Box::new(TimeoutOnly { after_timeout: AfterTimeout::new(after_timeout) })))
    },
    schema: Entry::<dyn Recovery>::describe::<Params>,
};
