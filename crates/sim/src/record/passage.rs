//! The transit of one packet over one direction of a link, and its fate there.

use std::collections::VecDeque;

use link::Event;
use link::compression::HeaderKind;
use units::{Bytes, Duration, Instant};

use super::rows::Horizon;
use crate::ids::DirectionId;

/// A row of the table `packets`: one packet's transit of one direction of a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    /// Number of the packet's row.
    pub(super) packet: u32,
    pub(super) direction: DirectionId,
    /// Size in bytes, with the IP header, without framing.
    pub(super) size: u32,
    pub(super) entered: Instant,
    /// Length of the queue on arrival, in packets.
    pub(super) behind: u32,
    /// Time at which the last bit was sent.
    pub(super) transmitted: Option<Instant>,
    pub(super) delivered: Option<Instant>,
    pub(super) fate: Fate,
    /// Rule that dropped or damaged it.
    pub(super) rule: Option<&'static str>,
    /// Delay by stages that hold some packets only.
    pub(super) delay: Duration,
    pub(super) delay_cause: Option<&'static str>,
    /// Its size on the wire and the form of its headers, where a link compresses or stuffs.
    pub(super) wire: Option<(Bytes, HeaderKind)>,
    /// The transport blocks that carried it or a part of it, on a shared channel.
    pub(super) blocks: Blocks,
}

/// Transport blocks that carried a packet or a part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Blocks {
    /// Number of different blocks.
    pub(super) new: u16,
    /// Number of transmissions, repetitions included.
    pub(super) attempts: u16,
    /// Size of the last block in bits.
    pub(super) bits: u32,
}

/// Result of a passage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    InFlight,
    Delivered,
    Corrupted,
    QueueDrop,
    ErrorDrop,
    DropperDrop,
    OversizeDrop,
}

/// Passages in the order of entry, numbered from 0. The oldest are removed when no row refers to them any more.
#[derive(Debug, Default)]
pub(super) struct Passages {
    kept: VecDeque<Passage>,
    /// Number of passages removed so far.
    removed: u32,
    /// Number of passages taken as rows so far.
    taken: u32,
}

impl Passages {
    /// Adds a passage and gives its number.
    pub(super) fn push(&mut self, passage: Passage) -> u32 {
        self.kept.push_back(passage);
        self.removed + self.kept.len() as u32 - 1
    }

    pub(super) fn get(&self, number: u32) -> &Passage {
        &self.kept[(number - self.removed) as usize]
    }

    pub(super) fn get_mut(&mut self, number: u32) -> &mut Passage {
        &mut self.kept[(number - self.removed) as usize]
    }

    /// Number of passages not yet taken.
    pub(super) fn len(&self) -> usize {
        self.kept.len() - self.start()
    }

    /// Number of complete passages at the front of those not yet taken.
    pub(super) fn complete(&self, horizon: Horizon) -> usize {
        self.kept.range(self.start()..).take_while(|passage| horizon.covers(passage.packet)).count()
    }

    /// Time at which the packet after the next `count` entered its link.
    pub(super) fn entered(&self, count: usize) -> Option<Instant> {
        self.kept.get(self.start() + count).map(|passage| passage.entered)
    }

    /// Takes the next `count` passages.
    pub(super) fn take(&mut self, count: usize) -> &[Passage] {
        let start = self.start();
        self.taken += count as u32;
        &self.kept.make_contiguous()[start..start + count]
    }

    /// Removes the passages that were taken, up to `first`, to which a row still refers.
    pub(super) fn remove_before(&mut self, first: Option<u32>) {
        let end = first.map_or(self.taken, |first| first.min(self.taken));
        self.kept.drain(..(end - self.removed) as usize);
        self.removed = end;
    }

    /// Row numbers of the packets whose passages are kept.
    pub(super) fn packets(&self) -> impl Iterator<Item = u32> {
        self.kept.iter().map(|passage| passage.packet)
    }

    /// Number of passages that were taken and are still kept.
    const fn start(&self) -> usize {
        (self.taken - self.removed) as usize
    }
}

impl Passage {
    pub(super) fn new(packet: u32, direction: DirectionId, size: u32, entered: Instant) -> Self {
        Self {
            packet,
            direction,
            size,
            entered,
            behind: 0,
            transmitted: None,
            delivered: None,
            fate: Fate::InFlight,
            rule: None,
            delay: Duration::ZERO,
            delay_cause: None,
            wire: None,
            blocks: Blocks::default(),
        }
    }

