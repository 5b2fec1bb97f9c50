//! Identities: a run numbers each kind of thing by a type of its own.
//!
//! An [`IdVec`] is a vector that only one of these types indexes, so that the number of a flow never finds a
//! connection.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

/// A place in a list of a run.
pub trait Id: Copy {
    /// The identity of the thing at this place.
    fn from_index(index: usize) -> Self;

    /// The place.
    fn index(self) -> usize;
}

/// Declares identity types, each a number of 32 bits.
#[macro_export]
macro_rules! ids {
    ($($(#[$doc:meta])* $vis:vis $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
        $vis struct $name(u32);

        impl $crate::Id for $name {
            #[inline(always)]
            fn from_index(index: usize) -> Self {
                Self(index as u32)
            }

            #[inline(always)]
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.0, f)
            }
        }
    )*};
}

macro_rules! public_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $crate::ids! { $($(#[$doc])* #[derive(Serialize, Deserialize)] #[serde(transparent)] pub $name;)* }

        $(impl $name {
            /// The identity of the thing at this place.
            #[must_use]
            #[inline(always)]
            pub const fn new(index: usize) -> Self {
                Self(index as u32)
            }

            /// The place.
            #[must_use]
            #[inline(always)]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        })*
    };
}

public_ids! {
    /// A host, router or external node, by its place in the specification.
    NodeId;
    /// A link, by its place in the specification.
    LinkId;
    /// A flow, by its place among the flows of a run.
    FlowId;
}

/// A side of a flow and of its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The flow's `from`: the host that sends what the flow is about.
    From,
    /// The flow's `to`.
    To,
}

impl Side {
    /// Both sides, in the order in which [`PerSide`] holds them.
    pub const BOTH: [Self; 2] = [Self::From, Self::To];

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

/// One value for each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PerSide<T>([T; 2]);

impl<T> PerSide<T> {
    /// The values of `from` and `to`.
    #[must_use]
    pub const fn new(from: T, to: T) -> Self {
        Self([from, to])
    }

    /// The value that `value` gives for each side, `from` first.
    #[must_use]
    pub fn from_fn(value: impl FnMut(Side) -> T) -> Self {
        Self(Side::BOTH.map(value))
    }

    /// The results of a function of both values, that of `from` first.
    #[must_use]
    pub fn map<U>(self, function: impl FnMut(T) -> U) -> PerSide<U> {
        PerSide(self.0.map(function))
    }

    /// References to both values.
    #[must_use]
    pub const fn each_ref(&self) -> PerSide<&T> {
        PerSide(self.0.each_ref())
    }

    /// Mutable references to both values.
    #[must_use]
    pub const fn each_mut(&mut self) -> PerSide<&mut T> {
        PerSide(self.0.each_mut())
    }

    /// The value of `from`, then the value of `to`.
    #[must_use]
    pub fn into_array(self) -> [T; 2] {
        self.0
    }

    /// Both values, that of `from` first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }

    /// Both values, that of `from` first.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut()
    }
}

impl<T: PartialEq> PerSide<T> {
    /// The side that has this value.
    #[must_use]
    pub fn side_of(&self, value: &T) -> Option<Side> {
        Side::BOTH.into_iter().find(|side| self[*side] == *value)
    }
}

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

/// A vector that is indexed by `I` alone.
#[derive(Clone)]
pub struct IdVec<I, T> {
    items: Vec<T>,
    indexed_by: PhantomData<I>,
}

impl<I: Id, T> IdVec<I, T> {
    /// The number of items.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is no item.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Adds an item and returns its place.
    pub fn push(&mut self, item: T) -> I {
        self.items.push(item);
        I::from_index(self.items.len() - 1)
    }

    /// The item at a place that may not exist.
    #[must_use]
    #[inline(always)]
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }

    /// The places, in order.
    pub fn ids(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.items.len()).map(I::from_index)
    }

    /// The items, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }

    /// The items, in order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.items.iter_mut()
    }
}

impl<I, T: fmt::Debug> fmt::Debug for IdVec<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.fmt(f)
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
    fn each_side_has_its_own_value() {
        let mut ports = PerSide::from_fn(|side| side as u16);
        ports[Side::To] += 10;
        assert_eq!(ports.into_array(), [0, 11]);
        assert_eq!((ports.side_of(&11), ports.side_of(&1)), (Some(Side::To), None));
        assert_eq!(Side::BOTH.map(Side::other), [Side::To, Side::From]);
    }

    #[test]
    fn an_item_is_found_at_the_place_at_which_it_was_added() {
        let mut links = IdVec::<LinkId, char>::default();
        let places = ['a', 'b'].map(|name| links.push(name));
        assert_eq!(places.map(|place| links[place]), ['a', 'b']);
        assert_eq!(links.get(LinkId::new(2)), None);
    }
}
