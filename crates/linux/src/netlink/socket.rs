//! A netlink socket, which belongs to the network namespace of the thread that opened it.

use std::os::fd::{AsRawFd, OwnedFd};

use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, sendto, socket,
};

use super::message::{Answer, Message, Request, messages, objects};
use crate::Error;

/// A netlink socket.
#[derive(Debug)]
pub(crate) struct Socket(OwnedFd);

impl Socket {
    /// Opens a socket of a netlink family.
    pub(crate) fn open(family: SockProtocol) -> Result<Self, Error> {
        let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, family)?;
        bind(socket.as_raw_fd(), &kernel())?;
        Ok(Self(socket))
    }

    /// Sends a request and waits until the kernel has carried it out.
    pub(crate) fn request(&self, request: Request) -> Result<(), Error> {
        self.send(&request.flags(libc::NLM_F_ACK).to_bytes())?;
        self.read_acknowledgment()
    }

    /// Sends messages.
    pub(crate) fn send(&self, messages: &[u8]) -> Result<(), Error> {
        sendto(self.0.as_raw_fd(), messages, &kernel(), MsgFlags::empty())?;
        Ok(())
    }

    /// Reads the acknowledgment of a request that was sent. The kernel carries out a request within the call that sends
    /// it, so the acknowledgment is there already.
    pub(crate) fn read_acknowledgment(&self) -> Result<(), Error> {
        let mut buffer = [0; 4096];
        let length = recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT)?;
        match messages(&buffer[..length]).next().ok_or(Error::Truncated)?.answer()? {
            Answer::Done => Ok(()),
            Answer::Refused(error) => Err(error.into()),
            Answer::Object(_) => Err(Error::UnexpectedAnswer),
        }
    }

    /// Sends a request that asks for a list (NLM_F_DUMP), and calls `each` with every object of it.
    pub(crate) fn dump(&self, request: Request, mut each: impl FnMut(Message<'_>)) -> Result<(), Error> {
        self.send(&request.flags(libc::NLM_F_DUMP).to_bytes())?;
        let mut buffer = vec![0; LARGEST_ANSWER];
        loop {
            let length = recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
            if objects(&buffer[..length], &mut each)? {
                return Ok(());
            }
        }
    }
}

/// The kernel's address; as a socket's own, it leaves the choice to the kernel.
fn kernel() -> NetlinkAddr {
    NetlinkAddr::new(0, 0)
}

/// Bytes of the longest part of a list: the kernel uses at most 32 KiB (netlink_dump() in net/netlink/af_netlink.c).
const LARGEST_ANSWER: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_of_an_unknown_type_is_refused_with_the_kernels_error() {
        let socket = Socket::open(SockProtocol::NetlinkSockDiag).unwrap();
        let error = socket.request(Request::new(200, &[])).unwrap_err();
        assert!(matches!(error, Error::System(error) if error.raw_os_error() == Some(libc::EINVAL)));
    }

    #[test]
    fn a_list_calls_back_for_each_object_and_ends() {
        const LOOPBACK: usize = 1;
        let socket = Socket::open(SockProtocol::NetlinkRoute).unwrap();
        let mut interfaces = 0;
        // `struct ifinfomsg` of any interface.
        socket.dump(Request::new(libc::RTM_GETLINK, &[0; 16]), |_| interfaces += 1).unwrap();
        assert!(interfaces >= LOOPBACK);
    }
}
