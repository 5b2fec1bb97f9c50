//! What programs want: connections opened, bytes written, datagrams sent.

use tcp::{Endpoint, Ports};
use units::{Bytes, Seq};

use crate::build::END_PRIORITY;
use crate::connection::{Connection, Stage};
use crate::engine::{End, Engine, Way};
use crate::flow::{Phase, place_of, place_of_line};
use crate::packet::Body;
use crate::record::Recorder;
use crate::workload::{News, Order, Side};

impl<R: Recorder> Engine<R> {
    pub(crate) fn wake_flow(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        if flow.phase == Phase::Waiting {
            flow.phase = Phase::Open;
        }
        flow.program.handle_timeout(self.now);
        self.obey(index);
    }

    pub(crate) fn rearm_flow(&mut self, index: usize) {
        self.queue.set(self.links.len() + index, self.flows[index].program.poll_timeout());
    }

    /// Tells a program its news.
    pub(crate) fn tell(&mut self, index: usize, line: u32, news: News) {
        self.flows[index].program.handle_news(self.now, line, news);
        self.obey(index);
    }

    fn obey(&mut self, index: usize) {
        while let Some(order) = self.flows[index].program.poll_order() {
            self.carry_out(index, order);
        }
        self.rearm_flow(index);
        self.conclude_flow(index);
    }

    fn carry_out(&mut self, index: usize, order: Order) {
        self.progress = self.now;
        match order {
            Order::Open { line, by } => self.open(index, line, by),
            Order::Write { line, side, bytes } => {
                self.at(index, line, side, |connection, endpoint| {
                    connection.write(place_of(side), endpoint, bytes);
                });
            }
            Order::Pour { line } => self.at(index, line, Side::From, Connection::pour),
            Order::Close { line, side } => {
                self.at(index, line, side, |connection, endpoint| {
                    connection.close(place_of(side), endpoint);
                });
            }
            Order::Expect { line, side, position } => self.expect(index, line, side, position),
            Order::Send { size } => self.send_datagram(index, size),
            Order::Report(transfer) => self.flows[index].transfers.push(transfer),
        }
    }

    /// Does something at one side of a line, and sends what comes of it. A line that is over hears
    /// nothing any more.
    fn at(&mut self, index: usize, line: u32, side: Side, act: impl FnOnce(&mut Connection, &mut Endpoint)) {
        let Some(place) = place_of_line(&self.flows[index], &self.connections, line) else { return };
        let end = 2 * place as usize + place_of(side);
        let Some(endpoint) = &mut self.ends[end].endpoint else { return };
        act(&mut self.connections[place as usize], endpoint);
        self.pump(end);
    }

    fn expect(&mut self, index: usize, line: u32, side: Side, position: u64) {
        let Some(place) = place_of_line(&self.flows[index], &self.connections, line) else { return };
        let connection = &mut self.connections[place as usize];
        if connection.expect(place_of(side), position) {
            let news = News::Read { side, position: connection.told(place_of(side)) };
            self.news.push_back((index as u32, line, news));
        }
    }

    /// A connection between the flow's hosts, opened by one side, the other listening.
    fn open(&mut self, index: usize, line: u32, by: Side) {
        let place = self.place_for(index) as usize;
        let conversation = match self.flows[index].opened {
            0 => index as u32,
            _ => self.recorder.on_opened(index as u32),
        };
        self.flows[index].opened += 1;
        self.connections[place].reopen(line, conversation, by);
        let (ports, numbers) = self.names_of(index);
        self.connections[place].ports = Some(ports);
        let opener = place_of(by);
        for side in [1 - opener, opener] {
            let end = 2 * place + side;
            let config = &self.flows[index].tcps[side];
            let endpoint = match side == opener {
                true => Endpoint::connect(config, ports, numbers[0]),
                false => Endpoint::listen(config, ports.remote, numbers[1]),
            };
            self.install(end, endpoint, side == opener);
        }
        self.pump(2 * place + opener);
    }

