//! Loss recovery: what counts as lost, what is sent again and when, and when it is over.
//!
//! The algorithm marks segments on the [`Scoreboard`] as lost, says in [`Recovery::next`] what to send
//! next, and tells by its [`Verdict`] what an ACK means; congestion control then sizes the window.
//! [`Recovery::inflation`] is what fast recovery adds to the window for segments that have left the
//! network (RFC 5681 §3.2), so that cwnd itself has one owner.
//!
//! Read `reno.rs` first, then `new_reno.rs`, then `sack_6675.rs`.

mod after_timeout;
mod disorder;
mod duplicates;
mod forward;
mod limited_transmit;

use units::{Bytes, Duration, Instant, Seq, SeqRange};

pub use after_timeout::{AfterTimeout, Style};

use crate::Cause;
use crate::registry::algorithms;
use crate::scoreboard::{Scoreboard, Sent};
use crate::spurious::SignalKind;
use crate::timestamp::Timestamp;

algorithms! {
    /// The loss recoveries.
    dyn Recovery:
    timeout_only,
    tahoe,
    reno,
    new_reno,
    sack_6675,
    sack_3517,
    ncr,
    dcr,
    rr,
    fack,
    fack_linux_2000,
    rate_halving,
    aix,
    pr,
}

/// Decides what is lost and what to do about it.
pub trait Recovery: std::fmt::Debug + Send {
    /// An acceptable ACK came and is entered on the board.
    fn on_ack(&mut self, ack: &Ack, board: &mut Scoreboard) -> Verdict;

    /// The retransmission timer ran out.
    fn on_timeout(&mut self, timeout: &Timeout, board: &mut Scoreboard);

    /// The last loss signal was false: the marks on the board are gone already, and the windows are
    /// someone else's business.
    fn on_spurious(&mut self);

    /// The time that [`Recovery::deadline`] named has come. `ack` tells the state of things; it
    /// acknowledges nothing.
    fn on_deadline(&mut self, _ack: &Ack, _board: &mut Scoreboard) -> Verdict {
        Verdict::Ordinary
    }

    /// When the algorithm wants to act without an ACK, beside the retransmission timer.
    fn deadline(&self, _board: &Scoreboard) -> Option<Instant> {
        None
    }

    /// Whether its deadlines take the place of the retransmission timer.
    fn replaces_timer(&self) -> bool {
        false
    }

    /// The connection is established; `rtt` is the round trip of the handshake, if it measured one.
    fn start(&mut self, _rtt: Option<Duration>) {}

    /// The window that holds for now, whatever congestion control says; that one goes on unseen.
    fn held_window(&self) -> Option<Bytes> {
        None
    }

    /// Whether the last loss signal is still to be corroborated: the window is then left alone until
    /// [`Verdict::Confirmed`] or [`Verdict::Refuted`].
    fn awaits_proof(&self) -> bool {
        false
    }

    /// Whether a timer that counts from the oldest segment's last transmission does so now. While a loss is
    /// repaired, the oldest segment is mostly just being sent again.
    fn oldest_is_timed(&self) -> bool {
        self.phase() == Phase::Open
    }

    /// What to send now.
    fn next(&self, board: &Scoreboard, room: &Room) -> Next;

    /// The segment at `index` of the board was sent again.
    fn on_retransmitted(&mut self, _index: usize, _board: &mut Scoreboard) {}

    /// A new segment with so much data was sent; it is the last on the board.
    fn on_new(&mut self, _len: Bytes, _board: &Scoreboard) {}

    /// Of what is outstanding, that which was sent beyond the window on duplicate ACKs (limited transmit),
    /// and which a reduction must not count (RFC 5681 §3.2 step 2).
    fn beyond_window(&self) -> Bytes {
        Bytes::ZERO
    }

    /// What of `flight` a reduction goes by (RFC 5681 equation 4). `board` holds the SACKs of the ACK that told of
    /// the loss already; `flight` is from before it.
    fn counted(&self, flight: Bytes, _board: &Scoreboard) -> Bytes {
        flight.saturating_sub(self.beyond_window())
    }

