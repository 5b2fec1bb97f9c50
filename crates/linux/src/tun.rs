//! TUN devices: the kernel's IP packets are read from them and written to them.
//!
//! A device has a virtio header before each packet: the kernel leaves segmentation and checksums to the device, and
//! accepts consecutive segments as one packet (`wire::offload`).

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socketpair, sockopt};
use wire::offload::{Coalesced, RawPacket, Segments, VirtioNetHeader, segments};

/// The file by which TUN devices are made (Linux, Documentation/networking/tuntap.rst).
pub const DEVICE: &str = "/dev/net/tun";

/// The largest IPv4 packet (RFC 791 §3.1).
const LARGEST_PACKET: usize = 65_535;

/// A TUN device in the network namespace of the thread that made it. Dropping it removes the device.
///
/// If a program is a host's stack, this is one socket of a pair that preserves packet boundaries. The program reads and
/// writes the other socket as it would the descriptor of a TUN device.
#[derive(Debug)]
pub struct Tun {
    device: File,
    /// The work that the device and the kernel leave to each other.
    offload: Offload,
    /// Number of packets for which the program's socket had no room.
    overflowed: AtomicU64,
}

/// The work that a device and the kernel leave to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Offload {
    /// None: a program's packets are whole and have no virtio header.
    Nothing,
    /// Checksums, and segmentation of TCP.
    Tcp,
    /// Checksums, and segmentation of TCP and UDP.
    TcpAndUdp,
}

/// Memory for packets that are read.
#[derive(Debug)]
pub struct Buffers {
    next: Vec<u8>,
    /// The buffers of long packets that have been written: a transfer at full speed allocates no memory.
    spare: Vec<Vec<u8>>,
}

