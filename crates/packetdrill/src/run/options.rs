//! The options of sockets and descriptors that a script sets and reads.

use super::ScriptRun;
use super::arguments::{Arguments, Unsupported, value_of};
use super::calls::number;
use super::error_queue::timestamping_flags;
use super::fast_open::CookieKey;
use super::ids::{ConnectionId, SocketId};
use super::reply::{CallResult, Reply};
use super::settings::PROGRAM;
use super::socket::{SocketOptions, SocketState};
use crate::script::{Call, Expression};

/// The effect of setting an option.
enum OptionEffect {
    /// Its value is kept and can be read back; it takes effect when a connection begins.
    Kept,
    /// It has no effect on what TCP sends.
    NoEffect,
    /// It can be set only where the host takes part as a client of Fast Open.
    FastOpenClient,
    /// The key of a server's Fast Open cookies.
    CookieKey,
    /// It acts on the connection at once.
    Acts(fn(&mut ScriptRun, ConnectionId)),
}

use OptionEffect::{Acts, FastOpenClient, Kept, NoEffect};

/// The options that are known.
const OPTIONS: &[(&str, OptionEffect)] = &[
    ("SO_REUSEADDR", NoEffect),
    ("SO_REUSEPORT", NoEffect),
    ("SO_DEBUG", NoEffect),
    ("SO_ZEROCOPY", Kept),
    ("SO_TIMESTAMPING", Acts(ScriptRun::begin_timestamps)),
    ("IP_TOS", NoEffect),
    ("IP_MTU_DISCOVER", NoEffect),
    ("IP_FREEBIND", NoEffect),
    ("SO_PRIORITY", NoEffect),
    ("SO_MARK", NoEffect),
    ("SO_SNDBUF", Kept),
    ("SO_RCVBUF", Acts(ScriptRun::set_receive_buffer)),
    ("SO_KEEPALIVE", Kept),
    ("SO_LINGER", Kept),
    ("TCP_MAXSEG", Kept),
    ("TCP_CONGESTION", Kept),
    ("TCP_INQ", Kept),
    ("TCP_KEEPIDLE", Kept),
    ("TCP_KEEPINTVL", Kept),
    ("TCP_KEEPCNT", Kept),
    ("TCP_KEEPINIT", Kept),
    ("TCP_NOOPT", Kept),
    ("TCP_SYNCNT", Acts(ScriptRun::set_syn_retries)),
    ("TCP_RTO_MAX_MS", Kept),
    ("TCP_FASTOPEN", Kept),
    ("TCP_FASTOPEN_CONNECT", FastOpenClient),
    ("TCP_FASTOPEN_KEY", OptionEffect::CookieKey),
    ("TCP_NOTSENT_LOWAT", Kept),
    ("TCP_NODELAY", Acts(ScriptRun::release_partial_segment)),
    ("TCP_CORK", Acts(ScriptRun::release_partial_segment)),
    ("TCP_USER_TIMEOUT", Acts(ScriptRun::set_user_timeout)),
];

impl ScriptRun {
    pub(super) fn set_option(&mut self, call: &Call) -> CallResult {
        let (socket, connection) = self.on_connection(call)?;
        let name = option_name(call)?;
        let Some((_, setting)) = OPTIONS.iter().find(|(known, _)| *known == name) else {
            return Err(unknown(name));
        };
        if matches!(setting, NoEffect) {
            return Ok(Reply::Value(0));
        }
        if matches!(setting, OptionEffect::CookieKey) {
            return self.set_cookie_key(call, socket);
        }
        if matches!(setting, FastOpenClient) && !self.settings.fast_open.client() {
            return Ok(Reply::Error("EOPNOTSUPP"));
        }
        let socket = self.sockets.get(socket);
        keep(&mut socket.options, name, call.argument(3)?)?;
        if let (Acts(act), Some(connection)) = (setting, connection) {
            act(self, connection);
        }
        Ok(Reply::Value(0))
    }

