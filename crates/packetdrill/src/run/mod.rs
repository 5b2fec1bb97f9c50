//! Runs a script in virtual time against an endpoint.
//!
//! The order of things is packetdrill's: each event of the script waits for its time, except that of a segment which is
//! expected to go out: that one waits for the segment. Relative times count from when the event before it was over.
//!
//! `calls.rs` and `options.rs` carry system calls out, `compare.rs` holds what went out against the script,
//! `settings.rs` and `shell.rs` set the host up, `tcp_info.rs` is what assertions see, `host.rs` is the clock and the
//! connections.

mod arguments;
mod calls;
mod compare;
mod connection;
mod epoll;
mod fast_open;
mod host;
mod ids;
mod options;
mod reply;
mod segment;
mod send_buffer;
mod settings;
mod shell;
mod socket;
mod tcp_info;
mod timeline;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use serde_json::Value;
use tcp::{Config, Endpoint, Ports};
use units::{Bytes, Duration, Instant, Seq};
use wire::FastOpenCookie;

use arguments::Unsupported;
use epoll::EpollInstance;
use host::TestedHost;
use ids::{ConnectionId, START};
use reply::Reply;
use segment::Clocks;
use settings::KernelSettings;
use shell::Request;
use socket::{Role, SocketOptions, Sockets};
pub use timeline::TimelineEvent;

use crate::python::{self, Namespace};
use crate::script::{
    Action, Call, Direction, Event, EventTime, Expression, IcmpKind, IcmpMessage, Packet, Script,
    ScriptOption,
};
use crate::text::seconds;

/// Outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The first difference from the script; none if it has passed.
    pub failure: Option<Failure>,
    /// Settings and commands of the script that were left out.
    pub notes: Vec<String>,
}

/// The first difference from the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Line of the script.
    pub line: u32,
    /// The expected result.
    pub expected: String,
    /// The actual result.
    pub got: String,
    /// Events before it, oldest first.
    pub timeline: Vec<TimelineEvent>,
}

/// Why a script cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Refusal {
    /// Line of the script.
    pub line: u32,
    /// The unsupported request.
    pub what: String,
    /// The remedy.
    pub remedy: String,
}

/// Tolerance of the times of packets and calls, unless `--tolerance_usecs` sets another.
const TOLERANCE: Duration = Duration::from_millis(4);
/// Time after which a missing segment counts as not sent.
const PATIENCE: Duration = Duration::from_secs(300);
/// Length of the headers of IP and TCP.
const HEADERS_OF_IPV4: Bytes = Bytes(40);
const HEADERS_OF_IPV6: Bytes = Bytes(60);
/// Ports of the host and, for the first connection, of its peer.
const LOCAL_PORT: u16 = 8080;
const FIRST_REMOTE_PORT: u16 = 32_768;

/// Runs a script against the TCP of a profile; `read_file` gives the text of a file of shell commands that it names.
///
/// # Errors
/// A system call, an option or a setting that is not supported.
pub fn run(
    script: &Script,
    profile: &Value,
    read_file: &dyn Fn(&str) -> Option<String>,
) -> Result<Outcome, Refusal> {
    let mut machine = ScriptRun::new(KernelSettings::new(profile.clone()));
    machine.take_options(script)?;
    machine.server_cookie = segment::server_cookie(&script.events);
    if let Some(init) = &script.init {
        machine.set_up(init.line, &init.text, read_file)?;
    }
    let failure = match machine.play(&script.events, read_file) {
        Ok(()) => None,
        Err(Stop::Failed(failure)) => Some(*failure),
        Err(Stop::Refused(refusal)) => return Err(refusal),
    };
    Ok(Outcome { failure, notes: machine.settings.notes })
}

/// Why a run goes no further.
enum Stop {
    Failed(Box<Failure>),
    Refused(Refusal),
}

