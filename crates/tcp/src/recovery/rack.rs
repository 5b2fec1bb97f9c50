//! RACK, the time-based detection of losses (RFC 8985 §6): a segment is lost once a later segment has been delivered
//! and there was time enough for reordering.
//!
//! Times are those of the last transmission, so that a lost retransmission is found like any other loss. Segments that
//! were sent once stand on the board in the order of their transmission; those that were sent again are listed here in
//! that order. So no ACK walks the window, as it would by the letter of the RFC: two places move forward.

use std::collections::VecDeque;

use units::{Duration, Instant, Seq};

use super::composed::{Detection, FastRecovery, LossDetector, Stage};
use super::{AckEvent, SentEvent, TimeoutEvent};
use crate::Cause;
use crate::scoreboard::{Delivered, Mark, Newest, Scoreboard, Sent};
use crate::timestamp::Timestamp;

/// RACK's detector. Names in brackets are those of RFC 8985 §5.
#[derive(Debug)]
pub(super) struct Rack {
    /// The delivered segment that was sent last (`RACK.xmit_ts`, `RACK.end_seq`).
    newest: Option<Newest>,
    /// Its round trip (`RACK.rtt`).
    rtt: Duration,
    /// Whether segments have overtaken one another (`RACK.reordering_seen`).
    reordering_seen: bool,
    reordering: ReorderingWindow,
    /// Its length at the last judged ACK (`RACK.reo_wnd`).
    window: Duration,
    /// All segments before this that were sent once are delivered or marked as lost.
    judged: Option<Seq>,
    /// Segments that were sent again, in the order of transmission.
    resent: VecDeque<(Seq, Instant)>,
    /// End of a segment that was sent again without being lost: a probe. A report that it arrived twice means nothing.
    probe: Option<Seq>,
    /// When the time of all segments is over that were sent before the newest delivered one.
    timer: Option<Instant>,
    /// Time that the clock adds to it.
    slack: Duration,
    /// Whether a recovery that ends with lost segments not delivered yet is followed by another one at once.
    renews: bool,
    /// Whether the round trip is that of the segment which an ACK has delivered last, though others were sent later.
    rtt_of_last: bool,
}

/// Time to wait for reordered segments: a quarter of the shortest round trip, times a factor that grows by one in each
/// round trip with a D-SACK, as that shows a needless retransmission (§6.2 step 4).
#[derive(Clone, Copy, Debug)]
struct ReorderingWindow {
    /// `RACK.reo_wnd_mult`.
    factor: u32,
    /// `RACK.reo_wnd_persist`: recoveries after which the factor is 1 again.
    persist: u32,
    /// `RACK.dsack_round`: end of the round trip in which the factor grew last.
    round: Option<Seq>,
}

/// §6.2 step 4: number of recoveries for which the window stays widened.
const PERSIST: u32 = 16;
/// §6.2 step 4: the part of the shortest round trip.
const MIN_RTT_PARTS: u64 = 4;

impl ReorderingWindow {
    const NARROW: Self = Self { factor: 1, persist: PERSIST, round: None };

    /// An ACK came; `dsack` says whether it reports a needless retransmission, `recovered` whether it ends fast
    /// recovery.
    fn adapt(&mut self, ack: &AckEvent, dsack: bool, recovered: bool) {
        self.round = self.round.filter(|round| ack.number.before(*round));
        if dsack && self.round.is_none() {
            *self = Self { factor: self.factor + 1, persist: PERSIST, round: Some(ack.nxt) };
        } else if recovered {
            self.persist = self.persist.saturating_sub(1);
            if self.persist == 0 {
                self.factor = 1;
            }
        }
    }

    fn length(&self, ack: &AckEvent) -> Duration {
        let quarter = ack.min_rtt.unwrap_or_default() / MIN_RTT_PARTS;
        (quarter * u64::from(self.factor)).min(ack.srtt.unwrap_or_default())
    }
}

