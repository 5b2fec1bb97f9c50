//! Reachability of hosts: over one link, or over links between routers alone.

use std::collections::{BTreeMap, BTreeSet};

use crate::resolved::Link;

/// The parts into which routers and links fall.
pub(super) struct Reach<'a> {
    /// The links that join two nodes, each way.
    joined: BTreeSet<(&'a str, &'a str)>,
    /// For each router the part of the network in which it is.
    parts: BTreeMap<&'a str, usize>,
    /// For each node those next to it.
    neighbours: BTreeMap<&'a str, Vec<&'a str>>,
}

impl<'a> Reach<'a> {
    pub(super) fn new(routers: &'a [String], links: &'a [Link]) -> Self {
        let mut reach = Self { joined: BTreeSet::new(), parts: BTreeMap::new(), neighbours: BTreeMap::new() };
        for [a, b] in links.iter().map(|link| [0, 1].map(|end: usize| link.between[end].as_str())) {
            for (one, other) in [(a, b), (b, a)] {
                reach.joined.insert((one, other));
                reach.neighbours.entry(one).or_default().push(other);
            }
        }
        let known: BTreeSet<&str> = routers.iter().map(String::as_str).collect();
        for (part, router) in routers.iter().enumerate() {
            reach.flood(router, part, &known);
        }
        reach
    }

    /// All routers that are reached from this one are in its part.
    fn flood(&mut self, router: &'a str, part: usize, routers: &BTreeSet<&'a str>) {
        let mut ahead = vec![router];
        while let Some(node) = ahead.pop() {
            if !self.parts.contains_key(node) {
                self.parts.insert(node, part);
                let next = self.neighbours.get(node).into_iter().flatten();
                ahead.extend(next.filter(|next| routers.contains(*next)));
            }
        }
    }

    /// Whether packets get from one host to another.
    pub(super) fn joins(&self, from: &str, to: &str) -> bool {
        let parts = |host| {
            let next = self.neighbours.get(host).into_iter().flatten();
            next.filter_map(|node| self.parts.get(node)).collect::<BTreeSet<_>>()
        };
        self.joined.contains(&(from, to)) || !parts(from).is_disjoint(&parts(to))
    }
}
