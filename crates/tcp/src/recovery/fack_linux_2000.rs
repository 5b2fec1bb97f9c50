//! FACK as the Linux of 2000 did it (kernels 2.2 to 2.4.0-test, before the rewrite of its retransmission engine).
//!
//! It takes whatever lies below the highest SACK for gone, as FACK does, and so lets new data out as soon as a
//! gap shows. It does not detect a retransmission that is lost: nothing is sent twice before the timer
//! says so. One rule serves fast retransmit and what follows a timeout alike:
//! - the third duplicate, or a SACK for the fourth segment or above, is a loss, unless a repair is under way;
//! - while one is, after a fast retransmit or a timeout, each further duplicate beyond the third sends the next
//!   hole whatever the window says, and more of them as it allows; each partial ACK does the same. So SACK gets
//!   round the *bugfix* that bars fast retransmits after a timeout (Sarolahti 2000, section 6.1);
//! - duplicates without a SACK, as needless retransmissions draw them, are left to NewReno, as Sarolahti 2000
//!   (Table 48) had modified that kernel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Seq};

use super::actions::DUPLICATES;
use super::forward::{Forward, NewData};
use super::new_reno::Exit;
use super::{
    AckEvent, Actions, AfterTimeout, Next, Recovery, RecoveryState, Room, SendWindow, SentEvent, Style,
    TimeoutEvent, TimerAction, Traits,
};
use crate::Cause;
use crate::scoreboard::{Scoreboard, Sent};
use registry::{Algorithm, Build};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The window on leaving a repair that SACKs have reported: ssthresh, as that kernel.
    pub exit: Exit,
    /// The window on leaving a repair without SACKs: FlightSize and one segment (Sarolahti 2000, Table 48).
    pub exit_without_sacks: Exit,
    /// Data in exchange for which duplicates release new data before the loss is found; RFC 5681 §3.2 forbids it.
    pub new_data_before_loss: NewData,
    /// Amount that is halved.
    pub halves: HalvedFlight,
    /// Retransmission after a timeout. The kernel held new data back; Sarolahti 2000, Table 48: go-back-N.
    pub after_timeout: Style,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            new_data_before_loss: NewData::ForHoles,
            halves: HalvedFlight::AboveSack,
            exit: Exit::Ssthresh,
            exit_without_sacks: Exit::Flight,
            after_timeout: Style::GoBackN,
        }
    }
}

/// The quantity that a loss reported by SACKs halves; congestion control may halve less (cwnd).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HalvedFlight {
    /// Data above the highest SACK, and retransmitted data, as that kernel (`tcp_recalc_ssthresh`).
    AboveSack,
    /// FlightSize (RFC 5681 equation 4).
    Flight,
}

/// Duplicates before each further one sends a hole (`dup_acks > 3`).
const ENOUGH: u32 = 3;

#[derive(Debug)]
struct FackLinux2000 {
    parameters: Parameters,
    after_timeout: AfterTimeout,
    /// Duplicates since the last ACK that ended or began something (`dup_acks`); partial ACKs leave it.
    duplicates: u32,
    /// End of what is being repaired (`high_seq`), after a fast retransmit or a timeout.
    repairing: Option<Seq>,
    /// Amount that NewReno adds to the window, without SACKs; the first three segments are in cwnd itself.
    inflation: i64,
    /// The last ACK came without SACKs.
    without_sacks: bool,
    /// SACKs have guided the present repair.
    guided: bool,
    forward: Forward,
    /// After a timeout: how far the walk over what was outstanding has come.
    walked: Seq,
    /// The last ACK allows the walk to continue, within the window.
    walks: bool,
    sends: Sends,
}

/// Segments that the last ACK allows to be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sends {
    /// Nothing.
    Nothing,
    /// Segments marked lost, as the window allows.
    Lost,
    /// The first that is marked lost, whatever the window says, and then as it allows.
    OneAtLeast,
}

impl Sends {
    /// Whether the first that is marked lost may go out, given that the window has room for it or not.
    fn allows(self, fits: bool) -> bool {
        self == Self::OneAtLeast || (self == Self::Lost && fits)
    }
}

