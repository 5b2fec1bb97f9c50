//! Congestion control: the only part of the sender that changes cwnd and ssthresh.
//!
//! The endpoint reports acknowledged data ([`AckSample`]) and losses or marks ([`CongestionEvent`]), and reads the
//! window. Congestion control knows no sequence numbers but those of an ACK, and nothing of retransmissions: they are
//! the recovery's.
//!
//! Read `reno.rs` first. `window.rs` has what all share: the window with its fraction, and what a reduction is of;
//! `classic.rs` is slow start, congestion avoidance and reduction around a [policy](classic::Policy); `layer.rs` lays
//! modifications over any algorithm.

mod classic;
mod draws;
mod increase;
mod layer;
mod marked_share;
mod pace;
mod proportion;
mod queueing_delay;
mod round_trips;
mod stand_in;
#[cfg(test)]
mod testing;
mod window;

use std::sync::Arc;

use units::{Bytes, Duration, Instant, Rate, Seq};

pub use crate::scoreboard::delivery_rate::{LostSegment, RateSample};
pub use crate::timestamp::OneWayDelay;
pub use linux::Parameters as Module;
pub use pace::Pace;
pub(crate) use pace::{LARGEST_OFFLOAD, quantum};
pub use python::Parameters as Program;
use registry::algorithms;

algorithms! {
    /// The congestion controls.
    dyn CongestionControl in "congestion", a "congestion control":
    reno,
    aimd,
    vegas,
    westwood,
    high_speed,
    cubic,
    cubic_linux,
    dctcp,
    prague,
    scalable,
    bic,
    h_tcp,
    hybla,
    veno,
    illinois,
    yeah,
    vegas_linux,
    vegas_ns_2,
    cdg,
    nv,
    compound,
    ledbat,
    ledbat_plus_plus,
    lp,
    peach,
    byte_counting,
    limited_slow_start,
    packet_pair,
    window_validation,
    window_usage,
    idle_restart,
    growth_limit,
    hystart,
    hystart_plus_plus,
    bbr,
    bbr3,
    whole_segments,
    python,
    linux,
}

/// Growth and reduction of the congestion window.
pub trait CongestionControl: std::fmt::Debug + Send {
    /// The connection is established: its segment size and its first window are known.
    fn start(&mut self, smss: Bytes, initial_window: Bytes);

    /// The segment size has changed in the middle of the connection, to `smss` (path MTU discovery). The windows keep
    /// their bytes; a number of segments that an algorithm remembers stays that number, as in Linux. One that does not
    /// observe the change counts in segments of the size with which it has started.
    fn on_segment_size(&mut self, _smss: Bytes) {}

    /// A number that differs from connection to connection, for random choices: an endpoint draws no random numbers.
    /// Called before [`start`](CongestionControl::start).
    fn seed(&mut self, _seed: u64) {}

    /// The events that it observes besides ACKs and congestion events, and the tasks that it takes over from other
    /// parts.
    fn traits(&self) -> Traits {
        Traits::default()
    }

    /// Sees every ACK of new data, in fast recovery too, before recovery judges it: for estimators of round trip and
    /// bandwidth.
    fn observe(&mut self, _ack: &AckSample) {}

    /// New data was acknowledged outside of fast recovery: the window may grow.
    fn on_ack(&mut self, ack: &AckSample);

    /// Data was sent, for the first time or again. Called only where
    /// [`observes_sends`](Traits::observes_sends).
    fn on_sent(&mut self, _sent: &SendEvent) {}

    /// Time at which the algorithm wants to act without any other event, by a timer of its own. Asked for after each
    /// segment that arrives and each timer, and only where it [`keeps_timer`](Traits::keeps_timer).
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// The deadline has passed. It must move: an unmoved deadline comes again after a tick of the clock.
    fn on_deadline(&mut self, _now: Instant) {}

