//! TUN devices: the kernel's IP packets are read from them and written to them.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::libc;

/// The file that makes TUN devices (Linux, Documentation/networking/tuntap.rst).
pub(crate) const DEVICE: &str = "/dev/net/tun";

/// A TUN device in the network namespace of the thread that made it. Dropping it removes the device.
#[derive(Debug)]
pub(crate) struct Tun {
    device: File,
}

impl Tun {
    /// Makes a device called `name`, down and without an address. Packets are bare IP, without a header of packet
    /// information and without a virtio header, so that no segment is longer than the MTU.
    pub(crate) fn create(name: &str) -> io::Result<Self> {
        let device = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE)?;
        attach(&device, name)?;
        Ok(Self { device })
    }

    /// Returns another handle of the device, which is there until both are dropped.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { device: self.device.try_clone()? })
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
        (&self.device).write(packet).map(drop)
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

const FLAGS: libc::c_short = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
const _: () = assert!(size_of::<InterfaceRequest>() == size_of::<libc::ifreq>());

nix::ioctl_write_ptr_bad!(
    /// TUNSETIFF (Linux, include/uapi/linux/if_tun.h): its number says `int`, its argument is an `ifreq`.
    tun_set_iff,
    libc::TUNSETIFF as libc::c_int,
    libc::ifreq
);
