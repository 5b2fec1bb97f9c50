//! Parking lot: a long path over several bottlenecks, and on each of them traffic that crosses only that one.
//!
//! Hosts `left` and `right` at the ends; routers `router-1`, `router-2`, …; between them the links `hop-1`, `hop-2`, …;
//! the hosts `enter-1` before the first and `leave-1` after it, `enter-2` and `leave-2` around the second, …; and links
//! `access-left`, `access-enter-1`, … of all hosts. `down` runs from left to right on all.

use link::ConfigError;
use registry::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Keys, Links, Parts, TopologyParameters};

/// The list's line.
pub const ENTRY: Entry = Entry::new("parking-lot", "`left` to `right` over bottlenecks `hop-1`, …, each crossed from `enter-1`, … to `leave-1`, …", "Floyd 1991, \"Connections with multiple congested gateways in packet-switched networks\"").written("{ parking-lot = { profile = \"sack-6675\", hops = 3, bottlenecks = { down = { rate = \"1 Mbit/s\" } } } }");

/// A path from `left` to `right` over the bottlenecks `hop-1`, `hop-2`, …, and around each of them a pair of hosts
/// whose traffic crosses that one alone: `enter-1` and `leave-1`, `enter-2` and `leave-2`, …
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The TCP of all hosts: the name of a profile, or a path to one.
    pub profile: String,
    /// Keys that replace those of the hosts' profile.
    #[serde(default)]
    #[schemars(schema_with = "crate::schema::tcp_keys")]
    pub tcp: Keys,
    /// Number of bottlenecks. Default: the number of entries of `bottlenecks`.
    pub hops: Option<u32>,
    /// The links of the long path, the leftmost first.
    pub bottlenecks: Links,
    /// The links of the hosts: of `left`, of `right`, then of `enter-1`, `leave-1`, `enter-2` and so on. Default: links
    /// without delay and limits.
    #[serde(default)]
    pub access: Links,
}

impl TopologyParameters for Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        self.bottlenecks.check_row(self.hops, "bottlenecks")
    }

    fn parts(&self) -> Parts {
        let mut parts = Parts::default();
        let hops = self.bottlenecks.in_a_row(self.hops);
        let routers: Vec<String> = (0..=hops).map(|n| parts.router(format!("router-{}", n + 1))).collect();
        for (turn, pair) in routers.windows(2).enumerate() {
            parts.join(format!("hop-{}", turn + 1), [&pair[0], &pair[1]], ("bottlenecks", turn));
        }
        let mut turn = 0;
        let mut access = |parts: &mut Parts, name: String, router: &str, enters: bool| {
            let host = parts.host(name);
            let between = if enters { [&*host, router] } else { [router, &*host] };
            parts.join(format!("access-{host}"), between, ("access", turn));
            turn += 1;
        };
        access(&mut parts, "left".to_owned(), &routers[0], true);
        access(&mut parts, "right".to_owned(), &routers[routers.len() - 1], false);
        for (n, pair) in (1..).zip(routers.windows(2)) {
            access(&mut parts, format!("enter-{n}"), &pair[0], true);
            access(&mut parts, format!("leave-{n}"), &pair[1], false);
        }
        parts
    }
}
