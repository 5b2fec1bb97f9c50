//! The pipeline: the way of a packet through the stages, in the order of the functions below.
//!
//! Nothing inside the link needs an event queue: the transmitter has one end time, and the packets that propagate and
//! those in the receive buffer are two queues sorted by time. [`Pipeline::advance`] takes whichever is due first. At
//! one and the same time, the stage furthest downstream goes first, and all of them before a packet that arrives.
//!
//! The steps that every packet takes are inlined into one another: each does little, and separate calls would spend a
//! tenth of a run on saving registers.

mod allocation;
mod arq;
mod buffer;
mod disruption;
mod disruption_process;
mod egress;
mod errors;
mod frames;
mod impairment;
mod ingress;
mod lifetime;
mod on_wire;
mod rate;
mod reordering;
mod resequencer;
mod suspension;
mod timed_queue;
mod transmitter;
mod wire_stage;

use std::collections::VecDeque;

use units::{Bytes, Duration, Instant, Stream, Streams};

use crate::config::Config;
use crate::counters::Counters;
use crate::distribution::Source;
use crate::event::{DelayCause, Event, Observer, StopReason};
use crate::packet::Packet;
use crate::queue::{Admission, Decision, InputQueue, Overflow, QueuedPacket};
use crate::store::{Handle, PacketStore};

use allocation::AllocationStage;
use buffer::{Outstanding, SendBuffer};
use disruption_process::Disruptions;
use errors::ErrorStage;
use frames::FrameStage;
use rate::{RateProcess, TransmissionStart};
use resequencer::Resequencer;
use suspension::SuspensionStage;
use timed_queue::TimedQueue;
use transmitter::Transmitter;
use wire_stage::WireStage;

