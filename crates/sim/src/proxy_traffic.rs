//! The way of packets through proxies.

use proxy::{Action, Event, Heading, Passing, Ticket, Verdict, What};
use tcp::{Kind, Transmit};
use units::{Bytes, Instant, Seq};
use wire::Segment;

use crate::engine::Engine;
use crate::ids::{ConnectionId, ConversationId, EndpointId, FlowId, Id, PerSide, ProxyId, Side};
use crate::packet::{Body, CORRUPTED, IPV4_HEADER_LEN, PacketBox};
use crate::proxies::{AgentNode, Entry, Work};
use crate::record::{ProxyRow, Recorder};
use crate::split::Beyond;

impl<R: Recorder> Engine<R> {
    /// A packet comes to a proxy. What the proxy cannot read passes: datagrams, packets from outside, damaged segments.
    #[inline(never)]
    pub(crate) fn enter_proxy(&mut self, proxy: ProxyId, heading: Heading, mut packet: PacketBox) {
        packet.0.next_hop = packet.0.next_hop.next();
        let end = packet.0.destination;
        let is_ours =
            matches!(packet.0.body, Body::Segment(_)) && self.connections[end.connection()].owns(packet.0.id);
        match &self.proxies.node(proxy).work {
            _ if !is_ours => self.arrive(packet),
            Work::Split(_) => self.enter_relay(end, packet),
            Work::Agent(_) if packet.0.corrupted => self.arrive(packet),
            Work::Agent(_) => self.show_agent(proxy, heading, packet),
        }
    }

    #[inline(never)]
    pub(crate) fn wake_proxy(&mut self, proxy: ProxyId) {
        let now = self.now;
        match &mut self.proxies.node(proxy).work {
            Work::Agent(AgentNode { agent, output, .. }) => {
                agent.handle_timeout(now, output);
                self.carry_out(proxy);
            }
            Work::Split(timers) => {
                let due: Vec<ConnectionId> =
                    timers.iter().take_while(|(at, _)| *at <= now).map(|(_, one)| *one).collect();
                for place in due {
                    if let Some(beyond) = &mut self.connections[place].beyond {
                        beyond.relay.handle_timeout(now);
                        self.drive_relay(place);
                    }
                }
            }
        }
        self.rearm_proxy(proxy);
    }

    fn rearm_proxy(&mut self, proxy: ProxyId) {
        let next = self.proxies.node(proxy).next();
        self.schedule.set_proxy(proxy, next);
    }

    /// An agent looks at a segment.
    fn show_agent(&mut self, proxy: ProxyId, heading: Heading, mut packet: PacketBox) {
        let node = self.proxies.node(proxy);
        let Work::Agent(AgentNode { agent, output, entries }) = &mut node.work else { return };
        let place = packet.0.destination.connection();
        if heading == Heading::In {
            let (next_hop, destination) = (packet.0.next_hop, packet.0.destination);
            let (header, beyond) = (packet.0.header, packet.0.beyond);
            entries.insert(place, Entry { next_hop, destination, header, beyond });
        }
        let passing = Passing { connection: place.index() as u32, heading, segment: packet.0.segment() };
        let verdict = agent.handle_segment(self.now, passing, output);
        self.carry_out(proxy);
        match verdict {
            Verdict::Forward => self.arrive(packet),
            Verdict::ForwardWithoutSack => {
                packet.0.segment_mut().segment.options.sack.clear();
                self.arrive(packet);
            }
            Verdict::Discard => self.discard(packet),
            Verdict::Hold(ticket) => drop(self.proxies.node(proxy).held.insert(ticket, packet)),
        }
        self.rearm_proxy(proxy);
    }

    /// Carries out what an agent wants, and records what it has done.
    fn carry_out(&mut self, proxy: ProxyId) {
        let Work::Agent(AgentNode { output, .. }) = &mut self.proxies.node(proxy).work else { return };
        let actions = std::mem::take(&mut output.actions);
        let events = std::mem::take(&mut output.events);
        for event in events {
            self.record_event(proxy, event);
        }
        for action in actions {
            match action {
                Action::Resend { connection, segment } => {
                    self.resend(proxy, ConnectionId::from_index(connection as usize), segment);
                }
                Action::Release(ticket) => {
                    if let Some(packet) = self.held_by(proxy, ticket) {
                        self.arrive(packet);
                    }
                }
                Action::Drop(ticket) => {
                    if let Some(packet) = self.held_by(proxy, ticket) {
                        self.discard(packet);
                    }
                }
            }
        }
    }

