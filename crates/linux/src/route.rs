//! Interfaces, addresses, routes and routing rules of a network namespace, by rtnetlink(7).

use std::net::Ipv4Addr;

use nix::libc;
use nix::sys::socket::SockProtocol;

use crate::Error;
use crate::netlink::{Attributes, Request, Socket};

/// A route socket of the namespace of the thread that opened it.
#[derive(Debug)]
pub struct RouteSocket(Socket);

/// The index of an interface in its namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface(u32);

impl RouteSocket {
    /// Opens a route socket in this thread's namespace.
    ///
    /// # Errors
    /// If the kernel refuses the socket.
    pub fn open() -> Result<Self, Error> {
        Ok(Self(Socket::open(SockProtocol::NetlinkRoute)?))
    }

    /// Sets an interface up.
    ///
    /// # Errors
    /// If the kernel refuses the request; so for all requests below.
    pub fn up(&self, interface: Interface) -> Result<(), Error> {
        self.0.request(Request::new(libc::RTM_NEWLINK, &link(interface, libc::IFF_UP as u32)))
    }

    /// Sets the MTU, in bytes, and the length of the device's queue, in packets.
    pub fn shape(&self, interface: Interface, mtu: u32, queue: u32) -> Result<(), Error> {
        let attributes = Attributes::default().number(libc::IFLA_MTU, mtu).number(libc::IFLA_TXQLEN, queue);
        self.0.request(Request::new(libc::RTM_NEWLINK, &link(interface, 0)).attributes(&attributes))
    }

    /// Adds an address to an interface, with a prefix of one host.
    pub fn add_address(&self, interface: Interface, address: Ipv4Addr) -> Result<(), Error> {
        self.add_peer_address(interface, address, address)
    }

    /// Adds an address to an interface, and a route to the peer at the other end.
    pub fn add_peer_address(&self, interface: Interface, own: Ipv4Addr, peer: Ipv4Addr) -> Result<(), Error> {
        let attributes = Attributes::default()
            .bytes(libc::IFA_LOCAL, &own.octets())
            .bytes(libc::IFA_ADDRESS, &peer.octets());
        self.create(Request::new(libc::RTM_NEWADDR, &address(interface)).attributes(&attributes))
    }

    /// Adds a default route through an interface.
    pub fn add_default_route(&self, interface: Interface) -> Result<(), Error> {
        self.add_default_route_to(u32::from(libc::RT_TABLE_MAIN), interface)
    }

    /// Adds a default route through an interface to a routing table.
    pub fn add_default_route_to(&self, table: u32, interface: Interface) -> Result<(), Error> {
        let attributes =
            Attributes::default().number(libc::RTA_TABLE, table).number(libc::RTA_OIF, interface.0);
        self.create(Request::new(libc::RTM_NEWROUTE, &DEFAULT_ROUTE).attributes(&attributes))
    }

    /// Adds a rule: packets that come in by an interface take the routes of a table.
    pub fn add_rule(&self, interface: &str, table: u32, priority: u32) -> Result<(), Error> {
        self.create(rule(libc::RTM_NEWRULE, interface, table, priority))
    }

    /// Removes such a rule.
    pub fn remove_rule(&self, interface: &str, table: u32, priority: u32) -> Result<(), Error> {
        self.0.request(rule(libc::RTM_DELRULE, interface, table, priority))
    }

    /// Sends a request to create what must not exist yet.
    fn create(&self, request: Request) -> Result<(), Error> {
        self.0.request(request.flags(libc::NLM_F_CREATE | libc::NLM_F_EXCL))
    }
}

impl Interface {
    /// Returns the interface with this name.
    ///
    /// # Errors
    /// If this thread's namespace has none.
    pub fn named(name: &str) -> Result<Self, Error> {
        Ok(Self(nix::net::if_::if_nametoindex(name)?))
    }

    /// Returns the loopback interface.
    ///
    /// # Errors
    /// If this thread's namespace has none.
    pub fn loopback() -> Result<Self, Error> {
        Self::named("lo")
    }

    /// Returns the index.
    #[must_use]
    pub fn index(self) -> u32 {
        self.0
    }
}

