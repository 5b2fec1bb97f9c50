//! The state of one direction of a link, as it is shown during a run.

use serde::Serialize;

/// The state of one direction of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinkState {
    /// The link and its direction: "lasthop.down".
    pub name: String,
    /// Bytes that left it since the start.
    pub bytes_out: u64,
    /// Packets that left it since the start.
    pub packets_out: u64,
    /// Packets that it dropped since the start.
    pub drops: u64,
    /// Number of packets in its queue.
    pub waiting: usize,
    /// Their bytes, with framing.
    pub waiting_bytes: u64,
}

impl From<sim::LinkState> for LinkState {
    fn from(state: sim::LinkState) -> Self {
        Self {
            bytes_out: state.counters.bytes_out.0,
            packets_out: state.counters.packets_out,
            drops: state.counters.drops(),
            waiting: state.waiting.0,
            waiting_bytes: state.waiting.1.0,
            name: state.name,
        }
    }
}
