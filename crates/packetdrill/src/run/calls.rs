//! The system calls of a script, carried out on the sockets of the host.

use tcp::Endpoint;
use units::{Bytes, Seq};
use wire::Payload;

use super::ScriptRun;
use super::arguments::{Arguments, Unsupported};
use super::connection::TestedConnection;
use super::ids::{ConnectionId, SocketId};
use super::reply::{CallResult, Reply};
use super::socket::{Role, Socket, SocketState};
use crate::script::{Call, Expression};

type Carry = fn(&mut ScriptRun, &Call) -> CallResult;

/// The calls that are known.
const CALLS: &[(&str, Carry)] = &[
    ("socket", ScriptRun::socket),
    ("bind", |machine, call| machine.on_socket(call).map(|_| Reply::Value(0))),
    ("listen", ScriptRun::listen),
    ("accept", ScriptRun::accept),
    ("accept4", ScriptRun::accept),
    ("connect", ScriptRun::connect),
    ("read", ScriptRun::read),
    ("recv", ScriptRun::read),
    ("recvfrom", ScriptRun::read),
    ("readv", ScriptRun::read),
    ("recvmsg", ScriptRun::receive_message),
    ("write", ScriptRun::write),
    ("send", ScriptRun::write),
    ("sendto", ScriptRun::write),
    ("writev", ScriptRun::write),
    ("sendmsg", ScriptRun::write),
    ("open", ScriptRun::open_file),
    ("pipe", ScriptRun::open_pipe),
    ("sendfile", ScriptRun::send_file),
    ("splice", ScriptRun::splice),
    ("shutdown", ScriptRun::shutdown),
    ("close", ScriptRun::close),
    ("fcntl", ScriptRun::control_descriptor),
    ("ioctl", ScriptRun::control_device),
    ("poll", ScriptRun::poll),
    ("epoll_create", ScriptRun::epoll_create),
    ("epoll_create1", ScriptRun::epoll_create),
    ("epoll_ctl", ScriptRun::epoll_control),
    ("epoll_wait", ScriptRun::epoll_wait),
    ("setsockopt", ScriptRun::set_option),
    ("getsockopt", ScriptRun::get_option),
];

impl ScriptRun {
    /// Carries a call out. A call that blocks is repeated whenever something has happened.
    pub(super) fn call(&mut self, call: &Call) -> CallResult {
        match CALLS.iter().find(|(name, _)| *name == call.name) {
            Some((_, carry)) => carry(self, call),
            None => {
                let known: Vec<&str> = CALLS.iter().map(|(name, _)| *name).collect();
                Err(Unsupported {
                    what: format!("the system call {} is not supported", call.name),
                    remedy: format!("use one of {}, or take the line out", known.join(", ")),
                })
            }
        }
    }

    /// The socket of the call's first argument.
    pub(super) fn on_socket(&self, call: &Call) -> Result<SocketId, Unsupported> {
        let descriptor = call.integer(0)?;
        self.sockets.named(descriptor).ok_or_else(|| Unsupported {
            what: format!("descriptor {descriptor} was not opened, or is closed"),
            remedy: "use a descriptor that socket() or accept() has returned".to_owned(),
        })
    }

    /// The connection of the call's first argument, if its socket has one.
    pub(super) fn on_connection(
        &mut self,
        call: &Call,
    ) -> Result<(SocketId, Option<ConnectionId>), Unsupported> {
        let socket = self.on_socket(call)?;
        Ok(match self.sockets.get(socket).state {
            SocketState::Connected(connection) => (socket, Some(connection)),
            SocketState::Fresh | SocketState::Listening | SocketState::Deferred => (socket, None),
        })
    }

    /// The result of a call that would have to wait.
    fn or_blocks(&mut self, socket: SocketId, call: &Call, error: &'static str) -> Reply {
        let waits = !self.sockets.get(socket).nonblocking && !call.has_flag("MSG_DONTWAIT");
        if waits { Reply::Blocks } else { Reply::Error(error) }
    }

