//! A machine's part of a run: its hosts, set up here, and their packets forwarded to the emulator.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration as StdDuration;

use linux::channel::{ReportReceiver, report_channel};
use linux::doctor::{kernel_version, obstacles};
use linux::drops::Drops;
use linux::namespace::{self, Privilege};
use scenario::Resolved;
use sim::{CapturePoint, FlowSpec, Spec};
use units::{Instant, NodeId};

use super::Streams;
use super::control_stream::{FrameReader, FrameWriter};
use super::datagram::Token;
use super::device_capture::DeviceCapture;
use super::forwarder::Forwarder;
use super::offset::Drift;
use super::outputs::Outputs;
use super::protocol::{Begin, Ended, FromPart, Ready, ToPart};
use super::tunnel::Tunnel;
use crate::LiveError;
use crate::clock::Clock;
use crate::error::failed;
use crate::run::environment::{Named, named};
use crate::run::host::{Host, HostSpec};
use crate::run::options::{Options, Program};
use crate::run::report::Report;
use crate::run::samples::Sample;
use crate::run::session::start_all;
use crate::run::setup::Setup;
use crate::run::start_barrier::StartBarrier;
use crate::stop::Stop;
use crate::workload::{MessageBus, ProgramSpec, StackReplicas};

/// Runs a machine's part of a live run, as the emulator at the other end of the streams orders.
///
/// Call it in a process of its own that has one thread, and end the process when it returns.
///
/// # Errors
/// If the part fails, which it also reports to the emulator, or if the control stream ends.
pub fn part(streams: Streams) -> Result<(), LiveError> {
    let (mut orders, stream) = (FrameReader::new(streams.input), Arc::new(FrameWriter::new(streams.output)));
    let Some((_, ToPart::Begin(begin))) = orders.read().map_err(LiveError::Control)? else {
        return Err(LiveError::ControlLost);
    };
    let ended = run(&begin, orders, &stream);
    if let Err(error) = &ended {
        // The failure may be at the other end.
        let _ = stream.write(OWN, &FromPart::Failed { message: error.to_string() });
    }
    ended
}

fn run(begin: &Begin, orders: FrameReader, stream: &Arc<FrameWriter>) -> Result<(), LiveError> {
    let wrong = |error: scenario::InputError| LiveError::Control(io::Error::other(error.to_string()));
    let resolved = Resolved::from_json(&begin.scenario).map_err(wrong)?;
    let spec = resolved.to_spec().map_err(wrong)?;
    // One for each program, and the last for the command.
    let outputs = Outputs::new(begin.programs.len() + 1).map_err(LiveError::Control)?;
    let options = options(begin, &resolved, &outputs);
    let (all, own, mut stacks) = host_specs(begin, &spec, &options);
    let privilege = privilege_for(&own, &options)?;
    let has_command = own.iter().any(|host| host.command.is_some());
    let clock = Clock::start();
    let of_stacks = stacks.values().flat_map(|(_, programs)| programs);
    let programs = own.iter().flat_map(|host| &host.programs).chain(of_stacks);
    let bus = Arc::new(MessageBus::new(programs).map_err(LiveError::Wait)?);
    let same = Arc::clone(stream);
    // If the emulator is gone, the other stream ends and says so.
    bus.set_remote(move |message| drop(same.write(OWN, &FromPart::Message(message))));
    let mut part = Part::set_up(begin, &spec, own, clock, Arc::clone(&bus))?;
    let ports = part.forward(begin, &spec, &mut stacks)?;
    let sysctls = part.hosts.iter().map(|host| host.sysctls.clone()).collect();
    let (kernel, date_of_zero) = (kernel_version(), clock.date_of_zero());
    let ready = Ready { ports, kernel, privilege, sysctls, date_of_zero };
    stream.write(OWN, &FromPart::Ready(ready)).map_err(LiveError::Control)?;
    let orders = listen(orders, bus)?;
    let ended = part.follow(&orders, &all, stream)?;
    let mut written = own_programs(begin);
    written.extend(has_command.then_some(begin.programs.len()));
    let ended = Ended { outputs: outputs.contents(&written), ..ended };
    stream.write(OWN, &FromPart::Ended(Box::new(ended))).map_err(LiveError::Control)
}

fn options(begin: &Begin, resolved: &Resolved, outputs: &Outputs) -> Options<'static> {
    let own = own_programs(begin);
    let program = |(place, (host, words)): (usize, &(NodeId, Vec<String>))| Program {
        host: *host,
        words: words.iter().map(Into::into).collect(),
        output: own.contains(&place).then(|| outputs.path(place)),
    };
    Options {
        command: begin.command.iter().map(Into::into).collect(),
        output: Some(outputs.path(begin.programs.len())),
        programs: begin.programs.iter().enumerate().map(program).collect(),
        ..Options::of(resolved)
    }
}

