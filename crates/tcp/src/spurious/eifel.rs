//! Eifel detection (RFC 3522): the echoed timestamp shows which copy an ACK answers.
//!
//! The clock of the first retransmission is remembered. The first ACK of new data that follows echoes the
//! clock of the segment that made the receiver send it: if that clock is older than the retransmission,
//! it was the original that arrived, and the signal was false.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Instant, Seq, SeqRange};

use super::{Judgement, Needs, Response, Signal, Spurious};
use crate::recovery::AckEvent;
use crate::scoreboard::Scoreboard;
use crate::timestamp::Timestamp;
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// State that is restored after a false signal.
    pub response: Response,
}

#[derive(Debug)]
struct Eifel {
    parameters: Parameters,
    mode: Mode,
    /// End of what was outstanding at the last signal, until it is acknowledged: loss recovery continues.
    recover: Option<Seq>,
    /// Whether the peer was ever seen to report a segment that arrived twice.
    reports_twice: bool,
}

#[derive(Clone, Copy, Debug)]
enum Mode {
    /// No signal to judge.
    Idle,
    /// A signal came; nothing was sent again yet.
    Signalled,
    /// `RetransmitTS` (RFC 3522 §3.2 step 2): the clock of the first retransmission.
    Waiting { retransmitted: Timestamp },
}

impl Spurious for Eifel {
    fn on_signal(&mut self, signal: &Signal) {
        // RFC 3522 §3.2: it begins with loss recovery and not again before that is over, so that what is remembered
        // stands however often the same segment is sent again, and no retransmission is taken for an original.
        if matches!(self.mode, Mode::Idle) && self.recover.is_none() {
            self.mode = Mode::Signalled;
        }
        self.recover = Some(signal.outstanding.end);
    }

    fn on_retransmitted(&mut self, now: Instant, _range: SeqRange) {
        if matches!(self.mode, Mode::Signalled) {
            self.mode = Mode::Waiting { retransmitted: Timestamp::at(now) };
        }
    }

    fn on_ack(&mut self, ack: &AckEvent, _board: &Scoreboard) -> Judgement {
        let reported_before = self.reports_twice;
        self.reports_twice |= ack.dsack.is_some();
        self.recover = self.recover.filter(|recover| ack.number.before(*recover));
        // Step 3: the first acceptable ACK.
        let (Mode::Waiting { retransmitted }, true) = (self.mode, ack.advances) else {
            return Judgement::Undecided;
        };
        self.mode = Mode::Idle;
        let older = ack.echo.is_some_and(|echo| echo.is_older_than(retransmitted));
        // Step 5: an ACK of everything may answer the retransmission although it echoes an original, where
        // the ACKs of a whole window were lost; a peer that knows D-SACK would have said so.
        let certain = ack.dsack.is_none() && (reported_before || ack.number != ack.nxt);
        if !older || !certain {
            return Judgement::Genuine;
        }
        self.recover = None;
        Judgement::Spurious
    }

    fn observes_advances(&self) -> bool {
        self.recover.is_some() || !matches!(self.mode, Mode::Idle)
    }

    fn response(&self) -> Response {
        self.parameters.response
    }

    fn needs(&self) -> Needs {
        Needs::Timestamps
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Spurious> = Algorithm::of(
    "eifel",
    "an echoed timestamp older than the retransmission shows that the original arrived",
    "RFC 3522; Ludwig and Katz 2000",
    &Build(|parameters: &Parameters| {
        Box::new(Eifel {
            parameters: parameters.clone(),
            mode: Mode::Idle,
            recover: None,
            reports_twice: false,
        })
    }),
);
