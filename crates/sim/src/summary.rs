//! The summary of a run: the object that `lasthop run --json` prints.
//!
//! Its keys are only ever added, and stand in the order of these structs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cell_summary::CellSummary;
use crate::measure::{FlowMeasures, FlowSpan, LinkMeasures, LinkSpan};

/// The results of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Name of the scenario.
    pub scenario: String,
    /// Master seed.
    pub seed: u64,
    /// Clock of the run.
    pub clock: Clock,
    /// Time at which the run ended, in its own time.
    pub stopped_s: f64,
    /// Reason for its end.
    pub stopped_by: String,
    /// One for each flow, in the order of the scenario.
    pub flows: Vec<FlowSummary>,
    /// Two for each link, down and up.
    pub links: Vec<LinkSummary>,
    /// One for each shared channel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<CellSummary>,
    /// One for each proxy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proxies: Vec<ProxySummary>,
}

/// What a proxy did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProxySummary {
    /// Its name.
    pub proxy: String,
    /// Its kind: "snoop", "split", …
    pub kind: String,
    /// The node at which it stands.
    pub node: String,
    /// The link that it serves.
    pub link: String,
    /// Its totals by name.
    pub counts: BTreeMap<String, u64>,
}

/// The clock that a run followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// From event to event.
    Virtual,
    /// The wall clock.
    Real,
}

/// The results of one flow. Counts are the data sender's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowSummary {
    /// Its name.
    pub flow: String,
    /// The host that sent.
    pub from: String,
    /// The host that received.
    pub to: String,
    /// Bytes of the stream that the sender knows to have arrived.
    pub bytes: u64,
    /// From the first SYN sent to the last ACK received by the sender, which is the ACK of its FIN
    /// if the flow completed; null if none came.
    pub elapsed_s: Option<f64>,
    /// `bytes` / `elapsed_s`, in bytes per second.
    #[serde(rename = "throughput_Bps")]
    pub throughput_bps: Option<f64>,
    /// Segments with data, retransmissions among them.
    pub segments_sent: u64,
    /// Segments that were sent again (data, SYN or FIN).
    pub retransmissions: u64,
    /// Retransmissions of which every byte had an earlier copy that was not lost.
    pub unnecessary_retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Timeouts of segments that were not lost.
    pub spurious_timeouts: u64,
    /// Entries into fast retransmit.
    pub fast_retransmits: u64,
    /// Whether all data and the FIN were acknowledged, and the receiver read every byte.
    pub completed: bool,
    /// Time at which the milestones were reached.
    pub milestones: Vec<MilestoneSummary>,
    /// Needless retransmissions by cause.
    pub causes: BTreeMap<String, u64>,
    /// Bytes that the receiving program read.
    #[serde(default)]
    pub received: u64,
    /// Packets that the receiving end sent: acknowledgments, if it sends no data of its own.
    #[serde(default)]
    pub acks: u64,
    /// Their bytes, IP header included.
    #[serde(default)]
    pub ack_bytes: u64,
    /// Connections that it opened.
    #[serde(default)]
    pub connections: u64,
    /// Measures of its transfers and datagrams.
    #[serde(flatten)]
    pub measures: FlowMeasures,
    /// Activity of the flow in each window of the scenario.
    #[serde(default)]
    pub windows: Vec<FlowSpan>,
}

/// Time at which a milestone was reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MilestoneSummary {
    /// The amount.
    pub bytes: u64,
    /// From the first SYN to the ACK that covers the amount; null if it never came.
    pub elapsed_s: Option<f64>,
    /// Retransmissions until then.
    pub retransmissions: u64,
}

/// What one direction of a link with compression or stuffing sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WireSummary {
    /// Packets with compressed headers.
    pub compressed: u64,
    /// Packets with all fields of their headers, or all that change.
    pub refreshes: u64,
    /// Packets with headers as they came.
    pub plain: u64,
    /// Packets that the decompressor discarded; among the `error_drops`.
    pub decompressor_drops: u64,
    /// Octets that stuffing added.
    pub escaped_bytes: u64,
    /// Bytes sent, with framing, compressed headers and stuffing.
    pub wire_bytes: u64,
    /// Bytes of headers among them.
    pub header_bytes: u64,
    /// Bytes that the decompressor sent back.
    pub feedback_bytes: u64,
}

/// The results of one direction of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkSummary {
    /// The link's name.
    pub link: String,
    /// "down" or "up".
    pub direction: String,
    /// Packets that arrived at it, those among them that were longer than its MTU.
    pub packets_in: u64,
    /// Packets that left it.
    pub packets_out: u64,
    /// Packets that its queue refused, or dropped later.
    pub queue_drops: u64,
    /// Packets that it lost beyond its queue: to errors, scripts, outages, their age, the link layer's giving up,
    /// resets or handovers.
    pub error_drops: u64,
    /// The longest queue, in packets.
    pub queue_max: u64,
    /// Packets that the output dropper took.
    pub dropper_drops: u64,
    /// Packets that were longer than the link's MTU.
    pub oversize_drops: u64,
    /// Packets still on the link when the run ended.
    pub packets_inside: u64,
    /// Headers and octets on the wire, where the link compresses headers or stuffs octets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<WireSummary>,
    /// Measures of the whole run.
    #[serde(flatten)]
    pub measures: LinkMeasures,
    /// Activity of the direction in each window of the scenario.
    #[serde(default)]
    pub windows: Vec<LinkSpan>,
}
