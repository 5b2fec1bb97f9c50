//! The commands of programs: connections opened, calls on their ends, datagrams sent.

use tcp::{Endpoint, Ports};
use units::{Bytes, Seq};
use workload::{Executor, SocketCall, SocketEvent, SocketId, Transfer};

use crate::connection::{Connection, Egress, Stage};
use crate::datagrams::Datagram;
use crate::engine::Engine;
use crate::flow::FlowPhase;
use crate::ids::{ConnectionId, ConversationId, EndpointId, FlowId, NodeId, PerSide, Side};
use crate::packet::Body;
use crate::pending::Pending;
use crate::record::Recorder;

/// Executes the commands of one flow's program.
struct FlowCommands<'a, R> {
    engine: &'a mut Engine<R>,
    flow: FlowId,
    /// Ends whose SYN waits for what the program writes at once (Fast Open).
    opening: Vec<EndpointId>,
}

impl<R: Recorder> Executor for FlowCommands<'_, R> {
    fn connect(&mut self, socket: SocketId, by: Side) {
        self.opening.extend(self.engine.connect(self.flow, socket, by));
    }

    fn open_stream(&mut self, _: SocketId, _: SocketId) {
        unreachable!("flows of programs with streams run over stacks of QUIC");
    }

    fn call(&mut self, socket: SocketId, side: Side, call: SocketCall) {
        match call {
            SocketCall::NotifyRead(position) => self.engine.notify_read(self.flow, socket, side, position),
            _ => self.engine.call(self.flow, socket, side, call),
        }
    }

    fn send_datagram(&mut self, by: Side, size: Bytes) {
        let datagram = self.engine.flows[self.flow].datagrams.send(self.engine.now, by, size);
        self.engine.send_datagram(self.flow, datagram, size);
    }

    fn report(&mut self, transfer: Transfer) {
        self.engine.flows[self.flow].transfers.push(transfer);
    }
}

impl<R: Recorder> Engine<R> {
    pub(crate) fn wake_flow(&mut self, flow_id: FlowId) {
        let flow = &mut self.flows[flow_id];
        if flow.phase == FlowPhase::Waiting {
            flow.phase = FlowPhase::Open;
        }
        flow.program.handle_timeout(self.now);
        self.run_commands(flow_id);
    }

    pub(crate) fn rearm_flow(&mut self, flow: FlowId) {
        self.schedule.set_flow(flow, self.flows[flow].program.poll_timeout());
    }

    /// Lets a program handle an event, and executes the commands that follow.
    pub(crate) fn notify_program(&mut self, flow: FlowId, socket: SocketId, event: SocketEvent) {
        self.flows[flow].program.handle_event(self.now, socket, event);
        self.run_commands(flow);
    }

    fn run_commands(&mut self, flow: FlowId) {
        let mut commands = FlowCommands { engine: self, flow, opening: Vec::new() };
        while let Some(command) = commands.engine.flows[flow].program.poll_command() {
            commands.engine.progress = commands.engine.now;
            command.execute(&mut commands);
        }
        let FlowCommands { opening, .. } = commands;
        opening.into_iter().for_each(|end| self.drive(end));
        self.rearm_flow(flow);
        self.conclude_flow(flow);
    }

    /// Makes a call at one side of a connection, and sends what follows from it. A connection that is over takes no
    /// calls.
    fn call(&mut self, flow: FlowId, socket: SocketId, side: Side, call: SocketCall) {
        let Some(place) = self.place_of(flow, socket) else { return };
        let connection = &mut self.connections[place];
        let Some(mut endpoint) = connection.ends[side].endpoint.take() else { return };
        connection.call(side, &mut endpoint, call);
        connection.ends[side].endpoint = Some(endpoint);
        self.drive(EndpointId::new(place, side));
    }

    fn notify_read(&mut self, flow: FlowId, socket: SocketId, side: Side, position: u64) {
        let Some(place) = self.place_of(flow, socket) else { return };
        let connection = &mut self.connections[place];
        if connection.notify_at(side, position) {
            let event = SocketEvent::Read { side, position: connection.take_notification(side) };
            self.pending.push_back(Pending::Event(flow, socket, event));
        }
    }

    /// The place of a flow's open connection of this number.
    fn place_of(&self, flow: FlowId, socket: SocketId) -> Option<ConnectionId> {
        let is_meant = |place: &ConnectionId| {
            let connection = &self.connections[*place];
            connection.stage == Stage::Open && connection.socket == socket
        };
        self.flows[flow].places.iter().copied().find(is_meant)
    }

