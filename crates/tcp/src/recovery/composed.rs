//! A recovery that is made of parts: a detector, a selector, a response, and a mode after timeouts.
//!
//! It is the state machine that all of them share: in order, then fast recovery from the ACK that tells of a loss
//! until the recovery point is acknowledged, or go-back-N after a timeout. The parts know nothing of one another.

use units::{Bytes, Instant, Seq};

use super::disorder::{Change, Disorder};
use super::{
    AckEvent, Actions, AfterTimeout, Finding, Next, Recovery, RecoveryState, Room, SendWindow, SentEvent,
    TailProbes, TimeoutEvent, Traits,
};
use crate::scoreboard::Scoreboard;

/// Says what is lost.
pub(super) trait LossDetector: std::fmt::Debug + Send {
    /// An ACK came.
    fn on_ack(&mut self, ack: &AckEvent, stage: Stage<'_>, board: &mut Scoreboard) -> Detection;

    /// Fast recovery begins: marks on the board what is lost.
    fn begin(&mut self, ack: &AckEvent, recovery: &mut FastRecovery, board: &mut Scoreboard);

    /// The retransmission timer ran out with data up to `nxt` outstanding.
    fn on_timeout(&mut self, timeout: &TimeoutEvent, board: &mut Scoreboard);

    /// The last loss signal was spurious.
    fn on_spurious(&mut self);

    /// A segment was sent.
    fn on_sent(&mut self, _sent: &SentEvent, _board: &Scoreboard) {}

    /// When it wants to judge without an ACK.
    fn deadline(&self, _board: &Scoreboard) -> Option<Instant> {
        None
    }

    /// The deadline has come; whether a loss is being repaired.
    fn on_deadline(&mut self, _ack: &AckEvent, _repairing: bool, _board: &mut Scoreboard) -> Detection {
        Detection::Nothing
    }

    /// A recovery is over: whether what was lost and is still not delivered begins another one at once.
    fn begins_anew(&self, _ack: &AckEvent, _board: &Scoreboard) -> bool {
        false
    }

    /// Whether an ACK that only advances would change nothing in it; such ACKs are then not told.
    fn is_idle(&self) -> bool {
        true
    }
}

/// Picks what to send next (`NextSeg` of RFC 6675), and estimates what is in the network (`SetPipe`).
pub(super) trait Selector: std::fmt::Debug + Send {
    /// What to send now.
    fn next(
        &self,
        recovery: Option<&FastRecovery>,
        after_timeout: &AfterTimeout,
        board: &Scoreboard,
        room: &Room,
    ) -> Next;

    /// Fast recovery begins; what is lost is marked.
    fn begin(&mut self, _ack: &AckEvent, _recovery: &FastRecovery, _board: &Scoreboard) {}

    /// An ACK came in fast recovery; what is lost is marked.
    fn on_ack(&mut self, _ack: &AckEvent, _board: &Scoreboard) {}

    /// A segment was sent in fast recovery.
    fn on_sent(&mut self, sent: &SentEvent, recovery: &mut FastRecovery, board: &mut Scoreboard) {
        recovery.count_as_sent(sent, board);
    }

    /// What is in the network.
    fn pipe(&self, _state: RecoveryState, board: &Scoreboard) -> Bytes {
        board.pipe()
    }
}

/// Says what becomes of the window.
pub(super) trait Response: std::fmt::Debug + Send {
    /// An ACK came while no loss was being repaired by fast recovery, and none was found.
    fn in_order(
        &mut self,
        ack: &AckEvent,
        _found: Detection,
        _disorder: Change,
        _board: &Scoreboard,
    ) -> Actions {
        Actions::ordinary(ack)
    }

    /// A loss was found. `disorder` is what precedes it.
    fn enter(&mut self, ack: &AckEvent, _disorder: &Disorder, _board: &Scoreboard) -> Actions {
        Actions::reduce(ack.congestion_event(ack.flight), super::actions::DUPLICATES)
    }

