//! quinn-proto, with its own TLS, over the links of a scenario: the server sends two megabytes to the client.
//!
//!     cargo run --release -- ../path.toml result
//!     lasthop report result
//!
//! quinn-proto takes the time as `std::time::Instant`: it gets one moment plus the time of the network, so that hours
//! of virtual time take seconds. The keys of TLS are random, so that runs differ in the bytes of packets, not in their
//! sizes.

use std::error::Error;
use std::net::{SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use lasthop_network::{Arrival, Datagram, Network};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig,
    Event, ReadError, ServerConfig, StreamEvent, StreamId, Transmit,
};

const SIZE: usize = 2_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let scenario = arguments.next().ok_or("usage: quinn-over-lasthop SCENARIO [RESULT]")?;
    let mut network = Network::open(scenario, &[], None)?;
    let address = |name: &str| network.host(name).map(|host| network.address(host)).ok_or("no such host");
    let server_at = SocketAddrV4::new(address("server")?, 4433);
    let client_at = SocketAddrV4::new(address("client")?, 5000);
    let clock = Clock(Instant::now());

    let (server_config, client_config) = configurations()?;
    let mut server = Node::new(server_at, Some(server_config));
    let mut client = Node::new(client_at, None);
    client.connect(clock.at(Duration::ZERO), client_config, server_at)?;

    let mut now = Duration::ZERO;
    while !client.is_done {
        for node in [&mut server, &mut client] {
            for datagram in node.datagrams(clock.at(now)) {
                network.send_datagram(now, &datagram)?;
            }
        }
        let timers = [&mut server, &mut client].into_iter().filter_map(|node| node.timeout());
        let next = timers.map(|at| clock.since_start(at)).chain(network.next_event()).min();
        now = next.ok_or("nothing more will happen")?.max(now);
        network.run_until(now)?;
        if network.is_over() {
            return Err("the scenario stopped before the transfer ended".into());
        }
        while let Some(arrival) = network.poll() {
            let node =
                if network.address(arrival.host) == *server_at.ip() { &mut server } else { &mut client };
            node.receive(clock.at(now), &arrival);
        }
        for node in [&mut server, &mut client] {
            node.wake(clock.at(now));
        }
    }
    println!("{} bytes after {:.3} s", client.received, now.as_secs_f64());
    if let Some(folder) = arguments.next() {
        network.finish().write(folder)?;
    }
    Ok(())
}

/// The moment from which the network's time counts.
struct Clock(Instant);

impl Clock {
    fn at(&self, since_start: Duration) -> Instant {
        self.0 + since_start
    }

    fn since_start(&self, at: Instant) -> Duration {
        at - self.0
    }
}

/// An endpoint with one connection.
struct Node {
    address: SocketAddrV4,
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// Datagrams of the endpoint itself, such as a refusal.
    answers: Vec<Datagram>,
    /// The server's stream, and the bytes that it still has to take.
    sending: Option<(StreamId, usize)>,
    received: usize,
    is_done: bool,
}

impl Node {
    fn new(address: SocketAddrV4, server: Option<ServerConfig>) -> Self {
        let endpoint =
            Endpoint::new(Arc::new(EndpointConfig::default()), server.map(Arc::new), true, Some([7; 32]));
        let (connection, answers, sending) = (None, Vec::new(), None);
        Self { address, endpoint, connection, answers, sending, received: 0, is_done: false }
    }

    fn connect(
        &mut self,
        now: Instant,
        config: ClientConfig,
        to: SocketAddrV4,
    ) -> Result<(), Box<dyn Error>> {
        self.connection = Some(self.endpoint.connect(now, config, SocketAddr::V4(to), "localhost")?);
        Ok(())
    }

