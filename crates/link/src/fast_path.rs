//! The fast path: a link whose times are all known when a packet enters.
//!
//! A plain link has a constant rate, a constant propagation delay and a first-in-first-out queue that drops arriving
//! packets at its limit, and nothing else ([`FastPath::of`] decides). The transmission of a packet then ends at
//! `max(now, end of the transmission before) + size / rate`, and the packet leaves the link one propagation delay
//! later. All packets are therefore in one ring in the order of their arrival, and the stages of the pipeline are
//! positions in it:
//!
//! ```text
//! front │ delivered │ propagating │ in transmission (0 or 1) │ queued │ back
//! ```
//!
//! `fast_path/tests.rs` holds this path equal to the pipeline, event for event.

use std::collections::VecDeque;

use units::{Bytes, Duration, Instant, Rate, Streams};

use crate::config::{Config, Overflow};
use crate::counters::Counters;
use crate::event::{DropRule, Event, Observer, StopReason};
use crate::packet::Packet;
use crate::queue::{Limits, Service, Victim};
use crate::transmission_time::TransmissionTime;

/// A plain link with the packets inside it.
#[derive(Debug)]
pub(crate) struct FastPath<P> {
    /// None: a transmission takes no time.
    rate: Option<Rate>,
    transmission_time: TransmissionTime,
    propagation: Duration,
    /// From the end of a transmission to the wake-up that it needs: the propagation delay, or nothing under flow
    /// control, where room in the queue matters to the upstream neighbour.
    wake_up_delay: Duration,
    framing: Bytes,
    limits: Limits,
    packets: VecDeque<Inside<P>>,
    /// Packets at the front of the ring that have left the link and are not yet polled.
    delivered: usize,
    /// Packets of the ring whose transmission has ended: those delivered and those propagating.
    transmitted: usize,
    /// Time at which the first of the propagating packets is delivered, or never.
    next_delivery: Instant,
    /// End of the current transmission, or never.
    transmission_end: Instant,
    /// The earlier of the two.
    next_due: Instant,
    /// Time at which the last of the transmissions known so far ends.
    busy_until: Instant,
    queue_len: u32,
    queue_bytes: Bytes,
    counters: Counters,
    stopped: Option<StopReason>,
}

/// A packet inside the link.
#[derive(Debug)]
struct Inside<P> {
    packet: P,
    /// Its size with the link's framing.
    size: Bytes,
    arrived: Instant,
    /// Time at which its transmission ends.
    transmitted: Instant,
}

impl<P: Packet> FastPath<P> {
    /// The fast path for this configuration, if it describes a plain link.
    pub(crate) fn of(config: &Config, streams: &Streams) -> Option<Self> {
        let propagation = config.propagation.only_value()?;
        let service = config.queue.discipline.service(streams.stream("queue"));
        if !(is_plain(config) && matches!(service, Service::Plain(Victim::Arriving))) {
            return None;
        }
        let limits = Limits::new(&config.queue_in_bytes());
        let has_flow_control = limits.overflow() == Overflow::FlowControl;
        Some(Self {
            rate: config.rate,
            transmission_time: TransmissionTime::new(),
            propagation,
            wake_up_delay: if has_flow_control { Duration::ZERO } else { propagation },
            framing: config.framing,
            limits,
            packets: VecDeque::new(),
            delivered: 0,
            transmitted: 0,
            next_delivery: Instant::NEVER,
            transmission_end: Instant::NEVER,
            next_due: Instant::NEVER,
            busy_until: Instant::START,
            queue_len: 0,
            queue_bytes: Bytes::ZERO,
            counters: Counters::default(),
            stopped: None,
        })
    }

