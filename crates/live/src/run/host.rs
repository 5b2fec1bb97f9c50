//! A host of the scenario as a network namespace: a thread that enters a new namespace, gives it a TUN device and an
//! address, and runs the host's senders, receivers and programs there.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, channel};
use std::thread::{self, JoinHandle, Scope};
use std::time::Duration as StdDuration;

use linux::channel::ReportSender;
use linux::device;
use linux::drops::Drops;
use linux::namespace;
use linux::sysctl::{self, Sysctls};
use linux::tun::Tun;
use units::NodeId;

use crate::LiveError;
use crate::clock::Clock;
use crate::error::failed;
use crate::run::bulk::{BulkEnd, OpenBulkEnd};
use crate::run::command::{CommandLine, Environment};
use crate::run::listening::wait_for_listener;
use crate::run::report::Report;
use crate::run::samples::Samples;
use crate::run::start_barrier::StartBarrier;
use crate::stop::Stop;
use crate::workload::{MessageBus, OpenProgram, ProgramSpec, Running};

/// A host's address, device, settings and tasks.
#[derive(Clone, Debug)]
pub(crate) struct HostSpec {
    /// Its node in the scenario.
    pub(crate) node: NodeId,
    pub(crate) name: String,
    pub(crate) address: Ipv4Addr,
    /// The MTU of the device, in bytes.
    pub(crate) mtu: u32,
    pub(crate) sysctls: Sysctls,
    /// Its ends of bulk transfers.
    pub(crate) bulk: Vec<BulkEnd>,
    /// The programs of flows that have an end here.
    pub(crate) programs: Vec<ProgramSpec>,
    pub(crate) command: Option<CommandLine>,
    /// Commands of the user that end with the run.
    pub(crate) background: Vec<CommandLine>,
    /// The samples of the kernel's connections, if they are wanted.
    pub(crate) samples: Option<Arc<Samples>>,
    /// Whether a program of the user is its stack: the program gets the packets, and the kernel has no device and no
    /// address.
    pub(crate) is_program: bool,
    /// The flows of such a program, a line for each.
    pub(crate) flow_lines: String,
}

/// A host that is set up. The caller owns its device; its thread waits for [`Host::start`].
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) name: String,
    /// The path by which nsenter(1) can enter the network namespace during the run.
    pub(crate) namespace: String,
    pub(crate) tun: Tun,
    /// The settings as the kernel reads them back.
    pub(crate) sysctls: Sysctls,
    start: mpsc::Sender<Start>,
    thread: JoinHandle<Drops>,
}

/// The signal to start the tasks.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) clock: Clock,
    /// The environment of the user's program.
    pub(crate) environment: Environment,
    /// The hosts' namespaces, by the hosts' names.
    pub(crate) namespaces: Arc<BTreeMap<String, String>>,
    /// The barrier at which the user's program waits until the programs of hosts have opened their ports.
    pub(crate) barrier: StartBarrier,
    /// The messages between copies of programs.
    pub(crate) bus: Arc<MessageBus>,
}

/// Result of setting up a host, passed from the host's thread to the caller.
struct Prepared {
    namespace: String,
    tun: Tun,
    sysctls: Sysctls,
}

/// State of the host's thread: its open ports, and the descriptor of the user's programs where they are the stack.
struct Kept {
    bulk: Vec<OpenBulkEnd>,
    programs: Vec<OpenProgram>,
    descriptor: Option<Arc<OwnedFd>>,
}

impl HostSpec {
    /// Returns the number of reports that the host sends before the end of the run.
    pub(crate) fn reports(&self) -> usize {
        let programs = self.programs.iter().filter(|program| program.runs_here()).count();
        self.bulk.len() + programs + usize::from(self.command.is_some())
    }

    /// Returns the number of ports that are open before the run.
    fn listeners(&self) -> usize {
        let programs = self.programs.iter().filter(|program| program.listens()).count();
        self.bulk.iter().filter(|end| end.listens()).count() + programs
    }

