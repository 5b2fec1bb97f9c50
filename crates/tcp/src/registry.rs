//! What varies between TCPs: the axes, and the algorithms of each.
//!
//! Each axis is a folder with one small trait and one file per algorithm, which ends in an [`Entry`]. The axis lists
//! its algorithms once, by `algorithms!`, and `config.rs` lists the axes once. From these lists alone come the names
//! in profiles, the schema, the choices of every form, the documentation's tables, the benches and the suites that
//! each algorithm must pass. A new algorithm is one new file and one line in its axis's list.

use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::Value;
use units::text::REMEDY;

/// Declares an axis's algorithms, one line each: the module of each file, and the list of their entries.
macro_rules! algorithms {
    ($(#[$doc:meta])* dyn $policy:ident: $($module:ident,)+) => {
        $(mod $module;)+

        $(#[$doc])*
        pub const ENTRIES: &[$crate::registry::Entry<dyn $policy>] = &[$($module::ENTRY),+];
    };
}
pub(crate) use algorithms;

/// One algorithm of an axis whose trait is `T`.
pub struct Entry<T: ?Sized + 'static> {
    /// Its name in a profile.
    pub id: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// The RFC or paper that defines it.
    pub source: &'static str,
    /// Reads its parameters.
    pub parse: fn(Value) -> Result<Builder<T>, serde_json::Error>,
    /// Describes its parameters.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
}

/// Makes a fresh instance for each connection, from parameters that were read once.
pub type Builder<T> = Arc<dyn Fn() -> Box<T> + Send + Sync>;

/// An algorithm that a profile has chosen.
pub struct Choice<T: ?Sized> {
    /// Its name.
    pub id: &'static str,
    build: Builder<T>,
}

/// One axis as lists and forms show it.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its key in a profile.
    pub name: &'static str,
    /// What it decides.
    pub summary: &'static str,
    /// Its algorithms.
    pub entries: Vec<EntryInfo>,
}

/// One algorithm as lists and forms show it.
#[derive(Clone, Debug)]
pub struct EntryInfo {
    /// Its name in a profile.
    pub id: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// The RFC or paper that defines it.
    pub source: &'static str,
}

impl<T: ?Sized> Entry<T> {
    /// The parameters of type `P` read strictly: unknown keys are refused.
    pub(crate) fn read<P: DeserializeOwned>(value: Value) -> Result<P, serde_json::Error> {
        serde_json::from_value(value)
    }

    /// The schema of parameters of type `P`, in place, as the key `algorithm` is to join its keys.
    pub(crate) fn describe<P: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
        P::json_schema(generator)
    }

    /// What lists and forms show.
    #[must_use]
    pub const fn info(&self) -> EntryInfo {
        EntryInfo { id: self.id, summary: self.summary, source: self.source }
    }
}

/// A parameter that makes no sense: what is wrong, with its value, and what would be right. All refusals of this
/// crate's own are made here, so that none leaves the user without a remedy.
pub(crate) fn refusal<E: serde::de::Error>(wrong: impl fmt::Display, right: impl fmt::Display) -> E {
    E::custom(format_args!("{wrong}{REMEDY}{right}"))
}

impl<T: ?Sized> Choice<T> {
    /// Reads the parameters for `entry`.
    pub(crate) fn new(entry: &Entry<T>, parameters: Value) -> Result<Self, serde_json::Error> {
        Ok(Self { id: entry.id, build: (entry.parse)(parameters)? })
    }

    /// A fresh instance.
    #[must_use]
    pub fn build(&self) -> Box<T> {
        (self.build)()
    }
}

impl<T: ?Sized> Clone for Choice<T> {
    fn clone(&self) -> Self {
        Self { id: self.id, build: Arc::clone(&self.build) }
    }
}

impl<T: ?Sized> fmt::Debug for Choice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

impl Axis {
    /// The axis called `name`.
    pub(crate) fn new<T: ?Sized>(name: &'static str, summary: &'static str, entries: &[Entry<T>]) -> Self {
        Self { name, summary, entries: entries.iter().map(Entry::info).collect() }
    }
}
