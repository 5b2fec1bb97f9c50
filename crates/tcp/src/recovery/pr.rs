//! TCP-PR, persistent reordering (Bohacek, Hespanha, Lee, Lim and Obraczka 2003): the order of ACKs means
//! nothing; a segment is lost when its own time is over.
//!
//! That time is `mxrtt = β·ewrtt`, where `ewrtt` follows the largest round trips: it rises at once and falls by
//! the factor α in a round trip. A drop halves the window under which the segment was sent; whatever else was
//! out then is remembered (*memorize*), and its drops belong to the same event. If too many of it are dropped,
//! the sender starts over as after a timeout.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Seq};

use super::{
    AckEvent, Actions, Finding, Next, Recovery, RecoveryState, Room, SentEvent, TimeoutEvent, TimerAction,
    Traits, lost_first,
};
use crate::Cause;
use crate::congestion::CongestionEvent;
use crate::scoreboard::{Mark, Scoreboard, Sent};
use registry::{Algorithm, Checked, ParameterError, refusal};

/// Parameters.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// α: what is left of the largest round trip after one round trip. Landström 2008 §4.2.3: 0.999.
    pub alpha: f64,
    /// β: the time to wait for a segment, in multiples of the largest round trip. Bohacek et al. 2003; Landström 2008
    /// §4.2.3: 3.
    pub beta: f64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { alpha: 0.999, beta: 3.0 }
    }
}

#[derive(Clone, Copy, Debug)]
struct Constants {
    /// 1 − α, in millionths.
    decay: u64,
    /// β, in thousandths.
    beta: u64,
}

#[derive(Debug)]
struct Pr {
    constants: Constants,
    /// The exponentially weighted largest round trip.
    ewrtt: Option<Duration>,
    /// *to-be-ack*, in the order of sending.
    waited_for: VecDeque<Departed>,
    /// *cburst*: drops of the memorized since the window was halved.
    burst: u64,
    extreme: Option<Extreme>,
    /// Time at which something was last delivered.
    delivered_at: Instant,
    /// At the last drop: what was outstanding, and the window under which the segment had been sent.
    dropped: (Bytes, Bytes),
}

/// A segment that was sent and is waited for.
#[derive(Clone, Copy, Debug)]
struct Departed {
    end: Seq,
    at: Instant,
    /// Whether it had been sent before: its round trip is then only a lower bound.
    again: bool,
    /// Whether it is on the *memorize* list.
    memorized: bool,
}

/// After extreme losses, until something is delivered.
#[derive(Clone, Copy, Debug)]
struct Extreme {
    since: Instant,
    recover: Seq,
    /// Present time to wait for a segment.
    wait: Duration,
    /// Nothing is sent until then.
    quiet_until: Option<Instant>,
}

