//! The fields of `struct tcp_info`, and the constants for assertions (include/uapi/linux/tcp.h).

use tcp::State;
use tcp::info::{CongestionState, Info};
use units::{Bytes, Duration, Instant};

use super::connection::TestedConnection;
use crate::python::Value;

/// A field of a connection, `tcpi_snd_cwnd`, or a constant, `TCP_CA_Recovery`.
pub(super) fn lookup(connection: Option<&TestedConnection>, now: Instant, name: &str) -> Option<Value> {
    let value = constant(name).or_else(|| field(connection?, now, name.strip_prefix("tcpi_")?));
    value.map(Value::Integer)
}

/// The threshold before there was a loss.
const INFINITE_SSTHRESH: i64 = 0x7fff_ffff;

/// The states of `enum` in include/net/tcp_states.h, from 1.
const CONNECTION_STATES: [&str; 12] = [
    "TCP_ESTABLISHED",
    "TCP_SYN_SENT",
    "TCP_SYN_RECV",
    "TCP_FIN_WAIT1",
    "TCP_FIN_WAIT2",
    "TCP_TIME_WAIT",
    "TCP_CLOSE",
    "TCP_CLOSE_WAIT",
    "TCP_LAST_ACK",
    "TCP_LISTEN",
    "TCP_CLOSING",
    "TCP_NEW_SYN_RECV",
];

fn constant(name: &str) -> Option<i64> {
    let states = ["TCP_CA_Open", "TCP_CA_Disorder", "TCP_CA_CWR", "TCP_CA_Recovery", "TCP_CA_Loss"];
    match name {
        "TCP_INFINITE_SSTHRESH" => Some(INFINITE_SSTHRESH),
        "TCPI_OPT_TIMESTAMPS" => Some(1),
        "TCPI_OPT_SACK" => Some(2),
        "TCPI_OPT_WSCALE" => Some(4),
        "TCPI_OPT_ECN" => Some(8),
        "TCPI_OPT_ECN_SEEN" => Some(16),
        "TCPI_OPT_SYN_DATA" => Some(32),
        _ => (0..)
            .zip(states)
            .chain((1..).zip(CONNECTION_STATES))
            .find(|(_, state)| *state == name)
            .map(|(number, _)| number),
    }
}

fn field(connection: &TestedConnection, now: Instant, name: &str) -> Option<i64> {
    let info = connection.endpoint.info();
    window(&info, connection.gso_size, name)
        .or_else(|| scoreboard(&info, name))
        .or_else(|| times(connection, &info, now, name))
        .or_else(|| counters(connection, &info, name))
}

fn window(info: &Info, gso_size: Option<Bytes>, name: &str) -> Option<i64> {
    Some(match name {
        "state" => state_number(info.state),
        "ca_state" => match info.congestion_state {
            CongestionState::Open => 0,
            CongestionState::Disorder => 1,
            CongestionState::Reduced => 2,
            CongestionState::Recovery => 3,
            CongestionState::Loss => 4,
        },
        "snd_cwnd" => number(info.cwnd.whole(info.smss)),
        "snd_ssthresh" if info.ssthresh == Bytes::MAX => INFINITE_SSTHRESH,
        "snd_ssthresh" => number(info.ssthresh.whole(info.smss)),
        "snd_mss" => number(info.smss.0),
        "advmss" => number(info.announced_mss.0),
        // 536 until a larger segment has come (TCP_MSS_DEFAULT).
        // Of a larger arrival the segments count (tcp_measure_rcv_mss).
        "rcv_mss" => number(info.largest_received.min(gso_size.unwrap_or(Bytes::MAX)).0).max(536),
        "pmtu" => 1500,
        "snd_wnd" => number(info.peer_window.0),
        "rcv_space" | "rcv_wnd" => number(info.offered_window.0),
        "notsent_bytes" => number(info.unsent.0),
        "snd_wscale" => i64::from(info.agreed.send_shift),
        "rcv_wscale" => i64::from(info.agreed.receive_shift),
        "options" => {
            let shifts = info.agreed.send_shift > 0 || info.agreed.receive_shift > 0;
            let flags = [
                (info.agreed.timestamps, 1),
                (info.agreed.sack, 2),
                (shifts, 4),
                (info.agreed.ecn != tcp::EcnFeedback::Absent, 8),
                (info.syn_data, 32),
            ];
            flags.iter().filter(|(on, _)| *on).map(|(_, bit)| bit).sum()
        }
        _ => return None,
    })
}

fn scoreboard(info: &Info, name: &str) -> Option<i64> {
    Some(i64::from(match name {
        "unacked" => info.unacked,
        "sacked" => info.sacked,
        "lost" => info.lost,
        "retrans" => info.retransmitted,
        "reordering" => info.reordering,
        "retransmits" | "backoff" => info.expirations,
        "probes" => info.probes,
        "fackets" => 0,
        _ => return None,
    }))
}

fn times(connection: &TestedConnection, info: &Info, now: Instant, name: &str) -> Option<i64> {
    let counters = &connection.counters;
    let millis = |since: Instant| micros(now.saturating_since(since)) / 1000;
    Some(match name {
        "rto" => micros(info.rto),
        "rtt" => micros(info.srtt.unwrap_or(Duration::ZERO)),
        "min_rtt" => info.min_rtt.map_or(i64::from(u32::MAX), micros),
        "rttvar" => micros(info.rttvar.unwrap_or(Duration::ZERO)),
        "last_data_sent" => millis(counters.last_data_sent),
        "last_data_recv" => millis(counters.last_data_received),
        "last_ack_recv" => millis(counters.last_ack_received),
        "busy_time" => micros(counters.busy.at(now)),
        "rwnd_limited" => micros(counters.window_limited.at(now)),
        "sndbuf_limited" => micros(counters.buffer_limited.at(now)),
        _ => return None,
    })
}

fn counters(connection: &TestedConnection, info: &Info, name: &str) -> Option<i64> {
    let counters = &connection.counters;
    Some(number(match name {
        "segs_out" => counters.segments_out,
        "segs_in" => counters.segments_in,
        "data_segs_out" => counters.data_segments_out,
        "data_segs_in" => counters.data_segments_in,
        "bytes_sent" => counters.bytes_sent.0,
        "bytes_retrans" => counters.bytes_retransmitted.0,
        "total_retrans" => counters.retransmissions,
        "delivered" => info.delivered,
        "delivered_ce" => u64::from(info.ecn.marked_packets),
        "delivered_ce_bytes" => info.ecn.marked.0,
        "delivered_e0_bytes" => info.ecn.capable.0,
        "delivered_e1_bytes" => info.ecn.capable_1.0,
        "bytes_acked" => info.acked.0,
        "bytes_received" => info.received.0,
        _ => return None,
    }))
}

/// The numbers of `enum` in include/net/tcp_states.h.
const fn state_number(state: State) -> i64 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Listen => 10,
        State::Closing => 11,
    }
}

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn micros(time: Duration) -> i64 {
    number(time.as_nanos() / 1000)
}
