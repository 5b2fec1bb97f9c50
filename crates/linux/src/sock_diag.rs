//! The TCP connections of a network namespace with their `tcp_info`, by sock_diag(7).

use std::net::{Ipv4Addr, SocketAddrV4};

use nix::libc;
use nix::sys::socket::SockProtocol;

use crate::Error;
use crate::netlink::{Request, Socket, attributes, objects};
use crate::tcp_info::TcpInfo;

/// A socket that lists the connections of the namespace in which it was opened.
#[derive(Debug)]
pub struct SockDiag(Socket);

/// A TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The end of the socket that was found, then the other.
    pub ends: [SocketAddrV4; 2],
    /// The kernel's state of it.
    pub info: TcpInfo,
}

impl SockDiag {
    /// Opens a socket in this thread's namespace.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn open() -> Result<Self, Error> {
        Ok(Self(Socket::open(SockProtocol::NetlinkSockDiag)?))
    }

    /// Lists the IPv4 connections that have a peer and are neither closed nor in TIME-WAIT.
    ///
    /// # Errors
    /// If the kernel refuses the request.
    pub fn connections(&self) -> Result<Vec<Connection>, Error> {
        let mut connections = Vec::new();
        let request = Request::new(SOCK_DIAG_BY_FAMILY, &tcp_with_peer());
        self.0.dump(request, |message| connections.extend(connection(message.body)))?;
        Ok(connections)
    }
}

/// Reads the connections of a part of the kernel's answer.
///
/// # Errors
/// If the part says that the kernel refused the request, or ends within a message.
pub fn connections_in(part: &[u8]) -> Result<Vec<Connection>, Error> {
    let mut connections = Vec::new();
    objects(part, |message| connections.extend(connection(message.body)))?;
    Ok(connections)
}

/// `struct inet_diag_req_v2`: family, protocol, extensions, padding, states, and an empty `struct inet_diag_sockid`.
fn tcp_with_peer() -> [u8; 56] {
    let mut bytes = [0; 56];
    bytes[..3].copy_from_slice(&[libc::AF_INET as u8, libc::IPPROTO_TCP as u8, 1 << (INET_DIAG_INFO - 1)]);
    bytes[4..8].copy_from_slice(&STATES_WITH_PEER.to_ne_bytes());
    bytes
}

/// Reads `struct inet_diag_msg` and its attributes; none if the kernel sent no `struct tcp_info`.
fn connection(message: &[u8]) -> Option<Connection> {
    const PORTS: usize = 4;
    const ADDRESSES: usize = 8;
    const LEN: usize = 72;
    let port = |at: usize| Some(u16::from_be_bytes(*message.get(at..)?.first_chunk()?));
    let address = |at: usize| Some(Ipv4Addr::from(*message.get(at..)?.first_chunk::<4>()?));
    let own = SocketAddrV4::new(address(ADDRESSES)?, port(PORTS)?);
    let peer = SocketAddrV4::new(address(ADDRESSES + 16)?, port(PORTS + 2)?);
    let (_, info) = attributes(message.get(LEN..)?).find(|(kind, _)| *kind == u16::from(INET_DIAG_INFO))?;
    Some(Connection { ends: [own, peer], info: TcpInfo::read(info) })
}

/// The type of a request (Linux, include/uapi/linux/sock_diag.h).
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// The extension, and the attribute, with `struct tcp_info` (Linux, include/uapi/linux/inet_diag.h).
const INET_DIAG_INFO: u8 = 2;
/// The states (include/net/tcp_states.h) of connections with a peer: ESTABLISHED, SYN_SENT, FIN_WAIT1, FIN_WAIT2,
/// CLOSE_WAIT, LAST_ACK, CLOSING.
const STATES_WITH_PEER: u32 = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_of_this_namespace_is_found_with_its_window() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let own = stream.local_addr().unwrap();
        let found = SockDiag::open().unwrap().connections().unwrap();
        let connection = found.into_iter().find(|one| own == one.ends[0].into()).expect("it is open");
        assert_eq!(listener.local_addr().unwrap(), connection.ends[1].into());
        let info = connection.info;
        assert!(info.cwnd > 0 && info.mss > 0 && info.ssthresh.is_none(), "{info:?}");
    }

    #[test]
    fn a_message_without_tcp_info_is_no_connection() {
        assert_eq!(connection(&[0; 72]), None);
        assert_eq!(connection(&[0; 10]), None);
    }
}
