//! Congestion controls of Linux, in C and unmodified: `congestion = { linux = "tcp_cubic.c" }`.
//!
//! A module's text is compiled by the system's compiler against the headers in `c/include`, which are ours and have the
//! names and layouts that congestion controls use. `c/bridge.c` is compiled with it: it keeps the fields of `struct
//! tcp_sock` up to date and calls `struct tcp_congestion_ops` as Linux would. What crosses between Rust and C is one
//! event and one answer ([`interface`]).
//!
//! - `compile.rs` makes a plug-in of a module's files;
//! - `library.rs` loads one for a run, sets its parameters, and calls it;
//! - `debug_information.rs` finds the struct of its own state, and `state.rs` reads the variables;
//! - `guard.rs` ends a call that crashes or does not return;
//! - `control.rs` is the [`CongestionControl`](tcp::congestion::CongestionControl) of a connection.
//!
//! C code runs with the rights of the user. The guard turns a division by zero, a null pointer or an endless loop into
//! an error; code that overwrites memory of others cannot be caught.
#![cfg(unix)]

mod compile;
mod control;
mod debug_information;
mod error;
mod guard;
mod headers;
mod interface;
mod library;
mod mistakes;
mod scratch;
mod state;
mod supply;

pub use compile::{Plugin, build, compile};
pub use control::ModuleControl;
pub use error::ModuleError;
pub use library::{Library, Parameter};
pub use mistakes::Mistakes;
pub use state::{State, Variable};
pub use supply::supply;