    /// Bytes to add to cwnd, or to take off.
    fn inflation(&self) -> i64 {
        0
    }

    /// What the scoreboard's pipe leaves free of the window and this algorithm does not use.
    fn withheld(&self) -> Bytes {
        Bytes::ZERO
    }

    /// Where the algorithm stands.
    fn phase(&self) -> Phase;

    /// Whether it is of no use without selective acknowledgments.
    fn needs_sack(&self) -> bool {
        false
    }

    /// Whether it is of no use without timestamps.
    fn needs_timestamps(&self) -> bool {
        false
    }

    /// Whether it judges its loss signals itself, or has none that a detector could judge.
    fn judges_signals(&self) -> bool {
        false
    }
}

/// Where a sender stands in its reaction to a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No loss is being repaired.
    Open,
    /// Losses that ACKs told of are being repaired, until `recover` is acknowledged.
    FastRecovery {
        /// End of what was outstanding when the loss was found.
        recover: Seq,
    },
    /// Losses that the timer told of are being repaired, until `recover` is acknowledged.
    AfterTimeout {
        /// End of what was outstanding when the timer ran out.
        recover: Seq,
    },
}

impl Phase {
    /// Fast recovery up to a point, else what a timeout has left.
    fn of(fast_recovery: Option<Seq>, after_timeout: &AfterTimeout) -> Self {
        match (fast_recovery, after_timeout.recover()) {
            (Some(recover), _) => Self::FastRecovery { recover },
            (None, Some(recover)) => Self::AfterTimeout { recover },
            (None, None) => Self::Open,
        }
    }
}

/// A recovery that an algorithm above it begins, which has rules of its own until then.
trait Repair: Recovery {
    /// Whether this ACK, outside of recovery, tells of a loss.
    fn finds_loss(&mut self, ack: &Ack, board: &mut Scoreboard) -> bool;

    /// The recovery begins.
    fn enter(&mut self, ack: &Ack, board: &mut Scoreboard);
}

/// An acceptable ACK, already entered on the board.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it came.
    pub now: Instant,
    /// Its acknowledgment number; SND.UNA by now.
    pub number: Seq,
    /// Whether SND.UNA advanced.
    pub advances: bool,
    /// Data that it newly acknowledged cumulatively.
    pub acked: Bytes,
    /// Segments that it took off the board whole.
    pub segments: u32,
    /// Bytes that it newly SACKed.
    pub newly_sacked: Bytes,
    /// Bytes that it is the first to tell of, SACKed or not.
    pub delivered: Bytes,
    /// Whether it is a duplicate by RFC 5681 §2: nothing new, no data, the same window.
    pub duplicate: bool,
    /// SND.NXT.
    pub nxt: Seq,
    /// How many duplicates mean a loss.
    pub dupthresh: u32,
    /// The threshold below which each duplicate is to let a new segment out, beyond the two of RFC 3042: where it may
    /// grow, that of now, whatever else fast retransmit waits for.
    pub extended: Option<u32>,
    /// The segment size.
    pub smss: Bytes,
    /// The congestion window before this ACK.
    pub cwnd: Bytes,
    /// The slow-start threshold.
    pub ssthresh: Bytes,
    /// The peer's window.
    pub advertised: Bytes,
    /// The clock value that it echoes, where timestamps are agreed (RFC 7323 §3).
    pub echo: Option<Timestamp>,
    /// The segment that it reports as arrived twice (RFC 2883 §4).
    pub dsack: Option<SeqRange>,
    /// The smoothed round-trip time, once there is a sample.
    pub srtt: Option<Duration>,
    /// The round trip that this ACK measured, if it measured one.
    pub rtt: Option<Duration>,
}

/// The retransmission timer has run out.
#[derive(Clone, Copy, Debug)]
pub struct Timeout {
    /// When.
    pub now: Instant,
    /// SND.NXT: data up to there was outstanding.
    pub nxt: Seq,
    /// The congestion window before it collapses.
    pub cwnd: Bytes,
    /// The slow-start threshold before it changes.
    pub ssthresh: Bytes,
    /// The segment size.
    pub smss: Bytes,
}

