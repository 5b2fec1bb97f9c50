//! The channel: what happens in a TTI, in the order of the functions below.
//!
//! At the boundary between two TTIs the blocks of the last one reach their users or fail, packets that are too old are
//! dropped, users who move are where they have come to, and each sector chooses whom to send to next. Between boundaries packets only join queues. While nothing
//! waits, no TTI is worked out at all.

use std::collections::VecDeque;

use link::{DelayCause, DropRule, Event, Observer, Packet};
use units::text::PacketsOrBytes;
use units::{Bytes, Duration, Instant, Stream, Streams};

use crate::adaptation::{BlockErrors, Format, Formats, Reception};
use crate::config::{Config, UserConfig};
use crate::counters::{SectorCounters, UserCounters};
use crate::history::History;
use crate::identity::{SectorId, UserId};
use crate::queue::UserQueue;
use crate::radio::fading::{Fading, doppler_frequency};
use crate::radio::{Budget, Gains};
use crate::random::unit;
use crate::scheduler::{Candidate, Rank, Scheduler, Service};
use crate::users::Placement;

mod block_record;
mod movement;

pub use block_record::BlockRecord;
use movement::Movement;

/// The sectors of a plan, with their users.
///
/// Order of calls: [`handle_packet`](Self::handle_packet) when a packet comes for a user,
/// [`handle_timeout`](Self::handle_timeout) when [`poll_timeout`](Self::poll_timeout) says so, and after each of the two,
/// [`poll_delivery`](Self::poll_delivery) until it gives nothing. Time never runs back.
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
    /// Power in watts that each sector sends in the present TTI.
    sent: Vec<f64>,
    users: Vec<User<P>>,
    /// The next boundary, while anything waits.
    next: Option<Instant>,
    out: VecDeque<P>,
    /// Blocks sent since they were last taken, where they are kept.
    blocks: Option<Vec<BlockRecord>>,
    /// Where users move.
    movement: Option<Movement>,
}

/// A user as a plan is given it.
#[derive(Clone, Debug)]
pub struct PlacedUser {
    /// What it is promised.
    pub config: UserConfig,
    /// Where it stands.
    pub placement: Placement,
    /// Below which its random processes have their streams: `fading` and `error`.
    pub streams: Streams,
}

#[derive(Debug)]
struct Sector {
    scheduler: Box<dyn Scheduler>,
    /// Users with anything in their queues.
    backlogged: Vec<UserId>,
    /// Those to which blocks are under way in the present TTI.
    served: Vec<UserId>,
    counters: SectorCounters,
}

#[derive(Debug)]
struct User<P> {
    sector: SectorId,
    service: Service,
    min_rate: f64,
    queue_limit: Option<PacketsOrBytes>,
    queue: UserQueue<P>,
    fading: Fading,
    block_errors: Stream,
    /// Qualities reported in the last TTIs, the oldest first, where reports are delayed.
    reports: VecDeque<f64>,
    block: Option<Block>,
    /// Not sent to before this, after an error.
    paused_until: Instant,
    last_served: Instant,
    history: History,
    counters: UserCounters,
}

/// A transport block that has not got through yet.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// Bytes of the user's data in it.
    bytes: Bytes,
    format: Format,
    /// Signal-to-interference ratio of the present attempt; with chase combining, of all of them.
    quality: f64,
    /// Share of the shared channel's power in the present attempt.
    power: f64,
    /// The present attempt, from 1 on.
    attempt: u32,
}

/// A user as a sector may serve it in this TTI.
#[derive(Clone, Copy, Debug)]
struct Offer {
    quality: f64,
    /// Bits that wait, or those of the block that is to be repeated.
    wanted: u32,
    repeated: Option<Block>,
}

/// What a user gets in a TTI.
#[derive(Clone, Copy, Debug)]
struct Grant {
    format: Format,
    /// Share of the shared channel's power.
    power: f64,
    /// Signal-to-interference ratio that this power gives.
    quality: f64,
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

    /// Keeps a record of every block from now on, for [`take_blocks`](Self::take_blocks).
    pub fn keep_blocks(&mut self) {
        self.blocks.get_or_insert_default();
    }

