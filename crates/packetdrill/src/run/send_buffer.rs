//! The send buffer of a socket as Linux counts it: in packets of up to half the peer's window, each with its record.

use tcp::Endpoint;
use units::Bytes;

use super::ScriptRun;
use super::ids::{ConnectionId, SocketId};
use crate::script::Call;

/// Memory that a packet takes besides its data: its record and the room for headers (`tcp_stream_alloc_skb`).
const PACKET_RECORD: Bytes = Bytes(1280);
/// Data of the largest packet (`GSO_MAX_SIZE`).
const LARGEST_PACKET: Bytes = Bytes(65_536);

impl ScriptRun {
    /// Writes up to `wanted` bytes; returns the part that the buffer takes. A packet that was begun is filled in any
    /// case, and each full one may leave before the next is begun (`tcp_sendmsg_locked`).
    pub(super) fn fill_buffer(
        &mut self,
        call: &Call,
        socket: SocketId,
        id: ConnectionId,
        wanted: Bytes,
    ) -> Bytes {
        let (mut taken, mut pushed) = (Bytes::ZERO, Bytes::ZERO);
        self.host.begin_send();
        while taken < wanted {
            let room = self.room_of_packet(socket, id);
            if room.is_zero() {
                break;
            }
            let part = room.min(wanted - taken);
            self.hand_over(id, part, call);
            taken += part;
            let endpoint = &mut self.host.connection(id).endpoint;
            // `forced_push`: a packet that ends neither the call nor what there is room for carries PSH only where more
            // than half a window was written since the last.
            let is_forced = taken - pushed > endpoint.info().greatest_peer_window / 2;
            if taken < wanted && !is_forced && !self.room_of_packet(socket, id).is_zero() {
                self.host.connection(id).endpoint.expect_more();
            } else {
                pushed = taken;
            }
            self.settle_write(id, call);
        }
        self.host.end_send();
        taken
    }

    /// The bytes that the packet at the end of the buffer takes, or a new one if there is memory for it.
    fn room_of_packet(&mut self, socket: SocketId, id: ConnectionId) -> Bytes {
        let (buffer, limit) = self.limits(socket, id);
        if buffer == Bytes::MAX && limit == Bytes::MAX {
            return Bytes::MAX;
        }
        let endpoint = &self.host.connection(id).endpoint;
        let (unsent, packet) = (endpoint.unsent(), largest_packet(endpoint));
        let last = Bytes(unsent.0 % packet.0);
        if !last.is_zero() {
            return packet - last;
        }
        let has_memory = self.memory(id) < buffer && unsent < limit;
        if has_memory { packet } else { Bytes::ZERO }
    }

    /// Whether a socket is writable: a third of the buffer is free, and the unsent data are below half of
    /// `TCP_NOTSENT_LOWAT` (include/net/sock.h, `__sk_stream_is_writeable`).
    pub(super) fn is_writable(&mut self, socket: SocketId, id: ConnectionId) -> bool {
        let (buffer, limit) = self.limits(socket, id);
        let memory = self.memory(id);
        let has_room = buffer == Bytes::MAX || buffer.saturating_sub(memory) >= memory / 2;
        has_room && (limit == Bytes::MAX || self.host.connection(id).endpoint.unsent() * 2 < limit)
    }

    /// The size of the buffer, and the limit of the unsent data.
    fn limits(&mut self, socket: SocketId, id: ConnectionId) -> (Bytes, Bytes) {
        let options = &self.sockets.get(socket).options;
        let limit = options.unsent_limit().unwrap_or(self.settings.unsent_limit);
        let set = options.send_buffer();
        (set.unwrap_or_else(|| self.host.connection(id).endpoint.info().send_buffer), limit)
    }

    /// Memory of the data that are not acknowledged, in packets as large as they can be.
    fn memory(&mut self, id: ConnectionId) -> Bytes {
        let connection = self.host.connection(id);
        let held = connection.held_for_sending();
        held + PACKET_RECORD * held.0.div_ceil(largest_packet(&connection.endpoint).0)
    }
}

/// Data of the largest packet: whole segments, up to half of the largest window (`tcp_xmit_size_goal`).
fn largest_packet(endpoint: &Endpoint) -> Bytes {
    let info = endpoint.info();
    let most = LARGEST_PACKET.min(info.greatest_peer_window / 2);
    info.smss * most.whole(info.smss).max(1)
}