/// What an ACK means for the window and the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// If it acknowledges new data, the window grows and the timer restarts.
    Ordinary,
    /// The window stays.
    Hold {
        /// Whether the timer restarts.
        restart_timer: bool,
    },
    /// A loss was found: the window is reduced for fast recovery, the timer restarts.
    Loss,
    /// As [`Verdict::Loss`], but the reduction goes by this window: that under which the lost segment was
    /// sent.
    LossUnder {
        /// The congestion window of then.
        window: Bytes,
    },
    /// A loss was found, and the window starts anew from one segment (Tahoe); the timer restarts.
    Collapse,
    /// So much data was acknowledged, wherever it lies, and the window grows by it.
    Grow {
        /// Bytes that count as acknowledged.
        acked: Bytes,
        /// Whether the timer restarts.
        restart_timer: bool,
    },
    /// A loss is suspected and repaired, but not yet believed: the window grows on, the timer runs on.
    Suspect {
        /// Bytes that count as acknowledged.
        acked: Bytes,
    },
    /// The suspected loss was real: the window is reduced only now, and the ACK that tells so lets one more
    /// segment out; the timer restarts.
    Confirmed {
        /// What had given the signal.
        signal: SignalKind,
        /// The window that was held, which is what is reduced: the other had grown as if nothing were lost.
        window: Bytes,
    },
    /// Nothing was lost, and the window is held no longer: it goes on from here, a segment more, and
    /// slow-starts to where it has grown unseen; the timer restarts.
    Refuted {
        /// What had given a signal of loss, if anything had.
        signal: Option<SignalKind>,
        /// The window to go on from.
        window: Bytes,
        /// Bytes that count as acknowledged.
        acked: Bytes,
    },
    /// The algorithm's own timers give up hope: what follows is what follows from the retransmission timer.
    Timeout,
    /// Fast recovery is over, and the window becomes this.
    Recovered {
        /// The window to go on with.
        window: Bytes,
    },
    /// The algorithm sets both windows itself, because it knows better than the reduction that was made or
    /// would have been made; the timer restarts.
    Resize {
        /// The congestion window.
        cwnd: Bytes,
        /// The slow-start threshold.
        ssthresh: Bytes,
        /// Why, as records name it.
        reason: &'static str,
    },
}

/// Room to send in.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// cwnd with inflation, less the pipe.
    pub usable: Bytes,
    /// The segment size.
    pub smss: Bytes,
    /// Length of the new segment that is ready and that the peer's window allows, if there is one.
    pub new: Option<Bytes>,
}

/// What to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This segment of the board, again.
    Retransmit {
        /// Its index.
        index: usize,
        /// Why.
        cause: Cause,
    },
    /// A new segment.
    New,
    /// Nothing now.
    Nothing,
}

/// The algorithm for a connection whose peer does not permit SACK.
#[must_use]
pub fn without_sack() -> Box<dyn Recovery> {
    new_reno::standard()
}

/// The algorithm for a connection whose peer permits SACK but gives no timestamps.
#[must_use]
pub fn without_timestamps() -> Box<dyn Recovery> {
    Box::new(sack_6675::Sack6675::new(Style::default()))
}

/// The rule that most algorithms share: what is marked lost first, then new data, as the window allows.
/// With `forced` the first lost segment goes out whatever the window says, as a fast retransmit does
/// (RFC 5681 §3.2 step 3).
fn lost_first(board: &Scoreboard, room: &Room, forced: bool, new_allowed: bool) -> Next {
    if let Some((index, cause)) = board.first_lost() {
        let len = board.get(index).map_or(Bytes::ZERO, Sent::size);
        return if forced || len <= room.usable { Next::Retransmit { index, cause } } else { Next::Nothing };
    }
    match room.new {
        Some(len) if new_allowed && len <= room.usable => Next::New,
        _ => Next::Nothing,
    }
}
