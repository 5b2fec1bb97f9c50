//! Sockets with options that the standard library does not set. Those of TCP are set before the handshake that
//! announces them.

use std::io;
use std::net::{SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::sockopt::{Ipv4Tos, RcvBuf, RcvBufForce, ReuseAddr, SndBuf, TcpCongestion, TcpMaxSeg};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, connect, listen, setsockopt, socket,
};

/// Socket options; `None` leaves the kernel's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// The congestion control, by the kernel's name for it (TCP_CONGESTION).
    pub congestion: Option<String>,
    /// Whether Nagle's algorithm is off (TCP_NODELAY).
    pub nodelay: bool,
    /// The maximum segment size in bytes (TCP_MAXSEG).
    pub maxseg: Option<u32>,
    /// The traffic class: the precedence in the IP header (IP_TOS).
    pub class: u8,
    /// The send buffer in bytes (SO_SNDBUF; the kernel doubles it for its own bookkeeping).
    pub send_buffer: Option<usize>,
    /// The receive buffer in bytes (SO_RCVBUF; doubled likewise).
    pub receive_buffer: Option<usize>,
}

impl SocketOptions {
    /// Opens a socket bound to `local`, not yet connected. It is a `TcpStream` so that another thread can shut it down
    /// while it connects.
    ///
    /// # Errors
    /// If the kernel refuses an option or the address.
    pub fn open(&self, local: SocketAddrV4) -> io::Result<TcpStream> {
        let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
        self.apply(&socket)?;
        setsockopt(&socket, ReuseAddr, &true)?;
        bind(socket.as_raw_fd(), &SockaddrIn::from(local))?;
        let stream = TcpStream::from(socket);
        stream.set_nodelay(self.nodelay)?;
        Ok(stream)
    }

    /// Opens a listener on `local`. The sockets that it accepts inherit the options.
    ///
    /// # Errors
    /// If the kernel refuses an option or the address.
    pub fn listen(&self, local: SocketAddrV4) -> io::Result<TcpListener> {
        let socket = OwnedFd::from(self.open(local)?);
        listen(&socket, Backlog::new(WAITING_CONNECTIONS)?)?;
        Ok(TcpListener::from(socket))
    }

    /// Opens a socket for datagrams between two ends, which does not block. Of the options it has the class. It does
    /// not fragment: the kernel refuses a datagram that is too long for the device, as a link does in virtual time.
    ///
    /// # Errors
    /// If the kernel refuses an option or an address.
    pub fn open_datagrams(&self, local: SocketAddrV4, remote: SocketAddrV4) -> io::Result<UdpSocket> {
        let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
        self.apply_class(&socket)?;
        set_number(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DO)?;
        // Without the privilege to more, the system's default remains, and datagrams that find no room are counted.
        let _ = setsockopt(&socket, RcvBufForce, &DATAGRAM_BUFFER);
        bind(socket.as_raw_fd(), &SockaddrIn::from(local))?;
        connect(socket.as_raw_fd(), &SockaddrIn::from(remote))?;
        let socket = UdpSocket::from(socket);
        socket.set_nonblocking(true)?;
        Ok(socket)
    }

    fn apply(&self, socket: &OwnedFd) -> io::Result<()> {
        if let Some(name) = &self.congestion {
            setsockopt(socket, TcpCongestion, &name.into())?;
        }
        if let Some(bytes) = &self.maxseg {
            setsockopt(socket, TcpMaxSeg, bytes)?;
        }
        self.apply_class(socket)?;
        if let Some(bytes) = &self.send_buffer {
            setsockopt(socket, SndBuf, bytes)?;
        }
        if let Some(bytes) = &self.receive_buffer {
            setsockopt(socket, RcvBuf, bytes)?;
        }
        Ok(())
    }

    fn apply_class(&self, socket: &OwnedFd) -> io::Result<()> {
        if self.class > 0 {
            setsockopt(socket, Ipv4Tos, &(i32::from(self.class) << wire::ip::v4::PRECEDENCE_SHIFT))?;
        }
        Ok(())
    }
}

/// Returns whether this kernel has a congestion control for the calling process. It loads the module if it may.
#[must_use]
pub fn has_congestion_control(name: &str) -> bool {
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None);
    socket.is_ok_and(|socket| setsockopt(&socket, TcpCongestion, &name.into()).is_ok())
}

