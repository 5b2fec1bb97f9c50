//! Settings of a host with DCCP.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use units::text::Packets;

/// Settings of a host whose stack is DCCP; without them, the defaults of RFC 4340 to 4342.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DccpSettings {
    /// The congestion control of the data that the host sends: 2 for a window as TCP's (RFC 4341), 3 for TFRC, a steady
    /// rate (RFC 4342).
    pub ccid: Ccid,
    /// Data packets for which CCID 2 asks one acknowledgment (Ack Ratio, RFC 4340 §11.3). Without it, 2 packets at
    /// first, which the sender then adapts to the losses of acknowledgments (RFC 4341 §6.1.2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_ratio: Option<Packets>,
    /// The Sequence Window (RFC 4340 §7.5.2): packets from 32 on. Without it, 100 packets at first, and five times the
    /// packets of a round trip where those are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence_window: Option<Packets>,
    /// Whether the host asks to send short sequence numbers, of 24 bits instead of 48: 4 bytes less in a Data packet, 8
    /// in an Ack (RFC 4340 §7.6.1).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub short_sequence_numbers: bool,
    /// Whether packets are ECN-capable (RFC 4340 §12). The ECN nonce is not used (RFC 8311).
    #[serde(skip_serializing_if = "is_true")]
    pub ecn: bool,
    /// Datagrams that wait at the sender until its congestion control lets them go; more are refused. The default is
    /// that of Linux, net.dccp.default.tx_qlen.
    pub send_queue: Packets,
}

/// A congestion control of DCCP, by its number (RFC 4340 §10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum Ccid {
    /// CCID 2, a window as TCP's (RFC 4341); the default of RFC 4340 §10.
    #[default]
    TcpLike,
    /// CCID 3, TFRC (RFC 4342).
    Tfrc,
}

impl DccpSettings {
    /// The defaults.
    pub const DEFAULT: Self = Self {
        ccid: Ccid::TcpLike,
        ack_ratio: None,
        sequence_window: None,
        short_sequence_numbers: false,
        ecn: true,
        send_queue: Packets(5),
    };

    /// The first key whose value cannot be, with the reason and the remedy.
    #[must_use]
    pub fn wrong(&self) -> Option<[&'static str; 3]> {
        if self.ack_ratio.is_some_and(|ratio| !(1..=u64::from(u16::MAX)).contains(&ratio.0)) {
            return Some(["ack_ratio", "no Ack Ratio is this (RFC 4340 §11.3)", "write 1 to 65535 packets"]);
        }
        if self.ack_ratio.is_some() && self.ccid == Ccid::Tfrc {
            let message =
                "CCID 3 asks for acknowledgments by round trips, and has no Ack Ratio (RFC 4342 §6)";
            return Some(["ack_ratio", message, "leave it out, or write ccid = 2"]);
        }
        if self.sequence_window.is_some_and(|window| !WINDOWS.contains(&window.0)) {
            let message = "no Sequence Window is this wide (RFC 4340 §7.5.2)";
            return Some(["sequence_window", message, "write 32 to 70368744177663 packets"]);
        }
        if !(1..=LONGEST_QUEUE).contains(&self.send_queue.0) {
            return Some(["send_queue", "no queue has this length", "write 1 to 100000 packets"]);
        }
        None
    }
}

impl Default for DccpSettings {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl TryFrom<u8> for Ccid {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        match number {
            2 => Ok(Self::TcpLike),
            3 => Ok(Self::Tfrc),
            other => Err(format!("there is no CCID {other} here; write 2 (a window as TCP's) or 3 (TFRC)")),
        }
    }
}

impl From<Ccid> for u8 {
    fn from(ccid: Ccid) -> Self {
        match ccid {
            Ccid::TcpLike => 2,
            Ccid::Tfrc => 3,
        }
    }
}

impl JsonSchema for Ccid {
    fn schema_name() -> Cow<'static, str> {
        "Ccid".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A congestion control of DCCP, by its number (RFC 4340 §10).",
            "enum": [2, 3],
        })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_true(value: &bool) -> bool {
    *value
}

/// §7.5.2: from Wmin = 32 to Wmax = 2⁴⁶ − 1.
const WINDOWS: std::ops::RangeInclusive<u64> = 32..=(1 << 46) - 1;
/// More than any link holds.
const LONGEST_QUEUE: u64 = 100_000;
