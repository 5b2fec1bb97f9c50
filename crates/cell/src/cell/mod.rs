//! The channel: the order of events in a TTI.
//!
//! At the boundary between two TTIs the blocks of the last one are received or fail and expired packets are dropped
//! (`reception.rs`), users move and are handed over (`handover.rs`), and each sector chooses the users to serve next
//! (`scheduling.rs`). Between boundaries packets only join queues. While no packet waits, no TTI is computed.

use std::collections::VecDeque;

use link::{DropRule, Event, Observer, Packet};
use units::{Bytes, Duration, Instant};

use crate::adaptation::{BlockErrors, Formats};
use crate::config::Config;
use crate::counters::{SectorCounters, UserCounters};
use crate::identity::{SectorId, UserId};
use crate::radio::{Budget, Gains};
use crate::scheduler::Scheduler;

mod block_record;
mod handover;
mod movement;
mod reception;
mod scheduling;
mod user;

pub use block_record::BlockRecord;
use movement::Movement;
pub use user::PlacedUser;
use user::User;

/// The sectors of a plan, with their users.
///
/// Order of calls: [`handle_packet`](Self::handle_packet) when a packet arrives for a user,
/// [`handle_timeout`](Self::handle_timeout) at the time of [`poll_timeout`](Self::poll_timeout), and after each of the
/// two [`poll_delivery`](Self::poll_delivery) until it returns none. Time never runs back.
#[derive(Debug)]
pub struct Cell<P> {
    tti: Duration,
    users_per_tti: usize,
    codes: u32,
    error_pause: Duration,
    report_delay: usize,
    chase_combining: bool,
    formats: Formats,
    errors: BlockErrors,
    budget: Budget,
    gains: Gains,
    sectors: Vec<Sector>,
    /// Power that each sector sends in the present TTI, in watts.
    sent: Vec<f64>,
    users: Vec<User<P>>,
    /// The next boundary, while a packet waits.
    next: Option<Instant>,
    out: VecDeque<P>,
    /// Blocks sent since the last call of [`take_blocks`](Self::take_blocks), if they are recorded.
    blocks: Option<Vec<BlockRecord>>,
    /// Motion of the users, if they move.
    movement: Option<Movement>,
}

/// A sector, and the users that it serves.
#[derive(Debug)]
struct Sector {
    scheduler: Box<dyn Scheduler>,
    /// Users with packets in their queues.
    backlogged: Vec<UserId>,
    /// Users with a block in the present TTI.
    served: Vec<UserId>,
    counters: SectorCounters,
}

impl<P: Packet> Cell<P> {
    /// A plan with these users.
    ///
    /// # Panics
    /// May panic on a configuration that [`Config::validate`] or [`Config::validate_user`] refuses.
    #[must_use]
    pub fn new(config: &Config, users: &[PlacedUser]) -> Self {
        let sectors = users.first().map_or(0, |user| user.placement.gains.len());
        let formats = config.adaptation.formats();
        let mut gains = Gains::new(sectors);
        users.iter().for_each(|user| gains.push(&user.placement.gains));
        let budget = config.radio.budget(&config.adaptation.blocks);
        let sector = |_| Sector {
            scheduler: config.scheduler.scheduler(),
            backlogged: Vec::new(),
            served: Vec::new(),
            counters: SectorCounters {
                blocks_by_format: vec![0; formats.all().len()],
                ..SectorCounters::default()
            },
        };
        let movement = Movement::new(config, users);
        let users = users.iter().map(|user| User::new(config, user));
        Self {
            tti: config.tti,
            users_per_tti: config.users_per_tti as usize,
            codes: config.adaptation.codes,
            error_pause: config.adaptation.error_pause,
            report_delay: (config.adaptation.report_delay.as_nanos() / config.tti.as_nanos()) as usize,
            chase_combining: config.adaptation.chase_combining,
            errors: config.adaptation.block_errors(),
            users: users.collect(),
            sectors: (0..sectors).map(sector).collect(),
            sent: vec![budget.overhead; sectors],
            formats,
            budget,
            gains,
            next: None,
            out: VecDeque::new(),
            blocks: None,
            movement,
        }
    }

    /// Records every block from now on, for [`take_blocks`](Self::take_blocks).
    pub fn keep_blocks(&mut self) {
        self.blocks.get_or_insert_default();
    }