    /// Fast recovery has begun, and what is lost is marked.
    fn entered(&mut self, _ack: &AckEvent, _board: &Scoreboard) {}

    /// An ACK came in fast recovery, and may have told of a further loss.
    fn in_recovery(&mut self, ack: &AckEvent, found: Detection, board: &Scoreboard) -> Actions;

    /// Whether this ACK ends fast recovery.
    fn is_over(&self, ack: &AckEvent, recover: Seq) -> bool {
        ack.number.at_or_after(recover)
    }

    /// Fast recovery is over (RFC 6675 §5 step A: at the slow-start threshold).
    fn exit(&mut self, ack: &AckEvent, _board: &Scoreboard) -> Actions {
        Actions::exit(ack.ssthresh)
    }

    /// A timeout or a spurious loss signal ends whatever was going on.
    fn reset(&mut self) {}

    /// A congestion mark has reduced the window, which was `before`, with data up to `nxt` sent.
    fn on_mark(&mut self, _before: Bytes, _nxt: Seq) {}

    /// Whether an ACK that only advances means what it always means; such ACKs are then not told.
    fn is_idle(&self) -> bool {
        true
    }

    /// A segment was sent.
    fn on_sent(&mut self, _sent: &SentEvent, _disorder: &Disorder, _board: &Scoreboard) {}

    /// Of what is outstanding, what limited transmit has sent, which a reduction must not count (RFC 5681 §3.2
    /// step 2).
    fn limited_transmit(&self, _disorder: &Disorder) -> Bytes {
        Bytes::ZERO
    }

    /// The window to send by, without what a timeout has left.
    fn window(&self, cwnd: Bytes, _disorder: &Disorder) -> SendWindow {
        SendWindow { cwnd, inflation: 0 }
    }

    /// Whether what the selector picked may go out now.
    fn allows(&self, _next: Next, _disorder: &Disorder, _board: &Scoreboard, _room: &Room) -> bool {
        true
    }
}

/// When an ACK came.
#[derive(Debug)]
pub(super) enum Stage<'a> {
    /// No loss is being repaired; what it means for the disorder.
    Open(Change),
    /// What a timeout has left is being repaired.
    AfterTimeout,
    /// Losses that ACKs told of are being repaired.
    FastRecovery(&'a mut FastRecovery),
    /// It ends fast recovery.
    Over,
}

/// What a detector finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detection {
    /// Nothing.
    Nothing,
    /// A duplicate that may be the sign of a loss, with others.
    Duplicate,
    /// A loss.
    Loss,
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
    /// Duplicate ACKs that told of the loss.
    pub duplicates: u32,
}

impl FastRecovery {
    /// A segment was sent; one that was sent again moves `HighRxt`.
    pub fn count_as_sent(&mut self, sent: &SentEvent, board: &Scoreboard) {
        if let Some(segment) = board.get(sent.index).filter(|_| sent.again) {
            self.forced = false;
            self.high_rxt = self.high_rxt.max(segment.range.end);
        }
    }
}

