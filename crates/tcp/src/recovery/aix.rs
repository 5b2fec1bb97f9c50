//! TCP-Aix (Landström 2008 §4.5): the repair of a loss and the reaction to it are two things. The sender repairs
//! as soon as it suspects a loss, and reduces its window only once the ACK of the repair has corroborated it.
//!
//! Three phases before the recovery that everyone knows:
//! - *Dupack Phase*, from the first duplicate ACK: each duplicate lets one new segment out and restarts the
//!   timer. The window is held, and grows unseen as if everything had come in order (`cwnd_aix`, candid
//!   growth): congestion control continues with it, the sender is limited by [`Recovery::window`].
//! - *Fast Recovery Corroboration*, at the threshold: the segment is sent again, and the echoed clock of the
//!   ACK that covers it shows, as with Eifel detection, which copy had arrived.
//! - *Timeout Corroboration*: the same after a timeout.
//!
//! A genuine loss is then repaired as in `sack_6675.rs`, as in RFC 3517, to which the senders of its evaluation were
//! modified, or as in ns-2's `sack1` before that.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Seq};

use super::composed::Composed;
use super::{
    AckEvent, Actions, Finding, Next, Recovery, RecoveryState, Room, SendWindow, SentEvent, Style,
    TimeoutEvent, TimerAction, Traits, WindowAction, lost_first, sack_3517, sack_6675,
};
use crate::Cause;
use crate::congestion::{CongestionEvent, CongestionSignal};
use crate::scoreboard::Scoreboard;
use crate::spurious::SignalKind;
use crate::timestamp::Timestamp;
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Whether a hidden window grows while duplicates arrive.
    pub candid_growth: bool,
    /// Whether the window after a closed gap starts from the data in the network at that time. Data that were not
    /// sent during the repair then follow in slow start and not in a burst.
    pub cwnd_compensation: bool,
    /// Method of repairing a corroborated loss.
    pub repair: RepairBy,
    /// Retransmission after a corroborated timeout.
    pub after_timeout: Style,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            candid_growth: true,
            cwnd_compensation: true,
            repair: RepairBy::default(),
            after_timeout: Style::default(),
        }
    }
}

/// Method of repairing a corroborated loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "AixRepair")]
pub enum RepairBy {
    /// By RFC 6675.
    #[default]
    #[serde(rename = "sack-6675")]
    Sack6675,
    /// By RFC 3517.
    #[serde(rename = "sack-3517")]
    Sack3517,
    /// As in ns-2's `sack1`: `sack-3517` with a counted pipe, and any hole is sent again.
    #[serde(rename = "sack1")]
    Sack1,
}

#[derive(Debug)]
struct Aix {
    parameters: Parameters,
    sack: Composed,
    mode: Mode,
}

#[derive(Clone, Copy, Debug)]
enum Mode {
    /// In order, or in a recovery that is corroborated.
    Plain,
    /// Dupack Phase.
    Dupacks(Held),
    /// Fast Recovery Corroboration or Timeout Corroboration.
    Corroborating(Held, Proof),
}

/// The window as it was when order was lost.
#[derive(Clone, Copy, Debug)]
struct Held {
    window: Bytes,
    /// Outstanding data at that time, the base of a reduction.
    flight: Bytes,
    /// New segments that duplicates may still let out.
    allowed: u32,
}

/// State needed to judge a suspicion.
#[derive(Clone, Copy, Debug)]
struct Proof {
    signal: SignalKind,
    /// End of what was outstanding at the suspicion.
    recover: Seq,
    /// `high_retr`: end of the highest segment that was sent again. Up to there answers are awaited.
    high_retr: Seq,
    /// Clock of the first retransmission (`RetransmitTS` of RFC 3522).
    clock: Option<Timestamp>,
}

