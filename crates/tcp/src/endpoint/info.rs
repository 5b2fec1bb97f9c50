//! The state of a connection as a program may read it: `TCP_INFO` of Linux and BSD.

use units::{Bytes, Duration};

use super::Endpoint;
use crate::recovery::RecoveryState;
use crate::{EcnCounters, Mark, Sent, State};

/// The state of a connection. Segments are counted on the scoreboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// State of the connection.
    pub state: State,
    /// State of the sender's reaction to losses and marks.
    pub congestion_state: CongestionState,
    /// The congestion window, with the changes of recovery.
    pub cwnd: Bytes,
    /// The slow-start threshold; [`Bytes::MAX`] until there was a loss.
    pub ssthresh: Bytes,
    /// The largest payload that it sends.
    pub smss: Bytes,
    /// The largest payload that it announces.
    pub announced_mss: Bytes,
    /// Payload of the largest segment that has come in.
    pub largest_received: Bytes,
    /// Segments sent and not acknowledged.
    pub unacked: u32,
    /// The SACKed part of it.
    pub sacked: u32,
    /// The lost part of it, whether or not it was sent again.
    pub lost: u32,
    /// Of them, those whose retransmission is in the network.
    pub retransmitted: u32,
    /// Number of duplicate ACKs that mean a loss.
    pub reordering: u32,
    /// Number of retransmission timeouts in a row.
    pub expirations: u32,
    /// Probes of a closed window without an answer.
    pub probes: u32,
    /// The retransmission timer's present length.
    pub rto: Duration,
    /// Smoothed round-trip time, once there is a sample.
    pub srtt: Option<Duration>,
    /// Round-trip time variation.
    pub rttvar: Option<Duration>,
    /// The window that the peer offers.
    pub peer_window: Bytes,
    /// The largest window that the peer has offered.
    pub greatest_peer_window: Bytes,
    /// Size of the send buffer; [`Bytes::MAX`] where it has no limit.
    pub send_buffer: Bytes,
    /// The window that it offers to the peer.
    pub offered_window: Bytes,
    /// Written and not sent yet.
    pub unsent: Bytes,
    /// Data acknowledged.
    pub acked: Bytes,
    /// Data that arrived in order.
    pub received: Bytes,
    /// Whether timestamps, SACK, window scaling and ECN are agreed.
    pub agreed: crate::Agreed,
    /// What the peer has reported under Accurate ECN; nothing under another feedback.
    pub ecn: EcnCounters,
    /// Whether the data of a SYN were taken by the end that it reached.
    pub syn_data: bool,
    /// Number of segments delivered, the SYN among them; a SYN with data is one.
    pub delivered: u64,
    /// Shortest round trip, once there is a sample.
    pub min_rtt: Option<Duration>,
}

/// State of a sender's reaction to losses and marks, as Linux divides it (`tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionState {
    /// Nothing is wrong.
    Open,
    /// Duplicate or selective ACKs have come, too few to mean a loss.
    Disorder,
    /// The window was reduced for a congestion mark.
    Reduced,
    /// Losses that ACKs have reported are being repaired.
    Recovery,
    /// Losses that the timer has found are being repaired.
    Loss,
}

impl Endpoint {
    /// The state of the connection. It walks the scoreboard, and is meant for an occasional question.
    #[must_use]
    pub fn info(&self) -> Info {
        let (send, rto, estimate) = (&self.send, self.send.rto(), self.send.estimate());
        Info {
            state: self.state,
            congestion_state: self.congestion_state(),
            cwnd: self.cwnd(),
            ssthresh: self.ssthresh(),
            smss: send.smss(),
            announced_mss: self.config.plain.mss,
            largest_received: self.receive.largest_segment(),
            unacked: self.count(|_| true),
            sacked: self.count(|sent| sent.sacked),
            lost: self.count(is_lost),
            retransmitted: self
                .count(|sent| !sent.sacked && sent.transmissions > 1 && sent.mark == Mark::InFlight),
            reordering: send.dup_threshold(),
            expirations: rto.expirations(),
            probes: send.probes(),
            rto: rto.length(),
            srtt: estimate.map(|estimate| estimate.srtt),
            rttvar: estimate.map(|estimate| estimate.rttvar),
            peer_window: send.peer_window(),
            greatest_peer_window: send.greatest_peer_window(),
            send_buffer: send.send_buffer(),
            offered_window: self.receive.wnd(),
            unsent: self.unsent(),
            acked: self.acked(),
            received: self.received(),
            agreed: self.agreed,
            ecn: self.ecn.counters(),
            syn_data: self.syn_data_taken(),
            delivered: self.delivered_segments(),
            min_rtt: rto.min_rtt(),
        }
    }

    /// A SYN with data takes two places on the scoreboard.
    fn delivered_segments(&self) -> u64 {
        let delivered = self.send.board().delivered_segments();
        let syn_data = !self.passive && self.syn_data_taken();
        delivered - u64::from(syn_data && delivered > 1)
    }

    fn congestion_state(&self) -> CongestionState {
        match self.send.recovery_state() {
            RecoveryState::FastRecovery { .. } => CongestionState::Recovery,
            RecoveryState::AfterTimeout { .. } => CongestionState::Loss,
            RecoveryState::Open if self.ecn.has_reduced_window() => CongestionState::Reduced,
            RecoveryState::Open if self.send.has_gap() => CongestionState::Disorder,
            RecoveryState::Open => CongestionState::Open,
        }
    }

    fn count(&self, counts: impl Fn(&Sent) -> bool) -> u32 {
        let board = self.send.board();
        let segments = (0..board.len()).filter_map(|index| board.get(index)).filter(|sent| counts(sent));
        u32::try_from(segments.count()).unwrap_or(u32::MAX)
    }
}

/// Whether a segment counts as lost, sent again since or not. A segment sent again without being lost, as a probe,
/// counts twice in the pipe.
fn is_lost(sent: &Sent) -> bool {
    !sent.sacked && (sent.mark != Mark::InFlight || (sent.transmissions > 1 && !sent.twice))
}
