//! Distributions as written in files: a quantity, a list, or a table of one key.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Distribution, Quantity, sequence};
use registry::Data;

struct DistributionVisitor<Q>(PhantomData<Q>);

impl<'de, Q: Quantity> Visitor<'de> for DistributionVisitor<Q> {
    type Value = Distribution<Q>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {}, a list of them, or a table like {{ uniform = [from, to] }}", Q::schema_name())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Q::parse(text).map(Distribution::constant).map_err(E::custom)
    }

    // A bare number: the quantity's error names the missing unit.
    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Q::deserialize(number.into_deserializer()).map(Distribution::constant)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Q::deserialize(number.into_deserializer()).map(Distribution::constant)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        Q::deserialize(number.into_deserializer()).map(Distribution::constant)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Distribution::Sequence(sequence::Parameters(values)))
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Self::Value, A::Error> {
        registry::read_table(table)
    }
}

impl<'de, Q: Quantity> Deserialize<'de> for Distribution<Q> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DistributionVisitor(PhantomData))
    }
}

impl<Q: Quantity> Serialize for Distribution<Q> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Static(parameters) => parameters.0.serialize(serializer),
            Self::Sequence(parameters) => parameters.0.serialize(serializer),
            _ => {
                let mut table = serializer.serialize_map(Some(1))?;
                self.write(&mut table)?;
                table.end()
            }
        }
    }
}

impl<Q: Quantity> JsonSchema for Distribution<Q> {
    fn schema_name() -> Cow<'static, str> {
        Cow::Owned(format!("{}Distribution", Q::schema_name()))
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<Q>();
        let list = json_schema!({ "type": "array", "items": one, "minItems": 1 });
        let drawn = registry::one_key(Self::members(generator));
        json_schema!({ "description": "how a quantity varies", "anyOf": [one, list, drawn] })
    }
}
