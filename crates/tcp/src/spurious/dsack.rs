//! D-SACK detection (RFC 3708): a loss signal was spurious if every retransmission is reported as a segment that had
//! arrived before.
//!
//! The verdict comes late, a round trip after the last needless copy, when they have all been sent; it
//! saves the window, and the duplicate ACKs that the copies draw are known for what they are.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Instant, Seq, SeqRange};

use super::{Judgement, Needs, Response, Signal, Spurious};
use crate::recovery::AckEvent;
use crate::scoreboard::Scoreboard;
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// State that is restored after a false signal.
    pub response: Response,
}

#[derive(Debug, Default)]
struct Dsack {
    parameters: Parameters,
    /// Retransmissions since the signal, in the order of the stream; `None` where there is no signal to judge, or none
    /// that can be judged.
    copies: Option<Vec<Copy>>,
    /// Where the latest retransmissions began, whatever they were for.
    sent_again: VecDeque<Seq>,
    /// The network makes copies of its own, so that reports mean nothing any more.
    network_copies: bool,
}

/// A stretch that was sent again.
#[derive(Clone, Copy, Debug)]
struct Copy {
    range: SeqRange,
    /// Reported as arrived twice.
    needless: bool,
}

impl Spurious for Dsack {
    fn on_signal(&mut self, signal: &Signal) {
        if !signal.again && !self.network_copies {
            self.copies = Some(vec![]);
        }
    }

    fn on_retransmitted(&mut self, _now: Instant, range: SeqRange) {
        if self.sent_again.len() >= REMEMBERED {
            self.sent_again.pop_front();
        }
        self.sent_again.push_back(range.start);
        let Some(copies) = &mut self.copies else { return };
        let place = copies.partition_point(|copy| copy.range.start.before(range.start));
        if copies.get(place).is_some_and(|copy| copy.range.start == range.start) {
            // RFC 3708 §3 (A.3): of several copies of one segment it cannot be said which was needless.
            self.copies = None;
            return;
        }
        copies.insert(place, Copy { range, needless: false });
    }

    fn on_ack(&mut self, ack: &AckEvent, board: &Scoreboard) -> Judgement {
        let Some(twice) = ack.dsack else { return Judgement::Undecided };
        // RFC 3708 §3 (A.4): never sent again, so the network has made a copy, and may make more.
        self.network_copies |= !self.sent_again.contains(&twice.start);
        let Some(copies) = &mut self.copies else { return Judgement::Undecided };
        let place = copies.partition_point(|copy| copy.range.start.before(twice.start));
        let copy = copies.get_mut(place).filter(|copy| copy.range.start == twice.start);
        let Some(copy) = copy.filter(|_| !self.network_copies) else { return self.give_up() };
        if acknowledges_with_it(ack, twice.start) && board.sacked().is_zero() {
            // RFC 3708 §3 (A.1): the ACKs of a whole window were lost, and that is a loss.
            return self.give_up();
        }
        copy.needless = true;
        if !copies.iter().all(|copy| copy.needless) {
            return Judgement::Undecided;
        }
        self.copies = None;
        Judgement::Spurious
    }

    fn observes_advances(&self) -> bool {
        false
    }

    fn explains_duplicate(&self, ack: &AckEvent) -> bool {
        ack.dsack.is_some() && ack.newly_sacked.is_zero()
    }

    fn response(&self) -> Response {
        self.parameters.response
    }

    fn needs(&self) -> Needs {
        Needs::Dsack
    }
}

impl Dsack {
    fn give_up(&mut self) -> Judgement {
        self.copies = None;
        Judgement::Genuine
    }
}

/// Number of retransmissions that are remembered: those of some windows.
const REMEMBERED: usize = 4096;

/// Whether this very ACK is the first to acknowledge `start`, where SND.UNA was until it came.
fn acknowledges_with_it(ack: &AckEvent, start: Seq) -> bool {
    ack.advances && u64::from(ack.number.since(start)) == ack.acked.0
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Spurious> = Algorithm::of(
    "dsack",
    "a loss was none if every copy sent again is reported as a duplicate",
    "RFC 3708; RFC 2883",
    &Build(|parameters: &Parameters| Box::new(Dsack { parameters: parameters.clone(), ..Dsack::default() })),
);
