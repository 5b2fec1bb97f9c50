//! Registries of data: a choice is an enum of the members' parameters. [`registry!`] declares it; this file reads and
//! describes it.

use std::fmt;
use std::marker::PhantomData;

use schemars::{Schema, SchemaGenerator};
use serde::de::value::MapDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use units::text::REMEDY;

use crate::{Entry, Member, choice_schema};

/// A choice from a list, which is data.
pub trait Data: Sized {
    /// Noun for a member: "error model".
    const NOUN: &'static str;
    /// The list.
    const LIST: &'static [Entry];

    /// Reads the parameters of the member `id`, which is in the list.
    fn read<'de, D: Deserializer<'de>>(id: &str, parameters: D) -> Result<Self, D::Error>;

    /// The schema of each member's parameters, in the order of the list.
    fn members(generator: &mut SchemaGenerator) -> Vec<Member>;

    /// The schema of a choice.
    fn schema(generator: &mut SchemaGenerator) -> Schema {
        choice_schema(Self::NOUN, Self::members(generator))
    }
}

/// The modules of the members, the type of a choice, its names in files, its schema and the list of entries.
///
/// The name after `in` is that of the registry in schemas: "queue" makes "queue.codel".
#[macro_export]
macro_rules! registry {
    (
        $(#[$outer:meta])* $name:ident in $key:literal, a $noun:literal of dyn $policy:path:
        $($variant:ident = $module:ident,)*
    ) => {
        $(pub mod $module;)*

        $(#[$outer])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $name {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $variant($module::Parameters),)*
        }

        /// All members, in the order of the documentation.
        pub const ENTRIES: &[$crate::Entry] = &[$($module::ENTRY),*];

        impl $name {
            fn parameters(&self) -> &dyn $policy {
                match self { $(Self::$variant(parameters) => parameters,)* }
            }

            #[allow(dead_code, reason = "not every list has parameters that are completed after they were read")]
            fn parameters_mut(&mut self) -> &mut dyn $policy {
                match self { $(Self::$variant(parameters) => parameters,)* }
            }

            /// Its name in files.
            #[must_use]
            pub const fn id(&self) -> &'static str {
                match self { $(Self::$variant(_) => $module::ENTRY.id,)* }
            }
        }

        impl $crate::Data for $name {
            const NOUN: &'static str = $noun;
            const LIST: &'static [$crate::Entry] = ENTRIES;

            fn read<'de, D: $crate::serde::Deserializer<'de>>(id: &str, parameters: D) -> Result<Self, D::Error> {
                $(if id == $module::ENTRY.id {
                    return $crate::serde::Deserialize::deserialize(parameters).map(Self::$variant);
                })*
                Err($crate::unknown::<Self, _>(id))
            }

            fn members(generator: &mut $crate::schemars::SchemaGenerator) -> Vec<$crate::Member> {
                vec![$($crate::member(
                    &$module::ENTRY,
                    $crate::definition::<$module::Parameters>($key, $module::ENTRY.id, generator),
                ),)*]
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::deserialize(deserializer)
            }
        }

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use $crate::serde::ser::SerializeMap;
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

        impl $crate::schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed($key)
            }

            fn json_schema(generator: &mut $crate::schemars::SchemaGenerator) -> $crate::schemars::Schema {
                <Self as $crate::Data>::schema(generator)
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
            $crate::serde::Serialize,
            $crate::serde::Deserialize,
            $crate::schemars::JsonSchema,
        )]
        #[serde(deny_unknown_fields)]
        pub struct Parameters {}
    };
}

/// Reads a choice: a table of one key, or the name alone.
///
/// # Errors
/// A name that is not in the list, and parameters that are not that member's.
pub fn deserialize<'de, T: Data, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(ChoiceVisitor(PhantomData))
}

/// The error for a name that is not in the list.
pub fn unknown<T: Data, E: Error>(id: &str) -> E {
    let article = if T::NOUN.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    E::custom(format!("\"{id}\" is not {article} {}{REMEDY}{}", T::NOUN, choices::<T>()))
}

fn choices<T: Data>() -> String {
    format!("write one of {}", ids::<T>().join(", "))
}

fn ids<T: Data>() -> Vec<&'static str> {
    T::LIST.iter().map(|entry| entry.id).collect()
}

struct ChoiceVisitor<T>(PhantomData<T>);

impl<'de, T: Data> Visitor<'de> for ChoiceVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let example = T::LIST.iter().map(Entry::example).find(|example| example.starts_with('{'));
        write!(f, "the name of one {}, or a table like {}", T::NOUN, example.unwrap_or_default())
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
/// No key or two, a name that is not in the list, and parameters that are not that member's.
pub fn read_table<'de, T: Data, A: MapAccess<'de>>(mut table: A) -> Result<T, A::Error> {
    let Some(id) = table.next_key::<String>()? else {
        return Err(A::Error::custom(format!("the {} has no name{REMEDY}{}", T::NOUN, choices::<T>())));
    };
    let chosen = table.next_value_seed(ParametersOf(&id, PhantomData))?;
    match table.next_key::<String>()? {
        None => Ok(chosen),
        Some(second) => Err(A::Error::custom(format!(
            "\"{id}\" and \"{second}\" are two, where one {} stands{REMEDY}write one of them",
            T::NOUN
        ))),
    }
}

/// The parameters of the member of this name.
struct ParametersOf<'a, T>(&'a str, PhantomData<T>);

impl<'de, T: Data> DeserializeSeed<'de> for ParametersOf<'_, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::read(self.0, deserializer)
    }
}
