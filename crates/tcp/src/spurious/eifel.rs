//! Eifel detection (RFC 3522): the echoed timestamp tells which copy an ACK answers.
//!
//! The clock of the first retransmission is remembered. The first ACK of new data that follows echoes the
//! clock of the segment that made the receiver send it: if that clock is older than the retransmission,
//! it was the original that arrived, and the signal was false.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Instant, Seq, SeqRange};

use super::{Judgement, Needs, Response, Signal, Spurious};
use crate::options::timestamp;
use crate::recovery::Ack;
use crate::registry::Entry;
use crate::scoreboard::Scoreboard;

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What a false signal gives back.
    pub response: Response,
}

#[derive(Debug)]
struct Eifel {
    params: Params,
    mode: Mode,
}

#[derive(Clone, Copy, Debug)]
enum Mode {
    /// No signal to judge.
    Idle,
    /// A signal came; nothing was sent again yet.
    Signalled,
    /// `RetransmitTS` (RFC 3522 §3.2 step 2): the clock of the first retransmission.
    Waiting { retransmitted: u32 },
}

impl Spurious for Eifel {
    fn on_signal(&mut self, signal: &Signal) {
        // RFC 3522 §3.2 step 1: the variables are set by the first of several signals.
        if !signal.again || matches!(self.mode, Mode::Idle) {
            self.mode = Mode::Signalled;
        }
    }

    fn on_retransmitted(&mut self, now: Instant, _range: SeqRange) {
        if matches!(self.mode, Mode::Signalled) {
            self.mode = Mode::Waiting { retransmitted: timestamp(now) };
        }
    }

    fn on_ack(&mut self, ack: &Ack, _board: &Scoreboard) -> Judgement {
        let (Mode::Waiting { retransmitted }, true) = (self.mode, ack.advances) else {
            return Judgement::Open;
        };
        self.mode = Mode::Idle;
        match ack.echo {
            // RFC 3522 §3.2 step 5.
            Some(echo) if Seq(echo).before(Seq(retransmitted)) => Judgement::Spurious,
            _ => Judgement::Genuine,
        }
    }

    fn response(&self) -> Response {
        self.params.response
    }

    fn needs(&self) -> Needs {
        Needs::Timestamps
    }
}

/// This algorithm in the registry.
pub const ENTRY: Entry<dyn Spurious> = Entry {
    id: "eifel",
    summary: "an echoed timestamp older than the retransmission shows that the original arrived",
    source: "RFC 3522; Ludwig and Katz 2000",
    parse: |value| {
        let params: Params = Entry::<dyn Spurious>::read(value)?;
        Ok(Arc::new(move || Box::new(Eifel { params: params.clone(), mode: Mode::Idle })))
    },
    schema: Entry::<dyn Spurious>::describe::<Params>,
};