impl Recovery for FackLinux2000 {
    fn on_ack(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Actions {
        self.sends = Sends::Nothing;
        self.walks = false;
        let repairing_timeout = self.after_timeout.recover().is_some();
        self.after_timeout.on_ack(ack, board);
        let holes = self.forward.judge(ack, board);
        self.without_sacks = holes == 0;
        let actions = self.judge_ack(ack, holes, repairing_timeout, board);
        if actions.timer == TimerAction::Restart && self.times_the_oldest() {
            return Actions { timer: TimerAction::RestartFromOldest, ..actions };
        }
        actions
    }

    fn on_timeout(&mut self, timeout: &TimeoutEvent, board: &mut Scoreboard) -> Actions {
        // RFC 2018 §8, and `tcp_retransmit_timer`: the receiver may have reneged.
        board.forget_sacks();
        self.after_timeout.on_timeout(timeout.nxt, board);
        self.duplicates = 0;
        self.repairing = Some(timeout.nxt);
        self.inflation = 0;
        self.forward.start_over(timeout.nxt);
        self.guided = false;
        self.walked = board.front().map_or(timeout.nxt, |first| first.range.start);
        self.sends = Sends::OneAtLeast;
        Actions::timeout(timeout.congestion_event(timeout.flight))
    }

    fn on_spurious(&mut self) {
        self.after_timeout.leave();
        self.duplicates = 0;
        self.repairing = None;
        self.inflation = 0;
        self.sends = Sends::Nothing;
    }

    fn next(&self, board: &Scoreboard, room: &Room) -> Next {
        let fits = |index| board.get(index).map_or(Bytes::ZERO, Sent::size) <= room.usable;
        let left = self.left_to_walk(board);
        if let Some(index) = left.filter(|index| self.walks && fits(*index)) {
            return Next::Retransmit { index, cause: Cause::AfterTimeout };
        }
        match board.first_lost() {
            Some((index, cause)) if self.sends.allows(fits(index)) => Next::Retransmit { index, cause },
            _ if left.is_some() || !self.after_timeout.allows_new() => Next::Nothing,
            _ if room.new.is_some_and(|len| len <= room.usable) => Next::New,
            _ => Next::Nothing,
        }
    }

    fn on_sent(&mut self, sent: &SentEvent, board: &mut Scoreboard) {
        if !sent.again {
            return;
        }
        if self.walks && self.left_to_walk(board) == Some(sent.index) {
            self.walked = board.get(sent.index).map_or(self.walked, |sent| sent.range.end);
        } else {
            self.sends = Sends::Lost;
        }
    }

    fn window(&self, cwnd: Bytes) -> SendWindow {
        SendWindow { cwnd, inflation: self.inflation + self.after_timeout.inflation() }
    }

    /// Before the loss is found, data that SACKs show to have left the network release new data only if the parameters
    /// say so.
    fn pipe(&self, board: &Scoreboard) -> Bytes {
        let open = self.repairing.is_none();
        board.pipe() + if open { self.parameters.new_data_before_loss.withheld(board) } else { Bytes::ZERO }
    }

    fn state(&self) -> RecoveryState {
        match (self.after_timeout.recover(), self.repairing) {
            (Some(recover), _) => RecoveryState::AfterTimeout { recover },
            (None, Some(recover)) => RecoveryState::FastRecovery { recover },
            (None, None) => RecoveryState::Open,
        }
    }

    fn traits(&self) -> Traits {
        Traits { needs_sack: true, ..Traits::default() }
    }
}

impl FackLinux2000 {
    fn new(parameters: Parameters) -> Self {
        let after_timeout = AfterTimeout::new(parameters.after_timeout);
        Self {
            parameters,
            after_timeout,
            duplicates: 0,
            repairing: None,
            inflation: 0,
            without_sacks: true,
            guided: false,
            forward: Forward::default(),
            walked: Seq::default(),
            walks: false,
            sends: Sends::Nothing,
        }
    }