    fn set_cookie_key(&mut self, call: &Call, socket: SocketId) -> CallResult {
        let key = match call.argument(3)? {
            Expression::Text(text) => CookieKey::from_string(text),
            _ => None,
        };
        let Some(key) = key else { return Ok(Reply::Error("EINVAL")) };
        self.sockets.get(socket).options.cookie_key = Some(key);
        Ok(Reply::Value(0))
    }

    pub(super) fn get_option(&mut self, call: &Call) -> CallResult {
        let (socket, connection) = self.on_connection(call)?;
        let name = option_name(call)?;
        let kept = self.sockets.get(socket).options.get(name);
        let got = match (name, connection) {
            ("SO_ERROR", Some(id)) => {
                let error = self.host.connection(id).error.take();
                return Ok(error_read(call.argument(3)?, error));
            }
            ("SO_ERROR", None) => 0,
            ("TCP_MAXSEG", Some(id)) => number(self.host.connection(id).endpoint.agreed().smss),
            ("TCP_MAXSEG", None) => kept.unwrap_or(536),
            ("TCP_INFO", _) => return Ok(Reply::Value(0)),
            _ => match kept {
                Some(value) => value,
                None if OPTIONS.iter().any(|(known, _)| *known == name) => 0,
                None => return Err(unknown(name)),
            },
        };
        Ok(checked(call.argument(3)?, got))
    }

    /// Nagle's rule, `TCP_CORK`, and a partial segment that need no longer wait.
    fn release_partial_segment(&mut self, id: ConnectionId) {
        let (nodelay, corked) = (self.has_option(id, "TCP_NODELAY"), self.is_corked(id));
        let endpoint = &mut self.host.connection(id).endpoint;
        endpoint.set_nagle(!nodelay);
        endpoint.set_corked(corked);
        // TCP_NODELAY sends pending data even under a cork (tcp.c, __tcp_sock_set_nodelay).
        if nodelay {
            endpoint.set_corked(false);
        }
        self.host.settle(id);
        self.host.connection(id).endpoint.set_corked(corked);
    }

    fn set_syn_retries(&mut self, id: ConnectionId) {
        if let Some(retries) = self.options_of(id).get("TCP_SYNCNT") {
            self.host.connection(id).endpoint.set_syn_retries(u32::try_from(retries).unwrap_or(u32::MAX));
        }
    }

    fn set_receive_buffer(&mut self, id: ConnectionId) {
        if let Some(size) = self.options_of(id).receive_buffer() {
            self.host.connection(id).endpoint.set_receive_buffer(size);
        }
    }

    fn set_user_timeout(&mut self, id: ConnectionId) {
        let limit = self.options_of(id).user_timeout();
        self.host.connection(id).endpoint.set_user_timeout(limit);
    }

    /// Gives a connection the options that its socket had before.
    pub(super) fn apply(&mut self, options: &SocketOptions, id: ConnectionId) {
        let endpoint = &mut self.host.connection(id).endpoint;
        endpoint.set_nagle(!options.is_on("TCP_NODELAY"));
        endpoint.set_corked(options.is_on("TCP_CORK"));
        endpoint.set_user_timeout(options.user_timeout());
    }

    pub(super) fn is_corked(&mut self, id: ConnectionId) -> bool {
        self.has_option(id, "TCP_CORK")
    }

    fn has_option(&mut self, id: ConnectionId, name: &str) -> bool {
        self.options_of(id).is_on(name)
    }

    fn options_of(&mut self, id: ConnectionId) -> SocketOptions {
        self.sockets.of_connection(id).map(|socket| socket.options.clone()).unwrap_or_default()
    }

