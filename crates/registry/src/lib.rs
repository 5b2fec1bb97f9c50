//! Registries: what can be chosen by name in a file, how a choice is written, read and described.
//!
//! There is one way to write a choice, for TCP's algorithms, queues, error models, distributions, workloads,
//! schedulers and topologies alike:
//!
//! ```toml
//! congestion = "cubic"                      # the name: every parameter has its default
//! congestion = { cubic = { beta = 0.5 } }   # a table whose only key is the name, with parameters
//! ```
//!
//! A member of a registry is one file, which ends in an [`Entry`], and one line in its registry's list. There are two
//! kinds of list:
//!
//! - [`algorithms!`] lists what is chosen for its behaviour: an [`Entry`] builds a trait object from parameters that
//!   were read once. [`Choice`] is the type of the key in a file. TCP's axes are such lists.
//! - [`registry!`] lists what is chosen as data: an enum of the members' parameters, which can be compared, changed and
//!   written back. Links, cells, workloads and topologies have such lists.
//!
//! Read `entry.rs` first, then `algorithm.rs`.

mod algorithm;
mod data;
mod entry;
mod inline;
mod schema;
mod written;

pub use algorithm::{
    Algorithm, Axis, Build, Checked, Choice, NO_FACTS, ParameterError, Parameters, Recipe, refusal,
};
pub use data::{Data, deserialize, read_table, unknown};
pub use entry::Entry;
pub use inline::inline_toml;
pub use schema::{Member, choice_schema, definition, member, one_key};
pub use written::{Mistake, OLD_KEY, choose, name_of, parameters_of, parameters_of_mut, renewed};

#[doc(hidden)]
pub use {schemars, serde};
