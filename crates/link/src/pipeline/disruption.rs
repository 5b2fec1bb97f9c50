//! Disruptions of the link as a whole, at their own times: handovers and resets.

use units::{Duration, Instant, Rate, Streams};

use super::Pipeline;
use super::suspension::{Period, SHORTEST_INTERVAL, SuspensionProcess};
use super::transmitter::Transmitter;
use crate::config::{Config, HeldPackets};
use crate::distribution::Source;
use crate::event::{DropRule, ErrorCause, Event, Observer};
use crate::packet::Packet;
use crate::store::Handle;

/// The handovers and resets of a link, and which is next.
#[derive(Debug)]
pub(super) struct Disruptions {
    handovers: Option<Handovers>,
    resets: Option<Resets>,
    /// Whether any of them loses packets.
    flushes: bool,
    /// Whether the link layer is reset when ARQ gives a packet up.
    reset_at_arq_limit: bool,
    /// When the next of them happens, or never.
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

    /// When the next disruption happens, or never.
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
}

impl<P: Packet> Pipeline<P> {
    /// A flush lets waiting packets continue sooner than after their predecessors.
    #[inline]
    pub(super) fn disruption_wake_up(&self) -> Instant {
        if self.disruptions.flushes && self.store.len() > 0 { self.disruptions.due() } else { Instant::NEVER }
    }

    /// Carries out the disruption that is due at `now`.
    pub(super) fn disrupt(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        if self.disruptions.handovers.as_ref().is_some_and(|handovers| handovers.next() == now) {
            self.hand_over(now, observer);
        } else if let Some(resets) = &mut self.disruptions.resets {
            resets.next += resets.intervals.draw().max(SHORTEST_INTERVAL);
            let queue = resets.queue;
            self.flush(now, ErrorCause::Reset, queue, observer);
        }
        self.disruptions.due = self.disruptions.first();
    }

    fn hand_over(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        let Some(handovers) = &mut self.disruptions.handovers else { return };
        if handovers.has_begun {
            handovers.has_begun = false;
            handovers.current = handovers.process.next();
            self.enter_next_cell();
        } else {
            handovers.has_begun = true;
            if handovers.held == HeldPackets::Lost {
                self.flush(now, ErrorCause::Handover, true, observer);
            }
        }
    }

    /// Takes over the rate and propagation delay of the next cell; missing values stay as they are.
    fn enter_next_cell(&mut self) {
        let Some(handovers) = &mut self.disruptions.handovers else { return };
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

    /// The propagation delay of the next packet: that of the present cell, if it has its own.
    #[inline]
    pub(super) fn draw_propagation(&mut self) -> Duration {
        match self.cell {
            None => self.propagation.draw(),
            Some(cell) => self.disruptions.propagation_in(cell),
        }
    }

    /// Loses all packets that the link layer holds and that are on the way, and with `queue` those in the input queue.
    pub(super) fn flush(
        &mut self,
        now: Instant,
        cause: ErrorCause,
        queue: bool,
        observer: &mut impl Observer<P>,
    ) {
        let mut handles: Vec<Handle> = self.receive_buffer.drain().chain(self.propagating.drain()).collect();
        let transmitter = self.transmitter;
        self.become_idle(now);
        match transmitter {
            Transmitter::Idle => {}
            Transmitter::Waiting { handle, .. } => handles.push(handle),
            Transmitter::Sending { handle, .. } => {
                self.report(now, handle, Event::TransmissionAborted, observer);
                handles.push(handle);
            }
        }
        handles.extend(self.send_buffer.drain());
        self.outstanding.clear();
        self.resequencer.restart(now);
        for handle in handles {
            self.counters.error_drops += 1;
            self.report(now, handle, Event::ErrorDropped { cause }, observer);
            self.store.take(handle);
        }
        while let Some(head) = queue.then(|| self.queue.remove_oldest(now)).flatten() {
            self.drop_queued(now, &head, DropRule::named(cause.id()), observer);
        }
        self.pump(now, observer);
    }
}

impl Disruptions {
    fn propagation_in(&mut self, cell: usize) -> Duration {
        let cells = self.handovers.as_mut().map(|handovers| &mut handovers.cells);
        let propagation = cells.and_then(|cells| cells.get_mut(cell)?.propagation.as_mut());
        propagation.map_or(Duration::ZERO, Source::draw)
    }
}
