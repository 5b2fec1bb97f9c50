//! A recovery that is made of parts: a detector, a selector, a response, and a mode after timeouts.
//!
//! It is the state machine that all of them share: in order, then fast recovery from the ACK that reports a loss until
//! the recovery point is acknowledged, or go-back-N after a timeout. The parts know nothing of one another.

use units::{Bytes, Instant, Seq};

use super::disorder::{Change, Disorder};
use super::{
    AckEvent, Actions, AfterTimeout, Finding, Next, Recovery, RecoveryState, Room, SendWindow, SentEvent,
    TailProbes, TimeoutEvent, Traits, WithoutSack,
};
use crate::scoreboard::Scoreboard;

/// Decides which segments are lost.
pub(super) trait LossDetector: std::fmt::Debug + Send {
    /// An ACK has arrived.
    fn on_ack(&mut self, ack: &AckEvent, stage: Stage<'_>, board: &mut Scoreboard) -> Detection;

    /// Fast recovery begins: marks on the board what is lost.
    fn begin(&mut self, ack: &AckEvent, recovery: &mut FastRecovery, board: &mut Scoreboard);

    /// The retransmission timer has expired with data up to `nxt` outstanding.
    fn on_timeout(&mut self, timeout: &TimeoutEvent, board: &mut Scoreboard);

    /// The last loss signal was spurious.
    fn on_spurious(&mut self);

    /// A segment was sent.
    fn on_sent(&mut self, _sent: &SentEvent, _board: &Scoreboard) {}

    /// Time at which it is to judge without an ACK.
    fn deadline(&self, _board: &Scoreboard) -> Option<Instant> {
        None
    }

    /// The deadline has come; whether a loss is being repaired.
    fn on_deadline(&mut self, _ack: &AckEvent, _repairing: bool, _board: &mut Scoreboard) -> Detection {
        Detection::Nothing
    }

    /// Whether an ACK that only advances would change nothing in it; it does not see such ACKs then.
    fn is_idle(&self) -> bool {
        true
    }
}

/// Picks the next segment to send (`NextSeg` of RFC 6675), and estimates the data in the network (`SetPipe`).
pub(super) trait Selector: std::fmt::Debug + Send {
    /// The next segment to send.
    fn next(
        &self,
        recovery: Option<&FastRecovery>,
        after_timeout: &AfterTimeout,
        board: &Scoreboard,
        room: &Room,
    ) -> Next;

    /// An ACK has arrived in fast recovery, and the lost segments are marked; `begins`: it is the first.
    fn on_ack(&mut self, _ack: &AckEvent, _recovery: &FastRecovery, _begins: bool, _board: &Scoreboard) {}

    /// A segment was sent in fast recovery.
    fn on_sent(&mut self, sent: &SentEvent, recovery: &mut FastRecovery, board: &mut Scoreboard) {
        recovery.count_as_sent(sent, board);
    }

    /// The data in the network.
    fn pipe(&self, _state: RecoveryState, board: &Scoreboard) -> Bytes {
        board.pipe()
    }
}

/// Controls the window before, during and after fast recovery.
pub(super) trait Response: std::fmt::Debug + Send {
    /// An ACK has arrived outside of fast recovery, and no loss was found.
    fn in_order(
        &mut self,
        ack: &AckEvent,
        _found: Detection,
        _disorder: Change,
        _board: &Scoreboard,
    ) -> Actions {
        Actions::ordinary(ack)
    }

    /// A loss was found, and the lost segments are marked. `disorder` is the time before it.
    fn enter(&mut self, ack: &AckEvent, _disorder: &Disorder, _board: &Scoreboard) -> Actions {
        Actions::reduce(ack.congestion_event(ack.flight), super::actions::DUPLICATES)
    }

    /// An ACK has arrived in fast recovery, and may have reported a further loss.
    fn in_recovery(&mut self, ack: &AckEvent, found: Detection, board: &Scoreboard) -> Actions;

    /// Whether this ACK ends fast recovery.
    fn is_over(&self, ack: &AckEvent, recover: Seq) -> bool {
        ack.number.at_or_after(recover)
    }

    /// Fast recovery is over (RFC 6675 §5 step A: at the slow-start threshold).
    fn exit(&mut self, ack: &AckEvent, _board: &Scoreboard) -> Actions {
        Actions::exit(ack.ssthresh)
    }

