//! The table `sockets`: the state of every connection of every kernel's host, whenever it has changed.

use arrow_array::RecordBatch;
use parquet::Columns;
use units::Duration;

use crate::run::samples::Sample;

/// Makes the table of the samples of all hosts, in order of time. Amounts are in bytes; `ssthresh` is null while it is
/// unset.
pub(crate) fn sockets(samples: &[(String, Vec<Sample>)]) -> (&'static str, RecordBatch) {
    let mut rows: Vec<(&str, &Sample)> = samples
        .iter()
        .flat_map(|(host, samples)| samples.iter().map(move |one| (host.as_str(), one)))
        .collect();
    rows.sort_by_key(|(_, sample)| sample.at);
    let infos = || rows.iter().map(|(_, sample)| sample.info);
    let micros = |micros: u32| Duration::from_micros(u64::from(micros));
    let columns = Columns::default()
        .time("time_ns", rows.iter().map(|(_, sample)| sample.at))
        .text("host", rows.iter().map(|(host, _)| *host))
        .text("local", rows.iter().map(|(_, sample)| sample.ends[0].to_string()))
        .text("remote", rows.iter().map(|(_, sample)| sample.ends[1].to_string()))
        .text("state", infos().map(|info| info.congestion_state.id()))
        .u64("cwnd", infos().map(|info| u64::from(info.cwnd) * u64::from(info.mss)))
        .maybe_u64("ssthresh", infos().map(|info| Some(u64::from(info.ssthresh?) * u64::from(info.mss))))
        .u64("flight", infos().map(|info| u64::from(info.in_flight()) * u64::from(info.mss)))
        .u32("advertised", infos().map(|info| info.peer_window))
        .length("srtt_ns", infos().map(|info| micros(info.srtt_us)))
        .length("rttvar_ns", infos().map(|info| micros(info.rttvar_us)))
        .length("rto_ns", infos().map(|info| micros(info.rto_us)))
        .u32("retransmissions", infos().map(|info| info.retransmissions))
        .u64("delivery_rate_Bps", infos().map(|info| info.delivery_rate))
        .u64("bytes_acked", infos().map(|info| info.bytes_acked))
        .u64("bytes_received", infos().map(|info| info.bytes_received));
    ("sockets", columns.finish())
}
