//! The engine: takes the next wake-up, lets its component act, and carries packets on.
//!
//! Written once for any recorder; with [`crate::record::Off`] recording costs nothing.
//! Components stand in the event queue in this order: directions of links, flows, ends of connections.
//!
//! The rest of `impl Engine`: `transport.rs` for what the ends of connections do, `orders.rs` for what
//! programs want.

use std::collections::{BTreeMap, VecDeque};

use tcp::Endpoint;
use trace::ledger::Diagnosis;
use units::{Bytes, Duration, Instant, PacketId};

use crate::build::UsedPorts;
use crate::connection::{Connection, Stage};
use crate::external::{Admitted, ExternalPacket, Gateway};
use crate::flow::Flow;
use crate::kinship::Kinship;
use crate::measure::{DelayHistogram, FlowReading, Gauge, LinkMeter, LinkReading, Reading};
use crate::packet::{Body, Boxes, Label, Parcel};
use crate::queue::EventQueue;
use crate::record::{Recorder, Records};
use crate::route::LinkDirection;
use crate::spec::Spec;
use crate::witness::witness;
use crate::workload::News;
use crate::world::{RunError, Stop};

/// The state of a run.
pub(crate) struct Engine<R> {
    pub(crate) now: Instant,
    /// When a component was last woken.
    pub(crate) woken: Instant,
    pub(crate) queue: EventQueue,
    pub(crate) links: Vec<Direction>,
    /// What each direction of a link adds up over time.
    pub(crate) meters: Vec<LinkMeter>,
    pub(crate) gauge: Gauge,
    /// Connection `i` has ends `2 i` (the sender) and `2 i + 1` (the receiver). The first place for a
    /// connection of flow `i` is `i`.
    pub(crate) ends: Vec<End>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) flows: Vec<Flow>,
    /// What happened that programs asked to hear of.
    pub(crate) news: VecDeque<(u32, u32, News)>,
    pub(crate) used_ports: UsedPorts,
    /// The verdicts on connections that are counted, by conversation; kept where anything is recorded.
    pub(crate) diagnoses: BTreeMap<u32, Diagnosis>,
    pub(crate) routes: Vec<Box<[LinkDirection]>>,
    /// Packets that passed a link without taking time, in order.
    pub(crate) boxes: Boxes,
    pub(crate) arrivals: VecDeque<Parcel>,
    pub(crate) gateway: Gateway,
    pub(crate) kinship: Kinship,
    pub(crate) recorder: R,
    pub(crate) stopped: Option<Stop>,
    /// Flows that are not over.
    pub(crate) open_flows: usize,
    /// When last anything reached an end or a program wanted anything.
    pub(crate) progress: Instant,
    pub(crate) failure: Option<RunError>,
}

/// One direction of a link and what the world knows of it.
pub(crate) struct Direction {
    pub(crate) link: link::Link<Parcel>,
    pub(crate) mtu: u32,
    pub(crate) oversize_drops: u64,
    /// What waits for the link: packets that routers hold back, and ends that have more to send.
    pub(crate) held: VecDeque<Parcel>,
    pub(crate) waiting: VecDeque<u32>,
}

impl Direction {
    /// Whether a packet may enter now; if not, flow control holds it back.
    #[inline]
    pub(crate) fn accepts(&self) -> bool {
        self.held.is_empty() && self.link.can_accept()
    }

    #[inline]
    fn is_waited_for(&self) -> bool {
        !(self.held.is_empty() && self.waiting.is_empty())
    }
}

/// One end of a flow.
pub(crate) struct End {
    /// Not there until the connection is opened, nor while it is asked what it has to say: in a box, so that
    /// taking it out costs nothing.
    pub(crate) endpoint: Option<Box<Endpoint>>,
    pub(crate) way: Way,
    pub(crate) over: bool,
    /// Whether the end stands in its first link's `waiting`.
    pub(crate) waiting: bool,
}

/// How what an end sends is to go: the same for all ends of one side of a flow.
#[derive(Clone, Copy)]
pub(crate) struct Way {
    pub(crate) route: u32,
    pub(crate) first_hop: LinkDirection,
    pub(crate) label: Label,
}