    /// Runs a program alongside the flows. If it is the stack of flows, they stop when it fails, and so does the run.
    fn run_program(
        &self,
        program: &CommandLine,
        environment: &Environment,
        stop: &Stop,
    ) -> Result<(), LiveError> {
        let status = program.run(environment, stop)?;
        match status.success() || stop.stopped() || self.flow_lines.is_empty() {
            true => Ok(()),
            false => Err(LiveError::ProgramFailed { host: self.name.clone(), status }),
        }
    }

    /// Returns whether its stack is a program that the user did not name.
    pub(crate) fn lacks_its_program(&self) -> bool {
        self.is_program && self.background.is_empty() && self.command.is_none()
    }
}

impl Host {
    /// Sets the host up in a thread of its own.
    pub(crate) fn set_up(spec: HostSpec, stop: Arc<Stop>, reports: Reports) -> Result<Self, LiveError> {
        let name = spec.name.clone();
        let (ready, prepared) = channel();
        let (start, started) = channel();
        let thread = thread::Builder::new()
            .name(name.clone())
            .spawn(move || run_host(&spec, &ready, &started, &stop, &reports))
            .map_err(failed(&name, "start its thread"))?;
        let died = |_| failed(&name, "set up its namespace")(io::Error::other("its thread died"));
        let Prepared { namespace, tun, sysctls } = prepared.recv().map_err(died)??;
        Ok(Self { name, namespace, tun, sysctls, start, thread })
    }

    /// Starts the host's tasks.
    pub(crate) fn start(&self, start: Start) {
        // A thread that has ended has sent the reason as a report.
        let _ = self.start.send(start);
    }

    /// Waits for the end of the host's thread, its namespace and its device. Returns the number of packets that its
    /// kernel dropped.
    pub(crate) fn join(self) -> Drops {
        drop(self.start);
        // A panic there has been printed, and a report of it has ended the run.
        let drops = self.thread.join().unwrap_or_default();
        Drops { device: drops.device + self.tun.overflowed(), ..drops }
    }
}

type Reports = ReportSender<Result<Report, LiveError>>;

/// The main function of a host's thread. Returns the number of packets that the kernel dropped.
fn run_host(
    spec: &HostSpec,
    ready: &mpsc::Sender<Result<Prepared, LiveError>>,
    started: &mpsc::Receiver<Start>,
    stop: &Stop,
    reports: &Reports,
) -> Drops {
    let kept = match prepare(spec) {
        Ok((prepared, kept)) => {
            let _ = ready.send(Ok(prepared));
            kept
        }
        Err(error) => {
            let _ = ready.send(Err(error));
            return Drops::default();
        }
    };
    if let Ok(mut start) = started.recv() {
        let spec = kept.give_to(spec.clone(), &mut start.environment);
        let opened = (kept.bulk, kept.programs);
        thread::scope(|scope| run_tasks(scope, &spec, opened, &start, stop, reports));
        // The namespace outlives its tasks, so that the kernel can acknowledge the last FIN.
        let _ = started.recv();
    }
    Drops::read(device::INNER_DEVICE)
}

fn prepare(spec: &HostSpec) -> Result<(Prepared, Kept), LiveError> {
    namespace::enter_new_network().map_err(failed(&spec.name, "make a network namespace"))?;
    sysctl::set_defaults();
    let sysctls = set_all(spec)?;
    let (tun, descriptor) = device_of(spec)?;
    let bulk = spec.bulk.iter().cloned().map(BulkEnd::open).collect::<Result<_, _>>()?;
    let programs = spec.programs.iter().map(ProgramSpec::open).collect::<Result<_, _>>()?;
    let namespace = namespace::network_path();
    Ok((Prepared { namespace, tun, sysctls }, Kept { bulk, programs, descriptor }))
}

/// Makes the device of a host's kernel; or a pair of sockets in its place, of which the host's program gets one.
fn device_of(spec: &HostSpec) -> Result<(Tun, Option<Arc<OwnedFd>>), LiveError> {
    if spec.is_program {
        let (ours, programs) = Tun::for_program().map_err(failed(&spec.name, "make a socket pair"))?;
        namespace::set_up_loopback().map_err(failed(&spec.name, "set up its loopback"))?;
        return Ok((ours, Some(Arc::new(programs))));
    }
    let tun =
        device::make_of_host(spec.address, spec.mtu).map_err(failed(&spec.name, "make its TUN device"))?;
    Ok((tun, None))
}

