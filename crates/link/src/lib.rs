//! One direction of a last-hop link, as a state machine that does no input or output.
//!
//! A packet passes the stages of the Seawind emulator in their order (Sarolahti 2000, chapter 4): input queue → send
//! buffer → allocation delay → transmission at the current rate → propagation → error stage → receive buffer → output
//! dropper. Every stage is optional. A [`Config`] selects them; [`Link`] runs them, by a short path if all times are
//! known on entry; an [`Observer`] receives each packet's fate; [`Counters`] count it.
//!
//! Read first: [`Config`], then `pipeline/mod.rs`, the path of a packet. Varying parts are plugged in: a queue
//! discipline is one file under `queue/`, a random distribution one under `distribution/`, an error model one under
//! `error_model/`, a rate source one under `capacity/`, each with one line in its registry.
//!
//! This crate reads no clock and no file, and of a packet only the header fields of [`Packet`], never the payload.

pub mod capacity;
pub mod compression;
pub mod config;
mod counters;
pub mod distribution;
mod error;
pub mod error_model;
mod event;
mod fast_path;
mod link;
mod packet;
mod pipeline;
pub mod queue;
mod random;
mod registries;
mod serde_default;
mod store;
pub mod stuffing;
mod transmission_time;

pub use config::Config;
pub use counters::{Counters, WireCounters};
pub use distribution::Distribution;
pub use error::ConfigError;
pub use event::{DelayCause, DropRule, ErrorCause, Event, Observer, StopReason};
pub use link::Link;
pub use packet::{Ecn, LARGEST_PACKET, Packet, PureAck};
pub use registries::{Registry, registries};