impl Recovery for Aix {
    fn on_ack(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Actions {
        match self.mode {
            Mode::Plain => self.in_order(ack, board),
            Mode::Dupacks(held) if ack.advances => self.reordered(held, ack, board),
            Mode::Dupacks(held) => self.on_dupack(held, ack, board),
            Mode::Corroborating(held, proof) if ack.advances => self.judge(held, proof, ack, board),
            Mode::Corroborating(held, proof) => self.wait(held, proof, ack, board),
        }
    }

    fn on_timeout(&mut self, timeout: &TimeoutEvent, board: &mut Scoreboard) -> Actions {
        let held = match self.mode {
            Mode::Dupacks(held) => Some(held),
            Mode::Plain if self.sack.state() == RecoveryState::Open => {
                Some(Held { window: timeout.cwnd, flight: board.outstanding(), allowed: 0 })
            }
            Mode::Plain | Mode::Corroborating(..) => None,
        };
        let Some(held) = held else {
            return self.on_timeout_in_recovery(timeout, board);
        };
        board.mark_lost(0, Cause::Timeout);
        let una = board.front().map_or(timeout.nxt, |front| front.range.start);
        self.mode = Mode::Corroborating(held, Proof::new(SignalKind::Timeout, una, timeout.nxt));
        Actions::NONE
    }

    fn on_spurious(&mut self) {
        self.mode = Mode::Plain;
        self.sack.on_spurious();
    }

    fn next(&self, board: &Scoreboard, room: &Room) -> Next {
        let next = match self.mode {
            Mode::Corroborating(_, Proof { signal: SignalKind::Timeout, clock, .. }) => {
                lost_first(board, room, clock.is_none(), true)
            }
            _ => self.sack.next(board, room),
        };
        if self.may_send(next, board, room) { next } else { Next::Nothing }
    }

    fn on_sent(&mut self, sent: &SentEvent, board: &mut Scoreboard) {
        if sent.again {
            self.on_retransmitted(sent.index, board);
        }
        self.sack.on_sent(sent, board);
        if !sent.again {
            self.on_new(board);
        }
    }

    fn window(&self, cwnd: Bytes) -> SendWindow {
        let window = self.sack.window(cwnd);
        self.held().map_or(window, |held| SendWindow { cwnd: held.window, inflation: 0 })
    }

    fn pipe(&self, board: &Scoreboard) -> Bytes {
        self.sack.pipe(board)
    }

    fn state(&self) -> RecoveryState {
        match self.mode {
            Mode::Corroborating(_, Proof { signal, recover, .. }) => match signal {
                SignalKind::Timeout => RecoveryState::AfterTimeout { recover },
                SignalKind::FastRetransmit => RecoveryState::FastRecovery { recover },
            },
            Mode::Plain | Mode::Dupacks(_) => self.sack.state(),
        }
    }

    fn traits(&self) -> Traits {
        Traits { needs_sack: true, needs_timestamps: true, judges_signals: true, ..Traits::default() }
    }
}

impl Aix {
    fn new(parameters: Parameters) -> Self {
        let sack = match parameters.repair {
            RepairBy::Sack6675 => sack_6675::composed(parameters.after_timeout),
            RepairBy::Sack3517 => sack_3517::beneath(parameters.after_timeout),
            RepairBy::Sack1 => sack_3517::sack1(parameters.after_timeout),
        };
        Self { parameters, sack, mode: Mode::Plain }
    }

    fn on_retransmitted(&mut self, index: usize, board: &Scoreboard) {
        if let (Mode::Corroborating(held, proof), Some(sent)) = (&mut self.mode, board.get(index)) {
            // It takes the place of a new segment: what the duplicate reports to have left is let in once.
            held.allowed = held.allowed.saturating_sub(1);
            proof.clock.get_or_insert(Timestamp::at(sent.last_sent));
            proof.high_retr = proof.high_retr.max(sent.range.end);
        }
    }

    fn on_new(&mut self, board: &Scoreboard) {
        if let Mode::Dupacks(held) | Mode::Corroborating(held, _) = &mut self.mode
            && board.outstanding() > held.window
        {
            held.allowed = held.allowed.saturating_sub(1);
        }
    }

