//! Registries of algorithms: an entry makes a trait object from its parameters. [`algorithms!`](crate::algorithms)
//! lists them.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use units::text::REMEDY;

use crate::{Entry, choice_schema, choose, definition, member};

/// The registry of the algorithms of one trait: `dyn CongestionControl`.
pub trait Axis: 'static {
    /// Key in files and prefix in schemas: "congestion".
    const KEY: &'static str;
    /// Noun for a member: "congestion control".
    const NOUN: &'static str;
    /// Facts about an algorithm that do not depend on its parameters.
    type Facts: Copy + Send + Sync + 'static;
    /// The facts of an entry that states none.
    const FACTS: Self::Facts;

    /// The algorithms, in the order of the documentation.
    fn algorithms() -> &'static [Algorithm<Self>];
}

/// An algorithm of an axis.
pub type Algorithm<T> = Entry<Recipe<T>>;

/// Construction of an algorithm from its parameters, and the facts about it.
#[derive(Clone, Copy)]
pub struct Recipe<T: Axis + ?Sized> {
    /// Facts that do not depend on the parameters.
    pub facts: T::Facts,
    reader: &'static dyn Reader<T>,
}

/// Constructor of an algorithm from parameters of the type `P`.
pub struct Build<P, T: ?Sized>(pub fn(&P) -> Box<T>);

/// Check of parameters of the type `P`, and constructor of an algorithm from them.
pub struct Checked<P, T: ?Sized>(pub fn(&P) -> Result<(), ParameterError>, pub fn(&P) -> Box<T>);

/// An algorithm that a file has chosen, with parameters that were read and checked.
pub struct Choice<T: Axis + ?Sized> {
    entry: &'static Algorithm<T>,
    /// The parameters as written in the file.
    written: Map<String, Value>,
    build: Builder<T>,
}

/// Parameters that cannot be read or make no sense.
pub type ParameterError = serde_json::Error;

/// Makes a fresh instance from parameters that were read once.
type Builder<T> = Arc<dyn Fn() -> Box<T> + Send + Sync>;

/// Reads and describes parameters of a type that only the implementer knows.
trait Reader<T: ?Sized>: Sync {
    fn read(&self, parameters: Value) -> Result<Builder<T>, ParameterError>;
    fn schema(&self, key: &str, id: &str, generator: &mut SchemaGenerator) -> Schema;
}

impl<T: Axis + ?Sized> Algorithm<T> {
    /// An algorithm that takes any parameters of the type `P`.
    #[must_use]
    pub const fn of<P: Parameters>(
        id: &'static str,
        summary: &'static str,
        source: &'static str,
        build: &'static Build<P, T>,
    ) -> Self {
        Entry::new(id, summary, source).with(Recipe { facts: T::FACTS, reader: build })
    }

    /// An algorithm that refuses some parameters of the type `P`.
    #[must_use]
    pub const fn checked<P: Parameters>(
        id: &'static str,
        summary: &'static str,
        source: &'static str,
        build: &'static Checked<P, T>,
    ) -> Self {
        Entry::new(id, summary, source).with(Recipe { facts: T::FACTS, reader: build })
    }

    /// The entry with facts of its own.
    #[must_use]
    pub const fn stating(self, facts: T::Facts) -> Self {
        let Recipe { reader, .. } = self.member;
        self.info().with(Recipe { facts, reader })
    }

    /// Facts that do not depend on the parameters.
    #[must_use]
    pub const fn facts(&self) -> T::Facts {
        self.member.facts
    }

    /// The choice of this algorithm with `parameters`, a table.
    ///
    /// # Errors
    /// Unknown keys, values of the wrong type and values that make no sense.
    pub fn choice(&'static self, parameters: Value) -> Result<Choice<T>, ParameterError> {
        let written = parameters.as_object().cloned().unwrap_or_default();
        Ok(Choice { entry: self, written, build: self.member.reader.read(parameters)? })
    }

    /// A reference to the definition of its parameters.
    fn parameters_schema(&self, generator: &mut SchemaGenerator) -> Schema {
        self.member.reader.schema(T::KEY, self.id, generator)
    }
}

/// Requirements of a type of parameters.
pub trait Parameters: Clone + DeserializeOwned + JsonSchema + Send + Sync + 'static {}

impl<P: Clone + DeserializeOwned + JsonSchema + Send + Sync + 'static> Parameters for P {}

impl<P: Parameters, T: ?Sized + 'static> Reader<T> for Build<P, T> {
    fn read(&self, parameters: Value) -> Result<Builder<T>, ParameterError> {
        let (parameters, build): (P, _) = (serde_json::from_value(parameters)?, self.0);
        Ok(Arc::new(move || build(&parameters)))
    }

    fn schema(&self, key: &str, id: &str, generator: &mut SchemaGenerator) -> Schema {
        definition::<P>(key, id, generator)
    }
}

