//! DCCP (RFC 4340): congestion-controlled datagrams without retransmission, with CCID 2 (RFC 4341) and CCID 3
//! (RFC 4342).
//!
//! `connection.rs` is an end of a connection and what it sends, `receive.rs` what it does with packets, `state.rs` its
//! states and their timers. They use `seqno.rs` and `validity.rs` for sequence numbers, `features.rs` for negotiation,
//! and a congestion control for each direction (`ccid.rs`): `ccid2/` with `ack_vector.rs` and `rtt.rs`, or `ccid3/`.
//! `dccp_settings.rs` above has what files say, `log.rs` what results show. The bytes are those of `wire::dccp`.
//!
//! Not here: Init Cookies, Slow Receiver, Data Dropped, Data Checksum and partial checksums (a packet that a link
//! damages is lost in every stack), mobility, and the Loss Intervals option, in whose place the receiver of CCID 3
//! sends the Loss Event Rate, as Linux's.

mod ack_vector;
mod ccid;
mod ccid2;
mod ccid3;
mod connection;
mod features;
mod log;
mod receive;
mod rtt;
mod seqno;
mod state;
#[cfg(test)]
mod tests;
mod validity;

use std::net::SocketAddrV4;

use units::Instant;
use wire::dccp::Packet;
use wire::ip::{self, Protocol, v4};
use wire::{Oddity, Payload, Transport as Carried};
use workload::{Counters, Ends, ObservedRecord};

use self::connection::{Connection, ROOM_BESIDE_DATA};
use self::seqno::Seqno;
use crate::entry::{Entry, Member, Transport};
use crate::stack::{Phase, Setup, Sockets, Stack, StackSocket};

pub(crate) const ENTRY: Entry = ::registry::Entry::new(
    "dccp",
    "DCCP: unreliable datagrams with congestion control, a window as TCP's (CCID 2) or TFRC (CCID 3); in virtual time only",
    "RFC 4340, RFC 4341, RFC 4342, RFC 5348",
)
.with(Member { transport: Transport::Dccp, make: Some(|setup| Box::new(Dccp::new(setup))) });

/// DCCP.
struct Dccp {
    setup: Setup,
    sockets: Sockets<Connection>,
    /// Packets so far: the IP identification.
    packets: u16,
}

impl Dccp {
    fn new(setup: Setup) -> Self {
        Self { setup, sockets: Sockets::default(), packets: 0 }
    }

    fn connection(&self, ends: Ends, is_server: bool) -> Connection {
        let first = self.setup.streams.number(&format!("iss.{}-{}", ends.local.port(), ends.remote));
        let most_data = most_data(self.setup.mtu.0);
        Connection::new(ends, self.setup.dccp, is_server, Seqno::new(first), (most_data, self.setup.records))
    }
}

/// The most data in a packet of a link with this MTU.
pub(crate) fn most_data(mtu: u64) -> u32 {
    u32::try_from(mtu).unwrap_or(u32::MAX).saturating_sub(HEADERS).max(1)
}

/// The headers of IPv4 and UDP, which the size of a program's datagram has in it.
pub(crate) const DCCP_OVER_UDP: u64 = 20 + 8;

/// IPv4, a DataAck with long sequence numbers (§5.4), and its options: those of features and an NDP Count.
const HEADERS: u32 = v4::HEADER_LEN as u32 + 24 + ROOM_BESIDE_DATA + 4;

impl Stack for Dccp {
    fn connect(&mut self, now: Instant, ends: Ends) -> StackSocket {
        let mut connection = self.connection(ends, false);
        connection.connect(now);
        self.sockets.add(connection)
    }

    fn listen(&mut self, ends: Ends) -> StackSocket {
        let connection = self.connection(ends, true);
        self.sockets.add(connection)
    }

