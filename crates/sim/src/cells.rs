//! Shared channels: the engine carries packets into a `cell::Cell` as into a link, and out of it.
//!
//! Each user has a link of its own between the base station and its host; of that link the channel is the direction
//! down. So a packet's fate on the channel is a fate on that direction, for observers, tables and captures alike.

use std::collections::{BTreeMap, VecDeque};

use cell::layout::{Layout, Point};
use cell::{Cell, PlacedUser, SectorId, SiteId, UserId, users};
use link::{Event, Observer};
use units::{Duration, Instant, Streams};

use crate::cell_summary::{CellSpan, CellSummary, CellUserSummary};
use crate::connection::Connection;
use crate::engine::{DirectedLink, Engine};
use crate::external::Gateway;
use crate::flow::Flow;
use crate::ids::{CellId, CellUserId, ConnectionId, DirectionId, FlowId, Heading, Id, IdVec};
use crate::link_observer::LinkObserver;
use crate::measure::{CellReading, Reading, WindowResult};
use crate::packet::PacketBox;
use crate::pending::Pending;
use crate::record::Recorder;
use crate::route::{Hop, Routes};
use crate::spec::{CellSpec, CellUserSpec, Spec};

/// All shared channels of a run.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    cells: IdVec<CellId, Cell<PacketBox>>,
    users: IdVec<CellUserId, CellUser>,
    by_direction: BTreeMap<DirectionId, CellUserId>,
}

/// A user, as the engine finds it.
#[derive(Clone, Copy, Debug)]
struct CellUser {
    cell: CellId,
    user: UserId,
    direction: DirectionId,
    /// Where it stands, or stood at the start.
    place: Point,
}

impl Cells {
    pub(crate) fn new(spec: &Spec, streams: &Streams) -> Self {
        let mut cells = Self::default();
        for cell in &spec.cells {
            let placed = placed(spec, cell, streams);
            let mut channel = Cell::new(&cell.config, &placed);
            if spec.record.cell {
                channel.keep_blocks();
            }
            let id = cells.cells.push(channel);
            for ((user, spec), placed) in (0..).map(UserId).zip(&cell.users).zip(&placed) {
                let direction = DirectionId::new(spec.link, Heading::Down);
                let place =
                    cells.users.push(CellUser { cell: id, user, direction, place: placed.placement.place });
                cells.by_direction.insert(direction, place);
            }
        }
        cells
    }

    /// A path of directions as hops.
    pub(crate) fn hops(&self, path: &[DirectionId]) -> impl Iterator<Item = Hop> {
        path.iter().map(|direction| {
            self.by_direction.get(direction).map_or(Hop::Link(*direction), |user| Hop::Cell(*user))
        })
    }

    /// The totals of every channel.
    pub(crate) fn reading(&self) -> Vec<CellReading> {
        let read = |cell: &Cell<PacketBox>| CellReading {
            sectors: (0..cell.sectors() as u32)
                .map(|sector| cell.sector_counters(SectorId(sector)).clone())
                .collect(),
            users: (0..cell.users() as u32).map(|user| cell.user_counters(UserId(user)).clone()).collect(),
        };
        self.cells.iter().map(read).collect()
    }

    /// What the channel has done for the user of a direction, counted as a link counts, and for how long it has sent to it.
    pub(crate) fn had_by_user_of(&self, direction: DirectionId) -> Option<(link::Counters, Duration)> {
        let user = &self.users[*self.by_direction.get(&direction)?];
        let channel = &self.cells[user.cell];
        let counters = channel.user_counters(user.user);
        let as_link = link::Counters {
            packets_in: counters.packets_in,
            bytes_in: counters.bytes_in,
            packets_out: counters.packets_out,
            bytes_out: counters.bytes_out,
            queue_drops: counters.expired + counters.overflowed + counters.handover_drops,
            queue_max: counters.queue_max,
            ..link::Counters::default()
        };
        Some((as_link, channel.tti() * counters.blocks))
    }