/// The places of the programs that run here.
fn own_programs(begin: &Begin) -> Vec<usize> {
    let places = begin.programs.iter().enumerate();
    places.filter(|(_, (host, _))| begin.hosts.contains(host)).map(|(place, _)| place).collect()
}

/// Obtains the privilege to make namespaces, where there are kernels' hosts.
fn privilege_for(own: &[HostSpec], options: &Options<'_>) -> Result<Privilege, LiveError> {
    if own.is_empty() {
        return Ok(Privilege::NotNeeded);
    }
    let missing = obstacles(options.congestion.as_deref(), &options.all_sysctls());
    if !missing.is_empty() {
        return Err(LiveError::CannotStart(missing));
    }
    namespace::obtain_privilege().map_err(LiveError::UserNamespace)
}

/// Returns the facts about all hosts, and the hosts of this machine: kernels, and stacks with a flow.
fn host_specs(begin: &Begin, spec: &Spec, options: &Options<'_>) -> (All, Vec<HostSpec>, Stacks) {
    let stacks = options.stacks.in_process();
    let is_simulated = |node: NodeId| options.simulated.contains(&node);
    let of_kernels = |flow: &&FlowSpec| !is_simulated(flow.from) && options.command.is_empty();
    let flows: Vec<FlowSpec> = spec.flows.iter().filter(of_kernels).cloned().collect();
    let nodes = (0..spec.nodes.len()).map(NodeId::new);
    let hosts: Vec<NodeId> =
        nodes.filter(|node| spec.node(*node).kind.address().is_some() && !is_simulated(*node)).collect();
    let setup = Setup::new(spec, &flows, &hosts, &stacks).with_remote(begin.hosts.iter().copied());
    let specs = setup.host_specs(options);
    let with_programs = specs.iter().filter(|host| !host.background.is_empty()).count();
    let flow_names = flows.iter().map(|flow| flow.name.clone()).collect();
    let all = All { named: named(&specs), with_programs, flow_names };
    let own_stacks: BTreeMap<_, _> = stacks
        .iter()
        .map(|(node, stack)| (*node, *stack))
        .filter(|(node, _)| begin.hosts.contains(node))
        .collect();
    let mut programs = setup.stack_replicas(own_stacks.keys().copied(), options);
    let with_programs_of = |(node, host)| (node, (host, programs.remove(&node).unwrap_or_default()));
    let own_stacks = stacks::hosts(spec, &flows, &own_stacks).into_iter().map(with_programs_of).collect();
    (all, specs.into_iter().filter(|host| begin.hosts.contains(&host.node)).collect(), own_stacks)
}

/// Facts about all hosts of the run.
struct All {
    named: Vec<Named>,
    with_programs: usize,
    flow_names: Vec<String>,
}

/// Hosts with stacks, and the copies of programs there, by node.
type Stacks = BTreeMap<NodeId, (stacks::Host, Vec<ProgramSpec>)>;

/// The hosts that are set up here.
struct Part {
    clock: Clock,
    specs: Vec<HostSpec>,
    hosts: Vec<Host>,
    /// By node, in the order of the tunnels.
    forwarders: Vec<(NodeId, Forwarder)>,
    /// The names of all nodes.
    names: Vec<String>,
    stop: Arc<Stop>,
    bus: Arc<MessageBus>,
    reports: Reports,
}

type Reports = ReportReceiver<Result<Report, LiveError>>;

/// The emulator's orders; `None` when the control stream has ended.
type Orders = Receiver<Option<ToPart>>;

impl Part {
    fn set_up(
        begin: &Begin,
        spec: &Spec,
        specs: Vec<HostSpec>,
        clock: Clock,
        bus: Arc<MessageBus>,
    ) -> Result<Self, LiveError> {
        let stop = Arc::new(Stop::default());
        let (sender, reports) = report_channel().map_err(LiveError::Wait)?;
        let set_up = |spec: &HostSpec| Host::set_up(spec.clone(), Arc::clone(&stop), sender.clone());
        let hosts = specs.iter().map(set_up).collect::<Result<_, _>>()?;
        debug_assert!(
            begin.hosts.iter().all(|node| node.index() < spec.nodes.len()),
            "nodes of the scenario"
        );
        let names = spec.nodes.iter().map(|node| node.name.clone()).collect();
        Ok(Self { clock, specs, hosts, forwarders: Vec::new(), names, stop, bus, reports })
    }

