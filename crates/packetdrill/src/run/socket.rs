//! Sockets: the objects of a program's descriptors, with the options that it has set.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use units::{Bytes, Duration};

use super::fast_open::CookieKey;
use super::ids::{ConnectionId, SocketId};

/// A socket.
#[derive(Clone, Debug, Default)]
pub(super) struct Socket {
    pub state: SocketState,
    pub options: SocketOptions,
    pub nonblocking: bool,
    /// `shutdown(SHUT_RD)`.
    pub shut_read: bool,
    /// `shutdown(SHUT_WR)`.
    pub shut_write: bool,
    /// Bytes that a write in progress has handed over.
    pub written: Bytes,
}

/// The use of a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SocketState {
    /// Nothing yet.
    #[default]
    Fresh,
    /// It waits for connections.
    Listening,
    /// `connect` has returned, and the SYN waits for data (`TCP_FASTOPEN_CONNECT`).
    Deferred,
    /// It is one end of a connection.
    Connected(ConnectionId),
}

/// The part that a socket plays in the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It opens passively.
    Server,
    /// It opens actively.
    Client,
    /// It opens actively, with Fast Open.
    FastOpenClient,
}

/// The options that a program has set.
#[derive(Clone, Debug, Default)]
pub(super) struct SocketOptions {
    /// Values of options by their names, as they are read back.
    pub values: BTreeMap<String, i64>,
    /// `SO_LINGER` with a time of 0: closing resets.
    pub resets_on_close: bool,
    /// `TCP_CONGESTION`.
    pub congestion: Option<String>,
    /// The key of its Fast Open cookies (`TCP_FASTOPEN_KEY`).
    pub cookie_key: Option<CookieKey>,
}

impl SocketOptions {
    pub(super) fn get(&self, name: &str) -> Option<i64> {
        self.values.get(name).copied()
    }

    pub(super) fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value != 0)
    }

    /// Size of the send buffer, if a program sets it: twice the requested value (socket(7)).
    pub(super) fn send_buffer(&self) -> Option<Bytes> {
        self.get("SO_SNDBUF").map(|bytes| Bytes(bytes.unsigned_abs()).max(LEAST_SEND_BUFFER))
    }

    /// Size of the receive buffer, likewise.
    pub(super) fn receive_buffer(&self) -> Option<Bytes> {
        self.get("SO_RCVBUF").map(|bytes| Bytes(bytes.unsigned_abs()))
    }

    /// The unsent data below which the socket is writable (`TCP_NOTSENT_LOWAT`), if it sets a limit.
    pub(super) fn unsent_limit(&self) -> Option<Bytes> {
        self.get("TCP_NOTSENT_LOWAT").filter(|limit| *limit > 0).map(|limit| Bytes(limit.unsigned_abs()))
    }

    pub(super) fn user_timeout(&self) -> Option<Duration> {
        self.get("TCP_USER_TIMEOUT").map(|millis| Duration::from_millis(millis.unsigned_abs()))
    }

    /// Lays the options that are keys of a profile over it.
    pub(super) fn lay_over(&self, profile: &mut Value) {
        if let Some(size) = self.get("TCP_MAXSEG") {
            profile["mss"] = json!(format!("{size} bytes"));
        }
        if let Some(size) = self.get("SO_RCVBUF") {
            lay_receive_buffer(&mut profile["window"], size);
        }
        if self.is_on("SO_KEEPALIVE") {
            profile["keep_alive"] = json!(true);
        }
        if self.is_on("TCP_NOOPT") {
            for key in ["announces_mss", "window_scale", "timestamps", "sack"] {
                profile[key] = json!(false);
            }
            profile["recovery"] = json!("new-reno");
        }
        for (option, key) in [
            ("TCP_KEEPIDLE", "keep_alive_idle"),
            ("TCP_KEEPINTVL", "keep_alive_interval"),
            ("TCP_KEEPINIT", "open_timeout"),
        ] {
            if let Some(seconds) = self.get(option) {
                profile[key] = json!(format!("{seconds} s"));
            }
        }
        for (option, key) in [("TCP_KEEPCNT", "keep_alive_probes"), ("TCP_SYNCNT", "syn_retries")] {
            if let Some(count) = self.get(option) {
                profile[key] = json!(count);
            }
        }
        if let Some(millis) = self.get("TCP_RTO_MAX_MS") {
            super::settings::set_parameter(&mut profile["rto"], "max", json!(format!("{millis} ms")));
        }
        if let Some(name) = &self.congestion {
            super::settings::set_congestion_control(profile, name);
        }
    }
}

/// `SOCK_MIN_SNDBUF`: no setting makes a send buffer smaller.
const LEAST_SEND_BUFFER: Bytes = Bytes(4608);

/// A receive buffer of `size` bytes, which does not grow: where packets count with their memory, as many, and otherwise
/// half of them (socket(7)).
fn lay_receive_buffer(window: &mut Value, size: i64) {
    let bytes = |size: i64| json!(format!("{size} bytes"));
    if registry::name_of(window) == Some("right-sizing") {
        super::settings::set_parameter(window, "initial", bytes(size));
        super::settings::set_parameter(window, "greatest", bytes(size));
    } else {
        *window = json!({ "fixed": { "size": bytes(size / 2) } });
    }
}

/// The sockets of a program, and the descriptors by which the script calls them.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    all: Vec<Socket>,
    descriptors: BTreeMap<i64, SocketId>,
}

impl Sockets {
    pub(super) fn add(&mut self, descriptor: i64, socket: Socket) -> SocketId {
        self.all.push(socket);
        let id = SocketId(self.all.len() - 1);
        self.descriptors.insert(descriptor, id);
        id
    }

    pub(super) fn named(&self, descriptor: i64) -> Option<SocketId> {
        self.descriptors.get(&descriptor).copied()
    }

    pub(super) fn remove(&mut self, descriptor: i64) -> Option<SocketId> {
        self.descriptors.remove(&descriptor)
    }

    pub(super) fn get(&mut self, id: SocketId) -> &mut Socket {
        &mut self.all[id.0]
    }

    /// The socket of a connection.
    pub(super) fn of_connection(&self, id: ConnectionId) -> Option<&Socket> {
        self.all.iter().find(|socket| socket.state == SocketState::Connected(id))
    }

    /// All descriptors with their sockets.
    pub(super) fn by_descriptor(&self) -> Vec<(i64, SocketId)> {
        self.descriptors.iter().map(|(descriptor, socket)| (*descriptor, *socket)).collect()
    }

    /// The listening socket, if one has a descriptor.
    pub(super) fn listening(&self) -> Option<SocketId> {
        self.descriptors.values().copied().find(|id| self.all[id.0].state == SocketState::Listening)
    }
}
