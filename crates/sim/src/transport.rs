//! The ends of connections: what comes in, what goes out, and what their programs hear of it.

use tcp::{Endpoint, Event};
use units::{Bytes, PacketId};
use wire::Segment;

use crate::build::IPV4_HEADER_LEN;
use crate::connection::Stage;
use crate::datagrams::Datagram;
use crate::engine::{Engine, Way, sends};
use crate::flow::{Phase, side_at};
use crate::kinship::Kin;
use crate::packet::Parcel;
use crate::record::Recorder;
use crate::workload::News;
use crate::world::{RunError, Stop};
use units::Instant;

impl<R: Recorder> Engine<R> {
    pub(crate) fn receive(&mut self, packet: PacketId, end: usize, segment: &Segment) {
        // It may be for a connection that had the place before.
        let ours = self.connections[end / 2].owns(packet);
        let Some(mut endpoint) = self.ends[end].endpoint.take_if(|_| ours) else { return };
        self.progress = self.now;
        endpoint.handle_segment(self.now, segment);
        if sends(end) {
            self.connections[end / 2].on_acknowledged(self.now, &endpoint);
        }
        self.pump_out(end, endpoint);
    }

    /// A datagram has come to its end, whole if its size is told.
    pub(crate) fn receive_datagram(&mut self, index: usize, datagram: Datagram, size: Option<Bytes>) {
        self.progress = self.now;
        let flow = &mut self.flows[index];
        match size {
            Some(size) => {
                let delay = flow.datagrams.on_received(self.now, datagram, size);
                delay.into_iter().for_each(|delay| flow.one_way.add(delay));
            }
            None => flow.datagrams.on_lost(datagram),
        }
        self.conclude_flow(index);
    }

    /// Takes from an endpoint all that it has to say: bytes and news for the program, segments, and
    /// when to wake it.
    pub(crate) fn pump(&mut self, end: usize) {
        if let Some(endpoint) = self.ends[end].endpoint.take() {
            self.pump_out(end, endpoint);
        }
    }

    /// The same for an endpoint that is out of its place, into which it then goes back.
    #[inline(always)]
    fn pump_out(&mut self, end: usize, mut endpoint: Box<Endpoint>) {
        self.read_all(end, &mut endpoint);
        while let Some(event) = endpoint.poll_event() {
            self.on_event(end, &mut endpoint, event);
        }
        self.send_all(end, &mut endpoint);
        let due = endpoint.poll_timeout().unwrap_or(Instant::NEVER);
        self.queue.set_at_latest(self.component_of(end), due);
        if R::ON {
            self.recorder.on_decisions(self.connections[end / 2].conversation, end, &mut endpoint);
        }
        self.ends[end].endpoint = Some(endpoint);
    }

    /// The reading program reads at once whatever there is.
    #[inline(always)]
    fn read_all(&mut self, end: usize, endpoint: &mut Endpoint) {
        let connection = &mut self.connections[end / 2];
        while let Some(payload) = endpoint.read() {
            match connection.on_read(end % 2, &payload) {
                Ok(false) => {}
                Ok(true) => {
                    let news = News::Read { side: side_at(end), position: connection.told(end % 2) };
                    self.news.push_back((connection.flow, connection.line, news));
                }
                Err(position) => {
                    let flow = self.flows[connection.flow as usize].name.clone();
                    self.failure.get_or_insert(RunError::Integrity { flow, position, at: self.now });
                }
            }
        }
    }

    fn on_event(&mut self, end: usize, endpoint: &mut Endpoint, event: Event) {
        let connection = &mut self.connections[end / 2];
        match event {
            Event::Connected => connection.on_connected(end % 2, endpoint),
            Event::PeerClosed => {
                if !sends(end) {
                    connection.on_end_of_stream();
                }
                // A program that has read to the end of the stream has no more to say.
                connection.close(end % 2, endpoint);
            }
            Event::Closed | Event::Reset(_) => self.end_is_over(end, endpoint, event),
            _ => {}
        }
    }

    /// An end has done its part. A reset end that opened the connection has nobody left to speak with,
    /// whether or not the other ever hears of it.
    #[cold]
    fn end_is_over(&mut self, end: usize, endpoint: &Endpoint, event: Event) {
        self.ends[end].over = true;
        self.kinship.learn(self.now, self.kin(end), endpoint);
        let connection = &mut self.connections[end / 2];
        let reset = matches!(event, Event::Reset(_)) && connection.dies_with(end % 2);
        if connection.stage == Stage::Open && (reset || self.ends[end ^ 1].over) {
            connection.stage = Stage::Over;
            let (flow, line) = (connection.flow, connection.line);
            self.flows[flow as usize].free.push_back((end / 2) as u32);
            self.news.push_back((flow, line, News::Over));
        }
    }

    /// A flow may have nothing more to do.
    pub(crate) fn conclude_flow(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        if flow.phase == Phase::Open && flow.is_done() {
            flow.phase = Phase::Over;
            self.open_flows -= 1;
            if self.open_flows == 0 {
                self.stopped.get_or_insert(Stop::FlowsOver);
            }
        }
    }

    /// Sends as long as there is something and the first link takes it; otherwise the end queues up for that.
    #[inline(always)]
    fn send_all(&mut self, end: usize, endpoint: &mut Endpoint) {
        let first_hop = self.ends[end].way.first_hop as usize;
        loop {
            let direction = &mut self.links[first_hop];
            if !direction.accepts() {
                if !std::mem::replace(&mut self.ends[end].waiting, true) {
                    direction.waiting.push_back(end as u32);
                }
                return;
            }
            self.connections[end / 2].feed(end % 2, endpoint);
            let mut parcel = self.boxes.take();
            let slot = parcel.0.segment_slot();
            let Some(kind) = endpoint.poll_transmit_into(self.now, &mut slot.segment) else {
                return self.boxes.put_back(parcel);
            };
            slot.kind = kind;
            self.send(end, parcel);
        }
    }

    /// Sends the segment that was written into `parcel`.
    fn send(&mut self, end: usize, mut parcel: Parcel) {
        let transmit = parcel.0.segment_slot();
        let connection = &mut self.connections[end / 2];
        let id = connection.next_packet();
        if sends(end) {
            connection.on_sent(self.now, id, transmit);
        }
        let size = IPV4_HEADER_LEN + transmit.segment.wire_len();
        if !sends(end) {
            connection.on_acknowledging(size);
        }
        let Way { route, first_hop, label } = self.ends[end].way;
        let peer = end as u32 ^ 1;
        parcel.0.begin(id, size, route, (peer, label));
        if R::METERS {
            parcel.0.sent = self.now;
        }
        if R::ON {
            self.recorder.on_sent(self.now, &mut parcel.0, connection.conversation);
        }
        self.forward(first_hop as usize, parcel);
    }

    /// Who an end is to the other connections of its host.
    pub(crate) fn kin(&self, end: usize) -> Kin {
        let Way { first_hop, label, .. } = self.ends[end].way;
        Kin { node: label.source, interface: first_hop, peer: label.target }
    }
}