    /// `fcntl`: whether calls block.
    pub(super) fn control_descriptor(&mut self, call: &Call) -> CallResult {
        let socket = self.on_socket(call)?;
        let socket = self.sockets.get(socket);
        match call.names_of(1).as_slice() {
            ["F_GETFL"] => Ok(Reply::Value(O_RDWR | if socket.nonblocking { O_NONBLOCK } else { 0 })),
            ["F_SETFL"] => {
                socket.nonblocking = call.names_of(2).contains(&"O_NONBLOCK");
                Ok(Reply::Value(0))
            }
            _ => Err(Unsupported {
                what: format!("fcntl has no command {}", call.argument(1)?),
                remedy: "use F_GETFL or F_SETFL".to_owned(),
            }),
        }
    }

    /// `ioctl`: number of bytes that wait to be read or sent.
    pub(super) fn control_device(&mut self, call: &Call) -> CallResult {
        let (_, id) = self.on_connection(call)?;
        let Some(id) = id else { return Ok(Reply::Error("EINVAL")) };
        let connection = self.host.connection(id);
        let got = match call.names_of(1).as_slice() {
            ["SIOCINQ" | "FIONREAD"] => connection.unread(),
            ["SIOCOUTQ"] => connection.held_for_sending(),
            ["SIOCOUTQNSD"] => connection.endpoint.unsent(),
            _ => {
                return Err(Unsupported {
                    what: format!("ioctl has no request {}", call.argument(1)?),
                    remedy: "use SIOCINQ, SIOCOUTQ or SIOCOUTQNSD".to_owned(),
                });
            }
        };
        Ok(checked(call.argument(2)?, number(got)))
    }

    /// `poll` over one or more descriptors.
    pub(super) fn poll(&mut self, call: &Call) -> CallResult {
        let Expression::List(entries) = call.argument(0)?.clone() else {
            return Err(Unsupported {
                what: "poll has no list of descriptors".to_owned(),
                remedy: "write [{fd=3, events=POLLIN, revents=0}]".to_owned(),
            });
        };
        let mut ready = 0;
        for entry in &entries {
            let descriptor = entry.field("fd").and_then(Expression::integer).unwrap_or(-1);
            let asked = entry.field("events").map(Expression::names).unwrap_or_default();
            let got = self.ready_for(descriptor, &asked);
            ready += i64::from(!got.is_empty());
            let expected = entry.field("revents").map(Expression::names).unwrap_or_default();
            let same = expected.len() == got.len() && expected.iter().all(|event| got.contains(event));
            if !same && (!got.is_empty() || call.integer(2)? == 0) {
                return Ok(Reply::Differs { expected: expected.join("|"), got: got.join("|") });
            }
        }
        Ok(if ready == 0 && call.integer(2)? != 0 { Reply::Blocks } else { Reply::Value(ready) })
    }

    /// The events of `asked` that a descriptor is ready for, and those that are always reported.
    pub(super) fn ready_for(&mut self, descriptor: i64, asked: &[&str]) -> Vec<&'static str> {
        let mut got = self.readiness(descriptor);
        got.retain(|event| asked.contains(event) || ALWAYS_REPORTED.contains(event));
        got
    }

    /// The events that a descriptor is ready for (net/ipv4/tcp.c, `tcp_poll`).
    fn readiness(&mut self, descriptor: i64) -> Vec<&'static str> {
        let Some(socket) = self.sockets.named(descriptor) else { return vec!["POLLNVAL"] };
        let state = self.sockets.get(socket).state;
        match state {
            SocketState::Fresh => vec!["POLLOUT", "POLLHUP"],
            SocketState::Deferred => vec!["POLLOUT"],
            SocketState::Listening if self.has_waiting_connection(socket) => vec!["POLLIN"],
            SocketState::Listening => Vec::new(),
            SocketState::Connected(id) => self.readiness_of(socket, id),
        }
    }

    fn has_waiting_connection(&self, listener: SocketId) -> bool {
        self.host
            .connections
            .iter()
            .any(|connection| connection.awaits_accept_of == Some(listener) && connection.was_connected)
    }

    fn readiness_of(&mut self, socket: SocketId, id: ConnectionId) -> Vec<&'static str> {
        let writable = self.is_writable(socket, id);
        let shut = self.sockets.get(socket).shut_read;
        let connection = self.host.connection(id);
        let ends = connection.at_end || shut;
        let begun = connection.was_connected || connection.is_gone();
        let conditions = [
            ("POLLIN", !connection.unread().is_zero() || ends),
            ("POLLRDHUP", ends),
            ("POLLOUT", begun && (writable || connection.is_gone())),
            ("POLLERR", connection.error.is_some() || connection.has_reports()),
            ("POLLHUP", connection.is_gone()),
        ];
        conditions.iter().filter(|(_, holds)| *holds).map(|(event, _)| *event).collect()
    }
}

