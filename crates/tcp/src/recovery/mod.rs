//! Loss recovery: which segments count as lost, which is sent next, and how the window changes meanwhile.
//!
//! The endpoint knows one trait, [`Recovery`]. It reports ACKs, timeouts and deadlines to a recovery, carries out the
//! general [`Actions`] that it answers with, and asks it in [`Recovery::next`] what to send.
//!
//! Most algorithms are made of parts (`composed.rs`), each of which can be exchanged:
//! - a [`LossDetector`](composed::LossDetector) marks segments on the [`Scoreboard`] as lost;
//! - a [`Selector`](composed::Selector) picks the next segment to send (`NextSeg` of RFC 6675) and estimates the pipe;
//! - a [`Response`](composed::Response) controls the window before, during and after fast recovery;
//! - [`AfterTimeout`] is what follows when the retransmission timer has run out.
//!
//! Read `composed.rs` first, then `reno.rs`, `new_reno.rs` and `sack_6675.rs`. `aix.rs`, `pr.rs` and
//! `fack_linux_2000.rs` are state machines of their own; `atcp.rs` lies below another recovery.

mod actions;
mod after_timeout;
mod composed;
mod delayed;
mod disorder;
mod duplicates;
mod fallback;
mod forward;
mod judged;
mod limited_transmit;
mod new_reno_linux;
mod prr;
mod rack;
mod traits;

use units::{Bytes, Duration, Instant, Seq, SeqRange};

pub use actions::{Actions, Finding, TimerAction, WindowAction};
pub use after_timeout::{AfterTimeout, Style};
pub use fallback::{without_sack, without_timestamps};
pub use traits::{TailProbes, Traits, WithoutSack};

use crate::Cause;
use crate::congestion::{CongestionEvent, CongestionSignal};
use crate::scoreboard::{Scoreboard, Sent};
use crate::timestamp::{OneWayDelay, Timestamp};
use registry::algorithms;

algorithms! {
    /// The loss recoveries.
    dyn Recovery in "recovery", a "loss recovery":
    timeout_only,
    tahoe,
    reno,
    vegas,
    new_reno,
    sack_6675,
    sack_3517,
    rack_tlp,
    ncr,
    dcr,
    reordering_timer,
    rr,
    fack,
    fack_linux_2000,
    rate_halving,
    aix,
    pr,
    atcp,
}

/// Finds losses and repairs them.
pub trait Recovery: std::fmt::Debug + Send {
    /// An acceptable ACK came and is entered on the board.
    fn on_ack(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Actions;

    /// The retransmission timer has expired.
    fn on_timeout(&mut self, timeout: &TimeoutEvent, board: &mut Scoreboard) -> Actions;

    /// The time that [`Recovery::deadline`] named has come. `ack` states the present state; it
    /// acknowledges nothing.
    fn on_deadline(&mut self, _ack: &AckEvent, _board: &mut Scoreboard) -> Actions {
        Actions::NONE
    }

    /// Time at which the algorithm acts without an ACK, in addition to the retransmission timer.
    fn deadline(&self, _board: &Scoreboard) -> Option<Instant> {
        None
    }

    /// A congestion mark has reduced the window, which was `before`, with data up to `nxt` sent. Without a rule of the
    /// recovery it falls at once.
    fn on_mark(&mut self, _before: Bytes, _nxt: Seq) {}

    /// The network reports that the peer cannot be reached, with data up to `nxt` outstanding. Returns whether the
    /// window becomes one segment; without a rule of the recovery the report is a hint that changes nothing (RFC 5461
    /// §4).
    fn on_unreachable(&mut self, _nxt: Seq, _board: &mut Scoreboard) -> bool {
        false
    }

    /// The last loss signal was spurious. The marks on the board are cleared already, and the endpoint restores the
    /// windows.
    fn on_spurious(&mut self);

    /// Data to send now.
    fn next(&self, board: &Scoreboard, room: &Room) -> Next;

    /// A segment was sent.
    fn on_sent(&mut self, _sent: &SentEvent, _board: &mut Scoreboard) {}

    /// The window to send by, where congestion control has `cwnd`.
    fn window(&self, cwnd: Bytes) -> SendWindow {
        SendWindow { cwnd, inflation: 0 }
    }

    /// The estimate of what is in the network (RFC 6675 §4, `SetPipe`).
    fn pipe(&self, board: &Scoreboard) -> Bytes {
        board.pipe()
    }

    /// Whether the recovery is idle: no loss is suspected or being repaired, the window to send by is cwnd, the pipe is
    /// the board's, and what [`Actions::ordinary`] says is all that an ACK which only advances means. Such ACKs, and
    /// new segments, are then not reported.
    fn is_idle(&self) -> bool {
        false
    }

    /// State of the algorithm.
    fn state(&self) -> RecoveryState;

    /// Its demands on the connection, and the tasks that it takes over.
    fn traits(&self) -> Traits {
        Traits::default()
    }
}

/// The window to send by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendWindow {
    /// The congestion window, or the window that is held instead of it while a loss is suspected.
    pub cwnd: Bytes,
    /// Amount that fast recovery and limited transmit add to it, or subtract (RFC 5681 §3.2, RFC 3042).
    pub inflation: i64,
}

