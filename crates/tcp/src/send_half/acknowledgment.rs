//! An acknowledgment on its way through the sender.

use units::{Bytes, Duration, Instant, Seq, SeqRange};
use wire::Segment;

use crate::options::Agreed;
use crate::scoreboard::Acked;
use crate::timestamp::{OneWayDelay, Timestamp};

/// An acceptable acknowledgment on its way through the sender; each step adds what it finds.
#[derive(Debug)]
pub(crate) struct Acknowledgment {
    pub(super) now: Instant,
    pub(super) number: Seq,
    /// It is a duplicate by RFC 5681 §2.
    pub(super) duplicate: bool,
    /// The segment that it reports as arrived twice (RFC 2883 §4).
    pub(super) dsack: Option<SeqRange>,
    /// The value of our clock that it echoes, where timestamps are agreed.
    pub(super) echo: Option<Timestamp>,
    pub(super) one_way: Option<OneWayDelay>,
    /// Data in the network before it, where congestion control observes deliveries.
    pub(super) prior_in_flight: Option<Bytes>,
    /// FlightSize before it.
    pub(super) flight: Bytes,
    pub(super) newly_sacked: Bytes,
    /// It advances SND.UNA.
    pub(super) advances: bool,
    /// The segments that it takes off the board.
    pub(super) acked: Acked,
    /// It echoes a congestion mark.
    pub(super) echoes_mark: bool,
    /// Number of delivered bytes that the peer reports as marked.
    pub(super) marked: Bytes,
    /// The round-trip time that it measured.
    pub(super) rtt: Option<Duration>,
}

impl Acknowledgment {
    /// The acknowledgment of `segment`, with nothing known but its header and the FlightSize.
    #[inline]
    pub(super) fn new(now: Instant, segment: &Segment, agreed: &Agreed, flight: Bytes) -> Self {
        Self {
            now,
            number: segment.ack,
            duplicate: false,
            dsack: None,
            echo: agreed.echo(segment),
            one_way: agreed.one_way(segment),
            prior_in_flight: None,
            flight,
            newly_sacked: Bytes::ZERO,
            advances: true,
            acked: Acked::default(),
            echoes_mark: false,
            marked: Bytes::ZERO,
            rtt: None,
        }
    }

    /// Its acknowledgment number.
    pub(crate) const fn number(&self) -> Seq {
        self.number
    }

    /// Whether it advances SND.UNA.
    pub(crate) const fn advances(&self) -> bool {
        self.advances
    }

    /// Whether it acknowledges our SYN.
    pub(crate) const fn acks_syn(&self) -> bool {
        self.acked.syn
    }

    /// Whether it acknowledges our FIN.
    pub(crate) const fn acks_fin(&self) -> bool {
        self.acked.fin
    }

    /// Whether it acknowledges our SYN and no data, nor reports any beyond a gap: it ends the handshake and says
    /// nothing to algorithms.
    pub(crate) fn ends_handshake_only(&self) -> bool {
        self.acked.syn && self.acked.bytes.is_zero() && self.newly_sacked.is_zero()
    }

    /// It echoes a congestion mark.
    pub(crate) const fn set_echoes_mark(&mut self) {
        self.echoes_mark = true;
    }

    /// An echo concerns all data that its ACK acknowledges (RFC 8257 §3.3).
    pub(crate) fn mark_by_echo(&mut self) {
        if self.echoes_mark {
            self.marked = self.acked.bytes.max(self.delivered());
        }
    }

    /// The peer reports `marked` bytes as marked.
    pub(crate) fn set_marked(&mut self, marked: Bytes) {
        self.marked = marked;
        self.echoes_mark |= !marked.is_zero();
    }

    /// Segments that it is the first to report, where SACKed data count by segments of `smss`.
    pub(crate) fn segments(&self, smss: Bytes) -> u32 {
        self.acked.segments + self.newly_sacked.0.div_ceil(smss.0) as u32
    }

    /// Data that it acknowledges, cumulatively or newly by SACK.
    pub(crate) fn acknowledged(&self) -> Bytes {
        self.acked.bytes + self.newly_sacked
    }

    /// Data that it is the first to report.
    pub(super) fn delivered(&self) -> Bytes {
        self.acked.newly + self.newly_sacked
    }

    /// The round-trip time of the newest segment that it acknowledges and no SACK has reported before.
    pub(super) fn newest_rtt(&self) -> Option<Duration> {
        self.acked.newest_sample.map(|sent| self.now - sent).or(self.rtt)
    }

    /// The round-trip time of the last segment that it acknowledges.
    pub(super) fn last_rtt(&self) -> Option<Duration> {
        self.acked.last_sample.map(|sent| self.now - sent)
    }
}