/// Connects an open socket. Blocks while the kernel tries, unless the socket does not block.
///
/// # Errors
/// If the connection fails, or is not yet there on a socket that does not block (EINPROGRESS).
pub fn connect_to(stream: &TcpStream, remote: SocketAddrV4) -> io::Result<()> {
    loop {
        match connect(stream.as_raw_fd(), &SockaddrIn::from(remote)) {
            Err(Errno::EINTR) => {}
            result => return Ok(result?),
        }
    }
}

/// Begins to connect a socket that does not block.
///
/// # Errors
/// If the kernel refuses it at once.
pub fn begin_to_connect(stream: &TcpStream, remote: SocketAddrV4) -> io::Result<()> {
    match connect_to(stream, remote) {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        result => result,
    }
}

/// Lets routers fragment the socket's datagrams that are longer than the path's MTU: with "don't fragment" they would
/// be lost.
pub fn allow_fragments(socket: &UdpSocket) {
    // The socket's family has one of the two options, and refuses the other.
    let _ = set_number(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DONT);
    let _ = set_number(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_DONT);
}

/// Enlarges the receive buffer to `bytes`, or as far as the system permits.
pub fn enlarge_receive_buffer(socket: &UdpSocket, bytes: usize) {
    let _ = setsockopt(socket, RcvBufForce, &bytes).or_else(|_| setsockopt(socket, RcvBuf, &bytes));
}

/// Sets an option whose value is a number (ip(7), ipv6(7)).
fn set_number(
    socket: &impl AsRawFd,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the descriptor is open, and the call reads `length` bytes of `value`, which lives until it returns.
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), length) };
    Ok(Errno::result(result).map(drop)?)
}

/// Number of connections that may wait to be accepted: more than a flow opens between two looks.
const WAITING_CONNECTIONS: i32 = 512;
/// The receive buffer of a socket for datagrams: some thousands of them, for the times when its reader has to wait.
const DATAGRAM_BUFFER: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, SocketAddr};

    use super::*;
    use crate::tcp_info::KernelCounts;

    const ANY: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);

    fn v4(address: io::Result<SocketAddr>) -> SocketAddrV4 {
        match address.unwrap() {
            SocketAddr::V4(address) => address,
            SocketAddr::V6(_) => unreachable!("bound to an IPv4 address"),
        }
    }

    #[test]
    fn options_take_effect_before_the_handshake() {
        let options =
            SocketOptions { congestion: Some("reno".into()), maxseg: Some(500), ..Default::default() };
        let listener = options.listen(ANY).unwrap();
        let mut sender = options.open(ANY).unwrap();
        connect_to(&sender, v4(listener.local_addr())).unwrap();
        let mut receiver = listener.accept().unwrap().0;
        sender.write_all(&[7; 300]).unwrap();
        receiver.read_exact(&mut [0; 300]).unwrap();
        let counts = KernelCounts::of(&sender).unwrap();
        assert!((400..=500).contains(&counts.mss), "{counts:?}");
    }

    #[test]
    fn an_unknown_congestion_control_is_refused_by_the_kernel() {
        let options = SocketOptions { congestion: Some("no-such".into()), ..Default::default() };
        assert_eq!(options.open(ANY).unwrap_err().raw_os_error(), Some(libc::ENOENT));
    }

    #[test]
    fn every_kernel_has_reno() {
        assert!(has_congestion_control("reno") && !has_congestion_control("no-such"));
    }

    #[test]
    fn a_connection_that_takes_time_is_begun() {
        let listener = SocketOptions::default().listen(ANY).unwrap();
        let stream = SocketOptions::default().open(ANY).unwrap();
        stream.set_nonblocking(true).unwrap();
        begin_to_connect(&stream, v4(listener.local_addr())).unwrap();
        assert!(listener.accept().is_ok());
    }

    #[test]
    fn a_datagram_that_would_need_fragments_is_refused_unless_they_are_allowed() {
        const LONGER_THAN_THE_LOOPBACKS_MTU: usize = 65_500;
        crate::testing::in_new_network(|| {
            crate::namespace::set_up_loopback().unwrap();
            let socket = crate::route::RouteSocket::open().unwrap();
            socket.shape(crate::route::Interface::loopback().unwrap(), 1_500, 10).unwrap();
            let peer = UdpSocket::bind(ANY).unwrap();
            let sender = SocketOptions::default().open_datagrams(ANY, v4(peer.local_addr())).unwrap();
            let datagram = vec![0; LONGER_THAN_THE_LOOPBACKS_MTU];
            assert_eq!(sender.send(&datagram).unwrap_err().raw_os_error(), Some(libc::EMSGSIZE));
            allow_fragments(&sender);
            assert_eq!(sender.send(&datagram).unwrap(), datagram.len());
        });
    }
}