    fn held_by(&mut self, proxy: ProxyId, ticket: Ticket) -> Option<PacketBox> {
        self.proxies.node(proxy).held.remove(&ticket)
    }

    /// A packet ends at a proxy, on purpose.
    fn discard(&mut self, packet: PacketBox) {
        if R::ON {
            self.recorder.on_discarded(&packet.0);
        }
        self.pool.release(packet);
    }

    /// A copy of a segment enters the link: a packet of its own, and no retransmission of the sender's.
    fn resend(&mut self, proxy: ProxyId, place: ConnectionId, segment: Segment) {
        let Work::Agent(AgentNode { entries, .. }) = &self.proxies.node(proxy).work else { return };
        let Some(&Entry { next_hop, destination, header, beyond }) = entries.get(&place) else { return };
        let connection = &mut self.connections[place];
        let id = connection.next_packet();
        connection.on_local_copy(id, &segment, (destination.side(), beyond));
        let conversation = connection.conversation_at(if beyond { Side::To } else { Side::From });
        let size = IPV4_HEADER_LEN + segment.wire_len();
        let body = Body::Segment(Transmit { segment, kind: Kind::Data });
        let mut packet = self.pool.allocate(id, size, next_hop, (destination, header), body);
        packet.0.beyond = beyond;
        packet.0.sent = self.now;
        if R::ON {
            self.recorder.on_resent(&mut packet.0, conversation);
        }
        self.arrive(packet);
    }

    fn record_event(&mut self, proxy: ProxyId, event: Event) {
        if !R::ON {
            return;
        }
        let place = ConnectionId::from_index(event.connection as usize);
        let Work::Agent(AgentNode { entries, .. }) = &self.proxies.node(proxy).work else { return };
        let entry = entries.get(&place);
        let (to, beyond) = entry.map_or((Side::To, false), |entry| (entry.destination.side(), entry.beyond));
        let conversation =
            self.connections[place].conversation_at(if beyond { Side::To } else { Side::From });
        self.recorder.on_proxy_event(ProxyRow {
            proxy,
            conversation,
            side: to.other(),
            position: None,
            event,
        });
    }
}

/// Split connections.
impl<R: Recorder> Engine<R> {
    /// The second connection of a new one, where a proxy splits it. With it the connection has two names in tables.
    pub(crate) fn split(&mut self, flow_id: FlowId, place: ConnectionId) {
        let flow = &self.flows[flow_id];
        let Some(plan) = flow.split.clone() else { return };
        let streams = flow.streams.below("proxy");
        let streams = match flow.opened {
            1 => streams,
            count => streams.below(&format!("connection-{count}")),
        };
        let initial = PerSide::from_fn(|side| {
            Seq(streams.number(if side == Side::From { "iss.sender" } else { "iss.receiver" }) as u32)
        });
        let first = self.connections[place].conversation;
        let second = self.recorder.on_opened(flow_id);
        self.recorder.on_split([first, second], plan.proxy);
        self.connections[place].beyond = Some(Box::new(Beyond::new(&plan, initial, second, R::ON)));
    }

    /// A segment comes to the proxy that ends its connection. `end` is the end for which the proxy stands.
    fn enter_relay(&mut self, end: EndpointId, packet: PacketBox) {
        let place = end.connection();
        let connection = &mut self.connections[place];
        if connection.beyond.is_none() {
            return self.arrive(packet);
        }
        if R::ON {
            self.recorder.on_received(self.now, &packet.0);
        }
        if packet.0.corrupted {
            if !packet.0.copy {
                let leg = (end.side(), packet.0.beyond);
                connection.on_lost(self.now, packet.0.id, packet.0.segment(), leg, CORRUPTED);
            }
            return self.pool.release(packet);
        }
        if let Some(beyond) = &mut connection.beyond {
            self.progress = self.now;
            beyond.relay.handle_segment(self.now, end.side(), packet.0.segment());
        }
        self.pool.release(packet);
        self.drive_relay(place);
    }

