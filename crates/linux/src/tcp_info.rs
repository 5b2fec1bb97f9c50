//! `struct tcp_info` (Linux, include/uapi/linux/tcp.h), which only ever grows at its end: what a kernel does not have reads as 0.

use serde::{Deserialize, Serialize};
use tcp::Decision;

/// What is read of it. Amounts are in segments unless they say otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TcpInfo {
    /// The state of congestion control (TCP_CA_Open to TCP_CA_Loss).
    pub(crate) congestion_state: u8,
    pub(crate) rto_us: u32,
    /// The maximum segment size, in bytes.
    pub(crate) mss: u32,
    pub(crate) unacked: u32,
    pub(crate) sacked: u32,
    pub(crate) lost: u32,
    /// Retransmitted and not yet acknowledged.
    pub(crate) retransmitted: u32,
    pub(crate) srtt_us: u32,
    pub(crate) rttvar_us: u32,
    /// None while it is unset.
    pub(crate) ssthresh: Option<u32>,
    pub(crate) cwnd: u32,
    /// Retransmissions since the beginning.
    pub(crate) retransmissions: u32,
    pub(crate) bytes_acked: u64,
    pub(crate) bytes_received: u64,
    /// In bytes per second.
    pub(crate) delivery_rate: u64,
    /// In bytes.
    pub(crate) peer_window: u32,
}

impl TcpInfo {
    /// Reads the structure.
    pub(crate) fn read(info: &[u8]) -> Self {
        let word = |at: usize| {
            info.get(at..at + 4).map_or(0, |bytes| u32::from_ne_bytes(bytes.try_into().expect("4 bytes")))
        };
        let long = |at: usize| {
            info.get(at..at + 8).map_or(0, |bytes| u64::from_ne_bytes(bytes.try_into().expect("8 bytes")))
        };
        Self {
            congestion_state: info.get(1).copied().unwrap_or(0),
            rto_us: word(8),
            mss: word(16),
            unacked: word(24),
            sacked: word(28),
            lost: word(32),
            retransmitted: word(36),
            srtt_us: word(68),
            rttvar_us: word(72),
            ssthresh: Some(word(76)).filter(|segments| *segments < UNSET),
            cwnd: word(80),
            retransmissions: word(100),
            bytes_acked: long(120),
            bytes_received: long(128),
            delivery_rate: long(160),
            peer_window: word(228),
        }
    }

    /// Returns how many segments are in the network (tcp_packets_in_flight() in include/net/tcp.h).
    pub(crate) fn in_flight(&self) -> u32 {
        (self.unacked + self.retransmitted).saturating_sub(self.sacked + self.lost)
    }

    /// Returns the sender's phase, by the names of the table `tcp`.
    pub(crate) fn phase(&self) -> &'static str {
        match self.congestion_state {
            RECOVERY => "fast_recovery",
            LOSS => "after_timeout",
            _ if self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh) => "slow_start",
            _ => "congestion_avoidance",
        }
    }

    /// Returns what has happened since an earlier sample, as far as the state tells.
    pub(crate) fn event_since(&self, before: &Self) -> Decision {
        match (before.congestion_state, self.congestion_state) {
            (from, LOSS) if from != LOSS => Decision::Timeout,
            (from, RECOVERY) if from < RECOVERY => Decision::FastRetransmit,
            (RECOVERY | LOSS, to) if to < RECOVERY => Decision::Recovered,
            _ => Decision::Ack,
        }
    }

    /// Returns the name of the congestion state, as Linux has it.
    pub(crate) fn state(&self) -> &'static str {
        match self.congestion_state {
            0 => "open",
            1 => "disorder",
            2 => "cwr",
            RECOVERY => "recovery",
            _ => "loss",
        }
    }
}

/// TCP_CA_Recovery and TCP_CA_Loss.
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;
/// TCP_INFINITE_SSTHRESH (include/net/tcp.h).
const UNSET: u32 = 0x7fff_ffff;
