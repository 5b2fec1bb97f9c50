//! Chain: a host at each end, and links in a row between them over routers.
//!
//! Hosts `left` and `right`; routers `router-1`, `router-2`, …; links `hop-1`, `hop-2`, … from left to right.

use link::ConfigError;
use registry::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Keys, Links, Parts, TopologyParameters};

/// The list's line.
pub const ENTRY: Entry = Entry::new(
    "chain",
    "hosts `left` and `right`, and between them links `hop-1`, `hop-2`, … over routers",
    "a path of several links, as traceroute shows them",
)
.written("{ chain = { profile = \"sack-6675\", hops = 3, links = { down = { rate = \"1 Mbit/s\" } } } }");

/// A host at each end, `left` and `right`, and links `hop-1`, `hop-2`, … between them, over `router-1`, `router-2`, …
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The TCP of both hosts: the name of a profile, or a path to one.
    pub profile: String,
    /// Keys that replace those of the hosts' profile.
    #[serde(default)]
    #[schemars(schema_with = "crate::schema::tcp_keys")]
    pub tcp: Keys,
    /// Number of links. Default: the number of entries of `links`.
    pub hops: Option<u32>,
    /// The links, the leftmost first.
    pub links: Links,
}

impl TopologyParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        self.links.check_row(self.hops, "links")
    }

    fn parts(&self) -> Parts {
        let mut parts = Parts::default();
        let hops = self.links.in_a_row(self.hops);
        let mut last = parts.host("left");
        for hop in 1..hops {
            let router = parts.router(format!("router-{hop}"));
            parts.join(format!("hop-{hop}"), [&last, &router], ("links", hop as usize - 1));
            last = router;
        }
        let right = parts.host("right");
        parts.join(format!("hop-{hops}"), [&last, &right], ("links", hops as usize - 1));
        parts
    }
}
