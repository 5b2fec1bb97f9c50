//! What comes in from the network: segments and ICMP messages.

use tcp::{Endpoint, Ports};
use units::{Bytes, Seq};
use wire::FastOpenCookie;

use super::arguments::Unsupported;
use super::ids::ConnectionId;
use super::socket::{Role, SocketOptions};
use super::{FIRST_REMOTE_PORT, LOCAL_PORT, ScriptRun, Stop, refused, segment};
use crate::script::{IcmpKind, IcmpMessage, Packet};

impl ScriptRun {
    /// A segment comes in: to a socket that listens, if it opens a connection, else to the connection of last.
    pub(super) fn arrive(&mut self, packet: &Packet, line: u32) -> Result<(), Stop> {
        let opens = packet.flags.syn && !packet.flags.ack;
        let listener = self.sockets.listening().filter(|_| opens && !self.has_half_open_connection());
        if let Some(listener) = listener {
            let options = self.sockets.get(listener).options.clone();
            let config = self.config(&options, Role::Server).map_err(|reason| refused(line, reason))?;
            let ports = self.next_ports();
            let mut endpoint = Endpoint::listen(&config, ports.local, Seq(0));
            if self.settings.fast_open.server_without_cookie() {
                endpoint.need_no_fast_open_cookie(None);
            } else if let Some(cookie) = self.cookie_for_peer(&options) {
                endpoint.expect_fast_open_cookie(cookie);
            }
            let id = self.host.open(endpoint, ports);
            self.host.connection(id).awaits_accept_of = Some(listener);
            self.apply(&options, id);
        }
        match self.host.connections.len().checked_sub(1) {
            Some(last) => {
                let connection = &mut self.host.connections[last];
                if packet.flags.syn && !connection.was_connected {
                    connection.notation.take_syn(packet);
                    connection.gso_size = self.gso_size.or_else(|| segment::mss_of(packet));
                    connection.endpoint.expect_joined(connection.gso_size.unwrap_or(Bytes::MAX));
                }
                if let Some(pointer) = packet.urgent {
                    // The stream begins at 1, and the pointer is one past the urgent byte.
                    let past = u64::from(packet.start) + u64::from(pointer);
                    connection.urgent = Some(Bytes(past.saturating_sub(2)));
                }
                let segment = segment::inbound(packet, connection.ports, &self.clocks, connection.notation);
                self.host.deliver(ConnectionId(last), &segment);
                // The data of a program that waits for the connection leave with the ACK of the handshake.
                let connects = self.host.connections[last].endpoint.state() == tcp::State::Established;
                if connects && self.host.connections[last].awaits_connection {
                    self.host.connections[last].awaits_connection = false;
                    self.retry_blocked()?;
                }
                self.host.settle(ConnectionId(last));
                Ok(())
            }
            None => Err(self.failure(line, packet.to_string(), "no socket is there to take it".to_owned())),
        }
    }

    /// An ICMP message comes in for the connection of last.
    pub(super) fn report(&mut self, message: &IcmpMessage, line: u32) -> Result<(), Stop> {
        let Some(connection) = self.host.connections.last_mut() else {
            return Err(self.failure(
                line,
                message.to_string(),
                "no connection is there to take it".to_owned(),
            ));
        };
        let oldest = connection.endpoint.acked().0 as u32;
        let quoted = Seq(message.quoted.unwrap_or(oldest));
        let known = match message.kind {
            IcmpKind::Unreachable(error) => {
                connection.unreachable = error;
                connection.endpoint.handle_unreachable(quoted);
                true
            }
            IcmpKind::TooBig(mtu) => {
                let mss = Bytes(u64::from(mtu)).saturating_sub(self.header_len);
                connection.endpoint.handle_too_big(mss, quoted)
            }
        };
        if !known {
            return Err(refused(
                line,
                Unsupported {
                    what: "a path that becomes narrower after the handshake is not modelled".to_owned(),
                    remedy: "take the line out".to_owned(),
                },
            ));
        }
        self.host.settle(ConnectionId(self.host.connections.len() - 1));
        Ok(())
    }

    /// Whether the peer's SYN may be a retransmission, or cross ours.
    fn has_half_open_connection(&self) -> bool {
        use tcp::State::{SynReceived, SynSent};
        let last = self.host.connections.last();
        last.is_some_and(|last| matches!(last.endpoint.state(), SynReceived | SynSent))
    }

    pub(super) fn next_ports(&self) -> Ports {
        let count = u16::try_from(self.host.connections.len()).unwrap_or(0);
        Ports { local: LOCAL_PORT, remote: FIRST_REMOTE_PORT.wrapping_add(count) }
    }

    /// The cookie that a server gives to the peer: by the key of its socket or of the host, else the script's.
    fn cookie_for_peer(&self, options: &SocketOptions) -> Option<FastOpenCookie> {
        match options.cookie_key.or(self.settings.cookie_key) {
            Some(key) => key.cookie(self.addresses.remote, self.addresses.local),
            None => self.server_cookie,
        }
    }
}
