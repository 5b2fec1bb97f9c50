//! Wire formats: TCP segments as values, headers as bytes, and captures as files.
//!
//! Read [`Segment`] first: it is the form in which the TCP endpoint, the world and the analysis
//! pass segments around.
//!
//! - [`emit_ipv4`], [`emit_ipv6`] and [`parse`]: whole packets, from values to bytes and back. The formats are in
//!   [`ip`], [`tcp`], [`udp`] and [`dccp`]. Input may be anything: a packet that cannot be read is a
//!   [`ParseError`], a packet that is only unusual has [`Oddity`]s.
//! - [`capture`]: reading pcap and pcapng files alike; [`pcap`] and [`pcapng`]: writing them.
//! - [`framing`]: from a link-layer frame to the IP packet inside, through tunnels and fragments.
//! - [`offload`]: packets that a kernel leaves to be segmented or to get their checksums.

mod accecn;
mod ack_rate;
pub mod capture;
mod checksum;
pub mod dccp;
mod error;
mod fast_open;
mod frame;
pub mod framing;
pub mod ip;
pub mod offload;
mod option_layout;
mod packet;
mod payload;
pub mod pcap;
pub mod pcapng;
mod segment;
mod source;
pub mod tcp;
pub mod udp;

pub use accecn::{AccEcn, AccEcnOrder};
pub use ack_rate::{AckRate, AckScheme};
pub use error::ParseError;
pub use fast_open::FastOpenCookie;
pub use option_layout::OptionLayout;
pub use packet::{
    Oddity, Parsed, Transport, emit_dccp_ipv4_behind, emit_ipv4, emit_ipv4_behind, emit_ipv6, emit_udp_ipv4,
    emit_udp_ipv4_behind, emit_udp_ipv6, parse, parse_headers,
};
pub use payload::{Data, Payload};
pub use segment::{Ecn, Flags, Options, SackBlocks, Segment, Timestamps};
