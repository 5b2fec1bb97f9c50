//! Registries: lists of things to choose from, each of which stands in files as a table of one key, its name:
//! `{ gilbert-elliott = { … } }`, or as its name alone where it has no parameters, or all of them have defaults.
//!
//! `registry!` declares the modules, the type of the choice and the list; this file reads, writes and describes it. A
//! member is one file, with its `ENTRY`, its `Parameters` and their behaviour, and one line in the list.

use std::fmt;
use std::marker::PhantomData;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::value::MapDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};

/// One member of a registry, as lists and forms show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name in files.
    pub id: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// How it is written in a file.
    pub example: &'static str,
    /// The RFC or paper that it comes from.
    pub source: &'static str,
}

/// A choice from a list.
pub trait Listed: Sized {
    /// What a member is called: "error model".
    const NOUN: &'static str;
    /// The list.
    const LIST: &'static [Entry];

    /// Reads the parameters of the one of this name, which is in the list.
    fn read<'de, D: Deserializer<'de>>(id: &str, parameters: D) -> Result<Self, D::Error>;

    /// The schema of each one's table, in the order of the list.
    fn schemas(generator: &mut SchemaGenerator) -> Vec<Schema>;
}

/// The modules of the members, the type of a choice, its names in files, its schema and the list of entries.
#[macro_export]
macro_rules! registry {
    (
        $(#[$outer:meta])* $name:ident, a $noun:literal of dyn $setting:path:
        $($variant:ident = $module:ident,)*
    ) => {
        $(pub mod $module;)*

        $(#[$outer])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $name {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $variant($module::Parameters),)*
        }

        /// All there are, in the order of the documentation.
        pub const ENTRIES: &[$crate::registry::Entry] = &[$($module::ENTRY),*];

        impl $name {
            fn setting(&self) -> &dyn $setting {
                match self { $(Self::$variant(parameters) => parameters,)* }
            }

            #[allow(dead_code, reason = "not every list has parameters that are completed after they were read")]
            fn setting_mut(&mut self) -> &mut dyn $setting {
                match self { $(Self::$variant(parameters) => parameters,)* }
            }

            /// Its name in files.
            #[must_use]
            pub const fn id(&self) -> &'static str {
                match self { $(Self::$variant(_) => $module::ENTRY.id,)* }
            }
        }

        impl $crate::registry::Listed for $name {
            const NOUN: &'static str = $noun;
            const LIST: &'static [$crate::registry::Entry] = ENTRIES;

            fn read<'de, D: serde::Deserializer<'de>>(id: &str, parameters: D) -> Result<Self, D::Error> {
                $(if id == $module::ENTRY.id {
                    return serde::Deserialize::deserialize(parameters).map(Self::$variant);
                })*
                Err($crate::registry::unknown::<Self, _>(id))
            }

            fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<schemars::Schema> {
                vec![$($crate::registry::one_key(
                    &$module::ENTRY,
                    &generator.subschema_for::<$module::Parameters>(),
                ),)*]
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::registry::deserialize(deserializer)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                match self {$(
                    // Without parameters the name says all.
                    Self::$variant(_) if std::mem::size_of::<$module::Parameters>() == 0 => {
                        serializer.serialize_str(self.id())
                    }
                    Self::$variant(parameters) => {
                        let mut table = serializer.serialize_map(Some(1))?;
                        table.serialize_entry(self.id(), parameters)?;
                        table.end()
                    }
                )*}
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed(stringify!($name))
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::registry::schema::<Self>(generator)
            }
        }
    };
}

/// The `Parameters` of a member that has none.
#[macro_export]
macro_rules! no_parameters {
    () => {
        /// It has none.
        #[derive(
            Clone,
            Copy,
            Debug,
            Default,
            PartialEq,
            Eq,
            serde::Serialize,
            serde::Deserialize,
            schemars::JsonSchema,
        )]
        #[serde(deny_unknown_fields)]
        pub struct Parameters {}
    };
}

/// Reads a choice: a table of one key, or the name alone.
///
/// # Errors
/// A name that is not in the list, and parameters that are not that one's.
pub fn deserialize<'de, T: Listed, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(Choice(PhantomData))
}

/// The schema of a choice.
pub fn schema<T: Listed>(generator: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = T::LIST.iter().map(|entry| entry.id).collect();
    let mut choices = vec![json_schema!({ "type": "string", "enum": names })];
    choices.extend(T::schemas(generator));
    json_schema!({ "description": format!("the {}", T::NOUN), "anyOf": choices })
}

/// The schema of a table whose only key is the entry's name.
pub fn one_key(entry: &Entry, parameters: &Schema) -> Schema {
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
pub fn unknown<T: Listed, E: Error>(id: &str) -> E {
    let article = if T::NOUN.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    E::custom(format!("\"{id}\" is not {article} {}; {}", T::NOUN, choices::<T>()))
}

fn choices<T: Listed>() -> String {
    let ids: Vec<&str> = T::LIST.iter().map(|entry| entry.id).collect();
    format!("write one of {}", ids.join(", "))
}

struct Choice<T>(PhantomData<T>);

impl<'de, T: Listed> Visitor<'de> for Choice<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let example = T::LIST.first().map_or("", |entry| entry.example);
        write!(f, "the name of one {}, or a table like {example}", T::NOUN)
    }

    fn visit_str<E: Error>(self, id: &str) -> Result<T, E> {
        let no_parameters = MapDeserializer::new(std::iter::empty::<(&str, &str)>());
        T::read(id, no_parameters)
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<T, A::Error> {
        read_table(table)
    }
}

/// Reads a choice from a table of one key.
///
/// # Errors
/// No key or two, a name that is not in the list, and parameters that are not that one's.
pub fn read_table<'de, T: Listed, A: MapAccess<'de>>(mut table: A) -> Result<T, A::Error> {
    let Some(id) = table.next_key::<String>()? else {
        return Err(A::Error::custom(format!("the {} has no name; {}", T::NOUN, choices::<T>())));
    };
    let chosen = table.next_value_seed(Parameters(&id, PhantomData))?;
    match table.next_key::<String>()? {
        None => Ok(chosen),
        Some(second) => Err(A::Error::custom(format!(
            "\"{id}\" and \"{second}\" are two, where one {} stands; write one of them",
            T::NOUN
        ))),
    }
}

/// The parameters of the one of this name.
struct Parameters<'a, T>(&'a str, PhantomData<T>);

impl<'de, T: Listed> DeserializeSeed<'de> for Parameters<'_, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::read(self.0, deserializer)
    }
}