    /// The handshake is done, and both ends know dummy segments: the peer offers `advertised`, and `rtt` was measured.
    /// Called after [`start`](CongestionControl::start), only where it [`sends_dummies`](Traits::sends_dummies).
    fn start_dummies(&mut self, _now: Instant, _rtt: Option<Duration>, _advertised: Bytes) {}

    /// Whether a dummy segment leaves now; it counts as sent.
    fn take_dummy(&mut self) -> bool {
        false
    }

    /// A dummy segment has arrived at the peer.
    fn on_dummy_acked(&mut self) {}

    /// The model of the path, where the algorithm has one.
    fn path_model(&mut self) -> Option<&mut dyn PathModel> {
        None
    }

    /// Duplicate or selective ACKs report a loss: fast recovery begins, and the window is reduced.
    ///
    /// No congestion event raises cwnd. It leaves ssthresh at the smaller of cwnd and FlightSize at most, or at two
    /// segments where that is more (RFC 5681 equation 4); only an algorithm that has measured the path sets ssthresh to
    /// the measure (Westwood+).
    fn on_loss(&mut self, event: &CongestionEvent);

    /// The retransmission timer has expired: the window collapses to one segment.
    fn on_timeout(&mut self, event: &CongestionEvent);

    /// The peer echoed a congestion mark: the window is reduced as by a loss, once (RFC 3168 §6.1.2).
    fn on_mark(&mut self, event: &CongestionEvent) {
        let before = self.cwnd();
        self.on_loss(event);
        // No recovery follows: the inflation of `on_loss` for segments that have left the network is taken off again,
        // and a window of one segment stays one, though ssthresh is two.
        self.on_recovery_exit(self.ssthresh().min(before));
    }

    /// Fast recovery has ended, and the recovery algorithm sets this window.
    fn on_recovery_exit(&mut self, window: Bytes);

    /// Sets both windows: a reduction was in error and is undone, or another part of the sender knows better.
    fn on_restore(&mut self, cwnd: Bytes, ssthresh: Bytes);

    /// The congestion window.
    fn cwnd(&self) -> Bytes;

    /// The slow-start threshold; [`Bytes::MAX`] until there was a loss.
    fn ssthresh(&self) -> Bytes;

    /// The variables of its own state by name, in an order that stays: for records alone. Those of a program, where it
    /// names them; ours have their columns.
    fn variables(&self) -> Vec<(Arc<str>, f64)> {
        Vec::new()
    }

    /// Whether the window is below the threshold (RFC 5681 §3.1).
    fn in_slow_start(&self) -> bool {
        self.cwnd() < self.ssthresh()
    }
}

/// A model of the path, from which an algorithm derives its window and a rate (BBR).
pub trait PathModel {
    /// The handshake has measured a round trip; called after [`start`](CongestionControl::start).
    fn on_handshake(&mut self, rtt: Duration);

    /// An ACK was judged, whatever it acknowledges and in whatever state the sender is: recovery has marked the lost
    /// segments, of which `lost` are new, and the windows have followed. Called only where
    /// [`observes_deliveries`](Traits::observes_deliveries).
    fn on_delivery(&mut self, sample: &DeliverySample, lost: &[LostSegment]);

    /// The rate at which segments leave. It replaces the key `pacing` of the profile where the algorithm
    /// [`paces`](Traits::paces).
    fn pace(&self) -> Pace;

    /// Whether the algorithm itself sends less than it might, to measure the path. Delivery-rate samples then count as
    /// limited by the application, until the data in flight are delivered.
    fn limits_itself(&self) -> bool;

    /// The state of its own state machine, as tables name it.
    fn state(&self) -> &'static str;

    /// The bandwidth that it has measured.
    fn bandwidth(&self) -> Rate;
}

