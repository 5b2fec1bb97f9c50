//! One segment on the scoreboard, and the outcome of a cumulative acknowledgment.

use units::{Bytes, Instant, SeqRange};
use wire::Payload;

/// One segment that was sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Its sequence numbers, those of SYN and FIN included.
    pub range: SeqRange,
    /// Its data.
    pub payload: Payload,
    /// Whether it carries our SYN.
    pub syn: bool,
    /// Whether it carries our FIN.
    pub fin: bool,
    /// Time at which it was first sent.
    pub first_sent: Instant,
    /// Time at which it was last sent.
    pub last_sent: Instant,
    /// Number of its transmissions.
    pub transmissions: u32,
    /// The congestion window when it was last sent.
    pub cwnd: Bytes,
    /// The state of its last copy.
    pub mark: Mark,
    /// Whether a copy of it was SACKed.
    pub sacked: bool,
    /// Whether two copies of it count in the pipe.
    pub twice: bool,
}

/// The state of the last copy of a segment, as the sender takes it to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// In the network, or SACKed.
    InFlight,
    /// Lost, and to be sent again for this reason.
    Lost(crate::Cause),
}

/// A segment that is sent for the first time.
#[derive(Clone, Debug)]
pub struct New {
    /// Its sequence numbers, those of SYN and FIN included.
    pub range: SeqRange,
    /// Its data.
    pub payload: Payload,
    /// Whether it carries our SYN.
    pub syn: bool,
    /// Whether it carries our FIN.
    pub fin: bool,
}

/// Data that a cumulative acknowledgment removed from the board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acked {
    /// Data acknowledged.
    pub bytes: Bytes,
    /// The part of it that was not SACKed before.
    pub newly: Bytes,
    /// Time at which the last segment that was taken off was sent; `None` where a segment that was sent more than once
    /// is among them, as its round trip is ambiguous (Karn's rule, RFC 6298 §3).
    pub sample: Option<Instant>,
    /// Time at which the first segment that was taken off was sent, on the same condition.
    pub first_sample: Option<Instant>,
    /// The same of the last of them that no SACK has reported before.
    pub newest_sample: Option<Instant>,
    /// Time at which the last segment that was taken off was sent, if it was sent once, whatever became of those before
    /// it.
    pub last_sample: Option<Instant>,
    /// Number of segments that were removed completely.
    pub segments: u32,
    /// Whether our SYN is among them.
    pub syn: bool,
    /// Whether our FIN is among them.
    pub fin: bool,
}

/// Contribution of a segment to the pipe.
#[derive(Clone, Copy)]
pub(super) enum PipeShare {
    Once,
    Twice,
    Sacked,
    Lost,
}

impl Sent {
    /// The length of its data, which FlightSize and the windows count; SYN and FIN count nothing.
    #[must_use]
    #[inline]
    pub fn size(&self) -> Bytes {
        Bytes(u64::from(self.payload.len()))
    }

    /// Whether it has more than `len` bytes, and may be cut.
    pub(super) fn is_longer(&self, len: u32) -> bool {
        self.payload.len() > len && !self.syn && !self.sacked
    }

    /// Its contribution to the pipe. SACKed or lost data are not in the network twice.
    #[inline]
    pub(super) fn share(&self) -> PipeShare {
        match self.mark {
            Mark::Lost(_) => PipeShare::Lost,
            Mark::InFlight if self.sacked => PipeShare::Sacked,
            Mark::InFlight if self.twice => PipeShare::Twice,
            Mark::InFlight => PipeShare::Once,
        }
    }

    /// Takes `count` numbers off the front; returns whether the SYN was among them.
    pub(super) fn take_front(&mut self, count: u32) -> bool {
        let syn = u32::from(self.syn);
        let bytes = count - syn;
        self.payload = self.payload.slice(bytes, self.payload.len() - bytes);
        self.range.start += count;
        std::mem::take(&mut self.syn)
    }
}
