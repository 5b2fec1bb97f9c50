//! The ground-truth ledger: was each retransmission, and each timeout, needed?
//!
//! The world knows which packets were lost, which no TCP and no capture does. The ledger of a flow joins this knowledge
//! with the sender's actions: it takes drops, retransmissions and timeouts (and nothing else, so that a flow without
//! losses costs nothing), and [`Ledger::finish`] gives the verdict on each with its cause.
//!
//! The terms, used everywhere in lasthop:
//! - A retransmission is **needless** if each of its bytes had an earlier copy that was not lost,
//!   whether that copy had arrived by then or arrived later. (A probe of a closed window is
//!   never needless.)
//! - A timeout is **spurious** if the segment that it resent was not lost, in the same sense.
//!
//! Read [`Ledger`], then [`Why`]; the judging is in `judge.rs`, the book of copies in `copies.rs`.

mod copies;
mod history;
mod judge;
mod verdict;

#[cfg(test)]
mod tests;

use units::{Duration, Instant, PacketId, Seq, SeqRange};

use crate::position::{Positions, Span};
use history::{Dropped, Resent, TimedOut};
use judge::Judge;

pub use history::{Retransmission, causes};
pub use verdict::{Diagnosis, DropCause, HeldUp, Loss, TimeoutVerdict, Verdict, Why};

/// The ledger of one direction of data of one flow.
///
/// Calls follow the order of events. `on_timeout` comes before the `on_retransmission` that the timeout causes. Packet
/// identities must grow in the order of sending. A drop may be reported long after later packets were sent: it is
/// matched by identity.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    positions: Positions,
    retransmissions: Vec<Resent>,
    drops: Vec<Dropped>,
    timeouts: Vec<TimedOut>,
    /// Everything before this position was acknowledged by an acknowledgment that was lost.
    lost_ack: u64,
    /// The reported delay that ends last, and its end.
    delay: Option<(Instant, HeldUp)>,
    /// Verdicts given before the end.
    judge: Judge,
}

impl Ledger {
    /// An empty ledger.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Says how far the sender has got. Only flows of over 2 GiB need it, and there once in every
    /// 2³¹ bytes is enough: it keeps sequence numbers apart that look alike after a wrap.
    pub fn advance_to(&mut self, snd_max: Seq) {
        self.positions.of(snd_max);
    }

    /// The sender sent something again.
    pub fn on_retransmission(&mut self, sent: Retransmission) {
        let span = self.positions.span(sent.range);
        let snd_max = self.positions.of(sent.snd_max).max(span.end);
        self.retransmissions.push(Resent {
            sent,
            span,
            snd_max,
            late: self.late(sent.at, span),
            local: false,
        });
    }

    /// A proxy on the way sent a copy of `range` again: no retransmission of the sender's, and never judged.
    pub fn on_local_copy(&mut self, packet: PacketId, range: SeqRange) {
        let span = self.positions.span(range);
        let sent =
            Retransmission { packet, at: Instant::START, range, cause: causes::PROXY, snd_max: range.end };
        let (snd_max, late) = (span.end, Why::Other);
        self.retransmissions.push(Resent { sent, span, snd_max, late, local: true });
    }

    /// A packet of the sender was lost: dropped, damaged beyond use, or refused by the receiver. `range` are all its
    /// sequence numbers, `cause` has the name of the dropping rule. Reports of pure ACKs are optional: they take no
    /// sequence numbers.
    pub fn on_drop(&mut self, packet: PacketId, range: SeqRange, at: Instant, cause: impl Into<DropCause>) {
        if !range.is_empty() {
            let span = self.positions.span(range);
            let DropCause { rule, since } = cause.into();
            self.drops.push(Dropped { packet, span, loss: Loss { packet, at, rule, since } });
        }
    }

    /// An acknowledgment of everything before `ack` was lost on its way to the sender.
    pub fn on_ack_drop(&mut self, _at: Instant, ack: Seq) {
        self.lost_ack = self.lost_ack.max(self.positions.of(ack));
    }

    /// A link held a packet of the flow (either direction) for an unusual time. Optional: it only
    /// makes the explanation of spurious timeouts fuller.
    pub fn on_delay(&mut self, at: Instant, by: Duration, cause: &'static str) {
        let until = at + by;
        if self.delay.is_none_or(|(longest, _)| longest <= until) {
            self.delay = Some((until, HeldUp { at, by, cause }));
        }
    }

    /// The sender's retransmission timer ran out for the segment `range`.
    pub fn on_timeout(&mut self, at: Instant, range: SeqRange) {
        let span = self.positions.span(range);
        let (before, late) = (self.retransmissions.len(), self.late(at, span));
        self.timeouts.push(TimedOut { at, range, span, before, late });
    }

    /// Why `span` has not been acknowledged by now, provided that it was not lost.
    fn late(&self, now: Instant, span: Span) -> Why {
        if self.lost_ack >= span.end {
            Why::AcknowledgmentsLost
        } else {
            Why::SpuriousTimeout(self.delay.filter(|(until, _)| now <= *until).map(|(_, held)| held))
        }
    }

    /// Retransmissions so far.
    #[must_use]
    pub fn retransmissions(&self) -> u64 {
        self.retransmissions.iter().filter(|resent| !resent.local).count() as u64
    }

    /// Timeouts so far.
    #[must_use]
    pub fn timeouts(&self) -> u64 {
        self.timeouts.len() as u64
    }

    /// The verdict on the retransmission `packet`, before the end. Every packet sent before it must have met its fate:
    /// a drop that is reported later does not count.
    pub fn verdict(&mut self, packet: PacketId) -> Option<&Verdict> {
        self.judge_through(packet);
        self.judge.verdict(packet)
    }

    /// The verdicts. Packets that have not been dropped are taken to arrive.
    #[must_use]
    pub fn finish(mut self) -> Diagnosis {
        self.judge_through(PacketId(u64::MAX));
        self.judge.finish(&self.timeouts)
    }

    /// Judges every retransmission up to and with `last`.
    fn judge_through(&mut self, last: PacketId) {
        self.judge.sweep(last, &mut self.drops, &self.retransmissions, &self.timeouts);
    }
}
