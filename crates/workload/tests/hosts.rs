//! Every workload in every place for programs whose packets a test can carry as messages, with a rate and a delay. The
//! smallest place is the `Host` below.

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};

use lasthop_workload::workloads::ENTRIES;
use lasthop_workload::{
    Application, ClientPorts, End, EndEvent, Ending, Ends, HostEvent, HostTable, Key, OutgoingDatagram,
    PortChoice, ProgramHost, ProgramOutcome, Reading, Remains, Runner, RunnerSetup, Socket, SocketCall,
    SocketId,
};
use serde_json::{Value, json};
use units::{Duration, FlowId, Instant, NodeId, PerSide, Side, Streams};
use wire::Payload;

type MakeHost = fn() -> Box<dyn Place>;

/// The places, each with a function that makes one of its hosts. A new place is a line here.
const PLACES: [(&str, MakeHost); 1] = [("memory", || Box::<Host>::default())];

/// A place whose input and output the test carries.
trait Place: ProgramHost {
    /// A message has arrived.
    fn receive(&mut self, message: Message);

    /// Takes out the messages for the other host.
    fn take_sent(&mut self) -> Vec<Message>;
}

/// Something on its way to a host.
enum Message {
    Data { from: SocketAddrV4, to: SocketAddrV4, bytes: Vec<u8>, is_last: bool },
    Datagram(OutgoingDatagram),
}

impl Message {
    /// Bytes that it takes on the line.
    fn len(&self) -> u64 {
        match self {
            Self::Data { bytes, .. } => bytes.len() as u64,
            Self::Datagram(outgoing) => outgoing.size.0,
        }
    }
}

/// An end whose peer is at the other host. It is open from the start: what arrives early waits there.
#[derive(Default)]
struct Pipe {
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    has_closed: bool,
    peer_has_closed: bool,
}

impl Socket for Pipe {
    fn is_open(&self) -> bool {
        true
    }

    fn write(&mut self, payload: &Payload) -> u32 {
        payload.write_to(&mut self.outgoing);
        payload.len()
    }

    fn read(&mut self, out: &mut Vec<u8>) -> Reading {
        out.append(&mut self.incoming);
        if self.peer_has_closed { Reading::Ended } else { Reading::Drained }
    }

    fn close(&mut self) {
        self.has_closed = true;
    }

    fn ending(&self) -> Option<Ending> {
        (self.has_closed && self.peer_has_closed).then_some(Ending::Closed)
    }
}

#[derive(Default)]
struct Host {
    ends: BTreeMap<SocketId, (Ends, End, Pipe)>,
    /// Data that arrived before their connection was opened here.
    early: Vec<Message>,
    events: VecDeque<EndEvent>,
    sent: Vec<Message>,
}

impl Place for Host {
    fn take_sent(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.sent)
    }

    fn receive(&mut self, message: Message) {
        match message {
            Message::Datagram(OutgoingDatagram { number, size, .. }) => {
                self.events.push_back(EndEvent::Datagram { number, size });
            }
            Message::Data { from, to, bytes, is_last } => {
                let is_its = |ends: &Ends| (ends.local, ends.remote) == (to, from);
                let Some((socket, (_, _, pipe))) = self.ends.iter_mut().find(|(_, (ends, ..))| is_its(ends))
                else {
                    return self.early.push(Message::Data { from, to, bytes, is_last });
                };
                let socket = *socket;
                pipe.incoming.extend(bytes);
                pipe.peer_has_closed |= is_last;
                self.advance(socket);
            }
        }
    }
}

impl Host {
    fn advance(&mut self, socket: SocketId) {
        let Some((ends, end, pipe)) = self.ends.get_mut(&socket) else { return };
        let had_closed = pipe.has_closed;
        let advance = end.advance(pipe).expect("memory keeps bytes");
        let read = advance.read.map(|position| EndEvent::Read { socket, position });
        let over = advance.over.map(|ending| EndEvent::Over { socket, broken: ending.broken() });
        self.events.extend(read.into_iter().chain(over));
        let (bytes, is_last) = (std::mem::take(&mut pipe.outgoing), pipe.has_closed && !had_closed);
        if !bytes.is_empty() || is_last {
            self.sent.push(Message::Data { from: ends.local, to: ends.remote, bytes, is_last });
        }
    }
}

impl ProgramHost for Host {
    fn open(&mut self, _: Instant, Key { socket, .. }: Key, ends: Ends, _: bool) {
        self.ends.insert(socket, (ends, End::default(), Pipe::default()));
        std::mem::take(&mut self.early).into_iter().for_each(|message| self.receive(message));
    }

    fn call(&mut self, _: Instant, Key { socket, .. }: Key, call: SocketCall) {
        if let Some((_, end, _)) = self.ends.get_mut(&socket) {
            end.call(call);
        }
        self.advance(socket);
    }

