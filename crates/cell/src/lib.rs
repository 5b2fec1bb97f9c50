//! A shared downlink channel of HSDPA as a state machine that does no input or output.
//!
//! Users of several sectors share one carrier. In each TTI every sector ranks the users that have data, gives the first
//! the power and codes of its highest rate, and the remainder to the next. Quality depends on position, shadowing,
//! multipath and the power that the other sectors send at present. The model is that of Landström 2008, chapter 7;
//! constants that the document leaves open are parameters with cited defaults.
//!
//! Read first: [`Config`], then `cell/mod.rs`, the order of events in a TTI. `layout.rs`, `radio/` and `users.rs`
//! compute signal quality; `adaptation/` the transport format for a quality; `scheduler/` has one file for each
//! scheduler.
//!
//! This crate reads no clock and no file, and does not look at the contents of a packet.

pub mod adaptation;
mod cell;
mod check;
pub mod config;
mod counters;
pub mod decibel;
mod history;
mod identity;
pub mod layout;
pub mod mobility;
pub mod quantity;
mod queue;
pub mod radio;
mod random;
pub mod scheduler;
pub mod users;

pub use cell::{BlockRecord, Cell, PlacedUser};
pub use config::{Config, UserConfig};
pub use counters::{SectorCounters, UserCounters};
pub use identity::{SectorId, SiteId, UserId};