    /// A packet arrives at the queue.
    #[inline]
    pub(crate) fn handle_packet(&mut self, now: Instant, packet: P, observer: &mut impl Observer<P>) {
        self.handle_timeout(now, observer);
        let size = packet.size();
        self.counters.packets_in += 1;
        self.counters.bytes_in += size;
        let size = size + self.framing;
        let idle = !self.is_transmitting();
        if !idle && !self.limits.has_room(self.queue_len, self.queue_bytes, size) {
            return self.drop_arriving(now, &packet, observer);
        }
        let event = Event::Queued { behind: self.queue_len, behind_bytes: self.queue_bytes, average: None };
        observer.on_event(now, &packet, event);
        if idle {
            self.transmit(now, packet, size, observer);
        } else {
            self.enqueue(now, packet, size);
        }
    }

    /// Does all that is due by `now`, in order of time; at the same time the delivery of a packet comes before the end
    /// of a later one's transmission.
    // Most calls find nothing due, and the others one or two things: a loop with all in it would cost more than they
    // do.
    #[inline(always)]
    pub(crate) fn handle_timeout(&mut self, now: Instant, observer: &mut impl Observer<P>) {
        debug_assert!(now < Instant::NEVER, "never does not come");
        while self.next_due <= now {
            self.step(observer);
        }
    }

    /// Executes the next due step.
    #[inline(never)]
    fn step(&mut self, observer: &mut impl Observer<P>) {
        if self.next_delivery <= self.transmission_end {
            self.deliver(observer);
        } else {
            self.end_transmission(observer);
        }
        self.next_due = self.next_delivery.min(self.transmission_end);
    }

    #[inline(always)]
    pub(crate) fn poll_delivery(&mut self) -> Option<P> {
        if self.delivered == 0 {
            return None;
        }
        self.delivered -= 1;
        self.transmitted -= 1;
        self.packets.pop_front().map(|inside| inside.packet)
    }

    #[inline]
    pub(crate) const fn has_delivery(&self) -> bool {
        self.delivered > 0
    }

    #[inline(always)]
    pub(crate) fn upcoming(&self, places: usize) -> Option<&P> {
        self.packets.get(places).map(|inside| &inside.packet)
    }

    #[inline]
    pub(crate) fn next_wake_up(&self) -> Instant {
        self.next_delivery.min(self.transmission_end + self.wake_up_delay)
    }

    #[inline]
    pub(crate) fn can_accept(&self) -> bool {
        !self.limits.hold_back(self.queue_len, self.queue_bytes)
    }

    /// Takes the packets out that wait in the queue, in their order.
    pub(crate) fn take_waiting(&mut self, now: Instant, observer: &mut impl Observer<P>) -> Vec<P> {
        self.handle_timeout(now, observer);
        let first = self.packets.len() - self.queue_len as usize;
        if self.is_transmitting() {
            self.busy_until = self.transmission_end;
        }
        (self.queue_len, self.queue_bytes) = (0, Bytes::ZERO);
        self.packets.drain(first..).map(|inside| inside.packet).collect()
    }

    pub(crate) const fn stopped(&self) -> Option<&StopReason> {
        self.stopped.as_ref()
    }