/// Events that are reported whether or not a program asks for them (poll(2)).
const ALWAYS_REPORTED: [&str; 3] = ["POLLERR", "POLLHUP", "POLLNVAL"];
const O_RDWR: i64 = 2;
const O_NONBLOCK: i64 = 0o4000;

/// The value of `SO_ERROR`: 0, or the error, which a script writes by its name.
fn error_read(expected: &Expression, error: Option<&'static str>) -> Reply {
    let wanted = match expected {
        Expression::List(values) => values.first(),
        other => Some(other),
    };
    let agrees = match (wanted, error) {
        (None | Some(Expression::Any), _) => true,
        (Some(Expression::Integer(0)), None) => true,
        (Some(wanted), Some(error)) => wanted.names() == [error],
        _ => false,
    };
    if agrees {
        return Reply::Value(0);
    }
    Reply::Differs { expected: expected.to_string(), got: error.unwrap_or("no error").to_owned() }
}

fn option_name(call: &Call) -> Result<&str, Unsupported> {
    call.names_of(2).first().copied().ok_or_else(|| Unsupported {
        what: format!("{} names no option", call.name),
        remedy: "write an option by its name, like TCP_NODELAY".to_owned(),
    })
}

fn unknown(name: &str) -> Unsupported {
    let known: Vec<&str> = OPTIONS.iter().map(|(name, _)| *name).collect();
    Unsupported {
        what: format!("the socket option {name} is not supported"),
        remedy: format!("use one of {}, or take the line out", known.join(", ")),
    }
}

fn keep(options: &mut SocketOptions, name: &str, value: &Expression) -> Result<(), Unsupported> {
    match (name, value) {
        ("TCP_CONGESTION", Expression::Text(text)) if text == PROGRAM => {
            return Err(Unsupported {
                what: format!("a script brings no program for the congestion control {text}"),
                remedy: "name one of lasthop list congestion that needs no file".to_owned(),
            });
        }
        ("SO_TIMESTAMPING", value) => {
            options.values.insert(name.to_owned(), timestamping_flags(value)?);
        }
        ("TCP_CONGESTION", Expression::Text(text)) => options.congestion = Some(text.clone()),
        ("SO_LINGER", value) => {
            let part = |name| value.field(name).and_then(Expression::integer);
            options.resets_on_close = part("onoff") == Some(1) && part("linger") == Some(0);
        }
        _ => {
            let number = value_of(value).ok_or_else(|| Unsupported {
                what: format!("the value of {name} is {value}"),
                remedy: "write a number between brackets, like [1]".to_owned(),
            })?;
            // Linux doubles buffers to have room for its own records (socket(7)).
            let doubled = if name.ends_with("BUF") { number * 2 } else { number };
            options.values.insert(name.to_owned(), doubled);
        }
    }
    Ok(())
}

/// 0, if the script expects `got` to be written, or does not care.
fn checked(expected: &Expression, got: i64) -> Reply {
    match value_of(expected) {
        Some(value) if value != got => {
            Reply::Differs { expected: format!("[{value}]"), got: format!("[{got}]") }
        }
        _ => Reply::Value(0),
    }
}
