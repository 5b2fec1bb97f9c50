//! The kinds of proxy.
//!
//! A new one is a file with `ENTRY`, `Parameters` and its agent, and a line in the list below.

use link::ConfigError;
use registry::registry;

use crate::agent::Agent;

registry! {
    /// What a proxy does. Written as its name, or a table of one key, its name.
    Proxy in "proxy", a "proxy" of dyn ProxyParameters:
    Snoop = snoop,
    Split = split,
    AckFilter = ack_filter,
    AckPacer = ack_pacer,
}

/// The parameters of one kind of proxy.
pub trait ProxyParameters {
    /// Whether they make sense.
    ///
    /// # Errors
    /// The first that does not, with its key as the path.
    fn check(&self) -> Result<(), ConfigError>;

    /// The agent with these parameters; none of a proxy that ends connections ([`split`]).
    fn agent(&self) -> Option<Box<dyn Agent>>;
}

impl Proxy {
    /// Whether the parameters make sense.
    ///
    /// # Errors
    /// The first parameter that does not, with its path below this proxy.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.parameters().check().map_err(|error| error.below(self.id()))
    }

    /// Its agent; none if it ends connections.
    #[must_use]
    pub fn agent(&self) -> Option<Box<dyn Agent>> {
        self.parameters().agent()
    }

    /// The parameters of a split, if it is one.
    #[must_use]
    pub const fn split(&self) -> Option<&split::Parameters> {
        match self {
            Self::Split(parameters) => Some(parameters),
            _ => None,
        }
    }
}

/// Refuses a number that must not be zero.
fn at_least_one(key: &str, count: u64, help: &str) -> Result<(), ConfigError> {
    if count > 0 { Ok(()) } else { Err(ConfigError::new(key, "none at all", help)) }
}

#[cfg(test)]
mod tests;
