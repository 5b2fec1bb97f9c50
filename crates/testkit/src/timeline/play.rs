//! Plays a script against an endpoint.

use std::collections::VecDeque;
use std::sync::Arc;

use tcp::{CachedCookie, Config, Endpoint, Event, Kind, Ports, Transmit};
use units::{Bytes, Duration, Instant, Seq};
use wire::Payload;

use super::notation::{Notation, OptionList, Origins, Stamp, written};
use super::script::{Action, Call, Handshake, Line, When};

/// Where and how a script went wrong.
#[derive(Debug)]
pub struct Fault {
    /// The line, from 1.
    pub line: usize,
    /// The expected and the actual result.
    pub what: String,
}

/// The scripted world of one endpoint.
pub(super) struct Player {
    config: Arc<Config>,
    endpoint: Option<Endpoint>,
    now: Instant,
    /// The time that the script has reached.
    script_time: Instant,
    /// Sent, and not yet expected by any line.
    sent: VecDeque<(Instant, Transmit)>,
    /// Come, and not yet claimed by any line.
    events: Vec<Event>,
    /// The window on segments that arrive without saying one.
    window: u16,
    written: u64,
    read: u64,
    reads_always: bool,
}

impl Player {
    pub(super) fn new(config: Arc<Config>) -> Self {
        Self {
            config,
            endpoint: None,
            now: Instant::START,
            script_time: Instant::START,
            sent: VecDeque::new(),
            events: vec![],
            window: u16::MAX,
            written: 0,
            read: 0,
            reads_always: false,
        }
    }

    /// Plays all lines; at the end nothing may be left that was sent.
    pub(super) fn play(mut self, lines: &[Line]) -> Result<(), Fault> {
        for line in lines {
            self.play_line(line).map_err(|what| Fault { line: line.number, what })?;
        }
        let line = lines.last().map_or(0, |line| line.number);
        self.nothing_sent().map_err(|what| Fault { line, what })
    }

    fn play_line(&mut self, line: &Line) -> Result<(), String> {
        self.script_time = match line.when {
            When::At(since_start) => Instant::START + since_start,
            When::After(wait) => self.script_time + wait,
        };
        if let Action::Sent(expected) = &line.action {
            return expected.iter().try_for_each(|notation| self.expect(notation));
        }
        self.run_until(self.script_time)?;
        // Assertions may come between the cause of a segment and the segment.
        let claims = matches!(line.action, Action::Holds(_));
        let just_sent = self.sent.front().is_some_and(|(at, _)| *at + TOLERANCE >= self.script_time);
        if !(claims && just_sent) {
            self.nothing_sent()?;
        }
        match &line.action {
            Action::Arrives(notations) => notations.iter().try_for_each(|notation| self.arrive(notation)),
            Action::Holds(assertions) => {
                let Some(endpoint) = &self.endpoint else { return Err(NOT_OPEN.to_owned()) };
                let mut claims = assertions.iter();
                let wrong = claims.find_map(|claim| claim.difference(endpoint, &mut self.events));
                wrong.map_or(Ok(()), |wrong| Err(format!("expected {wrong}")))
            }
            Action::Call(call) => self.call(call),
            Action::Sent(_) => unreachable!("handled above"),
        }
    }

    fn endpoint(&mut self) -> Result<&mut Endpoint, String> {
        self.endpoint.as_mut().ok_or_else(|| NOT_OPEN.to_owned())
    }

    fn call(&mut self, call: &Call) -> Result<(), String> {
        match call {
            Call::Connect => self.endpoint = Some(Endpoint::connect(&self.config, PORTS, OUR_ISS)),
            Call::ConnectWithCookie(cookie) => {
                let mut endpoint = Endpoint::connect(&self.config, PORTS, OUR_ISS);
                endpoint.use_fast_open_cookie(CachedCookie { cookie: *cookie, mss: PEER_MSS });
                self.endpoint = Some(endpoint);
                return Ok(());
            }
            Call::ListenForCookie(cookie) => {
                let mut endpoint = Endpoint::listen(&self.config, PORTS.local, OUR_ISS);
                endpoint.expect_fast_open_cookie(*cookie);
                self.endpoint = Some(endpoint);
            }
            Call::Listen => self.endpoint = Some(Endpoint::listen(&self.config, PORTS.local, OUR_ISS)),
            Call::Open(handshake) => return self.open(handshake),
            Call::Accept(handshake) => return self.accept(handshake),
            Call::Write { times, bytes } => {
                return (0..*times).try_for_each(|_| self.write(*bytes));
            }
            Call::Read(bytes) => self.read(*bytes)?,
            Call::ReadAlways => self.reads_always = true,
            Call::Close => self.endpoint()?.close(),
            Call::Abort => self.endpoint()?.abort(),
        }
        self.collect()
    }