    fn receive(&mut self, now: Instant, arrival: &Arrival) {
        let Some(datagram) = arrival.datagram() else { return };
        let (from, ecn) = (SocketAddr::V4(datagram.from), EcnCodepoint::from_bits(datagram.ecn));
        let mut answer = Vec::new();
        match self.endpoint.handle(now, from, None, ecn, BytesMut::from(&datagram.payload[..]), &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.connection = self.endpoint.accept(incoming, now, &mut answer, None).ok();
            }
            Some(DatagramEvent::Response(transmit)) => {
                let datagram = self.datagram(&transmit, answer);
                self.answers.push(datagram);
            }
            None => {}
        }
        self.progress();
    }

    fn wake(&mut self, now: Instant) {
        if let Some((_, connection)) = &mut self.connection
            && connection.poll_timeout().is_some_and(|at| at <= now)
        {
            connection.handle_timeout(now);
        }
        self.progress();
    }

    fn timeout(&mut self) -> Option<Instant> {
        self.connection.as_mut()?.1.poll_timeout()
    }

    /// What the endpoint and its connection send now.
    fn datagrams(&mut self, now: Instant) -> Vec<Datagram> {
        let mut found = std::mem::take(&mut self.answers);
        while let Some((_, connection)) = &mut self.connection {
            let mut bytes = Vec::new();
            let Some(transmit) = connection.poll_transmit(now, 1, &mut bytes) else { break };
            found.push(self.datagram(&transmit, bytes));
        }
        self.progress();
        found
    }

    fn datagram(&self, transmit: &Transmit, mut payload: Vec<u8>) -> Datagram {
        payload.truncate(transmit.size);
        let SocketAddr::V4(to) = transmit.destination else { unreachable!("all addresses are of IPv4") };
        Datagram { from: self.address, to, ecn: transmit.ecn.map_or(0, |ecn| ecn as u8), payload }
    }

    /// Carries events between endpoint and connection, writes what the stream takes, and reads what came.
    fn progress(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        loop {
            if let Some(event) = connection.poll_endpoint_events() {
                if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(answer);
                }
            } else if let Some(event) = connection.poll() {
                match event {
                    Event::Connected if connection.side().is_server() => {
                        self.sending = connection.streams().open(Dir::Uni).map(|stream| (stream, SIZE));
                    }
                    Event::Stream(StreamEvent::Opened { dir: Dir::Uni } | StreamEvent::Readable { .. }) => {}
                    Event::ConnectionLost { reason } => panic!("{}: {reason}", self.address),
                    _ => {}
                }
            } else {
                break;
            }
        }
        if let Some((stream, left)) = &mut self.sending {
            while *left > 0
                && let Ok(taken) = connection.send_stream(*stream).write(&[0; 65_536][..(*left).min(65_536)])
            {
                *left -= taken;
            }
            if *left == 0 && connection.send_stream(*stream).finish().is_ok() {
                self.sending = None;
            }
        }
        if connection.side().is_client() {
            self.received += read(connection, &mut self.is_done);
        }
    }
}

/// Reads what the peer's stream has, and returns the number of bytes.
fn read(connection: &mut Connection, is_done: &mut bool) -> usize {
    while connection.streams().accept(Dir::Uni).is_some() {}
    // The first stream that a server opens has this number.
    let stream = StreamId::new(quinn_proto::Side::Server, Dir::Uni, 0);
    let mut receiving = connection.recv_stream(stream);
    let Ok(mut chunks) = receiving.read(true) else { return 0 };
    let mut bytes = 0;
    loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => bytes += chunk.bytes.len(),
            Ok(None) => {
                *is_done = true;
                break;
            }
            Err(ReadError::Blocked | ReadError::Reset(_)) => break,
        }
    }
    let _ = chunks.finalize();
    bytes
}

/// A server with a certificate of its own, and a client that trusts it.
fn configurations() -> Result<(ServerConfig, ClientConfig), Box<dyn Error>> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()])?;
    let certificate = made.cert.der().clone();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let server = ServerConfig::with_single_cert(vec![certificate.clone()], key.into())?;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate)?;
    Ok((server, ClientConfig::with_root_certificates(Arc::new(roots))?))
}
