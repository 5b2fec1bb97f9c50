//! Forward RTO-recovery (RFC 5682): the two ACKs that follow a timeout show whether it was spurious.
//!
//! After the first ACK two new segments go out instead of old ones. If the second ACK advances too, the
//! originals are still arriving, as nothing but the first segment was sent again; if it is a duplicate,
//! the new segments have found a gap. It needs no option of TCP; where SACK is agreed, the variant of §3
//! sees more.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Instant, Seq, SeqRange};

use super::{Judgement, Response, SendLimit, Signal, SignalKind, Spurious};
use crate::recovery::AckEvent;
use crate::scoreboard::Scoreboard;
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Which of the two algorithms.
    pub variant: Variant,
    /// State that is restored after a false signal.
    pub response: Response,
}

/// The algorithms of RFC 5682.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "FRtoVariant")]
pub enum Variant {
    /// §2: by acknowledgment numbers alone.
    #[default]
    Basic,
    /// §3: duplicate ACKs before the first ACK of new data do not end it, and SACK blocks below the
    /// recovery point speak for the originals as well. Without SACK it sees no such blocks.
    Sack,
}

#[derive(Debug)]
struct FRto {
    parameters: Parameters,
    /// `recover` (§2) or `RecoveryPoint` (§3): end of what was outstanding at the last loss.
    recover: Option<Seq>,
    mode: Mode,
}

#[derive(Clone, Copy, Debug)]
enum Mode {
    /// No timeout to judge.
    Idle,
    /// Step 2: the ACK of the retransmission, whose end is `resent` once it went out, is awaited.
    FirstAck { resent: Option<Seq> },
    /// Step 3: two new segments go out, and the next ACK decides.
    SecondAck { new: u32 },
}

impl Spurious for FRto {
    fn on_signal(&mut self, signal: &Signal) {
        let unfinished = self.recover.is_some_and(|recover| signal.outstanding.start.before(recover));
        let timeout = signal.kind == SignalKind::Timeout;
        // Step 1: not while an earlier loss is still being repaired, as its retransmissions would be taken
        // for originals.
        self.mode = if timeout && !unfinished { Mode::FirstAck { resent: None } } else { Mode::Idle };
        // §3 sets its point only when the first ACK has come, so that the same segment's next timeout may
        // be judged again.
        if self.parameters.variant == Variant::Basic || !timeout || unfinished {
            self.recover = Some(signal.outstanding.end);
        }
    }

    fn on_retransmitted(&mut self, _now: Instant, range: SeqRange) {
        if let Mode::FirstAck { resent: resent @ None } = &mut self.mode {
            *resent = Some(range.end);
        }
    }

    fn on_new(&mut self, _len: Bytes) {
        if let Mode::SecondAck { new } = &mut self.mode {
            *new += 1;
        }
    }

    fn on_ack(&mut self, ack: &AckEvent, board: &Scoreboard) -> Judgement {
        let judgement = match (self.mode, self.parameters.variant) {
            (Mode::Idle, _) => Judgement::Undecided,
            (Mode::FirstAck { resent }, Variant::Basic) => self.first_ack(resent, ack),
            (Mode::FirstAck { .. }, Variant::Sack) => self.first_ack_sack(ack),
            (Mode::SecondAck { .. }, Variant::Basic) => second_ack(ack),
            (Mode::SecondAck { .. }, Variant::Sack) => self.second_ack_sack(ack, board),
        };
        if judgement != Judgement::Undecided {
            self.mode = Mode::Idle;
        }
        if judgement == Judgement::Spurious {
            // Step 3 b: nothing is being repaired any more.
            self.recover = Some(ack.number);
        }
        judgement
    }

    fn observes_advances(&self) -> bool {
        !matches!(self.mode, Mode::Idle)
    }

    fn send_limit(&self) -> SendLimit {
        match self.mode {
            Mode::SecondAck { new } if new < PROBES => SendLimit::NewData,
            Mode::SecondAck { .. } => SendLimit::Nothing,
            Mode::Idle | Mode::FirstAck { .. } => SendLimit::None,
        }
    }

    fn on_no_new_data(&mut self) {
        // Step 2 b: one new segment will do; with none the conventional recovery continues.
        match &mut self.mode {
            Mode::SecondAck { new: 0 } => self.mode = Mode::Idle,
            Mode::SecondAck { new } => *new = PROBES,
            Mode::Idle | Mode::FirstAck { .. } => {}
        }
    }

    fn response(&self) -> Response {
        self.parameters.response
    }
}

impl FRto {
    /// §2 step 2.
    fn first_ack(&mut self, resent: Option<Seq>, ack: &AckEvent) -> Judgement {
        if ack.duplicate {
            return Judgement::Genuine;
        }
        if !ack.advances {
            return Judgement::Undecided;
        }
        let whole = resent.is_some_and(|end| ack.number.at_or_after(end));
        let all = self.recover.is_none_or(|recover| ack.number.at_or_after(recover));
        if all || !whole {
            return Judgement::Genuine;
        }
        self.mode = Mode::SecondAck { new: 0 };
        Judgement::Undecided
    }

    /// §3 step 2.
    fn first_ack_sack(&mut self, ack: &AckEvent) -> Judgement {
        if !ack.advances {
            return Judgement::Undecided;
        }
        self.recover = Some(ack.nxt);
        if ack.number == ack.nxt {
            return Judgement::Genuine;
        }
        self.mode = Mode::SecondAck { new: 0 };
        Judgement::Undecided
    }

    /// §3 step 3.
    fn second_ack_sack(&self, ack: &AckEvent, board: &Scoreboard) -> Judgement {
        if !ack.advances && !ack.duplicate && ack.newly_sacked.is_zero() {
            return Judgement::Undecided;
        }
        let beyond = |seq: Seq| self.recover.is_some_and(|recover| seq.after(recover));
        let news = ack.advances || !ack.newly_sacked.is_zero();
        if !news || beyond(ack.number) || board.highest_sacked().is_some_and(beyond) {
            return Judgement::GenuineWithin(ack.smss * WINDOW_AFTER_PROBING);
        }
        Judgement::Spurious
    }
}

/// §2 step 3.
fn second_ack(ack: &AckEvent) -> Judgement {
    if ack.advances {
        Judgement::Spurious
    } else if ack.duplicate {
        Judgement::GenuineWithin(ack.smss * WINDOW_AFTER_PROBING)
    } else {
        Judgement::Undecided
    }
}

/// §2 step 2 b: new segments that go out on the first ACK.
const PROBES: u32 = 2;
/// §2 step 3 a: what slow start would have come to in the two round trips.
const WINDOW_AFTER_PROBING: u64 = 3;

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Spurious> = Algorithm::of(
    "f-rto",
    "new data after the first ACK, and judging a timeout by the second",
    "RFC 5682",
    &Build(|parameters: &Parameters| {
        Box::new(FRto { parameters: parameters.clone(), recover: None, mode: Mode::Idle })
    }),
);
