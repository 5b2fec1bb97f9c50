//! A user of a channel: its queue, its channel quality, and the block in transmission.

use std::collections::VecDeque;

use link::{DropRule, Event, Observer, Packet};
use units::text::PacketsOrBytes;
use units::{Bytes, Instant, Stream, Streams};

use crate::adaptation::Format;
use crate::config::{Config, UserConfig};
use crate::counters::UserCounters;
use crate::history::History;
use crate::identity::SectorId;
use crate::queue::UserQueue;
use crate::radio::fading::{Fading, doppler_frequency};
use crate::scheduler::Service;
use crate::users::Placement;

/// A user of a plan, as its configuration describes it.
#[derive(Clone, Debug)]
pub struct PlacedUser {
    /// Service and limits.
    pub config: UserConfig,
    /// Position and serving sector.
    pub placement: Placement,
    /// Parent of the streams of its random processes: `fading` and `error`.
    pub streams: Streams,
}

/// A user, and the state of its channel.
#[derive(Debug)]
pub(super) struct User<P> {
    pub(super) sector: SectorId,
    pub(super) service: Service,
    pub(super) min_rate: f64,
    pub(super) queue_limit: Option<PacketsOrBytes>,
    pub(super) queue: UserQueue<P>,
    pub(super) fading: Fading,
    pub(super) block_errors: Stream,
    /// Qualities reported in the last TTIs, the oldest first, if reports are delayed.
    pub(super) reports: VecDeque<f64>,
    pub(super) block: Option<Block>,
    /// End of the pause after an error: the user is not served before.
    pub(super) paused_until: Instant,
    pub(super) last_served: Instant,
    pub(super) history: History,
    pub(super) counters: UserCounters,
}

/// A transport block that has not been received yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Bytes of the user's data in it.
    pub(super) bytes: Bytes,
    pub(super) format: Format,
    /// Signal-to-interference ratio of the present attempt; with chase combining, of all of them.
    pub(super) quality: f64,
    /// Share of the shared channel's power in the present attempt.
    pub(super) power: f64,
    /// Number of the present attempt, from 1.
    pub(super) attempt: u32,
}

impl<P: Packet> User<P> {
    pub(super) fn new(config: &Config, placed: &PlacedUser) -> Self {
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
    pub(super) fn has_room(&self, size: Bytes) -> bool {
        match self.queue_limit {
            None => true,
            Some(PacketsOrBytes::Packets(limit)) => (self.queue.len() as u64) < limit.0,
            Some(PacketsOrBytes::Bytes(limit)) => self.queue.bytes() + size <= limit,
        }
    }

    /// Records the measured quality and returns the quality that the sector uses, which is `delay` TTIs old.
    pub(super) fn report(&mut self, measured: f64, delay: usize) -> f64 {
        if delay == 0 {
            return measured;
        }
        self.reports.push_back(measured);
        if self.reports.len() > delay + 1 {
            self.reports.pop_front();
        }
        self.reports.front().copied().unwrap_or(measured)
    }

    /// Drops the packets that are older than their budget, and with them the block that carried a part of one.
    pub(super) fn expire(&mut self, now: Instant, observer: &mut impl Observer<P>) {
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