    /// One datagram, of as many of the bytes as a packet holds.
    fn write(&mut self, socket: StackSocket, payload: &Payload) -> u32 {
        let connection = &mut self.sockets[socket];
        let len = payload.len().min(connection.most_data());
        if connection.send(payload.slice(0, len)) { len } else { 0 }
    }

    fn read(&mut self, socket: StackSocket, _: &mut Vec<u8>) -> bool {
        let connection = &self.sockets[socket];
        connection.has_peer_closed && connection.arrived.is_empty()
    }

    fn carries_datagrams(&self) -> bool {
        true
    }

    fn send_datagram(&mut self, socket: StackSocket, payload: Vec<u8>) -> bool {
        self.sockets[socket].send(Payload::Data(payload.into()))
    }

    fn read_datagram(&mut self, socket: StackSocket) -> Option<Vec<u8>> {
        self.sockets[socket].arrived.pop_front()
    }

    fn close(&mut self, _: Instant, socket: StackSocket) {
        self.sockets[socket].close();
    }

    fn release(&mut self, _: Instant, socket: StackSocket) {
        self.sockets[socket].abort();
        self.sockets.release(socket);
    }

    fn handle_packet(&mut self, now: Instant, packet: &[u8]) {
        let Some((from, is_marked, packet)) = read_packet(packet, &self.setup) else { return };
        let is_its = |connection: &&mut Connection| {
            connection.ends.remote == from && connection.ends.local.port() == packet.destination_port
        };
        if let Some(connection) = self.sockets.iter_mut().find(is_its) {
            connection.handle_packet(now, &packet, is_marked);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        for connection in self.sockets.iter_mut() {
            if connection.poll_timeout().is_some_and(|due| due <= now) {
                connection.handle_timeout(now);
            }
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        let polled = |connection: &mut Connection| Some((connection.ends, connection.poll_transmit(now)?));
        let Some((ends, (packet, is_ecn_capable))) = self.sockets.iter_mut().find_map(polled) else {
            self.sockets.drop_released(|connection| connection.is_at_rest());
            return None;
        };
        self.packets = self.packets.wrapping_add(1);
        let header = v4::Header {
            traffic_class: if is_ecn_capable { ECT_0 } else { 0 },
            ..v4::Header::new(*ends.local.ip(), *ends.remote.ip(), Protocol::DCCP, self.packets)
        };
        Some(wire::emit_dccp_ipv4_behind(header, &packet))
    }

    fn poll_timeout(&mut self, _: Instant) -> Option<Instant> {
        self.sockets.iter().filter_map(Connection::poll_timeout).min()
    }

    fn phase(&self, socket: StackSocket) -> Phase {
        self.sockets[socket].phase()
    }

    fn counters(&self, socket: StackSocket) -> Option<Counters> {
        Some(self.sockets[socket].counters())
    }

    fn take_records(&mut self, socket: StackSocket) -> Vec<ObservedRecord> {
        self.sockets[socket].take_records()
    }
}

/// The packet in an IPv4 packet for this host, who sent it, and whether it was marked; nothing where a checksum is
/// wrong.
fn read_packet(packet: &[u8], setup: &Setup) -> Option<(SocketAddrV4, bool, Packet)> {
    let parsed = wire::parse(packet).ok()?;
    let damaged =
        |oddity: &Oddity| matches!(oddity, Oddity::Checksum | Oddity::HeaderChecksum | Oddity::Options);
    let ip::Header::V4(header) = parsed.header else { return None };
    if header.destination != setup.address || parsed.oddities.iter().any(damaged) {
        return None;
    }
    let Carried::Dccp(packet) = parsed.transport else { return None };
    let from = SocketAddrV4::new(header.source, packet.source_port);
    Some((from, header.traffic_class & CONGESTION_EXPERIENCED == CONGESTION_EXPERIENCED, packet))
}

/// RFC 3168 §5: the codepoints of the ECN field.
const ECT_0: u8 = 0b10;
const CONGESTION_EXPERIENCED: u8 = 0b11;
