//! State of one side, for reports.

use units::{Bytes, Duration, Instant, Seq};

use crate::ledger::Diagnosis;

use super::super::cause::SenderPhase;
use super::super::inference::Judgement;
use super::super::rtt::RoundTrips;
use super::{Counters, HalfConnection, Milestone};

/// The repair of losses that a sender is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// None.
    None,
    /// Fast recovery.
    Recovery,
    /// Reaction to a timeout.
    AfterTimeout,
}

impl HalfConnection {
    /// Its counts.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Bytes of data that the peer has acknowledged.
    #[must_use]
    pub fn acked(&self) -> Bytes {
        let fin = self.fin_acked();
        let acked = self.first.map_or(0, |first| self.snd_una.saturating_sub(first + 1));
        Bytes(acked.saturating_sub(u64::from(fin)))
    }

    /// Whether its FIN was acknowledged.
    #[must_use]
    pub fn fin_acked(&self) -> bool {
        self.fin.is_some_and(|fin| self.snd_una > fin)
    }

    /// Time at which something new was last acknowledged.
    #[must_use]
    pub const fn last_progress(&self) -> Option<Instant> {
        self.progress_at
    }

    /// The requested milestones.
    #[must_use]
    pub fn milestones(&self) -> &[Milestone] {
        &self.milestones
    }

    /// The smoothed round-trip time, measured at the point of observation.
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        self.rtt.srtt()
    }

    /// Which retransmissions and timeouts were needed; valid only if every loss was reported.
    #[must_use]
    pub fn diagnosis(&self) -> Diagnosis {
        self.ledger.clone().finish()
    }

    /// The evidence of the acknowledgments on each retransmission, in the order of sending.
    #[must_use]
    pub fn judgements(&self) -> Vec<Judgement> {
        self.inference.judgements()
    }

    /// The shortest and the longest round-trip time, and the number of samples.
    #[must_use]
    pub const fn round_trips(&self) -> &RoundTrips {
        self.rtt.samples()
    }

    /// The shortest round trip between the point of observation and the peer.
    #[must_use]
    pub fn shortest_round_trip(&self) -> Option<Duration> {
        let samples = self.rtt.samples();
        (samples.count > 0).then_some(samples.shortest)
    }

    /// The shortest time in which new data followed an acknowledgment at the point of observation.
    #[must_use]
    pub const fn shortest_reaction(&self) -> Option<Duration> {
        self.reaction
    }

    /// Bytes of sequence numbers that are sent and not acknowledged.
    #[must_use]
    pub const fn flight(&self) -> Bytes {
        Bytes(self.snd_max.saturating_sub(self.snd_una))
    }

    /// A number of this side's, counted from its SYN.
    #[must_use]
    pub fn relative(&self, seq: Seq) -> u64 {
        self.positions.place(seq).saturating_sub(self.first.unwrap_or(0))
    }

    /// The repair of losses that it is in.
    #[must_use]
    pub const fn repair(&self) -> Repair {
        match self.phase {
            SenderPhase::Open => Repair::None,
            SenderPhase::Recovery(_) => Repair::Recovery,
            SenderPhase::AfterTimeout(_) => Repair::AfterTimeout,
        }
    }

    /// The window that its peer offers.
    #[must_use]
    pub const fn peer_window(&self) -> Bytes {
        self.peer_window
    }

    /// The latest round-trip time.
    #[must_use]
    pub const fn latest_round_trip(&self) -> Option<Duration> {
        self.rtt.latest()
    }
}