/// One direction of a link, stage by stage.
#[derive(Debug)]
pub(crate) struct Pipeline<P> {
    now: Instant,
    /// Time at which something inside is due next, or never.
    due: Instant,
    framing: Bytes,
    base_rate: Option<units::Rate>,
    queue: InputQueue,
    /// Time at which the queue's shaper lets the next packet leave, if one waits for that, or never.
    shaped_until: Instant,
    /// Memory for the packets that are evicted at once, kept for the next time.
    evicted: Vec<QueuedPacket>,
    send_buffer: SendBuffer,
    outstanding: Outstanding,
    allocation: AllocationStage,
    rate: RateProcess,
    frames: Option<Box<FrameStage>>,
    on_wire: Option<Box<WireStage>>,
    suspension: SuspensionStage,
    disruptions: Disruptions,
    /// The cell after a handover, if it has its own propagation delay.
    cell: Option<usize>,
    transmitter: Transmitter,
    /// Time at which the transmitter last became idle.
    idle_since: Instant,
    transmitted: u64,
    propagation: Source<Duration>,
    /// From the end of a transmission to the wake-up that it needs: the propagation delay, where that is known and no
    /// neighbour waits for room in the queue.
    wake_up_delay: Duration,
    propagating: TimedQueue,
    errors: ErrorStage,
    receive_buffer: TimedQueue,
    resequencer: Resequencer,
    lifetime: Duration,
    dropper: Option<Dropper>,
    out: VecDeque<Handle>,
    store: PacketStore<P>,
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
        let disruptions = Disruptions::new(config, streams);
        let propagation = Source::new(&config.propagation, streams.stream("propagation"));
        let needs_wake_up =
            config.queue.overflow == Overflow::FlowControl || disruptions.change_propagation();
        Self {
            now: Instant::START,
            due: Instant::NEVER,
            framing: config.framing,
            base_rate: config.nominal_rate(),
            queue: InputQueue::new(config, streams.stream("queue")),
            shaped_until: Instant::NEVER,
            evicted: Vec::new(),
            send_buffer: SendBuffer::new(config),
            outstanding: Outstanding::new(config),
            allocation: AllocationStage::new(config, streams),
            rate: RateProcess::new(config, streams),
            frames: config.frames.as_ref().map(|frames| Box::new(FrameStage::new(frames, streams))),
            on_wire: WireStage::new(config, streams),
            suspension: SuspensionStage::new(config, streams),
            disruptions,
            cell: None,
            transmitter: Transmitter::Idle,
            idle_since: Instant::START,
            transmitted: 0,
            wake_up_delay: propagation.constant().filter(|_| !needs_wake_up).unwrap_or(Duration::ZERO),
            propagation,
            propagating: TimedQueue::new(),
            errors: ErrorStage::new(config, streams),
            receive_buffer: TimedQueue::new(),
            resequencer: Resequencer::new(config.order()),
            lifetime: config.lifetime.unwrap_or(Duration::MAX),
            dropper,
            out: VecDeque::new(),
            store: PacketStore::new(),
            counters: Counters::default(),
            stopped: None,
        }
    }

    /// A packet arrives at the input queue.
    pub(crate) fn handle_packet(&mut self, now: Instant, packet: P, observer: &mut impl Observer<P>) {
        self.advance(now, observer);
        self.counters.packets_in += 1;
        self.counters.bytes_in += packet.size();
        let size = packet.size() + self.framing;
        let arriving = self.arriving(now, &packet, size);
        match self.queue.admission(&arriving) {
            Admission::Admit => self.admit(packet, &arriving, observer),
            admission => self.carry_out(packet, &arriving, admission, observer),
        }
        self.due = self.next_due();
        self.advance(now, observer);
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        self.advance(now, observer);
    }

    /// A packet that has left the link.
    pub(crate) fn poll_delivery(&mut self) -> Option<P> {
        let handle = self.out.pop_front()?;
        self.store.take(handle)
    }

    /// Whether a packet has left the link and is not yet polled.
    pub(crate) fn has_delivery(&self) -> bool {
        !self.out.is_empty()
    }

    /// Time at which the link wants to be called next, or never.
    pub(crate) fn next_wake_up(&self) -> Instant {
        let transmitted = self.receive_buffer.first().min(self.propagating.first());
        let waiting = self.transmitter_wake_up().min(self.expiry_wake_up());
        transmitted.min(waiting).min(self.disruption_wake_up()).min(self.shaped_until)
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

    /// Totals since the start.
    pub(crate) const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Takes the packets out that wait in the input queue, in the order in which it gives them out.
    pub(crate) fn take_waiting(&mut self, now: Instant, observer: &mut impl Observer<P>) -> Vec<P> {
        self.advance(now, observer);
        let mut waiting = Vec::new();
        while let Some((head, decision)) = (!self.queue.is_empty()).then(|| self.queue.pop(now)).flatten() {
            match decision {
                Decision::Drop(rule) => self.drop_queued(now, &head, rule, observer),
                _ => waiting.extend(self.store.take(head.handle)),
            }
        }
        self.due = self.next_due();
        waiting
    }

    /// Length of the input queue: packets, and their bytes with framing.
    pub(crate) fn queue_len(&self) -> (usize, Bytes) {
        (self.queue.len() as usize, self.queue.bytes())
    }

    /// Number of packets inside the link, including packets that have left and are not yet polled.
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
        let transmitted = self.receive_buffer.first().min(self.propagating.first());
        let waiting = self.transmitter.until().min(self.shaped_until).min(self.next_expiry());
        transmitted.min(waiting).min(self.disruptions.due())
    }

    /// Executes the next step due at `now`, furthest downstream first.
    fn take_step(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        if self.receive_buffer.first() == now {
            self.release_first(now, observer);
        } else if self.propagating.first() == now {
            self.arrive_first(now, observer);
        } else if self.transmitter.until() == now {
            self.on_transmitter(now, observer);
        } else if self.disruptions.due() == now {
            self.disrupt(now, observer);
        } else if self.shaped_until == now {
            self.pump(now, observer);
        } else {
            self.expire(now, observer);
        }
    }

    /// The end of a transmission needs no wake-up: its packet leaves after the propagation delay.
    fn transmitter_wake_up(&self) -> Instant {
        match self.transmitter {
            Transmitter::Idle => Instant::NEVER,
            Transmitter::Waiting { until, .. } => until,
            Transmitter::Sending { until, .. } => until + self.wake_up_delay,
        }
    }

    // --- send buffer, allocation, transmission ---

    /// A packet that finds the transmitter idle goes straight on; it takes up room in the buffer all the same.
    fn enter_send_buffer(
        &mut self,
        now: Instant,
        handle: Handle,
        size: Bytes,
        observer: &mut impl Observer<P>,
    ) {
        self.send_buffer.hold(size);
        if self.transmitter.is_idle() && self.send_buffer.is_drained() && self.outstanding.has_room(size) {
            self.begin(now, handle, size, observer);
        } else {
            self.send_buffer.push(handle, size);
        }
    }

    fn begin_next(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        let Some((handle, size)) = self.send_buffer.next() else { return };
        if self.outstanding.has_room(size) {
            self.send_buffer.start_next();
            self.begin(now, handle, size, observer);
        }
    }

    #[inline(always)]
    fn begin(&mut self, now: Instant, handle: Handle, size: Bytes, observer: &mut impl Observer<P>) {
        self.outstanding.start(size);
        self.transmitted += 1;
        self.store.state_mut(handle).transmission_number = self.transmitted;
        if let Some(frames) = &mut self.frames {
            frames.cut(handle, size);
        }
        match self.allocation.delay(now) {
            Duration::ZERO => self.transmit(now, handle, size, observer),
            by => {
                self.report(now, handle, Event::Delayed { by, cause: DelayCause::Allocation }, observer);
                self.transmitter = Transmitter::Waiting { handle, size, until: now + by };
            }
        }
    }

    #[inline(always)]
    fn transmit(&mut self, now: Instant, handle: Handle, size: Bytes, observer: &mut impl Observer<P>) {
        if let Some(until) = self.suspended_until(now, handle, observer) {
            self.transmitter = Transmitter::Waiting { handle, size, until };
            return;
        }
        let transmission = self.frames.as_ref().map_or(size, |frames| frames.of(handle).bytes);
        self.transmitter = match self.rate.transmission(now, transmission) {
            TransmissionStart::OutageUntil(until) => Transmitter::Waiting { handle, size, until },
            TransmissionStart::Takes(time) => {
                self.report(now, handle, Event::TransmissionStarted, observer);
                let until = self.transmission_end(now, now + time, handle, observer);
                Transmitter::Sending { handle, size, until }
            }
        };
    }

    /// Until when the transmitter is suspended, if it is.
    fn suspended_until(
        &mut self,
        now: Instant,
        handle: Handle,
        observer: &mut impl Observer<P>,
    ) -> Option<Instant> {
        if self.suspension.is_absent() {
            return None;
        }
        let (until, cause) = self.suspension.suspended_until(now)?;
        self.report(now, handle, Event::Delayed { by: until - now, cause }, observer);
        Some(until)
    }

    /// Time at which a transmission that would end at `end` does, suspensions included.
    fn transmission_end(
        &mut self,
        now: Instant,
        end: Instant,
        handle: Handle,
        observer: &mut impl Observer<P>,
    ) -> Instant {
        if self.suspension.is_absent() {
            return end;
        }
        let (until, cause) = self.suspension.transmission_end(now, end);
        if let Some(cause) = cause {
            self.report(now, handle, Event::Delayed { by: until - end, cause }, observer);
        }
        until
    }

    fn on_transmitter(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        match self.transmitter {
            Transmitter::Idle => {}
            Transmitter::Waiting { handle, size, .. } => self.transmit(now, handle, size, observer),
            Transmitter::Sending { handle, size, .. } => self.end_transmission(now, handle, size, observer),
        }
    }

    fn end_transmission(
        &mut self,
        now: Instant,
        handle: Handle,
        size: Bytes,
        observer: &mut impl Observer<P>,
    ) {
        self.report(now, handle, Event::TransmissionEnded, observer);
        self.become_idle(now);
        self.allocation.on_transmitted(now);
        self.send_buffer.on_transmitted(size);
        self.propagate(now, handle, observer);
        self.pump(now, observer);
    }

    #[inline]
    fn become_idle(&mut self, now: Instant) {
        self.transmitter = Transmitter::Idle;
        self.idle_since = now;
    }

    // --- propagation ---

    fn propagate(&mut self, now: Instant, handle: Handle, observer: &mut impl Observer<P>) {
        let drawn = now + self.draw_propagation();
        let arrival = self.resequencer.arrival(drawn, self.propagating.last());
        if arrival == now && self.propagating.is_empty() {
            self.arrive(now, handle, observer);
        } else {
            self.propagating.insert(arrival, handle);
        }
    }

    fn arrive_first(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        if let Some(handle) = self.propagating.pop() {
            self.arrive(now, handle, observer);
        }
    }

    // Inlined, so that an event that the observer ignores costs nothing.
    #[inline(always)]
    fn report(&self, now: Instant, handle: Handle, event: Event, observer: &mut impl Observer<P>) {
        if let Some(packet) = self.store.packet(handle) {
            observer.on_event(now, packet, event);
        }
    }
}

#[cfg(test)]
mod tests;
