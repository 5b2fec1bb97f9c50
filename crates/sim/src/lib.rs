//! The world: hosts, routers, links and flows on one event queue.
//!
//! A [`World`] is built from a [`Spec`] and run in virtual time, or driven by a clock through
//! [`World::run_until`], [`World::next_event`], [`World::inject`] and [`World::poll_external`]; the
//! links and the rules are the same. What is left of it is an [`Outcome`].
//!
//! Where to read: `spec.rs` for what a run is made of; `engine.rs` for the way of a packet; `queue/`
//! for who is woken next; `flow.rs` for what a flow sends and counts;
//! `measure/` for what a span of the run comes to; `record/` for tables and
//! captures.
//!
//! This crate must never read a clock, a file or a device, decide what a TCP or a link does, or
//! let the order of a hash map or the presence of an unrelated component change a packet.

mod build;
mod connection;
mod datagrams;
mod engine;
mod external;
mod flow;
mod kinship;
mod measure;
mod orders;
mod outcome;
mod packet;
mod queue;
mod record;
mod route;
mod spec;
mod summary;
mod transport;
mod witness;
pub mod workload;
mod world;

pub use build::BuildError;
pub use external::{ExternalEvent, ExternalFate, ExternalPacket, ObservedFlow};
pub use measure::{FlowMeasures, FlowSpan, LinkMeasures, LinkSpan};
pub use queue::EventQueue;
pub use record::{ROWS, Records};
pub use spec::{
    Amount, CapturePoint, FlowSpec, LinkSpec, MeasureSpec, NodeKind, NodeSpec, RecordSpec, Spec, WindowSpec,
    Workload,
};
pub use summary::{Clock, FlowSummary, LinkSummary, MilestoneSummary, Summary};
pub use world::{Outcome, RunError, World};