impl Rack {
    /// A timer of its own runs out `slack` later than the RFC says; `renews` as in the parameters of RACK-TLP.
    pub(super) const fn new(slack: Duration, renews: bool) -> Self {
        Self {
            newest: None,
            rtt: Duration::ZERO,
            reordering_seen: false,
            reordering: ReorderingWindow::NARROW,
            window: Duration::ZERO,
            judged: None,
            resent: VecDeque::new(),
            probe: None,
            timer: None,
            slack,
            renews,
            rtt_of_last: false,
        }
    }

    /// The round trip is that of the segment which an ACK has delivered last (Linux `tcp_rack_advance`).
    pub(super) const fn with_rtt_of_last(mut self, on: bool) -> Self {
        self.rtt_of_last = on;
        self
    }

    /// §6.2 steps 1 to 3: the newest of the delivered segments, and whether they came in order.
    fn update(&mut self, ack: &AckEvent, delivered: &Delivered) {
        let again = delivered.again.filter(|newest| is_of_last_copy(ack, newest));
        for newest in delivered.once.into_iter().chain(again) {
            if self.newest.is_none_or(|earlier| newest.is_after(earlier.sent, earlier.end)) {
                self.newest = Some(newest);
                self.rtt = ack.now - newest.sent;
            }
        }
        if let Some((last, again)) = delivered.last.filter(|_| self.rtt_of_last) {
            let rtt = ack.now - last.sent;
            if !again || ack.min_rtt.is_none_or(|min| rtt >= min) {
                self.rtt = rtt;
            }
        }
        self.reordering_seen |= delivered.overtaken().is_some();
    }

    /// §6.2 step 5, `RACK_detect_loss()`: marks what is lost, and sets the timer for what may be.
    fn detect(&mut self, ack: &AckEvent, repairing: bool, board: &mut Scoreboard) -> bool {
        self.timer = None;
        let Some(newest) = self.newest else { return false };
        self.window = self.reordering_window(ack, repairing, board);
        let patience = self.rtt + self.window;
        let expires = |sent: Instant| sent + patience;
        let lost_once = self.judge_once_sent(ack, &newest, expires, board);
        let lost_again = self.judge_resent(ack, &newest, expires, board);
        let last_once = board.last_hole_before(&newest).filter(|sent| waits(sent, &newest));
        let last_again = self.resent.iter().rev().find(|(_, sent)| *sent < newest.sent);
        let last = last_once.map(|sent| sent.last_sent).max(last_again.map(|(_, sent)| *sent));
        self.timer = last.map(expires).filter(|at| *at > ack.now).map(|at| at + self.slack);
        lost_once || lost_again
    }

    /// §6.2 step 4: none while a loss is repaired or three segments report one, as long as nothing was ever reordered.
    fn reordering_window(&self, ack: &AckEvent, repairing: bool, board: &Scoreboard) -> Duration {
        let enough = board.sacked_segments() >= ack.dupthresh as usize;
        if !self.reordering_seen && (repairing || enough) {
            return Duration::ZERO;
        }
        self.reordering.length(ack)
    }

    fn judge_once_sent(
        &mut self,
        ack: &AckEvent,
        newest: &Newest,
        expires: impl Fn(Instant) -> Instant,
        board: &mut Scoreboard,
    ) -> bool {
        let from = self.judged.map_or(ack.number, |judged| judged.max(ack.number));
        let mut index = board.index_of(from);
        let mut found = false;
        while let Some(next) = board.first_hole(index..board.len()) {
            index = next;
            let Some(sent) = board.get(index) else { break };
            if sent.transmissions == 1 && sent.mark == Mark::InFlight {
                if !waits(sent, newest) || expires(sent.last_sent) > ack.now {
                    break;
                }
                board.mark_lost(index, Cause::Scoreboard);
                found = true;
            }
            index += 1;
        }
        self.judged = Some(board.get(index).map_or(ack.nxt, |sent| sent.range.start));
        found
    }

