//! Reads captures and gives the tables and the summary that runs of lasthop have.
//!
//! A capture is read twice. The first reading ([`Survey`]) finds the connections, the side of each that sent the data,
//! and the evidence of the acknowledgments on each retransmission. The second ([`rows`]) gives the packets as rows of
//! the table `segments`, in batches, so that memory grows with the connections and retransmissions and not with the
//! capture.
//!
//! Read [`Survey`] first, then `report.rs` (the report on a connection) and `rows.rs`; `packets.rs` has the raw numbers
//! that identify a packet at the other end of its path, `quic.rs` the visible part of QUIC.

mod packets;
mod quic;
mod report;
mod rows;
mod survey;

pub use packets::packets;
pub use quic::QuicConnection;
pub use report::{PlaceReport, PointReport, Report, SideReport, TcpConnection};
pub use rows::rows;
pub use survey::Survey;
