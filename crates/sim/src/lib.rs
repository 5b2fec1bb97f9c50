//! The world: hosts, routers, links and flows on one event queue.
//!
//! A [`World`] is built from a [`Spec`] and run in virtual time, or driven by a clock through
//! [`World::run_until`], [`World::next_event`], [`World::inject`] and [`World::poll_external`]; the
//! links and the rules are the same. What is left of it is an [`Outcome`].
//!
//! The programs of the crate `workload` control the flows; the World executes their commands.
//!
//! Where to read: `spec.rs` for the specification of a run; `engine.rs` for the way of a packet; `schedule.rs` and
//! `queue/` for the order of events; `ids.rs` for how links, flows and connections are counted; `connection.rs` and
//! `flow.rs` for what they send and count; `measure/` for totals over spans of the run; `record/` for tables and
//! captures.
//!
//! This crate must never read a clock, a file or a device, decide what a TCP or a link does, or
//! let the order of a hash map or the presence of an unrelated component change a packet.

mod build;
mod cell_summary;
mod cell_traffic;
mod cells;
mod commands;
mod connection;
mod datagrams;
mod directed_link;
mod engine;
mod external;
mod fetch_ahead;
mod flow;
mod ids;
mod injection;
mod link_observer;
mod measure;
mod observed_program;
mod outcome;
mod packet;
mod pending;
mod ports;
mod proxies;
mod proxy_traffic;
mod queue;
mod readings;
mod record;
mod route;
mod schedule;
mod spec;
mod split;
mod stop;
mod summary;
mod tcb_sharing;
mod transport;
mod world;

pub use build::BuildError;
pub use cell_summary::{CellSpan, CellSummary, CellUserSummary, SectorSpan, UserSpan};
pub use directed_link::LinkState;
pub use external::{ExternalEvent, ExternalFate, ExternalPacket, ObservedConnection, ObservedFlow};
pub use measure::{
    FlowMeasures, FlowReading, FlowSpan, FlowTotals, LinkMeasures, LinkSpan, OneWayDelays, OutsideMeasures,
    OutsideSampler, ProgressSample,
};
pub use outcome::Outcome;
pub use queue::EventQueue;
pub use record::{ROWS, Records};
pub use spec::{
    CapturePoint, CellSpec, CellUserSpec, FlowSpec, LinkSpec, MeasureSpec, NodeKind, NodeSpec, ProxySpec,
    RecordSpec, Spec, WindowSpec,
};
pub use stop::RunError;
pub use summary::{Clock, FlowSummary, LinkSummary, MilestoneSummary, ProxySummary, Summary, WireSummary};
pub use workload::{Amount, ObservedRecord, Workload};
pub use world::World;
