//! A user of a channel: its queue, its channel quality, and the block in transmission.

use std::collections::VecDeque;

use link::compression::{CompressedPacket, HeaderCompression};
use link::{DropRule, ErrorCause, Event, Observer, Packet};
use units::text::PacketsOrBytes;
use units::{Bytes, Duration, Instant, Stream, Streams};

use crate::adaptation::Format;
use crate::config::{Config, UserConfig};
use crate::counters::UserCounters;
use crate::history::History;
use crate::identity::SectorId;
use crate::queue::{UserQueue, Waiting};
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
    pub(super) compression: Option<HeaderCompression>,
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
            compression: config.compression.as_ref().map(|config| HeaderCompression::new(config, WAY_BACK)),
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

    /// Compresses the headers of a packet that is to wait, and returns its size on the channel.
    pub(super) fn compress(
        &mut self,
        now: Instant,
        packet: &P,
        observer: &mut impl Observer<P>,
    ) -> (Bytes, Option<Box<CompressedPacket>>) {
        let Some(compression) = &mut self.compression else { return (packet.size(), None) };
        let compressed = compression.compress(now, packet);
        let (size, headers) = (compressed.size(packet.size()), compressed.encoded.kind);
        self.counters.wire.count(headers);
        self.counters.wire.bytes += size;
        self.counters.wire.headers += Bytes(u64::from(compressed.encoded.length));
        observer.on_event(now, packet, Event::Encoded { bytes: size, headers });
        (size, Some(Box::new(compressed)))
    }

    /// Restores the headers of a packet that has arrived; if they are wrong, the packet is discarded.
    pub(super) fn decompress(
        &mut self,
        now: Instant,
        arrived: &Waiting<P>,
        observer: &mut impl Observer<P>,
    ) -> bool {
        let Some((compression, compressed)) = self.compression.as_mut().zip(arrived.compressed.as_ref())
        else {
            return true;
        };
        let restored = compression.decompress(now, compressed);
        self.counters.wire.feedback = compression.feedback();
        let Err(since) = restored else { return true };
        self.counters.wire.decompressor_drops += 1;
        let cause = ErrorCause::Decompressor { since };
        observer.on_event(now, &arrived.packet, Event::ErrorDropped { cause });
        false
    }

    /// A packet is lost after its headers were compressed.
    pub(super) fn on_lost(&mut self, packet: &Waiting<P>) {
        if let Some((compression, compressed)) = self.compression.as_mut().zip(packet.compressed.as_ref()) {
            compression.on_lost(compressed, false);
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
            self.on_lost(&expired);
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

/// From a user's decompressor to its compressor, if the parameters do not say it. Not given in Landström 2008; an
/// assumption: half of a round trip of 100 ms over the radio.
const WAY_BACK: Duration = Duration::from_millis(50);