    /// The blocks whose fate became known since the last call, in order of time.
    pub fn take_blocks(&mut self) -> Vec<BlockRecord> {
        self.blocks.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// A packet arrives for a user.
    pub fn handle_packet(&mut self, now: Instant, user: UserId, packet: P, observer: &mut impl Observer<P>) {
        if self.next.is_none() {
            // Handovers while the channel was idle come before the packet that ends the idle time.
            self.move_users(now, observer);
        }
        let (size, flow) = (packet.size(), packet.flow_key());
        let receiver = &mut self.users[user.index()];
        receiver.counters.packets_in += 1;
        receiver.counters.bytes_in += size;
        self.sectors[receiver.sector.index()].counters.bytes_in += size;
        let (behind, behind_bytes) = (receiver.queue.len() as u32, receiver.queue.bytes());
        if !receiver.has_room(size) {
            receiver.counters.overflowed += 1;
            let rule = DropRule::OVERFLOW;
            observer.on_event(
                now,
                &packet,
                Event::QueueDropped { rule, behind, behind_bytes, average: None },
            );
            return;
        }
        observer.on_event(now, &packet, Event::Queued { behind, behind_bytes, average: None });
        if receiver.queue.is_empty() {
            receiver.history.on_backlog(now);
            self.sectors[receiver.sector.index()].backlogged.push(user);
        }
        receiver.history.on_arrival(now, flow);
        let (size, compressed) = receiver.compress(now, &packet, observer);
        receiver.queue.push(now, packet, size, compressed);
        receiver.counters.queue_max = receiver.counters.queue_max.max(u64::from(behind) + 1);
        self.next.get_or_insert(boundary_after(now, self.tti));
    }

    /// Time has reached `now`, at or after [`poll_timeout`](Self::poll_timeout).
    pub fn handle_timeout(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        while let Some(boundary) = self.next.filter(|boundary| *boundary <= now) {
            self.end_tti(boundary, observer);
            self.move_users(boundary, observer);
            self.begin_tti(boundary, observer);
            let waits = self.sectors.iter().any(|sector| !sector.backlogged.is_empty());
            self.next = waits.then_some(boundary + self.tti);
        }
    }

    /// A packet that has reached its user.
    pub fn poll_delivery(&mut self) -> Option<P> {
        self.out.pop_front()
    }

    /// Time of the next call of [`handle_timeout`](Self::handle_timeout), if a packet waits.
    #[must_use]
    pub const fn poll_timeout(&self) -> Option<Instant> {
        self.next
    }

    /// Counters of a user.
    #[must_use]
    pub fn user_counters(&self, user: UserId) -> &UserCounters {
        &self.users[user.index()].counters
    }

    /// Number of users.
    #[must_use]
    pub const fn users(&self) -> usize {
        self.users.len()
    }

    /// Number of sectors.
    #[must_use]
    pub const fn sectors(&self) -> usize {
        self.sectors.len()
    }

    /// The sector that serves a user.
    #[must_use]
    pub fn sector_of(&self, user: UserId) -> SectorId {
        self.users[user.index()].sector
    }

    /// The transmission time interval.
    #[must_use]
    pub const fn tti(&self) -> Duration {
        self.tti
    }

    /// The sizes of transport blocks in bits, in the order of [`SectorCounters::blocks_by_format`].
    pub fn block_sizes(&self) -> impl Iterator<Item = u32> {
        self.formats.all().iter().map(|format| format.bits)
    }

    /// Counters of a sector.
    #[must_use]
    pub fn sector_counters(&self, sector: SectorId) -> &SectorCounters {
        &self.sectors[sector.index()].counters
    }

    /// Number of packets that wait for a user or have not been polled yet.
    #[must_use]
    pub fn packets_inside(&self) -> usize {
        self.users.iter().map(|user| user.queue.len()).sum::<usize>() + self.out.len()
    }

    /// Packets and bytes that wait for a user, without the delivered parts of packets.
    #[must_use]
    pub fn queue_len(&self, user: UserId) -> (usize, Bytes) {
        let queue = &self.users[user.index()].queue;
        (queue.len(), queue.bytes())
    }
}

/// The first boundary of TTIs at or after `now`; TTIs are counted from the start of the run.
fn boundary_after(now: Instant, tti: Duration) -> Instant {
    Instant::from_nanos(now.as_nanos().div_ceil(tti.as_nanos()) * tti.as_nanos())
}

#[cfg(test)]
mod tests;
