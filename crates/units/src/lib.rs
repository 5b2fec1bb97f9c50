//! The quantities that every other crate uses.
//!
//! - [`Instant`] and [`Duration`]: integer nanoseconds of the run's own clock.
//! - [`Bytes`], [`Rate`]: sizes and speeds that cannot be mixed up.
//! - [`Seq`]: a TCP sequence number, which has no `<`.
//! - [`PacketId`]: the identity that the world gives a packet at birth.
//! - [`NodeId`], [`LinkId`], [`FlowId`], [`Side`]: places in a run, each of a type of its own ([`ids!`]).
//! - [`text`]: all of these as people write them, "200 ms" and "32 KiB".
//! - [`Streams`]: named random streams, so that adding a component changes no other's draws.
//!
//! This crate reads no clock, no device and no environment, and depends on nothing of ours.

mod identity;
mod ids;
mod random;
mod seq;
mod size;
pub mod text;
mod time;

pub use identity::PacketId;
pub use ids::{FlowId, Id, IdVec, LinkId, NodeId, PerSide, Side};
pub use random::{Stream, Streams};
pub use seq::{Seq, SeqRange};
pub use size::{Bytes, Rate};
pub use time::{Duration, Instant};
