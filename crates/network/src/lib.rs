//! The links of a scenario as a library: a network in virtual time, under any stack that does no input and output.
//!
//! A QUIC or TCP implementation that is a state machine needs three things for its tests: something that carries its
//! packets, something that says when to continue, and the same result each time. A [`Network`] is the links, queues,
//! losses and cross traffic of a scenario file, with hosts that are yours: hand in the packets that they send
//! ([`Network::send`], [`Network::send_datagram`]), run to the earliest time at which anything is due
//! ([`Network::next_event`], [`Network::run_until`]), take out what arrives ([`Network::poll`]). Nothing waits, nothing
//! reads a clock: the same calls give the same packets at the same nanosecond.
//!
//! ```
//! use std::time::Duration;
//!
//! use lasthop_network::{Datagram, Network};
//!
//! let text = r#"
//! [hosts]
//! client = { address = "10.0.0.1" }
//! server = { address = "10.0.0.2" }
//! [[links]]
//! name = "lasthop"
//! between = ["server", "client"]
//! down = { rate = "1 Mbit/s", propagation = "20 ms" }
//! up = { rate = "1 Mbit/s", propagation = "20 ms" }
//! "#;
//! let mut network = Network::parse(text, &[], None)?;
//! let question = Datagram {
//!     from: "10.0.0.1:5000".parse()?,
//!     to: "10.0.0.2:4433".parse()?,
//!     ecn: 0,
//!     payload: vec![7; 97],
//! };
//! network.send_datagram(Duration::ZERO, &question)?;
//! while let Some(next) = network.next_event() {
//!     network.run_until(next)?;
//! }
//! let arrival = network.poll().expect("nothing on the way loses it");
//! // 125 bytes with their headers take 1 ms.
//! assert_eq!((arrival.at, arrival.datagram()), (Duration::from_millis(21), Some(question)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Flows of the scenario between its other hosts run as they do in `lasthop run`, and compete for the links: cross
//! traffic. [`Results::write`] writes what `lasthop run` writes, for `lasthop report`, `plot` and `explain`.
//!
//! The same links run lasthop's own TCP with a congestion control of yours: [`Scenario::congestion`].
//!
//! This crate decides nothing about a packet; `sim` does.

mod datagram;
mod error;
mod network;
mod results;
mod scenario;

/// What a congestion control of one's own is made of ([`Scenario::congestion`]).
pub mod congestion {
    pub use tcp::congestion::{
        AckSample, CongestionControl, CongestionEvent, CongestionSignal, DeliverySample, LossPhase, Pace,
        PathModel, SendEvent, Traits,
    };
    pub use units::{Bytes, Duration, Instant, Rate};
}

pub use datagram::Datagram;
pub use error::NetworkError;
pub use network::{Arrival, Fate, HostId, Loss, Network};
pub use results::{File, Files, Results};
pub use scenario::Scenario;