    /// What every channel did over the run, up to `last`, and in each window.
    pub(crate) fn summaries(
        &self,
        spec: &Spec,
        last: &Reading,
        windows: &[WindowResult],
    ) -> Vec<CellSummary> {
        let summary = |((place, cell), channel): ((usize, &CellSpec), &Cell<PacketBox>)| {
            let layout = Layout::of(&cell.config.layout);
            let users = self.users.iter().filter(|user| user.cell.index() == place);
            let users: Vec<CellUserSummary> =
                users.zip(&cell.users).map(|user| self.user(spec, channel, user)).collect();
            let span = |name: &str, opened: &Reading, closed: &Reading| {
                let length = closed.at.saturating_since(opened.at);
                let (before, after) = (opened.cells.get(place), &closed.cells[place]);
                CellSpan {
                    window: name.to_owned(),
                    from_s: opened.at.as_secs_f64(),
                    to_s: closed.at.as_secs_f64(),
                    ..CellSpan::between(before, after, (length, channel.tti()))
                }
            };
            let site = |site| layout.site(SiteId(site));
            CellSummary {
                cell: cell.name.clone(),
                scheduler: cell.config.scheduler.id().to_owned(),
                tti_s: channel.tti().as_secs_f64(),
                block_bits: channel.block_sizes().collect(),
                sites_m: (0..layout.sites() as u32).map(site).map(|place| [place.x, place.y]).collect(),
                whole: span("", &Reading::at_start(), last),
                windows: windows.iter().map(|seen| span(&seen.name, &seen.opened, &seen.closed)).collect(),
                users,
            }
        };
        spec.cells.iter().enumerate().zip(self.cells.iter()).map(summary).collect()
    }

    fn user(
        &self,
        spec: &Spec,
        channel: &Cell<PacketBox>,
        (user, asked): (&CellUser, &CellUserSpec),
    ) -> CellUserSummary {
        let link = spec.link(asked.link);
        let place = channel.place_of(user.user).unwrap_or(user.place);
        CellUserSummary {
            link: link.name.clone(),
            host: spec.node(link.ends[1]).name.clone(),
            sector: channel.sector_of(user.user).0,
            x_m: place.x,
            y_m: place.y,
            budget_s: asked.config.budget.map(Duration::as_secs_f64),
        }
    }

    pub(crate) fn packets_inside(&self) -> usize {
        self.cells.iter().map(Cell::packets_inside).sum()
    }
}

/// The users of a channel, each where it stands. What is drawn for a user comes from streams of the name of its link.
fn placed(spec: &Spec, cell: &CellSpec, streams: &Streams) -> Vec<PlacedUser> {
    let layout = Layout::of(&cell.config.layout);
    let streams = streams.below("cell").below(&cell.name).below("user");
    let placed = |(user, sector): (&CellUserSpec, SectorId)| {
        let streams = streams.below(&spec.link(user.link).name);
        let radio = &cell.config.radio;
        let placement = match user.place {
            Some(place) => users::place(&layout, radio, place, &mut streams.stream("shadowing")),
            None => users::drop_user(&layout, radio, sector, &streams),
        };
        PlacedUser { config: user.config, placement, streams }
    };
    cell.users.iter().zip(sectors(cell, layout.sectors())).map(placed).collect()
}

/// The sector that is to serve each user, so that as many of each service are in every sector: in turn, delay-bound users
/// from the first sector on, elastic ones from the last.
fn sectors(cell: &CellSpec, sectors: usize) -> Vec<SectorId> {
    let (mut bound, mut elastic) = ((0..sectors as u32).cycle(), (0..sectors as u32).rev().cycle());
    let next = |user: &CellUserSpec| match user.config.budget {
        Some(_) => bound.next(),
        None => elastic.next(),
    };
    cell.users.iter().filter_map(next).map(SectorId).collect()
}

impl<R: Recorder> Engine<R> {
    /// A packet comes to a shared channel.
    #[inline(never)]
    pub(crate) fn enter_cell(&mut self, place: CellUserId, mut packet: PacketBox) {
        let CellUser { cell, user, direction, .. } = self.cells.users[place];
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
        while let Some(packet) = self.cells.cells[cell].poll_delivery() {
            self.arrive(packet);
        }
        self.rearm_cell(cell);
    }

    fn rearm_cell(&mut self, cell: CellId) {
        self.schedule.set_cell(cell, self.cells.cells[cell].poll_timeout().unwrap_or(Instant::NEVER));
    }

    /// A channel, and the observer for a call of it.
    fn observed_cell(&mut self, cell: CellId) -> (&mut Cell<PacketBox>, CellObserver<'_, R>) {
        let Cells { cells, users, .. } = &mut self.cells;
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
        (&mut cells[cell], observer)
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
        // What nobody is told needs no look for the direction.
        if !(R::METERS || matches!(event, Event::QueueDropped { .. } | Event::Delayed { .. })) {
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
