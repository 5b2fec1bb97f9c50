//! Sockets with the options of a scenario; those of TCP are set before the handshake that announces them.

use std::io;
use std::net::{SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::sockopt::{Ipv4Tos, RcvBuf, RcvBufForce, ReuseAddr, SndBuf, TcpCongestion, TcpMaxSeg};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, connect, listen, setsockopt, socket,
};

/// Socket options; `None` leaves the kernel's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SocketOptions {
    /// The congestion control, by the kernel's name for it (TCP_CONGESTION).
    pub(crate) congestion: Option<String>,
    /// Whether Nagle's algorithm is off (TCP_NODELAY).
    pub(crate) nodelay: bool,
    /// The maximum segment size in bytes (TCP_MAXSEG).
    pub(crate) maxseg: Option<u32>,
    /// The traffic class: the precedence in the IP header (IP_TOS).
    pub(crate) class: u8,
    /// The send buffer in bytes (SO_SNDBUF; the kernel doubles it for its own bookkeeping).
    pub(crate) send_buffer: Option<usize>,
    /// The receive buffer in bytes (SO_RCVBUF; doubled likewise).
    pub(crate) receive_buffer: Option<usize>,
}

impl SocketOptions {
    /// Opens a socket bound to `local`, not yet connected. It is a `TcpStream` so that [`crate::stop::Stop`] can shut it
    /// down while it connects.
    pub(crate) fn open(&self, local: SocketAddrV4) -> io::Result<TcpStream> {
        let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
        self.apply(&socket)?;
        setsockopt(&socket, ReuseAddr, &true)?;
        bind(socket.as_raw_fd(), &SockaddrIn::from(local))?;
        let stream = TcpStream::from(socket);
        stream.set_nodelay(self.nodelay)?;
        Ok(stream)
    }

    /// Opens a listener on `local`. The sockets that it accepts inherit the options.
    pub(crate) fn listen(&self, local: SocketAddrV4) -> io::Result<TcpListener> {
        let socket = OwnedFd::from(self.open(local)?);
        listen(&socket, Backlog::new(WAITING_CONNECTIONS)?)?;
        Ok(TcpListener::from(socket))
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

    /// Opens a socket for datagrams between two ends, which does not block. Of the options it has the class. It does not
    /// fragment: a datagram that is too long for the device is refused, as a link refuses it in virtual time.
    pub(crate) fn open_datagrams(&self, local: SocketAddrV4, remote: SocketAddrV4) -> io::Result<UdpSocket> {
        let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
        self.apply_class(&socket)?;
        do_not_fragment(&socket)?;
        // Without the right to more, the system's default stays, and what finds no room is counted.
        let _ = setsockopt(&socket, RcvBufForce, &DATAGRAM_BUFFER);
        bind(socket.as_raw_fd(), &SockaddrIn::from(local))?;
        connect(socket.as_raw_fd(), &SockaddrIn::from(remote))?;
        let socket = UdpSocket::from(socket);
        socket.set_nonblocking(true)?;
        Ok(socket)
    }
}

/// Sets the "don't fragment" bit on every packet (IP_MTU_DISCOVER, ip(7)).
fn do_not_fragment(socket: &OwnedFd) -> io::Result<()> {
    let value: libc::c_int = libc::IP_PMTUDISC_DO;
    // SAFETY: the call reads `value`, which lives until it returns, and whose size it is told.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_MTU_DISCOVER,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    Ok(Errno::result(result).map(drop)?)
}

/// Connects an open socket. Blocks as long as the kernel tries.
pub(crate) fn connect_to(stream: &TcpStream, remote: SocketAddrV4) -> io::Result<()> {
    loop {
        match connect(stream.as_raw_fd(), &SockaddrIn::from(remote)) {
            Err(Errno::EINTR) => {}
            result => return Ok(result?),
        }
    }
}

/// The sending kernel's counters of one connection (TCP_INFO).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct KernelCounts {
    /// Data segments sent, retransmissions included (tcpi_data_segs_out).
    pub data_segments: u32,
    /// Segments retransmitted (tcpi_total_retrans).
    pub retransmissions: u32,
    /// Retransmissions that a D-SACK reported as unnecessary (tcpi_dsack_dups).
    pub dsacked: u32,
    /// Retransmission timeouts, where the kernel counts them (tcpi_total_rto, Linux 6.7 and on).
    pub timeouts: Option<u16>,
    /// The maximum segment size in use, in bytes (tcpi_snd_mss).
    pub mss: u32,
    /// The smoothed round-trip time at the end, in microseconds (tcpi_rtt).
    pub srtt_us: u32,
}

