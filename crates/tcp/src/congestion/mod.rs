//! Congestion control: the only part of the sender that changes cwnd and ssthresh.
//!
//! The endpoint reports acknowledged data ([`AckSample`]) and losses or marks ([`CongestionEvent`]), and reads the
//! window. Congestion control knows no sequence numbers but those of an ACK, and nothing of retransmissions: they are the
//! recovery's.
//!
//! Read `reno.rs` first. `window.rs` has what all share: the window with its fraction, and what a reduction is of;
//! `classic.rs` is slow start, congestion avoidance and reduction around a [policy](classic::Policy); `layer.rs` lays
//! modifications over any algorithm.

mod classic;
mod increase;
mod layer;
mod proportion;
#[cfg(test)]
mod testing;
mod window;

use units::{Bytes, Duration, Instant, Seq};

use crate::registry::algorithms;

algorithms! {
    /// The congestion controls.
    dyn CongestionControl:
    reno,
    aimd,
    vegas,
    westwood,
    high_speed,
    cubic,
    byte_counting,
    limited_slow_start,
    packet_pair,
    window_validation,
    idle_restart,
    growth_limit,
    whole_segments,
}

/// How the congestion window grows and shrinks.
pub trait CongestionControl: std::fmt::Debug + Send {
    /// The connection is established: its segment size and its first window are known.
    fn start(&mut self, smss: Bytes, initial_window: Bytes);

    /// Sees every ACK of new data, in fast recovery too, before recovery judges it: for estimators of round trip and
    /// bandwidth.
    fn observe(&mut self, _ack: &AckSample) {}

    /// New data was acknowledged outside of fast recovery: the window may grow.
    fn on_ack(&mut self, ack: &AckSample);

    /// Data was sent, for the first time or again. Called only where
    /// [`observes_sends`](CongestionControl::observes_sends).
    fn on_sent(&mut self, _sent: &SendEvent) {}

    /// Whether [`on_sent`](CongestionControl::on_sent) is to be called. Most algorithms go by ACKs alone.
    fn observes_sends(&self) -> bool {
        false
    }

    /// Duplicate or selective ACKs tell of a loss: fast recovery begins, and the window is reduced.
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
        // No recovery follows: what `on_loss` adds for segments that have left the network is taken off again, and a
        // window of one segment stays one, though ssthresh is two.
        self.on_recovery_exit(self.ssthresh().min(before));
    }

    /// Fast recovery has ended, and the recovery algorithm sets this window.
    fn on_recovery_exit(&mut self, window: Bytes);

    /// Sets both windows: a reduction was in error and is undone, or another part of the sender knows better.
    fn on_restore(&mut self, cwnd: Bytes, ssthresh: Bytes);

    /// The time without sending that ends `now` is not idle time: it was a spurious timeout, whose reduction is undone
    /// (RFC 4015 §3.1 step 10).
    fn reset_idle_time(&mut self, _now: Instant) {}

    /// The congestion window.
    fn cwnd(&self) -> Bytes;

    /// The slow-start threshold; [`Bytes::MAX`] until there was a loss.
    fn ssthresh(&self) -> Bytes;

    /// Whether the window is below the threshold (RFC 5681 §3.1).
    fn in_slow_start(&self) -> bool {
        self.cwnd() < self.ssthresh()
    }
}

/// An acknowledgment of new data.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// When it arrived.
    pub now: Instant,
    /// Bytes that it newly acknowledges.
    pub acked: Bytes,
    /// Segments that it acknowledges to their end: none, if it acknowledges part of one.
    pub segments: u32,
    /// FlightSize before it.
    pub flight: Bytes,
    /// The round-trip time that it measured, if it measured one.
    pub rtt: Option<Duration>,
    /// Its acknowledgment number, which is SND.UNA now.
    pub number: Seq,
    /// SND.NXT: what is sent from now on is acknowledged a round trip later.
    pub nxt: Seq,
}

/// Whether a flight fills the window, so that no further segment fits. A window that is not filled says nothing about the
/// path and must not grow (RFC 2861, RFC 7661 §4.3, RFC 9438 §5.8).
fn is_cwnd_limited(cwnd: Bytes, flight: Bytes, smss: Bytes) -> bool {
    flight + smss > cwnd
}

/// A segment with data that is sent.
#[derive(Clone, Copy, Debug)]
pub struct SendEvent {
    /// When it is sent.
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
}

/// A sign of congestion, and the state of the sender when it was found, before any reduction.
///
/// The three measures say what was in use; which of them an algorithm reduces is its own choice and has a source
/// ([`CongestionEvent::in_use`] where it has none).
#[derive(Clone, Copy, Debug)]
pub struct CongestionEvent {
    /// When it was found.
    pub now: Instant,
    /// What told of it.
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

/// What tells a sender of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionSignal {
    /// A loss that duplicate or selective ACKs tell of (RFC 5681 §3.2).
    Loss,
    /// The retransmission timer (RFC 5681 §3.1).
    Timeout {
        /// Whether the segment that timed out had timed out before: ssthresh is then held.
        repeated: bool,
    },
    /// An echoed congestion mark (RFC 3168 §6.1.2).
    EcnEcho,
}

impl CongestionEvent {
    /// The smaller of the congestion window and FlightSize: what was in use of the path. FlightSize alone may be
    /// larger than the window while segments are SACKed, the window alone larger than what a sender with little data
    /// has filled (RFC 5681 §3.1).
    #[must_use]
    pub fn in_use(&self) -> Bytes {
        self.cwnd.min(self.flight)
    }

    /// Whether the retransmission timer tells of it.
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
