//! The end of a TTI: blocks are received or fail, and expired packets are dropped.

use link::{DelayCause, Event, Observer, Packet};
use units::Instant;

use super::Cell;
use super::block_record::BlockRecord;
use crate::adaptation::Reception;
use crate::identity::UserId;
use crate::random::unit;

impl<P: Packet> Cell<P> {
    /// Ends the TTI that began one TTI before `now`: blocks are received or fail, expired packets are dropped.
    pub(super) fn end_tti(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        for sector in 0..self.sectors.len() {
            let mut served = std::mem::take(&mut self.sectors[sector].served);
            for user in served.drain(..) {
                self.receive(now, user, observer);
            }
            self.sectors[sector].served = served;
            self.expire(now, sector, observer);
        }
    }

    /// Receives the block that was sent to `user`, or fails to.
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
            let (left, left_bytes) = (receiver.queue.len() as u32, receiver.queue.bytes());
            let waited = now - arrived.arrived;
            observer.on_event(now, &arrived.packet, Event::LeftQueue { waited, left, left_bytes });
            observer.on_event(now, &arrived.packet, Event::TransmissionEnded);
            if !receiver.decompress(now, &arrived, observer) {
                continue;
            }
            let size = arrived.packet.size();
            receiver.counters.packets_out += 1;
            receiver.counters.bytes_out += size;
            self.sectors[receiver.sector.index()].counters.bytes_out += size;
            observer.on_event(now, &arrived.packet, Event::Delivered);
            self.out.push_back(arrived.packet);
        }
    }

    /// Drops the expired packets of one sector's users, and takes users with empty queues off its list.
    fn expire(&mut self, now: Instant, sector: usize, observer: &mut impl Observer<P>) {
        let Self { sectors, users, .. } = self;
        sectors[sector].backlogged.retain(|user| {
            let user = &mut users[user.index()];
            user.expire(now, observer);
            !user.queue.is_empty()
        });
    }
}
