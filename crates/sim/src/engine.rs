//! The engine: takes the next event, lets its component act, and carries packets on.
//!
//! Written once for any recorder; with [`crate::record::Off`] recording costs nothing.
//!
//! The rest of `impl Engine`: `transport.rs` for the ends of connections, `commands.rs` for programs, `cell_traffic.rs`
//! for shared channels, `proxy_traffic.rs` for proxies, `injection.rs` for packets from outside, `readings.rs` for
//! totals.

use std::collections::{BTreeMap, VecDeque};

use link::Link;
use tcp::Endpoint;
use trace::ledger::Diagnosis;
use units::{Bytes, Duration, Instant};

use crate::cells::Cells;
use crate::connection::{Connection, Stage};
use crate::directed_link::DirectedLink;
use crate::external::{ExternalPacket, Gateway};
use crate::flow::Flow;
use crate::ids::{ConnectionId, ConversationId, DirectionId, EndpointId, FlowId, IdVec};
use crate::link_observer::observed;
use crate::measure::Sampler;
use crate::packet::{Body, CORRUPTED, OVERSIZE, Packet, PacketBox, PacketPool};
use crate::pending::Pending;
use crate::ports::PortAllocator;
use crate::proxies::Proxies;
use crate::record::{Recorder, Records};
use crate::route::{Hop, Routes};
use crate::schedule::{Component, Schedule};
use crate::spec::Spec;
use crate::stop::{RunError, Stop};
use crate::tcb_sharing::TcbSharing;

/// The state of a run.
pub(crate) struct Engine<R> {
    pub(crate) now: Instant,
    /// Time at which a component was last woken.
    pub(crate) woken: Instant,
    pub(crate) schedule: Schedule,
    pub(crate) links: IdVec<DirectionId, DirectedLink>,
    pub(crate) cells: Cells,
    pub(crate) proxies: Proxies,
    pub(crate) sampler: Sampler,
    pub(crate) connections: IdVec<ConnectionId, Connection>,
    pub(crate) flows: IdVec<FlowId, Flow>,
    /// Events that programs have yet to handle, and flows that may be over.
    pub(crate) pending: VecDeque<Pending>,
    pub(crate) ports: PortAllocator,
    /// The verdicts on connections that are counted; kept where anything is recorded.
    pub(crate) diagnoses: BTreeMap<ConversationId, Diagnosis>,
    pub(crate) routes: Routes,
    pub(crate) pool: PacketPool,
    /// Packets that passed a link without taking time, in order.
    pub(crate) arrivals: VecDeque<PacketBox>,
    pub(crate) gateway: Gateway,
    pub(crate) tcb_sharing: TcbSharing,
    pub(crate) recorder: R,
    pub(crate) stopped: Option<Stop>,
    /// Flows that are not over.
    pub(crate) open_flows: usize,
    /// Time at which a packet last reached an end or a program last issued a command.
    pub(crate) progress: Instant,
    pub(crate) failure: Option<RunError>,
    /// Largest number of packets in one link; with more the run ends.
    pub(crate) most_packets_inside: usize,
}

impl<R: Recorder> Engine<R> {
    /// Acts on every event up to and with `until`, or until the run is over, the latest at `stop`, and takes
    /// the readings that are due on the way.
    pub(crate) fn run_until(&mut self, until: Instant, stop: Instant) {
        let may_idle = self.outlasts_idleness(stop) && until < Instant::NEVER;
        while self.sampler.next() <= until {
            let at = self.sampler.next();
            self.act_until(at);
            // A run that does not outlast its events was over with the last of them, and not at the reading.
            if self.has_ended() || !(may_idle || self.next_event().is_some()) {
                return;
            }
            let reading = self.reading(at);
            self.sampler.take(&reading);
        }
        self.act_until(until);
    }

    /// Whether the run continues though no event is left: until `stop`, or because a packet may still come
    /// in from outside. Readings are then due in idle times too, and before what comes in next.
    fn outlasts_idleness(&self, stop: Instant) -> bool {
        stop < Instant::NEVER || self.gateway.nodes() > 0
    }

    fn has_ended(&self) -> bool {
        self.stopped.is_some() || self.failure.is_some()
    }

    fn act_until(&mut self, until: Instant) {
        // At the end of time nothing is due.
        let until = until.min(LAST_INSTANT);
        while !self.has_ended() {
            let (at, component) = self.schedule.next();
            if at > until {
                return;
            }
            self.wake(at, component);
        }
    }

    #[inline(always)]
    fn wake(&mut self, at: Instant, component: Component) {
        debug_assert!(at >= self.now, "time ran back: {at} is before {}", self.now);
        (self.now, self.woken) = (at, at);
        match component {
            Component::Link(direction) => self.wake_link(direction),
            Component::Endpoint(end) => self.wake_endpoint(end),
            Component::Flow(flow) => self.wake_flow(flow),
            Component::Cell(cell) => self.wake_cell(cell),
            Component::Proxy(proxy) => self.wake_proxy(proxy),
        }
        self.settle();
    }

