//! The data of the viewer, and the explanation of connections, from the tables of a run.
//!
//! The commands, `lasthop serve` and the static page show a run from this crate's [`run_view`]: columns of numbers,
//! packed by [`Packer`], and a JSON value that names their places. [`explain`] describes each connection: its events in
//! order, in words, the causes of its retransmissions, and the shares of its time.
//!
//! Read `table.rs` first (columns), then `flow.rs` (one flow's rows), `run_view.rs`, and `explanation/`.

mod by_number;
mod coverage;
mod crossings;
mod delivery;
mod explanation;
mod flow;
mod packing;
mod queues;
mod run_view;
mod table;
mod tables;

pub use explanation::{Cause, Event, Explanation, Report, Reports, TimeShare, explain};
pub use packing::{Packed, Packer};
pub use run_view::{Subject, run_view};
pub use table::{Table, TableError, Tables};
pub use tables::{columns, names};
