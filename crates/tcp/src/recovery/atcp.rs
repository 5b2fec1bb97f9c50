//! ATCP (Liu and Singh, "ATCP: TCP for mobile ad hoc networks", IEEE JSAC 19(7), 2001): a layer between IP and the TCP
//! of a sender, which lets that TCP see congestion only where the network marks it.
//!
//! - *Normal*: the layer counts duplicate ACKs. The third, or the retransmission timer, without a congestion mark
//!   before it, is a loss of the channel: TCP does not see it, is put into persist mode, and the layer is in *Loss*.
//! - *Loss*: no new data. The layer sends again what is not acknowledged, with a timer of its own. The ACK of new data
//!   goes to TCP, with windows as before the loss, and the layer is normal again.
//! - *Congested*: after a congestion mark TCP sees everything, until it sends a new segment, and until a repair that it
//!   has begun is complete.
//! - *Disconnected*: after an ICMP report that the peer is unreachable TCP is in persist mode. The first ACK from the
//!   peer ends that; TCP then starts from one segment.
//!
//! The paper's full text was not at hand; the states and their events are those that it and the surveys of TCP over ad
//! hoc networks agree on. Where they leave a choice, ours are: the TCP above is NewReno by RFC 6582; the layer sends
//! again the oldest segment, and with each ACK that ends below what was outstanding the next one; its timer is TCP's,
//! with TCP's backoff; duplicates below what was outstanding at the last loss are echoes and start nothing; a mark that
//! is echoed during a loss is heard when the loss is repaired, as its echo is repeated until then (RFC 3168 §6.1.3);
//! probes in *Disconnected* are copies of the oldest segment at the timer's intervals, all that was outstanding counts
//! as lost, and ssthresh is kept.
//!
//! A queue that drops without marking is no congestion for ATCP: it needs ECN at the bottleneck.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Instant, Seq};

use super::duplicates::Duplicates;
use super::{
    AckEvent, Actions, Finding, Next, Recovery, RecoveryState, Room, SendWindow, SentEvent, TimeoutEvent,
    TimerAction, Traits, lost_first, new_reno,
};
use crate::Cause;
use crate::scoreboard::Scoreboard;
use registry::{Algorithm, Build};

/// Parameters: it has none.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {}

#[derive(Debug)]
struct Atcp {
    /// The TCP above the layer.
    tcp: Box<dyn Recovery>,
    state: State,
    duplicates: Duplicates,
    /// End of what was outstanding at the last loss: duplicates below it are echoes of its repair.
    barred_to: Option<Seq>,
    /// Whether the next retransmission goes out whatever the window says.
    forced: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Normal,
    /// Until this number is acknowledged.
    Loss {
        recover: Seq,
    },
    Congested,
    /// With data up to this number outstanding at the report.
    Disconnected {
        recover: Seq,
    },
}

