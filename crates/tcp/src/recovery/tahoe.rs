//! Tahoe: fast retransmit without fast recovery (Jacobson 1988).
//!
//! The third duplicate ACK is treated as a timeout without the wait: the window falls to one segment,
//! and everything outstanding is sent again in slow start unless an ACK covers it first.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Seq;

use super::duplicates::Duplicates;
use super::{Ack, AfterTimeout, Next, Phase, Recovery, Room, Style, Timeout, Verdict, lost_first};
use crate::Cause;
use crate::registry::Entry;
use crate::scoreboard::{Mark, Scoreboard};

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What happens after a timeout.
    pub after_timeout: Style,
}

#[derive(Debug)]
struct Tahoe {
    duplicates: Duplicates,
    after_timeout: AfterTimeout,
    /// End of what was outstanding at the last loss: duplicate ACKs below it are echoes of what was
    /// sent again, not news.
    repairing: Option<Seq>,
}

impl Recovery for Tahoe {
    fn on_ack(&mut self, ack: &Ack, board: &mut Scoreboard) -> Verdict {
        self.after_timeout.on_ack(ack, board);
        if ack.advances {
            self.duplicates.clear();
            self.repairing = self.repairing.filter(|recover| ack.number.before(*recover));
        } else if ack.duplicate && self.duplicates.reach(ack.dupthresh) && self.repairing.is_none() {
            self.start_over(ack.nxt, board);
            board.blame_first(Cause::FastRetransmit);
            return Verdict::Collapse;
        }
        Verdict::Ordinary
    }

    fn on_timeout(&mut self, timeout: &Timeout, board: &mut Scoreboard) {
        self.start_over(timeout.nxt, board);
    }

    fn on_spurious(&mut self) {
        self.after_timeout.leave();
        self.repairing = None;
        self.duplicates.clear();
    }

    fn next(&self, board: &Scoreboard, room: &Room) -> Next {
        let forced = board.front().is_some_and(|first| first.mark == Mark::Lost(Cause::FastRetransmit));
        lost_first(board, room, forced || self.after_timeout.forces(), self.after_timeout.allows_new())
    }

    fn inflation(&self) -> i64 {
        self.after_timeout.inflation()
    }

    fn phase(&self) -> Phase {
        self.after_timeout.recover().map_or(Phase::Open, |recover| Phase::AfterTimeout { recover })
    }
}

impl Tahoe {
    fn start_over(&mut self, nxt: Seq, board: &mut Scoreboard) {
        self.after_timeout.on_timeout(nxt, board);
        self.repairing = Some(nxt);
        self.duplicates.clear();
    }
}

/// This algorithm in the registry.
pub const ENTRY: Entry<dyn Recovery> = Entry {
    id: "tahoe",
    summary: "fast retransmit, then slow start from one segment",
    source: "Jacobson 1988; Fall and Floyd 1996",
    parse: |value| {
        let Params { after_timeout } = Entry::<dyn Recovery>::read(value)?;
        Ok(Arc::new(move || {
            Box::new(Tahoe {
                duplicates: Duplicates::default(),
                after_timeout: AfterTimeout::new(after_timeout),
                repairing: None,
            })
        }))
    },
    schema: Entry::<dyn Recovery>::describe::<Params>,
};