/// The events that a congestion control observes, and the tasks that it takes over from other parts of the sender. Most
/// observe ACKs and losses alone, and other events cost nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// It observes each segment with data that is sent ([`CongestionControl::on_sent`]).
    pub observes_sends: bool,
    /// It has a timer of its own ([`CongestionControl::deadline`]).
    pub keeps_timer: bool,
    /// It observes the data that each ACK delivers, their rate, and the losses ([`PathModel::on_delivery`]).
    pub observes_deliveries: bool,
    /// Its window counts in recovery too: recovery adds nothing to it, takes nothing off, and sets no other.
    pub governs_recovery: bool,
    /// It sends dummy segments, and so has to announce on the SYN that it answers them.
    pub sends_dummies: bool,
    /// It sets a rate at which segments leave ([`PathModel::pace`]).
    pub paces: bool,
    /// It observes every ACK that counts marks ([`CongestionControl::on_mark`]) and decides how often they reduce the
    /// window; all others observe the first in each window of data.
    pub governs_marks: bool,
    /// It stands in for a program that only the caller of a run can supply ([`registry::Choice::supply`]): a World
    /// refuses it.
    pub stands_in: bool,
    /// Connections of it that share a link need not get equal shares; its file says why. All others do, whatever their
    /// windows and whenever they began.
    pub unequal_shares: bool,
}

/// The delivery of data as an ACK reports it, for algorithms based on the delivery rate.
#[derive(Clone, Copy, Debug)]
pub struct DeliverySample {
    /// Time at which the ACK arrived.
    pub now: Instant,
    /// Data that it is the first to report, cumulatively or selectively.
    pub newly_delivered: Bytes,
    /// Data that were marked as lost since the last sample.
    pub newly_lost: Bytes,
    /// Of what it delivers, the data that the peer reports as marked (RFC 3168, RFC 8257, RFC 9768).
    pub marked: Bytes,
    /// All data delivered so far.
    pub delivered: Bytes,
    /// All data marked as lost so far.
    pub lost: Bytes,
    /// The rate of the newest segment that it delivers.
    pub rate: Option<RateSample>,
    /// The round-trip time that it measured, if it measured one.
    pub rtt: Option<Duration>,
    /// Whether the receiver may have delayed it: it acknowledges one segment alone, in order (Linux'
    /// `FLAG_ACK_MAYBE_DELAYED`).
    pub maybe_delayed: bool,
    /// Data in the network before it (RFC 6675's pipe).
    pub prior_in_flight: Bytes,
    /// Data in the network after it, and after what recovery has marked as lost.
    pub in_flight: Bytes,
    /// Whether the application has too little to send now.
    pub application_limited: bool,
    /// State of the sender's reaction to losses.
    pub phase: LossPhase,
}

/// State of a sender's reaction to losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossPhase {
    /// No loss is being repaired.
    Open,
    /// Losses that ACKs have reported are being repaired.
    FastRecovery,
    /// Losses that the timer has found are being repaired.
    AfterTimeout,
}

/// An acknowledgment of new data.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSample {
    /// Time of arrival.
    pub now: Instant,
    /// Bytes that it newly acknowledges.
    pub acked: Bytes,
    /// Segments that it acknowledges to their end: none, if it acknowledges part of one.
    pub segments: u32,
    /// FlightSize before it.
    pub flight: Bytes,
    /// The round-trip time that it measured, if it measured one.
    pub rtt: Option<Duration>,
    /// The round-trip time of the newest segment that it acknowledges and no SACK has reported before, where none was
    /// sent again: the delay of a delayed ACK is not part of it (Linux' `ca_rtt_us`).
    pub newest_rtt: Option<Duration>,
    /// The round-trip time of the last segment that it acknowledges, if that one was sent once, whatever became of
    /// those before it (Vegas of ns-2; Karn's rule does without it).
    pub last_rtt: Option<Duration>,
    /// The one-way delay of what it acknowledges, where timestamps are agreed.
    pub one_way: Option<OneWayDelay>,
    /// Number of reported bytes that the peer reports as marked (RFC 3168, RFC 8257, RFC 9768): with classic ECN all
    /// data that an ACK with an echo reports, with Accurate ECN the number of bytes that it counts. They are left out
    /// of `acked` where that lets the window grow.
    pub marked: Bytes,
    /// Its acknowledgment number, which is SND.UNA now.
    pub number: Seq,
    /// SND.NXT: what is sent from now on is acknowledged a round trip later.
    pub nxt: Seq,
}