impl End {
    pub(crate) const fn new(way: Way) -> Self {
        Self { endpoint: None, way, over: false, waiting: false }
    }
}

/// Whether `end` is the sending one of its connection.
pub(crate) const fn sends(end: usize) -> bool {
    end.is_multiple_of(2)
}

impl<R: Recorder> Engine<R> {
    /// Acts on every wake-up up to and with `until`, or until the run is over, the latest at `stop`, and takes
    /// the readings that are due on the way.
    pub(crate) fn run_until(&mut self, until: Instant, stop: Instant) {
        let may_idle = self.outlasts_idleness(stop) && until < Instant::NEVER;
        while self.gauge.next() <= until {
            let at = self.gauge.next();
            self.act_until(at);
            let has_ended = self.stopped.is_some() || self.failure.is_some();
            // A run that does not outlast what happens was over with the last of it, and not at the reading.
            if has_ended || !(may_idle || self.next_event().is_some()) {
                return;
            }
            let reading = self.reading(at);
            self.gauge.take(&reading);
        }
        self.act_until(until);
    }

    /// Whether the run goes on though nothing is left to happen: until `stop`, or because something may still come
    /// in from outside. Readings are then due in idle times too, and before what comes in next.
    fn outlasts_idleness(&self, stop: Instant) -> bool {
        stop < Instant::NEVER || self.gateway.nodes() > 0
    }

    fn act_until(&mut self, until: Instant) {
        while self.stopped.is_none() && self.failure.is_none() {
            match self.queue.next() {
                Some((at, component)) if at <= until => self.wake(at, component),
                _ => break,
            }
        }
    }

    fn wake(&mut self, at: Instant, component: usize) {
        debug_assert!(at >= self.now, "time ran back: {at} is before {}", self.now);
        (self.now, self.woken) = (at, at);
        let (links, flows) = (self.links.len(), self.flows.len());
        if component < links {
            self.wake_link(component);
        } else if component >= links + flows {
            self.wake_end(component - links - flows);
        } else {
            self.wake_flow(component - links);
        }
        self.settle();
    }

    fn wake_link(&mut self, index: usize) {
        let (direction, mut witness) = witness!(self, index);
        direction.link.handle_timeout(self.now, &mut witness);
        while let Some(parcel) = self.links[index].link.poll_delivery() {
            self.arrive(parcel);
        }
        self.rearm_link(index);
        if self.links[index].is_waited_for() {
            self.release_held(index);
        }
    }

    #[inline(always)]
    fn rearm_link(&mut self, index: usize) {
        let link = &self.links[index].link;
        self.queue.set(index, link.poll_timeout().unwrap_or(Instant::NEVER));
        if let Some(reason) = link.stopped() {
            self.stopped.get_or_insert(Stop::Link { link: index as u32, reason: *reason });
        }
    }

    /// Flow control has ended, perhaps: what waits may enter as long as the link takes it.
    #[inline(never)]
    fn release_held(&mut self, index: usize) {
        while self.links[index].link.can_accept() {
            if let Some(parcel) = self.links[index].held.pop_front() {
                self.enter(index, parcel);
            } else if let Some(end) = self.links[index].waiting.pop_front() {
                self.ends[end as usize].waiting = false;
                self.pump(end as usize);
            } else {
                break;
            }
        }
    }

    fn wake_end(&mut self, end: usize) {
        let silence = self.now.saturating_since(self.progress);
        let Some(endpoint) = &mut self.ends[end].endpoint else { return };
        let due = endpoint.poll_timeout().unwrap_or(Instant::NEVER);
        if due > self.now {
            // Woken early: the timer was pushed ahead meanwhile, or cleared.
            return self.queue.set(self.component_of(end), due);
        }
        if silence > STALL && waits_in_vain(endpoint, silence) {
            self.stopped = Some(Stop::Stalled);
            return;
        }
        endpoint.handle_timeout(self.now);
        self.pump(end);
    }

    /// Carries on what passed a link without taking time, and what programs make of it.
    pub(crate) fn settle(&mut self) {
        loop {
            while let Some(parcel) = self.arrivals.pop_front() {
                self.arrive(parcel);
            }
            let Some((flow, line, news)) = self.news.pop_front() else { return };
            self.tell(flow as usize, line, news);
        }
    }

