//! Identities: each kind of thing that a run has several of is numbered by a type of its own.

pub(crate) use units::{FlowId, Id, IdVec, LinkId, NodeId, PerSide, Side};

units::ids! {
    /// One direction of a link.
    pub(crate) DirectionId;
    /// A shared channel of the specification.
    pub(crate) CellId;
    /// A user of a shared channel; the numbers run over all channels.
    pub(crate) CellUserId;
    /// A proxy.
    pub(crate) ProxyId;
    /// A pair of ends. It belongs to one flow for the whole run; the flow's connections use it one after another.
    pub(crate) ConnectionId;
    /// One end of a connection.
    pub(crate) EndpointId;
    /// One connection as tables number it: the first of flow `i` is conversation `i`.
    pub(crate) ConversationId;
}

/// Orientation of a direction of a link.
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
        Self(2 * link.index() as u32 + heading as u32)
    }

    #[inline(always)]
    pub(crate) const fn link(self) -> LinkId {
        LinkId::new(self.0 as usize / 2)
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
        Self(flow.index() as u32)
    }
}

impl ConversationId {
    /// Name of the first connection of a flow.
    pub(crate) const fn first_of(flow: FlowId) -> Self {
        Self(flow.index() as u32)
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
