//! What the kernel's TCP thinks, sampled: every connection of a host's namespace with its `tcp_info`, by sock_diag(7). Programs'
//! connections are seen as those of flows are.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::time::Duration as StdDuration;

use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, sendto, socket,
};
use units::{Bytes, Duration, Instant};

use crate::clock::Clock;
use crate::stop::Stop;
use crate::tcp_info::TcpInfo;

/// What was sampled at a host, in order of time.
#[derive(Debug, Default)]
pub(crate) struct Samples(Mutex<Vec<Sample>>);

/// A connection at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) at: Instant,
    /// The host's own end, then the other.
    pub(crate) ends: [SocketAddrV4; 2],
    pub(crate) info: TcpInfo,
}

impl Samples {
    /// Samples the connections of this thread's namespace until the run is over.
    pub(crate) fn collect(&self, clock: Clock, stop: &Stop) -> io::Result<()> {
        let diag = SockDiag::open()?;
        loop {
            let found = diag.connections()?;
            let at = clock.now();
            self.add(found.into_iter().map(|(ends, info)| Sample { at, ends, info }));
            if !stop.wait_for(INTERVAL) {
                return Ok(());
            }
        }
    }

    /// Keeps what differs from the sample of the same connection before.
    fn add(&self, found: impl Iterator<Item = Sample>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for sample in found {
            let before = kept.iter().rev().take(REMEMBERED).find(|before| before.ends == sample.ends);
            if before.is_none_or(|before| before.info != sample.info) {
                kept.push(sample);
            }
        }
    }

    pub(crate) fn take(&self) -> Vec<Sample> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns the samples of a connection's sender as rows of the table `tcp`. A change of the congestion state is the event
/// that has caused it, at the time at which it was seen. `accepted` is whether the sender's end has accepted the connection.
pub(crate) fn records<'a>(
    samples: impl Iterator<Item = &'a Sample>,
    accepted: bool,
) -> Vec<sim::ObservedRecord> {
    let mut before = TcpInfo::default();
    // Places count the SYN. The kernel does so only at the end that connects (tcp_snd_una_update() in net/ipv4/tcp_input.c).
    let first = i64::from(accepted);
    let record = |sample: &Sample| {
        let info = sample.info;
        let event = info.event_since(&before);
        before = info;
        let mss = u64::from(info.mss);
        let record = tcp::Record {
            at: sample.at,
            event,
            reason: SAMPLED,
            seq: units::Seq(0),
            len: 0,
            cwnd: Bytes(u64::from(info.cwnd) * mss),
            ssthresh: info.ssthresh.map_or(Bytes::MAX, |segments| Bytes(u64::from(segments) * mss)),
            flight: Bytes(u64::from(info.in_flight()) * mss),
            advertised: Bytes(u64::from(info.peer_window)),
            srtt: (info.srtt_us > 0).then(|| Duration::from_micros(u64::from(info.srtt_us))),
            rttvar: (info.srtt_us > 0).then(|| Duration::from_micros(u64::from(info.rttvar_us))),
            rto: Duration::from_micros(u64::from(info.rto_us)),
            phase: info.phase(),
        };
        sim::ObservedRecord { place: first + info.bytes_acked as i64, record }
    };
    samples.map(record).collect()
}

/// A socket that lists the connections of the namespace in which it was opened.
struct SockDiag(OwnedFd);

impl SockDiag {
    fn open() -> io::Result<Self> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkSockDiag,
        )?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        Ok(Self(socket))
    }

    fn connections(&self) -> io::Result<Vec<([SocketAddrV4; 2], TcpInfo)>> {
        sendto(self.0.as_raw_fd(), &request(), &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
        let (mut found, mut buffer) = (Vec::new(), vec![0; 64 * 1024]);
        loop {
            let length = recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
            if !read_messages(&buffer[..length], &mut found)? {
                return Ok(found);
            }
        }
    }
}