    fn write(&mut self, bytes: u32) -> Result<(), String> {
        let payload = Payload::Pattern { offset: self.written, len: bytes };
        self.written += u64::from(bytes);
        self.endpoint()?.write(payload);
        self.collect()
    }

    /// Reads and compares; `None` is whatever there is.
    fn read(&mut self, bytes: Option<u64>) -> Result<(), String> {
        let mut came = 0;
        while bytes.is_none_or(|bytes| came < bytes) {
            let Some(payload) = self.endpoint()?.read() else { break };
            check_pattern(&payload, self.read)?;
            self.read += u64::from(payload.len());
            came += u64::from(payload.len());
        }
        match bytes {
            Some(bytes) if bytes != came => Err(format!("expected to read {bytes} bytes, and {came} came")),
            _ => Ok(()),
        }
    }

    /// An active open, the peer answering after one round trip.
    fn open(&mut self, handshake: &Handshake) -> Result<(), String> {
        self.window = handshake.window;
        self.call(&Call::Connect)?;
        let (_, syn) = self.sent.pop_front().ok_or("no SYN came of connect")?;
        self.script_time += handshake.rtt;
        self.run_until(self.script_time)?;
        let stamp = syn.segment.options.timestamps.map(|ours| ours.value);
        self.arrive(&Notation {
            flags: wire::Flags::SYN
                .with(wire::Flags::ACK)
                .with(handshake_flags(&handshake.options, wire::Flags::ECE)),
            ack: Some(1),
            options: Some(answered(&handshake.options, stamp)),
            ..Notation::default()
        })?;
        self.sent.pop_front().ok_or("no ACK came of the SYN-ACK")?;
        Ok(())
    }

    /// A passive open; the ACK of our SYN-ACK comes after one round trip.
    fn accept(&mut self, handshake: &Handshake) -> Result<(), String> {
        self.window = handshake.window;
        self.call(&Call::Listen)?;
        let offer = wire::Flags::ECE.with(wire::Flags::CWR);
        let flags = wire::Flags::SYN.with(handshake_flags(&handshake.options, offer));
        let options = Some(handshake.options.clone());
        self.arrive(&Notation { flags, options, ..Notation::default() })?;
        let (_, syn_ack) = self.sent.pop_front().ok_or("no SYN-ACK came of the SYN")?;
        self.script_time += handshake.rtt;
        self.run_until(self.script_time)?;
        let stamp = syn_ack.segment.options.timestamps.map(|ours| ours.value);
        let timestamps = answered(&handshake.options, stamp).timestamps;
        self.arrive(&Notation {
            flags: wire::Flags::ACK,
            start: 1,
            ack: Some(1),
            options: Some(OptionList { timestamps, ..OptionList::default() }),
            ..Notation::default()
        })
    }

    fn arrive(&mut self, notation: &Notation) -> Result<(), String> {
        self.window = notation.window.unwrap_or(self.window);
        let segment = notation.segment(TOWARDS_US, self.window, (PORTS.remote, PORTS.local));
        let now = self.now;
        self.endpoint()?.handle_segment(now, &segment);
        self.collect()
    }

    /// Collects the endpoint's events and segments.
    fn collect(&mut self) -> Result<(), String> {
        let Some(mut endpoint) = self.endpoint.take() else { return Err(NOT_OPEN.to_owned()) };
        while let Some(event) = endpoint.poll_event() {
            self.events.push(event);
        }
        self.endpoint = Some(endpoint);
        if self.reads_always {
            self.read(None)?;
        }
        let now = self.now;
        while let Some(transmit) = self.endpoint()?.poll_transmit(now) {
            self.sent.push_back((now, transmit));
        }
        while let Some(event) = self.endpoint()?.poll_event() {
            self.events.push(event);
        }
        Ok(())
    }

    /// Lets the timers up to `until` run out.
    fn run_until(&mut self, until: Instant) -> Result<(), String> {
        while let Some(at) = self.next_timer().filter(|at| *at <= until) {
            self.run_timer(at)?;
        }
        self.now = self.now.max(until);
        Ok(())
    }

    fn next_timer(&self) -> Option<Instant> {
        self.endpoint.as_ref().and_then(Endpoint::poll_timeout)
    }

    fn run_timer(&mut self, at: Instant) -> Result<(), String> {
        self.now = self.now.max(at);
        let now = self.now;
        self.endpoint()?.handle_timeout(now);
        self.collect()
    }

