//! Polling: the segments that ask for an acknowledgment.
//!
//! A receiver that acknowledges rarely does not know the sender's window, and so cannot keep enough ACKs in it. Here
//! the sender asks for the acknowledgment of single segments, by a bit in the header ([`wire::Flags::POLL`]), and the
//! receiver (`ack/polled.rs`) complies (Landström 2008 §6.3). Both ends must support it, which they announce on their
//! SYNs.
//!
//! A policy may also request a rate of ACKs from the receiver, by an option ([`wire::AckRate`]): `tarr.rs` and
//! `ackcc.rs`, with the policies of the same names in `ack/`.

mod requested;

use units::{Bytes, Seq};
use wire::AckScheme;

use registry::algorithms;

algorithms! {
    /// The polling policies.
    dyn Poll in "poll", a "polling policy":
    none,
    nth,
    per_window,
    tarr,
    ackcc,
}

/// Chooses the segments that ask.
pub trait Poll: std::fmt::Debug + Send {
    /// Whether this segment, which goes out now, asks.
    fn asks(&mut self, outgoing: &Outgoing) -> bool;

    /// Whether it ever asks by the bit, and so has to announce it on the SYN.
    fn is_on(&self) -> bool {
        true
    }

    /// The option by which it requests a rate of ACKs, if it does.
    fn scheme(&self) -> Option<AckScheme> {
        None
    }

    /// The number of segments for each ACK that this segment with data, which goes out now, requests, if it does.
    fn request(&mut self, _outgoing: &Outgoing) -> Option<u8> {
        None
    }

    /// An ACK has arrived; asked where there is a [scheme](Self::scheme).
    fn on_ack(&mut self, _ack: &Acked) {}

    /// The retransmission timer has expired.
    fn on_timeout(&mut self) {}

    /// Whether the sender applies the acknowledgment fixes of Landström 2008 §6.4.3: see `send_half/polls.rs`.
    fn fixes(&self) -> bool {
        false
    }
}

/// For a connection whose peer does not answer polls.
#[must_use]
pub fn unanswered() -> Box<dyn Poll> {
    Box::new(none::Silent)
}

/// A segment with data that goes out.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// Its data.
    pub len: Bytes,
    /// Its end.
    pub end: Seq,
    /// The window that steers the sender: the lesser of cwnd and the peer's.
    pub window: Bytes,
    /// The segment size.
    pub smss: Bytes,
    /// Whether it is sent again.
    pub again: bool,
    /// Whether nothing more follows it now, for lack of data.
    pub last: bool,
}

/// An ACK, for a policy that requests a rate of ACKs.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Its acknowledgment number.
    pub number: Seq,
    /// Data that it is the first to acknowledge.
    pub len: Bytes,
    /// Whether it is a pure ACK that a queue has marked.
    pub marked: bool,
    /// Whether data are missing at the receiver or were sent again, so that numbers do not show lost ACKs.
    pub repairing: bool,
    /// The congestion window.
    pub cwnd: Bytes,
    /// The segment size.
    pub smss: Bytes,
}

/// Distance to the next segment that asks.
///
/// The part of the asking segment beyond the step counts for the next step: two ACKs in a window of five segments are
/// asked for by the third, fifth, eighth and tenth. Starting anew at each would make them fewer than two.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    /// New data sent since a segment was due to ask.
    silent: Bytes,
}

impl Pace {
    /// Whether this segment asks, if one in each `step` is due to. What is sent again always asks, and does not count.
    fn asks(&mut self, outgoing: &Outgoing, step: Bytes) -> bool {
        if outgoing.again {
            return true;
        }
        self.silent += outgoing.len;
        let due = self.silent >= step;
        if due {
            // No more than a segment: the step may have shrunk meanwhile.
            self.silent = self.silent.saturating_sub(step).min(outgoing.len);
        }
        due || outgoing.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: Bytes = Bytes(1000);

    fn segment(again: bool) -> Outgoing {
        Outgoing { len: SMSS, end: Seq(0), window: SMSS * 4, smss: SMSS, again, last: false }
    }

    #[test]
    fn what_is_sent_again_asks_and_does_not_count() {
        let mut pace = Pace::default();
        let sent = [false, true, true, false, false, false];
        let asking = sent.map(|again| pace.asks(&segment(again), SMSS * 2));
        assert_eq!(asking, [false, true, true, true, false, true]);
    }

    #[test]
    fn a_step_that_shrinks_lets_no_row_of_segments_ask() {
        let mut pace = Pace::default();
        let asking = [10, 10, 10, 2, 2, 2, 2].map(|step| pace.asks(&segment(false), SMSS * step));
        assert_eq!(asking, [false, false, false, true, true, false, true]);
    }
}
