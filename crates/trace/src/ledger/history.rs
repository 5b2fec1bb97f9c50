//! Inputs of a ledger from the sender and the world.

use units::{Instant, PacketId, Seq, SeqRange};

use super::verdict::{Loss, Why};
use crate::position::Span;

/// A packet that carries sequence numbers (data, SYN or FIN) which were sent before.
#[derive(Clone, Copy, Debug)]
pub struct Retransmission {
    /// The packet that carries the copy.
    pub packet: PacketId,
    /// Time of transmission.
    pub at: Instant,
    /// Its sequence numbers that were sent before.
    pub range: SeqRange,
    /// The cause by the sender: one of [`causes`], or any other text.
    pub cause: &'static str,
    /// The highest number sent by then (of this packet too), plus one: SND.MAX.
    pub snd_max: Seq,
}

/// The sender's names of the causes of retransmissions that the ledger distinguishes.
pub mod causes {
    /// Its own retransmission timer ran out.
    pub const TIMEOUT: &str = "timeout";
    /// It followed a segment whose timer expired.
    pub const AFTER_TIMEOUT: &str = "after_timeout";
    /// Enough duplicate ACKs came.
    pub const FAST_RETRANSMIT: &str = "fast_retransmit";
    /// A partial ACK pointed at it.
    pub const PARTIAL_ACK: &str = "partial_ack";
    /// The scoreboard marks it as lost.
    pub const SCOREBOARD: &str = "scoreboard";
    /// A proxy on the way sent it.
    pub const PROXY: &str = "proxy";
    /// The peer's window was closed to it.
    pub const PROBE: &str = "probe";
    /// It was the last of a flight, and no ACK came.
    pub const TAIL_LOSS_PROBE: &str = "tail_loss_probe";
}

/// A retransmission in positions of the stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resent {
    pub(super) sent: Retransmission,
    pub(super) span: Span,
    pub(super) snd_max: u64,
    pub(super) late: Why,
    /// Whether a proxy on the way sent it, and not the sender.
    pub(super) local: bool,
}

/// A dropped packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dropped {
    pub(super) packet: PacketId,
    pub(super) span: Span,
    pub(super) loss: Loss,
}

/// A timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimedOut {
    pub(super) at: Instant,
    pub(super) range: SeqRange,
    pub(super) span: Span,
    /// Number of retransmissions sent before it.
    pub(super) before: usize,
    pub(super) late: Why,
}