    /// A timeout in loss recovery: reduce, and leave. Of a suspicion that was not confirmed yet nothing was reduced,
    /// and so it is the first of its segment.
    fn on_timeout_in_recovery(&mut self, timeout: &TimeoutEvent, board: &mut Scoreboard) -> Actions {
        // Segments that the duplicates released beyond the former flight do not count.
        let counted = self.held().map_or(timeout.flight, |held| timeout.flight.min(held.flight));
        let repeated = timeout.repeated && !matches!(self.mode, Mode::Corroborating(..));
        self.mode = Mode::Plain;
        let _ = self.sack.on_timeout(timeout, board);
        Actions::timeout(TimeoutEvent { repeated, ..*timeout }.congestion_event(counted))
    }

    const fn held(&self) -> Option<Held> {
        match self.mode {
            Mode::Plain => None,
            Mode::Dupacks(held) | Mode::Corroborating(held, _) => Some(held),
        }
    }

    /// Within the window as usual; beyond it, one segment for each duplicate, new or retransmitted. The first
    /// retransmission does not wait.
    fn may_send(&self, next: Next, board: &Scoreboard, room: &Room) -> bool {
        let Some(held) = self.held() else { return true };
        let new = room.new.unwrap_or(Bytes::ZERO);
        let unanswered = matches!(self.mode, Mode::Corroborating(_, Proof { clock: None, .. }));
        match next {
            Next::Retransmit { .. } => held.allowed > 0 || unanswered,
            Next::New => held.allowed > 0 || board.outstanding() + new <= held.window,
            Next::Nothing => true,
        }
    }

