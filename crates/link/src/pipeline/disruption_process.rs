//! Handovers and resets of the link as a whole: when they come, and what each does.

use units::{Duration, Instant, Rate, Streams};

use super::suspension::{Period, SHORTEST_INTERVAL, SuspensionProcess};
use crate::config::{Config, HeldPackets};
use crate::distribution::Source;

/// One disruption of a link.
#[derive(Clone, Copy, Debug)]
pub(super) enum Disruption {
    /// A handover begins, and loses what the link holds or not.
    HandoverBegins { loses: bool },
    /// A handover ends in a cell that may have a rate and propagation delays of its own.
    CellEntered { number: usize, rate: Option<Rate>, delays: bool },
    /// The link layer is reset, which loses what it holds, with `queue` the input queue as well.
    Reset { queue: bool },
}

/// The handovers and resets of a link, and which is next.
#[derive(Debug)]
pub(super) struct Disruptions {
    handovers: Option<Handovers>,
    resets: Option<Resets>,
    /// Whether any of them loses packets.
    flushes: bool,
    /// Whether the link layer is reset when ARQ gives a packet up.
    reset_at_arq_limit: bool,
    /// Time at which the next of them happens, or never.
    due: Instant,
}

#[derive(Debug)]
struct Handovers {
    process: SuspensionProcess,
    /// The present or next one.
    current: Period,
    has_begun: bool,
    held: HeldPackets,
    cells: Vec<Cell>,
    next_cell: usize,
}

/// Changes by a handover.
#[derive(Debug)]
struct Cell {
    rate: Option<Rate>,
    propagation: Option<Source<Duration>>,
}

#[derive(Debug)]
struct Resets {
    intervals: Source<Duration>,
    next: Instant,
    queue: bool,
}

impl Disruptions {
    pub(super) fn new(config: &Config, streams: &Streams) -> Self {
        let handovers = config.handovers.as_ref().map(|handovers| Handovers::new(handovers, streams));
        let resets = config.resets.as_ref().map(|resets| {
            let mut intervals = Source::new(&resets.interval, streams.stream("reset"));
            let next = Instant::START + intervals.draw().max(SHORTEST_INTERVAL);
            Resets { intervals, next, queue: resets.queue }
        });
        let at_limit = config.arq.as_ref().is_some_and(|arq| arq.resets());
        let loses = config.handovers.as_ref().is_some_and(|handovers| handovers.held == HeldPackets::Lost);
        let flushes = loses || resets.is_some();
        let mut disruptions =
            Self { handovers, resets, flushes, reset_at_arq_limit: at_limit, due: Instant::NEVER };
        disruptions.due = disruptions.first();
        disruptions
    }

    fn first(&self) -> Instant {
        let handover = self.handovers.as_ref().map_or(Instant::NEVER, Handovers::next);
        handover.min(self.resets.as_ref().map_or(Instant::NEVER, |resets| resets.next))
    }

    /// Time at which the next disruption happens, or never.
    #[inline]
    pub(super) const fn due(&self) -> Instant {
        self.due
    }

    pub(super) const fn reset_at_arq_limit(&self) -> bool {
        self.reset_at_arq_limit
    }

    /// Whether the propagation delay may change.
    pub(super) fn change_propagation(&self) -> bool {
        self.handovers.as_ref().is_some_and(|handovers| !handovers.cells.is_empty())
    }

    /// Whether any of them loses packets.
    pub(super) const fn flushes(&self) -> bool {
        self.flushes
    }

    /// The disruption that is due at `now`.
    pub(super) fn take(&mut self, now: Instant) -> Option<Disruption> {
        let handover = self.handovers.as_mut().filter(|handovers| handovers.next() == now);
        let disruption = match handover {
            Some(handovers) => handovers.take(),
            None => self.resets.as_mut().map(Resets::take),
        };
        self.due = self.first();
        disruption
    }

    /// The propagation delay of the next packet in a cell.
    pub(super) fn propagation_in(&mut self, cell: usize) -> Duration {
        let cells = self.handovers.as_mut().map(|handovers| &mut handovers.cells);
        let propagation = cells.and_then(|cells| cells.get_mut(cell)?.propagation.as_mut());
        propagation.map_or(Duration::ZERO, Source::draw)
    }
}

impl Handovers {
    fn new(handovers: &crate::config::Handovers, streams: &Streams) -> Self {
        let mut process = SuspensionProcess::of_handovers(handovers, streams);
        let current = process.next();
        let cell = |(number, cell): (usize, &crate::config::Cell)| {
            let stream = || streams.below("cell").below(&number.to_string()).stream("propagation");
            let propagation = cell.propagation.as_ref().map(|delay| Source::new(delay, stream()));
            Cell { rate: cell.rate, propagation }
        };
        let cells = handovers.cells.iter().enumerate().map(cell).collect();
        Self { process, current, has_begun: false, held: handovers.held, cells, next_cell: 0 }
    }

    const fn next(&self) -> Instant {
        if self.has_begun { self.current.1 } else { self.current.0 }
    }

    /// The beginning of the present handover, or its end, which is in the next cell if there are several.
    fn take(&mut self) -> Option<Disruption> {
        self.has_begun = !self.has_begun;
        if self.has_begun {
            return Some(Disruption::HandoverBegins { loses: self.held == HeldPackets::Lost });
        }
        self.current = self.process.next();
        let number = self.next_cell;
        let cell = self.cells.get(number)?;
        self.next_cell = (number + 1) % self.cells.len();
        Some(Disruption::CellEntered { number, rate: cell.rate, delays: cell.propagation.is_some() })
    }
}

impl Resets {
    fn take(&mut self) -> Disruption {
        self.next += self.intervals.draw().max(SHORTEST_INTERVAL);
        Disruption::Reset { queue: self.queue }
    }
}
