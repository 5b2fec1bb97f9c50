//! smoltcp: a TCP for small machines, with CUBIC.
//!
//! Its clock counts microseconds. It has no timestamps here (its generator has no access to the run's time), no SACK
//! scoreboard as a sender, and takes nothing from the host's profile.

use std::collections::VecDeque;

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{self, Device, DeviceCapabilities, Medium};
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::time::Instant as SmolInstant;
use smoltcp::wire::{HardwareAddress, IpCidr, IpEndpoint};
use units::{Duration, Instant};
use wire::{Flags, Payload};
use workload::Ends;

use crate::entry::{Entry, Member, Transport};
use crate::lasthop::read_segment;
use crate::stack::{Phase, Setup, Sockets, Stack, StackSocket};

pub(crate) const ENTRY: Entry = ::registry::Entry::new(
    "smoltcp",
    "smoltcp 0.14, a TCP for small machines: CUBIC, fast retransmit, no SACK as a sender",
    "the crate smoltcp, https://github.com/smoltcp-rs/smoltcp",
)
.with(Member { transport: Transport::Tcp, make: Some(|setup| Box::new(Smoltcp::new(&setup))) });

/// A smoltcp interface with its sockets.
struct Smoltcp {
    interface: Interface,
    device: Wire,
    sockets: SocketSet<'static>,
    open: Sockets<Open>,
    setup: Setup,
    /// Whether a command may have made something to send.
    is_dirty: bool,
    /// Time at which it was last polled.
    polled: Instant,
}

/// A socket, and what was seen of it.
struct Open {
    handle: SocketHandle,
    ends: Ends,
    /// Whether it waits for the SYN of its peer, and listens only then: smoltcp's listeners take whoever comes first.
    awaits_peer: bool,
    phase: Phase,
    /// Whether our stream was ended.
    is_closing: bool,
    last: State,
}

/// The device: packets that came in, and packets to send.
struct Wire {
    mtu: usize,
    received: VecDeque<Vec<u8>>,
    sent: VecDeque<Vec<u8>>,
}

impl Smoltcp {
    fn new(setup: &Setup) -> Self {
        let mut device = Wire { mtu: setup.mtu.0 as usize, received: VecDeque::new(), sent: VecDeque::new() };
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = setup.streams.number("smoltcp");
        let mut interface = Interface::new(config, &mut device, to_smol(Instant::START));
        interface.update_ip_addrs(|addresses| {
            addresses.push(IpCidr::new(setup.address.into(), HOST_PREFIX)).expect("there is room for one");
        });
        let routes = interface.routes_mut();
        routes.add_default_ipv4_route(setup.address).expect("there is room for one");
        let sockets = SocketSet::new(Vec::new());
        Self {
            interface,
            device,
            sockets,
            open: Sockets::default(),
            setup: setup.clone(),
            is_dirty: false,
            polled: Instant::START,
        }
    }

    fn add(&mut self, socket: Socket<'static>, ends: Ends, awaits_peer: bool) -> StackSocket {
        let last = socket.state();
        let handle = self.sockets.add(socket);
        self.is_dirty = true;
        self.open.add(Open { handle, ends, awaits_peer, phase: Phase::Opening, is_closing: false, last })
    }

    /// Lets the socket listen that waits for whoever sent this packet, if it is a SYN.
    fn listen_for(&mut self, packet: &[u8]) {
        let Some((from, segment)) = read_segment(packet, self.setup.address) else { return };
        let is_its = |open: &&mut Open| {
            open.awaits_peer && (open.ends.remote, open.ends.local.port()) == (from, segment.destination_port)
        };
        if segment.flags.contains(Flags::SYN)
            && let Some(open) = self.open.iter_mut().find(is_its)
        {
            open.awaits_peer = false;
            let socket = self.sockets.get_mut::<Socket<'_>>(open.handle);
            socket.listen(IpEndpoint::from(open.ends.local)).expect("a new socket with a port can listen");
        }
    }

    fn socket(&mut self, socket: StackSocket) -> &mut Socket<'static> {
        self.sockets.get_mut(self.open[socket].handle)
    }

    fn poll(&mut self, now: Instant) {
        self.interface.poll(to_smol(now), &mut self.device, &mut self.sockets);
        (self.polled, self.is_dirty) = (now, false);
        let sockets = &mut self.sockets;
        let state = |open: &Open| sockets.get::<Socket<'_>>(open.handle).state();
        for open in self.open.iter_mut().filter(|open| !open.awaits_peer) {
            open.hear(state(open));
        }
        for gone in self.open.drop_released(|open| state(open) == State::Closed) {
            sockets.remove(gone.handle);
        }
    }
}

impl Stack for Smoltcp {
    fn connect(&mut self, _: Instant, ends: Ends) -> StackSocket {
        let mut socket = new_socket();
        let opened = socket.connect(
            self.interface.context(),
            IpEndpoint::from(ends.remote),
            IpEndpoint::from(ends.local),
        );
        opened.expect("a new socket with two addresses and ports can connect");
        self.add(socket, ends, false)
    }

