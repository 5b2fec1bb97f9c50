//! Dumbbell: many pairs of hosts whose paths share one link in the middle.
//!
//! Hosts `left-1`, `left-2`, … and `right-1`, `right-2`, …; routers `router-left` and `router-right`; the link
//! `bottleneck` between them, and links `access-left-1`, `access-right-1`, …. `down` runs from left to right on all.

use link::ConfigError;
use registry::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Keys, Links, Parts, TopologyParameters, check_count};

/// The list's line.
pub const ENTRY: Entry = Entry::new(
    "dumbbell",
    "hosts `left-1`, … and `right-1`, …, each with an access link, and one `bottleneck` that all share",
    "the topology of most comparisons of TCPs (RFC 5166, section 3)",
)
.written(
    "{ dumbbell = { profile = \"sack-6675\", pairs = 10, bottleneck = { down = { rate = \"1 Mbit/s\" } } } }",
);

/// Pairs of hosts, `left-1` and `right-1`, `left-2` and `right-2`, …, with separate access links to two routers, and
/// the link `bottleneck` between those.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The TCP of all hosts: the name of a profile, or a path to one.
    pub profile: String,
    /// Keys that replace those of the hosts' profile.
    #[serde(default)]
    #[schemars(schema_with = "crate::schema::tcp_keys")]
    pub tcp: Keys,
    /// Number of hosts at each side.
    pub pairs: u32,
    /// The link that all share.
    pub bottleneck: Links,
    /// The links of the hosts at the left, `access-left-1`, …; without it, they take no time.
    #[serde(default)]
    pub left: Links,
    /// The links of the hosts at the right, `access-right-1`, …; without it, they take no time.
    #[serde(default)]
    pub right: Links,
}

impl TopologyParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        check_count("pairs", self.pairs)?;
        if self.bottleneck.count() > 1 {
            let help = "write one table; a chain or a parking-lot has several bottlenecks";
            return Err(ConfigError::new("bottleneck", "there is one bottleneck only", help));
        }
        Ok(())
    }

    fn parts(&self) -> Parts {
        let mut parts = Parts::default();
        let (left, right) = (parts.router("router-left"), parts.router("router-right"));
        parts.join("bottleneck", [&left, &right], ("bottleneck", 0));
        for n in 1..=self.pairs {
            let turn = n as usize - 1;
            let host = parts.host(format!("left-{n}"));
            parts.join(format!("access-left-{n}"), [&host, &left], ("left", turn));
            let host = parts.host(format!("right-{n}"));
            parts.join(format!("access-right-{n}"), [&right, &host], ("right", turn));
        }
        parts
    }
}