/// The host and the program that runs on it.
#[derive(Debug)]
struct ScriptRun {
    host: TestedHost,
    sockets: Sockets,
    settings: KernelSettings,
    clocks: Clocks,
    tolerance: Duration,
    names: Namespace,
    /// The addresses of both ends, from which a server computes Fast Open cookies.
    addresses: Addresses,
    /// The Fast Open cookie of the script, which a server without a key gives.
    server_cookie: Option<FastOpenCookie>,
    epolls: BTreeMap<i64, EpollInstance>,
    /// Length of the headers of IP and TCP.
    header_len: Bytes,
    /// Payload of the segments of which larger arrivals consist (`--mss`); by default the peer's segment size.
    gso_size: Option<Bytes>,
    /// A call that blocks.
    blocked: Option<Blocked>,
}

/// The addresses of both ends.
#[derive(Clone, Copy, Debug)]
struct Addresses {
    local: Ipv4Addr,
    remote: Ipv4Addr,
}

impl Addresses {
    /// Those that packetdrill gives without options.
    const DEFAULT: Self = Self { local: Ipv4Addr::new(192, 168, 0, 1), remote: Ipv4Addr::new(192, 0, 2, 1) };
}

/// A call that blocks.
#[derive(Clone, Debug)]
struct Blocked {
    call: Call,
    line: u32,
    /// Time at which the script expects it to return.
    until: Option<Instant>,
}

impl ScriptRun {
    fn new(settings: KernelSettings) -> Self {
        Self {
            host: TestedHost::new(),
            sockets: Sockets::default(),
            settings,
            clocks: Clocks::default(),
            tolerance: TOLERANCE,
            names: Namespace::default(),
            addresses: Addresses::DEFAULT,
            server_cookie: None,
            epolls: BTreeMap::new(),
            header_len: HEADERS_OF_IPV4,
            gso_size: None,
            blocked: None,
        }
    }

    fn take_options(&mut self, script: &Script) -> Result<(), Refusal> {
        for option in &script.options {
            let address = || address(option);
            let micros = || {
                option.value.parse().map(Duration::from_micros).map_err(|_| Refusal {
                    line: option.line,
                    what: format!("--{}={} is no time", option.name, option.value),
                    remedy: "write microseconds, like 4000".to_owned(),
                })
            };
            match option.name.as_str() {
                "tolerance_usecs" => self.tolerance = micros()?,
                "tcp_ts_tick_usecs" => self.clocks.tick = Some(micros()?).filter(|tick| !tick.is_zero()),
                "mss" => self.gso_size = Some(segment_size(option)?),
                "ip_version" if option.value == "ipv6" => self.use_ipv6(),
                "local_ip" => match address()? {
                    IpAddr::V4(address) => self.addresses.local = address,
                    IpAddr::V6(_) => self.use_ipv6(),
                },
                "remote_ip" => match address()? {
                    IpAddr::V4(address) => self.addresses.remote = address,
                    IpAddr::V6(_) => self.use_ipv6(),
                },
                name => self.settings.notes.push(format!("the option --{name} is left out")),
            }
        }
        Ok(())
    }

    /// The headers of IPv6 leave 20 bytes less for a segment on a link of the same size.
    fn use_ipv6(&mut self) {
        self.header_len = HEADERS_OF_IPV6;
        self.settings.profile["mss"] = serde_json::json!("1440 bytes");
    }

    /// The cookie that a server gives to the peer: by the key of its socket or of the host, else the script's.
    fn cookie_for_peer(&self, options: &SocketOptions) -> Option<FastOpenCookie> {
        match options.cookie_key.or(self.settings.cookie_key) {
            Some(key) => key.cookie(self.addresses.remote, self.addresses.local),
            None => self.server_cookie,
        }
    }

