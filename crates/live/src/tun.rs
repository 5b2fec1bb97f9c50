//! TUN devices: the kernel's IP packets are read from them and written to them.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socketpair, sockopt};

/// The file that makes TUN devices (Linux, Documentation/networking/tuntap.rst).
pub(crate) const DEVICE: &str = "/dev/net/tun";

/// A TUN device in the network namespace of the thread that made it. Dropping it removes the device.
///
/// Or what stands for one where a program is a host's stack: a socket of a pair that keeps packets apart, whose other end
/// the program reads and writes as it would a TUN device's descriptor.
#[derive(Debug)]
pub(crate) struct Tun {
    device: File,
    /// Packets that a program was too slow to take.
    overflowed: AtomicU64,
}

impl Tun {
    /// Makes a device called `name`, down and without an address. Packets are bare IP, without a header of packet
    /// information and without a virtio header, so that no segment is longer than the MTU.
    pub(crate) fn create(name: &str) -> io::Result<Self> {
        let device = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE)?;
        attach(&device, name)?;
        Ok(Self { device, overflowed: AtomicU64::new(0) })
    }

    /// Makes what stands for a device, and the end of the program whose stack it is.
    pub(crate) fn for_program() -> io::Result<(Self, OwnedFd)> {
        let kind = (AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC);
        let (ours, programs) = socketpair(kind.0, kind.1, None, kind.2)?;
        for end in [&ours, &programs] {
            // As much as the system's limit allows (socket(7)).
            setsockopt(end, sockopt::SndBuf, &PROGRAM_BUFFER)?;
        }
        nix::fcntl::fcntl(&ours, nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK))?;
        Ok((Self { device: File::from(ours), overflowed: AtomicU64::new(0) }, programs))
    }

    /// Returns how many packets a program was too slow to take.
    pub(crate) fn overflowed(&self) -> u64 {
        self.overflowed.load(Ordering::Relaxed)
    }

    /// Returns another handle of the device, which is there until both are dropped.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { device: self.device.try_clone()?, overflowed: AtomicU64::new(0) })
    }

    /// Reads the next packet that the kernel sent into `buffer`. Returns its length, or `None` when there is none.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.device).read(buffer) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a packet to the kernel. Its stack has processed the packet when this returns.
    pub(crate) fn send(&self, packet: &[u8]) -> io::Result<()> {
        match (&self.device).write(packet) {
            // A device never is: a program that does not read loses packets, as by a device's full queue.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.overflowed.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            result => result.map(drop),
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

/// TUNSETIFF: makes the open device an interface called `name`.
fn attach(device: &File, name: &str) -> io::Result<()> {
    let mut request = InterfaceRequest { name: [0; libc::IFNAMSIZ], flags: FLAGS, padding: [0; 22] };
    assert!(name.len() < libc::IFNAMSIZ, "an interface's name has at most 15 bytes");
    request.name[..name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: the descriptor is open for the length of the call, and `request` has the size and
    // layout of the kernel's `struct ifreq`, which TUNSETIFF reads and writes.
    unsafe { tun_set_iff(device.as_raw_fd(), (&raw mut request).cast()) }?;
    Ok(())
}

/// The part of the kernel's `struct ifreq` (netdevice(7)) that TUNSETIFF knows.
#[repr(C, align(8))]
struct InterfaceRequest {
    name: [u8; libc::IFNAMSIZ],
    flags: libc::c_short,
    padding: [u8; 22],
}

/// Bytes that may wait for a program: more than a bandwidth-delay product of most links.
const PROGRAM_BUFFER: usize = 4 << 20;
const FLAGS: libc::c_short = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
const _: () = assert!(size_of::<InterfaceRequest>() == size_of::<libc::ifreq>());

nix::ioctl_write_ptr_bad!(
    /// TUNSETIFF (Linux, include/uapi/linux/if_tun.h): its number says `int`, its argument is an `ifreq`.
    tun_set_iff,
    libc::TUNSETIFF as libc::c_int,
    libc::ifreq
);
