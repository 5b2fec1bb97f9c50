//! `struct tcp_info` (Linux, include/uapi/linux/tcp.h). It only ever grows at its end; a field that the kernel does not
//! have reads as 0, or as `None` where 0 would be a value.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::libc;
use serde::{Deserialize, Serialize};

/// The state of a connection. Amounts are in segments unless the field says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpInfo {
    /// The state of congestion control (tcpi_ca_state).
    pub congestion_state: CongestionState,
    /// The retransmission timeout, in microseconds.
    pub rto_us: u32,
    /// The maximum segment size, in bytes.
    pub mss: u32,
    /// Segments sent and not yet acknowledged cumulatively.
    pub unacked: u32,
    /// Segments acknowledged selectively.
    pub sacked: u32,
    /// Segments that count as lost.
    pub lost: u32,
    /// Segments retransmitted and not yet acknowledged.
    pub retransmitted: u32,
    /// The smoothed round-trip time, in microseconds; 0 before the first sample.
    pub srtt_us: u32,
    /// The variation of the round-trip time, in microseconds.
    pub rttvar_us: u32,
    /// The slow start threshold; `None` while it is unset.
    pub ssthresh: Option<u32>,
    /// The congestion window.
    pub cwnd: u32,
    /// Retransmissions since the connection began.
    pub retransmissions: u32,
    /// Bytes acknowledged; the SYN counts as one at the end that connects.
    pub bytes_acked: u64,
    /// Bytes received in order.
    pub bytes_received: u64,
    /// The latest estimate of the delivery rate, in bytes per second.
    pub delivery_rate: u64,
    /// The window that the peer offers, in bytes.
    pub peer_window: u32,
}

/// The state of a sender's congestion control (`enum tcp_ca_state`), in the kernel's order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CongestionState {
    /// Nothing is wrong.
    #[default]
    Open,
    /// A duplicate or selective ACK has come.
    Disorder,
    /// The window is being reduced without a loss.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// Recovery after a timeout.
    Loss,
}

/// The sending kernel's counters of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCounts {
    /// Data segments sent, retransmissions included (tcpi_data_segs_out).
    pub data_segments: u32,
    /// Segments retransmitted (tcpi_total_retrans).
    pub retransmissions: u32,
    /// Retransmissions that a D-SACK reported as unnecessary (tcpi_dsack_dups).
    pub dsacked: u32,
    /// Retransmission timeouts (tcpi_total_rto); `None` on a kernel before Linux 6.7.
    pub timeouts: Option<u16>,
    /// The maximum segment size in use, in bytes (tcpi_snd_mss).
    pub mss: u32,
    /// The smoothed round-trip time at the end, in microseconds (tcpi_rtt).
    pub srtt_us: u32,
}

impl TcpInfo {
    /// Reads the structure.
    #[must_use]
    pub fn read(info: &[u8]) -> Self {
        let fields = Fields(info);
        Self {
            congestion_state: CongestionState::of(fields.byte(1)),
            rto_us: fields.word(8),
            mss: fields.word(SND_MSS),
            unacked: fields.word(24),
            sacked: fields.word(28),
            lost: fields.word(32),
            retransmitted: fields.word(36),
            srtt_us: fields.word(RTT),
            rttvar_us: fields.word(72),
            ssthresh: Some(fields.word(76)).filter(|segments| *segments < INFINITE_SSTHRESH),
            cwnd: fields.word(80),
            retransmissions: fields.word(TOTAL_RETRANS),
            bytes_acked: fields.long(120),
            bytes_received: fields.long(128),
            delivery_rate: fields.long(160),
            peer_window: fields.word(228),
        }
    }

    /// Returns the number of segments in the network (tcp_packets_in_flight() in include/net/tcp.h).
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        (self.unacked + self.retransmitted).saturating_sub(self.sacked + self.lost)
    }
}

impl CongestionState {
    fn of(number: u8) -> Self {
        match number {
            0 => Self::Open,
            1 => Self::Disorder,
            2 => Self::Cwr,
            3 => Self::Recovery,
            _ => Self::Loss,
        }
    }

    /// Returns the kernel's name of the state in small letters.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Disorder => "disorder",
            Self::Cwr => "cwr",
            Self::Recovery => "recovery",
            Self::Loss => "loss",
        }
    }
}