    fn install(&mut self, end: usize, endpoint: Endpoint, opens: bool) {
        self.ends[end].over = false;
        if opens {
            self.ask_siblings(end);
        }
        let kin = self.kin(end);
        let endpoint = self.ends[end].endpoint.insert(Box::new(endpoint));
        self.kinship.greet(self.now, kin, endpoint);
        endpoint.set_recording(R::ON);
    }

    /// What the open connections between the same two hosts know, a new one may begin with.
    fn ask_siblings(&mut self, end: usize) {
        let flow = self.connections[end / 2].flow as usize;
        if self.flows[flow].tcps[end % 2].plain.interdependence.is_none() {
            return;
        }
        let kin = self.kin(end);
        for sibling in (0..self.ends.len()).filter(|sibling| sibling % 2 == end % 2 && *sibling != end) {
            let open = self.connections[sibling / 2].stage == Stage::Open;
            if let Some(endpoint) = self.ends[sibling].endpoint.as_ref().filter(|_| open)
                && self.kin(sibling) == kin
            {
                self.kinship.learn(self.now, kin, endpoint);
            }
        }
    }

    /// A place whose connection is over and counted, or a new one.
    fn place_for(&mut self, index: usize) -> u32 {
        let Some(place) = self.flows[index].free.pop_front() else { return self.add_place(index) };
        self.count(place as usize);
        place
    }

    fn add_place(&mut self, index: usize) -> u32 {
        let place = self.connections.len() as u32;
        let series = place + self.gateway.nodes() as u32;
        self.connections.push(Connection::new(index as u32, series, &[]));
        for side in 0..2 {
            self.ends.push(End::new(self.ends[2 * index + side].way));
            self.queue.add(END_PRIORITY);
        }
        self.flows[index].places.push(place);
        place
    }

    /// Adds what came of a place's connection to its flow.
    pub(crate) fn count(&mut self, place: usize) {
        if self.connections[place].stage == Stage::Idle {
            return;
        }
        let hosts = self.hosts_of(place);
        let connection = &mut self.connections[place];
        let flow = &mut self.flows[connection.flow as usize];
        let milestones = connection.milestones();
        let result = connection.finish(self.ends[2 * place].endpoint.as_deref());
        let diagnosis = flow.add(result, milestones);
        if let Some(ports) = connection.ports.take() {
            self.used_ports.release(hosts, ports);
        }
        if R::ON {
            self.diagnoses.insert(connection.conversation, diagnosis);
        }
    }

    /// Ports and initial sequence numbers of the flow's next connection, from streams of its own.
    fn names_of(&mut self, index: usize) -> (Ports, [Seq; 2]) {
        let flow = &self.flows[index];
        let streams = match flow.opened {
            1 => flow.streams.clone(),
            count => flow.streams.below(&format!("connection-{count}")),
        };
        let number = |name| Seq(streams.number(name) as u32);
        let hosts = self.hosts_of(index);
        let ports = self.used_ports.draw(hosts, &streams, flow.service.port);
        (ports, [number("iss.sender"), number("iss.receiver")])
    }

    /// The nodes of a place's two hosts.
    fn hosts_of(&self, place: usize) -> [u32; 2] {
        let label = self.ends[2 * place].way.label;
        [label.source, label.target]
    }

    fn send_datagram(&mut self, index: usize, size: Bytes) {
        let end = 2 * index;
        let datagram = self.flows[index].datagrams.send(self.now, size);
        let id = self.connections[index].next_packet();
        let Way { route, first_hop, label } = self.ends[end].way;
        let body = Body::Datagram(datagram);
        let mut parcel = self.boxes.pack(id, size.0 as u32, route, (end as u32 + 1, label), body);
        if R::ON {
            self.recorder.on_sent(self.now, &mut parcel.0, index as u32);
        }
        self.forward(first_hop as usize, parcel);
    }
}