    /// Does what the shell commands of a line ask for.
    fn set_up(
        &mut self,
        line: u32,
        commands: &str,
        read_file: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), Refusal> {
        for request in shell::requests(commands) {
            match request {
                Request::Setting { name, value } => self.settings.set(&name, &value),
                Request::ForgetsPeers => self.host.cache = fast_open::ServerCache::default(),
                Request::DeviceRefuses(refuses) => self.host.device_refuses = refuses,
                Request::File(file) => match read_file(&file) {
                    Some(commands) => self.set_up(line, &commands, &|_| None)?,
                    None => self.settings.notes.push(format!("{file} is not there and is left out")),
                },
                Request::Unmodelled(command) => {
                    self.settings.refused.push(format!("what \"{command}\" sets up is not modelled"));
                }
                Request::Unknown(command) => {
                    self.settings.notes.push(format!("the command \"{command}\" is left out"));
                }
            }
        }
        match self.settings.refused.pop() {
            Some(what) => {
                let remedy = "take the command out, if the script does not depend on it".to_owned();
                Err(Refusal { line, what, remedy })
            }
            None => Ok(()),
        }
    }

    fn play(&mut self, events: &[Event], read_file: &dyn Fn(&str) -> Option<String>) -> Result<(), Stop> {
        for event in events {
            let due = self.due(event)?;
            match &event.action {
                Action::Packet(packet) if packet.direction == Direction::Outbound => {
                    self.expect(event, due, packet)?;
                }
                action => {
                    self.advance(due)?;
                    self.act(event, action, read_file)?;
                }
            }
        }
        self.finish()
    }

    /// Time at which an event is to happen: relative times count from now.
    fn due(&self, event: &Event) -> Result<Instant, Stop> {
        let due = match event.time {
            EventTime::Absolute(at) | EventTime::AbsoluteRange(at, _) => START + at,
            EventTime::Relative(after) | EventTime::RelativeRange(after, _) => self.host.now + after,
            EventTime::Any => self.host.now,
        };
        if due < self.host.now && !matches!(event.action, Action::Packet(_)) {
            let expected = format!("an event at {} s", event.time);
            let got = format!("it is {} s already", seconds(self.host.elapsed()));
            return Err(self.failure(event.line, expected, got));
        }
        Ok(due)
    }

    fn act(
        &mut self,
        event: &Event,
        action: &Action,
        read_file: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), Stop> {
        let line = Some(event.line);
        match action {
            Action::Packet(packet) => {
                self.host.timeline.add(self.host.now, line, &packet.to_string());
                self.arrive(packet, event.line)?;
                self.retry_blocked()
            }
            Action::Icmp(message) => {
                self.host.timeline.add(self.host.now, line, &message.to_string());
                self.report(message, event.line)?;
                self.retry_blocked()
            }
            Action::Call(call) => self.issue(event, call),
            Action::Command(text) => self.set_up(event.line, text, read_file).map_err(Stop::Refused),
            Action::Code(code) => self.assert(event.line, code),
        }
    }

