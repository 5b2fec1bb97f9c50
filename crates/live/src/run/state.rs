//! The state of a run, as who watches it receives it.

use serde::Serialize;

use crate::drive::link_state::LinkState;
use crate::gateway::control_socket::Reload;
use crate::run::samples::Sample;

/// The settings of a run that is watched.
pub struct Watch<'a> {
    /// The name by which `lasthop set` finds the run.
    pub name: String,
    /// Reads the scenario again, with other overrides.
    pub reload: Reload,
    /// Receives the state ten times a second. It is called in the driver's thread, which handles no packet meanwhile.
    pub show: &'a mut dyn FnMut(&RunState),
}

/// The state of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunState {
    /// Seconds since it began.
    pub elapsed_s: f64,
    /// Each direction of each link.
    pub links: Vec<LinkState>,
    /// The connections of flows that a kernel sends. A stack in a process of lasthop's is not sampled.
    pub connections: Vec<Connection>,
    /// The 99th percentile of the lateness of deliveries so far, in milliseconds.
    pub late_p99_ms: f64,
    /// The largest lateness so far, in milliseconds.
    pub late_max_ms: f64,
    /// The changes of links so far.
    pub changes: Vec<LinkChange>,
}

/// A connection of a flow, as its sending kernel sees it. Amounts are in bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Connection {
    /// The name of the flow.
    pub flow: String,
    /// The sender's port.
    pub port: u16,
    /// The state of congestion control: "open", "recovery", …
    pub state: &'static str,
    /// The congestion window.
    pub cwnd: u64,
    /// The slow start threshold; null while it is unset.
    pub ssthresh: Option<u64>,
    /// Data sent and neither acknowledged nor lost.
    pub flight: u64,
    /// The smoothed round-trip time, in milliseconds.
    pub srtt_ms: f64,
    /// The latest estimate of the delivery rate, in bytes per second.
    #[serde(rename = "delivery_rate_Bps")]
    pub delivery_rate_bps: u64,
    /// Bytes acknowledged.
    pub acked: u64,
    /// Retransmissions since the connection began.
    pub retransmissions: u32,
}

/// A change of links during a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkChange {
    /// Time of the run, in seconds.
    pub at_s: f64,
    /// The overrides, "links.lasthop.down.rate=1 Mbit/s".
    pub set: Vec<String>,
}

impl Connection {
    pub(crate) fn new(flow: &str, sample: &Sample) -> Self {
        let info = sample.info;
        let bytes = |segments: u32| u64::from(segments) * u64::from(info.mss);
        Self {
            flow: flow.to_owned(),
            port: sample.ends[0].port(),
            state: info.congestion_state.id(),
            cwnd: bytes(info.cwnd),
            ssthresh: info.ssthresh.map(bytes),
            flight: bytes(info.in_flight()),
            srtt_ms: f64::from(info.srtt_us) / 1e3,
            delivery_rate_bps: info.delivery_rate,
            acked: info.bytes_acked,
            retransmissions: info.retransmissions,
        }
    }
}