    /// Opens the hosts' tunnels. Returns their ports.
    fn forward(&mut self, begin: &Begin, spec: &Spec, stacks: &mut Stacks) -> Result<Vec<u16>, LiveError> {
        let token = Token::read(&begin.token).ok_or(LiveError::ControlLost)?;
        let mut ports = Vec::new();
        let schedule = (self.clock, begin.hosts.len() as u64);
        for (place, node) in begin.hosts.iter().enumerate() {
            let name = self.names[node.index()].clone();
            let number = begin.first + place as u16;
            let port = begin.port.map_or(0, |port| port.saturating_add(place as u16));
            let tunnel = Tunnel::open(token, number, self.clock, port, None)
                .map_err(failed(&name, "open its tunnel"))?;
            ports.push(tunnel.port().map_err(failed(&name, "open its tunnel"))?);
            let captured = spec.record.captures.contains(&CapturePoint::Node(*node));
            let of_device = format!("{name}-device");
            let capture = captured.then(|| DeviceCapture::new(of_device, self.clock, spec.record.payload));
            let kernel = self.specs.iter().position(|spec| spec.node == *node);
            let started = match kernel {
                Some(kernel) => {
                    let tun = self.hosts[kernel].tun.try_clone();
                    tun.and_then(|tun| Forwarder::start(tun, tunnel, capture, schedule))
                }
                None => {
                    let stack = stacks.remove(node).map(|(mut host, programs)| {
                        StackReplicas::new(&programs, &mut host, &self.bus).map(|replicas| (host, replicas))
                    });
                    Forwarder::start_stack(stack.transpose()?, tunnel, capture, schedule)
                }
            };
            self.forwarders.push((*node, started.map_err(failed(&name, "forward its packets"))?));
        }
        Ok(ports)
    }