/// What a composed recovery is made of.
#[derive(Debug)]
pub(super) struct Composed {
    detector: Box<dyn LossDetector>,
    selector: Box<dyn Selector>,
    response: Box<dyn Response>,
    after_timeout: AfterTimeout,
    /// Whether go-back-N outlives a fast retransmit.
    go_back_n_goes_on: bool,
    fast_recovery: Option<FastRecovery>,
    disorder: Disorder,
    /// Nothing is going on, so that an ACK which only advances needs to be told to no part.
    quiet: bool,
    traits: Traits,
    /// What takes its place for a peer that does not permit SACK.
    without_sack: fn() -> Box<dyn Recovery>,
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
            go_back_n_goes_on: false,
            fast_recovery: None,
            disorder: Disorder::NONE,
            quiet,
            traits: Traits::default(),
            without_sack: super::new_reno::standard,
        }
    }

    /// It works on selective acknowledgments.
    pub const fn on_sack(mut self) -> Self {
        self.traits = Traits::SACK;
        self
    }

    /// Another algorithm than that of RFC 6582 takes its place for a peer that does not permit SACK.
    pub const fn without_sack_by(mut self, other: fn() -> Box<dyn Recovery>) -> Self {
        self.without_sack = other;
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
    pub const fn with_go_back_n_that_goes_on(mut self, goes_on: bool) -> Self {
        self.go_back_n_goes_on = goes_on;
        self
    }

    fn in_order(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Actions {
        let was_open = self.after_timeout.recover().is_none();
        self.after_timeout.on_ack(ack, board);
        let change = if was_open { self.disorder.on_ack(ack, board) } else { Change::None };
        let open = self.after_timeout.recover().is_none();
        let stage = if open { Stage::Open(change) } else { Stage::AfterTimeout };
        let found = self.detector.on_ack(ack, stage, board);
        let anew = open && !was_open && self.detector.begins_anew(ack, board);
        if found == Detection::Loss || anew {
            return self.enter(ack, board);
        }
        let settled = open && ack.advances && self.disorder.flight().is_none();
        let actions = self.response.in_order(ack, found, change, board);
        self.quiet = settled && self.detector.is_idle() && self.response.is_idle();
        actions
    }

    fn enter(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Actions {
        self.quiet = false;
        let actions = self.response.enter(ack, &self.disorder, board);
        self.disorder.end();
        if !self.go_back_n_goes_on {
            self.after_timeout.leave();
        }
        let mut recovery =
            FastRecovery { recover: ack.nxt, high_rxt: ack.number, forced: true, duplicates: 0 };
        self.detector.begin(ack, &mut recovery, board);
        if matches!(actions.finding, Finding::Collapse(_)) {
            self.after_timeout.on_timeout(ack.nxt, board);
            board.blame_first(crate::Cause::FastRetransmit);
            return actions;
        }
        self.selector.begin(ack, &recovery, board);
        self.response.entered(ack, board);
        self.fast_recovery = Some(recovery);
        actions
    }

    fn in_recovery(&mut self, recovery: FastRecovery, ack: &AckEvent, board: &mut Scoreboard) -> Actions {
        self.after_timeout.on_ack(ack, board);
        if self.response.is_over(ack, recovery.recover) {
            self.fast_recovery = None;
            self.detector.on_ack(ack, Stage::Over, board);
            if self.detector.begins_anew(ack, board) {
                return self.enter(ack, board);
            }
            return self.response.exit(ack, board);
        }
        let high_rxt = recovery.high_rxt.max(ack.number);
        let recovery = self.fast_recovery.insert(FastRecovery { high_rxt, ..recovery });
        let found = self.detector.on_ack(ack, Stage::FastRecovery(recovery), board);
        self.selector.on_ack(ack, board);
        self.response.in_recovery(ack, found, board)
    }

    fn leave(&mut self) {
        self.fast_recovery = None;
        self.quiet = false;
        self.disorder.end();
        self.response.reset();
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
            Detection::Loss | Detection::Nothing | Detection::Duplicate => Actions::NONE,
        }
    }

    fn deadline(&self, board: &Scoreboard) -> Option<Instant> {
        if self.quiet { None } else { self.detector.deadline(board) }
    }

    fn on_mark(&mut self, before: Bytes, nxt: Seq) {
        self.response.on_mark(before, nxt);
        self.quiet = self.quiet && self.response.is_idle();
    }

    fn on_spurious(&mut self) {
        self.leave();
        self.detector.on_spurious();
        self.after_timeout.leave();
    }

    fn next(&self, board: &Scoreboard, room: &Room) -> Next {
        let next = self.selector.next(self.fast_recovery.as_ref(), &self.after_timeout, board, room);
        if self.response.allows(next, &self.disorder, board, room) { next } else { Next::Nothing }
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

    fn without_sack(&self) -> Box<dyn Recovery> {
        (self.without_sack)()
    }

    fn traits(&self) -> Traits {
        self.traits
    }
}

/// What is marked lost first, then new data, as the window allows; the first retransmission of a recovery at once.
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