    fn judge_resent(
        &mut self,
        ack: &AckEvent,
        newest: &Newest,
        expires: impl Fn(Instant) -> Instant,
        board: &mut Scoreboard,
    ) -> bool {
        let mut found = false;
        while let Some((start, sent_at)) = self.resent.front().copied() {
            let index = board.index_of(start);
            let sent = board.get(index).filter(|_| start.at_or_after(ack.number));
            let current = sent.filter(|sent| sent.last_sent == sent_at && is_in_flight(sent));
            if let Some(sent) = current {
                if !waits(sent, newest) || expires(sent_at) > ack.now {
                    break;
                }
                board.mark_lost(index, Cause::Scoreboard);
                found = true;
            }
            self.resent.pop_front();
        }
        found
    }

    /// A retransmission was reported as needless, unless it was a probe.
    fn reports_needless_copy(&self, ack: &AckEvent) -> bool {
        ack.dsack.is_some_and(|twice| self.probe != Some(twice.end))
    }

    fn forget_places(&mut self) {
        self.judged = None;
        self.timer = None;
    }
}

/// Whether the segment was sent before the newest delivered one and is neither delivered nor lost.
fn waits(sent: &Sent, newest: &Newest) -> bool {
    is_in_flight(sent) && newest.is_after(sent.last_sent, sent.range.end)
}

/// A timeout: marks the first segment as lost, and all segments that were sent a round trip and `window` ago.
pub(super) fn mark_overdue(timeout: &TimeoutEvent, window: Duration, board: &mut Scoreboard) {
    let patience = timeout.srtt.unwrap_or_default() + window;
    for index in 0..board.len() {
        let overdue = board.get(index).is_some_and(|sent| sent.last_sent + patience <= timeout.now);
        if index == 0 || overdue {
            board.mark_lost(index, if index == 0 { Cause::Timeout } else { Cause::AfterTimeout });
        }
    }
    board.blame_first(Cause::Timeout);
}

fn is_in_flight(sent: &Sent) -> bool {
    !sent.sacked && sent.mark == Mark::InFlight
}

/// §6.2 step 2: whether the last copy of a segment that was sent again has been delivered, and not an earlier one. The
/// echoed clock shows, and a round trip shorter than any. The clock says nothing of a SACKed segment: after a gap the
/// receiver echoes what came before it (RFC 7323 §4.3), and by the letter of the RFC no probe would find a loss. Linux
/// asks the round trip alone (`tcp_rack_advance`).
fn is_of_last_copy(ack: &AckEvent, newest: &Newest) -> bool {
    let cumulative = newest.end.at_or_before(ack.number);
    let echo = ack.echo.filter(|_| cumulative);
    let echoes_earlier = echo.is_some_and(|echo| echo.is_older_than(Timestamp::at(newest.sent)));
    let too_soon = ack.min_rtt.is_some_and(|least| ack.now - newest.sent < least);
    !echoes_earlier && !too_soon
}

impl LossDetector for Rack {
    fn on_ack(&mut self, ack: &AckEvent, stage: Stage<'_>, board: &mut Scoreboard) -> Detection {
        self.update(ack, board.delivered());
        let recovered = matches!(stage, Stage::Over);
        self.reordering.adapt(ack, self.reports_needless_copy(ack), recovered);
        if recovered {
            // Segments beyond the recovery point are judged at once, as the begin of another recovery.
            self.detect_soon(ack, board);
            return if self.renews_for(ack, board) { Detection::LossRemains } else { Detection::Nothing };
        }
        let open = matches!(stage, Stage::Open { .. });
        let reopened = matches!(stage, Stage::Open { reopened: true, .. });
        let lost = self.detect(ack, !open, board);
        if board.sacked().is_zero() && self.resent.is_empty() {
            // Half round the circle of numbers the place would seem ahead again.
            self.judged = None;
        }
        if lost {
            Detection::Loss
        } else if reopened && self.renews_for(ack, board) {
            Detection::LossRemains
        } else if open && !ack.newly_sacked.is_zero() {
            Detection::Duplicate
        } else {
            Detection::Nothing
        }
    }