    /// Sends what the ends of a relay have to send, and sets its next wake-up.
    fn drive_relay(&mut self, place: ConnectionId) {
        // What is sent may come back at once, to this relay: it is put back after each segment.
        for side in Side::BOTH {
            while let Some(packet) = self.poll_relay(place, side) {
                self.arrivals.push_back(packet);
            }
        }
        self.record_relay(place);
        let Some(beyond) = &mut self.connections[place].beyond else { return };
        let (proxy, due) = (beyond.proxy, beyond.relay.poll_timeout());
        self.proxies.node(proxy).rearm(place, &mut beyond.armed, due);
        self.rearm_proxy(proxy);
    }

    /// The next segment of the end that stands at `side`, in a packet after the proxy on its way to the other side.
    fn poll_relay(&mut self, place: ConnectionId, side: Side) -> Option<PacketBox> {
        let connection = &mut self.connections[place];
        let beyond = connection.beyond.as_mut()?;
        let transmit = self.pool.next_segment();
        transmit.kind = beyond.relay.poll_transmit(self.now, side, &mut transmit.segment)?;
        let (is_second, next_hop) = (side == Side::From, beyond.onwards[side]);
        let conversation = if is_second { beyond.conversation } else { connection.conversation };
        let id = connection.next_packet();
        if let Some(beyond) = connection.beyond.as_mut().filter(|_| is_second) {
            beyond.on_sent(self.now, id, transmit);
        }
        let size = IPV4_HEADER_LEN + transmit.segment.wire_len();
        let header = connection.ends[side].egress.header;
        let mut packet = self.pool.take();
        packet.0.address(id, size, next_hop, (EndpointId::new(place, side.other()), header));
        packet.0.beyond = is_second;
        if R::METERS {
            packet.0.sent = self.now;
        }
        if R::ON {
            self.recorder.on_sent(self.now, &mut packet.0, conversation);
        }
        Some(packet)
    }

    /// Records what the ends of a relay have decided, and what went from one to the other.
    fn record_relay(&mut self, place: ConnectionId) {
        let connection = &mut self.connections[place];
        let names = Side::BOTH.map(|side| connection.conversation_at(side.other()));
        let Some(beyond) = &mut connection.beyond else { return };
        if R::ON {
            for side in Side::BOTH {
                if let Some(end) = beyond.relay.end_mut(side) {
                    self.recorder.on_decisions(names[side as usize], side, end);
                }
            }
        }
        for (side, what, bytes) in beyond.relay.take_notes() {
            beyond.count(what);
            if R::ON {
                // A stream is counted where it comes in: next to the side that sends it.
                let (proxy, conversation) = (beyond.proxy, names[side.other() as usize]);
                let event = relay_event(self.now, (place, side), (what, bytes), beyond);
                // The SYN comes before the first byte.
                let position = Some(beyond.relay.relayed(side).0 as i64 + 1);
                self.recorder.on_proxy_event(ProxyRow { proxy, conversation, side, position, event });
            }
        }
    }

    /// The totals of a split connection that is over, and the verdicts on its second part.
    pub(crate) fn count_beyond(&mut self, place: ConnectionId) {
        let Some(mut beyond) = self.connections[place].beyond.take() else { return };
        self.proxies.node(beyond.proxy).rearm(place, &mut beyond.armed, Instant::NEVER);
        self.rearm_proxy(beyond.proxy);
        self.proxies.add(beyond.proxy, beyond.totals());
        if R::ON {
            let name: ConversationId = beyond.conversation;
            self.diagnoses.insert(name, std::mem::take(&mut beyond.ledger).finish());
        }
    }
}

/// What a relay did with the bytes of the host of `side`.
fn relay_event(
    at: Instant,
    (place, side): (ConnectionId, Side),
    (what, bytes): (What, Bytes),
    beyond: &Beyond,
) -> Event {
    let info = beyond.relay.end(side).map(tcp::Endpoint::info);
    let (srtt, timer) = (info.as_ref().and_then(|info| info.srtt), info.as_ref().map(|info| info.rto));
    let (connection, seq) = (place.index() as u32, Seq::default());
    Event { at, connection, what, seq, len: 0, packets: 0, bytes, srtt, timer }
}