    fn remove(&mut self, _: Instant, Key { socket, .. }: Key) -> Remains {
        let read = self.ends.remove(&socket).map_or(0, |(_, end, _)| end.read());
        Remains { read, ..Remains::default() }
    }

    fn send_datagram(&mut self, _: FlowId, outgoing: OutgoingDatagram) {
        self.sent.push(Message::Datagram(outgoing));
    }

    fn poll_event(&mut self, now: Instant, _: &dyn Fn(FlowId) -> bool) -> Option<HostEvent> {
        let event = self.events.pop_front()?;
        Some(HostEvent { at: now, late_by: Duration::ZERO, flow: FlowId::new(0), event })
    }
}

/// The hosts of nodes 0 and 1.
struct Hosts([Box<dyn Place>; 2]);

impl HostTable for Hosts {
    fn host(&mut self, node: NodeId) -> Option<&mut dyn ProgramHost> {
        self.0.get_mut(node.index()).map(|host| &mut **host as &mut dyn ProgramHost)
    }
}

fn runner(workload: Value) -> Runner {
    let application: Application = serde_json::from_value(workload).expect("a workload that the test means");
    let until = Instant::START + Duration::from_secs(2);
    let program = application.program(&Streams::new(1).below("flow.f"), Instant::START, until);
    let end = |last, port| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, last), port);
    let setup = RunnerSetup {
        flow: FlowId::new(0),
        nodes: PerSide::new(NodeId::new(0), NodeId::new(1)),
        ends: PerSide::new(end(1, 20_001), end(2, 5_001)),
        ports: PortChoice::Next(ClientPorts::after(1).into()),
        feedback: application.service().feedback,
        is_split: false,
    };
    Runner::new(program, setup)
}

/// Runs a workload to its end, in virtual time.
fn outcome(workload: Value, host: fn() -> Box<dyn Place>) -> ProgramOutcome {
    let (mut runner, mut hosts) = (runner(workload), Hosts([host(), host()]));
    let mut under_way: BTreeMap<(Instant, u64), (usize, Message)> = BTreeMap::new();
    let (mut now, mut free_at, mut count) = (Instant::START, [Instant::START; 2], 0);
    while !runner.is_done(&|_| under_way.is_empty()) {
        let arrival = under_way.first_key_value().map_or(Instant::NEVER, |((at, _), _)| *at);
        now = runner.poll_timeout().min(arrival).max(now);
        assert!(now < Instant::START + Duration::from_secs(60), "it does not end: {runner:?}");
        while let Some(first) = under_way.first_entry().filter(|first| first.key().0 <= now) {
            let (node, message) = first.remove();
            hosts.0[node].receive(message);
        }
        runner.advance(now, &mut hosts);
        for node in [0, 1] {
            for message in hosts.0[node].take_sent() {
                free_at[node] = free_at[node].max(now) + BYTE * message.len();
                under_way.insert((free_at[node] + DELAY, count), (1 - node, message));
                count += 1;
            }
        }
    }
    runner.finish(now, &mut hosts)
}

#[test]
fn every_workload_runs_to_its_end_in_every_place() {
    let line = json!({ "rate": "10 Mbit/s", "mtu": "1500 bytes", "framing": "0 bytes" });
    for (entry, (place, host)) in ENTRIES.iter().flat_map(|entry| PLACES.map(|place| (entry, place))) {
        let example = format!("workload = {}", entry.example());
        let read: BTreeMap<String, Value> = toml::from_str(&example).expect(entry.id);
        let mut workload = read["workload"].clone();
        if entry.id == "background" {
            workload["background"]["lines"] = json!([line, line]);
        }
        let (outcome, what) = (outcome(workload, host), format!("{} in {place}", entry.id));
        assert!(outcome.is_done && outcome.all_closed && outcome.broken.is_none(), "{what}: {outcome:?}");
        assert_eq!(outcome.log.outstanding(), 0, "{what}");
        let count = outcome.log.transfers().len() + outcome.log.arrived().len() + outcome.received as usize;
        assert!(count > 0, "{what}: {outcome:?}");
        assert_eq!(outcome.woken_late_by, Duration::ZERO, "{what}");
    }
}

#[test]
fn a_page_takes_a_round_trip_and_the_time_of_its_bytes_and_the_user_opens_its_connection() {
    let web = json!({ "web": { "think": "100 ms", "size": "10 kB" } });
    let outcome = outcome(web, || Box::<Host>::default());
    let pages = outcome.log.transfers();
    assert!(pages.len() > 5, "{outcome:?}");
    let time = DELAY * 2 + BYTE * (300 + 10_000);
    assert!(pages.iter().all(|page| page.end - page.start == time), "{pages:?}");
    assert!(outcome.connections.iter().all(|one| one.opener == Side::To));
    assert_eq!(outcome.received, 10_000 * pages.len() as u64);
}

/// The time that a byte takes to send: 8 Mbit/s.
const BYTE: Duration = Duration::from_micros(1);
/// From one host to the other.
const DELAY: Duration = Duration::from_millis(10);