    /// Something but an ACK or a departure concerns the window.
    fn on_event(&mut self, _event: Event) {}

    /// A segment was sent.
    fn on_sent(&mut self, _sent: &SentEvent, _disorder: &Disorder, _board: &Scoreboard) {}

    /// The outstanding data that limited transmit has sent, which a reduction must not count (RFC 5681 §3.2 step 2).
    fn limited_transmit(&self, _disorder: &Disorder) -> Bytes {
        Bytes::ZERO
    }

    /// The limiting window, without the inflation after a timeout.
    fn window(&self, cwnd: Bytes, _disorder: &Disorder) -> SendWindow {
        SendWindow { cwnd, inflation: 0 }
    }
}

/// An event that concerns the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A timeout or a spurious loss signal has ended every other reaction.
    Abandoned,
    /// A congestion mark has reduced the window.
    Marked {
        /// The window before.
        before: Bytes,
        /// SND.NXT.
        nxt: Seq,
    },
}

/// The phase in which an ACK arrives.
#[derive(Debug)]
pub(super) enum Stage<'a> {
    /// No loss is being repaired.
    Open {
        /// Effect of the ACK on the disorder.
        disorder: Change,
        /// It ends the repair after a timeout.
        reopened: bool,
    },
    /// Losses that the timer has found are being repaired.
    AfterTimeout,
    /// Losses that ACKs have reported are being repaired.
    FastRecovery(&'a mut FastRecovery),
    /// The ACK ends fast recovery.
    Over,
}

/// Result of a detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detection {
    /// Nothing.
    Nothing,
    /// A duplicate that may be the sign of a loss, with others.
    Duplicate,
    /// A loss.
    Loss,
    /// Losses of the repair that this ACK ends are not delivered yet, and begin another one at once.
    LossRemains,
}

/// Fast recovery, while it lasts.
#[derive(Clone, Copy, Debug)]
pub(super) struct FastRecovery {
    /// `RecoveryPoint`: end of what was outstanding when the loss was found.
    pub recover: Seq,
    /// `HighRxt`: end of the highest segment that was sent again.
    pub high_rxt: Seq,
    /// Whether a retransmission has to go out whatever the window says (RFC 5681 §3.2 step 3, RFC 6675 §5 step 4.3).
    pub forced: bool,
    /// Duplicate ACKs that reported the loss.
    pub duplicates: u32,
}

impl FastRecovery {
    /// A segment was sent; a retransmission moves `HighRxt`.
    pub fn count_as_sent(&mut self, sent: &SentEvent, board: &Scoreboard) {
        if let Some(segment) = board.get(sent.index).filter(|_| sent.again) {
            self.forced = false;
            self.high_rxt = self.high_rxt.max(segment.range.end);
        }
    }
}

/// The parts of a composed recovery.
#[derive(Debug)]
pub(super) struct Composed {
    detector: Box<dyn LossDetector>,
    selector: Box<dyn Selector>,
    response: Box<dyn Response>,
    after_timeout: AfterTimeout,
    /// Whether go-back-N outlives a fast retransmit.
    go_back_n_continues: bool,
    /// Whether a timeout in fast recovery keeps the threshold.
    reduces_once: bool,
    /// The limit of new data while a gap lasts, in windows beyond the window.
    extra_windows: Option<u32>,
    /// The most that may be outstanding while a gap lasts.
    most_outstanding: Bytes,
    fast_recovery: Option<FastRecovery>,
    disorder: Disorder,
    /// A congestion mark has reduced the window: until data beyond this number are acknowledged, the response sees all
    /// ACKs.
    marked: Option<Seq>,
    /// No part needs to see an ACK that only advances.
    quiet: bool,
    traits: Traits,
}

impl Composed {
    pub fn new(
        detector: impl LossDetector + 'static,
        selector: impl Selector + 'static,
        response: impl Response + 'static,
        after_timeout: AfterTimeout,
    ) -> Self {
        let quiet = detector.is_idle();
        Self {
            detector: Box::new(detector),
            selector: Box::new(selector),
            response: Box::new(response),
            after_timeout,
            go_back_n_continues: false,
            reduces_once: false,
            extra_windows: None,
            most_outstanding: Bytes::MAX,
            fast_recovery: None,
            disorder: Disorder::NONE,
            marked: None,
            quiet,
            traits: Traits::default(),
        }
    }

