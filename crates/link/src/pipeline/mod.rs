//! The pipeline: the walk of a packet through the stages, in the order of the functions below.
//!
//! Nothing inside the link needs an event queue: the transmitter has one end time, and the packets
//! in propagation and in the receive buffer are two sorted rings. [`Pipeline::advance`] takes whichever
//! is due first. At one and the same time, what is further downstream goes first, and all of it
//! goes before a packet that comes in.
//!
//! The steps that every packet takes are inlined into one another: each does little, and as calls of
//! their own they would spend a tenth of a run on saving registers.

mod absence;
mod allocation;
mod arq;
mod beyond;
mod buffer;
mod errors;
mod frames;
mod intake;
mod lifetime;
mod order;
mod plan;
mod rate;
mod reordering;
mod schedule;
mod store;
mod transmitter;

use std::collections::VecDeque;

use units::{Bytes, Duration, Instant, Stream, Streams};

use crate::config::{Config, Overflow};
use crate::counters::Counters;
use crate::distribution::Source;
use crate::event::{DelayCause, Event, Observer, StopReason};
use crate::packet::Packet;
use crate::queue::{InputQueue, Judgement, Waiting};

use absence::AbsenceStage;
use allocation::AllocationStage;
use buffer::{SendBuffer, Underway};
use errors::ErrorStage;
use frames::FrameStage;
use order::Lines;
use plan::Plan;
use rate::{Answer, RateProcess};
use schedule::Schedule;
use store::Store;
use transmitter::Transmitter;

/// One direction of a link, stage by stage.
#[derive(Debug)]
pub(crate) struct Pipeline<P> {
    now: Instant,
    /// When something inside is due next, or never.
    due: Instant,
    framing: Bytes,
    base_rate: Option<units::Rate>,
    queue: InputQueue,
    /// Room for those that are dropped from the queue at once, kept for the next time.
    evicted: Vec<Waiting>,
    send_buffer: SendBuffer,
    underway: Underway,
    allocation: AllocationStage,
    rate: RateProcess,
    frames: Option<Box<FrameStage>>,
    absence: AbsenceStage,
    plan: Plan,
    /// The cell that a handover led to, if it has a propagation of its own.
    cell: Option<usize>,
    transmitter: Transmitter,
    transmitted: u64,
    propagation: Source<Duration>,
    /// How long nobody need look after the end of a transmission: the propagation, where that is known and
    /// no neighbour waits for room.
    quiet: Duration,
    propagating: Schedule,
    errors: ErrorStage,
    receive_buffer: Schedule,
    lines: Lines,
    lifetime: Duration,
    dropper: Option<Dropper>,
    out: VecDeque<u32>,
    store: Store<P>,
    counters: Counters,
    stopped: Option<StopReason>,
}

#[derive(Debug)]
struct Dropper {
    probability: f64,
    stream: Stream,
}

impl<P: Packet> Pipeline<P> {
    /// A pipeline of a configuration that [`Config::validate`] accepts; any link can be one.
    pub(crate) fn new(config: &Config, streams: &Streams) -> Self {
        let dropper = config.dropper.map(|dropper| Dropper {
            probability: dropper.probability.get(),
            stream: streams.stream("dropper"),
        });
        let plan = Plan::new(config, streams);
        let propagation = Source::new(&config.propagation, streams.stream("propagation"));
        let looked_after = config.queue.overflow == Overflow::FlowControl || plan.moves();
        Self {
            now: Instant::START,
            due: Instant::NEVER,
            framing: config.framing,
            base_rate: config.nominal_rate(),
            queue: InputQueue::new(&config.queue, streams.stream("queue")),
            evicted: Vec::new(),
            send_buffer: SendBuffer::new(config),
            underway: Underway::new(config),
            allocation: AllocationStage::new(config, streams),
            rate: RateProcess::new(config, streams),
            frames: config.frames.as_ref().map(|frames| Box::new(FrameStage::new(frames, streams))),
            absence: AbsenceStage::new(config, streams),
            plan,
            cell: None,
            transmitter: Transmitter::Idle,
            transmitted: 0,
            quiet: propagation.constant().filter(|_| !looked_after).unwrap_or(Duration::ZERO),
            propagation,
            propagating: Schedule::new(),
            errors: ErrorStage::new(config, streams),
            receive_buffer: Schedule::new(),
            lines: Lines::new(config.order()),
            lifetime: config.lifetime.unwrap_or(Duration::MAX),
            dropper,
            out: VecDeque::new(),
            store: Store::new(),
            counters: Counters::default(),
            stopped: None,
        }
    }