/// State of a sender's reaction to a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryState {
    /// No loss is being repaired.
    Open,
    /// Losses that ACKs have reported are being repaired, until `recover` is acknowledged.
    FastRecovery {
        /// End of what was outstanding when the loss was found.
        recover: Seq,
    },
    /// Losses that the timer has found are being repaired, until `recover` is acknowledged.
    AfterTimeout {
        /// End of what was outstanding when the timer expired.
        recover: Seq,
    },
}

impl RecoveryState {
    /// Fast recovery up to a point, else what a timeout has left.
    fn of(fast_recovery: Option<Seq>, after_timeout: &AfterTimeout) -> Self {
        match (fast_recovery, after_timeout.recover()) {
            (Some(recover), _) => Self::FastRecovery { recover },
            (None, Some(recover)) => Self::AfterTimeout { recover },
            (None, None) => Self::Open,
        }
    }
}

/// An acceptable ACK, already entered on the board.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckEvent {
    /// Time of arrival.
    pub now: Instant,
    /// Its acknowledgment number; SND.UNA by now.
    pub number: Seq,
    /// Whether SND.UNA advanced.
    pub advances: bool,
    /// Data that it newly acknowledged cumulatively.
    pub acked: Bytes,
    /// Segments that it took off the board whole.
    pub segments: u32,
    /// Whether SACK is agreed.
    pub sack: bool,
    /// Bytes that it newly SACKed.
    pub newly_sacked: Bytes,
    /// Bytes that it is the first to report, SACKed or not.
    pub delivered: Bytes,
    /// Whether it is a duplicate by RFC 5681 §2: nothing new, no data, the same window.
    pub duplicate: bool,
    /// SND.NXT.
    pub nxt: Seq,
    /// Number of duplicates that indicates a loss.
    pub dupthresh: u32,
    /// The threshold below which each duplicate is to let a new segment out, beyond the two of RFC 3042: where it may
    /// grow, that of now, whatever else fast retransmit waits for.
    pub extended: Option<u32>,
    /// The segment size.
    pub smss: Bytes,
    /// FlightSize before this ACK (RFC 5681 §2).
    pub flight: Bytes,
    /// The pipe before this ACK was judged (RFC 6675 §2).
    pub pipe: Bytes,
    /// The congestion window before this ACK.
    pub cwnd: Bytes,
    /// The slow-start threshold.
    pub ssthresh: Bytes,
    /// The peer's window.
    pub advertised: Bytes,
    /// The clock value that it echoes, where timestamps are agreed (RFC 7323 §3).
    pub echo: Option<Timestamp>,
    /// The one-way delay that it reports, where timestamps are agreed.
    pub one_way: Option<OneWayDelay>,
    /// The segment that it reports as arrived twice (RFC 2883 §4).
    pub dsack: Option<SeqRange>,
    /// The smoothed round-trip time, once there is a sample.
    pub srtt: Option<Duration>,
    /// The shortest round trip of the last minutes, once there is a sample.
    pub min_rtt: Option<Duration>,
    /// The round trip that this ACK measured, if it measured one.
    pub rtt: Option<Duration>,
    /// The same of the newest segment that it acknowledges and no SACK has reported before.
    pub newest_rtt: Option<Duration>,
    /// Round trip of the last segment that it acknowledges, if that segment was sent once.
    pub last_rtt: Option<Duration>,
    /// Number of reported bytes that the peer reports as marked.
    pub marked: Bytes,
}

