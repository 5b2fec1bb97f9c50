//! The emulator's side of hosts on other machines: it sets up, starts and ends the machines' parts together, and has
//! the tunnels to their hosts.

use std::cell::Cell;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration as StdDuration;

use linux::channel::ReportSender;
use linux::drops::Drops;
use linux::sysctl::Sysctls;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use units::{Duration, Instant, NodeId};

use super::control_stream::{FrameReader, FrameWriter};
use super::datagram::Token;
use super::offset::{ClockSample, Drift};
use super::protocol::{Begin, Ended, FromPart, Ready, ToPart};
use super::tunnel::Tunnel;
use super::{Machine, Machines};
use crate::LiveError;
use crate::clock::Clock;
use crate::run::options::Options;
use crate::run::report::Report;
use crate::run::start_barrier::StartBarrier;
use crate::workload::MessageBus;

/// The parts of other machines.
#[derive(Debug)]
pub(crate) struct RemoteMachines {
    /// The clock of this process.
    pub(super) clock: Clock,
    stream: Arc<FrameWriter>,
    answers: Receiver<Answer>,
    pub(crate) parts: Vec<Peer>,
    /// The time of the last pings during the run.
    pinged: Cell<Instant>,
    /// The round trip of the control stream to each machine.
    pub(super) control: Vec<Duration>,
    barrier: StartBarrier,
    /// Number of hosts of each machine that have opened the ports of their programs, as it reported.
    own_up: Arc<Vec<AtomicUsize>>,
    /// Number of remote hosts whose ports are open, as last sent to each machine.
    reported_up: Vec<Cell<usize>>,
    /// The files for the outputs of programs, and last for that of the command.
    outputs: Vec<Option<PathBuf>>,
}

/// A part, as the emulator knows it.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) machine: Machine,
    pub(crate) ready: Ready,
    /// In the order of the machine's hosts.
    pub(crate) tunnels: Vec<Tunnel>,
    /// The clocks at the beginning.
    pub(crate) first: ClockSample,
    /// The clocks' drift over the run.
    pub(crate) drift: Drift,
    pub(crate) ended: Ended,
}

/// A part's answer to an order: a machine and its message, or an error if the streams have ended.
type Answer = Result<(usize, FromPart), LiveError>;

type Reports = ReportSender<Result<Report, LiveError>>;

/// Returns the files for the outputs of programs, and last for that of the command.
fn outputs_of(options: &Options<'_>) -> Vec<Option<PathBuf>> {
    let of_programs = options.programs.iter().map(|program| program.output.clone());
    of_programs.chain([options.output.clone()]).collect()
}

impl RemoteMachines {
    /// Orders the machines to set up their hosts, and opens the tunnels to them. Reports of hosts go to `reports`.
    pub(crate) fn set_up(
        machines: Machines,
        options: &Options<'_>,
        reports: Reports,
        barrier: StartBarrier,
        bus: &Arc<MessageBus>,
    ) -> Result<Self, LiveError> {
        let token = Token::draw().map_err(LiveError::Control)?;
        let begins = begins(&machines, options, token);
        let names: Vec<String> = machines.machines.iter().map(|machine| machine.name.clone()).collect();
        let own_up: Arc<Vec<AtomicUsize>> = Arc::new(names.iter().map(|_| AtomicUsize::new(0)).collect());
        let reported_up = names.iter().map(|_| Cell::new(0)).collect();
        let stream = Arc::new(FrameWriter::new(machines.streams.output));
        send_to_machines(bus, &stream, &machines.machines);
        let (own, bus) = (Arc::clone(&own_up), Arc::clone(bus));
        let reader = MessageReader { names, reports, barrier: barrier.clone(), own_up: own, bus };
        let answers = reader.start(FrameReader::new(machines.streams.input))?;
        let mut remote = Self {
            clock: Clock::start(),
            stream,
            answers,
            parts: Vec::new(),
            pinged: Cell::new(Instant::START),
            control: Vec::new(),
            barrier,
            own_up,
            reported_up,
            outputs: outputs_of(options),
        };
        for (machine, begin) in begins.iter().enumerate() {
            remote.send(machine, ToPart::Begin(Box::new(begin.clone())))?;
        }
        let readies = remote.gather(machines.machines.len(), LONGEST_SET_UP, |message| match message {
            FromPart::Ready(ready) => Some(ready),
            _ => None,
        })?;
        for ((machine, ready), begin) in machines.machines.into_iter().zip(readies).zip(&begins) {
            let peer = Peer::reach(machine, ready, begin, token, remote.clock)?;
            remote.parts.push(peer);
        }
        Ok(remote)
    }