/// Reads the kernel's counters of a connection.
pub(crate) fn kernel_counts(stream: &TcpStream) -> io::Result<KernelCounts> {
    let mut info = [0_u8; TCP_INFO_LEN];
    let mut length = TCP_INFO_LEN as libc::socklen_t;
    // SAFETY: `info` is writable for `length` bytes, and the kernel writes no more than that.
    let result = unsafe {
        libc::getsockopt(
            stream.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    Errno::result(result)?;
    Ok(KernelCounts::read(&info[..length as usize]))
}

impl KernelCounts {
    /// Adds the counters of another connection, which is the later one.
    pub(crate) fn add(&mut self, later: Self) {
        self.data_segments += later.data_segments;
        self.retransmissions += later.retransmissions;
        self.dsacked += later.dsacked;
        self.timeouts = match (self.timeouts, later.timeouts) {
            (Some(before), Some(more)) => Some(before.saturating_add(more)),
            (before, more) => before.or(more),
        };
        (self.mss, self.srtt_us) = (later.mss, later.srtt_us);
    }

    /// Reads `struct tcp_info` (Linux, include/uapi/linux/tcp.h), which only ever grows at its end.
    fn read(info: &[u8]) -> Self {
        let word = |at: usize| {
            info.get(at..at + 4).map_or(0, |bytes| u32::from_ne_bytes(bytes.try_into().expect("4")))
        };
        let half =
            |at: usize| info.get(at..at + 2).map(|bytes| u16::from_ne_bytes(bytes.try_into().expect("2")));
        Self {
            data_segments: word(156),
            retransmissions: word(100),
            dsacked: word(216),
            timeouts: half(240),
            mss: word(16),
            srtt_us: word(68),
        }
    }
}

/// Connections that may wait to be accepted: more than a flow opens between two looks.
const WAITING_CONNECTIONS: i32 = 512;
/// The receive buffer of a socket for datagrams: some thousands of them, for the times when its reader has to wait.
const DATAGRAM_BUFFER: usize = 4 << 20;
/// Bytes for `struct tcp_info`: more than current kernels return.
const TCP_INFO_LEN: usize = 512;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, SocketAddr};

    use super::*;

    const ANY: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);

    fn address(listener: &TcpListener) -> SocketAddrV4 {
        match listener.local_addr().unwrap() {
            SocketAddr::V4(address) => address,
            SocketAddr::V6(_) => unreachable!("bound to an IPv4 address"),
        }
    }

    #[test]
    fn the_kernel_counts_what_was_sent() {
        let options =
            SocketOptions { congestion: Some("reno".into()), maxseg: Some(500), ..Default::default() };
        let listener = options.listen(ANY).unwrap();
        let mut sender = options.open(ANY).unwrap();
        connect_to(&sender, address(&listener)).unwrap();
        let mut receiver = listener.accept().unwrap().0;
        sender.write_all(&[7; 300]).unwrap();
        receiver.read_exact(&mut [0; 300]).unwrap();
        let counts = kernel_counts(&sender).unwrap();
        assert_eq!((counts.data_segments, counts.retransmissions, counts.timeouts), (1, 0, Some(0)));
        assert!((400..=500).contains(&counts.mss), "{counts:?}");
    }

    #[test]
    fn an_unknown_congestion_control_is_refused_by_the_kernel() {
        let options = SocketOptions { congestion: Some("no-such".into()), ..Default::default() };
        assert_eq!(options.open(ANY).unwrap_err().raw_os_error(), Some(libc::ENOENT));
    }
}