impl AckEvent {
    /// The congestion event that this ACK reports, where a reduction is based on `flight`.
    #[must_use]
    pub const fn congestion_event(&self, flight: Bytes) -> CongestionEvent {
        let Self { now, cwnd, pipe, .. } = *self;
        CongestionEvent { now, signal: CongestionSignal::Loss, cwnd, flight, pipe }
    }

    /// The ACK proves that a timeout was right; up to `recover` all was outstanding then.
    pub(crate) const fn as_timeout(&self, recover: Seq) -> TimeoutEvent {
        let Self { now, flight, pipe, cwnd, ssthresh, smss, srtt, .. } = *self;
        TimeoutEvent { now, nxt: recover, flight, pipe, cwnd, ssthresh, smss, repeated: false, srtt }
    }
}

/// The retransmission timer has run out.
#[derive(Clone, Copy, Debug)]
pub struct TimeoutEvent {
    /// When.
    pub now: Instant,
    /// SND.NXT: data up to there was outstanding.
    pub nxt: Seq,
    /// FlightSize (RFC 5681 §2).
    pub flight: Bytes,
    /// The pipe (RFC 6675 §2).
    pub pipe: Bytes,
    /// The congestion window before it collapses.
    pub cwnd: Bytes,
    /// The slow-start threshold before it changes.
    pub ssthresh: Bytes,
    /// The segment size.
    pub smss: Bytes,
    /// Whether the same segment's timer has run out before.
    pub repeated: bool,
    /// The smoothed round-trip time, once there is a sample.
    pub srtt: Option<Duration>,
}

impl TimeoutEvent {
    /// Consequence of a timeout for congestion control, with a reduction based on `flight`.
    #[must_use]
    pub const fn congestion_event(&self, flight: Bytes) -> CongestionEvent {
        let Self { now, cwnd, pipe, repeated, .. } = *self;
        CongestionEvent { now, signal: CongestionSignal::Timeout { repeated }, cwnd, flight, pipe }
    }
}

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
pub struct SentEvent {
    /// Its place on the board.
    pub index: usize,
    /// Its data.
    pub len: Bytes,
    /// Whether it was sent before.
    pub again: bool,
    /// The smoothed round-trip time, once there is a sample.
    pub srtt: Option<Duration>,
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

impl Room {
    /// New data, as the window allows.
    #[must_use]
    pub fn next_new(&self) -> Next {
        match self.new {
            Some(len) if len <= self.usable => Next::New,
            _ => Next::Nothing,
        }
    }
}

/// Data to send.
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

/// The rule that most algorithms share: what is marked lost first, then new data, as the window allows.
/// With `forced` the first lost segment goes out whatever the window says, as a fast retransmit does
/// (RFC 5681 §3.2 step 3).
fn lost_first(board: &Scoreboard, room: &Room, forced: bool, new_allowed: bool) -> Next {
    if let Some((index, cause)) = board.first_lost() {
        let len = board.get(index).map_or(Bytes::ZERO, Sent::size);
        return if forced || len <= room.usable { Next::Retransmit { index, cause } } else { Next::Nothing };
    }
    if new_allowed { room.next_new() } else { Next::Nothing }
}