    pub(crate) const fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) const fn queue_len(&self) -> (usize, Bytes) {
        (self.queue_len as usize, self.queue_bytes)
    }

    pub(crate) fn packets_inside(&self) -> usize {
        self.packets.len()
    }

    #[inline]
    fn is_transmitting(&self) -> bool {
        self.transmission_end < Instant::NEVER
    }

    /// The transmission of a packet starts at once; without a rate it is over at once.
    #[inline]
    fn transmit(&mut self, now: Instant, packet: P, size: Bytes, observer: &mut impl Observer<P>) {
        self.busy_until = now + self.time_for(size);
        self.transmission_end = self.busy_until;
        self.next_due = self.next_delivery.min(self.transmission_end);
        self.leave_queue(now, now, &packet, observer);
        self.packets.push_back(Inside { packet, size, arrived: now, transmitted: self.busy_until });
        self.handle_timeout(now, observer);
    }

    /// Puts a packet at the back of the ring, with the time at which its transmission will end.
    #[inline]
    fn enqueue(&mut self, now: Instant, packet: P, size: Bytes) {
        let time = self.time_for(size);
        self.busy_until += time;
        self.queue_len += 1;
        self.queue_bytes += size;
        self.counters.queue_max = self.counters.queue_max.max(u64::from(self.queue_len));
        self.packets.push_back(Inside { packet, size, arrived: now, transmitted: self.busy_until });
    }

    #[inline]
    fn time_for(&mut self, size: Bytes) -> Duration {
        self.rate.map_or(Duration::ZERO, |rate| self.transmission_time.of(rate, size))
    }

    /// Reports that a packet leaves the queue and that its transmission starts.
    #[inline]
    fn leave_queue(&self, now: Instant, arrived: Instant, packet: &P, observer: &mut impl Observer<P>) {
        let (left, left_bytes) = (self.queue_len, self.queue_bytes);
        observer.on_event(now, packet, Event::LeftQueue { waited: now - arrived, left, left_bytes });
        observer.on_event(now, packet, Event::TransmissionStarted);
    }

    #[cold]
    fn drop_arriving(&mut self, now: Instant, packet: &P, observer: &mut impl Observer<P>) {
        self.counters.queue_drops += 1;
        let (behind, behind_bytes) = (self.queue_len, self.queue_bytes);
        let rule = DropRule::OVERFLOW;
        observer.on_event(now, packet, Event::QueueDropped { rule, behind, behind_bytes, average: None });
        if self.limits.overflow() == Overflow::Stop {
            let (waiting, waiting_bytes) = (behind, behind_bytes);
            let reason = StopReason { at: now, packet: packet.id(), waiting, waiting_bytes };
            self.stopped.get_or_insert(reason);
        }
    }

    /// The current transmission ends, and that of the first queued packet starts. Without a propagation delay
    /// the packet leaves the link in between.
    #[inline]
    fn end_transmission(&mut self, observer: &mut impl Observer<P>) {
        let now = self.transmission_end;
        observer.on_event(now, &self.packets[self.transmitted].packet, Event::TransmissionEnded);
        self.transmitted += 1;
        // A packet that propagates already is delivered before this one.
        if self.next_delivery == Instant::NEVER {
            self.next_delivery = now + self.propagation;
        }
        if self.next_delivery == now {
            self.deliver(observer);
        }
        let Some(next) = self.packets.get(self.transmitted) else {
            self.transmission_end = Instant::NEVER;
            return;
        };
        self.transmission_end = next.transmitted;
        self.queue_len -= 1;
        self.queue_bytes -= next.size;
        self.leave_queue(now, next.arrived, &next.packet, observer);
    }

    /// The first of the propagating packets leaves the link.
    #[inline]
    fn deliver(&mut self, observer: &mut impl Observer<P>) {
        let inside = &self.packets[self.delivered];
        self.counters.packets_out += 1;
        self.counters.bytes_out += inside.size - self.framing;
        observer.on_event(self.next_delivery, &inside.packet, Event::Delivered);
        self.delivered += 1;
        let propagating = (self.delivered < self.transmitted).then(|| &self.packets[self.delivered]);
        self.next_delivery =
            propagating.map_or(Instant::NEVER, |inside| inside.transmitted + self.propagation);
    }
}

/// Whether nothing is configured but a rate, a propagation delay and a queue. A receive buffer without a limit changes
/// nothing where packets are ready to leave in the order in which they arrive.
fn is_plain(config: &Config) -> bool {
    let queue_and_rate = Config {
        rate: config.rate,
        propagation: config.propagation.clone(),
        framing: config.framing,
        queue: config.queue.clone(),
        receive_buffer: config.receive_buffer.filter(|buffer| buffer.limit.is_none()),
        ..Config::default()
    };
    *config == queue_and_rate
}

#[cfg(test)]
mod tests;