    fn begin(&mut self, _ack: &AckEvent, recovery: &mut FastRecovery, board: &mut Scoreboard) {
        recovery.duplicates = u32::try_from(board.sacked_segments()).unwrap_or(u32::MAX);
        board.blame_first(Cause::FastRetransmit);
    }

    /// §6.3: the first segment is lost, and whatever was sent a round trip and the reordering window ago. The round
    /// trip is the smoothed one, as that of the last loss may be old.
    fn on_timeout(&mut self, timeout: &TimeoutEvent, board: &mut Scoreboard) {
        mark_overdue(timeout, self.window, board);
        self.forget_places();
    }

    fn on_spurious(&mut self) {
        self.forget_places();
    }

    fn on_sent(&mut self, sent: &SentEvent, board: &Scoreboard) {
        if let Some(segment) = board.get(sent.index).filter(|_| sent.again) {
            self.resent.push_back((segment.range.start, segment.last_sent));
            self.probe = if segment.twice { Some(segment.range.end) } else { self.probe };
        }
    }

    fn deadline(&self, _board: &Scoreboard) -> Option<Instant> {
        self.timer
    }

    fn on_deadline(&mut self, ack: &AckEvent, repairing: bool, board: &mut Scoreboard) -> Detection {
        // The slack of the timer is over, and what it waited for is lost.
        if self.detect(ack, repairing, board) { Detection::Loss } else { Detection::Nothing }
    }

    fn is_idle(&self) -> bool {
        self.timer.is_none() && self.resent.is_empty()
    }
}

impl Rack {
    /// Whether a recovery that ends is followed at once by another one. `tcp_time_to_recover`: `lost_out` counts
    /// segments that were sent again, too, until they are delivered.
    fn renews_for(&self, ack: &AckEvent, board: &Scoreboard) -> bool {
        let is_out = |(start, at): &(Seq, Instant)| {
            let sent = board.get(board.index_of(*start)).filter(|_| start.at_or_after(ack.number));
            sent.is_some_and(|sent| sent.last_sent == *at && is_in_flight(sent) && !sent.twice)
        };
        self.renews && (board.has_lost() || self.resent.iter().any(is_out))
    }

    /// Judges the waiting segments as soon as the present ACK is processed.
    fn detect_soon(&mut self, ack: &AckEvent, board: &Scoreboard) {
        let newest = self.newest;
        let hole =
            newest.and_then(|newest| board.last_hole_before(&newest).filter(|sent| waits(sent, &newest)));
        self.timer = hole.map(|_| ack.now);
    }
}

#[cfg(test)]
mod tests {
    use units::{Bytes, SeqRange};
    use wire::Payload;

    use super::*;
    use crate::scoreboard::New;

    fn ack(number: u32, nxt: u32) -> AckEvent {
        AckEvent { number: Seq(number), nxt: Seq(nxt), ..AckEvent::default() }
    }

    // RFC 8985 §6.2 step 4, RACK_update_reo_wnd().
    #[test]
    fn the_window_for_reordering_widens_once_in_a_round_trip_with_a_dsack() {
        let mut window = ReorderingWindow::NARROW;
        window.adapt(&ack(100, 200), true, false);
        assert_eq!(window.factor, 2);
        window.adapt(&ack(199, 300), true, false);
        assert_eq!(window.factor, 2, "in the same round trip");
        window.adapt(&ack(200, 300), true, false);
        assert_eq!(window.factor, 3);
    }

    #[test]
    fn sixteen_recoveries_without_a_dsack_narrow_the_window_again() {
        let mut window = ReorderingWindow::NARROW;
        window.adapt(&ack(100, 200), true, false);
        (0..15).for_each(|_| window.adapt(&ack(300, 400), false, true));
        assert_eq!(window.factor, 2);
        window.adapt(&ack(300, 400), false, true);
        assert_eq!(window.factor, 1);
    }