    fn in_order(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Actions {
        let first = !ack.advances && !ack.newly_sacked.is_zero() && self.sack.state() == RecoveryState::Open;
        if first {
            let held = Held { window: ack.cwnd, flight: board.outstanding(), allowed: 0 };
            return self.on_dupack(held, ack, board);
        }
        self.sack.on_ack(ack, board)
    }

    /// Dupack Phase.
    fn on_dupack(&mut self, mut held: Held, ack: &AckEvent, board: &mut Scoreboard) -> Actions {
        held.allowed += u32::from(!ack.newly_sacked.is_zero());
        let _ = self.sack.on_ack(ack, board);
        let grown = self.grown(ack);
        if matches!(self.sack.state(), RecoveryState::FastRecovery { .. }) {
            let proof = Proof::new(SignalKind::FastRetransmit, ack.number, ack.nxt);
            self.mode = Mode::Corroborating(held, proof);
            let finding = Finding::Suspected("to be corroborated");
            return Actions { finding, ..Actions::grow(grown, TimerAction::Leave) };
        }
        self.mode = Mode::Dupacks(held);
        Actions::grow(grown, TimerAction::restart_if(!ack.newly_sacked.is_zero()))
    }

    /// The gap was closed before the threshold: nothing was lost.
    fn reordered(&mut self, held: Held, ack: &AckEvent, board: &mut Scoreboard) -> Actions {
        self.mode = Mode::Plain;
        let _ = self.sack.on_ack(ack, board);
        self.resume(None, held, ack, board)
    }

    /// A duplicate while the answer to the retransmission is awaited. The timer runs on.
    fn wait(&mut self, mut held: Held, proof: Proof, ack: &AckEvent, board: &mut Scoreboard) -> Actions {
        held.allowed += u32::from(!ack.newly_sacked.is_zero());
        self.mode = Mode::Corroborating(held, proof);
        if proof.signal == SignalKind::FastRetransmit {
            let _ = self.sack.on_ack(ack, board);
        }
        Actions::grow(self.grown(ack), TimerAction::Leave)
    }

    /// An ACK of what was sent again, or of a part of it: which copy does it answer?
    fn judge(&mut self, held: Held, proof: Proof, ack: &AckEvent, board: &mut Scoreboard) -> Actions {
        if proof.is_refuted_by(ack) {
            return self.refuted(held, proof, ack, board);
        }
        self.mode = Mode::Plain;
        let signal = proof.signal;
        match signal {
            SignalKind::FastRetransmit => {
                let _ = self.sack.on_ack(ack, board);
            }
            SignalKind::Timeout if ack.number.before(proof.recover) => {
                let _ = self.sack.on_timeout(&ack.as_timeout(proof.recover), board);
                board.blame_first(Cause::AfterTimeout);
            }
            SignalKind::Timeout => {}
        }
        Self::confirmed(signal, held, ack.congestion_event(ack.flight.min(held.flight)), ack.smss)
    }

    /// The suspected loss was real: the window that was held is reduced only now, and the ACK that shows it lets one
    /// more segment out.
    const fn confirmed(signal: SignalKind, held: Held, event: CongestionEvent, smss: Bytes) -> Actions {
        let congestion_signal = match signal {
            SignalKind::FastRetransmit => CongestionSignal::Loss,
            SignalKind::Timeout => CongestionSignal::Timeout { repeated: false },
        };
        let event = CongestionEvent { signal: congestion_signal, ..event };
        let window = WindowAction::Reduce { event, held: Some(held.window), plus: smss };
        Actions { window, timer: TimerAction::Restart, finding: Finding::Confirmed(signal) }
    }

    /// The original arrived. If other retransmissions are not answered yet, they may still report a loss.
    fn refuted(&mut self, held: Held, proof: Proof, ack: &AckEvent, board: &mut Scoreboard) -> Actions {
        if ack.number.before(proof.high_retr) {
            if proof.signal == SignalKind::FastRetransmit {
                let _ = self.sack.on_ack(ack, board);
            }
            return Actions::grow(ack.delivered, TimerAction::Restart);
        }
        self.mode = Mode::Plain;
        self.sack.on_spurious();
        board.clear_lost();
        self.resume(Some(proof.signal), held, ack, board)
    }

    /// The held window stays, or the data that this ACK found in the network if they are fewer: then the ACK lets out
    /// what it takes off and a segment more, as any ACK in slow start does (Landström 2008 §4.5:
    /// cwnd = min(cwnd + 1, cwnd_aix), ssthresh = max(cwnd_aix, ssthresh)).
    fn resume(&self, signal: Option<SignalKind>, held: Held, ack: &AckEvent, board: &Scoreboard) -> Actions {
        let found = board.pipe() + ack.delivered;
        let in_network = if self.parameters.cwnd_compensation { found } else { Bytes::MAX };
        let cwnd = held.window.min(in_network) + ack.smss;
        let window = WindowAction::SlowStartFrom { cwnd, acked: ack.delivered };
        Actions { window, timer: TimerAction::Restart, finding: Finding::Refuted(signal) }
    }

    /// Amount that a duplicate adds to `cwnd_aix`.
    const fn grown(&self, ack: &AckEvent) -> Bytes {
        if self.parameters.candid_growth { ack.newly_sacked } else { Bytes::ZERO }
    }
}

impl Proof {
    const fn new(signal: SignalKind, una: Seq, recover: Seq) -> Self {
        Self { signal, recover, high_retr: una, clock: None }
    }

    /// RFC 3522 §3.2 step 5: the echoed clock is older than the first retransmission, or there was none.
    fn is_refuted_by(&self, ack: &AckEvent) -> bool {
        self.clock.is_none_or(|clock| ack.echo.is_some_and(|echo| echo.is_older_than(clock)))
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Recovery> = Algorithm::of(
    "aix",
    "retransmits at once, reduces the window when the loss is corroborated, grows until then (TCP-Aix)",
    "Landström 2008 §4.5; Landström, Ekström, Larzon and Ludwig 2006",
    &Build(|parameters: &Parameters| Box::new(Aix::new(parameters.clone()))),
);
