//! Shared channels: the cells of a run and their users.
//!
//! Each user has a link of its own between the base station and its host; of that link the channel is the direction
//! down. `cell_traffic.rs` carries packets into a cell and out of it.

use std::collections::BTreeMap;

use cell::layout::{Layout, Point};
use cell::{Cell, PlacedUser, SectorId, SiteId, UserId, users};
use units::{Duration, Streams};

use crate::cell_summary::{CellSpan, CellSummary, CellUserSummary};
use crate::ids::{CellId, CellUserId, DirectionId, Heading, Id, IdVec};
use crate::measure::{CellReading, Reading, WindowResult};
use crate::packet::PacketBox;
use crate::route::Hop;
use crate::spec::{CellSpec, CellUserSpec, Spec};

/// All shared channels of a run.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    cells: IdVec<CellId, Cell<PacketBox>>,
    users: IdVec<CellUserId, CellUser>,
    by_direction: BTreeMap<DirectionId, CellUserId>,
}

/// A user of a shared channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellUser {
    pub(crate) cell: CellId,
    /// Its number in the cell.
    pub(crate) user: UserId,
    /// The direction of a link that the channel takes the place of.
    pub(crate) direction: DirectionId,
    /// Its place at the start.
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

    /// The user at a place of a route.
    pub(crate) fn user(&self, place: CellUserId) -> CellUser {
        self.users[place]
    }

    /// A channel, and all users.
    pub(crate) fn channel(&mut self, cell: CellId) -> (&mut Cell<PacketBox>, &IdVec<CellUserId, CellUser>) {
        (&mut self.cells[cell], &self.users)
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

    /// Counters of the channel for the user of a direction, as of a link, and the time that it has sent to it.
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
            error_drops: counters.wire.decompressor_drops,
            queue_max: counters.queue_max,
            wire: counters.wire,
            ..link::Counters::default()
        };
        Some((as_link, channel.tti() * counters.blocks))
    }

    /// Activity of every channel over the run, up to `last`, and in each window.
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
                users.zip(&cell.users).map(|user| self.user_summary(spec, channel, user)).collect();
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

    fn user_summary(
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

/// The sector that is to serve each user, so that as many of each service are in every sector: in turn, delay-bound
/// users from the first sector on, elastic ones from the last.
fn sectors(cell: &CellSpec, sectors: usize) -> Vec<SectorId> {
    let (mut bound, mut elastic) = ((0..sectors as u32).cycle(), (0..sectors as u32).rev().cycle());
    let next = |user: &CellUserSpec| match user.config.budget {
        Some(_) => bound.next(),
        None => elastic.next(),
    };
    cell.users.iter().filter_map(next).map(SectorId).collect()
}