    /// Where an end stands in the event queue.
    #[inline]
    pub(crate) fn component_of(&self, end: usize) -> usize {
        self.links.len() + self.flows.len() + end
    }

    /// A packet is at a node: at its birth, and whenever a link has delivered it.
    pub(crate) fn arrive(&mut self, parcel: Parcel) {
        let packet = &parcel.0;
        match self.routes[packet.route as usize].get(usize::from(packet.hop)) {
            Some(&direction) => self.forward(direction as usize, parcel),
            None => self.deliver(parcel),
        }
    }

    #[inline(always)]
    pub(crate) fn forward(&mut self, index: usize, parcel: Parcel) {
        let direction = &mut self.links[index];
        if parcel.0.size > direction.mtu {
            self.refuse(index, parcel);
        } else if !direction.accepts() {
            direction.held.push_back(parcel);
        } else {
            self.enter(index, parcel);
        }
    }

    #[inline(always)]
    fn enter(&mut self, index: usize, mut parcel: Parcel) {
        parcel.0.hop += 1;
        if R::ON {
            self.recorder.on_entered(self.now, index, &mut parcel.0);
        }
        let (direction, mut witness) = witness!(self, index);
        direction.link.handle_packet(self.now, parcel, &mut witness);
        while let Some(parcel) = direction.link.poll_delivery() {
            self.arrivals.push_back(parcel);
        }
        self.rearm_link(index);
    }

    /// A packet is longer than the link's MTU, and nobody fragments.
    #[cold]
    fn refuse(&mut self, index: usize, mut parcel: Parcel) {
        self.links[index].oversize_drops += 1;
        self.recorder.on_entered(self.now, index, &mut parcel.0);
        self.recorder.on_oversize(&parcel.0);
        let (_, mut witness) = witness!(self, index);
        witness.lose(self.now, &parcel.0, OVERSIZE);
    }

    fn deliver(&mut self, mut parcel: Parcel) {
        let packet = &mut parcel.0;
        if R::ON {
            self.recorder.on_received(self.now, packet);
        }
        let (id, destination, corrupted) = (packet.id, packet.destination as usize, packet.corrupted);
        match &mut packet.body {
            // The checksum tells, and the segment is as if it had never come; of a copy that says nothing.
            Body::Segment(_) if corrupted && packet.copy => {}
            Body::Segment(sent) if corrupted => {
                let connection = &mut self.connections[destination / 2];
                connection.on_lost(self.now, id, &sent.segment, !sends(destination), CORRUPTED);
            }
            Body::Segment(sent) => {
                let is_data = !sends(destination) && !sent.segment.payload.is_empty();
                if R::METERS && self.gauge.metered && is_data {
                    let flow = self.connections[destination / 2].flow as usize;
                    self.flows[flow].one_way.add(self.now - packet.sent);
                }
                self.receive(id, destination, &sent.segment);
                self.boxes.put_back(parcel);
            }
            Body::Datagram(datagram) => {
                let (datagram, size) = (*datagram, Bytes(u64::from(packet.size)));
                self.boxes.put_back(parcel);
                self.receive_datagram(destination / 2, datagram, (!corrupted).then_some(size));
            }
            Body::Raw(bytes) => {
                let arrived = ExternalPacket { id, due: self.now, bytes: std::mem::take(bytes) };
                self.gateway.deliver(destination, arrived, corrupted);
            }
        }
    }

    /// Arms every component for the first time.
    pub(crate) fn arm(&mut self) {
        for index in 0..self.links.len() {
            self.rearm_link(index);
        }
        for index in 0..self.flows.len() {
            self.rearm_flow(index);
        }
    }

