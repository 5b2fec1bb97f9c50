//! All registries of this crate, as lists and forms show them.

use crate::{capacity, compression, distribution, error_model, queue};
use registry::Entry;

/// One registry.
#[derive(Clone, Copy, Debug)]
pub struct Registry {
    /// Its name in lists.
    pub name: &'static str,
    /// Its name in schemas.
    pub key: &'static str,
    /// Decision that its members make.
    pub summary: &'static str,
    /// Its members, in the order of the documentation.
    pub entries: &'static [Entry],
}

/// Every registry.
#[must_use]
pub const fn registries() -> [Registry; 5] {
    [
        Registry {
            name: "queues",
            key: "queue",
            summary: "which packets are dropped from the input queue, and which leave it first",
            entries: queue::ENTRIES,
        },
        Registry {
            name: "errors",
            key: "error",
            summary: "which packets are hit by errors",
            entries: error_model::ENTRIES,
        },
        Registry {
            name: "capacities",
            key: "capacity",
            summary: "how the rate of transmission varies in time",
            entries: capacity::ENTRIES,
        },
        Registry {
            name: "compressions",
            key: "compression",
            summary: "how packets' headers are compressed",
            entries: compression::ENTRIES,
        },
        Registry {
            name: "distributions",
            key: "DurationDistribution",
            summary: "how a quantity varies",
            entries: distribution::ENTRIES,
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_member_has_a_name_of_its_own_and_says_what_it_is_and_where_it_comes_from() {
        for registry in registries() {
            let ids: BTreeSet<&str> = registry.entries.iter().map(|entry| entry.id).collect();
            assert_eq!(ids.len(), registry.entries.len(), "{}", registry.name);
            let says_all = |entry: &Entry| {
                [entry.id, entry.summary, entry.source, &entry.example()].iter().all(|text| !text.is_empty())
            };
            assert!(registry.entries.iter().all(says_all), "{}", registry.name);
        }
    }
}