    fn judge_ack(
        &mut self,
        ack: &AckEvent,
        holes: usize,
        repairing_timeout: bool,
        board: &mut Scoreboard,
    ) -> Actions {
        if ack.duplicate {
            return self.on_duplicate(ack, holes, board);
        }
        if !ack.advances {
            return Actions::ordinary(ack);
        }
        match self.repairing {
            None => {
                self.duplicates = 0;
                Actions::ordinary(ack)
            }
            Some(recover) if ack.number.at_or_after(recover) => self.leave(ack, repairing_timeout, board),
            Some(_) => self.on_partial_ack(ack, holes, board),
        }
    }

    /// `tcp_ack_packets_out`: the timer counts from the oldest segment unless a timeout is being repaired, or NewReno
    /// is at work.
    fn times_the_oldest(&self) -> bool {
        self.repairing.is_none() || (self.after_timeout.recover().is_none() && !self.without_sacks)
    }

    /// The quantity that a loss halves; the SACKs of the ACK that reports it are on the board.
    fn halved(&self, ack: &AckEvent, board: &Scoreboard) -> Bytes {
        let gone = board.front().zip(board.highest_sacked());
        let gone = gone.map_or(0, |(first, fack)| fack.since(first.range.start));
        match self.parameters.halves {
            HalvedFlight::Flight => ack.flight,
            HalvedFlight::AboveSack => ack.flight.saturating_sub(Bytes(u64::from(gone))),
        }
    }

    /// `tcp_fast_retrans`, its first branch.
    fn on_duplicate(&mut self, ack: &AckEvent, holes: usize, board: &mut Scoreboard) -> Actions {
        self.duplicates += 1;
        if self.repairing.is_none() {
            if holes <= ENOUGH as usize && self.duplicates != ack.dupthresh {
                return Actions::ordinary(ack);
            }
            self.enter(ack, holes, board);
            return Actions::reduce(ack.congestion_event(self.halved(ack, board)), DUPLICATES);
        }
        if self.duplicates > ENOUGH && holes > 0 {
            self.send_holes(holes, board);
        } else if self.duplicates > ENOUGH && self.after_timeout.recover().is_none() {
            self.inflation += ack.smss.0.cast_signed();
        }
        Actions::NONE
    }

    fn enter(&mut self, ack: &AckEvent, holes: usize, board: &mut Scoreboard) {
        self.guided = holes > 0;
        self.repairing = Some(ack.nxt);
        self.inflation = 0;
        if holes == 0 {
            self.send_first(Cause::FastRetransmit, board);
        } else {
            board.blame_first(Cause::FastRetransmit);
        }
        self.sends = Sends::OneAtLeast;
    }

    /// NewReno: the first segment, which FACK is not to send again.
    fn send_first(&mut self, cause: Cause, board: &mut Scoreboard) {
        board.mark_lost(0, cause);
        self.forward.skip_first(board);
    }

    /// `tcp_fack_retransmit`: the holes below the highest SACK that were not sent again yet, one at least.
    fn send_holes(&mut self, holes: usize, board: &Scoreboard) {
        self.guided = true;
        if board.first_lost().is_some_and(|(index, _)| index < holes) {
            self.sends = Sends::OneAtLeast;
        }
    }

    /// `tcp_xmit_retransmit_queue`: the next segment on the walk, were it sent again already or not.
    fn left_to_walk(&self, board: &Scoreboard) -> Option<usize> {
        let recover = self.after_timeout.recover()?;
        board.first_hole(board.index_of(self.walked)..board.index_of(recover))
    }

    /// `tcp_fast_retrans`, its second branch, below `high_seq`.
    fn on_partial_ack(&mut self, ack: &AckEvent, holes: usize, board: &mut Scoreboard) -> Actions {
        let after_timeout = self.after_timeout.recover().is_some();
        if holes > 0 {
            if self.duplicates >= ENOUGH {
                self.send_holes(holes, board);
            }
            if !after_timeout {
                // `should_advance_cwnd`: with SACKs the window grows in recovery too.
                return Actions::ordinary(ack);
            }
        } else if self.duplicates >= ENOUGH && !after_timeout {
            // NewReno with one new segment in addition to it (Sarolahti 2000, Table 48).
            self.inflation += ack.smss.0.cast_signed() - ack.acked.0.cast_signed();
            self.send_first(Cause::PartialAck, board);
            self.sends = Sends::OneAtLeast;
        }
        if after_timeout {
            self.walks = true;
            return Actions::ordinary(ack);
        }
        Actions::hold(TimerAction::Restart)
    }