    /// It works on selective acknowledgments.
    pub const fn on_sack(mut self) -> Self {
        self.traits.needs_sack = true;
        self
    }

    /// Another algorithm than that of RFC 6582 takes its place for a peer that does not permit SACK.
    pub const fn without_sack_by(mut self, other: WithoutSack) -> Self {
        self.traits.without_sack = other;
        self
    }

    /// The tail of a flight is probed.
    pub const fn probing_tail(mut self, probes: Option<TailProbes>) -> Self {
        self.traits.probes_tail = probes;
        self
    }

    /// A retransmission of the oldest segment starts the retransmission timer anew.
    pub const fn restarting_timer_for_oldest(mut self) -> Self {
        self.traits.restarts_timer_for_oldest = true;
        self
    }

    /// Go-back-N after a timeout outlives a fast retransmit.
    pub const fn with_go_back_n_that_continues(mut self, continues: bool) -> Self {
        self.go_back_n_continues = continues;
        self
    }

    /// A timeout in fast recovery keeps the threshold that it has set.
    pub const fn reducing_once(mut self, once: bool) -> Self {
        self.reduces_once = once;
        self
    }

    /// While a gap lasts, new data may exceed the window by `windows` windows at most.
    pub const fn with_extra_windows(mut self, windows: u32) -> Self {
        self.extra_windows = Some(windows);
        self.most_outstanding = Bytes::ZERO;
        self
    }

    /// Whether the limit of new data while a gap lasts permits a segment.
    fn permits(&self, next: Next, board: &Scoreboard, room: &Room) -> bool {
        let new = room.new.unwrap_or(Bytes::ZERO);
        let unlimited = next != Next::New || self.disorder.flight().is_none();
        unlimited || board.outstanding() + new <= self.most_outstanding
    }