    /// A segment comes in: to a socket that listens, if it opens a connection, else to the connection of last.
    fn arrive(&mut self, packet: &Packet, line: u32) -> Result<(), Stop> {
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
    fn report(&mut self, message: &IcmpMessage, line: u32) -> Result<(), Stop> {
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

    fn next_ports(&self) -> Ports {
        let count = u16::try_from(self.host.connections.len()).unwrap_or(0);
        Ports { local: LOCAL_PORT, remote: FIRST_REMOTE_PORT.wrapping_add(count) }
    }

    /// The configuration of a socket's endpoint.
    fn config(&self, options: &SocketOptions, role: Role) -> Result<Arc<Config>, Unsupported> {
        let mut profile = self.settings.profile.clone();
        options.lay_over(&mut profile);
        if self.settings.answers_ecn_only && role != Role::Server {
            profile["ecn"] = false.into();
        }
        let serves = self.settings.fast_open.server(options.is_on("TCP_FASTOPEN"));
        profile["fast_open"] = match role {
            Role::Server if serves => "server".into(),
            Role::FastOpenClient => "client".into(),
            _ => false.into(),
        };
        let config = Config::from_profile(&profile);
        config.map(Arc::new).map_err(|error| Unsupported {
            what: format!("{}: {}", error.path, error.message),
            remedy: error.help,
        })
    }

    /// Lets time pass up to `until`.
    fn advance(&mut self, until: Instant) -> Result<(), Stop> {
        while let Some(at) = self.host.next_timeout().filter(|at| *at <= until) {
            self.host.run_timers(at);
            self.retry_blocked()?;
        }
        self.host.now = self.host.now.max(until);
        Ok(())
    }

    /// Waits for the next segment that goes out, and compares it.
    fn expect(&mut self, event: &Event, due: Instant, packet: &Packet) -> Result<(), Stop> {
        let limit = due + PATIENCE;
        while !self.has_segment_of_last() {
            let Some(at) = self.host.next_timeout().filter(|at| *at <= limit) else {
                return Err(self.failure(event.line, packet.to_string(), "no segment goes out".to_owned()));
            };
            self.host.run_timers(at);
            self.retry_blocked()?;
        }
        let notation = self.notation_for(packet);
        let Some((at, came)) = compare::take(&mut self.host.outgoing, packet, notation) else {
            return Ok(());
        };
        let earliest = self.earliest(event, due);
        let latest = self.latest(event, due);
        if let Some(what) = compare::difference(packet, &came, &mut self.clocks, self.tolerance) {
            // Window and ECN field are omitted where the script omits them.
            let came =
                Packet { window: packet.window.and(came.window), ecn: packet.ecn.and(came.ecn), ..came };
            return Err(self.failure(event.line, packet.to_string(), format!("{came} ({what})")));
        }
        if at < earliest || at > latest {
            let expected = format!("{packet} at {} s", seconds(due.saturating_since(START)));
            let got = format!("it at {} s", seconds(at.saturating_since(START)));
            return Err(self.failure(event.line, expected, got));
        }
        self.host.now = self.host.now.max(at);
        Ok(())
    }

    /// Whether the connection of last has sent something; segments of those before it are not compared any more.
    fn has_segment_of_last(&mut self) -> bool {
        let last = self.host.connections.len().saturating_sub(1);
        self.host.outgoing.retain(|sent| sent.connection == ConnectionId(last));
        !self.host.outgoing.is_empty()
    }

    /// How the script writes the segments of the connection of last; a SYN of ours shows our initial number.
    fn notation_for(&mut self, expected: &Packet) -> segment::Notation {
        let Some(last) = self.host.connections.last_mut() else { return segment::Notation::default() };
        if expected.flags.syn {
            last.notation.ours = expected.start;
        }
        last.notation
    }

    fn earliest(&self, event: &Event, due: Instant) -> Instant {
        match event.time {
            EventTime::Any => START,
            _ => Instant::from_nanos(due.as_nanos().saturating_sub(self.tolerance.as_nanos())),
        }
    }

    fn latest(&self, event: &Event, due: Instant) -> Instant {
        match event.time {
            EventTime::Any => Instant::NEVER,
            EventTime::AbsoluteRange(_, end) => START + end + self.tolerance,
            EventTime::RelativeRange(start, end) => due + end.saturating_sub(start) + self.tolerance,
            EventTime::Absolute(_) | EventTime::Relative(_) => due + self.tolerance,
        }
    }

    fn issue(&mut self, event: &Event, call: &Call) -> Result<(), Stop> {
        if let Some(blocked) = &self.blocked {
            let got = format!("{} of line {} still blocks", blocked.call.name, blocked.line);
            return Err(self.failure(event.line, call.to_string(), got));
        }
        self.host.timeline.add(self.host.now, Some(event.line), &call.to_string());
        let before = self.host.now;
        match self.call(call).map_err(|reason| refused(event.line, reason))? {
            Reply::Blocks => {
                let until = call.until.map(|until| match (until, event.time) {
                    (EventTime::Absolute(at) | EventTime::Relative(at), EventTime::Relative(after)) => {
                        Instant::from_nanos(before.as_nanos() - after.as_nanos()) + at
                    }
                    (EventTime::Absolute(at), _) => START + at,
                    (_, _) => before,
                });
                self.blocked = Some(Blocked { call: call.clone(), line: event.line, until });
                Ok(())
            }
            reply => self.check(event.line, call, &reply),
        }
    }

    /// Something has happened: a call that blocks may return now.
    fn retry_blocked(&mut self) -> Result<(), Stop> {
        let Some(blocked) = self.blocked.clone() else { return Ok(()) };
        let reply = self.call(&blocked.call).map_err(|reason| refused(blocked.line, reason))?;
        if reply == Reply::Blocks {
            return Ok(());
        }
        self.blocked = None;
        self.host.timeline.add(self.host.now, Some(blocked.line), &format!("{} returns", blocked.call.name));
        let (now, tolerance) = (self.host.now, self.tolerance);
        let at = |time: Instant| seconds(time.saturating_since(START));
        if let Some(until) = blocked.until.filter(|until| apart(now, *until) > tolerance) {
            let expected = format!("{} to return at {} s", blocked.call.name, at(until));
            return Err(self.failure(blocked.line, expected, format!("it returns at {} s", at(now))));
        }
        self.check(blocked.line, &blocked.call, &reply)
    }

    /// Compares the result of a call with the expected one.
    fn check(&self, line: u32, call: &Call, reply: &Reply) -> Result<(), Stop> {
        let got = match reply {
            Reply::Value(value) => value.to_string(),
            Reply::Error(error) => format!("-1 {error}"),
            Reply::Differs { expected, got } => {
                return Err(self.failure(line, format!("{call} with {expected}"), got.clone()));
            }
            Reply::Blocks => "it blocks".to_owned(),
        };
        let expected = match &call.errno {
            Some(error) => format!("-1 {error}"),
            None => call.result.to_string(),
        };
        let any_error = call.errno.is_none() && call.result == Expression::Integer(-1);
        let any = call.result == Expression::Any || (any_error && matches!(reply, Reply::Error(_)));
        if any || expected == got { Ok(()) } else { Err(self.failure(line, call.to_string(), got)) }
    }

    fn assert(&mut self, line: u32, code: &str) -> Result<(), Stop> {
        let (now, connection) = (self.host.now, self.host.connections.last());
        let lookup = |name: &str| tcp_info::lookup(connection, now, name);
        match python::run(code, &mut self.names, &lookup) {
            Ok(()) => Ok(()),
            Err(python::Failure::Assertion { condition, value }) => {
                let got = value.map_or_else(|| "it does not hold".to_owned(), |value| value.to_string());
                Err(self.failure(line, condition, got))
            }
            Err(other) => Err(Stop::Refused(Refusal {
                line,
                what: other.to_string(),
                remedy: "use assertions over fields of tcp_info, like assert tcpi_snd_cwnd == 10".to_owned(),
            })),
        }
    }

    /// The script is over, except for a call that blocks.
    fn finish(&mut self) -> Result<(), Stop> {
        let Some(Blocked { until, .. }) = self.blocked else { return Ok(()) };
        let tolerance = self.tolerance;
        self.advance(until.unwrap_or(self.host.now) + tolerance)?;
        match self.blocked.take() {
            None => Ok(()),
            Some(blocked) => {
                Err(self.failure(blocked.line, blocked.call.to_string(), "it blocks for ever".to_owned()))
            }
        }
    }

    fn failure(&self, line: u32, expected: String, got: String) -> Stop {
        Stop::Failed(Box::new(Failure { line, expected, got, timeline: self.host.timeline.last() }))
    }
}

fn segment_size(option: &ScriptOption) -> Result<Bytes, Refusal> {
    option.value.parse().map(Bytes).map_err(|_| Refusal {
        line: option.line,
        what: format!("--{}={} is no size", option.name, option.value),
        remedy: "write bytes, like 1000".to_owned(),
    })
}

fn address(option: &ScriptOption) -> Result<IpAddr, Refusal> {
    option.value.parse().map_err(|_| Refusal {
        line: option.line,
        what: format!("--{}={} is no address", option.name, option.value),
        remedy: "write an address, like 192.0.2.1".to_owned(),
    })
}

/// Time between two instants, whichever is first.
fn apart(a: Instant, b: Instant) -> Duration {
    a.saturating_since(b).max(b.saturating_since(a))
}

fn refused(line: u32, reason: Unsupported) -> Stop {
    Stop::Refused(Refusal { line, what: reason.what, remedy: reason.remedy })
}