    fn socket(&mut self, call: &Call) -> CallResult {
        if !call.argument(1)?.names().contains(&"SOCK_STREAM") {
            return Err(Unsupported {
                what: format!("a socket of type {} is not supported", call.argument(1)?),
                remedy: "use SOCK_STREAM; only TCP is under test".to_owned(),
            });
        }
        let nonblocking = call.argument(1)?.names().contains(&"SOCK_NONBLOCK");
        let descriptor = call.expected_descriptor()?;
        self.sockets.add(descriptor, Socket { nonblocking, ..Socket::default() });
        Ok(Reply::Value(descriptor))
    }

    fn listen(&mut self, call: &Call) -> CallResult {
        let socket = self.on_socket(call)?;
        self.sockets.get(socket).state = SocketState::Listening;
        Ok(Reply::Value(0))
    }

    fn accept(&mut self, call: &Call) -> CallResult {
        let listener = self.on_socket(call)?;
        if self.sockets.get(listener).state != SocketState::Listening {
            return Ok(Reply::Error("EINVAL"));
        }
        let waits = |connection: &TestedConnection| {
            connection.awaits_accept_of == Some(listener) && connection.was_connected
        };
        let Some(index) = self.host.connections.iter().position(waits) else {
            return Ok(self.or_blocks(listener, call, "EAGAIN"));
        };
        self.host.connections[index].awaits_accept_of = None;
        let options = self.sockets.get(listener).options.clone();
        let state = SocketState::Connected(ConnectionId(index));
        let nonblocking = call.names_of(3).contains(&"SOCK_NONBLOCK");
        let descriptor = call.expected_descriptor()?;
        self.sockets.add(descriptor, Socket { state, options, nonblocking, ..Socket::default() });
        Ok(Reply::Value(descriptor))
    }

    fn connect(&mut self, call: &Call) -> CallResult {
        let (socket, connection) = self.on_connection(call)?;
        let Some(id) = connection else {
            return self.begin_connection(call, socket);
        };
        let nonblocking = self.sockets.get(socket).nonblocking;
        let connection = self.host.connection(id);
        Ok(match connection.error.take() {
            Some(error) => Reply::Error(error),
            None if !connection.was_connected && nonblocking => Reply::Error("EALREADY"),
            None if !connection.was_connected => Reply::Blocks,
            None if nonblocking => Reply::Error("EISCONN"),
            None => Reply::Value(0),
        })
    }

    /// A connection opens, or waits for data that its SYN can carry.
    fn begin_connection(&mut self, call: &Call, socket: SocketId) -> CallResult {
        if self.sockets.get(socket).state == SocketState::Deferred {
            return Ok(Reply::Error("EISCONN"));
        }
        let by_option = self.sockets.get(socket).options.is_on("TCP_FASTOPEN_CONNECT");
        if by_option && self.can_send_syn_data() {
            self.sockets.get(socket).state = SocketState::Deferred;
            return Ok(Reply::Value(0));
        }
        let id = self.open_actively(socket, by_option)?;
        self.host.settle(id);
        Ok(self.or_blocks(socket, call, "EINPROGRESS"))
    }

    /// Whether data may leave with a SYN: the cookie is known, or none is needed.
    const fn can_send_syn_data(&self) -> bool {
        self.settings.fast_open.client_without_cookie() || self.host.cache.cookie.is_some()
    }