impl KernelCounts {
    /// Reads the counters of a connection (TCP_INFO, tcp(7)).
    ///
    /// # Errors
    /// If the kernel refuses the call.
    pub fn of(stream: &TcpStream) -> io::Result<Self> {
        let mut info = [0_u8; TCP_INFO_LEN];
        let mut length = TCP_INFO_LEN as libc::socklen_t;
        // SAFETY: `info` is writable for `length` bytes, and the kernel writes no more than that.
        let result = unsafe {
            libc::getsockopt(
                stream.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                info.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        Errno::result(result)?;
        Ok(Self::read(&info[..length as usize]))
    }

    /// Adds the counters of a later connection. The segment size and the round-trip time become those of the later one.
    pub fn add(&mut self, later: Self) {
        self.data_segments += later.data_segments;
        self.retransmissions += later.retransmissions;
        self.dsacked += later.dsacked;
        self.timeouts = match (self.timeouts, later.timeouts) {
            (Some(before), Some(more)) => Some(before.saturating_add(more)),
            (before, more) => before.or(more),
        };
        (self.mss, self.srtt_us) = (later.mss, later.srtt_us);
    }

    fn read(info: &[u8]) -> Self {
        let fields = Fields(info);
        Self {
            data_segments: fields.word(156),
            retransmissions: fields.word(TOTAL_RETRANS),
            dsacked: fields.word(216),
            timeouts: fields.half(240),
            mss: fields.word(SND_MSS),
            srtt_us: fields.word(RTT),
        }
    }
}

/// The bytes of the structure, as far as the kernel has filled it in. Numbers are in the byte order of the machine.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn at<const LEN: usize>(&self, offset: usize) -> Option<[u8; LEN]> {
        self.0.get(offset..)?.first_chunk().copied()
    }

    fn byte(&self, offset: usize) -> u8 {
        self.at(offset).map_or(0, u8::from_ne_bytes)
    }

    fn half(&self, offset: usize) -> Option<u16> {
        self.at(offset).map(u16::from_ne_bytes)
    }

    fn word(&self, offset: usize) -> u32 {
        self.at(offset).map_or(0, u32::from_ne_bytes)
    }

    fn long(&self, offset: usize) -> u64 {
        self.at(offset).map_or(0, u64::from_ne_bytes)
    }
}

/// Offsets of fields that both readers use: tcpi_snd_mss, tcpi_rtt, tcpi_total_retrans.
const SND_MSS: usize = 16;
const RTT: usize = 68;
const TOTAL_RETRANS: usize = 100;
/// TCP_INFINITE_SSTHRESH (include/net/tcp.h).
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
/// Bytes for `struct tcp_info`: more than current kernels return.
const TCP_INFO_LEN: usize = 512;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener};

    use super::*;

    #[test]
    fn a_field_that_the_kernel_does_not_have_reads_as_zero_or_none() {
        let info = TcpInfo::read(&[0; 104]);
        assert_eq!((info.bytes_acked, info.peer_window), (0, 0));
        assert_eq!(KernelCounts::read(&[0; 240]).timeouts, None);
        assert_eq!(KernelCounts::read(&[0; 242]).timeouts, Some(0));
    }

    #[test]
    fn a_threshold_that_is_infinite_is_unset() {
        let mut bytes = [0; 104];
        bytes[76..80].copy_from_slice(&INFINITE_SSTHRESH.to_ne_bytes());
        assert_eq!(TcpInfo::read(&bytes).ssthresh, None);
        bytes[76..80].copy_from_slice(&12_u32.to_ne_bytes());
        assert_eq!(TcpInfo::read(&bytes).ssthresh, Some(12));
    }

    #[test]
    fn what_is_in_flight_is_neither_acknowledged_nor_lost() {
        let info = TcpInfo { unacked: 10, sacked: 3, lost: 2, retransmitted: 1, ..TcpInfo::default() };
        assert_eq!(info.in_flight(), 6);
    }

    #[test]
    fn states_are_in_the_kernels_order() {
        let names: Vec<_> = (0..=4).map(|number| CongestionState::of(number).id()).collect();
        assert_eq!(names, ["open", "disorder", "cwr", "recovery", "loss"]);
        assert!(CongestionState::Cwr < CongestionState::Recovery);
    }

    #[test]
    fn the_kernel_counts_what_was_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address: SocketAddr = listener.local_addr().unwrap();
        let mut sender = TcpStream::connect(address).unwrap();
        let mut receiver = listener.accept().unwrap().0;
        sender.write_all(&[7; 300]).unwrap();
        receiver.read_exact(&mut [0; 300]).unwrap();
        let counts = KernelCounts::of(&sender).unwrap();
        assert_eq!((counts.data_segments, counts.retransmissions, counts.timeouts), (1, 0, Some(0)));
        assert!(counts.mss > 0, "{counts:?}");
    }

    #[test]
    fn counters_add_up_and_the_latest_segment_size_stays() {
        let mut sum = KernelCounts { data_segments: 1, timeouts: None, mss: 500, ..KernelCounts::default() };
        sum.add(KernelCounts { data_segments: 2, timeouts: Some(3), mss: 600, ..KernelCounts::default() });
        assert_eq!((sum.data_segments, sum.timeouts, sum.mss), (3, Some(3), 600));
    }
}
