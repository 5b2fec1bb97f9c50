//! The TCP endpoint, without input or output.
//!
//! [`Endpoint`] is one end of a connection: it is told the time and what arrived, and answers what to send
//! and when to wake it. It never looks at a clock, a socket or a random number.
//!
//! Where to read: `state.rs` has all states and the changes between them; `receive.rs` is "a segment came
//! in", `acknowledgment.rs` is what its ACK means for the sender, `send.rs` is "may I send?", `expire.rs` is
//! "a timer ran out", each a list of named steps; `endpoint.rs` lists the rest of them. What differs between TCPs is plugged in, one folder an axis and one file an algorithm (see the crate `registry`):
//! start with `congestion/reno.rs` and `recovery/reno.rs`.
//!
//! This crate must never read a clock, draw a random number, or know of links, hosts and files.

pub mod ack;
mod acknowledgment;
mod close;
mod config;
pub mod congestion;
mod delivery_rate;
pub mod dupthresh;
mod ecn;
mod endpoint;
mod expire;
mod fast_open;
pub mod info;
mod interdependence;
mod open;
mod options;
mod pacing;
mod partial;
mod peer_window;
pub mod poll;
mod polling;
mod prediction;
mod queue;
mod ranges;
mod reassembly;
mod receive;
mod receiving;
mod record;
pub mod recovery;
mod retransmission;
pub mod rto;
mod scoreboard;
mod send;
pub mod send_buffer;
mod sending;
pub mod spurious;
mod state;
mod tail_loss_probe;
mod timers;
mod timestamp;
mod undo;
mod user_timeout;
pub mod window;
mod windowed_max;

pub use config::{Axis, Config, ConfigError, InitialWindow, Plain, axes, profile_keys, profile_schema};
pub use delivery_rate::{DeliveryRate, LostSegment, RateSample};
pub use ecn::{EcnFeedback, EcnSetting};
pub use endpoint::{CloseReason, Endpoint, Event, Ports};
pub use fast_open::{CachedCookie, FastOpenSetting};
pub use info::Info;
pub use interdependence::{ControlBlock, Interdependence};
pub use options::{Agreed, OptionLayout};
pub use pacing::{Pacing, PhasedPacing};
pub use reassembly::Arrival;
pub use record::{Cause, Decision, Kind, Record, Transmit};
pub use scoreboard::{Mark, Scoreboard, Sent};
pub use sending::SOCKET_BUFFER;
pub use state::{Change, State};
pub use timers::Timer;
pub use timestamp::Timestamp;
