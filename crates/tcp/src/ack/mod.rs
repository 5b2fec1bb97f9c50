//! Acknowledgment policies: the times at which a receiver acknowledges.
//!
//! A policy sees each segment with data that arrives and says how long its acknowledgment may wait. The
//! endpoint does the rest: any segment that goes out carries the acknowledgment and ends the wait.
//!
//! Start with `every_segment.rs`, then `delayed.rs`.

#[cfg(test)]
mod testing;

use units::{Bytes, Duration, Instant};
use wire::AckScheme;

use crate::reassembly::Arrival;
use registry::algorithms;

algorithms! {
    /// The acknowledgment policies.
    dyn AckPolicy in "ack", a "acknowledgment policy":
    every_segment,
    delayed,
    linux_2000,
    linux,
    polled,
    tarr,
    ackcc,
    per_round_trip,
    inter_arrival,
    bsd,
    taba,
    ack_division,
    dupack_spoofing,
    optimistic,
}

/// Decides when to acknowledge.
pub trait AckPolicy: std::fmt::Debug + Send {
    /// A segment with data arrived.
    fn on_data(&mut self, data: &Data) -> When;

    /// The peer requests an ACK for every `ratio` full-sized segments from now on; asked where [`Traits::complies`].
    fn on_request(&mut self, _ratio: u8) {}

    /// The window has opened for the data that come next. Called before [`on_data`](AckPolicy::on_data), where the
    /// window sizes itself.
    fn on_window_opened(&mut self) {}

    /// Less than half of the receive buffer is free; whether the ACK of the data that come next `narrows` the window.
    /// Called before [`on_data`](AckPolicy::on_data).
    fn on_tight_window(&mut self, _narrows: bool) {}

    /// An acknowledgment went out, alone or with data.
    fn on_ack_sent(&mut self);

    /// Data of ours went out; asked where [`Traits::observes_replies`].
    fn on_data_sent(&mut self, _now: Instant) {}

    /// The data that have arrived came with the peer's SYN: the times of later ones are not compared with theirs.
    fn on_syn_data(&mut self) {}

    /// The handshake is done, and data of ours follow at once.
    fn on_reply_expected(&mut self, _now: Instant) {}

    /// The wait for a segment that could carry the acknowledgment is over.
    fn on_wait_over(&mut self) {}

    /// The peer's FIN arrived, alone, in order and first.
    fn on_fin(&mut self) -> When {
        When::Now
    }

    /// The constants of the policy with its parameters.
    fn traits(&self) -> Traits {
        Traits::default()
    }
}

/// The constants of an acknowledgment policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// It acknowledges when the peer asks for it, and so has to offer that on the SYN.
    pub answers_polls: bool,
    /// The scheme of requests for a rate of ACKs that it complies with, and so has to announce on the SYN.
    pub complies: Option<AckScheme>,
    /// It leaves more than two full segments unacknowledged in the normal course of a transfer, against the advice of
    /// RFC 5681 §4.2.
    pub stretches: bool,
    /// It acknowledges data that have not arrived. That hides losses, and the stream is not safe with it.
    pub lies: bool,
    /// It breaks the rules on purpose, to make a sender faster than its path permits (Savage et al. 1999): for tests
    /// and studies of the defences.
    pub misbehaves: bool,
    /// It waits for replies of the user, and so observes the data that are sent.
    pub observes_replies: bool,
}

/// For a connection whose peer does not poll.
#[must_use]
pub fn without_polls() -> Box<dyn AckPolicy> {
    delayed::standard()
}

/// A segment with data, as the policy sees it.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// Time of arrival.
    pub now: Instant,
    /// Number of bytes in it.
    pub len: Bytes,
    /// Its effect on the stream.
    pub arrival: Arrival,
    /// Whether something still waits beyond a gap.
    pub gap: bool,
    /// Whether it lies beyond a gap and apart from the two runs of data that grew last.
    pub scattered: bool,
    /// The largest segment that the peer has sent so far: what "full-sized" means here.
    pub full: Bytes,
    /// Whether the peer asks for an acknowledgment ([`wire::Flags::POLL`]).
    pub polled: bool,
    /// The round trip as this end knows it: by the clock that the segment echoes, where timestamps are
    /// agreed, else what the handshake and data of ours have measured.
    pub rtt: Option<Duration>,
}

impl Data {
    /// Whether something is missing before or after it, or it was itself: RFC 5681 §4.2 wants an ACK at once.
    const fn around_a_gap(&self) -> bool {
        self.gap || !matches!(self.arrival, Arrival::InOrder)
    }
}

/// Maximum delay of an acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Not at all.
    Now,
    /// At most this time, counted from now; a wait that already runs is not made longer.
    Within(Duration),
    /// Not at all, and by several ACKs.
    Series(Series),
}

/// Several ACKs at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Series {
    /// `parts` of them, each for an equal share of the unacknowledged data, and for a byte at least.
    Divided {
        /// How many.
        parts: u32,
    },
    /// The ACK that is due, and `copies` copies of it.
    Repeated {
        /// How many.
        copies: u32,
    },
    /// One, for `by` bytes beyond the data that have arrived in order.
    Ahead {
        /// How many.
        by: Bytes,
    },
}