    /// Opens a connection between the flow's hosts from the side `opener`; the other side listens. With Fast Open the
    /// SYN waits for what the program writes at once: then the opening end is returned.
    fn connect(&mut self, flow: FlowId, socket: SocketId, opener: Side) -> Option<EndpointId> {
        let place = self.free_place(flow);
        let conversation = match self.flows[flow].opened {
            0 => ConversationId::first_of(flow),
            _ => self.recorder.on_opened(flow),
        };
        self.flows[flow].opened += 1;
        self.connections[place].reopen(socket, conversation, opener);
        self.split(flow, place);
        let (ports, initial) = self.draw_identity(flow);
        self.connections[place].ports = Some(ports);
        for side in [opener.other(), opener] {
            let config = &self.flows[flow].tcps[side];
            let endpoint = match side == opener {
                true => Endpoint::connect(config, ports, initial[0]),
                false => Endpoint::listen(config, ports.remote, initial[1]),
            };
            self.install(EndpointId::new(place, side), endpoint, side == opener);
        }
        let end = EndpointId::new(place, opener);
        if self.flows[flow].tcps[opener].plain.fast_open.is_client() {
            return Some(end);
        }
        self.drive(end);
        None
    }

    fn install(&mut self, end: EndpointId, endpoint: Endpoint, opens: bool) {
        if opens {
            self.save_siblings(end);
        }
        let path = self.host_path(end);
        let installed = &mut self.connections[end.connection()].ends[end.side()].endpoint;
        let endpoint = installed.insert(Box::new(endpoint));
        self.tcb_sharing.initialize(self.now, path, endpoint, opens);
        endpoint.set_recording(R::ON);
    }

    /// Puts what the open connections between the same two hosts know into the cache, for a new one.
    fn save_siblings(&mut self, end: EndpointId) {
        let (own, side) = (end.connection(), end.side());
        let flow = self.connections[own].flow;
        if self.flows[flow].tcps[side].plain.interdependence.is_none() {
            return;
        }
        let path = self.host_path(end);
        for sibling in self.connections.ids().filter(|sibling| *sibling != own) {
            let connection = &self.connections[sibling];
            let open = connection.stage == Stage::Open;
            if let Some(endpoint) = connection.ends[side].endpoint.as_ref().filter(|_| open)
                && self.host_path(EndpointId::new(sibling, side)) == path
            {
                self.tcb_sharing.save(self.now, path, endpoint);
            }
        }
    }

    /// A place whose connection is over and counted, or a new one.
    fn free_place(&mut self, flow: FlowId) -> ConnectionId {
        let Some(place) = self.flows[flow].free.pop_front() else { return self.add_place(flow) };
        self.count(place);
        place
    }

    fn add_place(&mut self, flow: FlowId) -> ConnectionId {
        let series = (self.connections.len() + self.gateway.nodes()) as u32;
        let first = &self.connections[ConnectionId::first_of(flow)];
        let egress = PerSide::from_fn(|side| first.ends[side].egress);
        let place = self.connections.push(Connection::new(flow, series, egress, &[]));
        Side::BOTH.iter().for_each(|_| self.schedule.add_endpoint());
        self.flows[flow].places.push(place);
        place
    }

    /// Adds the results of a place's connection to its flow.
    pub(crate) fn count(&mut self, place: ConnectionId) {
        if self.connections[place].stage == Stage::Idle {
            return;
        }
        self.count_beyond(place);
        let hosts = self.hosts_of(place);
        let connection = &mut self.connections[place];
        let milestones = connection.milestones();
        let result = connection.finish();
        let diagnosis = self.flows[connection.flow].add(result, milestones);
        if let Some(ports) = connection.ports.take() {
            self.ports.release(hosts, ports);
        }
        if R::ON {
            self.diagnoses.insert(connection.conversation, diagnosis);
        }
    }

    /// Ports and initial sequence numbers of the flow's next connection, from streams of its own.
    fn draw_identity(&mut self, flow_id: FlowId) -> (Ports, [Seq; 2]) {
        let flow = &self.flows[flow_id];
        let streams = match flow.opened {
            1 => flow.streams.clone(),
            count => flow.streams.below(&format!("connection-{count}")),
        };
        let number = |name| Seq(streams.number(name) as u32);
        let hosts = self.hosts_of(ConnectionId::first_of(flow_id));
        let ports = self.ports.allocate(hosts, &streams, flow.service.port);
        (ports, [number("iss.sender"), number("iss.receiver")])
    }

    /// The two hosts of a connection.
    fn hosts_of(&self, place: ConnectionId) -> [NodeId; 2] {
        let header = self.connections[place].ends[Side::From].egress.header;
        [header.source, header.destination]
    }

    fn send_datagram(&mut self, flow: FlowId, datagram: Datagram, size: Bytes) {
        let place = ConnectionId::first_of(flow);
        let connection = &mut self.connections[place];
        let id = connection.next_packet();
        let Egress { first_hop, header, .. } = connection.ends[datagram.by].egress;
        let to = EndpointId::new(place, datagram.by.other());
        let body = Body::Datagram(datagram);
        let mut packet = self.pool.allocate(id, size.0 as u32, first_hop, (to, header), body);
        if R::ON {
            self.recorder.on_sent(self.now, &mut packet.0, ConversationId::first_of(flow));
        }
        self.arrive(packet);
    }
}
