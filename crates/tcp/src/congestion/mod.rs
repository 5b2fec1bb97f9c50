//! Congestion control: the one owner of cwnd and ssthresh.
//!
//! The endpoint tells it of acknowledged data and of losses; it answers with a window. It knows no
//! sequence numbers, and nothing of what is sent again: that is the recovery algorithm's business.
//!
//! Read `reno.rs` first; `classic.rs` is what its relatives share, `layer.rs` how rules lie over others.

mod classic;
mod layer;
mod share;
#[cfg(test)]
mod trial;
mod window;

use units::{Bytes, Duration, Instant, Seq};

use crate::registry::algorithms;

algorithms! {
    /// The congestion controls.
    dyn Congestion:
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
pub trait Congestion: std::fmt::Debug + Send {
    /// The connection is established: its segment size and its first window are known.
    fn start(&mut self, smss: Bytes, initial_window: Bytes);

    /// Any ACK of new data came, before recovery judges it: for estimators that must see them all.
    fn observe(&mut self, _ack: &Growth) {}

    /// New data was acknowledged outside of fast recovery.
    fn on_ack(&mut self, ack: &Growth);

    /// Data was sent, for the first time or again; told only to one that [watches](Congestion::watches_departures).
    fn on_sent(&mut self, _sent: &Departure) {}

    /// Whether it wants to hear of what is sent. Most live by ACKs alone.
    fn watches_departures(&self) -> bool {
        false
    }

    /// A loss was detected by duplicate or selective ACKs: fast recovery begins.
    fn on_loss(&mut self, event: &CongestionEvent);

    /// The retransmission timer ran out.
    fn on_timeout(&mut self, event: &CongestionEvent);

    /// The peer echoed a congestion mark (RFC 3168 §6.1.2: react as to a loss, but send nothing again).
    fn on_mark(&mut self, event: &CongestionEvent) {
        let before = self.cwnd();
        self.on_loss(event);
        // Nothing is to be repaired, and no segment has left the network unseen: what fast recovery would add is not
        // due. What is left of a small window, two segments at least, must not be more than it was.
        self.on_recovery_exit(self.ssthresh().min(before));
    }

    /// Fast recovery ended, and the recovery algorithm wants this window.
    fn on_recovery_exit(&mut self, window: Bytes);

    /// A reduction was made in error, or someone knows better: go on with these.
    fn on_restore(&mut self, cwnd: Bytes, ssthresh: Bytes);

    /// The time until `now` without sending was no idle time: it was spent on an answer that came late, and with it
    /// what the last timeout took was given back (RFC 4015 §3.1 step 10).
    fn was_not_idle(&mut self, _now: Instant) {}

    /// The congestion window.
    fn cwnd(&self) -> Bytes;

    /// The slow-start threshold; [`Bytes::MAX`] until there was a loss.
    fn ssthresh(&self) -> Bytes;

    /// Whether the window is below the threshold (RFC 5681 §3.1).
    fn in_slow_start(&self) -> bool {
        self.cwnd() < self.ssthresh()
    }
}

/// An acknowledgment of new data, as congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// When it came.
    pub now: Instant,
    /// How much it newly acknowledged.
    pub acked: Bytes,
    /// How many segments it completed: none, if it acknowledges part of one.
    pub segments: u32,
    /// FlightSize before it.
    pub flight: Bytes,
    /// The round trip that it measured, if it measured one.
    pub rtt: Option<Duration>,
    /// Its acknowledgment number; SND.UNA by now.
    pub number: Seq,
    /// SND.NXT: what is sent from now on is acknowledged a round trip later.
    pub nxt: Seq,
}

/// Whether so much in flight is all of the window, as no segment more would go in: one that is not says nothing about
/// the path (RFC 2861, RFC 7661 §4.3, RFC 9438 §5.8).
fn is_full(cwnd: Bytes, flight: Bytes, smss: Bytes) -> bool {
    flight + smss > cwnd
}

/// A segment with data that goes out, as congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// When.
    pub now: Instant,
    /// Its data.
    pub len: Bytes,
    /// FlightSize with it.
    pub flight: Bytes,
    /// Whether it is a retransmission.
    pub again: bool,
    /// Whether the user has nothing more to send now: what limits the flight is then not the window.
    pub drained: bool,
    /// The largest window that the peer has offered.
    pub advertised: Bytes,
    /// The retransmission timer's length: RFC 2861 and RFC 5681 §4.1 measure idleness by it.
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

    /// Whether the same segment's timer has run out before (RFC 5681 §3.1).
    #[must_use]
    pub fn repeats_timeout(&self) -> bool {
        self.signal == CongestionSignal::Timeout { repeated: true }
    }
}
