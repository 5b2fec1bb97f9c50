//! Two stacks of smoltcp over the links of a scenario: the server sends two megabytes to the client.
//!
//!     cargo run --release -- ../path.toml result
//!     lasthop report result
//!
//! The same scenario and the same seed give the same packets at the same nanosecond.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::error::Error;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use lasthop_network::{HostId, Network};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};

const SIZE: usize = 2_000_000;
const PORT: u16 = 5001;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let scenario = arguments.next().ok_or("usage: smoltcp-over-lasthop SCENARIO [RESULT]")?;
    let mut network = Network::open(scenario, &[], None)?;
    let host = |name: &str| network.host(name).ok_or("no such host");
    let (server, client) = (host("server")?, host("client")?);
    let (server_at, client_at) = (network.address(server), network.address(client));
    let mut nodes = [Node::new(server, server_at), Node::new(client, client_at)];
    nodes[0].socket().listen(PORT)?;
    nodes[1].connect(server_at)?;

    let (mut now, mut left, mut received) = (Duration::ZERO, SIZE, 0);
    while received < SIZE {
        let mut next = network.next_event();
        for node in &mut nodes {
            for packet in node.poll(now) {
                network.send(now, node.host, packet)?;
            }
            left -= node.write(left);
            received += node.read();
            next = next.into_iter().chain(node.timeout(now)).min();
        }
        next = next.into_iter().chain(network.next_event()).min();
        now = next.ok_or("nothing more will happen")?.max(now);
        network.run_until(now)?;
        while let Some(arrival) = network.poll() {
            let node = nodes.iter_mut().find(|node| node.host == arrival.host);
            node.ok_or("a packet for another host")?.device.0.borrow_mut().arrived.push_back(arrival.packet);
        }
    }
    println!("{received} bytes after {:.3} s", now.as_secs_f64());
    if let Some(folder) = arguments.next() {
        network.finish().write(folder)?;
    }
    Ok(())
}

/// A stack with one socket.
struct Node {
    host: HostId,
    is_server: bool,
    interface: Interface,
    device: Wire,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
}

impl Node {
    fn new(host: HostId, address: Ipv4Addr) -> Self {
        let mut device = Wire::default();
        let mut interface = Interface::new(Config::new(HardwareAddress::Ip), &mut device, Instant::ZERO);
        interface.update_ip_addrs(|all| {
            // The whole Internet is on the link: no route is needed.
            all.push(IpCidr::new(IpAddress::Ipv4(address), 0)).expect("there is room for one");
        });
        let mut socket =
            Socket::new(SocketBuffer::new(vec![0; 262_144]), SocketBuffer::new(vec![0; 262_144]));
        socket.set_congestion_control(CongestionControl::Cubic);
        let mut sockets = SocketSet::new(Vec::new());
        let handle = sockets.add(socket);
        Self { host, is_server: true, interface, device, sockets, handle }
    }

    fn socket(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.handle)
    }

    fn connect(&mut self, server: Ipv4Addr) -> Result<(), Box<dyn Error>> {
        self.is_server = false;
        let socket = self.sockets.get_mut::<Socket<'_>>(self.handle);
        Ok(socket.connect(self.interface.context(), (IpAddress::Ipv4(server), PORT), 5000)?)
    }

    /// Handles what has arrived, and returns what is sent now.
    fn poll(&mut self, now: Duration) -> Vec<Vec<u8>> {
        self.interface.poll(instant(now), &mut self.device, &mut self.sockets);
        self.device.0.borrow_mut().sent.drain(..).collect()
    }

    /// Time at which the stack has something to do; at once if what was just written can go out.
    fn timeout(&mut self, now: Duration) -> Option<Duration> {
        let delay = self.interface.poll_delay(instant(now), &self.sockets)?;
        // smoltcp counts in microseconds, and the network in nanoseconds: the next full one, or time stands still.
        Some(now + Duration::from_micros(delay.total_micros().max(1)))
    }

    fn write(&mut self, left: usize) -> usize {
        if !self.is_server {
            return 0;
        }
        let data = vec![0; left.min(65_536)];
        let socket = self.socket();
        if socket.can_send() { socket.send_slice(&data).unwrap_or(0) } else { 0 }
    }

    fn read(&mut self) -> usize {
        let is_client = !self.is_server;
        let socket = self.socket();
        let mut received = 0;
        while is_client && socket.can_recv() {
            received += socket.recv(|bytes| (bytes.len(), bytes.len())).unwrap_or(0);
        }
        received
    }
}

fn instant(now: Duration) -> Instant {
    Instant::from_micros(i64::try_from(now.as_micros()).expect("less than an eon"))
}

/// A device whose wire is the network.
#[derive(Clone, Default)]
struct Wire(Rc<RefCell<Queues>>);

#[derive(Default)]
struct Queues {
    arrived: VecDeque<Vec<u8>>,
    sent: Vec<Vec<u8>>,
}

struct Received(Vec<u8>);
struct Sending(Wire);

impl Device for Wire {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sending;

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        (capabilities.medium, capabilities.max_transmission_unit) = (Medium::Ip, 1500);
        capabilities
    }

    fn receive(&mut self, _: Instant) -> Option<(Received, Sending)> {
        let packet = self.0.borrow_mut().arrived.pop_front()?;
        Some((Received(packet), Sending(self.clone())))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sending> {
        Some(Sending(self.clone()))
    }
}

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl TxToken for Sending {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, write: F) -> R {
        let mut packet = vec![0; len];
        let result = write(&mut packet);
        self.0.0.borrow_mut().sent.push(packet);
        result
    }
}
