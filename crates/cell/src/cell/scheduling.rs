//! The beginning of a TTI: each sector chooses the users that it serves.

use link::{Event, Observer, Packet};
use units::{Bytes, Instant};

use super::Cell;
use super::user::Block;
use crate::adaptation::Format;
use crate::identity::UserId;
use crate::scheduler::{Candidate, Rank};

/// Data that a sector may send to a user in this TTI.
#[derive(Clone, Copy, Debug)]
struct Offer {
    quality: f64,
    /// Bits that wait, or the size of the block to be repeated.
    wanted: u32,
    repeated: Option<Block>,
}

/// Share of the channel that a user gets in a TTI.
#[derive(Clone, Copy, Debug)]
struct Grant {
    format: Format,
    /// Share of the shared channel's power.
    power: f64,
    /// Signal-to-interference ratio with this power.
    quality: f64,
}

impl<P: Packet> Cell<P> {
    /// Begins a TTI: each sector serves its users.
    pub(super) fn begin_tti(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        // All sectors decide by the power that the others sent in the previous TTI.
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

    /// Serves the users of one sector in the order of their ranks, and returns the share of the power used.
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
        // Among equal ranks the user with the smaller number goes first.
        order.sort_by(|a, b| ranks[*b].order(&ranks[*a]).then(candidates[*a].user.cmp(&candidates[*b].user)));
        let (mut power, mut codes) = (1.0, self.codes);
        for place in order {
            if self.sectors[sector].served.len() == self.users_per_tti || ranks[place] == Rank::UNSERVED {
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

    /// A user as the scheduler sees it, unless it is in the pause after an error.
    fn candidate(&mut self, now: Instant, user: UserId, sent: &[f64]) -> Option<(Candidate, Offer)> {
        let receiver = &mut self.users[user.index()];
        // Fading is a function of time and need not be sampled; delayed reports must be.
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
            packets: u32::try_from(receiver.queue.len()).unwrap_or(u32::MAX),
            repeats: repeated.is_some(),
        };
        Some((candidate, Offer { quality, wanted, repeated }))
    }

    /// The grant of a user out of the remaining power and codes, if they suffice. The first in rank is served in any
    /// case: below the needs of the smallest block, with that block and all the power.
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

    /// The same if codes are resource blocks: each has its part of the power, and the signal is the same in all.
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

    /// Sends a new block to `user`, or `repeated` again.
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

/// The size in bits.
fn bits(bytes: Bytes) -> u32 {
    u32::try_from(bytes.0.saturating_mul(8)).unwrap_or(u32::MAX)
}
