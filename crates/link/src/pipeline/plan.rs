//! What happens to the link as a whole at times of its own: handovers and resets.

use units::{Duration, Instant, Rate, Streams};

use super::Pipeline;
use super::absence::{Course, SHORTEST_INTERVAL};
use super::transmitter::Transmitter;
use crate::config::{Config, Held};
use crate::distribution::Source;
use crate::event::{DropRule, ErrorCause, Event, Observer};
use crate::packet::Packet;

/// What is planned, and when.
#[derive(Debug)]
pub(super) struct Plan {
    handovers: Option<Handovers>,
    resets: Option<Resets>,
    /// Whether any of it loses packets.
    flushes: bool,
    /// Whether the link starts anew where its layer gives a packet up.
    resets_at_limit: bool,
    /// The first of what is planned.
    due: Instant,
}

#[derive(Debug)]
struct Handovers {
    course: Course,
    /// The present or next one.
    current: (Instant, Instant),
    has_begun: bool,
    held: Held,
    cells: Vec<Cell>,
    next_cell: usize,
}

/// What a handover brings, ready to be swapped in.
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

impl Plan {
    pub(super) fn new(config: &Config, streams: &Streams) -> Self {
        let handovers = config.handovers.as_ref().map(|handovers| Handovers::new(handovers, streams));
        let resets = config.resets.as_ref().map(|resets| {
            let mut intervals = Source::new(&resets.interval, streams.stream("reset"));
            let next = Instant::START + intervals.draw().max(SHORTEST_INTERVAL);
            Resets { intervals, next, queue: resets.queue }
        });
        let at_limit = config.arq.as_ref().is_some_and(|arq| arq.resets());
        let loses = config.handovers.as_ref().is_some_and(|handovers| handovers.held == Held::Lost);
        let flushes = loses || resets.is_some();
        let mut plan = Self { handovers, resets, flushes, resets_at_limit: at_limit, due: Instant::NEVER };
        plan.due = plan.first();
        plan
    }

    fn first(&self) -> Instant {
        let handover = self.handovers.as_ref().map_or(Instant::NEVER, Handovers::next);
        handover.min(self.resets.as_ref().map_or(Instant::NEVER, |resets| resets.next))
    }

    /// When the next of what is planned happens, or never.
    #[inline]
    pub(super) const fn due(&self) -> Instant {
        self.due
    }

    pub(super) const fn resets_at_limit(&self) -> bool {
        self.resets_at_limit
    }

    /// Whether the propagation may change.
    pub(super) fn moves(&self) -> bool {
        self.handovers.as_ref().is_some_and(|handovers| !handovers.cells.is_empty())
    }
}

impl Handovers {
    fn new(handovers: &crate::config::Handovers, streams: &Streams) -> Self {
        let mut course = Course::of_handovers(handovers, streams);
        let current = course.next();
        let cell = |(number, cell): (usize, &crate::config::Cell)| {
            let stream = || streams.below("cell").below(&number.to_string()).stream("propagation");
            let propagation = cell.propagation.as_ref().map(|delay| Source::new(delay, stream()));
            Cell { rate: cell.rate, propagation }
        };
        let cells = handovers.cells.iter().enumerate().map(cell).collect();
        Self { course, current, has_begun: false, held: handovers.held, cells, next_cell: 0 }
    }

    const fn next(&self) -> Instant {
        if self.has_begun { self.current.1 } else { self.current.0 }
    }
}

impl<P: Packet> Pipeline<P> {
    /// A flush lets what waits go on sooner than its predecessors would have.
    #[inline]
    pub(super) fn plan_wake_up(&self) -> Instant {
        if self.plan.flushes && self.store.len() > 0 { self.plan.due() } else { Instant::NEVER }
    }

    /// Does what is planned for `now`.
    pub(super) fn follow_plan(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        if self.plan.handovers.as_ref().is_some_and(|handovers| handovers.next() == now) {
            self.hand_over(now, observer);
        } else if let Some(resets) = &mut self.plan.resets {
            resets.next += resets.intervals.draw().max(SHORTEST_INTERVAL);
            let queue = resets.queue;
            self.flush(now, ErrorCause::Reset, queue, observer);
        }
        self.plan.due = self.plan.first();
    }

    fn hand_over(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        let Some(handovers) = &mut self.plan.handovers else { return };
        if handovers.has_begun {
            handovers.has_begun = false;
            handovers.current = handovers.course.next();
            self.enter_next_cell();
        } else {
            handovers.has_begun = true;
            if handovers.held == Held::Lost {
                self.flush(now, ErrorCause::Handover, true, observer);
            }
        }
    }

    /// What the cell leaves out stays as it was.
    fn enter_next_cell(&mut self) {
        let Some(handovers) = &mut self.plan.handovers else { return };
        let count = handovers.cells.len();
        let Some(cell) = handovers.cells.get(handovers.next_cell) else { return };
        if let Some(rate) = cell.rate {
            self.rate.set(rate);
            self.base_rate = Some(rate);
        }
        if cell.propagation.is_some() {
            self.cell = Some(handovers.next_cell);
        }
        handovers.next_cell = (handovers.next_cell + 1) % count;
    }

    /// How long the next packet propagates: as in the present cell, or else as at first.
    #[inline]
    pub(super) fn draw_propagation(&mut self) -> Duration {
        match self.cell {
            None => self.propagation.draw(),
            Some(cell) => self.plan.propagation_in(cell),
        }
    }

    /// Loses all that the link layer holds and has on the way, and what waits in the queue if so said.
    pub(super) fn flush(
        &mut self,
        now: Instant,
        cause: ErrorCause,
        queue: bool,
        observer: &mut impl Observer<P>,
    ) {
        let mut slots: Vec<u32> = self.receive_buffer.drain().chain(self.propagating.drain()).collect();
        match std::mem::replace(&mut self.transmitter, Transmitter::Idle) {
            Transmitter::Idle => {}
            Transmitter::Waiting { slot, .. } => slots.push(slot),
            Transmitter::Sending { slot, .. } => {
                self.tell(now, slot, Event::TransmissionAborted, observer);
                slots.push(slot);
            }
        }
        slots.extend(self.send_buffer.drain());
        self.underway.clear();
        self.lines.restart(now);
        for slot in slots {
            self.counters.error_drops += 1;
            self.tell(now, slot, Event::ErrorDropped { cause }, observer);
            self.store.take(slot);
        }
        while let Some(head) = queue.then(|| self.queue.remove_oldest(now)).flatten() {
            self.drop_queued(now, &head, DropRule::named(cause.id()), observer);
        }
        self.pump(now, observer);
    }
}

impl Plan {
    fn propagation_in(&mut self, cell: usize) -> Duration {
        let cells = self.handovers.as_mut().map(|handovers| &mut handovers.cells);
        let propagation = cells.and_then(|cells| cells.get_mut(cell)?.propagation.as_mut());
        propagation.map_or(Duration::ZERO, Source::draw)
    }
}