    /// The next segment sent is this one, and it is sent now.
    fn expect(&mut self, expected: &Notation) -> Result<(), String> {
        let latest = self.script_time + TOLERANCE;
        while self.sent.is_empty() {
            match self.next_timer().filter(|at| *at <= latest) {
                Some(at) => self.run_timer(at)?,
                None => {
                    self.now = self.now.max(self.script_time);
                    let next = self.next_timer().unwrap_or(Instant::NEVER);
                    return Err(format!("expected a segment, and nothing is sent (next timer: {next})"));
                }
            }
        }
        let (at, transmit) = self.sent.pop_front().expect("the loop saw to it");
        let came = written(&transmit.segment, FROM_US);
        if at + TOLERANCE < self.script_time || at > latest {
            return Err(format!("expected it at {}, and it was sent at {at}: {came}", self.script_time));
        }
        check_payload(&transmit)?;
        if (transmit.segment.source_port, transmit.segment.destination_port) != (PORTS.local, PORTS.remote) {
            return Err(format!("its ports are not those of the connection: {came}"));
        }
        let kind = kind_name(transmit.kind);
        if let Some(name) = expected.kind.as_ref().filter(|name| *name != kind) {
            return Err(format!("expected [{name}], and it is [{kind}]: {came}"));
        }
        let wrong = expected.difference(&transmit.segment, FROM_US);
        wrong.map_or(Ok(()), |wrong| Err(format!("{wrong}; sent: {came}")))
    }

    fn nothing_sent(&self) -> Result<(), String> {
        match self.sent.front() {
            None => Ok(()),
            Some((at, transmit)) => {
                let came = written(&transmit.segment, FROM_US);
                let kind = kind_name(transmit.kind);
                Err(format!("an unexpected segment was sent at {at}: {came} [{kind}]"))
            }
        }
    }
}

/// The flags by which the peer negotiates; `ecn` are those of RFC 3168 §6.1.1 on its segment.
fn handshake_flags(options: &OptionList, ecn: wire::Flags) -> wire::Flags {
    let flags = if options.ecn { ecn } else { wire::Flags::empty() };
    let flags = if options.polls { flags.with(wire::Flags::POLL) } else { flags };
    if options.dummies { flags.with(wire::Flags::DUMMY) } else { flags }
}

/// The options with the timestamp that echoes ours, if the script asks for timestamps and names none.
fn answered(options: &OptionList, ours: Option<u32>) -> OptionList {
    match (options.timestamps, ours) {
        (Stamp::Any, Some(ours)) => {
            OptionList { timestamps: Stamp::Exactly(PEER_CLOCK, ours), ..options.clone() }
        }
        _ => options.clone(),
    }
}

fn check_payload(transmit: &Transmit) -> Result<(), String> {
    let segment = &transmit.segment;
    if segment.payload.is_empty() {
        return Ok(());
    }
    // The SYN takes a number before the first byte.
    let first = segment.seq.since(OUR_ISS) + u32::from(segment.flags.contains(wire::Flags::SYN));
    check_pattern(&segment.payload, u64::from(first) - 1)
}

fn check_pattern(payload: &Payload, position: u64) -> Result<(), String> {
    let mut bytes = vec![];
    payload.write_to(&mut bytes);
    let right = bytes.iter().zip(position..).all(|(byte, place)| *byte == Payload::pattern_byte(place));
    if right { Ok(()) } else { Err(format!("these are not the bytes from position {position}")) }
}

/// The purpose of a segment, as written in square brackets.
const fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Syn => "syn",
        Kind::Data => "data",
        Kind::Fin => "fin",
        Kind::Retransmission { cause, .. } => cause.id(),
        Kind::Ack => "ack",
        Kind::WindowUpdate => "window_update",
        Kind::ZeroWindowProbe => "zero_window_probe",
        Kind::KeepAlive => "keep_alive",
        Kind::Dummy => "dummy",
        Kind::Reset => "reset",
    }
}

const PORTS: Ports = Ports { local: 8080, remote: 40_000 };
/// Close enough below the wrap that most timelines cross it.
const OUR_ISS: Seq = Seq(u32::MAX - 3_500);
const PEER_ISS: Seq = Seq(70_000_000);
/// The peer's timestamp clock at the handshake, where a script does not name one.
const PEER_CLOCK: u32 = 1_000;
/// The MSS announced by a server whose cookie a script gives.
const PEER_MSS: Bytes = Bytes(1000);
const FROM_US: Origins = Origins { sender: OUR_ISS, receiver: PEER_ISS };
const TOWARDS_US: Origins = Origins { sender: PEER_ISS, receiver: OUR_ISS };
const TOLERANCE: Duration = Duration::from_micros(500);
const NOT_OPEN: &str = "there is no connection yet: connect, listen, open or accept";