    /// Waits for an answer of each part.
    fn gather<T>(
        &self,
        parts: usize,
        longest: StdDuration,
        wanted: impl Fn(FromPart) -> Option<T>,
    ) -> Result<Vec<T>, LiveError> {
        self.gather_from(&(0..parts).collect::<Vec<_>>(), longest, wanted)
    }

    /// Waits for an answer of some parts.
    fn gather_from<T>(
        &self,
        parts: &[usize],
        longest: StdDuration,
        wanted: impl Fn(FromPart) -> Option<T>,
    ) -> Result<Vec<T>, LiveError> {
        let mut found: Vec<Option<T>> = parts.iter().map(|_| None).collect();
        while found.iter().any(Option::is_none) {
            let (machine, message) = match self.answers.recv_timeout(longest) {
                Ok(answer) => answer?,
                Err(RecvTimeoutError::Disconnected) => return Err(LiveError::ControlLost),
                Err(RecvTimeoutError::Timeout) => return Err(LiveError::NoAnswer),
            };
            let place = parts.iter().position(|part| *part == machine);
            if let (Some(place), Some(value)) = (place, wanted(message)) {
                found[place] = Some(value);
            }
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// Compares the clocks and orders the start of the hosts. Returns the clock of the run at its zero.
    pub(crate) fn start(&mut self) -> Result<Clock, LiveError> {
        for part in &mut self.parts {
            part.first = part.compare_clocks()?;
            part.tunnels.iter().for_each(|tunnel| tunnel.set_ahead(part.first.ahead));
        }
        self.control = (0..self.parts.len()).map(|place| self.round_trip(place)).collect::<Result<_, _>>()?;
        let at = self.clock.now() + LEAD;
        for (machine, part) in self.parts.iter().enumerate() {
            let at_ns = super::offset::shifted(at, part.first.ahead).as_nanos();
            self.send(machine, ToPart::Start { at_ns, ahead_ns: -part.first.ahead })?;
        }
        self.pinged.set(at);
        #[expect(clippy::disallowed_methods, reason = "this crate waits by the system's clock")]
        std::thread::sleep(StdDuration::from_nanos(at.saturating_since(self.clock.now()).as_nanos()));
        Ok(self.clock.with_zero_at(at))
    }

    /// Measures the median round trip of the control stream to a machine.
    fn round_trip(&self, machine: usize) -> Result<Duration, LiveError> {
        let mut found = Vec::new();
        for _ in 0..CONTROL_PINGS {
            let began = self.clock.now();
            self.send(machine, ToPart::Ping)?;
            let pong = |message| matches!(message, FromPart::Pong).then_some(());
            self.gather_from(&[machine], LONGEST_SET_UP, pong)?;
            found.push(self.clock.now() - began);
        }
        found.sort_unstable();
        Ok(found[CONTROL_PINGS / 2])
    }

    /// Returns the tunnel to a node, if it is a host on another machine.
    pub(crate) fn tunnel(&self, node: NodeId) -> Option<&Tunnel> {
        self.parts.iter().find_map(|part| {
            let place = part.machine.hosts.iter().position(|host| *host == node)?;
            part.tunnels.get(place)
        })
    }

    /// Sends pings and the number of open hosts to the machines, and checks that their datagrams still arrive.
    pub(crate) fn look(&self) -> Result<(), LiveError> {
        self.report_ports()?;
        let now = self.clock.now();
        if now.saturating_since(self.pinged.get()) < PING_EVERY {
            return Ok(());
        }
        self.pinged.set(now);
        for part in &self.parts {
            for tunnel in &part.tunnels {
                tunnel.ping();
                if tunnel.silent_for() > LONGEST_SILENCE {
                    let seconds = LONGEST_SILENCE.as_secs_f64();
                    return Err(part.failed(format!("no datagram has come from there for {seconds} s")));
                }
            }
        }
        Ok(())
    }

    /// Reports to each machine the hosts of other machines that have opened the ports of their programs.
    fn report_ports(&self) -> Result<(), LiveError> {
        let up = self.barrier.opened();
        for (machine, reported_up) in self.reported_up.iter().enumerate() {
            let of_others = up.saturating_sub(self.own_up[machine].load(Ordering::SeqCst));
            for _ in reported_up.get()..of_others {
                self.send(machine, ToPart::Up)?;
            }
            reported_up.set(reported_up.get().max(of_others));
        }
        Ok(())
    }

    /// Ends the parts, and collects their results.
    pub(crate) fn end(&mut self) -> Result<(), LiveError> {
        for place in 0..self.parts.len() {
            let last = self.parts[place].compare_clocks()?;
            let part = &mut self.parts[place];
            part.drift = Drift::between(&part.first, &last);
            let Drift { gained, over } = part.drift;
            self.send(place, ToPart::Stop { gained_ns: gained, over_ns: over })?;
        }
        let ended = self.gather(self.parts.len(), LONGEST_END, |message| match message {
            FromPart::Ended(ended) => Some(*ended),
            _ => None,
        })?;
        for (part, ended) in self.parts.iter_mut().zip(ended) {
            part.ended = ended;
            part.tunnels.iter().try_for_each(empty).map_err(LiveError::Wait)?;
        }
        self.write_outputs()
    }

    fn write_outputs(&self) -> Result<(), LiveError> {
        for (place, output) in self.parts.iter().flat_map(|part| &part.ended.outputs) {
            if let Some(Some(file)) = self.outputs.get(*place) {
                std::fs::write(file, output).map_err(LiveError::Control)?;
            }
        }
        Ok(())
    }

    /// Returns the number of packets that the hosts' kernels dropped.
    pub(crate) fn drops(&self) -> Drops {
        let of = |part: &Peer| Drops { device: part.ended.device_drops, socket: part.ended.socket_drops };
        self.parts.iter().map(of).sum()
    }

    /// Returns the captures at the hosts' devices.
    pub(crate) fn captures(&self) -> Vec<(String, Vec<u8>)> {
        self.parts.iter().flat_map(|part| part.ended.captures.clone()).collect()
    }

    /// Returns the settings of the hosts.
    pub(crate) fn sysctls(&self) -> impl Iterator<Item = Sysctls> {
        self.parts.iter().flat_map(|part| part.ready.sysctls.iter().cloned())
    }

    fn send(&self, machine: usize, message: ToPart) -> Result<(), LiveError> {
        self.stream.write(machine, &message).map_err(LiveError::Control)
    }
}

impl Peer {
    /// Opens the tunnels to the machine's hosts.
    fn reach(
        machine: Machine,
        ready: Ready,
        begin: &Begin,
        token: Token,
        clock: Clock,
    ) -> Result<Self, LiveError> {
        let unreachable = |source: io::Error| LiveError::Machine {
            machine: machine.name.clone(),
            message: format!("cannot send datagrams to {}: {source}", machine.address),
        };
        let mut tunnels = Vec::new();
        for (number, port) in (begin.first..).zip(&ready.ports) {
            let peer = address(&machine.address, *port).map_err(unreachable)?;
            tunnels.push(Tunnel::open(token, number, clock, 0, Some(peer)).map_err(unreachable)?);
        }
        let first = ClockSample { at: Instant::START, ahead: 0, round_trip: Duration::ZERO };
        Ok(Self { machine, ready, tunnels, first, drift: Drift::default(), ended: Ended::default() })
    }

    /// Compares the machine's clock with ours, over each of its tunnels.
    fn compare_clocks(&self) -> Result<ClockSample, LiveError> {
        let mut samples = Vec::new();
        for tunnel in &self.tunnels {
            let found = exchange(tunnel).map_err(LiveError::Wait)?;
            if found.is_empty() {
                let address = &self.machine.address;
                return Err(self.failed(format!(
                    "no answer to datagrams that were sent to {address} for {} s; does a firewall drop UDP? \
                     at = \"ssh://…?udp=ADDRESS:PORT\" names another address, or a port that is open",
                    LONGEST_PINGS.as_secs_f64()
                )));
            }
            samples.extend(found);
        }
        ClockSample::best(&samples).ok_or(LiveError::NoAnswer)
    }

    fn failed(&self, message: String) -> LiveError {
        LiveError::Machine { machine: self.machine.name.clone(), message }
    }
}

/// Pings until there are enough answers, or for [`LONGEST_PINGS`].
fn exchange(tunnel: &Tunnel) -> io::Result<Vec<ClockSample>> {
    let begun = Clock::start();
    let mut samples = Vec::new();
    while samples.len() < PINGS && begun.now() < Instant::START + LONGEST_PINGS {
        tunnel.ping();
        let mut descriptor = [PollFd::new(tunnel.as_fd(), PollFlags::POLLIN)];
        let _ = poll(&mut descriptor, PollTimeout::from(LONGEST_ANSWER_MS));
        empty(tunnel)?;
        samples.extend(tunnel.take_samples());
    }
    Ok(samples)
}

/// Reads and discards packets that arrive before or after the run.
fn empty(tunnel: &Tunnel) -> io::Result<()> {
    let mut buffer = vec![0; LARGEST_PACKET];
    while tunnel.receive(&mut buffer)?.is_some() {}
    Ok(())
}

fn address(name: &str, port: u16) -> io::Result<SocketAddr> {
    (name, port).to_socket_addrs()?.next().ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn begins(machines: &Machines, options: &Options<'_>, token: Token) -> Vec<Begin> {
    let text = |word: &std::ffi::OsString| word.to_string_lossy().into_owned();
    let mut first = 0;
    let begin = |machine: &Machine| {
        let begin = Begin {
            scenario: machines.scenario.clone(),
            hosts: machine.hosts.clone(),
            first,
            command: options.command.iter().map(text).collect(),
            programs: options
                .programs
                .iter()
                .map(|program| (program.host, program.words.iter().map(text).collect()))
                .collect(),
            token: token.text(),
            port: machine.port,
        };
        first += machine.hosts.len() as u16;
        begin
    };
    machines.machines.iter().map(begin).collect()
}

/// Sends messages for copies of programs to their machines. The silence of its tunnels shows when a machine is lost.
fn send_to_machines(bus: &MessageBus, stream: &Arc<FrameWriter>, machines: &[Machine]) {
    let stream = Arc::clone(stream);
    let places: Vec<Vec<NodeId>> = machines.iter().map(|machine| machine.hosts.clone()).collect();
    bus.set_remote(move |message| {
        if let Some(machine) = places.iter().position(|hosts| hosts.contains(&message.node)) {
            let _ = stream.write(machine, &ToPart::Message(message));
        }
    });
}

/// The reader of the parts' messages. Reports go to the driver, as those of local hosts do, and answers are returned.
struct MessageReader {
    names: Vec<String>,
    reports: Reports,
    barrier: StartBarrier,
    own_up: Arc<Vec<AtomicUsize>>,
    bus: Arc<MessageBus>,
}

impl MessageReader {
    /// Starts a thread.
    fn start(self, mut stream: FrameReader) -> Result<Receiver<Answer>, LiveError> {
        let (answers, heard) = channel();
        let hear = move || {
            while let Ok(Some((machine, message))) = stream.read::<FromPart>() {
                if let Some(answer) = self.handle(machine, message) {
                    let _ = answers.send(answer);
                }
            }
            self.reports.send(Err(LiveError::ControlLost));
        };
        Builder::new().name("control".to_owned()).spawn(hear).map_err(LiveError::Control)?;
        Ok(heard)
    }

    /// Handles a message. Returns it if it answers an order.
    fn handle(&self, machine: usize, message: FromPart) -> Option<Answer> {
        match message {
            FromPart::Report(report) => self.reports.send(Ok(report)),
            FromPart::Up => {
                if let Some(own) = self.own_up.get(machine) {
                    own.fetch_add(1, Ordering::SeqCst);
                    self.barrier.open_one();
                }
            }
            FromPart::Failed { message } => {
                let machine = self.names.get(machine).cloned().unwrap_or_default();
                let error = || LiveError::Machine { machine: machine.clone(), message: message.clone() };
                self.reports.send(Err(error()));
                return Some(Err(error()));
            }
            FromPart::Message(message) => self.bus.deliver(message),
            answer @ (FromPart::Ready(_) | FromPart::Pong | FromPart::Ended(_)) => {
                return Some(Ok((machine, answer)));
            }
        }
        None
    }
}

const LARGEST_PACKET: usize = 65_535;
/// Time from the order to start until the start: longer than a message takes over any ssh.
const LEAD: Duration = Duration::from_millis(500);
/// Number of pings for one comparison of clocks: enough that one of them meets an idle machine.
const PINGS: usize = 32;
/// Number of round trips of the control stream over which the median is taken.
const CONTROL_PINGS: usize = 9;
const LONGEST_ANSWER_MS: u8 = 100;
const LONGEST_PINGS: Duration = Duration::from_secs(5);
const PING_EVERY: Duration = Duration::from_secs(1);
/// Silence after which a machine that is pinged every second counts as lost.
const LONGEST_SILENCE: Duration = Duration::from_secs(30);
/// The longest time that a machine may take to set up its hosts, and to end.
const LONGEST_SET_UP: StdDuration = StdDuration::from_secs(60);
const LONGEST_END: StdDuration = StdDuration::from_secs(60);