impl Kept {
    /// Gives the programs of a host the descriptor of its packets, whose number stands in their environment.
    fn give_to(&self, mut spec: HostSpec, environment: &mut Environment) -> HostSpec {
        let Some(descriptor) = &self.descriptor else { return spec };
        for program in spec.background.iter_mut().chain(&mut spec.command) {
            program.descriptor = Some(Arc::clone(descriptor));
        }
        environment.insert("LASTHOP_TUN_FD".to_owned(), descriptor.as_raw_fd().to_string());
        environment.insert("LASTHOP_MTU".to_owned(), spec.mtu.to_string());
        environment.insert("LASTHOP_FLOWS".to_owned(), spec.flow_lines.clone());
        spec
    }
}

fn set_all(spec: &HostSpec) -> Result<Sysctls, LiveError> {
    let set = |(name, value): (&String, &String)| match sysctl::set(name, value) {
        Ok(now) => Ok((name.clone(), now)),
        Err(source) => Err(LiveError::Sysctl {
            host: spec.name.clone(),
            name: name.clone(),
            value: value.clone(),
            source,
        }),
    };
    spec.sysctls.iter().map(set).collect()
}

/// Starts a thread for each task. The threads inherit the namespace.
fn run_tasks<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    spec: &'env HostSpec,
    (bulk, programs): (Vec<OpenBulkEnd>, Vec<OpenProgram>),
    start: &'env Start,
    stop: &'env Stop,
    reports: &'env Reports,
) {
    let (clock, namespaces) = (start.clock, &*start.namespaces);
    let task = Task { host: &spec.name, reports };
    let running = Running { clock, stop, bus: &start.bus, namespaces };
    for one in bulk {
        scope.spawn(move || task.run(|| one.run(clock, stop)));
    }
    for one in programs {
        scope.spawn(move || task.run(|| task.run_flow(one, running)));
    }
    for one in &spec.background {
        scope.spawn(move || task.run_beside(|| spec.run_program(one, &start.environment, stop)));
    }
    if !spec.background.is_empty() {
        scope.spawn(move || {
            // A program that is the stack does not listen in the namespace; packets wait until it reads.
            if !spec.is_program {
                wait_for_listener(spec.listeners(), stop, || false);
            }
            start.barrier.open_one();
        });
    }
    if let Some(samples) = &spec.samples {
        let failed = |source| failed(&spec.name, "sample its connections")(source);
        scope.spawn(move || task.run_beside(|| samples.collect(clock, stop).map_err(failed)));
    }
    if let Some(one) = &spec.command {
        scope.spawn(move || {
            while !start.barrier.is_open() && stop.wait_for(START_INTERVAL) {}
            task.run(|| one.run(&start.environment, stop).map(Report::Exited));
        });
    }
}

/// A task of a host. It sends one report at its end; the program of a flow sends another one before.
#[derive(Clone, Copy)]
struct Task<'a> {
    host: &'a str,
    reports: &'a Reports,
}

impl Task<'_> {
    /// Runs the task and reports its result. A panic is reported as an error: the driver waits for every report.
    fn run(self, task: impl FnOnce() -> Result<Report, LiveError>) {
        let died = |_| Err(failed(self.host, "continue")(io::Error::other("a thread of it panicked")));
        self.reports.send(catch_unwind(AssertUnwindSafe(task)).unwrap_or_else(died));
    }

    /// Runs the program of a flow, and reports before its end when it is done.
    fn run_flow(self, program: OpenProgram, running: Running<'_>) -> Result<Report, LiveError> {
        let report = program.run(running, &mut || self.reports.send(Ok(Report::Done)))?;
        Ok(Report::Program(Box::new(report)))
    }

    /// Runs a task for which the run does not wait, and reports only its failure.
    fn run_beside<T>(self, task: impl FnOnce() -> Result<T, LiveError>) {
        if let Err(error) = task() {
            self.reports.send(Err(error));
        }
    }
}

/// Interval at which the user's program checks whether the others have opened their ports.
const START_INTERVAL: StdDuration = StdDuration::from_millis(10);
