//! Routes: static shortest paths by number of hops.
//!
//! Every node forwards by the same rule, over the first declared link that leads one hop nearer, so a
//! packet never meets a loop. Only routers forward.

use std::collections::VecDeque;

use crate::ids::{CellUserId, DirectionId, Heading, Id, IdVec, LinkId, NodeId, ProxyId};
use crate::spec::{LinkSpec, NodeKind, NodeSpec, Spec};

/// The hops of all routes, one route after the other, each closed by [`Hop::End`].
#[derive(Debug, Default)]
pub(crate) struct Routes(Vec<Hop>);

/// Next hop of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hop {
    /// A direction of a link.
    Link(DirectionId),
    /// A shared channel, for one of its users.
    Cell(CellUserId),
    /// A proxy, at the end of a link that the packet enters next or has left.
    Proxy(ProxyId, proxy::Heading),
    /// Nothing: it has arrived.
    End,
}

/// A place on a route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NextHop(u32);

impl Routes {
    /// Adds a route and returns its first hop.
    pub(crate) fn add(&mut self, path: impl Iterator<Item = Hop>) -> NextHop {
        let first = NextHop(self.0.len() as u32);
        self.0.extend(path.chain([Hop::End]));
        first
    }

    /// Hops from a place to the end of its route.
    pub(crate) fn from(&self, first: NextHop) -> impl Iterator<Item = (NextHop, Hop)> {
        let places = (first.0..).map(NextHop);
        places.zip(self.0[first.0 as usize..].iter().copied()).take_while(|(_, hop)| *hop != Hop::End)
    }

    /// Object at a place.
    #[inline(always)]
    pub(crate) fn at(&self, hop: NextHop) -> Hop {
        self.0[hop.0 as usize]
    }
}

impl NextHop {
    /// The hop after this one.
    #[inline(always)]
    pub(crate) const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The hop before this one, for a packet that has entered a hop.
    #[inline(always)]
    pub(crate) const fn before(self) -> Self {
        Self(self.0 - 1)
    }
}

/// The graph of nodes and links.
pub(crate) struct Graph {
    forwards: IdVec<NodeId, bool>,
    /// For each node its links in the order of declaration: the direction that leaves it, and where to.
    leaving: IdVec<NodeId, Vec<(DirectionId, NodeId)>>,
}

impl Spec {
    /// The links that packets from one node to another cross, if there is a way.
    #[must_use]
    pub fn route(&self, from: NodeId, to: NodeId) -> Option<Vec<LinkId>> {
        let path = Graph::new(&self.nodes, &self.links).tree(to).path_from(from)?;
        Some(path.into_iter().map(DirectionId::link).collect())
    }
}

/// The routes to one destination from everywhere.
pub(crate) struct Tree {
    destination: NodeId,
    /// For each node the direction that its packets take, and the node to which that leads.
    next: IdVec<NodeId, Option<(DirectionId, NodeId)>>,
}

impl Graph {
    pub(crate) fn new(nodes: &[NodeSpec], links: &[LinkSpec]) -> Self {
        let mut leaving: IdVec<NodeId, Vec<_>> = nodes.iter().map(|_| Vec::new()).collect();
        for (index, link) in links.iter().enumerate() {
            let [first, second] = link.ends;
            let direction = |heading| DirectionId::new(LinkId::from_index(index), heading);
            leaving[first].push((direction(Heading::Down), second));
            leaving[second].push((direction(Heading::Up), first));
        }
        Self { forwards: nodes.iter().map(|node| node.kind == NodeKind::Router).collect(), leaving }
    }

    /// The shortest routes to `destination`: breadth first, from it outwards.
    pub(crate) fn tree(&self, destination: NodeId) -> Tree {
        let mut hops: IdVec<NodeId, usize> = self.leaving.ids().map(|_| usize::MAX).collect();
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
        let next = self.leaving.ids().map(|node| self.next_hop(node, destination, &hops)).collect();
        Tree { destination, next }
    }

    fn next_hop(
        &self,
        node: NodeId,
        destination: NodeId,
        hops: &IdVec<NodeId, usize>,
    ) -> Option<(DirectionId, NodeId)> {
        let nearer = |neighbour: NodeId| {
            let forwards = self.forwards[neighbour] || neighbour == destination;
            forwards && hops[neighbour] != usize::MAX && hops[neighbour] + 1 == hops[node]
        };
        self.leaving[node].iter().find(|(_, neighbour)| nearer(*neighbour)).copied()
    }
}

impl Tree {
    /// The directions that packets from `source` cross, or `None` if they cannot get there.
    pub(crate) fn path_from(&self, source: NodeId) -> Option<Vec<DirectionId>> {
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
