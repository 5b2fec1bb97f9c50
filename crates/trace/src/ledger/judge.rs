//! The judging: one sweep over everything that happened, in the order of sending.

use units::PacketId;

use crate::position::Span;

use super::copies::{Book, Copies};
use super::{Diagnosis, Dropped, Ledger, Resent, TimedOut, TimeoutVerdict, Verdict, Why, causes};

/// The verdicts on what `ledger` was told.
pub(super) fn judge(mut ledger: Ledger) -> Diagnosis {
    ledger.drops.sort_by_key(|drop| drop.packet);
    let mut sweep = Sweep::new(&ledger);
    let mut timeouts = ledger.timeouts.iter().peekable();
    for (index, resent) in ledger.retransmissions.iter().enumerate() {
        sweep.lose_packets_before(resent.sent.packet);
        while let Some(timeout) = timeouts.next_if(|timeout| timeout.before <= index) {
            sweep.judge_timeout(timeout);
        }
        sweep.judge_retransmission(resent);
    }
    sweep.lose_packets_before(PacketId(u64::MAX));
    timeouts.for_each(|timeout| sweep.judge_timeout(timeout));
    sweep.diagnosis
}

/// Where the sweep stands: everything sent before this point has been booked.
struct Sweep<'a> {
    book: Book,
    drops: &'a [Dropped],
    retransmissions: &'a [Resent],
    last_timeout_spurious: bool,
    last_fast_retransmit_needless: bool,
    /// Between which positions a needless retransmission can have caused duplicate ACKs.
    duplicates: Option<Span>,
    diagnosis: Diagnosis,
}

impl<'a> Sweep<'a> {
    fn new(ledger: &'a Ledger) -> Self {
        Self {
            book: Book::default(),
            drops: &ledger.drops,
            retransmissions: &ledger.retransmissions,
            last_timeout_spurious: false,
            last_fast_retransmit_needless: false,
            duplicates: None,
            diagnosis: Diagnosis::default(),
        }
    }

    /// Books the losses of packets sent before `packet`, whenever they happened.
    fn lose_packets_before(&mut self, packet: PacketId) {
        while let Some((drop, rest)) = self.drops.split_first().filter(|(drop, _)| drop.packet < packet) {
            let original = !self.is_retransmission(drop.packet);
            self.book.lose(drop.span, drop.loss, original);
            self.drops = rest;
        }
    }

    fn is_retransmission(&self, packet: PacketId) -> bool {
        self.retransmissions.binary_search_by_key(&packet, |resent| resent.sent.packet).is_ok()
    }

    fn judge_timeout(&mut self, timeout: &TimedOut) {
        let copies = self.book.worst(timeout.span);
        let necessary = why_necessary(copies);
        let why = necessary.unwrap_or_else(|| why_late(copies, timeout.late));
        let spurious = necessary.is_none();
        self.last_timeout_spurious = spurious;
        self.diagnosis.timeouts.push(TimeoutVerdict { at: timeout.at, range: timeout.range, spurious, why });
    }

    fn judge_retransmission(&mut self, resent: &Resent) {
        let sent = resent.sent;
        let copies = self.book.worst(resent.span);
        let probe = (sent.cause == causes::PROBE).then_some(Why::WindowProbe);
        let necessary = why_necessary(copies).or(probe);
        let why = necessary.unwrap_or_else(|| self.why_needless(resent, copies));
        let verdict = Verdict {
            packet: sent.packet,
            at: sent.at,
            range: sent.range,
            cause: sent.cause,
            necessary: necessary.is_some(),
            why,
        };
        self.remember(resent, &verdict);
        self.book.resend(resent.span);
        self.diagnosis.retransmissions.push(verdict);
    }

    /// Notes what later verdicts lean on.
    fn remember(&mut self, resent: &Resent, verdict: &Verdict) {
        if verdict.cause == causes::FAST_RETRANSMIT {
            self.last_fast_retransmit_needless = !verdict.necessary;
        }
        // A needless copy reaches a receiver that has everything up to somewhere between the
        // copy's end and what had been sent by then; that is what its duplicate ACK points at.
        if !verdict.necessary {
            let start =
                self.duplicates.filter(|old| old.end == resent.snd_max).map_or(u64::MAX, |old| old.start);
            self.duplicates = Some(Span { start: start.min(resent.span.end), end: resent.snd_max });
        }
    }

    fn why_needless(&self, resent: &Resent, copies: Copies) -> Why {
        match resent.sent.cause {
            causes::TIMEOUT => why_late(copies, resent.late),
            causes::AFTER_TIMEOUT if self.last_timeout_spurious => Why::GoBackNAfterSpuriousTimeout,
            causes::AFTER_TIMEOUT => Why::GoBackNOverArrivedData,
            _ if copies.original_lost => Why::CopyUnderway,
            causes::FAST_RETRANSMIT if self.duplicates_point_at(resent.span) => Why::DuplicateAcksOfNeedless,
            causes::FAST_RETRANSMIT => Why::OnlyLate,
            causes::PARTIAL_ACK | causes::SCOREBOARD if self.last_fast_retransmit_needless => {
                Why::NeedlessRecovery
            }
            causes::PARTIAL_ACK | causes::SCOREBOARD => Why::OnlyLate,
            _ => Why::Other,
        }
    }

    fn duplicates_point_at(&self, span: Span) -> bool {
        self.duplicates.is_some_and(|span_of| span_of.start <= span.start && span.start <= span_of.end)
    }
}

/// Why a segment with such `copies` had to be sent again; `None` if it had not.
fn why_necessary(copies: Copies) -> Option<Why> {
    let latest = copies.loss.filter(|_| copies.surviving() == 0)?;
    Some(if copies.lost == 1 {
        Why::OriginalLost(latest)
    } else {
        Why::EveryCopyLost { copies: copies.lost, latest }
    })
}

/// Why a timer ran out for a segment that was not lost, unless a retransmission of it was underway.
fn why_late(copies: Copies, late: Why) -> Why {
    if copies.original_lost { Why::CopyUnderway } else { late }
}
