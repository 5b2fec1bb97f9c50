//! Runs a script in virtual time against an endpoint.
//!
//! The order of things is packetdrill's: each event of the script waits for its time, except that of a segment which is
//! expected to go out: that one waits for the segment. Relative times count from when the event before it was over.
//!
//! `set_up.rs`, `settings.rs` and `shell.rs` prepare the host, `incoming.rs` delivers packets to it, `expected.rs` and
//! `compare.rs` compare what it sends with the script. `waiting.rs`, `calls.rs` and `options.rs` execute system calls,
//! `tcp_info.rs` is what assertions see, and `host.rs` has the clock and the connections.

mod arguments;
mod calls;
mod compare;
mod connection;
mod epoll;
mod epoll_calls;
mod error_queue;
mod error_queue_calls;
mod expected;
mod fast_open;
mod file_calls;
mod files;
mod host;
mod ids;
mod incoming;
mod options;
mod reply;
mod segment;
mod send_buffer;
mod set_up;
mod settings;
mod settings_of_bsd;
mod shell;
mod socket;
mod tcp_info;
mod timeline;
mod waiting;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use serde_json::Value;
use tcp::Config;
use units::{Bytes, Duration, Instant};
use wire::FastOpenCookie;

use arguments::Unsupported;
use epoll::EpollInstance;
use files::OpenFile;
use host::TestedHost;
use ids::START;
use segment::Clocks;
use settings::KernelSettings;
use socket::{Role, SocketOptions, Sockets};
pub use timeline::TimelineEvent;

use crate::python::{self, Namespace};
use crate::script::{Action, Call, Direction, Event, EventTime, Script};
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
    let mut machine = ScriptRun::new(KernelSettings::new(settings_of_bsd::begun(profile.clone())));
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
    /// Files and pipes by their descriptors.
    files: BTreeMap<i64, OpenFile>,
    /// Length of the headers of IP and TCP.
    header_len: Bytes,
    /// Payload of the segments of which larger arrivals consist (`--mss`); by default the peer's segment size.
    gso_size: Option<Bytes>,
    /// Segments are compared one by one, as the device cuts none (`--strict_segments`).
    strict_segments: bool,
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
    /// packetdrill's defaults.
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
            files: BTreeMap::new(),
            header_len: HEADERS_OF_IPV4,
            gso_size: None,
            strict_segments: false,
            blocked: None,
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

    /// The configuration of a socket's endpoint.
    fn config(&self, options: &SocketOptions, role: Role) -> Result<Arc<Config>, Unsupported> {
        let mut profile = self.settings.profile.clone();
        options.lay_over(&mut profile);
        if let Some(offered) = self.settings.offered_ecn.filter(|_| role != Role::Server) {
            profile["ecn"] = offered.into();
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

    fn failure(&self, line: u32, expected: String, got: String) -> Stop {
        Stop::Failed(Box::new(Failure { line, expected, got, timeline: self.host.timeline.last() }))
    }
}

fn refused(line: u32, reason: Unsupported) -> Stop {
    Stop::Refused(Refusal { line, what: reason.what, remedy: reason.remedy })
}