impl<P: Parameters, T: ?Sized + 'static> Reader<T> for Checked<P, T> {
    fn read(&self, parameters: Value) -> Result<Builder<T>, ParameterError> {
        let (parameters, build): (P, _) = (serde_json::from_value(parameters)?, self.1);
        (self.0)(&parameters)?;
        Ok(Arc::new(move || build(&parameters)))
    }

    fn schema(&self, key: &str, id: &str, generator: &mut SchemaGenerator) -> Schema {
        definition::<P>(key, id, generator)
    }
}

/// The facts of an axis that has none.
pub const NO_FACTS: () = ();

/// Declares an axis's algorithms, one line each: the module of each file, the list of their entries, and the axis.
///
/// The type after `with` is that of the axis's facts, and the constant after it holds for an entry that states none.
#[macro_export]
macro_rules! algorithms {
    (
        $(#[$doc:meta])* dyn $policy:ident in $key:literal, a $noun:literal: $($module:ident,)+
    ) => {
        $crate::algorithms! { $(#[$doc])* dyn $policy in $key, a $noun with () = $crate::NO_FACTS: $($module,)+ }
    };
    (
        $(#[$doc:meta])* dyn $policy:ident in $key:literal, a $noun:literal with $facts:ty = $usual:path:
        $($module:ident,)+
    ) => {
        $(mod $module;)+

        $(#[$doc])*
        pub const ENTRIES: &[$crate::Algorithm<dyn $policy>] = &[$($module::ENTRY),+];

        impl $crate::Axis for dyn $policy {
            const KEY: &'static str = $key;
            const NOUN: &'static str = $noun;
            type Facts = $facts;
            const FACTS: Self::Facts = $usual;

            fn algorithms() -> &'static [$crate::Algorithm<Self>] {
                ENTRIES
            }
        }
    };
}

/// A parameter that makes no sense: what is wrong, with its value, and what would be right.
pub fn refusal<E: Error>(wrong: impl fmt::Display, right: impl fmt::Display) -> E {
    E::custom(format_args!("{wrong}{REMEDY}{right}"))
}

impl<T: Axis + ?Sized> Choice<T> {
    /// The choice of `id` with its defaults.
    ///
    /// # Errors
    /// There is no such algorithm, or it has parameters without a default.
    pub fn named(id: &str) -> Result<Self, ParameterError> {
        Self::read(Value::from(id))
    }

    /// The algorithm's entry.
    #[must_use]
    pub const fn entry(&self) -> &'static Algorithm<T> {
        self.entry
    }

    /// The algorithm's name.
    #[must_use]
    pub const fn id(&self) -> &'static str {
        self.entry.id
    }

    /// Its parameters as the file has them.
    #[must_use]
    pub const fn parameters(&self) -> &Map<String, Value> {
        &self.written
    }

    /// Makes every instance from now on by `build`: for an entry whose program only the caller can run.
    pub fn supply(&mut self, build: impl Fn() -> Box<T> + Send + Sync + 'static) {
        self.build = Arc::new(build);
    }

    /// A fresh instance.
    #[must_use]
    pub fn build(&self) -> Box<T> {
        (self.build)()
    }

    fn read<E: Error>(value: Value) -> Result<Self, E> {
        let (entry, parameters) = choose("", T::NOUN, T::algorithms(), value)
            .map_err(|mistake| refusal::<E>(mistake.message, mistake.help))?;
        entry.choice(parameters).map_err(|wrong| E::custom(format_args!("{}: {wrong}", entry.id)))
    }
}

impl<T: Axis + ?Sized> Clone for Choice<T> {
    fn clone(&self) -> Self {
        Self { entry: self.entry, written: self.written.clone(), build: Arc::clone(&self.build) }
    }
}

impl<T: Axis + ?Sized> fmt::Debug for Choice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl<'de, T: Axis + ?Sized> Deserialize<'de> for Choice<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(Value::deserialize(deserializer)?)
    }
}

impl<T: Axis + ?Sized> Serialize for Choice<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.written.is_empty() {
            return serializer.serialize_str(self.id());
        }
        Map::from_iter([(self.id().to_owned(), Value::Object(self.written.clone()))]).serialize(serializer)
    }
}

impl<T: Axis + ?Sized> JsonSchema for Choice<T> {
    fn schema_name() -> Cow<'static, str> {
        T::KEY.into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let described = |entry: &Algorithm<T>| member(entry, entry.parameters_schema(generator));
        choice_schema(T::NOUN, T::algorithms().iter().map(described).collect())
    }
}
