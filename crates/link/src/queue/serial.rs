//! How disciplines stand in files: a name, or a table of one key.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Discipline, ENTRIES, Entry};

struct DisciplineVisitor;

impl<'de> Visitor<'de> for DisciplineVisitor {
    type Value = Discipline;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a queue discipline: its name, or a table like { red = { … } }")
    }

    fn visit_str<E: Error>(self, id: &str) -> Result<Discipline, E> {
        let no_parameters = MapDeserializer::new(std::iter::empty::<(&str, &str)>());
        Discipline::read(id, no_parameters)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Discipline, A::Error> {
        let Some(id) = table.next_key::<String>()? else {
            return Err(A::Error::custom(format!("the discipline has no name; {}", choices())));
        };
        let discipline = table.next_value_seed(Parameters(&id))?;
        match table.next_key::<String>()? {
            None => Ok(discipline),
            Some(second) => Err(A::Error::custom(format!(
                "\"{id}\" and \"{second}\" are two disciplines; write one of them"
            ))),
        }
    }
}

/// The parameters of the discipline of this name.
struct Parameters<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Parameters<'_> {
    type Value = Discipline;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Discipline, D::Error> {
        Discipline::read(self.0, deserializer)
    }
}

impl<'de> Deserialize<'de> for Discipline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DisciplineVisitor)
    }
}

impl Serialize for Discipline {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if *self == Self::default() {
            return serializer.serialize_str(self.id());
        }
        let mut table = serializer.serialize_map(Some(1))?;
        self.write(&mut table)?;
        table.end()
    }
}

impl JsonSchema for Discipline {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Discipline")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = ENTRIES.iter().map(|entry| entry.id).collect();
        let mut choices = vec![json_schema!({ "type": "string", "enum": names })];
        choices.extend(Self::schemas(generator));
        json_schema!({ "description": "who is dropped from the queue, and when", "anyOf": choices })
    }
}

/// The schema of a table whose only key is the entry's name.
pub(super) fn one_key(entry: &Entry, parameters: &Schema) -> Schema {
    let id = entry.id;
    json_schema!({
        "type": "object",
        "description": entry.summary,
        "properties": { id: parameters },
        "required": [id],
        "additionalProperties": false,
    })
}

/// The error for a name that is not in the list.
pub(super) fn unknown<E: Error>(id: &str) -> E {
    E::custom(format!("\"{id}\" is not a queue discipline; {}", choices()))
}

fn choices() -> String {
    let ids: Vec<&str> = ENTRIES.iter().map(|entry| entry.id).collect();
    format!("write one of {}", ids.join(", "))
}
