//! The input queue: packets that wait for the send buffer, and the disciplines that govern it.
//!
//! The queue keeps the packets and the limits; a [`Policy`] decides who is dropped beyond that, one
//! file per discipline. A new one is a file with `ENTRY`, `Parameters` and its policy, and a line
//! in `disciplines!` below.

mod input;
mod policy;
mod serial;

pub mod red;
pub mod tail_drop;

pub(crate) use input::{InputQueue, Offer, Waiting};
pub use policy::{Arrival, Departure, Entry, Policy, Setting, Verdict};

use units::Stream;

use crate::config::ConfigError;

/// The list of disciplines: from it come the type, its names in files, the schema and [`ENTRIES`].
macro_rules! disciplines {
    ($($(#[$doc:meta])* $variant:ident = $module:ident,)*) => {
        /// Who is dropped from the input queue, and when. Written as its name, or as a table of one
        /// key where it has parameters: `{ red = { … } }`.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Discipline {
            $($(#[$doc])* $variant($module::Parameters),)*
        }

        /// Every discipline there is, in the order of the documentation.
        pub const ENTRIES: &[Entry] = &[$($module::ENTRY),*];

        impl Discipline {
            fn setting(&self) -> &dyn Setting {
                match self { $(Self::$variant(parameters) => parameters,)* }
            }

            /// Its name in files.
            #[must_use]
            pub const fn id(&self) -> &'static str {
                match self { $(Self::$variant(_) => $module::ENTRY.id,)* }
            }

            fn read<'de, D: serde::Deserializer<'de>>(id: &str, parameters: D) -> Result<Self, D::Error> {
                $(if id == $module::ENTRY.id {
                    return serde::Deserialize::deserialize(parameters).map(Self::$variant);
                })*
                Err(serial::unknown(id))
            }

            fn write<T: serde::ser::SerializeMap>(&self, table: &mut T) -> Result<(), T::Error> {
                match self { $(Self::$variant(parameters) => table.serialize_entry(self.id(), parameters),)* }
            }

            fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<schemars::Schema> {
                vec![$(serial::one_key(&$module::ENTRY, &generator.subschema_for::<$module::Parameters>()),)*]
            }
        }
    };
}

disciplines! {
    /// Drops whoever finds the queue at its limit.
    TailDrop = tail_drop,
    /// Random early detection.
    Red = red,
}

impl Discipline {
    /// Whether the parameters make sense.
    ///
    /// # Errors
    /// The first parameter that does not, with its path below this discipline.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.setting().check().map_err(|error| error.below(self.id()))
    }

    /// The policy, drawing from `stream`.
    #[must_use]
    pub fn policy(&self, stream: Stream) -> Box<dyn Policy> {
        self.setting().policy(stream)
    }
}

impl Default for Discipline {
    fn default() -> Self {
        Self::TailDrop(tail_drop::Parameters {})
    }
}

#[cfg(test)]
mod tests;
