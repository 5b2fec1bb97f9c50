//! The link keys of a template: one link, or several that are used in turn.

use std::borrow::Cow;
use std::fmt;

use link::ConfigError;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use units::Bytes;
use units::text::REMEDY;

use super::{Keys, check_count};

/// The link at a place of a topology: a table with the keys `preset`, `mtu`, `mtu_known`, `down` and `up` of a
/// scenario's link, or a list of such tables, used in turn repeatedly. Without `up` and `preset`, `up` equals `down`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Links {
    /// The same in every place.
    Same(Keys),
    /// In turn, at least one.
    InTurn(Vec<Keys>),
}

impl Links {
    /// Number of links to use in turn.
    pub(super) fn count(&self) -> usize {
        match self {
            Self::Same(_) => 1,
            Self::InTurn(list) => list.len(),
        }
    }

    /// Number of links in a row: the template's `hops`, or the number of links given.
    pub(super) fn in_a_row(&self, hops: Option<u32>) -> u32 {
        hops.unwrap_or(self.count() as u32)
    }

    /// Refuses a row of a length that there cannot be; `key` is the template's for these links.
    pub(super) fn check_row(&self, hops: Option<u32>, key: &str) -> Result<(), ConfigError> {
        check_count(if hops.is_some() { "hops" } else { key }, self.in_a_row(hops))
    }
}

impl Default for Links {
    /// Links that take no time.
    fn default() -> Self {
        Self::Same(Keys::new())
    }
}

impl<'de> Deserialize<'de> for Links {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LinksVisitor)
    }
}

struct LinksVisitor;

impl<'de> Visitor<'de> for LinksVisitor {
    type Value = Links;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Links, A::Error> {
        Keys::deserialize(MapAccessDeserializer::new(map)).map(Links::Same)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Links, A::Error> {
        let list: Vec<Keys> = Vec::deserialize(SeqAccessDeserializer::new(seq))?;
        if list.is_empty() {
            return Err(A::Error::custom(format!("there is no link in the list{REMEDY}write {EXPECTED}")));
        }
        Ok(Links::InTurn(list))
    }
}

const EXPECTED: &str = "a table like { down = { rate = \"1 Mbit/s\" } }, or a list of such";

/// A link in a topology: the keys of a link of the scenario, without its name and ends.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct LinkOfTopology {
    /// A named link whose keys apply where this one has none: the name of a preset, or a path to one.
    preset: Option<String>,
    /// Maximum size of a packet, IP header included. Default: 1500 bytes, as on Ethernet (RFC 894).
    mtu: Option<Bytes>,
    /// Whether the hosts know the link's `mtu`. If not, they send packets of 1500 bytes, and the link drops longer ones
    /// than its `mtu` without a word. Default: true.
    mtu_known: Option<bool>,
    /// The direction from left to right.
    #[serde(default)]
    down: link::Config,
    /// The direction from right to left; without it and without a preset, as `down`.
    up: Option<link::Config>,
}

impl JsonSchema for Links {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Links")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<LinkOfTopology>();
        json_schema!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
    }
}
