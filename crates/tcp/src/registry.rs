//! What varies between TCPs: the axes, and the algorithms of each.
//!
//! Each axis is a folder with one small trait and one file per algorithm; each such file ends in an
//! [`Entry`], and the axis lists its entries. From these lists alone come the names in profiles, the
//! schema, the choices of every form, the documentation's tables and the suites that each member must
//! pass. A new algorithm is one new file and one line in its axis's list.

use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::Value;
use units::text::REMEDY;

use crate::{ack, congestion, dupthresh, poll, recovery, rto, spurious, window};

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

/// Every axis with its algorithms, in the order of their lists.
#[must_use]
pub fn axes() -> Vec<Axis> {
    vec![
        axis("congestion", "how cwnd and ssthresh grow and shrink", congestion::ENTRIES),
        axis("recovery", "what counts as lost, what is sent again and when", recovery::ENTRIES),
        axis("dupthresh", "how many duplicate ACKs mean a loss", dupthresh::ENTRIES),
        axis("spurious", "whether a loss signal was false, and what is undone", spurious::ENTRIES),
        axis("rto", "the retransmission timer", rto::ENTRIES),
        axis("ack", "when the receiver acknowledges", ack::ENTRIES),
        axis("poll", "which segments ask for an acknowledgment", poll::ENTRIES),
        axis("window", "what window the receiver advertises", window::ENTRIES),
    ]
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

/// A parameter that makes no sense: what is wrong, with its value, and what would be right. All refusals of this crate's
/// own are made here, so that none leaves the user without a remedy.
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

fn axis<T: ?Sized>(name: &'static str, summary: &'static str, entries: &[Entry<T>]) -> Axis {
    Axis { name, summary, entries: entries.iter().map(Entry::info).collect() }
}