    /// The blocks whose fate became known since the last call, in order of time.
    pub fn take_blocks(&mut self) -> Vec<BlockRecord> {
        self.blocks.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// A packet comes for a user.
    pub fn handle_packet(&mut self, now: Instant, user: UserId, packet: P, observer: &mut impl Observer<P>) {
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
        receiver.queue.push(now, packet, size);
        receiver.counters.queue_max = receiver.counters.queue_max.max(u64::from(behind) + 1);
        self.next.get_or_insert(boundary_after(now, self.tti));
    }

    /// Time has come to `now`: at or after what [`poll_timeout`](Self::poll_timeout) said.
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

    /// When the channel wants to be called next, if anything waits.
    #[must_use]
    pub const fn poll_timeout(&self) -> Option<Instant> {
        self.next
    }

    /// What was added up for a user.
    #[must_use]
    pub fn user_counters(&self, user: UserId) -> &UserCounters {
        &self.users[user.index()].counters
    }

    /// How many users there are.
    #[must_use]
    pub const fn users(&self) -> usize {
        self.users.len()
    }

    /// How many sectors there are.
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

    /// What was added up for a sector.
    #[must_use]
    pub fn sector_counters(&self, sector: SectorId) -> &SectorCounters {
        &self.sectors[sector.index()].counters
    }

    /// Packets that wait for any user, or have not been polled yet.
    #[must_use]
    pub fn packets_inside(&self) -> usize {
        self.users.iter().map(|user| user.queue.len()).sum::<usize>() + self.out.len()
    }

    /// Packets and bytes that wait for a user; of packets that have got through in part, what is left.
    #[must_use]
    pub fn queue_len(&self, user: UserId) -> (usize, Bytes) {
        let queue = &self.users[user.index()].queue;
        (queue.len(), queue.bytes())
    }

    // --- the end of a TTI: blocks get through or fail, old packets go ---

    fn end_tti(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        for sector in 0..self.sectors.len() {
            let mut served = std::mem::take(&mut self.sectors[sector].served);
            for user in served.drain(..) {
                self.receive(now, user, observer);
            }
            self.sectors[sector].served = served;
            self.expire(now, sector, observer);
        }
    }

    /// The block that was under way to `user` has reached it.
    fn receive(&mut self, now: Instant, user: UserId, observer: &mut impl Observer<P>) {
        let smallest_needs = self.formats.smallest().needs;
        let receiver = &mut self.users[user.index()];
        let Some(block) = receiver.block else { return };
        let reception = Reception { quality: block.quality, needs: block.format.needs, smallest_needs };
        let failed = unit(&mut receiver.block_errors) < self.errors.probability(&reception);
        if let Some(blocks) = &mut self.blocks {
            blocks.push(BlockRecord {
                at: now - self.tti,
                user,
                sector: receiver.sector,
                quality: block.quality,
                bits: block.format.bits,
                bytes: block.bytes,
                codes: block.format.codes,
                power: block.power,
                attempt: block.attempt,
                failed,
            });
        }
        if failed {
            receiver.counters.block_errors += 1;
            receiver.paused_until = now + self.error_pause;
            let event = Event::Delayed { by: self.error_pause, cause: DelayCause::Arq };
            receiver
                .queue
                .carried(block.bytes)
                .for_each(|waiting| observer.on_event(now, &waiting.packet, event));
            return;
        }
        receiver.block = None;
        receiver.history.on_delivered(now, block.bytes);
        self.sectors[receiver.sector.index()].counters.delivered += block.bytes;
        let mut bytes = block.bytes;
        while let Some(arrived) = receiver.queue.complete(&mut bytes) {
            receiver.counters.packets_out += 1;
            receiver.counters.bytes_out += arrived.size;
            self.sectors[receiver.sector.index()].counters.bytes_out += arrived.size;
            let (left, left_bytes) = (receiver.queue.len() as u32, receiver.queue.bytes());
            let waited = now - arrived.arrived;
            observer.on_event(now, &arrived.packet, Event::LeftQueue { waited, left, left_bytes });
            observer.on_event(now, &arrived.packet, Event::TransmissionEnded);
            observer.on_event(now, &arrived.packet, Event::Delivered);
            self.out.push_back(arrived.packet);
        }
    }

    /// Drops what is older than its budget, and with it the block that carried any of it.
    fn expire(&mut self, now: Instant, sector: usize, observer: &mut impl Observer<P>) {
        let Self { sectors, users, .. } = self;
        sectors[sector].backlogged.retain(|user| {
            let user = &mut users[user.index()];
            user.expire(now, observer);
            !user.queue.is_empty()
        });
    }

    // --- the beginning of a TTI: each sector chooses whom to send to ---

    fn begin_tti(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        // All sectors choose by what the others sent in the TTI before.
        let before = self.sent.clone();
        for sector in 0..self.sectors.len() {
            let share = if self.sectors[sector].backlogged.is_empty() {
                0.0
            } else {
                self.schedule(now, sector, &before, observer)
            };
            self.sent[sector] = self.budget.overhead + share * self.budget.shared();
        }
    }

    /// Sends to the users of one sector in the order of their ranks; the share of the power that they take.
    fn schedule(
        &mut self,
        now: Instant,
        sector: usize,
        sent: &[f64],
        observer: &mut impl Observer<P>,
    ) -> f64 {
        let (mut candidates, mut offers) = (Vec::new(), Vec::new());
        for place in 0..self.sectors[sector].backlogged.len() {
            let user = self.sectors[sector].backlogged[place];
            if let Some((candidate, offer)) = self.candidate(now, user, sent) {
                candidates.push(candidate);
                offers.push(offer);
            }
        }
        let mut ranks: Vec<Rank> = Vec::with_capacity(candidates.len());
        self.sectors[sector].scheduler.rank(&candidates, &mut ranks);
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        // Of equal ranks the user with the smaller number goes first.
        order.sort_by(|a, b| ranks[*b].order(&ranks[*a]).then(candidates[*a].user.cmp(&candidates[*b].user)));
        let (mut power, mut codes) = (1.0, self.codes);
        for place in order {
            if self.sectors[sector].served.len() == self.users_per_tti {
                break;
            }
            let first = self.sectors[sector].served.is_empty();
            let Some(grant) = self.allocate(&offers[place], power, codes, first) else { continue };
            power -= grant.power;
            codes -= grant.format.codes;
            self.send(now, candidates[place].user, offers[place].repeated, &grant, observer);
        }
        let used = 1.0 - power;
        let counters = &mut self.sectors[sector].counters;
        counters.busy_ttis += u64::from(used > 0.0);
        counters.power_time += self.tti.mul_f64(used);
        used
    }

    /// A user as the scheduler sees it, unless it may not be sent to now.
    fn candidate(&mut self, now: Instant, user: UserId, sent: &[f64]) -> Option<(Candidate, Offer)> {
        let receiver = &mut self.users[user.index()];
        // Fading is a function of time and misses nothing; reports that are used later must be made.
        if receiver.paused_until > now && self.report_delay == 0 {
            return None;
        }
        let fading = receiver.fading.gain(now);
        let measured = self.budget.quality(self.gains.of(user), receiver.sector, fading, sent);
        let quality = receiver.report(measured, self.report_delay);
        if receiver.paused_until > now {
            return None;
        }
        let repeated = receiver.block;
        let wanted = repeated.map_or_else(|| bits(receiver.queue.bytes()), |block| block.format.bits);
        let carried = self.formats.best(quality, self.codes, u32::MAX).map_or(0, |format| format.bits);
        let per_second = 1.0 / self.tti.as_secs_f64();
        let candidate = Candidate {
            user,
            service: receiver.service,
            rate: f64::from(carried.min(wanted)) * per_second,
            radio_rate: f64::from(carried) * per_second,
            mean_rate: receiver.history.mean_rate(now, self.tti),
            min_rate: receiver.min_rate,
            delay: receiver.queue.delay(now),
            token_delay: receiver.history.token_delay(now),
            unserved: now - receiver.last_served,
        };
        Some((candidate, Offer { quality, wanted, repeated }))
    }

    /// What a user gets of the power and codes that are left, if they carry anything to it. The first in rank is sent to in any
    /// case: below what the smallest block needs, with that and all the power.
    fn allocate(&self, offer: &Offer, power: f64, codes: u32, first: bool) -> Option<Grant> {
        if self.formats.are_divisible() {
            return self.allocate_part(offer, codes, first);
        }
        let format = match offer.repeated {
            Some(block) => Some(block.format).filter(|format| format.codes <= codes),
            None => self.formats.best(offer.quality * power, codes, offer.wanted),
        };
        let carried = format.filter(|format| format.needs <= offer.quality * power);
        match carried {
            Some(format) => {
                Some(Grant { format, power: format.needs / offer.quality, quality: format.needs })
            }
            None if first => {
                let format = format.unwrap_or_else(|| self.formats.smallest());
                Some(Grant { format, power, quality: offer.quality * power })
            }
            None => None,
        }
    }

    /// The same where codes are resource blocks: each has its part of the power, and the signal is the same in all.
    fn allocate_part(&self, offer: &Offer, codes: u32, first: bool) -> Option<Grant> {
        let format = match offer.repeated {
            Some(block) => Some(block.format),
            None => {
                let carried = self.formats.best(offer.quality, self.codes, u32::MAX);
                let format = carried.or_else(|| first.then(|| self.formats.smallest()));
                format.map(|format| self.formats.part(format, codes, offer.wanted))
            }
        };
        let format = format.filter(|format| format.codes <= codes && format.bits > 0)?;
        let power = f64::from(format.codes) / f64::from(self.codes);
        Some(Grant { format, power, quality: offer.quality })
    }

    /// A block goes out to `user`: a new one, or `repeated` again.
    fn send(
        &mut self,
        now: Instant,
        user: UserId,
        repeated: Option<Block>,
        grant: &Grant,
        observer: &mut impl Observer<P>,
    ) {
        let Grant { format, quality, power } = *grant;
        let place = self.formats.all().partition_point(|smaller| smaller.needs < format.needs);
        let receiver = &mut self.users[user.index()];
        let block = match repeated {
            Some(block) => Block {
                quality: if self.chase_combining { block.quality + quality } else { quality },
                power,
                attempt: block.attempt + 1,
                ..block
            },
            None => Block {
                bytes: receiver.queue.bytes().min(Bytes(u64::from(format.bits / 8))),
                format,
                quality,
                power,
                attempt: 1,
            },
        };
        let event = Event::BlockSent { bits: format.bits, attempt: block.attempt };
        for waiting in receiver.queue.carried(block.bytes) {
            if waiting.blocks == 0 {
                observer.on_event(now, &waiting.packet, Event::TransmissionStarted);
            }
            waiting.blocks += 1;
            observer.on_event(now, &waiting.packet, event);
        }
        receiver.block = Some(block);
        receiver.last_served = now;
        receiver.counters.blocks += 1;
        receiver.counters.block_bits += u64::from(format.bits);
        let sector = &mut self.sectors[receiver.sector.index()];
        sector.served.push(user);
        sector.counters.blocks_by_format[place] += 1;
    }
}

impl<P: Packet> User<P> {
    fn new(config: &Config, placed: &PlacedUser) -> Self {
        let PlacedUser { config: user, placement, streams } = placed;
        let speed = user.speed.unwrap_or(config.radio.speed);
        let doppler = doppler_frequency(speed.0, config.radio.carrier.0);
        let min_rate = user.min_rate.bits_per_sec() as f64;
        Self {
            sector: placement.sector,
            service: user.service(),
            min_rate,
            queue_limit: user.queue_limit,
            queue: UserQueue::new(),
            fading: Fading::new(config.radio.profile(), doppler, &mut streams.stream("fading")),
            block_errors: streams.stream("error"),
            reports: VecDeque::new(),
            block: None,
            paused_until: Instant::START,
            last_served: Instant::START,
            history: History::new(user.service(), min_rate),
            counters: UserCounters::default(),
        }
    }

