//! The report of a host on its ends of bulk transfers at the end of a run, from which results are computed.

use serde::{Deserialize, Serialize};
use units::FlowId;
use workload::{Counters, ObservedRecord};

/// A host's report of its end of a bulk transfer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TransferReport {
    /// The flow.
    pub flow: FlowId,
    /// Whether it is the end that sends.
    pub is_sender: bool,
    /// Bytes that the sender wrote, or that the receiver read and checked.
    pub bytes: u64,
    /// Whether both streams have ended.
    pub is_closed: bool,
    /// The stack's own counters.
    pub counters: Option<Counters>,
    /// The decisions of the stack. A report of another machine has none.
    #[serde(skip)]
    pub records: Vec<ObservedRecord>,
}

/// The report on a flow among those of a host.
#[must_use]
pub fn report_of(reports: &[TransferReport], flow: FlowId) -> Option<&TransferReport> {
    reports.iter().find(|report| report.flow == flow)
}
