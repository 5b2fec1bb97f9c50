//! A shared downlink channel of HSDPA as a state machine that does no input or output.
//!
//! Users of several sectors share one carrier. In each TTI every sector ranks the users that have data, gives the first
//! the power and codes of its highest rate, and what is left to the next. Quality goes by place, shadowing, multipath and
//! what the other sectors send at present. The model is that of Landström 2008, chapter 7; what that document leaves open
//! is a parameter with a cited default.
//!
//! Read first: [`Config`] for what can be set, then `cell.rs`, the course of a TTI. `layout.rs`, `radio/` and `users.rs`
//! say how well a user hears; `adaptation/` what a quality carries; `scheduler/` has one file for each scheduler.
//!
//! This crate never asks the time, reads no file, and knows nothing of what is inside a packet.

pub mod adaptation;
mod cell;
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