    pub(super) fn on_event(&mut self, now: Instant, event: Event) {
        match event {
            Event::Queued { behind, .. } => self.behind = behind,
            Event::QueueDropped { rule, behind, .. } => {
                self.behind = behind;
                self.end(Fate::QueueDrop, rule.id());
            }
            Event::TransmissionEnded => self.transmitted = Some(now),
            Event::Delayed { by, cause } => {
                self.delay += by;
                self.delay_cause = Some(cause.id());
            }
            Event::ErrorDropped { cause } => self.end(Fate::ErrorDrop, cause.id()),
            Event::Encoded { bytes, headers } => self.wire = Some((bytes, headers)),
            Event::Corrupted { cause } => self.rule = Some(cause.id()),
            Event::DropperDropped => self.end(Fate::DropperDrop, "dropper"),
            Event::Delivered => self.arrives(now),
            Event::BlockSent { bits, attempt } => {
                self.blocks.new += u16::from(attempt == 1);
                self.blocks.attempts += 1;
                self.blocks.bits = bits;
            }
            Event::LeftQueue { .. }
            | Event::TransmissionStarted
            | Event::TransmissionAborted
            | Event::Marked { .. }
            | Event::Duplicated => {}
        }
    }

    /// Whether the packet was queued and delivered, and nothing else happened to it.
    pub(super) fn is_uneventful(&self) -> bool {
        self.fate == Fate::Delivered && self.delay_cause.is_none() && self.blocks.attempts == 0
    }

    pub(super) fn on_oversize(&mut self) {
        self.end(Fate::OversizeDrop, "mtu");
    }

    fn arrives(&mut self, now: Instant) {
        // Of a duplicated packet, the first copy that arrives counts.
        self.delivered.get_or_insert(now);
        self.fate = if self.rule.is_some() { Fate::Corrupted } else { Fate::Delivered };
    }

    fn end(&mut self, fate: Fate, rule: &'static str) {
        self.fate = fate;
        self.rule = Some(rule);
    }
}

impl Fate {
    /// Name in tables.
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::InFlight => "in_flight",
            Self::Delivered => "delivered",
            Self::Corrupted => "corrupted",
            Self::QueueDrop => "queue_drop",
            Self::ErrorDrop => "error_drop",
            Self::DropperDrop => "dropper_drop",
            Self::OversizeDrop => "oversize_drop",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(packet: u32) -> Passage {
        Passage::new(
            packet,
            DirectionId::default(),
            1500,
            Instant::START + Duration::from_secs(packet.into()),
        )
    }

    fn kept(passages: &Passages) -> Vec<u32> {
        passages.packets().collect()
    }

    #[test]
    fn passages_keep_their_numbers_when_those_taken_before_them_are_removed() {
        let mut passages = Passages::default();
        assert_eq!(
            (10..15).map(|packet| passages.push(passage(packet))).collect::<Vec<u32>>(),
            [0, 1, 2, 3, 4]
        );
        assert_eq!(passages.take(3).iter().map(|passage| passage.packet).collect::<Vec<u32>>(), [10, 11, 12]);
        assert_eq!((passages.len(), passages.entered(1)), (2, Some(passage(14).entered)));
        passages.remove_before(Some(2));
        assert_eq!((kept(&passages), passages.len()), (vec![12, 13, 14], 2));
        passages.remove_before(None);
        assert_eq!((kept(&passages), passages.len()), (vec![13, 14], 2));
        assert_eq!((passages.push(passage(15)), passages.get(4).packet), (5, 14));
        passages.remove_before(Some(4));
        assert_eq!(kept(&passages), [13, 14, 15], "what was not taken stays");
    }

    #[test]
    fn a_packet_counts_the_blocks_that_carried_it_and_has_the_size_of_the_last() {
        let mut passage = passage(1);
        for (bits, attempt) in [(320, 1), (320, 2), (640, 1)] {
            passage.on_event(Instant::START, Event::BlockSent { bits, attempt });
        }
        assert_eq!(passage.blocks, Blocks { new: 2, attempts: 3, bits: 640 });
        assert!(!passage.is_uneventful());
    }
}
