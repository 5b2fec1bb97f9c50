//! The quantities as `serde` and `schemars` types, by their text.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

use super::quantity::{BYTES, DURATION, PACKETS, Quantity, RATE, SEGMENTS};
use super::{
    Packets, PacketsOrBytes, Probability, QueueLimit, REMEDY, Segments, SegmentsOrBytes, UnitError,
    parse_bytes, parse_duration, parse_packets, parse_rate, parse_segments, write_bytes, write_duration,
    write_rate,
};
use crate::{Bytes, Duration, Rate};

/// Reads a text; meets a bare number with the advice to give its unit.
struct TextVisitor<T> {
    quantity: &'static Quantity,
    parse: fn(&str) -> Result<T, UnitError>,
}

impl<T> TextVisitor<T> {
    fn bare<E: Error>(&self, number: impl fmt::Display) -> E {
        E::custom(self.quantity.no_unit(&number.to_string()))
    }
}

impl<T> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} like {}", self.quantity.what, self.quantity.example)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        Err(self.bare(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        Err(self.bare(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        Err(self.bare(number))
    }
}

/// Makes a quantity a `serde` and `schemars` type: how it is read, how it is written, its units.
macro_rules! by_text {
    ($type:ty, $name:literal, $parse:expr, $write:expr, $quantities:expr) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let quantities: &'static [Quantity] = $quantities;
                let visitor = TextVisitor { quantity: &quantities[0], parse: $parse };
                // A binary format does not describe its values: the visitor has to ask for the text.
                match deserializer.is_human_readable() {
                    true => deserializer.deserialize_any(visitor),
                    false => deserializer.deserialize_str(visitor),
                }
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let write: fn($type) -> String = $write;
                serializer.serialize_str(&write(*self))
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                Cow::Borrowed($name)
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                text_schema($quantities)
            }
        }
    };
}

by_text!(Duration, "Duration", parse_duration, write_duration, &[DURATION]);
by_text!(Bytes, "Bytes", parse_bytes, write_bytes, &[BYTES]);
by_text!(Rate, "Rate", parse_rate, write_rate, &[RATE]);
by_text!(Packets, "Packets", |text| parse_packets(text).map(Packets), |count| count.to_string(), &[PACKETS]);
by_text!(
    Segments,
    "Segments",
    |text| parse_segments(text).map(Segments),
    |count| count.to_string(),
    &[SEGMENTS]
);
by_text!(
    PacketsOrBytes,
    "PacketsOrBytes",
    PacketsOrBytes::parse,
    |limit| limit.to_string(),
    &[PACKETS, BYTES]
);
by_text!(QueueLimit, "QueueLimit", QueueLimit::parse, |limit| limit.to_string(), &[PACKETS, BYTES, DURATION]);
by_text!(
    SegmentsOrBytes,
    "SegmentsOrBytes",
    SegmentsOrBytes::parse,
    |window| window.to_string(),
    &[SEGMENTS, BYTES]
);

fn text_schema(quantities: &[Quantity]) -> Schema {
    let described: Vec<String> =
        quantities.iter().map(|quantity| format!("a {} like {}", quantity.what, quantity.example)).collect();
    let patterns: Vec<String> = quantities.iter().map(Quantity::pattern).collect();
    json_schema!({ "type": "string", "description": described.join(", or "), "pattern": patterns.join("|") })
}

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = f64::deserialize(deserializer)?;
        Self::new(number).ok_or_else(|| {
            D::Error::custom(format!("{number} is not a probability{REMEDY}write a number from 0 to 1"))
        })
    }
}

impl Serialize for Probability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.get())
    }
}

impl JsonSchema for Probability {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Probability")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "maximum": 1, "description": "a number from 0 to 1" })
    }
}