    /// Whether a packet of this size may wait.
    fn has_room(&self, size: Bytes) -> bool {
        match self.queue_limit {
            None => true,
            Some(PacketsOrBytes::Packets(limit)) => (self.queue.len() as u64) < limit.0,
            Some(PacketsOrBytes::Bytes(limit)) => self.queue.bytes() + size <= limit,
        }
    }

    /// The quality that the sector knows of, as old as reports are.
    fn report(&mut self, measured: f64, delay: usize) -> f64 {
        if delay == 0 {
            return measured;
        }
        self.reports.push_back(measured);
        if self.reports.len() > delay + 1 {
            self.reports.pop_front();
        }
        self.reports.front().copied().unwrap_or(measured)
    }

    fn expire(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        let Service::DelayBound { budget } = self.service else { return };
        while let Some(expired) = self.queue.expire(now, budget) {
            self.counters.expired += 1;
            self.block = None;
            let event = Event::QueueDropped {
                rule: DropRule::EXPIRED,
                behind: self.queue.len() as u32,
                behind_bytes: self.queue.bytes(),
                average: None,
            };
            observer.on_event(now, &expired.packet, event);
        }
    }
}

fn bits(bytes: Bytes) -> u32 {
    u32::try_from(bytes.0.saturating_mul(8)).unwrap_or(u32::MAX)
}

/// The first boundary of TTIs at or after `now`: they are counted from the start of the run.
fn boundary_after(now: Instant, tti: Duration) -> Instant {
    Instant::from_nanos(now.as_nanos().div_ceil(tti.as_nanos()) * tti.as_nanos())
}

#[cfg(test)]
mod tests;
