//! Identities: each kind of thing that a run has several of is counted by a type of its own.
//!
//! An [`IdVec`] is a vector that only one of these types indexes, so that the number of a flow never finds a
//! connection.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A place in an [`IdVec`].
pub(crate) trait Id: Copy {
    /// The thing at this place.
    fn from_index(index: usize) -> Self;

    /// The place.
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) struct $name(u32);

        impl Id for $name {
            #[inline(always)]
            fn from_index(index: usize) -> Self {
                Self(index as u32)
            }

            #[inline(always)]
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

ids! {
    /// A host, router or external node of the specification.
    NodeId;
    /// A link of the specification.
    LinkId;
    /// One direction of a link.
    DirectionId;
    /// A shared channel of the specification.
    CellId;
    /// A user of a shared channel, counted over all of them.
    CellUserId;
    /// A flow of the specification.
    FlowId;
    /// A pair of ends. It belongs to one flow for the whole run; the flow's connections use it one after another.
    ConnectionId;
    /// One end of a connection.
    EndpointId;
    /// One connection as tables number it: the first of flow `i` is conversation `i`.
    ConversationId;
}

/// A side of a flow and of its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The flow's `from`: the host that sends what the flow is about.
    From,
    /// The flow's `to`.
    To,
}

impl Side {
    pub(crate) const BOTH: [Self; 2] = [Self::From, Self::To];

    /// The other side.
    #[must_use]
    #[inline(always)]
    pub const fn other(self) -> Self {
        match self {
            Self::From => Self::To,
            Self::To => Self::From,
        }
    }
}

/// One of something for each side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PerSide<T>(pub(crate) [T; 2]);

impl<T> Index<Side> for PerSide<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, side: Side) -> &T {
        &self.0[side as usize]
    }
}

impl<T> IndexMut<Side> for PerSide<T> {
    #[inline(always)]
    fn index_mut(&mut self, side: Side) -> &mut T {
        &mut self.0[side as usize]
    }
}

/// Which way a direction of a link leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heading {
    /// From the link's first end to its second.
    Down,
    /// From its second end to its first.
    Up,
}

impl Heading {
    pub(crate) const BOTH: [Self; 2] = [Self::Down, Self::Up];

    /// Its name in tables and summaries.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
        }
    }
}

impl DirectionId {
    #[inline(always)]
    pub(crate) const fn new(link: LinkId, heading: Heading) -> Self {
        Self(2 * link.0 + heading as u32)
    }

    #[inline(always)]
    pub(crate) const fn link(self) -> LinkId {
        LinkId(self.0 / 2)
    }

    #[inline(always)]
    pub(crate) const fn heading(self) -> Heading {
        if self.0.is_multiple_of(2) { Heading::Down } else { Heading::Up }
    }

    /// Both directions of a link.
    pub(crate) fn both(link: LinkId) -> [Self; 2] {
        Heading::BOTH.map(|heading| Self::new(link, heading))
    }
}

impl EndpointId {
    #[inline(always)]
    pub(crate) const fn new(connection: ConnectionId, side: Side) -> Self {
        Self(2 * connection.0 + side as u32)
    }

    #[inline(always)]
    pub(crate) const fn connection(self) -> ConnectionId {
        ConnectionId(self.0 / 2)
    }

    #[inline(always)]
    pub(crate) const fn side(self) -> Side {
        if self.0.is_multiple_of(2) { Side::From } else { Side::To }
    }

    /// The end at the other side.
    #[inline(always)]
    pub(crate) const fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }
}

impl ConnectionId {
    /// The first connection of a flow, which every flow has from the start.
    pub(crate) const fn first_of(flow: FlowId) -> Self {
        Self(flow.0)
    }
}

impl ConversationId {
    /// What the first connection of a flow is called.
    pub(crate) const fn first_of(flow: FlowId) -> Self {
        Self(flow.0)
    }
}

/// A vector that is indexed by `I` alone.
#[derive(Clone, Debug)]
pub(crate) struct IdVec<I, T> {
    items: Vec<T>,
    indexed_by: PhantomData<I>,
}

impl<I: Id, T> IdVec<I, T> {
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Adds an item and returns its place.
    pub(crate) fn push(&mut self, item: T) -> I {
        self.items.push(item);
        I::from_index(self.items.len() - 1)
    }

    /// The item at a place that may not exist.
    #[inline(always)]
    pub(crate) fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.items.len()).map(I::from_index)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.items.iter_mut()
    }
}

impl<I, T> Default for IdVec<I, T> {
    fn default() -> Self {
        Self { items: Vec::new(), indexed_by: PhantomData }
    }
}

impl<I, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<Items: IntoIterator<Item = T>>(items: Items) -> Self {
        Self { items: items.into_iter().collect(), indexed_by: PhantomData }
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    #[inline(always)]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_knows_its_connection_its_side_and_its_peer() {
        let connection = ConnectionId::from_index(7);
        for side in Side::BOTH {
            let end = EndpointId::new(connection, side);
            assert_eq!((end.connection(), end.side()), (connection, side));
            assert_eq!(end.peer(), EndpointId::new(connection, side.other()));
        }
    }

    #[test]
    fn a_direction_knows_its_link_and_its_heading() {
        let link = LinkId::from_index(3);
        let directions = DirectionId::both(link);
        assert_eq!(directions.map(DirectionId::link), [link; 2]);
        assert_eq!(directions.map(|direction| direction.heading().name()), ["down", "up"]);
    }
}
