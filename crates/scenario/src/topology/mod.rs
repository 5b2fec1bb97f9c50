//! Topologies: common shapes of networks, each a few lines in a scenario file, which stand for hosts, routers and
//! links of known names.
//!
//! A new one is a file with `ENTRY`, `Parameters` and its [`Parts`], and a line in the list below. [`expand`] writes
//! the parts into the scenario's tree before anything else is looked up, each with the place of the template's key
//! that it comes from. A file may have more hosts, routers and links besides them, and say more of a host by its name.

mod copies;
mod expand;
mod links;

pub(crate) use copies::{expand_copies, stars};
pub(crate) use expand::expand;
pub use links::Links;

use link::ConfigError;
use serde_json::{Map, Value};

registry::registry! {
    /// A common shape of networks. Written as a table of one key, its name; it stands for hosts, routers and links.
    Topology in "topology", a "topology" of dyn TopologyParameters:
    Chain = chain,
    Dumbbell = dumbbell,
    ParkingLot = parking_lot,
}

/// The parameters of one topology.
pub trait TopologyParameters {
    /// Whether they make sense.
    ///
    /// # Errors
    /// The first that does not, with its key as the path.
    fn check(&self) -> Result<(), ConfigError>;

    /// Its expansion.
    fn parts(&self) -> Parts;
}

/// Expansion of a topology.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Names of hosts. All have the template's `profile` and `tcp`.
    pub hosts: Vec<String>,
    /// Names of routers.
    pub routers: Vec<String>,
    /// The links between them.
    pub links: Vec<Join>,
}

/// One link of a topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    /// Its name.
    pub name: String,
    /// The nodes that it joins; `down` runs from the first to the second.
    pub between: [String; 2],
    /// The key of the template that says what link it is.
    pub key: &'static str,
    /// Index among that key's links, if they are used in turn.
    pub turn: usize,
}

impl Parts {
    fn host(&mut self, name: impl Into<String>) -> String {
        self.hosts.push(name.into());
        self.hosts[self.hosts.len() - 1].clone()
    }

    fn router(&mut self, name: impl Into<String>) -> String {
        self.routers.push(name.into());
        self.routers[self.routers.len() - 1].clone()
    }

    fn join(&mut self, name: impl Into<String>, between: [&str; 2], (key, turn): (&'static str, usize)) {
        self.links.push(Join { name: name.into(), between: between.map(str::to_owned), key, turn });
    }
}

/// Keys of a profile, as a host has them.
type Keys = Map<String, Value>;

/// Refuses a number of parts that there cannot be.
fn check_count(key: &str, count: u32) -> Result<(), ConfigError> {
    if (1..=MOST_PARTS).contains(&count) {
        return Ok(());
    }
    let message = if count == 0 { "none at all".to_owned() } else { format!("{count} are too many") };
    Err(ConfigError::new(key, message, format!("write 1 to {MOST_PARTS}")))
}

/// The most hosts of a topology: more than studies compare, and few enough to build in a moment.
const MOST_PARTS: u32 = 10_000;

#[cfg(test)]
mod tests;
