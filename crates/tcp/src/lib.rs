//! The TCP endpoint, without input or output.
//!
//! [`Endpoint`] is one end of a connection: its user passes it the time and the segments that arrive, and it returns
//! the segments to send and the time of its next timer. It never looks at a clock, a socket or a random number.
//!
//! Where to read: `state.rs` has all states and the changes between them; `receive.rs` is "a segment came in",
//! `acknowledgment.rs` is what its ACK means for the sender, `send.rs` is "may I send?", `expire.rs` is "a timer ran
//! out", each a list of named steps; `endpoint.rs` lists the rest of them. What differs between TCPs is plugged in, one
//! folder an axis and one file an algorithm (see the crate `registry`): start with `congestion/reno.rs` and
//! `recovery/reno.rs`.
//!
//! This crate must never read a clock, draw a random number, or depend on links, hosts and files.

pub mod ack;
mod config;
pub mod congestion;
pub mod dupthresh;
mod ecn;
mod endpoint;
mod fast_open;
mod interdependence;
mod options;
pub mod poll;
mod ranges;
mod reassembly;
mod receive_half;
mod record;
pub mod recovery;
pub mod rto;
mod scoreboard;
pub mod send_buffer;
mod send_half;
pub mod spurious;
mod state;
mod timers;
mod timestamp;
pub mod window;
mod windowed_max;

pub use config::{Axis, Config, ConfigError, InitialWindow, Plain, axes, profile_keys, profile_schema};
pub use ecn::{AccEcnOption, EcnCapable, EcnCounters, EcnFeedback, EcnSetting};
pub use endpoint::info::{self, Info};
pub use endpoint::{CloseReason, Endpoint, Event, Ports};
pub use fast_open::{CachedCookie, FastOpenSetting};
pub use interdependence::{ControlBlock, Interdependence};
pub use options::{Agreed, OptionLayout};
pub use reassembly::Arrival;
pub use record::{Cause, Decision, Kind, ModelRecord, Record, Transmit, VariableRecord};
pub use scoreboard::delivery_rate::{DeliveryRate, LostSegment, RateSample};
pub use scoreboard::{Mark, Scoreboard, Sent};
pub use send_half::SOCKET_BUFFER;
pub use send_half::mtu_search::MtuProbing;
pub use send_half::offload::SegmentationOffload;
pub use send_half::pacing::{Pacing, PhasedPacing, RateBasedPacing};
pub use state::{Change, State};
pub use timers::Timer;
pub use timestamp::Timestamp;
