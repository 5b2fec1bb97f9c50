//! The ends of connections: segments in, segments out, and events for programs.

use tcp::{Endpoint, Event};
use units::{Bytes, Instant};
use workload::{SocketEvent, SocketId};

use crate::connection::{Egress, Stage};
use crate::datagrams::Datagram;
use crate::engine::Engine;
use crate::flow::FlowPhase;
use crate::ids::{EndpointId, FlowId, Side};
use crate::packet::{IPV4_HEADER_LEN, PacketBox};
use crate::pending::Pending;
use crate::record::Recorder;
use crate::stop::{RunError, Stop};
use crate::tcb_sharing::HostPath;

impl<R: Recorder> Engine<R> {
    /// A packet with a segment has come to its end, and its memory is free for the answer.
    #[inline(always)]
    pub(crate) fn receive(&mut self, end: EndpointId, packet: PacketBox) {
        let connection = &mut self.connections[end.connection()];
        let segment = packet.0.segment();
        if R::METERS && self.sampler.metered && end.side() == Side::To && !segment.payload.is_empty() {
            self.flows[connection.flow].one_way.add(self.now - packet.0.sent);
        }
        // It may be for a connection that had the place before.
        let ours = connection.owns(packet.0.id);
        let Some(mut endpoint) = connection.ends[end.side()].endpoint.take_if(|_| ours) else {
            return self.pool.release(packet);
        };
        self.progress = self.now;
        endpoint.handle_segment(self.now, segment);
        if end.side() == Side::From {
            connection.on_ack_received(self.now, &endpoint);
        }
        self.pool.release(packet);
        self.poll_endpoint(end, endpoint);
    }

    /// A datagram has come to its end, undamaged if its size is given.
    pub(crate) fn receive_datagram(&mut self, flow_id: FlowId, datagram: Datagram, size: Option<Bytes>) {
        self.progress = self.now;
        let flow = &mut self.flows[flow_id];
        match size {
            Some(size) => {
                let delay = flow.datagrams.on_received(self.now, datagram, size);
                delay.into_iter().for_each(|delay| flow.one_way.add(delay));
                let is_new = delay.is_some() || datagram.by == Side::To;
                if is_new && flow.service.feedback {
                    let Datagram { by, number, .. } = datagram;
                    let event = SocketEvent::DatagramReceived { by, number, size };
                    self.notify_program(flow_id, SocketId::FIRST, event);
                }
            }
            None => flow.datagrams.on_lost(datagram),
        }
        self.conclude_flow(flow_id);
    }

    /// Carries out everything that an endpoint has to do: bytes and events for the program, segments, and its next
    /// wake-up.
    pub(crate) fn drive(&mut self, end: EndpointId) {
        if let Some(endpoint) = self.connections[end.connection()].ends[end.side()].endpoint.take() {
            self.poll_endpoint(end, endpoint);
        }
    }

    /// The same for an endpoint that was taken out of its place, and is put back there.
    #[inline(always)]
    fn poll_endpoint(&mut self, end: EndpointId, mut endpoint: Box<Endpoint>) {
        self.read_all(end, &mut endpoint);
        while let Some(event) = endpoint.poll_event() {
            self.on_endpoint_event(end, &mut endpoint, event);
        }
        self.send_all(end, &mut endpoint);
        let due = endpoint.poll_timeout().unwrap_or(Instant::NEVER);
        self.schedule.set_endpoint_at_latest(end, due);
        let connection = &mut self.connections[end.connection()];
        if R::ON {
            self.recorder.on_decisions(connection.conversation_at(end.side()), end.side(), &mut endpoint);
        }
        connection.ends[end.side()].endpoint = Some(endpoint);
    }

    /// The program reads all that there is at once.
    #[inline(always)]
    fn read_all(&mut self, end: EndpointId, endpoint: &mut Endpoint) {
        let side = end.side();
        let connection = &mut self.connections[end.connection()];
        while let Some(payload) = endpoint.read() {
            match connection.on_read(side, &payload) {
                Ok(false) => {}
                Ok(true) => {
                    let event = SocketEvent::Read { side, position: connection.take_notification(side) };
                    self.pending.push_back(Pending::Event(connection.flow, connection.socket, event));
                }
                Err(position) => {
                    let flow = self.flows[connection.flow].name.clone();
                    self.failure.get_or_insert(RunError::Integrity { flow, position, at: self.now });
                }
            }
        }
    }