    /// The run is over, for there is nothing to do before `stop`.
    pub(crate) fn conclude(&mut self, stop: Instant) {
        if self.stopped.is_some() || self.failure.is_some() {
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
        if self.stopped.is_none() && self.failure.is_none() {
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
        let open = connections.iter().enumerate().filter(|(_, connection)| connection.stage != Stage::Idle);
        let places: BTreeMap<u32, usize> =
            open.map(|(place, connection)| (connection.conversation, place)).collect();
        let mut verdicts = |conversation, packet| match diagnoses.get(&conversation) {
            Some(diagnosis) => diagnosis.verdict(packet).copied(),
            None => connections[*places.get(&conversation)?].ledger.verdict(packet).copied(),
        };
        Some(self.recorder.take(spec, &mut verdicts))
    }

    /// Whether a direction of a link takes packets.
    pub(crate) fn accepts(&self, direction: usize) -> bool {
        self.links[direction].accepts()
    }

    pub(crate) fn next_event(&self) -> Option<Instant> {
        if self.stopped.is_some() { None } else { self.queue.next().map(|(at, _)| at) }
    }

    pub(crate) fn failure(&self) -> Result<(), RunError> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// A packet comes in from outside; its identity, unless it leads nowhere.
    pub(crate) fn inject(&mut self, now: Instant, node: usize, bytes: Vec<u8>) -> Option<PacketId> {
        self.now = self.now.max(now);
        let Admitted { id, route, destination } = self.gateway.admit(node, &bytes)?;
        let size = bytes.len() as u32;
        let label = Label { source: node as u32, target: destination as u32, class: 0 };
        let mut parcel = self.boxes.pack(id, size, route, (label.target, label), Body::Raw(bytes));
        self.recorder.on_sent(self.now, &mut parcel.0, 0);
        self.arrive(parcel);
        self.settle();
        Some(id)
    }

    /// The totals at `at`, up to and with which everything has happened.
    pub(crate) fn reading(&mut self, at: Instant) -> Reading {
        let links = (0..self.links.len()).map(|index| self.read_link(index, at)).collect();
        let delays = if self.gauge.is_at_boundary() { self.delays() } else { Vec::new() };
        Reading { at, flows: self.flows.iter().map(|flow| self.read_flow(flow)).collect(), links, delays }
    }

    fn read_flow(&self, flow: &Flow) -> FlowReading {
        let places = flow.places.iter().map(|place| *place as usize);
        let open = places.filter(|place| self.connections[*place].stage != Stage::Idle);
        flow.reading(
            open.map(|place| self.connections[place].reading(self.ends[2 * place].endpoint.as_deref())),
        )
    }

    /// The one-way delays of each flow so far.
    pub(crate) fn delays(&self) -> Vec<DelayHistogram> {
        self.flows.iter().map(|flow| flow.one_way.delays().clone()).collect()
    }

    fn read_link(&mut self, index: usize, at: Instant) -> LinkReading {
        let (direction, mut witness) = witness!(self, index);
        // A link works out only when asked what has happened inside it.
        direction.link.handle_timeout(at, &mut witness);
        let times = self.gauge.metered.then(|| self.meters[index].times(at));
        let Direction { link, oversize_drops, .. } = &self.links[index];
        LinkReading { counters: *link.counters(), oversize_drops: *oversize_drops, times }
    }

    /// Packets that are somewhere between two ends.
    pub(crate) fn packets_under_way(&self) -> usize {
        let on_links =
            self.links.iter().map(|direction| direction.link.packets_inside() + direction.held.len());
        on_links.sum::<usize>() + self.arrivals.len()
    }
}

/// A rule that drops packets, as tables and verdicts name it: longer than the MTU.
const OVERSIZE: &str = "mtu";
/// Likewise: damaged on the way, found by the receiver's checksum.
pub(crate) const CORRUPTED: &str = "corrupted";

/// Whether an end repeats for ever what nobody answers. One that has nothing to say is merely idle, however
/// long its keep-alive waits.
#[cold]
fn waits_in_vain(endpoint: &Endpoint, silence: Duration) -> bool {
    !endpoint.is_idle() && silence > endpoint.longest_rto() * HOPELESS_TIMERS
}

/// No shorter silence ends a run.
const STALL: Duration = Duration::from_secs(3600);

/// Nor one of fewer of an end's longest timers: as many as an hour has of RFC 6298's two minutes, and twice the
/// retransmissions after which an end gives up by itself (15 in Linux; RFC 9293 §3.8.3), unless told otherwise.
const HOPELESS_TIMERS: u64 = 30;