    fn wake_link(&mut self, direction: DirectionId) {
        self.fetch_ahead(direction);
        let (link, mut observer) = observed!(self, direction);
        link.handle_timeout(self.now, &mut observer);
        let mut delivered = link.poll_delivery();
        while let Some(packet) = delivered {
            let more = self.links[direction].link.has_delivery();
            self.arrive(packet);
            delivered = if more { self.links[direction].link.poll_delivery() } else { None };
        }
        let DirectedLink { link, has_flow_control, .. } = &self.links[direction];
        rearm(&mut self.schedule, &mut self.stopped, direction, link);
        if *has_flow_control {
            self.release_held(direction);
        }
    }

    /// Flow control may have ended: what waits enters as long as the link takes it.
    #[inline(never)]
    pub(crate) fn release_held(&mut self, direction: DirectionId) {
        while self.links[direction].link.can_accept() {
            if let Some(packet) = self.links[direction].held.pop_front() {
                self.enter(direction, packet);
            } else if let Some(end) = self.links[direction].blocked.pop_front() {
                self.connections[end.connection()].ends[end.side()].is_blocked = false;
                self.drive(end);
            } else {
                break;
            }
        }
    }

    fn wake_endpoint(&mut self, end: EndpointId) {
        let silence = self.now.saturating_since(self.progress);
        let Some(endpoint) = &mut self.connections[end.connection()].ends[end.side()].endpoint else {
            return;
        };
        let due = endpoint.poll_timeout().unwrap_or(Instant::NEVER);
        if due > self.now {
            // The timer was pushed ahead since it was armed, or stopped.
            return self.schedule.set_endpoint(end, due);
        }
        if silence > STALL && is_hopeless(endpoint, silence) {
            self.stopped = Some(Stop::Stalled);
            return;
        }
        endpoint.handle_timeout(self.now);
        self.drive(end);
    }

    /// Carries on the packets that passed a link without taking time, and hands programs their events.
    #[inline(always)]
    pub(crate) fn settle(&mut self) {
        while !(self.arrivals.is_empty() && self.pending.is_empty()) {
            while let Some(packet) = self.arrivals.pop_front() {
                self.arrive(packet);
            }
            match self.pending.pop_front() {
                Some(Pending::Event(flow, socket, event)) => self.notify_program(flow, socket, event),
                Some(Pending::Conclusion(flow)) => self.conclude_flow(flow),
                None => {}
            }
        }
    }