/// Whether a flight fills the window, so that no further segment fits. A window that is not filled says nothing about
/// the path and must not grow (RFC 2861, RFC 7661 §4.3, RFC 9438 §5.8).
fn is_cwnd_limited(cwnd: Bytes, flight: Bytes, smss: Bytes) -> bool {
    flight + smss > cwnd
}

/// A segment with data that is sent.
#[derive(Clone, Copy, Debug)]
pub struct SendEvent {
    /// Time at which it is sent.
    pub now: Instant,
    /// Its data.
    pub len: Bytes,
    /// FlightSize with it.
    pub flight: Bytes,
    /// Whether it is a retransmission.
    pub retransmission: bool,
    /// Whether the application has nothing more to send now, so that the flight is limited by it and not by the window
    /// (RFC 7661 §4.1).
    pub application_limited: bool,
    /// The largest window that the peer has advertised.
    pub advertised: Bytes,
    /// The retransmission timer's length: RFC 2861 and RFC 5681 §4.1 measure idle time by it.
    pub rto: Duration,
    /// The end of the last spurious timeout whose reaction was undone: the time before it is no idle time (RFC 4015
    /// §3.1 step 10).
    pub busy_until: Instant,
}

impl SendEvent {
    /// Time since the sender was last active, where it sent its last segment at `last_sent`.
    #[must_use]
    pub fn idle_since(&self, last_sent: Instant) -> Duration {
        self.now.saturating_since(last_sent.max(self.busy_until))
    }
}

/// A sign of congestion, and the state of the sender when it was found, before any reduction.
///
/// The three measures say what was in use; which of them an algorithm reduces is its own choice and has a source
/// ([`CongestionEvent::in_use`] where it has none).
#[derive(Clone, Copy, Debug)]
pub struct CongestionEvent {
    /// Time at which it was found.
    pub now: Instant,
    /// The signal.
    pub signal: CongestionSignal,
    /// The congestion window: the one in use, without what recovery adds to it. Where segments have their own timers
    /// (TCP-PR) or the window was held (TCP-Aix), it is the window under which the lost segment was sent.
    pub cwnd: Bytes,
    /// FlightSize (RFC 5681 §2): sent and not cumulatively acknowledged, SACKed segments among it. Without what
    /// limited transmit has sent (RFC 5681 §3.2 step 2).
    pub flight: Bytes,
    /// The estimate of what is in the network (RFC 6675 §2): FlightSize without what is SACKed or lost.
    pub pipe: Bytes,
}

/// A signal of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionSignal {
    /// A loss that duplicate or selective ACKs report (RFC 5681 §3.2).
    Loss,
    /// The retransmission timer (RFC 5681 §3.1).
    Timeout {
        /// Whether the segment that timed out had timed out before: ssthresh is then held.
        repeated: bool,
    },
    /// An echoed congestion mark, one signal a round trip, which counts as a loss (RFC 3168 §6.1.2).
    EcnEcho,
    /// Marks, each of which is reported: [`AckSample::marked`] is the number of marked bytes (RFC 8257 §3.2, RFC 9768).
    CountedMarks,
}

impl CongestionEvent {
    /// The smaller of the congestion window and FlightSize: what was in use of the path. FlightSize alone may be
    /// larger than the window while segments are SACKed, the window alone larger than what a sender with little data
    /// has filled (RFC 5681 §3.1).
    #[must_use]
    pub fn in_use(&self) -> Bytes {
        self.cwnd.min(self.flight)
    }

    /// Whether the signal is the retransmission timer.
    #[must_use]
    pub const fn is_timeout(&self) -> bool {
        matches!(self.signal, CongestionSignal::Timeout { .. })
    }

    /// Whether the same segment's timer has run out before (RFC 5681 §3.1).
    #[must_use]
    pub fn repeats_timeout(&self) -> bool {
        self.signal == CongestionSignal::Timeout { repeated: true }
    }
}