    #[test]
    fn the_window_for_reordering_is_quarters_of_the_shortest_round_trip_up_to_the_smoothed_one() {
        let length = |factor| {
            let (min_rtt, srtt) = (Duration::from_millis(80), Duration::from_millis(100));
            let ack = AckEvent { min_rtt: Some(min_rtt), srtt: Some(srtt), ..AckEvent::default() };
            ReorderingWindow { factor, ..ReorderingWindow::NARROW }.length(&ack).as_nanos() / 1_000_000
        };
        assert_eq!([1, 2, 5, 6].map(length), [20, 40, 100, 100]);
    }

    // RFC 8985 §6.2 step 4: without reordering, dupthresh SACKed segments need no patience.
    #[test]
    fn three_sacked_segments_leave_no_window_for_reordering() {
        let window = |sacked: u32| {
            let mut board = Scoreboard::EMPTY;
            for start in 0..5 {
                let range = SeqRange { start: Seq(100 * start), end: Seq(100 * start + 100) };
                let new =
                    New { range, payload: Payload::Pattern { offset: 0, len: 100 }, syn: false, fin: false };
                board.push(new, Instant::START, Bytes(500));
            }
            board.sack(SeqRange { start: Seq(100), end: Seq(100 + 100 * sacked) });
            let (rtt, dupthresh) = (Some(Duration::from_millis(80)), 3);
            let ack = AckEvent { min_rtt: rtt, srtt: rtt, dupthresh, ..AckEvent::default() };
            Rack::new(Duration::ZERO, false).reordering_window(&ack, false, &board)
        };
        assert_eq!([2, 3].map(window), [Duration::from_millis(20), Duration::ZERO]);
    }

    #[test]
    fn the_round_trip_may_be_that_of_the_segment_delivered_last() {
        let at = |millis: u64| Instant::START + Duration::from_millis(millis);
        let newest = |sent, end| Newest { sent: at(sent), end: Seq(end) };
        let delivered = |sent, end| Delivered {
            once: Some(newest(sent, end)),
            last: Some((newest(sent, end), false)),
            ..Delivered::default()
        };
        for (of_last, expected) in [(false, 50), (true, 80)] {
            let mut rack = Rack::new(Duration::ZERO, false).with_rtt_of_last(of_last);
            rack.update(&AckEvent { now: at(90), ..AckEvent::default() }, &delivered(40, 2000));
            rack.update(&AckEvent { now: at(100), ..AckEvent::default() }, &delivered(20, 1000));
            assert_eq!(rack.rtt, Duration::from_millis(expected));
        }
    }

    #[test]
    fn a_segment_is_in_flight_until_it_is_sacked_or_lost() {
        let mut board = Scoreboard::EMPTY;
        for start in [0, 100, 200] {
            let range = SeqRange { start: Seq(start), end: Seq(start + 100) };
            let payload = Payload::Pattern { offset: u64::from(start), len: 100 };
            board.push(New { range, payload, syn: false, fin: false }, Instant::START, Bytes(500));
        }
        board.sack(SeqRange { start: Seq(100), end: Seq(200) });
        board.mark_lost(2, Cause::Scoreboard);
        assert_eq!([0, 1, 2].map(|index| board.get(index).is_some_and(is_in_flight)), [true, false, false]);
    }

    #[test]
    fn the_detector_is_idle_until_a_retransmission_is_outstanding_or_its_timer_is_set() {
        let mut rack = Rack::new(Duration::ZERO, false);
        assert!(rack.is_idle());
        rack.resent.push_back((Seq(100), Instant::START));
        assert!(!rack.is_idle(), "a retransmission is judged by each ACK");
        rack.resent.clear();
        rack.timer = Some(Instant::START);
        assert!(!rack.is_idle(), "an ACK may end the wait for the reordering window");
    }
}