    /// A packet is at a node: at its birth, and whenever a link has delivered it.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, packet: PacketBox) {
        match self.routes.at(packet.0.next_hop) {
            Hop::Link(direction) => self.forward(direction, packet),
            Hop::End => self.deliver(packet),
            Hop::Cell(user) => self.enter_cell(user, packet),
            Hop::Proxy(proxy, heading) => self.enter_proxy(proxy, heading, packet),
        }
    }

    #[inline(always)]
    pub(crate) fn forward(&mut self, direction: DirectionId, packet: PacketBox) {
        let link = &mut self.links[direction];
        if packet.0.size > link.mtu {
            self.drop_oversize(direction, packet);
        } else if !link.accepts() {
            link.held.push_back(packet);
        } else {
            self.enter(direction, packet);
        }
    }

    #[inline(always)]
    fn enter(&mut self, direction: DirectionId, mut packet: PacketBox) {
        packet.0.next_hop = packet.0.next_hop.next();
        if R::ON {
            self.recorder.on_entered(self.now, direction, &mut packet.0);
        }
        let (link, mut observer) = observed!(self, direction);
        link.handle_packet(self.now, packet, &mut observer);
        while link.has_delivery() {
            self.arrivals.extend(link.poll_delivery());
        }
        let is_overloaded = link.packets_inside() > self.most_packets_inside;
        rearm(&mut self.schedule, &mut self.stopped, direction, link);
        if is_overloaded {
            self.fail_overloaded(direction);
        }
    }

    #[cold]
    fn fail_overloaded(&mut self, direction: DirectionId) {
        let DirectedLink { name, link, .. } = &self.links[direction];
        let (link, packets) = (name.clone(), link.packets_inside());
        self.failure.get_or_insert(RunError::Overload { link, packets, at: self.now });
    }

    /// A packet is longer than the link's MTU; packets are not fragmented.
    #[cold]
    pub(crate) fn drop_oversize(&mut self, direction: DirectionId, mut packet: PacketBox) {
        self.links[direction].oversize_drops += 1;
        self.recorder.on_entered(self.now, direction, &mut packet.0);
        self.recorder.on_oversize(&packet.0);
        let (_, mut observer) = observed!(self, direction);
        observer.on_drop(self.now, &packet.0, OVERSIZE);
    }

    fn deliver(&mut self, mut packet: PacketBox) {
        if R::ON {
            self.recorder.on_received(self.now, &packet.0);
        }
        let Packet { id, destination: end, corrupted, sent, beyond, .. } = *packet.0;
        match &mut packet.0.body {
            // The checksum is wrong, and the segment is as if it had never come. A copy is not the packet that was
            // sent.
            Body::Segment(_) if corrupted && packet.0.copy => {}
            Body::Segment(sent) if corrupted => {
                let connection = &mut self.connections[end.connection()];
                connection.on_lost(self.now, id, &sent.segment, (end.side(), beyond), CORRUPTED);
            }
            Body::Segment(_) => self.receive(end, packet),
            Body::Datagram(datagram) => {
                let (datagram, size) = (*datagram, Bytes(u64::from(packet.0.size)));
                self.pool.release(packet);
                let flow = self.connections[end.connection()].flow;
                self.receive_datagram(flow, datagram, (!corrupted).then_some(size));
            }
            Body::Raw(bytes) => {
                let arrived = ExternalPacket { id, sent, due: self.now, bytes: std::mem::take(bytes) };
                self.gateway.deliver(packet.0.header.destination, arrived, corrupted);
                self.pool.release(packet);
            }
        }
    }

    /// Arms every component for the first time.
    pub(crate) fn arm(&mut self) {
        for direction in self.links.ids() {
            rearm(&mut self.schedule, &mut self.stopped, direction, &self.links[direction].link);
        }
        self.flows.ids().for_each(|flow| self.rearm_flow(flow));
    }

    /// The run is over, for there is nothing to do before `stop`.
    pub(crate) fn conclude(&mut self, stop: Instant) {
        if self.has_ended() {
            return;
        }
        if stop == Instant::NEVER {
            // However far a driver has looked ahead: it ended when the last thing happened.
            (self.now, self.stopped) = (self.woken, Some(Stop::Quiet));
        } else {
            self.advance(stop, stop);
        }
    }

    /// Nothing is due before `time`; at `stop` the run is over.
    pub(crate) fn advance(&mut self, time: Instant, stop: Instant) {
        if !self.has_ended() {
            self.now = self.now.max(time);
            if self.now >= stop {
                self.stopped = Some(Stop::Time);
            }
        }
    }

    /// The records that have become complete, if they are many.
    pub(crate) fn take_records(&mut self, spec: &Spec) -> Option<Records> {
        if !self.recorder.is_full() {
            return None;
        }
        let (diagnoses, connections) = (&self.diagnoses, &mut self.connections);
        let open = connections.ids().filter(|place| connections[*place].stage != Stage::Idle);
        let names = |place: ConnectionId| connections[place].conversations().map(move |name| (name, place));
        let places: BTreeMap<ConversationId, ConnectionId> = open.flat_map(names).collect();
        let mut verdicts = |conversation, packet| match diagnoses.get(&conversation) {
            Some(diagnosis) => diagnosis.verdict(packet).copied(),
            None => {
                let connection = &mut connections[*places.get(&conversation)?];
                connection.ledger_of(conversation).verdict(packet).copied()
            }
        };
        Some(self.recorder.take(spec, &mut verdicts))
    }

    /// Whether a direction of a link takes packets.
    pub(crate) fn accepts(&self, direction: DirectionId) -> bool {
        self.links[direction].accepts()
    }

    pub(crate) fn next_event(&self) -> Option<Instant> {
        let next = self.schedule.next_time();
        (self.stopped.is_none() && next < Instant::NEVER).then_some(next)
    }

    pub(crate) fn failure(&self) -> Result<(), RunError> {
        self.failure.clone().map_or(Ok(()), Err)
    }
}

/// Sets the next wake-up of a link that was called; the run is over if the link stopped it.
#[inline(always)]
pub(crate) fn rearm(
    schedule: &mut Schedule,
    stopped: &mut Option<Stop>,
    direction: DirectionId,
    link: &Link<PacketBox>,
) {
    schedule.set_link(direction, link.next_wake_up());
    if let Some(reason) = link.stopped() {
        stopped.get_or_insert(Stop::Link { direction, reason: *reason });
    }
}

/// Whether an endpoint retransmits without an answer, indefinitely. An endpoint that has nothing to send is merely
/// idle, however long its keep-alive waits.
#[cold]
fn is_hopeless(endpoint: &Endpoint, silence: Duration) -> bool {
    !endpoint.is_idle() && silence > endpoint.longest_rto() * HOPELESS_TIMERS
}

/// The last time at which anything can happen.
const LAST_INSTANT: Instant = Instant::from_nanos(Instant::NEVER.as_nanos() - 1);

/// No shorter silence ends a run.
const STALL: Duration = Duration::from_secs(3600);

/// Nor one of fewer of an endpoint's longest timers: as many as an hour has of RFC 6298's two minutes, and twice the
/// retransmissions after which an endpoint gives up (15 in Linux; RFC 9293 §3.8.3).
const HOPELESS_TIMERS: u64 = 30;
