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
