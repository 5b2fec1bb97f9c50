//! The way of packets through shared channels: into a `cell::Cell` as into a link, and out of it.
//!
//! A packet's fate on a channel is a fate on the direction that the channel takes the place of, for observers, tables
//! and captures alike.

use std::collections::VecDeque;

use cell::Cell;
use link::{Event, Observer};
use units::Instant;

use crate::cells::CellUser;
use crate::connection::Connection;
use crate::directed_link::DirectedLink;
use crate::engine::Engine;
use crate::external::Gateway;
use crate::flow::Flow;
use crate::ids::{CellId, CellUserId, ConnectionId, DirectionId, FlowId, IdVec};
use crate::link_observer::LinkObserver;
use crate::packet::PacketBox;
use crate::pending::Pending;
use crate::record::Recorder;
use crate::route::{Hop, Routes};

impl<R: Recorder> Engine<R> {
    /// A packet comes to a shared channel.
    #[inline(never)]
    pub(crate) fn enter_cell(&mut self, place: CellUserId, mut packet: PacketBox) {
        let CellUser { cell, user, direction, .. } = self.cells.user(place);
        if packet.0.size > self.links[direction].mtu {
            return self.drop_oversize(direction, packet);
        }
        packet.0.next_hop = packet.0.next_hop.next();
        if R::ON {
            self.recorder.on_entered(self.now, direction, &mut packet.0);
        }
        let now = self.now;
        let (channel, mut observer) = self.observed_cell(cell);
        channel.handle_packet(now, user, packet, &mut observer);
        self.rearm_cell(cell);
    }

    /// A TTI of a shared channel ends and the next begins.
    #[inline(never)]
    pub(crate) fn wake_cell(&mut self, cell: CellId) {
        let now = self.now;
        let (channel, mut observer) = self.observed_cell(cell);
        channel.handle_timeout(now, &mut observer);
        if R::ON {
            let blocks = channel.take_blocks();
            self.recorder.on_blocks(cell, blocks);
        }
        while let Some(packet) = self.cells.channel(cell).0.poll_delivery() {
            self.arrive(packet);
        }
        self.rearm_cell(cell);
    }

    fn rearm_cell(&mut self, cell: CellId) {
        let wake_up = self.cells.channel(cell).0.poll_timeout();
        self.schedule.set_cell(cell, wake_up.unwrap_or(Instant::NEVER));
    }

    /// A channel, and the observer for a call of it.
    fn observed_cell(&mut self, cell: CellId) -> (&mut Cell<PacketBox>, CellObserver<'_, R>) {
        let (channel, users) = self.cells.channel(cell);
        let observer = CellObserver {
            routes: &self.routes,
            users,
            links: &mut self.links,
            connections: &mut self.connections,
            flows: &mut self.flows,
            pending: &mut self.pending,
            gateway: &mut self.gateway,
            recorder: &mut self.recorder,
        };
        (channel, observer)
    }
}

/// The observer of a shared channel during a call.
struct CellObserver<'a, R> {
    routes: &'a Routes,
    users: &'a IdVec<CellUserId, CellUser>,
    links: &'a mut IdVec<DirectionId, DirectedLink>,
    connections: &'a mut IdVec<ConnectionId, Connection>,
    flows: &'a mut IdVec<FlowId, Flow>,
    pending: &'a mut VecDeque<Pending>,
    gateway: &'a mut Gateway,
    recorder: &'a mut R,
}

impl<R: Recorder> Observer<PacketBox> for CellObserver<'_, R> {
    #[inline]
    fn on_event(&mut self, now: Instant, packet: &PacketBox, event: Event) {
        // An event that has no reader needs no look for the direction.
        let is_read =
            matches!(event, Event::QueueDropped { .. } | Event::ErrorDropped { .. } | Event::Delayed { .. });
        if !(R::METERS || is_read) {
            return;
        }
        let Hop::Cell(user) = self.routes.at(packet.0.next_hop.before()) else { return };
        let direction = self.users[user].direction;
        let mut observer = LinkObserver {
            direction,
            connections: self.connections,
            flows: self.flows,
            pending: self.pending,
            meter: &mut self.links[direction].meter,
            gateway: self.gateway,
            recorder: self.recorder,
        };
        observer.on_event(now, packet, event);
    }
}