    fn listen(&mut self, ends: Ends) -> StackSocket {
        self.add(new_socket(), ends, true)
    }

    fn write(&mut self, socket: StackSocket, payload: &Payload) -> u32 {
        let socket = self.socket(socket);
        let room = socket.send_capacity() - socket.send_queue();
        let mut bytes = Vec::new();
        payload.slice(0, payload.len().min(room as u32)).write_to(&mut bytes);
        let taken = socket.send_slice(&bytes).unwrap_or(0);
        self.is_dirty |= taken > 0;
        taken as u32
    }

    fn read(&mut self, socket: StackSocket, out: &mut Vec<u8>) -> bool {
        let before = out.len();
        let socket = self.socket(socket);
        let take = |bytes: &mut [u8]| (bytes.len(), bytes.to_vec());
        while socket.can_recv() {
            let Ok(piece) = socket.recv(take) else { break };
            out.extend(piece);
        }
        let ended =
            matches!(socket.state(), State::CloseWait | State::LastAck | State::Closing | State::TimeWait);
        self.is_dirty |= out.len() > before;
        ended
    }

    fn close(&mut self, _: Instant, socket: StackSocket) {
        self.socket(socket).close();
        self.open[socket].is_closing = true;
        self.is_dirty = true;
    }

    fn release(&mut self, _: Instant, socket: StackSocket) {
        if self.open[socket].phase != Phase::Closed {
            self.socket(socket).abort();
        }
        self.open.release(socket);
        self.is_dirty = true;
    }

    fn handle_packet(&mut self, now: Instant, packet: &[u8]) {
        if self.open.iter().any(|open| open.awaits_peer) {
            self.listen_for(packet);
        }
        self.device.received.push_back(packet.to_vec());
        self.poll(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.poll(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        if self.device.sent.is_empty() && self.is_dirty {
            self.poll(now);
        }
        self.device.sent.pop_front()
    }

    fn poll_timeout(&mut self, now: Instant) -> Option<Instant> {
        let due = self.interface.poll_at(to_smol(now.max(self.polled)), &self.sockets)?;
        // It names a time that has passed where it would like to be polled at once. A step of its clock is at once
        // enough, and no endless loop where polling changes nothing.
        Some(from_smol(due).max(self.polled + CLOCK_STEP))
    }

    fn phase(&self, socket: StackSocket) -> Phase {
        self.open[socket].phase
    }
}

impl Open {
    /// Notes a change of the state.
    fn hear(&mut self, state: State) {
        self.phase = match (self.phase, state) {
            (Phase::Closed | Phase::Broken(_), _) => self.phase,
            (_, State::TimeWait) => Phase::Closed,
            (_, State::Closed) if self.last == State::LastAck => Phase::Closed,
            (_, State::Closed) => Phase::Broken("reset by the peer"),
            (_, State::Listen | State::SynSent | State::SynReceived) => Phase::Opening,
            _ => Phase::Open,
        };
        self.last = state;
    }
}

fn new_socket() -> Socket<'static> {
    let buffer = || SocketBuffer::new(vec![0; BUFFER]);
    Socket::new(buffer(), buffer())
}

impl Device for Wire {
    type RxToken<'a> = Received;
    type TxToken<'a> = Outgoing<'a>;

    fn receive(&mut self, _: SmolInstant) -> Option<(Received, Outgoing<'_>)> {
        let packet = self.received.pop_front()?;
        Some((Received(packet), Outgoing(&mut self.sent)))
    }

    fn transmit(&mut self, _: SmolInstant) -> Option<Outgoing<'_>> {
        Some(Outgoing(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        capabilities
    }
}

/// A packet that came in.
struct Received(Vec<u8>);

/// A place for a packet to send.
struct Outgoing<'a>(&'a mut VecDeque<Vec<u8>>);

impl phy::RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl phy::TxToken for Outgoing<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, write: F) -> R {
        let mut packet = vec![0; len];
        let result = write(&mut packet);
        self.0.push_back(packet);
        result
    }
}

fn to_smol(time: Instant) -> SmolInstant {
    SmolInstant::from_micros((time.as_nanos() / CLOCK_STEP.as_nanos()) as i64)
}

fn from_smol(time: SmolInstant) -> Instant {
    Instant::from_nanos(time.total_micros().max(0) as u64 * CLOCK_STEP.as_nanos())
}

/// A step of smoltcp's clock.
const CLOCK_STEP: Duration = Duration::from_micros(1);

/// Size of each buffer of a socket, in bytes, and so the limit of the data in flight. smoltcp leaves it to the user;
/// its examples use 64 KiB.
const BUFFER: usize = 65_535;

/// Prefix length of a single address; all other addresses are reached by the default route.
const HOST_PREFIX: u8 = 32;