    /// The connection of a socket that opens actively, with Fast Open or without; nothing is sent yet.
    fn open_actively(&mut self, socket: SocketId, fast_open: bool) -> Result<ConnectionId, Unsupported> {
        let options = self.sockets.get(socket).options.clone();
        let role = if fast_open { Role::FastOpenClient } else { Role::Client };
        let (config, ports) = (self.config(&options, role)?, self.next_ports());
        let mut endpoint = Endpoint::connect(&config, ports, Seq(0));
        let without_cookie = self.settings.fast_open.client_without_cookie();
        if without_cookie {
            endpoint.need_no_fast_open_cookie(self.host.cache.mss);
        } else if let Some(known) = self.host.cache.known() {
            endpoint.use_fast_open_cookie(known);
            endpoint.always_show_fast_open_cookie();
        }
        let id = self.host.open(endpoint, ports);
        let experimental = self.host.cache.is_experimental();
        let connection = self.host.connection(id);
        connection.asks_for_fast_open = fast_open;
        connection.needs_no_cookie = without_cookie;
        connection.notation.experimental = experimental;
        self.sockets.get(socket).state = SocketState::Connected(id);
        self.apply(&options, id);
        Ok(id)
    }

    fn read(&mut self, call: &Call) -> CallResult {
        if call.argument(1)?.names() == ["NULL"] {
            return Ok(Reply::Error("EFAULT"));
        }
        let most = match call.argument(1)? {
            Expression::List(_) => call.vectors(1)?,
            _ => Bytes(call.integer(2)?.unsigned_abs()),
        };
        self.take_data(call, most)
    }

    fn receive_message(&mut self, call: &Call) -> CallResult {
        if call.has_flag("MSG_ERRQUEUE") {
            return self.read_error_queue(call);
        }
        let most = call.vectors_of_message(1)?;
        let reply = self.take_data(call, most)?;
        let (socket, id) = self.on_connection(call)?;
        let (Reply::Value(_), Some(id)) = (&reply, id) else { return Ok(reply) };
        let asks = self.sockets.get(socket).options.is_on("TCP_INQ");
        let connection = self.host.connection(id);
        // At the end of the stream there is always something to read on for (tcp.c, tcp_inq_hint).
        let left = connection.unread().0.max(u64::from(connection.at_end));
        let expected = call.control_data(1, "TCP_CM_INQ");
        Ok(match expected {
            Some(expected) if !asks || u64::try_from(expected) != Ok(left) => {
                let got = if asks { format!("cmsg_data={left}") } else { "no control message".to_owned() };
                Reply::Differs { expected: format!("cmsg_data={expected}"), got }
            }
            _ => reply,
        })
    }

    /// Takes up to `most` bytes of received data.
    pub(super) fn take_data(&mut self, call: &Call, most: Bytes) -> CallResult {
        let (socket, id) = self.on_connection(call)?;
        let Some(id) = id else {
            let waits = self.sockets.get(socket).state == SocketState::Deferred;
            return Ok(if waits { self.or_blocks(socket, call, "EAGAIN") } else { Reply::Error("ENOTCONN") });
        };
        let shut = self.sockets.get(socket).shut_read;
        let connection = self.host.connection(id);
        if connection.unread().is_zero() {
            return Ok(match connection.error.take() {
                Some(error) => Reply::Error(error),
                None if connection.at_end || shut || most.is_zero() => Reply::Value(0),
                None => self.or_blocks(socket, call, "EAGAIN"),
            });
        }
        let taken =
            if call.has_flag("MSG_PEEK") { most.min(connection.unread()) } else { connection.read(most) };
        self.host.settle(id);
        Ok(Reply::Value(number(taken)))
    }