    /// Carries out the emulator's orders until the order to stop.
    fn follow(self, orders: &Orders, all: &All, stream: &FrameWriter) -> Result<Ended, LiveError> {
        let barrier = StartBarrier::new(all.with_programs);
        let (mut known, mut start, mut late) = (all.with_programs, None, 0);
        let mut done = BTreeSet::new();
        let order = loop {
            match orders.recv_timeout(LOOK_EVERY) {
                Ok(Some(ToPart::Start { at_ns, ahead_ns })) => {
                    let at = Instant::from_nanos(at_ns);
                    late = self.start(at, ahead_ns, &barrier, all);
                    start = Some(at);
                }
                Ok(Some(ToPart::Up)) => {
                    barrier.open_one();
                    known -= 1;
                }
                Ok(Some(ToPart::Stop { gained_ns, over_ns })) => {
                    break Drift { gained: gained_ns, over: over_ns };
                }
                Ok(Some(ToPart::Ping)) => stream.write(OWN, &FromPart::Pong).map_err(LiveError::Control)?,
                // The thread that read it has delivered it.
                Ok(Some(ToPart::Message(_))) => {}
                Ok(Some(ToPart::Begin(_)) | None) | Err(RecvTimeoutError::Disconnected) => {
                    self.take_down();
                    return Err(LiveError::ControlLost);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            known = report_open_ports(&barrier, known, stream)?;
            self.report(stream)?;
            self.report_stacks(&mut done, all, stream)?;
            self.look(start.is_some())?;
        };
        self.finish(order, start.unwrap_or(Instant::START), late, stream)
    }

    /// Starts the hosts at a time of our clock. Returns the lateness of the start, in nanoseconds.
    fn start(&self, at: Instant, ahead: i64, barrier: &StartBarrier, all: &All) -> u64 {
        for (_, forwarder) in &self.forwarders {
            forwarder.set_ahead(ahead);
            forwarder.set_begin(at);
        }
        self.stop.wait_until(self.clock, at);
        let late = self.clock.now().saturating_since(at).as_nanos();
        let clock = self.clock.with_zero_at(at);
        start_all(&self.hosts, &all.named, clock, barrier, &self.bus);
        late
    }

    fn report(&self, stream: &FrameWriter) -> Result<(), LiveError> {
        while let Some(report) = self.reports.try_recv() {
            stream.write(OWN, &FromPart::Report(report?)).map_err(LiveError::Control)?;
        }
        Ok(())
    }

    /// Reports once when the flows of a host's stack are over. Fails if the stack has read a wrong byte.
    fn report_stacks(
        &self,
        done: &mut BTreeSet<NodeId>,
        all: &All,
        stream: &FrameWriter,
    ) -> Result<(), LiveError> {
        for (node, forwarder) in &self.forwarders {
            if let Some(wrong) = forwarder.corrupted() {
                let flow = all.flow_names.get(wrong.flow.index()).cloned().unwrap_or_default();
                return Err(LiveError::Corrupted { flow, position: wrong.position });
            }
            if forwarder.stack_is_done() && done.insert(*node) {
                stream.write(OWN, &FromPart::Report(Report::Done)).map_err(LiveError::Control)?;
            }
        }
        Ok(())
    }

    /// Checks that packets are still forwarded.
    fn look(&self, started: bool) -> Result<(), LiveError> {
        for (node, forwarder) in &self.forwarders {
            let failed = |words: String| {
                failed(&self.names[node.index()], "forward its packets")(io::Error::other(words))
            };
            if forwarder.has_failed() {
                return Err(failed("its device or its tunnel has failed".to_owned()));
            }
            if started && forwarder.silent_for() > LONGEST_SILENCE.as_nanos() as u64 {
                let seconds = LONGEST_SILENCE.as_secs();
                return Err(failed(format!("nothing of the emulator has come for {seconds} s")));
            }
        }
        Ok(())
    }

    fn take_down(&self) {
        self.stop.stop();
    }

    fn finish(
        self,
        drift: Drift,
        start: Instant,
        late_ns: u64,
        stream: &FrameWriter,
    ) -> Result<Ended, LiveError> {
        self.stop.stop();
        let mut ended = Ended { late_ns, ..Ended::default() };
        for (node, forwarder) in self.forwarders {
            let forwarded = forwarder.end().map_err(LiveError::Wait)?;
            for program in forwarded.programs {
                report(Report::Program(Box::new(program)), drift, stream)?;
            }
            ended.stacks.extend(forwarded.stack.map(|stack| (node, stack)));
            ended.counts.push(forwarded.counts);
            if let Some(capture) = forwarded.capture {
                let (name, file) = capture.write(start, drift).map_err(LiveError::Wait)?;
                ended.captures.push((name, file));
            }
        }
        let drops: Drops = self.hosts.into_iter().map(Host::join).sum();
        report_last(&self.reports, drift, stream)?;
        (ended.device_drops, ended.socket_drops) = (drops.device, drops.socket);
        for (name, samples) in self.specs.iter().filter_map(|spec| Some((&spec.name, spec.samples.as_ref()?)))
        {
            let corrected = |sample: Sample| Sample { at: drift.correct(sample.at), ..sample };
            ended.samples.push((name.clone(), samples.take().into_iter().map(corrected).collect()));
        }
        Ok(ended)
    }
}

/// Sends the reports of tasks that ended with the run, with times of the emulator's clock.
fn report_last(reports: &Reports, drift: Drift, stream: &FrameWriter) -> Result<(), LiveError> {
    while let Some(received) = reports.try_recv() {
        report(received?, drift, stream)?;
    }
    Ok(())
}

/// Sends the report of a task that ended with the run.
fn report(mut report: Report, drift: Drift, stream: &FrameWriter) -> Result<(), LiveError> {
    if let Report::Program(program) = &mut report {
        program.correct(|noted| drift.correct(noted));
    }
    stream.write(OWN, &FromPart::Report(report)).map_err(LiveError::Control)
}

/// Reports each local host that has opened the ports of its programs since `known` were left. Returns the number that
/// is left.
fn report_open_ports(barrier: &StartBarrier, known: usize, stream: &FrameWriter) -> Result<usize, LiveError> {
    let now = barrier.remaining();
    for _ in now..known {
        stream.write(OWN, &FromPart::Up).map_err(LiveError::Control)?;
    }
    Ok(now)
}

/// Starts a thread that reads the emulator's messages. Some time after the stream has ended, it ends the process, if
/// that still runs.
fn listen(mut stream: FrameReader, bus: Arc<MessageBus>) -> Result<Orders, LiveError> {
    let (sender, orders) = channel();
    let hear = move || {
        while let Ok(Some((_, order))) = stream.read::<ToPart>() {
            if let ToPart::Message(message) = order {
                bus.deliver(message);
            } else if sender.send(Some(order)).is_err() {
                return;
            }
        }
        let _ = sender.send(None);
        #[expect(clippy::disallowed_methods, reason = "this thread has nothing else to do")]
        std::thread::sleep(LONGEST_TAKE_DOWN);
        std::process::exit(1);
    };
    Builder::new().name("control".to_owned()).spawn(hear).map_err(LiveError::Control)?;
    Ok(orders)
}

/// Interval at which reports are collected.
const LOOK_EVERY: StdDuration = StdDuration::from_millis(10);
/// Silence after which the emulator, which pings every second, counts as lost.
const LONGEST_SILENCE: StdDuration = StdDuration::from_secs(30);
/// The longest time that a part may take to end after its control stream.
const LONGEST_TAKE_DOWN: StdDuration = StdDuration::from_secs(3);
/// The number of a machine in frames of a part, where it has no meaning.
const OWN: usize = 0;