impl Recovery for Pr {
    fn on_ack(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Actions {
        if ack.delivered.is_zero() {
            return Actions::ordinary(ack);
        }
        self.delivered_at = ack.now;
        self.extreme = None;
        self.measure(ack, board);
        Actions::grow(ack.delivered, TimerAction::Leave)
    }

    fn on_timeout(&mut self, timeout: &TimeoutEvent, board: &mut Scoreboard) -> Actions {
        let first = self.wait().max(LEAST_AFTER_EXTREME);
        let wait = self.extreme.map_or(first, |extreme| extreme.wait * 2).min(LONGEST);
        let quiet_until = Some(timeout.now + wait);
        self.extreme = Some(Extreme { since: timeout.now, recover: timeout.nxt, wait, quiet_until });
        self.burst = 0;
        if self.forgotten_since(board).is_some() {
            // The receiver has reneged (RFC 2018 §8), or lied.
            board.forget_sacks();
            board.mark_all_lost();
        }
        board.mark_lost(0, Cause::Timeout);
        Actions::timeout(timeout.congestion_event(timeout.flight.saturating_sub(self.sent_since())))
    }

    fn on_spurious(&mut self) {}

    fn on_deadline(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Actions {
        if let Some(extreme) = &mut self.extreme {
            extreme.quiet_until = extreme.quiet_until.filter(|until| *until > ack.now);
        }
        let mut event = None;
        while let Some((departed, index)) = self.take_overdue(ack.now, board) {
            match self.on_drop(departed, index, ack, board) {
                Drop::Extreme => return Actions::hold(TimerAction::Expire),
                Drop::Counted => {}
                Drop::New(found) => event = Some(found),
            }
        }
        let forgotten = self.forgotten_since(board).is_some_and(|since| since + self.patience() <= ack.now);
        match event {
            _ if forgotten => Actions::hold(TimerAction::Expire),
            Some(event) => Actions::reduce_under(event, Finding::Loss("its time is over")),
            None => Actions::NONE,
        }
    }

    fn deadline(&self, board: &Scoreboard) -> Option<Instant> {
        let quiet_until = self.extreme.and_then(|extreme| extreme.quiet_until);
        let waited_for = || self.first_waited_for(board).map(|departed| departed.at + self.wait());
        let forgotten = || self.forgotten_since(board).map(|since| since + self.patience());
        quiet_until.or_else(waited_for).or_else(forgotten)
    }

    fn next(&self, board: &Scoreboard, room: &Room) -> Next {
        let quiet = self.extreme.is_some_and(|extreme| extreme.quiet_until.is_some());
        if quiet { Next::Nothing } else { lost_first(board, room, false, true) }
    }

    fn on_sent(&mut self, sent: &SentEvent, board: &mut Scoreboard) {
        if self.ewrtt.is_none() && self.delivered_at == Instant::START {
            // The round trip of the handshake, if it measured one.
            self.ewrtt = sent.srtt;
        }
        if let Some(segment) = board.get(sent.index) {
            self.waited_for.push_back(Departed::new(segment));
        }
    }

    fn state(&self) -> RecoveryState {
        let after_timeout = |extreme: Extreme| RecoveryState::AfterTimeout { recover: extreme.recover };
        self.extreme.map_or(RecoveryState::Open, after_timeout)
    }

    fn traits(&self) -> Traits {
        Traits { needs_sack: true, judges_signals: true, replaces_timer: true, ..Traits::default() }
    }
}

/// Consequence of a dropped segment.
enum Drop {
    /// It belongs to an event that was answered.
    Counted,
    /// It is an event of its own.
    New(CongestionEvent),
    /// Too much is dropped: all starts over.
    Extreme,
}

impl Pr {
    fn first_waited_for(&self, board: &Scoreboard) -> Option<&Departed> {
        self.waited_for.iter().find(|departed| departed.index(board).is_some())
    }

    /// Everything that is out is SACKed, and so waited for no more, and yet not acknowledged: since when.
    fn forgotten_since(&self, board: &Scoreboard) -> Option<Instant> {
        let front = board.front().filter(|_| board.first_lost().is_none())?;
        self.first_waited_for(board).is_none().then_some(front.last_sent)
    }

    /// Time for which SACKs without an acknowledgment are trusted: at least the length of the usual timer.
    fn patience(&self) -> Duration {
        self.wait().max(LEAST_AFTER_EXTREME)
    }

    /// `mxrtt`.
    fn wait(&self) -> Duration {
        let usual = self.ewrtt.map_or(UNMEASURED, |ewrtt| ewrtt * self.constants.beta / THOUSANDTHS);
        let usual = usual.max(GRANULARITY);
        self.extreme.map_or(usual, |extreme| extreme.wait).min(LONGEST)
    }

    /// ewrtt = max(α^(1/cwnd)·ewrtt, now − time(n)) for each segment n that is acknowledged. Of several at once
    /// it is the last sent that drew the ACK: the others' ACKs were lost, and show no round trip.
    fn measure(&mut self, ack: &AckEvent, board: &Scoreboard) {
        let (mut count, mut last) = (0, None);
        self.waited_for.retain(|departed| {
            let delivered = departed.is_delivered(ack.number, board);
            if delivered {
                count += 1;
                last = Some(*departed);
            }
            !delivered
        });
        // α^(1/cwnd) ≈ 1 − (1 − α)/cwnd: the first step of Newton's method from 1.
        let (decay, cwnd) = (self.constants.decay, ack.cwnd.0.max(ack.smss.0));
        let fallen = |from: Duration| {
            from.saturating_sub((from * decay / MILLIONTHS * count * ack.smss.0 / cwnd).min(from))
        };
        let sample = last.and_then(|last| last.sample(ack, self.ewrtt.is_some()));
        self.ewrtt = self.ewrtt.map(fallen).max(sample).map(|ewrtt| ewrtt.min(LONGEST));
    }

    /// Takes out a segment whose time is over; its place on the board.
    fn take_overdue(&mut self, now: Instant, board: &Scoreboard) -> Option<(Departed, usize)> {
        let wait = self.wait();
        while let Some(departed) = self.waited_for.front().copied() {
            let index = departed.index(board);
            if index.is_some() && departed.at + wait > now {
                return None;
            }
            self.waited_for.pop_front();
            if let Some(index) = index {
                return Some((departed, index));
            }
        }
        None
    }

    /// A segment is lost.
    fn on_drop(&mut self, departed: Departed, index: usize, ack: &AckEvent, board: &mut Scoreboard) -> Drop {
        let (window, copies) = board.get(index).map_or((ack.cwnd, 1), |sent| (sent.cwnd, sent.transmissions));
        board.mark_lost(index, Cause::Timeout);
        self.dropped = (board.outstanding(), window);
        let in_vain = copies > 1 && self.delivered_at < departed.at;
        match self.extreme {
            Some(extreme) if departed.at < extreme.since => Drop::Counted,
            Some(_) => Drop::Extreme,
            None if in_vain => Drop::Extreme,
            None if departed.memorized => {
                self.burst += 1;
                if ack.smss * self.burst * 2 > window { Drop::Extreme } else { Drop::Counted }
            }
            None => {
                self.burst = 0;
                self.waited_for.iter_mut().for_each(|other| other.memorized = true);
                Drop::New(CongestionEvent { cwnd: window, ..ack.congestion_event(window) })
            }
        }
    }

    /// Of what is outstanding, what was not under way under the window that the last dropped segment was sent under:
    /// all reductions go by that window.
    fn sent_since(&self) -> Bytes {
        let (outstanding, window) = self.dropped;
        outstanding.saturating_sub(window)
    }
}

impl Departed {
    const fn new(sent: &Sent) -> Self {
        Self { end: sent.range.end, at: sent.last_sent, again: sent.transmissions > 1, memorized: false }
    }

    /// Its round trip. That of a segment that was sent again is ambiguous: where no clock decides, it may be much
    /// too short, which does no harm where only the largest counts, and there is another.
    fn sample(&self, ack: &AckEvent, others: bool) -> Option<Duration> {
        let elapsed = (others || !self.again).then(|| ack.now - self.at);
        if self.again { ack.rtt.or(elapsed) } else { elapsed }
    }

    /// Its place on the board, if it is still waited for: not acknowledged, not sent again.
    fn index(&self, board: &Scoreboard) -> Option<usize> {
        let index = board.index_of(self.end).checked_sub(1)?;
        let waits = |sent: &&Sent| {
            sent.range.end == self.end && sent.last_sent == self.at && sent.mark == Mark::InFlight
        };
        board.get(index).filter(waits).filter(|sent| !sent.sacked).map(|_| index)
    }

    /// Whether a copy of it has arrived.
    fn is_delivered(&self, una: Seq, board: &Scoreboard) -> bool {
        let sacked = || board.index_of(self.end).checked_sub(1).and_then(|index| board.get(index));
        self.end.at_or_before(una) || (!board.sacked().is_zero() && sacked().is_some_and(|sent| sent.sacked))
    }
}

const THOUSANDTHS: u64 = 1_000;
const MILLIONTHS: u64 = 1_000_000;
/// Before the first round trip: RFC 6298 §5.7, as a handshake gives none only if it lost its SYN.
const UNMEASURED: Duration = Duration::from_secs(3);
/// The least that a segment is waited for: the granularity of the clock (G of RFC 6298 §2). With a round trip of zero,
/// as a peer can feign it, every segment would be overdue when it is sent.
const GRANULARITY: Duration = Duration::from_millis(1);
/// After extreme losses a segment is waited for as long as the usual timer waits (RFC 6298 §2.4).
const LEAST_AFTER_EXTREME: Duration = Duration::from_secs(1);
/// RFC 6298 §2.5. Where ACKs are lost, the largest round trip can only seem to grow.
const LONGEST: Duration = Duration::from_secs(60);

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        let Parameters { alpha, beta } = *self;
        if !(0.0..=1.0).contains(&alpha) {
            return Err(refusal(format!("alpha is {alpha}, and no share"), "from 0 to 1"));
        }
        if !(1.0..=100.0).contains(&beta) {
            return Err(refusal(format!("beta is {beta} round trips"), "from 1 to 100"));
        }
        Ok(())
    }
}

/// This algorithm in the registry.
pub const ENTRY: Algorithm<dyn Recovery> = Algorithm::checked(
    "pr",
    "a timer for each segment, whatever the order of ACKs (TCP-PR)",
    "Bohacek, Hespanha, Lee, Lim and Obraczka 2003; Landström 2008 §4.2.3",
    &Checked(Parameters::check, |parameters: &Parameters| {
        let Parameters { alpha, beta } = *parameters;
        // Floats are read once; sums of whole numbers are the same on every machine.
        let decay = ((1.0 - alpha) * MILLIONTHS as f64).round() as u64;
        let beta = (beta * THOUSANDTHS as f64).round() as u64;
        Box::new(Pr {
            constants: Constants { decay, beta },
            ewrtt: None,
            waited_for: VecDeque::new(),
            burst: 0,
            extreme: None,
            delivered_at: Instant::START,
            dropped: (Bytes::ZERO, Bytes::ZERO),
        })
    }),
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_time_runs_while_no_segment_is_out() {
        let pr = ENTRY.choice(json!({})).expect("the defaults make sense").build();
        assert_eq!(pr.deadline(&Scoreboard::EMPTY), None);
    }
}