    pub(super) fn write(&mut self, call: &Call) -> CallResult {
        if call.argument(1)?.names() == ["NULL"] {
            return Ok(Reply::Error("EFAULT"));
        }
        let wanted = match (call.name.as_str(), call.argument(1)?) {
            ("sendmsg", _) => call.vectors_of_message(1)?,
            ("sendfile", _) => Bytes(call.integer(3)?.unsigned_abs()),
            (_, Expression::List(_)) => call.vectors(1)?,
            _ => Bytes(call.integer(2)?.unsigned_abs()),
        };
        let (socket, id) = self.on_connection(call)?;
        let Some(id) = id else { return self.write_unconnected(call, socket, wanted) };
        let nonblocking = self.sockets.get(socket).nonblocking || call.has_flag("MSG_DONTWAIT");
        let before = self.sockets.get(socket).written;
        let shut = self.sockets.get(socket).shut_write;
        let connection = self.host.connection(id);
        if let Some(error) = connection.error.take() {
            self.sockets.get(socket).written = Bytes::ZERO;
            return Ok(Reply::Error(error));
        }
        if shut || !connection.is_open() {
            return Ok(Reply::Error("EPIPE"));
        }
        if connection.awaits_answer() {
            let error = if call.has_flag("MSG_FASTOPEN") { "EALREADY" } else { "EAGAIN" };
            return Ok(if nonblocking { Reply::Error(error) } else { Reply::Blocks });
        }
        let waiting = std::mem::take(&mut connection.writer_waits);
        if waiting && !self.is_writable(socket, id) {
            self.host.connection(id).writer_waits = true;
            return Ok(Reply::Blocks);
        }
        let total = before + self.fill_buffer(call, socket, id, wanted - before);
        let waits = total < wanted && !nonblocking;
        self.host.connection(id).lacks_room |= total < wanted;
        self.host.connection(id).writer_waits = waits;
        self.sockets.get(socket).written = if waits { total } else { Bytes::ZERO };
        if !waits && !total.is_zero() {
            self.ask_for_reports(call, socket, id);
        }
        Ok(match (waits, total.is_zero() && !wanted.is_zero()) {
            (true, _) => Reply::Blocks,
            (false, true) => Reply::Error("EAGAIN"),
            (false, false) => Reply::Value(number(total)),
        })
    }

    /// Data for a socket without a connection: with Fast Open they open one.
    fn write_unconnected(&mut self, call: &Call, socket: SocketId, wanted: Bytes) -> CallResult {
        if self.sockets.get(socket).state == SocketState::Deferred {
            return self.connect_with_data(call, socket, wanted);
        }
        if !call.has_flag("MSG_FASTOPEN") {
            return Ok(Reply::Error("EPIPE"));
        }
        if !self.settings.fast_open.client() || call.has_flag("AF_UNSPEC") {
            return Ok(Reply::Error("EOPNOTSUPP"));
        }
        self.connect_with_data(call, socket, wanted)
    }

    /// Opens a connection by Fast Open: with a cookie what fits goes with the SYN, without one the SYN asks for it. The
    /// call waits for the handshake, unless it must not (tcp.c, tcp_sendmsg_fastopen).
    fn connect_with_data(&mut self, call: &Call, socket: SocketId, wanted: Bytes) -> CallResult {
        let id = self.open_actively(socket, true)?;
        let taken = wanted.min(self.host.connection(id).endpoint.fast_open_room());
        self.hand_over(id, taken, call);
        self.settle_write(id, call);
        if !taken.is_zero() {
            self.ask_for_reports(call, socket, id);
        }
        let nonblocking = self.sockets.get(socket).nonblocking || call.has_flag("MSG_DONTWAIT");
        Ok(match (nonblocking, taken.is_zero()) {
            (false, _) => {
                self.sockets.get(socket).written = taken;
                let connection = self.host.connection(id);
                connection.awaits_connection = taken < wanted;
                connection.endpoint.set_writer_waits(taken < wanted);
                Reply::Blocks
            }
            (true, true) => Reply::Error("EINPROGRESS"),
            (true, false) => Reply::Value(number(taken)),
        })
    }

    /// Lets the endpoint send. A program that announces more data (MSG_MORE) holds a partial segment back for this call
    /// only: the next ACK releases it (tcp.c, tcp_push).
    pub(super) fn settle_write(&mut self, id: ConnectionId, call: &Call) {
        let corked = self.is_corked(id);
        self.host.connection(id).endpoint.set_corked(corked || call.has_flag("MSG_MORE"));
        self.host.settle(id);
        self.host.connection(id).endpoint.set_corked(corked);
    }

