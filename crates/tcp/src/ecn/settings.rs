//! Setting of ECN in a profile, and the mode on which two ends agree.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use units::text::REMEDY;

/// ECN feedback that an end offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnSetting {
    /// None: `false`.
    #[default]
    Off,
    /// Feedback of RFC 3168, one echo a round trip: `true` or `"classic"`.
    Classic,
    /// Feedback of DCTCP (RFC 8257 §3.2), which is negotiated like classic ECN: ECE says of each segment whether it was
    /// marked. Both ends must be set to it.
    Dctcp,
    /// Accurate ECN (RFC 9768), or classic ECN with a peer that knows no other: `"accurate"`.
    Accurate,
}

impl EcnSetting {
    /// Whether any ECN is offered.
    #[must_use]
    pub fn is_on(self) -> bool {
        self != Self::Off
    }
}

impl<'de> Deserialize<'de> for EcnSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match (value.as_bool(), value.as_str()) {
            (Some(false), _) => Ok(Self::Off),
            (Some(true), _) | (_, Some("classic")) => Ok(Self::Classic),
            (_, Some("dctcp")) => Ok(Self::Dctcp),
            (_, Some("accurate")) => Ok(Self::Accurate),
            _ => Err(D::Error::custom(format!(
                "{value} is no ECN feedback{REMEDY}false, true, \"accurate\" or \"dctcp\""
            ))),
        }
    }
}

impl Serialize for EcnSetting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_bool(false),
            Self::Classic => serializer.serialize_bool(true),
            Self::Dctcp => serializer.serialize_str("dctcp"),
            Self::Accurate => serializer.serialize_str("accurate"),
        }
    }
}

impl JsonSchema for EcnSetting {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EcnSetting".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "false; true or \"classic\": RFC 3168; \"accurate\": RFC 9768; \"dctcp\": RFC 8257.",
            "anyOf": [{ "type": "boolean" }, { "enum": ["classic", "accurate", "dctcp"] }],
        })
    }
}

/// Segments that go out as ECN-capable where Accurate ECN is agreed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnCapable {
    /// Data that are sent for the first time (RFC 3168 §6.1.4, §6.1.5).
    #[default]
    NewData,
    /// Every segment but SYN and SYN-ACK, as in Linux (`tcp_ecn_send`); with `l4s` those, too. RFC 8311 §4.3 permits
    /// such experiments.
    All,
}

/// Segments that carry the AccECN option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AccEcnOption {
    /// ACKs without data, where a counter has changed since the last option.
    #[default]
    Acks,
    /// As Linux with `tcp_ecn_option` = 1: the SYN-ACK, the segments after a change of the ECN field, and three in a
    /// round trip.
    Demand,
    /// As Linux with `tcp_ecn_option` = 2, its default: the SYN-ACK, and every segment once the peer has sent the
    /// option.
    Always,
    /// None, as Linux with `tcp_ecn_option` = 0.
    Never,
}

impl AccEcnOption {
    /// Whether every change of the ECN field makes an ACK due, as in Linux (`tcp_ecn_received_counters`), and not only
    /// marks, as RFC 9768 §3.2.2.5.1 demands.
    pub(crate) fn acknowledges_changes(self) -> bool {
        self != Self::Acks
    }

    /// Whether SYN-ACK and data may carry it.
    pub(crate) fn is_on_data(self) -> bool {
        matches!(self, Self::Demand | Self::Always)
    }
}

/// The ECN feedback that two ends have agreed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnFeedback {
    /// None: nothing is marked, queues drop instead.
    #[default]
    Absent,
    /// Feedback of RFC 3168, and of DCTCP.
    Classic,
    /// Accurate ECN (RFC 9768).
    Accurate,
}