    /// `clear_fast_retransmit`, at or beyond `high_seq`.
    fn leave(&mut self, ack: &AckEvent, after_timeout: bool, board: &Scoreboard) -> Actions {
        let duplicates = std::mem::take(&mut self.duplicates);
        self.repairing = None;
        self.inflation = 0;
        if after_timeout && (duplicates <= ENOUGH || !self.guided) {
            return Actions::ordinary(ack);
        }
        let exit = if self.guided { self.parameters.exit } else { self.parameters.exit_without_sacks };
        let window = if duplicates <= ENOUGH { ack.cwnd } else { exit.window(ack, board) };
        Actions::exit(window)
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Recovery> = Algorithm::of(
    "fack-linux-2000",
    "FACK as in the Linux of 2000: each duplicate releases a hole, also after a timeout",
    "Linux 2.3.99 tcp_fast_retrans and tcp_fack_retransmit; Sarolahti 2000 section 6.1",
    &Build(|parameters: &Parameters| Box::new(FackLinux2000::new(parameters.clone()))),
);

#[cfg(test)]
mod tests {
    use units::{Instant, SeqRange};
    use wire::Payload;

    use super::*;
    use crate::scoreboard::New;

    fn ack() -> AckEvent {
        AckEvent { smss: Bytes(1000), acked: Bytes(400), dupthresh: 3, ..AckEvent::default() }
    }

    fn repairing(duplicates: u32) -> FackLinux2000 {
        let new = FackLinux2000::new(Parameters::default());
        FackLinux2000 { duplicates, repairing: Some(Seq(5000)), ..new }
    }

    // `tcp_fast_retrans`: `dup_acks > 3`; the first three segments are in cwnd itself.
    #[test]
    fn the_fourth_duplicate_without_sacks_inflates_the_window_and_the_third_does_not() {
        let (mut recovery, mut board) = (repairing(2), Scoreboard::EMPTY);
        let after_each = [(); 2].map(|()| {
            let _ = recovery.on_duplicate(&ack(), 0, &mut board);
            recovery.inflation
        });
        assert_eq!(after_each, [0, 1000]);
    }

    #[test]
    fn a_partial_ack_after_three_duplicates_deflates_by_what_it_acknowledges_and_adds_a_segment() {
        let inflation = |duplicates| {
            let mut recovery = repairing(duplicates);
            let _ = recovery.on_partial_ack(&ack(), 0, &mut board());
            recovery.inflation
        };
        assert_eq!([2, 3].map(inflation), [0, 1000 - 400]);
    }

    #[test]
    fn a_false_signal_ends_the_repair() {
        let mut recovery = repairing(4);
        recovery.inflation = 3000;
        recovery.on_spurious();
        assert_eq!((recovery.repairing, recovery.inflation, recovery.duplicates), (None, 0, 0));
    }

    /// A segment that was sent once.
    fn board() -> Scoreboard {
        let mut board = Scoreboard::EMPTY;
        let range = SeqRange { start: Seq(1), end: Seq(1001) };
        board.push(
            New { range, payload: Payload::Pattern { offset: 0, len: 1000 }, syn: false, fin: false },
            Instant::START,
            Bytes(8000),
        );
        board
    }

    // `should_advance_cwnd`: with SACKs the window grows in recovery; after a timeout the ACK also restarts the walk.
    #[test]
    fn a_partial_ack_with_holes_walks_on_after_a_timeout_alone() {
        let walks = |timed_out: bool| {
            let (mut recovery, mut board) = (repairing(3), board());
            if timed_out {
                recovery.after_timeout.on_timeout(Seq(5000), &mut board);
            }
            let _ = recovery.on_partial_ack(&ack(), 1, &mut board);
            recovery.walks
        };
        assert_eq!([false, true].map(walks), [false, true]);
    }
}
