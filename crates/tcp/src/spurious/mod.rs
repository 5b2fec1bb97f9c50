//! Whether a loss signal was false, and what is then undone.
//!
//! A signal, that of the timer or of duplicate ACKs, is believed at first: the window is reduced and segments are sent
//! again. A detector then looks at the ACKs that follow. If it finds that nothing was lost, the sender
//! (`send_half/undo.rs`) takes every mark off the board, so that nothing more is sent again, and restores as much of
//! the window as the detector's [`Response`] permits.
//!
//! Read `eifel.rs` first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Instant, SeqRange};

use crate::recovery::AckEvent;
use crate::scoreboard::Scoreboard;
use registry::algorithms;

algorithms! {
    /// The detectors of spurious retransmissions.
    dyn Spurious in "spurious", a "detection of spurious retransmissions":
    none,
    eifel,
    f_rto,
    dsack,
    rtt_comparison,
    linux,
}

/// The name of the detector that believes every signal.
pub const NONE: &str = none::ENTRY.id;

/// Substitute for a sender whose peer does not give the evidence that its detector needs.
#[must_use]
pub fn without_evidence() -> Box<dyn Spurious> {
    Box::new(none::Believe)
}

/// Judges loss signals.
pub trait Spurious: std::fmt::Debug + Send {
    /// A loss signal came and is believed for now.
    fn on_signal(&mut self, _signal: &Signal) {}

    /// A segment was sent again.
    fn on_retransmitted(&mut self, _now: Instant, _range: SeqRange) {}

    /// A new segment was sent.
    fn on_new(&mut self, _len: Bytes) {}

    /// An acceptable ACK came and is entered on the board: what does it say of the last signal?
    fn on_ack(&mut self, ack: &AckEvent, board: &Scoreboard) -> Judgement;

    /// Whether it wants to see an ACK of new data that reports nothing else.
    fn observes_advances(&self) -> bool {
        true
    }

    /// Whether a duplicate ACK is the answer to a needless copy and so says nothing of a loss.
    fn explains_duplicate(&self, _ack: &AckEvent) -> bool {
        false
    }

    /// Data that may be sent until the decision.
    fn send_limit(&self) -> SendLimit {
        SendLimit::None
    }

    /// It asked for new data, and there is none that may go: the question will not be answered.
    fn on_no_new_data(&mut self) {}

    /// State that is restored after a false signal.
    fn response(&self) -> Response {
        Response::default()
    }

    /// Its requirement.
    fn needs(&self) -> Needs {
        Needs::Nothing
    }
}

/// A loss signal.
#[derive(Clone, Copy, Debug)]
pub struct Signal {
    /// Time of arrival.
    pub now: Instant,
    /// Source of the signal.
    pub kind: SignalKind,
    /// Outstanding data.
    pub outstanding: SeqRange,
    /// Whether the same segment's timer has run out before.
    pub again: bool,
}

/// Source of a loss signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalKind {
    /// The retransmission timer.
    Timeout,
    /// Duplicate or selective ACKs.
    FastRetransmit,
}

impl SignalKind {
    /// The name in tables.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::FastRetransmit => "fast_retransmit",
        }
    }
}

/// Verdict of a detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// There is no signal to judge, or nothing can be said yet.
    Undecided,
    /// The loss was real, or it will never be known.
    Genuine,
    /// The loss was real, and after the probing that found it so the congestion window is this.
    GenuineWithin(Bytes),
    /// Nothing was lost.
    Spurious,
}

/// Data that may be sent while a detector waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendLimit {
    /// Whatever recovery wants.
    None,
    /// New segments only, whatever the congestion window says.
    NewData,
    /// Nothing.
    Nothing,
}

/// State that is restored after a false signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Response {
    /// Response of RFC 4015: the former threshold, and a window that releases as much as was acknowledged but no burst;
    /// after a timeout also a more patient timer.
    #[default]
    Eifel,
    /// Both windows as they were before the signal, as Linux does.
    Undo,
    /// No window: only what was still to be sent again is not.
    Resume,
}

/// Requirement of a detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// It works on any ACK.
    Nothing,
    /// Timestamps (RFC 7323).
    Timestamps,
    /// D-SACK (RFC 2883), and so SACK.
    Dsack,
}
