//! The interface of a congestion control to a connection: a sender and a receiver for each half-connection
//! (RFC 4340 §10).

use tcp::{Decision, ModelRecord};
use units::{Bytes, Duration, Instant};
use wire::dccp::DccpOption;

use super::seqno::Seqno;

/// The end that sends data.
pub(super) trait Sending: Send {
    /// Whether a data packet may be sent now.
    fn may_send(&self, now: Instant) -> bool;

    /// Time at which it next has something to do; with data waiting, also that at which one may be sent.
    fn poll_timeout(&self, has_data: bool) -> Option<Instant>;

    /// A data packet is sent.
    fn on_sent(&mut self, now: Instant, seq: Seqno);

    /// The four bits that a data packet of now has in its header.
    fn ccval(&mut self, _: Instant) -> u8 {
        0
    }

    /// A packet with an acknowledgment arrived.
    fn on_ack(&mut self, now: Instant, ack: &Acknowledgment<'_>) -> Option<Event>;

    /// Its time has come.
    fn on_timeout(&mut self, now: Instant) -> Option<Event>;

    /// Whether the next data packet is to acknowledge the peer's acknowledgments (RFC 4340 §11.1).
    fn wants_to_acknowledge(&self) -> bool {
        false
    }

    /// It does.
    fn on_acknowledging(&mut self) {}

    /// The Ack Ratio that it asks for.
    fn ack_ratio(&self) -> Option<u16> {
        None
    }

    /// Packets of a round trip at most.
    fn packets_a_round_trip(&self) -> u64;

    /// Its state, for the table `tcp`.
    fn state(&self) -> SenderState;
}

/// The end that receives data.
pub(super) trait Receiving: Send {
    /// A packet arrived for the first time.
    fn on_packet(&mut self, now: Instant, packet: &Arrival);

    /// Whether an acknowledgment is to be sent now.
    fn owes_ack(&self) -> bool;

    /// Time at which one is to be sent at the latest.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Its time has come.
    fn on_timeout(&mut self, now: Instant);

    /// The options of an acknowledgment, the packet with the number `seq`.
    fn options(&mut self, now: Instant, seq: Seqno) -> Vec<DccpOption>;

    /// The sender has heard the acknowledgment with this number.
    fn on_ack_of_ack(&mut self, _: Seqno) {}

    /// Loss events so far, where the receiver counts them.
    fn loss_events(&self) -> Option<u64> {
        None
    }
}

/// A packet with an acknowledgment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acknowledgment<'a> {
    /// Its number.
    pub(super) seq: Seqno,
    /// The greatest number that its sender has received.
    pub(super) acked: Seqno,
    pub(super) options: &'a [DccpOption],
}

/// A packet at its receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) seq: Seqno,
    /// Bytes of data; none for a packet without data.
    pub(super) data: Option<u32>,
    pub(super) is_marked: bool,
    pub(super) ccval: u8,
    /// Packets without data right before it.
    pub(super) ndp_count: u64,
}

/// What a sender has decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) decision: Decision,
    pub(super) reason: &'static str,
    /// Data packets concerned: those acknowledged, or lost.
    pub(super) packets: u64,
    /// Data packets that were acknowledged for the first time, as far as the sender knows.
    pub(super) delivered: u64,
}

/// The state of a sender; windows in bytes of data.
#[derive(Clone, Copy, Debug)]
pub(super) struct SenderState {
    pub(super) cwnd: Bytes,
    pub(super) ssthresh: Bytes,
    pub(super) flight: Bytes,
    pub(super) srtt: Option<Duration>,
    pub(super) rttvar: Option<Duration>,
    pub(super) timer: Duration,
    pub(super) phase: &'static str,
    pub(super) model: Option<ModelRecord>,
}
