//! From anybody's capture to the tables and the summary that lasthop's own runs have.
//!
//! A capture is read twice. The first reading ([`Survey`]) finds the connections, which side of each sent the data, and what
//! the acknowledgments tell of each retransmission; the second ([`rows`]) gives the packets as rows of the table `segments`,
//! in batches, so that memory does not grow with the capture but with its connections and retransmissions.
//!
//! Read [`Survey`] first, then `report.rs` (what is said of a connection) and `rows.rs`; `packets.rs` has the raw numbers that
//! a packet is known by at the other end of its path, `quic.rs` what is visible of QUIC.

mod packets;
mod quic;
mod report;
mod rows;
mod survey;

pub use packets::packets;
pub use quic::QuicConnection;
pub use report::{Connection, Point, Report, Sender};
pub use rows::rows;
pub use survey::Survey;
