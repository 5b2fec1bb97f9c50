//! Records of a run: tables for Arrow, captures for Wireshark.
//!
//! The engine is written once for any [`Recorder`]. [`Off`] does nothing, so that a run without records pays nothing
//! for them; [`Metering`] only has links metered; [`Recording`] keeps what the specification asks for.
//!
//! Records come out in parts ([`Records`]) during the run, so that a long run needs no more memory than a short one. A
//! row comes out when nothing can change it any more: when its packet and every packet sent before it have met their
//! fates on every link (verdicts on retransmissions depend on those).
//!
//! Read first: [`Recording`], then `packet_table.rs` (packets as they were sent) and `passage.rs` (what happened to a
//! packet on one link). Rows become tables in `tables.rs`, and pcapng in `capture.rs`.

mod capture;
mod conversation;
mod packet_row;
mod packet_table;
mod passage;
mod recorder;
mod recording;
mod rows;
mod tables;

pub use recorder::Records;
pub(crate) use recorder::{Metering, Nothing, Off, Recorder};
pub(crate) use recording::Recording;
pub(crate) use rows::ProxyRow;
pub use rows::ROWS;
pub(crate) use tables::{cell_users, progress, queue_lengths, transfers};