    /// A packet comes to the input queue.
    pub(crate) fn handle_packet(&mut self, now: Instant, packet: P, observer: &mut impl Observer<P>) {
        self.advance(now, observer);
        self.counters.packets_in += 1;
        self.counters.bytes_in += packet.size();
        let size = packet.size() + self.framing;
        let offer = self.offer(now, &packet, size);
        match self.queue.judge(&offer) {
            Judgement::Admit => self.admit(now, packet, &offer, observer),
            judgement => self.act(packet, &offer, judgement, observer),
        }
        self.due = self.next_due();
        self.advance(now, observer);
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        self.advance(now, observer);
    }

    /// A packet that has left the link.
    pub(crate) fn poll_delivery(&mut self) -> Option<P> {
        let slot = self.out.pop_front()?;
        self.store.take(slot)
    }

    /// When the link wants to be called next, or never.
    pub(crate) fn next_wake_up(&self) -> Instant {
        let beyond = self.receive_buffer.first().min(self.propagating.first());
        let within = self.transmitter_wake_up().min(self.expiry_wake_up());
        beyond.min(within).min(self.plan_wake_up())
    }

    /// Whether the upstream neighbour may hand over a packet: false under flow control while the
    /// queue is at its limit. A packet handed over nevertheless is dropped as an overflow.
    pub(crate) fn can_accept(&self) -> bool {
        !self.queue.holds_back()
    }

    /// Why the run is to stop, if the queue overflowed where that means to stop.
    pub(crate) const fn stopped(&self) -> Option<&StopReason> {
        self.stopped.as_ref()
    }

    /// What was added up.
    pub(crate) const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How much waits in the input queue: packets, and their bytes with framing.
    pub(crate) fn queue_len(&self) -> (usize, Bytes) {
        (self.queue.len() as usize, self.queue.bytes())
    }

    /// How many packets are anywhere inside the link, those included that have left and are not
    /// yet polled.
    pub(crate) fn packets_inside(&self) -> usize {
        self.store.len()
    }

    // --- what is due ---

    #[inline]
    fn advance(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        debug_assert!(now >= self.now, "time ran back: {now} is before {}", self.now);
        self.now = now;
        if self.due <= now && self.due < Instant::NEVER {
            self.catch_up(now, observer);
        }
    }

    fn catch_up(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        while self.due <= now && self.due < Instant::NEVER {
            self.take_step(self.due, observer);
            self.due = self.next_due();
        }
    }

    fn next_due(&self) -> Instant {
        let beyond = self.receive_buffer.first().min(self.propagating.first());
        beyond.min(self.transmitter.until()).min(self.plan.due()).min(self.next_expiry())
    }

    /// What is due at `now`, furthest downstream first.
    fn take_step(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        if self.receive_buffer.first() == now {
            self.release_first(now, observer);
        } else if self.propagating.first() == now {
            self.arrive_first(now, observer);
        } else if self.transmitter.until() == now {
            self.on_transmitter(now, observer);
        } else if self.plan.due() == now {
            self.follow_plan(now, observer);
        } else {
            self.expire(now, observer);
        }
    }

    /// The transmitter alone needs no wake-up: what it sends now leaves after the propagation.
    fn transmitter_wake_up(&self) -> Instant {
        match self.transmitter {
            Transmitter::Idle => Instant::NEVER,
            Transmitter::Waiting { until, .. } => until,
            Transmitter::Sending { until, .. } => until + self.quiet,
        }
    }

    // --- send buffer, allocation, transmission ---

    /// A packet that finds the transmitter free goes straight on; its place is taken all the same.
    fn enter_send_buffer(&mut self, now: Instant, slot: u32, size: Bytes, observer: &mut impl Observer<P>) {
        self.send_buffer.hold(size);
        if self.transmitter.is_idle() && self.send_buffer.is_drained() && self.underway.has_room(size) {
            self.begin(now, slot, size, observer);
        } else {
            self.send_buffer.push(slot, size);
        }
    }

