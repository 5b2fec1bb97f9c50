//! Who reaches whom, over which links: static shortest paths by number of hops.
//!
//! Every node forwards by the same rule, the first declared link that leads one hop nearer, so a
//! packet never meets a loop. Only routers forward.

use std::collections::VecDeque;

use crate::spec::{LinkSpec, NodeKind, NodeSpec};

/// The place of a link's direction in the world: link `i` has `2 i` (down) and `2 i + 1` (up).
pub(crate) type LinkDirection = u32;

/// The graph of nodes and links.
pub(crate) struct Graph {
    forwards: Vec<bool>,
    /// For each node its links in the order of declaration: the direction that leaves it, and where to.
    leaving: Vec<Vec<(LinkDirection, usize)>>,
}

/// The way to one destination from everywhere.
pub(crate) struct Tree {
    destination: usize,
    /// For each node the direction that its packets take, and the node behind it.
    next: Vec<Option<(LinkDirection, usize)>>,
}

impl Graph {
    pub(crate) fn new(nodes: &[NodeSpec], links: &[LinkSpec]) -> Self {
        let mut leaving = vec![Vec::new(); nodes.len()];
        for (index, link) in links.iter().enumerate() {
            let down = 2 * index as LinkDirection;
            leaving[link.ends[0]].push((down, link.ends[1]));
            leaving[link.ends[1]].push((down + 1, link.ends[0]));
        }
        Self { forwards: nodes.iter().map(|node| node.kind == NodeKind::Router).collect(), leaving }
    }

    /// The shortest ways to `destination`: breadth first, from it outwards.
    pub(crate) fn tree(&self, destination: usize) -> Tree {
        let mut hops = vec![usize::MAX; self.leaving.len()];
        hops[destination] = 0;
        let mut frontier = VecDeque::from([destination]);
        while let Some(node) = frontier.pop_front() {
            for &(_, neighbour) in &self.leaving[node] {
                if hops[neighbour] == usize::MAX {
                    hops[neighbour] = hops[node] + 1;
                    // A host is an end: it is reached, but nothing is reached through it.
                    if self.forwards[neighbour] {
                        frontier.push_back(neighbour);
                    }
                }
            }
        }
        let next = (0..hops.len()).map(|node| self.next_hop(node, destination, &hops)).collect();
        Tree { destination, next }
    }

    fn next_hop(&self, node: usize, destination: usize, hops: &[usize]) -> Option<(LinkDirection, usize)> {
        let nearer = |neighbour: usize| {
            let forwards = self.forwards[neighbour] || neighbour == destination;
            forwards && hops[neighbour] != usize::MAX && hops[neighbour] + 1 == hops[node]
        };
        self.leaving[node].iter().find(|(_, neighbour)| nearer(*neighbour)).copied()
    }
}

impl Tree {
    /// The directions that packets from `source` cross, or `None` if they cannot get there.
    pub(crate) fn path_from(&self, source: usize) -> Option<Vec<LinkDirection>> {
        let mut path = Vec::new();
        let mut node = source;
        while node != self.destination {
            let (direction, next) = self.next[node]?;
            path.push(direction);
            node = next;
        }
        Some(path)
    }
}
