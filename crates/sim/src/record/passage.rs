//! What became of one packet on one direction of a link.

use std::collections::VecDeque;

use link::Event;
use units::{Duration, Instant};

use super::Until;

/// One packet's way over one direction of a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    /// Its description in the register.
    pub(super) packet: u32,
    pub(super) link: u32,
    /// IP header included, framing not.
    pub(super) size: u32,
    pub(super) entered: Instant,
    /// The length of the queue that it met, in packets.
    pub(super) behind: u32,
    /// When its last bit was out.
    pub(super) transmitted: Option<Instant>,
    pub(super) delivered: Option<Instant>,
    pub(super) fate: Fate,
    /// What dropped or damaged it.
    pub(super) rule: Option<&'static str>,
    /// How long stages held it that hold only some packets.
    pub(super) delay: Duration,
    pub(super) delay_cause: Option<&'static str>,
    /// The transport blocks that carried it or a part of it, on a shared channel.
    pub(super) blocks: Blocks,
}

/// Transport blocks that carried a packet or a part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Blocks {
    /// How many different ones.
    pub(super) new: u16,
    /// How many were sent, repetitions counted.
    pub(super) attempts: u16,
    /// Size of the last in bits.
    pub(super) bits: u32,
}

/// How a passage ended.
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

/// Passages in the order of entering, numbered from 0 on, without the first ones that are forgotten.
#[derive(Debug, Default)]
pub(super) struct Passages {
    kept: VecDeque<Passage>,
    /// How many are forgotten.
    forgotten: u32,
    /// How many have come out as rows.
    passed: u32,
}

impl Passages {
    /// Adds a passage and gives its number.
    pub(super) fn push(&mut self, passage: Passage) -> u32 {
        self.kept.push_back(passage);
        self.forgotten + self.kept.len() as u32 - 1
    }

    pub(super) fn get(&self, number: u32) -> &Passage {
        &self.kept[(number - self.forgotten) as usize]
    }

    pub(super) fn get_mut(&mut self, number: u32) -> &mut Passage {
        &mut self.kept[(number - self.forgotten) as usize]
    }

    /// How many have not come out.
    pub(super) fn len(&self) -> usize {
        self.kept.len() - self.out()
    }

    /// How many of the next are complete.
    pub(super) fn complete(&self, until: Until) -> usize {
        self.kept.range(self.out()..).take_while(|passage| until.covers(passage.packet)).count()
    }

    /// When the first packet behind the next `count` entered its link.
    pub(super) fn entered(&self, count: usize) -> Option<Instant> {
        self.kept.get(self.out() + count).map(|passage| passage.entered)
    }

    /// The next `count`, which come out now.
    pub(super) fn pass(&mut self, count: usize) -> &[Passage] {
        let start = self.out();
        self.passed += count as u32;
        &self.kept.make_contiguous()[start..start + count]
    }

    /// Forgets what has come out, up to `first`, which is still waited for.
    pub(super) fn forget_before(&mut self, first: Option<u32>) {
        let end = first.map_or(self.passed, |first| first.min(self.passed));
        self.kept.drain(..(end - self.forgotten) as usize);
        self.forgotten = end;
    }

    /// The packets of those that are kept.
    pub(super) fn packets(&self) -> impl Iterator<Item = u32> {
        self.kept.iter().map(|passage| passage.packet)
    }

    /// How many of those that are kept have come out.
    const fn out(&self) -> usize {
        (self.passed - self.forgotten) as usize
    }
}

impl Passage {
    pub(super) fn new(packet: u32, link: usize, size: u32, entered: Instant) -> Self {
        Self {
            packet,
            link: link as u32,
            size,
            entered,
            behind: 0,
            transmitted: None,
            delivered: None,
            fate: Fate::InFlight,
            rule: None,
            delay: Duration::ZERO,
            delay_cause: None,
            blocks: Blocks::default(),
        }
    }

    pub(super) fn on_event(&mut self, now: Instant, event: Event) {
        match event {
            Event::Queued { behind, .. } => self.behind = behind,
            Event::QueueDropped { rule, behind, .. } => {
                self.behind = behind;
                self.ends(Fate::QueueDrop, rule.id());
            }
            Event::TransmissionEnded => self.transmitted = Some(now),
            Event::Delayed { by, cause } => {
                self.delay += by;
                self.delay_cause = Some(cause.id());
            }
            Event::ErrorDropped { cause } => self.ends(Fate::ErrorDrop, cause.id()),
            Event::Corrupted { cause } => self.rule = Some(cause.id()),
            Event::DropperDropped => self.ends(Fate::DropperDrop, "dropper"),
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

    /// Whether it was queued and delivered, and nothing else happened to it.
    pub(super) fn is_uneventful(&self) -> bool {
        self.fate == Fate::Delivered && self.delay_cause.is_none() && self.blocks.attempts == 0
    }

    pub(super) fn on_oversize(&mut self) {
        self.ends(Fate::OversizeDrop, "mtu");
    }

    fn arrives(&mut self, now: Instant) {
        // Of a packet that a link has doubled, the first to come out counts.
        self.delivered.get_or_insert(now);
        self.fate = if self.rule.is_some() { Fate::Corrupted } else { Fate::Delivered };
    }

    fn ends(&mut self, fate: Fate, rule: &'static str) {
        self.fate = fate;
        self.rule = Some(rule);
    }
}

impl Fate {
    /// Its name in tables.
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