    fn begin_next(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        let Some((slot, size)) = self.send_buffer.next() else { return };
        if self.underway.has_room(size) {
            self.send_buffer.start_next();
            self.begin(now, slot, size, observer);
        }
    }

    #[inline(always)]
    fn begin(&mut self, now: Instant, slot: u32, size: Bytes, observer: &mut impl Observer<P>) {
        self.underway.start(size);
        self.transmitted += 1;
        self.store.passage_mut(slot).transmission_number = self.transmitted;
        if let Some(frames) = &mut self.frames {
            frames.cut(slot, size);
        }
        match self.allocation.delay(now) {
            Duration::ZERO => self.transmit(now, slot, size, observer),
            by => {
                self.tell(now, slot, Event::Delayed { by, cause: DelayCause::Allocation }, observer);
                self.transmitter = Transmitter::Waiting { slot, size, until: now + by };
            }
        }
    }

    #[inline(always)]
    fn transmit(&mut self, now: Instant, slot: u32, size: Bytes, observer: &mut impl Observer<P>) {
        if let Some(until) = self.stands_still(now, slot, observer) {
            self.transmitter = Transmitter::Waiting { slot, size, until };
            return;
        }
        let on_air = self.frames.as_ref().map_or(size, |frames| frames.of(slot).bytes);
        self.transmitter = match self.rate.transmission(now, on_air) {
            Answer::OutageUntil(until) => Transmitter::Waiting { slot, size, until },
            Answer::Takes(time) => {
                self.tell(now, slot, Event::TransmissionStarted, observer);
                let until = self.stretched(now, now + time, slot, observer);
                Transmitter::Sending { slot, size, until }
            }
        };
    }

    /// Until when the transmitter may not start, if it may not.
    fn stands_still(&mut self, now: Instant, slot: u32, observer: &mut impl Observer<P>) -> Option<Instant> {
        if self.absence.is_absent() {
            return None;
        }
        let (until, cause) = self.absence.holds(now)?;
        self.tell(now, slot, Event::Delayed { by: until - now, cause }, observer);
        Some(until)
    }

    /// When a transmission that would end at `end` does, as the transmitter stands still meanwhile.
    fn stretched(
        &mut self,
        now: Instant,
        end: Instant,
        slot: u32,
        observer: &mut impl Observer<P>,
    ) -> Instant {
        if self.absence.is_absent() {
            return end;
        }
        let (until, cause) = self.absence.stretch(now, end);
        if let Some(cause) = cause {
            self.tell(now, slot, Event::Delayed { by: until - end, cause }, observer);
        }
        until
    }

    fn on_transmitter(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        match self.transmitter {
            Transmitter::Idle => {}
            Transmitter::Waiting { slot, size, .. } => self.transmit(now, slot, size, observer),
            Transmitter::Sending { slot, size, .. } => self.end_transmission(now, slot, size, observer),
        }
    }

    fn end_transmission(&mut self, now: Instant, slot: u32, size: Bytes, observer: &mut impl Observer<P>) {
        self.tell(now, slot, Event::TransmissionEnded, observer);
        self.transmitter = Transmitter::Idle;
        self.allocation.on_transmitted(now);
        self.send_buffer.on_transmitted(size);
        self.propagate(now, slot, observer);
        self.pump(now, observer);
    }

    // --- propagation, errors ---

    fn propagate(&mut self, now: Instant, slot: u32, observer: &mut impl Observer<P>) {
        let drawn = now + self.draw_propagation();
        let arrival = self.lines.arrival(drawn, self.propagating.last());
        if arrival == now && self.propagating.is_empty() {
            self.arrive(now, slot, observer);
        } else {
            self.propagating.insert(arrival, slot);
        }
    }

    fn arrive_first(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        if let Some(slot) = self.propagating.pop() {
            self.arrive(now, slot, observer);
        }
    }

    // Inlined, so that an event costs nothing where nobody looks at it.
    #[inline(always)]
    fn tell(&self, now: Instant, slot: u32, event: Event, observer: &mut impl Observer<P>) {
        if let Some(packet) = self.store.packet(slot) {
            observer.on_event(now, packet, event);
        }
    }
}

#[cfg(test)]
mod tests;
