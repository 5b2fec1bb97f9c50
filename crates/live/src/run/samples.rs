//! Samples of the kernel's TCP: the connections of a host's namespace with their `tcp_info`, at an interval.
//! Connections of programs are sampled as those of flows are.

use std::net::SocketAddrV4;
use std::sync::{Mutex, PoisonError};
use std::time::Duration as StdDuration;

use linux::sock_diag::SockDiag;
use linux::tcp_info::{CongestionState, TcpInfo};
use serde::{Deserialize, Serialize};
use tcp::Decision;
use units::{Bytes, Duration, Instant};

use crate::clock::Clock;
use crate::stop::Stop;

/// The samples of a host, in order of time.
#[derive(Debug, Default)]
pub(crate) struct Samples(Mutex<Vec<Sample>>);

/// A connection at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) at: Instant,
    /// The host's own end, then the other.
    pub(crate) ends: [SocketAddrV4; 2],
    pub(crate) info: TcpInfo,
}

impl Samples {
    /// Samples the connections of this thread's namespace until the run is over.
    pub(crate) fn collect(&self, clock: Clock, stop: &Stop) -> Result<(), linux::Error> {
        let socket = SockDiag::open()?;
        loop {
            let connections = socket.connections()?;
            let at = clock.now();
            self.add(connections.into_iter().map(|one| Sample { at, ends: one.ends, info: one.info }));
            if !stop.wait_for(INTERVAL) {
                return Ok(());
            }
        }
    }

    /// Keeps each sample that differs from the previous one of the same connection.
    fn add(&self, samples: impl Iterator<Item = Sample>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for sample in samples {
            let previous = kept.iter().rev().take(REMEMBERED).find(|one| one.ends == sample.ends);
            if previous.is_none_or(|one| one.info != sample.info) {
                kept.push(sample);
            }
        }
    }

    /// Returns the latest sample of each connection that has changed lately; none while samples are being added, so
    /// that the driver does not wait for the host's thread.
    pub(crate) fn latest(&self) -> Vec<Sample> {
        let Ok(kept) = self.0.try_lock() else { return Vec::new() };
        let mut latest: Vec<Sample> = Vec::new();
        for sample in kept.iter().rev().take(REMEMBERED) {
            if latest.iter().all(|one| one.ends != sample.ends) {
                latest.push(*sample);
            }
        }
        latest
    }

    pub(crate) fn take(&self) -> Vec<Sample> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns the samples of a connection's sender as rows of the table `tcp`. The event of a row follows from the change
/// of the congestion state since the previous sample, and has the time of the sample. `accepted` is whether the
/// sender's end accepted the connection.
pub(crate) fn records<'a>(
    samples: impl Iterator<Item = &'a Sample>,
    accepted: bool,
) -> Vec<sim::ObservedRecord> {
    let mut previous = CongestionState::default();
    // Positions count the SYN. The kernel does so only at the end that connects (tcp_snd_una_update() in
    // net/ipv4/tcp_input.c).
    let first = i64::from(accepted);
    let row = |sample: &Sample| {
        let info = sample.info;
        let event = event(previous, info.congestion_state);
        previous = info.congestion_state;
        let mss = u64::from(info.mss);
        let record = tcp::Record {
            at: sample.at,
            event,
            reason: SAMPLED,
            seq: units::Seq(0),
            len: 0,
            cwnd: Bytes(u64::from(info.cwnd) * mss),
            ssthresh: info.ssthresh.map_or(Bytes::MAX, |segments| Bytes(u64::from(segments) * mss)),
            flight: Bytes(u64::from(info.in_flight()) * mss),
            advertised: Bytes(u64::from(info.peer_window)),
            srtt: (info.srtt_us > 0).then(|| Duration::from_micros(u64::from(info.srtt_us))),
            rttvar: (info.srtt_us > 0).then(|| Duration::from_micros(u64::from(info.rttvar_us))),
            rto: Duration::from_micros(u64::from(info.rto_us)),
            phase: phase(&info),
            pipe: Bytes(u64::from(info.in_flight()) * mss),
            model: None,
        };
        sim::ObservedRecord { place: first + info.bytes_acked as i64, record }
    };
    samples.map(row).collect()
}

/// The event between two samples of the congestion state.
fn event(before: CongestionState, now: CongestionState) -> Decision {
    use CongestionState::{Loss, Recovery};
    match (before, now) {
        (from, Loss) if from != Loss => Decision::Timeout,
        (from, Recovery) if from < Recovery => Decision::FastRetransmit,
        (Recovery | Loss, to) if to < Recovery => Decision::Recovered,
        _ => Decision::Ack,
    }
}

/// The sender's phase, by the names of the table `tcp`.
fn phase(info: &TcpInfo) -> &'static str {
    match info.congestion_state {
        CongestionState::Recovery => "fast_recovery",
        CongestionState::Loss => "after_timeout",
        _ if info.ssthresh.is_none_or(|ssthresh| info.cwnd < ssthresh) => "slow_start",
        _ => "congestion_avoidance",
    }
}

/// Interval of the samples: a tick of a kernel's clock at 100 Hz.
const INTERVAL: StdDuration = StdDuration::from_millis(10);
/// Number of latest samples among which the previous one of the same connection is looked for.
const REMEMBERED: usize = 256;
/// The reason of each row.
const SAMPLED: &str = "sampled";

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const END: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1);

    fn sample(at: u64, info: TcpInfo) -> Sample {
        Sample { at: Instant::from_nanos(at), ends: [END, END], info }
    }

    #[test]
    fn a_sample_that_equals_the_previous_one_is_not_kept() {
        let samples = Samples::default();
        let with_cwnd = |at, cwnd| sample(at, TcpInfo { cwnd, ..TcpInfo::default() });
        for one in [with_cwnd(1, 10), with_cwnd(2, 10), with_cwnd(3, 11)] {
            samples.add([one].into_iter());
        }
        assert_eq!(samples.take(), [with_cwnd(1, 10), with_cwnd(3, 11)]);
    }

    #[test]
    fn the_latest_samples_are_one_for_each_connection_and_none_while_samples_are_added() {
        let other = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 2);
        let of_other = Sample { ends: [other, END], ..sample(2, TcpInfo::default()) };
        let latest = sample(3, TcpInfo { cwnd: 9, ..TcpInfo::default() });
        let samples = Samples::default();
        samples.add([sample(1, TcpInfo::default()), of_other, latest].into_iter());
        assert_eq!(samples.latest(), [latest, of_other]);
        let _adding = samples.0.lock();
        assert_eq!(samples.latest(), []);
    }

    #[test]
    fn a_change_of_the_congestion_state_is_the_event_that_caused_it() {
        use CongestionState::{Loss, Open, Recovery};
        let in_state = |congestion_state| sample(0, TcpInfo { congestion_state, ..TcpInfo::default() });
        let samples = [Open, Recovery, Recovery, Open, Loss, Open].map(in_state);
        let events: Vec<_> = records(samples.iter(), false).iter().map(|one| one.record.event.id()).collect();
        assert_eq!(events, ["ack", "fast_retransmit", "ack", "recovered", "timeout", "recovered"]);
    }

    #[test]
    fn positions_count_the_syn_at_either_end() {
        let acked = |bytes_acked| sample(0, TcpInfo { bytes_acked, ..TcpInfo::default() });
        // At the end that connects the kernel counts the SYN among the bytes acknowledged.
        let position = |sample: Sample, accepted| records([sample].iter(), accepted)[0].place;
        assert_eq!([position(acked(1001), false), position(acked(1000), true)], [1001, 1001]);
    }
}
