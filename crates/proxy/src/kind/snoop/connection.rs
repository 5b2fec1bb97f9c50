//! What Snoop knows of one connection: its segments on the link, the repair under way, and which duplicate ACKs show a
//! loss.

use std::collections::VecDeque;

use units::{Duration, Instant, Seq};
use wire::Segment;

use crate::agent::{Event, What, is_ack};
use crate::cache::Cache;
use crate::hop_timer::HopTimer;

/// One connection whose data enter the link.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) cache: Cache,
    /// The latest acknowledgment number; none before the first.
    pub(super) una: Option<Seq>,
    /// The end of the data that have entered the link.
    pub(super) max: Option<Seq>,
    /// The window field of the last ACK, and of the last that passed.
    pub(super) window: u16,
    pub(super) passed_window: u16,
    /// Segments with data that have entered the link, copies among them.
    pub(super) entered: u64,
    /// Duplicate ACKs since the last new one.
    pub(super) duplicates: u64,
    pub(super) repair: Option<Repair>,
    pub(super) timer: HopTimer,
    pub(super) used: Instant,
    /// Where the latest segments began that were sent again: D-SACKs of them are the agent's.
    pub(super) repaired: VecDeque<Seq>,
    /// Copies that have entered the link and may still be on it, in order.
    pub(super) copies: VecDeque<SentAgain>,
}

/// A segment that has entered the link again.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentAgain {
    pub(super) ordinal: u64,
    pub(super) end: Seq,
}

/// The repair of the segment for which the receiver waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repair {
    /// The ordinals of the copy that was lost and of the latest one.
    pub(super) lost: u64,
    pub(super) latest: u64,
    pub(super) copies: u64,
    /// Once the gap is closed, what entered the link before this ordinal has left it, or is lost: that of the copy
    /// that a duplicate ACK asked for. After a timer alone it is that of the first copy, which may only be late. A
    /// repair that follows from another one keeps its ordinal, so that a sign that was none costs no more than a
    /// window of copies.
    pub(super) surest: u64,
}

/// What shows that the first segment is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// A duplicate ACK.
    Duplicate,
    /// The end of a repair, whose [`Repair::surest`] is this.
    ClosedGap { surest: u64 },
    /// The local timer, which may be wrong.
    Timer,
}

impl Connection {
    pub(super) const fn new(una: Option<Seq>, shortest_timer: Duration, now: Instant) -> Self {
        Self {
            cache: Cache::EMPTY,
            una,
            max: una,
            window: 0,
            passed_window: 0,
            entered: 0,
            duplicates: 0,
            repair: None,
            timer: HopTimer::new(shortest_timer),
            used: now,
            repaired: VecDeque::new(),
            copies: VecDeque::new(),
        }
    }

    /// Whether an ACK that repeats the last number reports that data have come after a gap: RFC 5681 §2, or by SACK.
    pub(super) fn is_duplicate(&self, segment: &Segment) -> bool {
        let blocks = segment.options.sack.as_slice();
        let reports_gap = blocks.iter().any(|block| block.start.after(segment.ack));
        let outstanding = self.max.is_some_and(|max| max.after(segment.ack));
        is_ack(segment) && outstanding && (segment.window == self.window || reports_gap)
    }

    /// Whether more duplicate ACKs have come than the segments ahead of the latest copy can cause: then segments after
    /// it have arrived, and it has not. A link keeps the order.
    pub(super) fn is_repair_lost(&self, repair: Repair) -> bool {
        self.duplicates > repair.latest - repair.lost - repair.copies + self.needless_before(repair.lost)
    }

    /// The number of copies on the link, before the segment with an ordinal, of what the receiver has: it answers each
    /// with a duplicate ACK.
    pub(super) fn needless_before(&self, ordinal: u64) -> u64 {
        let una = self.una.unwrap_or_default();
        let is_needless = |copy: &&SentAgain| copy.ordinal < ordinal && copy.end.at_or_before(una);
        self.copies.iter().filter(is_needless).count() as u64
    }

    /// A segment that ends there has entered the link again.
    pub(super) fn add_copy(&mut self, end: Seq) {
        remember(&mut self.copies, SentAgain { ordinal: self.entered, end });
    }

    /// Sends the first segment again.
    pub(super) fn resend(&mut self, now: Instant, sign: Sign) -> Option<Segment> {
        let head = self.cache.head(self.una.unwrap_or_default())?;
        self.entered += 1;
        let lost = self.repair.map_or(head.ordinal, |repair| repair.lost);
        let copies = self.repair.map_or(0, |repair| repair.copies) + 1;
        let before = self.repair.map_or(head.ordinal, |repair| repair.surest);
        let surest = match sign {
            Sign::Duplicate => self.entered,
            Sign::ClosedGap { surest } => surest,
            Sign::Timer => before,
        };
        self.repair = Some(Repair { lost, latest: self.entered, copies, surest });
        (head.at, head.ordinal, head.again) = (now, self.entered, true);
        let segment = head.segment.clone();
        remember(&mut self.repaired, segment.seq);
        self.add_copy(segment.seq_range().end);
        Some(segment)
    }

    /// Whether the SACK blocks of an ACK report what the agent repairs or has repaired, and nothing else.
    pub(super) fn has_own_blocks(&mut self, segment: &Segment) -> bool {
        let blocks = segment.options.sack.as_slice();
        let ours = self.cache.head(segment.ack).is_some_and(|head| !head.by_sender);
        let is_own = |block: &units::SeqRange| match block.start.before(segment.ack) {
            true => self.repaired.contains(&block.start),
            false => ours,
        };
        !blocks.is_empty() && blocks.iter().all(is_own)
    }

    pub(super) fn event(&self, at: Instant, connection: u32, what: What, (seq, len): (Seq, u32)) -> Event {
        let timer = (self.timer.due != Instant::NEVER).then(|| self.timer.length());
        let (packets, bytes, srtt) = (self.cache.len(), self.cache.bytes(), self.timer.srtt());
        Event { at, connection, what, seq, len, packets, bytes, srtt, timer }
    }
}

/// Adds to a list of which the oldest leaves when it is full.
fn remember<T>(list: &mut VecDeque<T>, item: T) {
    if list.len() == REMEMBERED {
        list.pop_front();
    }
    list.push_back(item);
}

/// Number of repaired segments of which a D-SACK is recognised, and of copies whose duplicate ACKs are: those of a
/// round trip over a short link with many losses.
const REMEMBERED: usize = 32;