    fn in_order(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Actions {
        let was_open = self.after_timeout.recover().is_none();
        self.after_timeout.on_ack(ack, board);
        let change = if was_open { self.disorder.on_ack(ack, board) } else { Change::None };
        let open = self.after_timeout.recover().is_none();
        let opened = Stage::Open { disorder: change, reopened: !was_open };
        let stage = if open { opened } else { Stage::AfterTimeout };
        let found = self.detector.on_ack(ack, stage, board);
        if matches!(found, Detection::Loss | Detection::LossRemains) {
            return self.enter(ack, board);
        }
        if let Some(extra) = self.extra_windows {
            self.most_outstanding = ack.cwnd * (u64::from(extra) + 1);
        }
        self.marked = self.marked.filter(|high| !ack.number.after(*high));
        let settled = open && ack.advances && self.disorder.flight().is_none() && self.marked.is_none();
        let actions = self.response.in_order(ack, found, change, board);
        self.quiet = settled && self.detector.is_idle();
        actions
    }

    fn enter(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Actions {
        (self.quiet, self.marked) = (false, None);
        let mut recovery =
            FastRecovery { recover: ack.nxt, high_rxt: ack.number, forced: true, duplicates: 0 };
        self.detector.begin(ack, &mut recovery, board);
        let actions = self.response.enter(ack, &self.disorder, board);
        self.disorder.end();
        if !self.go_back_n_continues {
            self.after_timeout.leave();
        }
        if matches!(actions.finding, Finding::Collapse(_)) {
            self.after_timeout.on_timeout(ack.nxt, board);
            board.blame_first(crate::Cause::FastRetransmit);
            return actions;
        }
        self.selector.on_ack(ack, &recovery, true, board);
        self.fast_recovery = Some(recovery);
        actions
    }

    fn in_recovery(&mut self, recovery: FastRecovery, ack: &AckEvent, board: &mut Scoreboard) -> Actions {
        self.after_timeout.on_ack(ack, board);
        if self.response.is_over(ack, recovery.recover) {
            self.fast_recovery = None;
            return match self.detector.on_ack(ack, Stage::Over, board) {
                Detection::LossRemains => self.enter(ack, board),
                _ => self.response.exit(ack, board),
            };
        }
        let high_rxt = recovery.high_rxt.max(ack.number);
        let recovery = self.fast_recovery.insert(FastRecovery { high_rxt, ..recovery });
        let found = self.detector.on_ack(ack, Stage::FastRecovery(recovery), board);
        self.selector.on_ack(ack, recovery, false, board);
        self.response.in_recovery(ack, found, board)
    }

    fn leave(&mut self) {
        self.fast_recovery = None;
        (self.quiet, self.marked) = (false, None);
        self.disorder.end();
        self.response.on_event(Event::Abandoned);
    }
}

impl Recovery for Composed {
    fn on_ack(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Actions {
        if self.quiet && ack.advances && ack.newly_sacked.is_zero() {
            return Actions::ordinary(ack);
        }
        match self.fast_recovery {
            Some(recovery) => self.in_recovery(recovery, ack, board),
            None => self.in_order(ack, board),
        }
    }

    fn on_timeout(&mut self, timeout: &TimeoutEvent, board: &mut Scoreboard) -> Actions {
        let counted = timeout.flight.saturating_sub(self.response.limited_transmit(&self.disorder));
        let is_reduced = self.reduces_once && self.fast_recovery.is_some();
        let timeout = &TimeoutEvent { repeated: timeout.repeated || is_reduced, ..*timeout };
        self.leave();
        self.detector.on_timeout(timeout, board);
        self.after_timeout.on_timeout(timeout.nxt, board);
        let plus = self.after_timeout.window_beyond_one(board);
        Actions::timeout_with(timeout.congestion_event(counted), plus)
    }

    fn on_deadline(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Actions {
        let repairing = self.state() != RecoveryState::Open;
        match self.detector.on_deadline(ack, repairing, board) {
            Detection::Loss if !repairing => self.enter(ack, board),
            _ => Actions::NONE,
        }
    }

    fn deadline(&self, board: &Scoreboard) -> Option<Instant> {
        if self.quiet { None } else { self.detector.deadline(board) }
    }

    fn on_mark(&mut self, before: Bytes, nxt: Seq) {
        self.response.on_event(Event::Marked { before, nxt });
        (self.quiet, self.marked) = (false, Some(nxt));
    }

    fn on_spurious(&mut self) {
        self.leave();
        self.detector.on_spurious();
        self.after_timeout.leave();
    }

    fn next(&self, board: &Scoreboard, room: &Room) -> Next {
        let next = self.selector.next(self.fast_recovery.as_ref(), &self.after_timeout, board, room);
        if self.permits(next, board, room) { next } else { Next::Nothing }
    }

    fn on_sent(&mut self, sent: &SentEvent, board: &mut Scoreboard) {
        self.quiet = false;
        self.disorder.on_sent(board);
        self.detector.on_sent(sent, board);
        if let Some(recovery) = &mut self.fast_recovery {
            self.selector.on_sent(sent, recovery, board);
        }
        self.response.on_sent(sent, &self.disorder, board);
    }

    fn window(&self, cwnd: Bytes) -> SendWindow {
        let window = self.response.window(cwnd, &self.disorder);
        SendWindow { inflation: window.inflation + self.after_timeout.inflation(), ..window }
    }

    fn pipe(&self, board: &Scoreboard) -> Bytes {
        self.selector.pipe(self.state(), board)
    }

    fn is_idle(&self) -> bool {
        self.quiet
    }

    fn state(&self) -> RecoveryState {
        RecoveryState::of(self.fast_recovery.map(|recovery| recovery.recover), &self.after_timeout)
    }

    fn traits(&self) -> Traits {
        self.traits
    }
}

/// Segments marked lost first, then new data, as the window allows; the first retransmission of a recovery at once.
#[derive(Debug)]
pub(super) struct LostFirst;

impl Selector for LostFirst {
    fn next(
        &self,
        recovery: Option<&FastRecovery>,
        after_timeout: &AfterTimeout,
        board: &Scoreboard,
        room: &Room,
    ) -> Next {
        let forced = recovery.is_some_and(|recovery| recovery.forced) || after_timeout.forces();
        super::lost_first(board, room, forced, after_timeout.allows_new())
    }
}

/// The window falls to the new threshold at once and stays there (RFC 6675 §5): the pipe says what may go out.
#[derive(Debug)]
pub(super) struct HalveAtOnce;

impl Response for HalveAtOnce {
    fn in_recovery(&mut self, ack: &AckEvent, _found: Detection, _board: &Scoreboard) -> Actions {
        Actions::hold(super::TimerAction::restart_if(ack.advances))
    }
}