    fn on_endpoint_event(&mut self, end: EndpointId, endpoint: &mut Endpoint, event: Event) {
        let connection = &mut self.connections[end.connection()];
        match event {
            Event::Connected => {
                connection.on_connected(end.side(), endpoint);
                if endpoint.config().plain.fast_open.is_client() {
                    self.tcb_sharing.learn_cookie(self.host_path(end), endpoint);
                }
            }
            Event::PeerClosed => {
                if end.side() == Side::To {
                    connection.on_end_of_stream();
                }
                // A program that has read to the end of the stream closes its side.
                connection.close(end.side(), endpoint);
            }
            Event::Closed | Event::Reset(_) => self.on_endpoint_over(end, endpoint, event),
            _ => {}
        }
    }

    /// An endpoint has closed or was reset. A reset of the end that opened the connection ends it, whether or not the
    /// other end learns of it.
    #[cold]
    fn on_endpoint_over(&mut self, end: EndpointId, endpoint: &Endpoint, event: Event) {
        self.connections[end.connection()].ends[end.side()].is_over = true;
        self.tcb_sharing.save(self.now, self.host_path(end), endpoint);
        let connection = &mut self.connections[end.connection()];
        let reset = matches!(event, Event::Reset(_)) && connection.ends_by_reset_at(end.side());
        if connection.stage == Stage::Open && (reset || connection.ends[end.side().other()].is_over) {
            connection.stage = Stage::Over;
            self.flows[connection.flow].free.push_back(end.connection());
            let event = SocketEvent::Closed;
            self.pending.push_back(Pending::Event(connection.flow, connection.socket, event));
        }
    }

    /// A flow may have nothing more to do.
    pub(crate) fn conclude_flow(&mut self, flow: FlowId) {
        let flow = &mut self.flows[flow];
        if flow.phase == FlowPhase::Open && flow.is_done() {
            flow.phase = FlowPhase::Over;
            self.open_flows -= 1;
            // As long as packets may come in from outside, the driver says when the run is over.
            if self.open_flows == 0 && self.gateway.nodes() == 0 {
                self.stopped.get_or_insert(Stop::FlowsOver);
            }
        }
    }

    /// Sends as long as there is something to send and the first link takes it. If the link does not, the end waits in
    /// line for it.
    #[inline(always)]
    fn send_all(&mut self, end: EndpointId, endpoint: &mut Endpoint) {
        loop {
            let from = &mut self.connections[end.connection()].ends[end.side()];
            let link = &mut self.links[from.egress.first_link];
            if !link.accepts() {
                if !std::mem::replace(&mut from.is_blocked, true) {
                    link.blocked.push_back(end);
                }
                return;
            }
            let Some(packet) = self.poll_packet(end, endpoint) else { return };
            self.arrive(packet);
        }
    }

    /// The next segment that an endpoint sends, in a packet at its first hop.
    #[inline(always)]
    fn poll_packet(&mut self, end: EndpointId, endpoint: &mut Endpoint) -> Option<PacketBox> {
        let connection = &mut self.connections[end.connection()];
        connection.refill(end.side(), endpoint);
        let transmit = self.pool.next_segment();
        transmit.kind = endpoint.poll_transmit_into(self.now, &mut transmit.segment)?;
        let id = connection.next_packet();
        let size = IPV4_HEADER_LEN + transmit.segment.wire_len();
        match end.side() {
            Side::From => connection.on_sent(self.now, id, transmit),
            Side::To => connection.on_ack_sent(size),
        }
        let mut packet = self.pool.take();
        let Egress { first_hop, header, .. } = connection.ends[end.side()].egress;
        // Dummy segments and their ACKs have the lowest class (TCP Peach), whatever that of the flow is.
        let header = header.for_segment(packet.0.segment());
        packet.0.address(id, size, first_hop, (end.peer(), header));
        packet.0.beyond = end.side() == Side::To && connection.beyond.is_some();
        if R::METERS {
            packet.0.sent = self.now;
        }
        if R::ON {
            self.recorder.on_sent(self.now, &mut packet.0, connection.conversation_at(end.side()));
        }
        Some(packet)
    }

    /// State of an end that it shares with other connections.
    pub(crate) fn host_path(&self, end: EndpointId) -> HostPath {
        let Egress { first_link, header, .. } = self.connections[end.connection()].ends[end.side()].egress;
        HostPath { host: header.source, interface: first_link, peer: header.destination }
    }
}