impl Recovery for Atcp {
    fn on_ack(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Actions {
        if ack.advances {
            self.duplicates.clear();
            self.barred_to = self.barred_to.filter(|point| ack.number.before(*point));
        }
        match self.state {
            State::Loss { recover } => self.in_loss(ack, recover, board),
            State::Disconnected { .. } => self.reconnect(ack, board),
            _ if ack.duplicate && !self.tcp_sees_losses() => self.on_duplicate(ack, board),
            State::Normal | State::Congested => self.tcp.on_ack(ack, board),
        }
    }

    fn on_timeout(&mut self, timeout: &TimeoutEvent, board: &mut Scoreboard) -> Actions {
        self.duplicates.clear();
        if self.tcp_sees_losses() {
            return self.tcp.on_timeout(timeout, board);
        }
        if self.state == State::Normal {
            self.begin_loss(timeout.nxt);
        }
        board.mark_lost(0, Cause::Timeout);
        self.forced = true;
        Actions::NONE
    }

    fn on_deadline(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Actions {
        self.tcp.on_deadline(ack, board)
    }

    fn deadline(&self, board: &Scoreboard) -> Option<Instant> {
        self.tcp.deadline(board)
    }

    fn on_mark(&mut self, before: Bytes, nxt: Seq) {
        self.state = State::Congested;
        self.tcp.on_mark(before, nxt);
    }

    fn on_unreachable(&mut self, nxt: Seq, board: &mut Scoreboard) -> bool {
        if matches!(self.state, State::Disconnected { .. }) {
            return false;
        }
        (self.state, self.forced) = (State::Disconnected { recover: nxt }, false);
        self.duplicates.clear();
        self.barred_to = Some(nxt);
        self.tcp.on_spurious();
        board.mark_all_lost();
        true
    }

    fn on_spurious(&mut self) {
        self.state = State::Normal;
        self.duplicates.clear();
        self.tcp.on_spurious();
    }

    fn next(&self, board: &Scoreboard, room: &Room) -> Next {
        match self.state {
            State::Loss { .. } | State::Disconnected { .. } if self.forced => {
                lost_first(board, room, true, false)
            }
            State::Loss { .. } | State::Disconnected { .. } => Next::Nothing,
            State::Normal | State::Congested => self.tcp.next(board, room),
        }
    }

    fn on_sent(&mut self, sent: &SentEvent, board: &mut Scoreboard) {
        self.forced &= !sent.again;
        if self.state == State::Congested && !sent.again {
            self.state = State::Normal;
        }
        self.tcp.on_sent(sent, board);
    }

    fn window(&self, cwnd: Bytes) -> SendWindow {
        self.tcp.window(cwnd)
    }

    fn pipe(&self, board: &Scoreboard) -> Bytes {
        self.tcp.pipe(board)
    }

    fn is_idle(&self) -> bool {
        self.state == State::Normal
            && self.barred_to.is_none()
            && self.duplicates.count() == 0
            && self.tcp.is_idle()
    }

    fn state(&self) -> RecoveryState {
        match self.state {
            State::Loss { recover } => RecoveryState::FastRecovery { recover },
            State::Disconnected { recover } => RecoveryState::AfterTimeout { recover },
            State::Normal | State::Congested => self.tcp.state(),
        }
    }

    fn traits(&self) -> Traits {
        self.tcp.traits()
    }
}

impl Atcp {
    /// Whether TCP, and not the layer, is to react to a loss.
    fn tcp_sees_losses(&self) -> bool {
        self.state == State::Congested
            || (self.state == State::Normal && self.tcp.state() != RecoveryState::Open)
    }

    /// TCP sees the first two duplicates of a row, and none of those that echo a repair.
    fn on_duplicate(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Actions {
        if self.barred_to.is_some_and(|point| ack.number.before(point)) {
            return Actions::NONE;
        }
        if self.duplicates.reach(ack.dupthresh) { self.lose(ack, board) } else { self.tcp.on_ack(ack, board) }
    }

    fn begin_loss(&mut self, nxt: Seq) {
        self.state = State::Loss { recover: nxt };
        self.barred_to = Some(nxt);
    }

    /// The third duplicate: the layer repairs the loss, and TCP does not see it.
    fn lose(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Actions {
        self.begin_loss(ack.nxt);
        self.forced = true;
        board.mark_lost(0, Cause::FastRetransmit);
        Actions {
            finding: Finding::Suspected("a loss without a mark"),
            ..Actions::hold(TimerAction::StartWhole)
        }
    }

    fn in_loss(&mut self, ack: &AckEvent, recover: Seq, board: &mut Scoreboard) -> Actions {
        if !ack.advances {
            return Actions::NONE;
        }
        if ack.number.before(recover) {
            board.mark_lost(0, Cause::PartialAck);
            self.forced = true;
            return Actions::hold(TimerAction::Restart);
        }
        self.return_to_normal();
        Actions { finding: Finding::Recovered, ..self.tcp.on_ack(ack, board) }
    }

    /// The peer answers: TCP sends again what was outstanding, from one segment.
    fn reconnect(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Actions {
        self.return_to_normal();
        board.mark_all_lost();
        self.tcp.on_ack(ack, board)
    }

    fn return_to_normal(&mut self) {
        (self.state, self.forced) = (State::Normal, false);
        self.duplicates.clear();
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Recovery> = Algorithm::of(
    "atcp",
    "ATCP: losses without a congestion mark are repaired below TCP, whose windows stay",
    "Liu and Singh 2001 (ATCP)",
    &Build(|_: &Parameters| {
        Box::new(Atcp {
            tcp: new_reno::standard(),
            state: State::Normal,
            duplicates: Duplicates::NONE,
            barred_to: None,
            forced: false,
        })
    }),
);
