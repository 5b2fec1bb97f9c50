//! The TCP endpoint, without input or output.

mod config;
mod endpoint;
mod record;
pub mod registry;

pub use config::{Config, ConfigError};
pub use endpoint::{Endpoint, Event, Ports, State};
pub use record::{Cause, Kind, Record, Transmit};
