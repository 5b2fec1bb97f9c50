//! Interfaces, addresses and routes of a network namespace, set through rtnetlink(7).
//!
//! A message is a header, a fixed part and attributes, all in the machine's byte order except for addresses. Every
//! request asks for an acknowledgment, which carries the kernel's error number.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, sendto, socket,
};

/// A route socket of the namespace of the thread that opened it.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: OwnedFd,
}

/// The index of an interface in this namespace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interface(u32);

impl Netlink {
    /// Opens a route socket in this thread's namespace.
    pub(crate) fn open() -> io::Result<Self> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkRoute,
        )?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        Ok(Self { socket })
    }

    /// Sets an interface up.
    pub(crate) fn up(&self, interface: Interface) -> io::Result<()> {
        self.request(Message::new(libc::RTM_NEWLINK).link(interface, UP))
    }

    /// Sets the MTU in bytes and the length of the device's queue in packets.
    pub(crate) fn shape(&self, interface: Interface, mtu: u32, queue: u32) -> io::Result<()> {
        let message = Message::new(libc::RTM_NEWLINK)
            .link(interface, 0)
            .attribute(libc::IFLA_MTU, &mtu.to_ne_bytes())
            .attribute(libc::IFLA_TXQLEN, &queue.to_ne_bytes());
        self.request(message)
    }

    /// Gives an interface an address with a prefix of one host.
    pub(crate) fn add_address(&self, interface: Interface, address: Ipv4Addr) -> io::Result<()> {
        let message = Message::new(libc::RTM_NEWADDR)
            .create()
            .address(interface)
            .attribute(libc::IFA_LOCAL, &address.octets())
            .attribute(libc::IFA_ADDRESS, &address.octets());
        self.request(message)
    }

    /// Gives an interface an address, and a route to the one at the other end.
    pub(crate) fn add_peer_address(
        &self,
        interface: Interface,
        own: Ipv4Addr,
        peer: Ipv4Addr,
    ) -> io::Result<()> {
        let message = Message::new(libc::RTM_NEWADDR)
            .create()
            .address(interface)
            .attribute(libc::IFA_LOCAL, &own.octets())
            .attribute(libc::IFA_ADDRESS, &peer.octets());
        self.request(message)
    }

    /// Makes the default route of a table lead through an interface.
    pub(crate) fn add_default_route_of(&self, table: u32, interface: Interface) -> io::Result<()> {
        let message = Message::new(libc::RTM_NEWROUTE)
            .create()
            .route()
            .attribute(libc::RTA_TABLE, &table.to_ne_bytes())
            .attribute(libc::RTA_OIF, &interface.0.to_ne_bytes());
        self.request(message)
    }

    /// Lets what comes in by an interface take the routes of a table.
    pub(crate) fn add_rule(&self, interface: &str, table: u32, priority: u32) -> io::Result<()> {
        self.request(Message::new(libc::RTM_NEWRULE).create().rule(interface, table, priority))
    }

    /// Removes such a rule.
    pub(crate) fn remove_rule(&self, interface: &str, table: u32, priority: u32) -> io::Result<()> {
        self.request(Message::new(libc::RTM_DELRULE).rule(interface, table, priority))
    }

    /// Makes the default route lead through an interface.
    pub(crate) fn add_default_route(&self, interface: Interface) -> io::Result<()> {
        let message = Message::new(libc::RTM_NEWROUTE)
            .create()
            .route()
            .attribute(libc::RTA_OIF, &interface.0.to_ne_bytes());
        self.request(message)
    }

    fn request(&self, message: Message) -> io::Result<()> {
        sendto(self.socket.as_raw_fd(), &message.finish(), &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
        let mut answer = [0; 1024];
        let length = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        acknowledged(&answer[..length])
    }
}

impl Interface {
    /// Returns the interface with this name.
    pub(crate) fn named(name: &str) -> io::Result<Self> {
        Ok(Self(nix::net::if_::if_nametoindex(name)?))
    }

    /// Returns the index.
    pub(crate) fn index(self) -> u32 {
        self.0
    }
}

/// A request under construction.
struct Message {
    kind: u16,
    flags: u16,
    body: Vec<u8>,
}