impl Tun {
    /// Makes a device called `name`, down and without an address. A packet is bare IP after a virtio header, without
    /// packet information (IFF_NO_PI).
    ///
    /// # Errors
    /// If the kernel refuses it, or the name is in use.
    pub fn create(name: &str) -> io::Result<Self> {
        let device = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE)?;
        attach(&device, name)?;
        let offload = take_over(&device);
        Ok(Self { device, offload, overflowed: AtomicU64::new(0) })
    }

    /// Makes a pair of sockets: one in the place of a device, and one for the program that is the stack.
    ///
    /// # Errors
    /// If the kernel refuses them.
    pub fn for_program() -> io::Result<(Self, OwnedFd)> {
        let kind = (AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC);
        let (ours, programs) = socketpair(kind.0, kind.1, None, kind.2)?;
        for end in [&ours, &programs] {
            // As much as the system's limit allows (socket(7)).
            setsockopt(end, sockopt::SndBuf, &PROGRAM_BUFFER)?;
        }
        nix::fcntl::fcntl(&ours, nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK))?;
        let ours =
            Self { device: File::from(ours), offload: Offload::Nothing, overflowed: AtomicU64::new(0) };
        Ok((ours, programs))
    }

    /// Returns the number of packets for which the program's socket had no room.
    #[must_use]
    pub fn overflowed(&self) -> u64 {
        self.overflowed.load(Ordering::Relaxed)
    }

    /// Returns another handle of the device, which exists until both are dropped.
    ///
    /// # Errors
    /// If the process has no free descriptor.
    pub fn try_clone(&self) -> io::Result<Self> {
        let device = self.device.try_clone()?;
        Ok(Self { device, offload: self.offload, overflowed: AtomicU64::new(0) })
    }

    /// Returns whether the kernel accepts a train of datagrams as one packet.
    #[must_use]
    pub fn takes_trains(&self) -> bool {
        self.offload == Offload::TcpAndUdp
    }

    /// Reads what the kernel sent next. Returns its packets, or `None` when there is none. Skips packets that no link
    /// carries, those of IPv6.
    ///
    /// # Errors
    /// If the device fails.
    pub fn receive(&self, buffers: &mut Buffers) -> io::Result<Option<Segments>> {
        let mut head = [0; VirtioNetHeader::LEN];
        let read = match self.offload != Offload::Nothing {
            true => (&self.device)
                .read_vectored(&mut [IoSliceMut::new(&mut head), IoSliceMut::new(&mut buffers.next)])
                .map(|length| length.saturating_sub(VirtioNetHeader::LEN)),
            false => (&self.device).read(&mut buffers.next),
        };
        match read {
            Ok(length) => Ok(Some(packets(&head, buffers.take(length)))),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a packet, or several as one, to the kernel, which has processed them when this returns.
    ///
    /// # Errors
    /// If the device fails, or the kernel refuses the packet.
    pub fn send(&self, packets: Coalesced<'_>) -> io::Result<()> {
        if self.offload == Offload::Nothing {
            return packets.segments().try_for_each(|packet| self.send_to_program(&packet.to_bytes()));
        }
        let mut head = Vec::with_capacity(LARGEST_HEAD);
        let payload = packets.write(&mut head);
        (&self.device).write_vectored(&[IoSlice::new(&head), IoSlice::new(payload)]).map(drop)
    }

    fn send_to_program(&self, packet: &[u8]) -> io::Result<()> {
        match (&self.device).write(packet) {
            // Only a program's socket can be full. The packet is lost, as at the full queue of a device.
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

impl Default for Buffers {
    fn default() -> Self {
        Self { next: vec![0; LARGEST_PACKET], spare: Vec::new() }
    }
}

impl Buffers {
    /// Returns the memory for the next packet, for a caller that reads it other than by [`Tun::receive`].
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.next
    }

    /// Takes a packet out of the buffer. A long packet takes the buffer with it, instead of a copy.
    fn take(&mut self, length: usize) -> Vec<u8> {
        if length < LARGEST_PACKET / 2 {
            return self.next[..length].to_vec();
        }
        let mut other = self.spare.pop().unwrap_or_default();
        other.resize(LARGEST_PACKET, 0);
        let mut bytes = std::mem::replace(&mut self.next, other);
        bytes.truncate(length);
        bytes
    }

    /// Takes back the memory of a packet that has been written.
    pub fn recycle(&mut self, packet: RawPacket) {
        if let Some(buffer) = packet.into_buffer().filter(|_| self.spare.len() < MOST_SPARE) {
            self.spare.push(buffer);
        }
    }
}

/// Returns what was read as packets. What cannot be segmented is of IPv6, which no link carries.
fn packets(head: &[u8; VirtioNetHeader::LEN], bytes: Vec<u8>) -> Segments {
    let header = VirtioNetHeader::read(head).ok();
    header.and_then(|header| segments(header, bytes).ok()).unwrap_or_else(Segments::none)
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

/// TUNSETOFFLOAD: takes over the work that the kernel is willing to leave: checksums and segmentation of TCP over IPv4,
/// from Linux 6.2 on also of UDP. A kernel that leaves none of it hands over whole packets.
fn take_over(device: &File) -> Offload {
    let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4;
    // The kernel requires both versions of IP for UDP. Without TUN_F_TSO_ECN it segments a packet with CWR itself.
    let with_udp = tcp | libc::TUN_F_USO4 | libc::TUN_F_USO6;
    // SAFETY: the descriptor is open for the length of the calls, whose argument is a number.
    let set = |flags: libc::c_uint| unsafe { tun_set_offload(device.as_raw_fd(), flags.cast_signed()) };
    if set(with_udp).is_ok() {
        return Offload::TcpAndUdp;
    }
    let _ = set(tcp);
    Offload::Tcp
}

/// The part of the kernel's `struct ifreq` (netdevice(7)) that TUNSETIFF knows.
#[repr(C, align(8))]
struct InterfaceRequest {
    name: [u8; libc::IFNAMSIZ],
    flags: libc::c_short,
    padding: [u8; 22],
}

/// The largest number of spare buffers: 2 MB.
const MOST_SPARE: usize = 32;
/// Bytes that may wait for a program: more than the bandwidth-delay product of most links.
const PROGRAM_BUFFER: usize = 4 << 20;
/// The largest length of the headers of virtio, IPv4 and TCP together, in bytes.
const LARGEST_HEAD: usize = VirtioNetHeader::LEN + 60 + 60;
const FLAGS: libc::c_short = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
const _: () = assert!(size_of::<InterfaceRequest>() == size_of::<libc::ifreq>());

nix::ioctl_write_ptr_bad!(
    /// TUNSETIFF (Linux, include/uapi/linux/if_tun.h): its number says `int`, its argument is an `ifreq`.
    tun_set_iff,
    libc::TUNSETIFF as libc::c_int,
    libc::ifreq
);
nix::ioctl_write_int_bad!(
    /// TUNSETOFFLOAD (Linux, include/uapi/linux/if_tun.h): its argument is the flags themselves.
    tun_set_offload,
    libc::TUNSETOFFLOAD as libc::c_int
);

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use wire::offload::{Gso, GsoKind};
    use wire::udp::Datagram;

    use super::*;

    /// Datagrams of 1000 bytes that a kernel sends as one packet.
    fn datagrams(count: u32) -> (VirtioNetHeader, Vec<u8>) {
        let payload = wire::Payload::Pattern { offset: 0, len: count * 1000 };
        let ends = [1, 2].map(|number| Ipv4Addr::new(10, 0, 0, number));
        let datagram = Datagram { source_port: 1, destination_port: 2, payload };
        let gso = Some(Gso { kind: GsoKind::Udp, size: 1000 });
        let header = VirtioNetHeader { gso, ..VirtioNetHeader::default() };
        (header, wire::emit_udp_ipv4(ends[0], ends[1], 7, &datagram))
    }

    #[test]
    fn a_program_gets_packets_one_by_one_and_whole() {
        let (tun, program) = Tun::for_program().unwrap();
        let (header, bytes) = datagrams(3);
        let packets: Vec<RawPacket> = segments(header, bytes).unwrap().collect();
        let mut coalesced = Coalesced::new(&packets[0]);
        assert!(packets[1..].iter().all(|packet| coalesced.push(packet)));
        tun.send(coalesced).unwrap();
        let mut program = File::from(program);
        for packet in &packets {
            let mut buffer = [0; 2000];
            let length = program.read(&mut buffer).unwrap();
            assert_eq!(*packet, buffer[..length].to_vec());
            assert_eq!(wire::parse(&buffer[..length]).unwrap().oddities, []);
        }
        program.write_all(&packets[0].to_bytes()).unwrap();
        let mut buffers = Buffers::default();
        let received: Vec<RawPacket> = tun.receive(&mut buffers).unwrap().unwrap().collect();
        assert_eq!(received, packets[..1]);
        assert!(tun.receive(&mut buffers).unwrap().is_none());
    }

    #[test]
    fn the_memory_of_long_packets_is_reused() {
        let mut buffers = Buffers::default();
        let (header, bytes) = datagrams(60);
        let next = |buffers: &mut Buffers| {
            buffers.room()[..bytes.len()].copy_from_slice(&bytes);
            let first = buffers.room().as_ptr();
            let packets: Vec<RawPacket> = segments(header, buffers.take(bytes.len())).unwrap().collect();
            assert_eq!((packets.len(), buffers.room().len()), (60, LARGEST_PACKET));
            packets.into_iter().for_each(|packet| buffers.recycle(packet));
            first
        };
        let places = [next(&mut buffers), next(&mut buffers), next(&mut buffers)];
        assert_eq!(places[0], places[2]);
        assert_eq!(buffers.take(100).len(), 100);
    }

    #[test]
    fn packets_that_no_link_carries_are_skipped() {
        let (header, mut bytes) = datagrams(3);
        let mut head = Vec::new();
        header.write(&mut head);
        assert_eq!(packets(head[..].try_into().unwrap(), bytes.clone()).count(), 3);
        bytes[0] = 0x60;
        assert_eq!(packets(head[..].try_into().unwrap(), bytes).count(), 0);
    }
}