/// `struct nlmsghdr`, then `struct inet_diag_req_v2`: family, protocol, extensions, padding, states, and an empty
/// `struct inet_diag_sockid`.
fn request() -> Vec<u8> {
    const SOCK_DIAG_BY_FAMILY: u16 = 20;
    const LEN: u32 = 16 + 8 + 48;
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
    let mut bytes = Vec::with_capacity(LEN as usize);
    bytes.extend(LEN.to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend([libc::AF_INET as u8, libc::IPPROTO_TCP as u8, 1 << (INET_DIAG_INFO - 1), 0]);
    bytes.extend(WITH_A_PEER.to_ne_bytes());
    bytes.resize(LEN as usize, 0);
    bytes
}

/// Reads the messages of one answer. Returns whether there is more to come.
fn read_messages(mut answer: &[u8], found: &mut Vec<([SocketAddrV4; 2], TcpInfo)>) -> io::Result<bool> {
    while let Some(length) = word(answer, 0).map(|length| length as usize).filter(|length| *length >= 16) {
        let message = answer.get(..length).unwrap_or(answer);
        match i32::from(half(message, 4).unwrap_or(0)) {
            libc::NLMSG_DONE => return Ok(false),
            libc::NLMSG_ERROR => {
                let error = word(message, 16).unwrap_or(0).cast_signed();
                return Err(io::Error::from_raw_os_error(-error));
            }
            _ => found.extend(connection(&message[16..])),
        }
        answer = answer.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(true)
}

/// Reads `struct inet_diag_msg` and its attributes.
fn connection(message: &[u8]) -> Option<([SocketAddrV4; 2], TcpInfo)> {
    const PORTS: usize = 4;
    const ADDRESSES: usize = 8;
    const LEN: usize = 72;
    let port = |at: usize| message.get(at..at + 2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]));
    let address = |at: usize| {
        message.get(at..at + 4).map(|bytes| Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]))
    };
    let own = SocketAddrV4::new(address(ADDRESSES)?, port(PORTS)?);
    let peer = SocketAddrV4::new(address(ADDRESSES + 16)?, port(PORTS + 2)?);
    let mut attributes = message.get(LEN..)?;
    while let Some(length) = half(attributes, 0).map(usize::from).filter(|length| *length >= 4) {
        let value = attributes.get(4..length)?;
        if half(attributes, 2)? == u16::from(INET_DIAG_INFO) {
            return Some(([own, peer], TcpInfo::read(value)));
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
    None
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_ne_bytes)
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes)
}

/// The extension, and the attribute, with `struct tcp_info` (Linux, include/uapi/linux/inet_diag.h).
const INET_DIAG_INFO: u8 = 2;
/// The states (include/net/tcp_states.h) of connections with a peer: ESTABLISHED, SYN_SENT, FIN_WAIT1, FIN_WAIT2,
/// CLOSE_WAIT, LAST_ACK, CLOSING.
const WITH_A_PEER: u32 = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;
/// Interval of the samples: a tick of a kernel's clock at 100 Hz.
const INTERVAL: StdDuration = StdDuration::from_millis(10);
/// How many samples back the one before of the same connection is looked for.
const REMEMBERED: usize = 256;
/// The reason of each row.
const SAMPLED: &str = "sampled";

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
        let (ends, info) = found.into_iter().find(|(ends, _)| own == ends[0].into()).expect("it is open");
        assert_eq!(listener.local_addr().unwrap(), ends[1].into());
        assert!(info.cwnd > 0 && info.mss > 0 && info.ssthresh.is_none(), "{info:?}");
    }

    #[test]
    fn only_what_has_changed_is_kept() {
        let samples = Samples::default();
        let end = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1);
        let sample = |at, cwnd| Sample {
            at: Instant::from_nanos(at),
            ends: [end, end],
            info: TcpInfo { cwnd, ..TcpInfo::default() },
        };
        [sample(1, 10), sample(2, 10), sample(3, 11)]
            .into_iter()
            .for_each(|one| samples.add([one].into_iter()));
        assert_eq!(samples.take(), [sample(1, 10), sample(3, 11)]);
    }

    #[test]
    fn a_change_of_the_congestion_state_is_the_event_that_caused_it() {
        let end = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1);
        let sample = |congestion_state| Sample {
            at: Instant::START,
            ends: [end, end],
            info: TcpInfo { congestion_state, ..TcpInfo::default() },
        };
        let samples = [sample(0), sample(3), sample(3), sample(0), sample(4), sample(0)];
        let events: Vec<_> = records(samples.iter(), false).iter().map(|one| one.record.event.id()).collect();
        assert_eq!(events, ["ack", "fast_retransmit", "ack", "recovered", "timeout", "recovered"]);
    }

    #[test]
    fn places_count_the_syn_at_either_end() {
        let end = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1);
        let sample = |bytes_acked| Sample {
            at: Instant::START,
            ends: [end, end],
            info: TcpInfo { bytes_acked, ..TcpInfo::default() },
        };
        // One that connects has had its SYN acknowledged, and then both 1000 bytes.
        let places = |sample: Sample, accepted| records([sample].iter(), accepted)[0].place;
        assert_eq!([places(sample(1001), false), places(sample(1000), true)], [1001, 1001]);
    }
}