    /// Gives data to the endpoint.
    pub(super) fn hand_over(&mut self, id: ConnectionId, len: Bytes, call: &Call) {
        if len.is_zero() {
            return;
        }
        let more = call.has_flag("MSG_MORE");
        let endpoint = &mut self.host.connection(id).endpoint;
        let mut len = u32::try_from(len.0).unwrap_or(u32::MAX);
        for part in uncopied_parts(call, len) {
            endpoint.write(Payload::Pattern { offset: endpoint.acked().0, len: part });
            endpoint.end_record();
            len -= part;
        }
        let payload = Payload::Pattern { offset: endpoint.acked().0, len };
        if more {
            endpoint.write_more(payload);
        } else {
            endpoint.write(payload);
        }
        if call.has_flag("MSG_EOR") {
            endpoint.end_record();
        }
    }

    fn shutdown(&mut self, call: &Call) -> CallResult {
        let (socket, id) = self.on_connection(call)?;
        let how = call.names_of(1).first().map_or(String::new(), |name| (*name).to_owned());
        let Some(id) = id.filter(|id| self.host.connection(*id).is_open()) else {
            return Ok(Reply::Error("ENOTCONN"));
        };
        let socket = self.sockets.get(socket);
        let endpoint = &mut self.host.connection(id).endpoint;
        if matches!(how.as_str(), "SHUT_RD" | "SHUT_RDWR") {
            socket.shut_read = true;
            endpoint.shut_receiving();
        }
        if matches!(how.as_str(), "SHUT_WR" | "SHUT_RDWR") {
            socket.shut_write = true;
            endpoint.close();
        }
        self.host.settle(id);
        Ok(Reply::Value(0))
    }

    fn close(&mut self, call: &Call) -> CallResult {
        if self.files.remove(&call.integer(0)?).is_some() {
            return Ok(Reply::Value(0));
        }
        let (socket, id) = self.on_connection(call)?;
        self.sockets.remove(call.integer(0)?);
        let resets = self.sockets.get(socket).options.resets_on_close;
        match id {
            Some(id) => self.close_connection(id, resets),
            None => self.refuse_those_not_accepted(socket),
        }
        Ok(Reply::Value(0))
    }

    /// Unread data reset the connection, so that the peer learns of it (RFC 2525 §2.17).
    fn close_connection(&mut self, id: ConnectionId, resets: bool) {
        let connection = self.host.connection(id);
        if resets || !connection.unread().is_zero() {
            connection.endpoint.abort();
        } else {
            connection.endpoint.shut_receiving();
            connection.endpoint.close();
        }
        self.host.settle(id);
    }

    fn refuse_those_not_accepted(&mut self, listener: SocketId) {
        for index in 0..self.host.connections.len() {
            if self.host.connections[index].awaits_accept_of == Some(listener) {
                self.host.connections[index].endpoint.abort();
                self.host.settle(ConnectionId(index));
            }
        }
    }
}

/// The lengths of the packets, except the last, into which a message of many vectors is divided whose data are not
/// copied (`MSG_ZEROCOPY`): each vector is a fragment of its own (net/core/datagram.c, `zerocopy_fill_skb_from_iter`).
fn uncopied_parts(call: &Call, len: u32) -> Vec<u32> {
    let Some(lengths) = call.vector_lengths(1).filter(|_| call.has_flag("MSG_ZEROCOPY")) else {
        return Vec::new();
    };
    if lengths.iter().sum::<u32>() != len {
        return Vec::new();
    }
    let parts: Vec<u32> = lengths.chunks(MAX_SKB_FRAGS).map(|chunk| chunk.iter().sum()).collect();
    parts[..parts.len() - 1].to_vec()
}

/// Number of fragments that a packet of Linux has at most.
const MAX_SKB_FRAGS: usize = 17;

pub(super) fn number(bytes: Bytes) -> i64 {
    i64::try_from(bytes.0).unwrap_or(i64::MAX)
}