/// `struct ifinfomsg`: family, padding, device type, index, flags, and the flags that change.
fn link(interface: Interface, flags: u32) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[4..8].copy_from_slice(&interface.0.to_ne_bytes());
    bytes[8..12].copy_from_slice(&flags.to_ne_bytes());
    bytes[12..].copy_from_slice(&flags.to_ne_bytes());
    bytes
}

/// `struct ifaddrmsg`: family, prefix length, flags, scope, index.
fn address(interface: Interface) -> [u8; 8] {
    const HOST_PREFIX: u8 = 32;
    let [a, b, c, d] = interface.0.to_ne_bytes();
    [libc::AF_INET as u8, HOST_PREFIX, 0, libc::RT_SCOPE_UNIVERSE, a, b, c, d]
}

/// `struct rtmsg` of a default route: family, lengths of the destination's and the source's prefix, TOS, table (an
/// attribute names it), protocol, scope, type, flags.
const DEFAULT_ROUTE: [u8; 12] = [
    libc::AF_INET as u8,
    0,
    0,
    0,
    libc::RT_TABLE_MAIN,
    libc::RTPROT_STATIC,
    libc::RT_SCOPE_LINK,
    libc::RTN_UNICAST,
    0,
    0,
    0,
    0,
];

/// `struct fib_rule_hdr`: family, prefix lengths, TOS, table, reserved, action, flags; then attributes (Linux,
/// include/uapi/linux/fib_rules.h).
fn rule(kind: u16, interface: &str, table: u32, priority: u32) -> Request {
    const FRA_IIFNAME: u16 = 3;
    const FRA_PRIORITY: u16 = 6;
    const FRA_TABLE: u16 = 15;
    const FR_ACT_TO_TBL: u8 = 1;
    let header = [libc::AF_INET as u8, 0, 0, 0, libc::RT_TABLE_UNSPEC, 0, 0, FR_ACT_TO_TBL, 0, 0, 0, 0];
    let attributes = Attributes::default()
        .text(FRA_IIFNAME, interface)
        .number(FRA_PRIORITY, priority)
        .number(FRA_TABLE, table);
    Request::new(kind, &header).attributes(&attributes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::in_new_network;

    const OWN: Ipv4Addr = Ipv4Addr::new(198, 18, 7, 1);

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        assert!(matches!(Interface::named("no-such-if"), Err(Error::System(_))));
        assert!(Interface::loopback().is_ok());
    }

    #[test]
    fn an_address_of_an_interface_can_be_bound_and_is_added_once() {
        in_new_network(|| {
            let (socket, loopback) = (RouteSocket::open().unwrap(), Interface::loopback().unwrap());
            socket.up(loopback).unwrap();
            assert!(std::net::UdpSocket::bind((OWN, 0)).is_err());
            socket.add_address(loopback, OWN).unwrap();
            assert!(std::net::UdpSocket::bind((OWN, 0)).is_ok());
            let again = socket.add_address(loopback, OWN).unwrap_err();
            assert!(matches!(again, Error::System(error) if error.raw_os_error() == Some(libc::EEXIST)));
        });
    }

    #[test]
    fn a_default_route_and_an_mtu_are_as_the_kernel_reads_them_back() {
        in_new_network(|| {
            let (socket, loopback) = (RouteSocket::open().unwrap(), Interface::loopback().unwrap());
            socket.shape(loopback, 1_400, 77).unwrap();
            socket.up(loopback).unwrap();
            socket.add_default_route(loopback).unwrap();
            let table = std::fs::read_to_string("/proc/thread-self/net/route").unwrap();
            let route = table.lines().nth(1).unwrap();
            assert!(route.starts_with("lo\t00000000\t"), "{route}");
        });
    }

    #[test]
    fn a_rule_is_removed_once() {
        in_new_network(|| {
            let socket = RouteSocket::open().unwrap();
            socket.add_rule("lo", 9_000, 500).unwrap();
            socket.remove_rule("lo", 9_000, 500).unwrap();
            assert!(socket.remove_rule("lo", 9_000, 500).is_err());
        });
    }
}