impl Message {
    fn new(kind: u16) -> Self {
        Self { kind, flags: (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16, body: Vec::new() }
    }

    /// Asks to create the object, which must not exist yet.
    fn create(mut self) -> Self {
        self.flags |= (libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16;
        self
    }

    /// `struct ifinfomsg`: family and padding, device type, index, flags, which flags change.
    fn link(mut self, interface: Interface, flags: u32) -> Self {
        self.body.extend([0; 4]);
        self.body.extend(interface.0.to_ne_bytes());
        self.body.extend(flags.to_ne_bytes());
        self.body.extend(flags.to_ne_bytes());
        self
    }

    /// `struct ifaddrmsg`: family, prefix length, flags, scope, index.
    fn address(mut self, interface: Interface) -> Self {
        self.body.extend([libc::AF_INET as u8, HOST_PREFIX, 0, libc::RT_SCOPE_UNIVERSE]);
        self.body.extend(interface.0.to_ne_bytes());
        self
    }

    /// `struct rtmsg` of a default route: family, prefix lengths, TOS, table, protocol, scope,
    /// type, flags.
    fn route(mut self) -> Self {
        let family = libc::AF_INET as u8;
        let (table, protocol) = (libc::RT_TABLE_MAIN, libc::RTPROT_STATIC);
        self.body.extend([family, 0, 0, 0, table, protocol, libc::RT_SCOPE_LINK, libc::RTN_UNICAST]);
        self.body.extend([0; 4]);
        self
    }

    /// `struct fib_rule_hdr`: family, prefix lengths, TOS, table, reserved, action, flags; then the attributes (Linux,
    /// include/uapi/linux/fib_rules.h).
    fn rule(mut self, interface: &str, table: u32, priority: u32) -> Self {
        const FRA_IIFNAME: u16 = 3;
        const FRA_PRIORITY: u16 = 6;
        const FRA_TABLE: u16 = 15;
        const TO_TABLE: u8 = 1;
        self.body.extend([libc::AF_INET as u8, 0, 0, 0, libc::RT_TABLE_UNSPEC, 0, 0, TO_TABLE, 0, 0, 0, 0]);
        self.attribute(FRA_IIFNAME, &[interface.as_bytes(), &[0]].concat())
            .attribute(FRA_PRIORITY, &priority.to_ne_bytes())
            .attribute(FRA_TABLE, &table.to_ne_bytes())
    }

    /// `struct rtattr`: length and type, then the value, padded to four bytes.
    fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        let length = u16::try_from(4 + value.len()).expect("attributes are short");
        self.body.extend(length.to_ne_bytes());
        self.body.extend(kind.to_ne_bytes());
        self.body.extend(value);
        self.body.resize(self.body.len().next_multiple_of(4), 0);
        self
    }

    /// `struct nlmsghdr`: length, type, flags, sequence and port; then the body.
    fn finish(self) -> Vec<u8> {
        let length = u32::try_from(HEADER_LEN + self.body.len()).expect("messages are short");
        let mut bytes = Vec::with_capacity(length as usize);
        bytes.extend(length.to_ne_bytes());
        bytes.extend(self.kind.to_ne_bytes());
        bytes.extend(self.flags.to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(self.body);
        bytes
    }
}

/// Reads an acknowledgment: after the header is 0 or a negative error number.
fn acknowledged(answer: &[u8]) -> io::Result<()> {
    let number =
        |at: usize| answer.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
    match number(HEADER_LEN) {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(-error)),
        None => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
    }
}

/// Bytes of `struct nlmsghdr`.
const HEADER_LEN: usize = 16;
/// The prefix of one host.
const HOST_PREFIX: u8 = 32;
const UP: u32 = libc::IFF_UP as u32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_to_four_bytes_but_carry_their_true_length() {
        let bytes = Message::new(libc::RTM_NEWLINK).attribute(3, b"lasthop").finish();
        assert_eq!(bytes.len(), HEADER_LEN + 12);
        assert_eq!(bytes[HEADER_LEN..HEADER_LEN + 2], 11_u16.to_ne_bytes());
        assert_eq!(bytes[..4], 28_u32.to_ne_bytes());
    }

    #[test]
    fn an_acknowledgment_carries_the_kernels_error() {
        let mut answer = vec![0; HEADER_LEN];
        answer.extend((-libc::EPERM).to_ne_bytes());
        assert_eq!(acknowledged(&answer).unwrap_err().raw_os_error(), Some(libc::EPERM));
        answer[HEADER_LEN..].fill(0);
        assert!(acknowledged(&answer).is_ok());
        assert!(acknowledged(&answer[..10]).is_err());
    }
}
