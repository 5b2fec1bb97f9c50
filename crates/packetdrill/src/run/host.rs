//! The host under test: its connections, its clock, and the segments that leave it.

use std::collections::VecDeque;

use tcp::{Endpoint, Ports};
use units::{Duration, Instant};
use wire::Segment;

use super::compare::SentSegment;
use super::connection::TestedConnection;
use super::fast_open::ServerCache;
use super::ids::{ConnectionId, START};
use super::segment::outbound;
use super::timeline::Timeline;
use crate::script::{EcnField, Packet};

/// The host.
#[derive(Debug)]
pub(super) struct TestedHost {
    /// Its clock, which starts at [`START`].
    pub now: Instant,
    pub connections: Vec<TestedConnection>,
    /// Segments that were sent and not compared yet.
    pub outgoing: VecDeque<SentSegment>,
    pub timeline: Timeline,
    /// The device takes no packet (`tc qdisc … pfifo limit 0`).
    pub device_refuses: bool,
    /// What connections have learned for the next Fast Open.
    pub cache: ServerCache,
    sends: u64,
    /// A call sends in several steps, which count as one.
    within_send: bool,
}

impl TestedHost {
    pub(super) fn new() -> Self {
        Self {
            now: START,
            connections: Vec::new(),
            outgoing: VecDeque::new(),
            timeline: Timeline::default(),
            device_refuses: false,
            cache: ServerCache::default(),
            sends: 0,
            within_send: false,
        }
    }

    pub(super) fn open(&mut self, endpoint: Endpoint, ports: Ports) -> ConnectionId {
        self.connections.push(TestedConnection::new(self.now, endpoint, ports));
        ConnectionId(self.connections.len() - 1)
    }

    pub(super) fn connection(&mut self, id: ConnectionId) -> &mut TestedConnection {
        &mut self.connections[id.0]
    }

    /// The next time at which a timer runs out.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.connections.iter().filter_map(|connection| connection.endpoint.poll_timeout()).min()
    }

    /// Sets the clock to `at` and handles the timers that have run out by then.
    pub(super) fn run_timers(&mut self, at: Instant) {
        self.now = self.now.max(at);
        for index in 0..self.connections.len() {
            let endpoint = &mut self.connections[index].endpoint;
            if endpoint.poll_timeout().is_some_and(|due| due <= at) {
                endpoint.handle_timeout(at);
                self.settle(ConnectionId(index));
            }
        }
    }

    /// A segment arrives at a connection; what the connection answers leaves when it settles.
    pub(super) fn deliver(&mut self, id: ConnectionId, segment: &Segment) {
        let now = self.now;
        let connection = self.connection(id);
        connection.on_arrival(now, segment);
        connection.endpoint.handle_segment(now, segment);
        connection.note_times(now);
        connection.on_events(now);
    }

    /// Segments that leave from now on belong to one send, up to [`TestedHost::end_send`].
    pub(super) const fn begin_send(&mut self) {
        self.sends += 1;
        self.within_send = true;
    }

    pub(super) const fn end_send(&mut self) {
        self.within_send = false;
    }

    /// Takes the endpoint's events and segments after an input.
    pub(super) fn settle(&mut self, id: ConnectionId) {
        let (now, refuses) = (self.now, self.device_refuses);
        self.sends += u64::from(!self.within_send);
        let connection = &mut self.connections[id.0];
        connection.on_events(now);
        if refuses {
            connection.endpoint.handle_device_refusal(now);
            connection.on_events(now);
        }
        while let Some(transmit) = (!refuses).then(|| connection.endpoint.poll_transmit(now)).flatten() {
            connection.on_departure(now, &transmit.segment, transmit.kind);
            connection.on_events(now);
            let packet = outbound(&transmit.segment, connection.notation);
            let ecn = packet.ecn.filter(|ecn| *ecn != EcnField::NotCapable);
            self.timeline.add(now, None, &Packet { ecn, ..packet }.to_string());
            self.outgoing.push_back(SentSegment {
                at: now,
                connection: id,
                send: self.sends,
                segment: transmit.segment,
            });
        }
        if connection.lacks_room {
            connection.endpoint.grow_send_buffer();
        }
        connection.on_settled(now);
        self.cache.learn(connection);
    }

    /// Time since the start of the script.
    pub(super) fn elapsed(&self) -> Duration {
        self.now.saturating_since(START)
    }
}
