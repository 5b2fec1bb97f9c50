//! Reads captures and gives the tables and the summary that runs of lasthop have.
//!
//! A capture is read twice. The first reading ([`Survey`]) finds the connections, the side of each that sent the data,
//! and the evidence of the acknowledgments on each retransmission. The second ([`rows`]) gives the packets as rows of
//! the table `segments`, in batches, so that memory grows with the connections and retransmissions and not with the
//! capture.
//!
//! Read [`Frames`] and [`Survey`] first, then `report.rs` (the report on a connection) and `rows.rs`; `packets.rs` has
//! the raw numbers that identify a packet at the other end of its path, `annotation.rs` the verdicts as comments of the
//! packets, `limits.rs` what limited a sender, `incidents.rs` what happened besides retransmissions, `quic.rs` the
//! visible part of QUIC, and `quic_contents.rs` and `quic_packets.rs` what secrets open. `input.rs` opens compressed
//! files, and `filter.rs` runs the programs of libpcap's filters.

mod annotation;
mod filter;
mod frames;
mod incidents;
mod input;
mod limits;
mod packets;
mod quic;
mod quic_contents;
mod quic_packets;
mod quic_segments;
mod quic_sequence;
mod report;
mod rows;
mod segment_kind;
mod survey;

pub use ::quic::{KeyLog, KeyLogError};
pub use annotation::annotate;
pub use filter::{Filter, Instruction, Program};
pub use frames::{Frames, Selection};
pub use incidents::Incident;
pub use input::{Input, open};
pub use packets::packets;
pub use quic::{Migration, QuicConnection};
pub use quic_contents::QuicContents;
pub use quic_packets::quic_packets;
pub use quic_segments::quic_segments;
pub use report::{EcnReport, PlaceReport, PointReport, Report, SideReport, TcpConnection};
pub use rows::rows;
pub use survey::{Seen, Survey};
