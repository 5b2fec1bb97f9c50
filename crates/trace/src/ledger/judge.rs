//! The judging: one sweep over everything that happened, in the order of sending.
//!
//! The sweep may pause anywhere: its verdicts depend only on packets that were sent before.

use units::PacketId;

use crate::position::Span;

use super::copies::{Book, Copies};
use super::history::{Dropped, Resent, TimedOut, causes};
use super::verdict::{Diagnosis, TimeoutVerdict, Verdict, Why};

/// The position of the sweep: everything sent before this point has been recorded.
#[derive(Clone, Debug, Default)]
pub(super) struct Judge {
    book: Book,
    /// Number of drops, retransmissions and timeouts that the sweep has passed.
    booked: usize,
    judged: usize,
    judged_timeouts: usize,
    last_timeout_spurious: bool,
    last_fast_retransmit_needless: bool,
    /// Between which positions a needless retransmission can have caused duplicate ACKs.
    duplicates: Option<Span>,
    diagnosis: Diagnosis,
}

impl Judge {
    /// Judges the retransmissions up to and with `last`, and the timeouts before them.
    pub(super) fn sweep(
        &mut self,
        last: PacketId,
        drops: &mut [Dropped],
        retransmissions: &[Resent],
        timeouts: &[TimedOut],
    ) {
        let next = retransmissions.get(self.judged).filter(|next| next.sent.packet <= last);
        if next.is_none() && last < PacketId(u64::MAX) {
            return;
        }
        // Drops are reported in the order of time; the recorded ones were of packets sent earlier.
        drops[self.booked..].sort_by_key(|drop| drop.packet);
        while let Some(resent) = retransmissions.get(self.judged).filter(|next| next.sent.packet <= last) {
            self.lose_packets_before(resent.sent.packet, drops, retransmissions);
            self.judge_timeouts(timeouts, |timeout, index| timeout.before <= index);
            self.judge_retransmission(resent);
            self.judged += 1;
        }
        if last == PacketId(u64::MAX) {
            self.lose_packets_before(last, drops, retransmissions);
        }
    }

    /// The verdict on a retransmission that the sweep has passed.
    pub(super) fn verdict(&self, packet: PacketId) -> Option<&Verdict> {
        self.diagnosis.verdict(packet)
    }

    /// All verdicts, with those on the timeouts that are left.
    pub(super) fn finish(mut self, timeouts: &[TimedOut]) -> Diagnosis {
        self.judge_timeouts(timeouts, |_, _| true);
        self.diagnosis
    }

    /// Books the losses of packets sent before `packet`, whenever they happened.
    fn lose_packets_before(&mut self, packet: PacketId, drops: &[Dropped], retransmissions: &[Resent]) {
        while let Some(drop) = drops.get(self.booked).filter(|drop| drop.packet < packet) {
            let resent =
                retransmissions.binary_search_by_key(&drop.packet, |resent| resent.sent.packet).is_ok();
            self.book.lose(drop.span, drop.loss, !resent);
            self.booked += 1;
        }
    }

    /// Judges the next timeouts that are due before the present retransmission of the sweep.
    fn judge_timeouts(&mut self, timeouts: &[TimedOut], due: impl Fn(&TimedOut, usize) -> bool) {
        while let Some(timeout) = timeouts.get(self.judged_timeouts).filter(|next| due(next, self.judged)) {
            self.judge_timeout(timeout);
            self.judged_timeouts += 1;
        }
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
        if resent.local {
            return self.book.resend_locally(resent.span);
        }
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
        // A needless copy reaches a receiver that has all data up to a point between the copy's end and the end of the
        // data sent by then; its duplicate ACK refers to that point.
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
            _ if copies.is_repaired_locally() => Why::LocalRetransmission,
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
    match copies.original_lost {
        true if copies.is_repaired_locally() => Why::LocalRetransmission,
        true => Why::CopyUnderway,
        false => late,
    }
}
