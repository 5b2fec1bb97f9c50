//! One live run: sets up the hosts, drives the network between them, and takes everything down.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use linux::channel::{ReportReceiver, ReportSender, report_channel};
use linux::drops::Drops;
use linux::namespace::{self, Privilege};
use linux::scheduling::{Priority, Rank, Scheduling};
use linux::sysctl::Sysctls;
use stacks::{HostCaptures, Programs, TransferReport};
use units::{Duration, FlowId, Instant, NodeId};
use workload::ProgramOutcome;

use crate::LiveError;
use crate::clock::Clock;
use crate::drive::account::DriverAccount;
use crate::drive::attachment::attach;
use crate::drive::driver::Driver;
use crate::drive::lateness::{Lateness, LatenessRecorder, TAINTED_FROM};
use crate::drive::network::Network;
use crate::machines::{Machines, RemoteMachines, RemoteResults, Tunnel};
use crate::run::environment::{Named, environment, named};
use crate::run::host::{Host, HostSpec, Start};
use crate::run::main_loop::{Ended, MainLoop};
use crate::run::options::{Options, Progress};
use crate::run::report::Report;
use crate::run::start_barrier::StartBarrier;
use crate::run::state::LinkChange;
use crate::run::watch::{Planned, Watcher};
use crate::stop::Stop;
use crate::workload::{KernelHosts, MessageBus, ProgramReport, ProgramSpec, StackReplicas};

/// The state at the end of a run, from which the results are computed.
pub(crate) struct Session {
    pub(crate) network: Network,
    pub(crate) captures: HostCaptures,
    pub(crate) reports: Vec<Report>,
    /// Whether the hosts ended the run, and not the stop time or a link.
    pub(crate) all_done: bool,
    pub(crate) lateness: Lateness,
    pub(crate) account: DriverAccount,
    pub(crate) scheduling: Scheduling,
    pub(crate) privilege: Privilege,
    /// The settings of each host, in the order of the hosts.
    pub(crate) sysctls: Vec<Sysctls>,
    /// Packets that the hosts' kernels dropped.
    pub(crate) drops: Drops,
    /// The time at which the last packet was delivered, or the run was stopped.
    pub(crate) ended: Instant,
    /// The reports of the stacks on their bulk transfers, in the order of the network's hosts; none of a kernel.
    pub(crate) stacks: Vec<Vec<TransferReport>>,
    /// The outcomes of the programs that the driver has run.
    pub(crate) programs: BTreeMap<FlowId, ProgramOutcome>,
    /// The results of the other machines.
    pub(crate) remote: RemoteResults,
    /// The changes of links during the run.
    pub(crate) changes: Vec<LinkChange>,
}

/// The hosts of a run, before they are set up.
pub(crate) struct Hosts {
    /// Hosts that are kernels.
    pub(crate) kernels: Vec<HostSpec>,
    /// Hosts with a stack in this process and a flow, by node.
    pub(crate) stacks: Vec<(NodeId, stacks::Host)>,
    /// The nodes of all hosts with a stack in this process.
    pub(crate) in_process: BTreeSet<NodeId>,
    /// Number of hosts with a flow and a stack in a process on another machine.
    pub(crate) remote_stacks: usize,
    /// The copies of programs at the hosts with a stack in this process, by node.
    pub(crate) stack_replicas: BTreeMap<NodeId, Vec<ProgramSpec>>,
    /// The programs of flows between stacks in this process.
    pub(crate) programs: Programs,
    /// The names of the flows, in the stacks' order.
    pub(crate) flows: Vec<String>,
    /// The other machines, if a host is on one.
    pub(crate) machines: Option<Machines>,
}

/// The calls during a run.
pub(crate) struct Observed<'a> {
    pub(crate) progress: Option<Progress<'a>>,
    pub(crate) watch: Option<Planned<'a>>,
}

type Reports = ReportReceiver<Result<Report, LiveError>>;
type Reporting = ReportSender<Result<Report, LiveError>>;

/// Sets up the hosts, runs their tasks across the network, and takes everything down. The run ends when every host has
/// reported, when the user's program has exited, or at `end`.
pub(crate) fn run(
    mut hosts: Hosts,
    network: Network,
    captures: HostCaptures,
    end: Instant,
    options: &Options<'_>,
    Observed { progress, watch }: Observed<'_>,
) -> Result<Session, LiveError> {
    let tainted_from = options.tainted_from.unwrap_or(TAINTED_FROM);
    let mut stage = Stage::set_up(&mut hosts, options)?;
    let replicas = replicas_of_stacks(&mut hosts, &stage.bus)?;
    let mut watcher = watch.map(Planned::open).transpose()?;
    let clock = stage.start_clock()?;
    let priority = Priority::raise(Rank::Driver);
    let (kernel_hosts, flows) = (std::mem::take(&mut stage.kernel_hosts), std::mem::take(&mut hosts.flows));
    let mut driver = stage.driver(&mut hosts, network, captures, clock, tainted_from);
    (driver.programs, driver.kernel_hosts) = (hosts.programs, kernel_hosts);
    driver.add_replicas(replicas);
    stage.start_hosts(clock);
    let ended = stage.main_loop(clock, end, &flows).drive(&mut driver, progress, watcher.as_mut());
    let scheduling = priority.scheduling();
    let driven = Driven::of(driver, scheduling, clock, ended);
    drop(priority);
    let session = stage.finish(driven, scheduling, tainted_from)?;
    Ok(Session { changes: watcher.map(Watcher::into_changes).unwrap_or_default(), ..session })
}

/// Everything that exists before the clock of the run starts.
struct Stage {
    privilege: Privilege,
    stop: Arc<Stop>,
    bus: Arc<MessageBus>,
    reports: Reports,
    /// Number of reports that the hosts send.
    expected: usize,
    /// The names and addresses of all kernels' hosts.
    named: Vec<Named>,
    barrier: StartBarrier,
    /// The kernels' hosts of this machine.
    hosts: Vec<Host>,
    kernel_hosts: KernelHosts,
    remote: Option<RemoteMachines>,
}

/// State of the driver after the run, and the way in which its loop ended.
struct Driven {
    network: Network,
    captures: HostCaptures,
    lateness: LatenessRecorder,
    account: DriverAccount,
    stacks: Vec<Vec<TransferReport>>,
    programs: BTreeMap<FlowId, ProgramOutcome>,
    replicas: Vec<ProgramReport>,
    at: Instant,
    ended: Result<Ended, LiveError>,
}

impl Stage {
    /// Obtains the privilege, sets up the kernels' hosts of this machine, and lets the other machines set up theirs.
    fn set_up(hosts: &mut Hosts, options: &Options<'_>) -> Result<Self, LiveError> {
        let expected = hosts.kernels.iter().map(HostSpec::reports).sum::<usize>() + hosts.remote_stacks;
        let with_programs = hosts.kernels.iter().filter(|host| !host.background.is_empty()).count();
        let barrier = StartBarrier::new(with_programs);
        let named = named(&hosts.kernels);
        let programs = hosts.kernels.iter().flat_map(|host| &host.programs);
        let kernel_hosts = KernelHosts::new(programs).map_err(LiveError::Wait)?;
        let local = hosts.take_local_kernels();
        let privilege = privilege_for(&local)?;
        let stop = Arc::new(Stop::default());
        let (reporting, reports) = report_channel().map_err(LiveError::Wait)?;
        let programs = local.iter().flat_map(|host| &host.programs);
        let programs = programs.chain(hosts.stack_replicas.values().flatten());
        let bus = Arc::new(MessageBus::new(programs).map_err(LiveError::Wait)?);
        let local = set_up_hosts(local, &stop, &reporting)?;
        let reach =
            |machines| RemoteMachines::set_up(machines, options, reporting.clone(), barrier.clone(), &bus);
        let remote = hosts.machines.take().map(reach).transpose()?;
        Ok(Self {
            privilege,
            stop,
            bus,
            reports,
            expected,
            named,
            barrier,
            hosts: local,
            kernel_hosts,
            remote,
        })
    }

    /// Starts the clock of the run, on all machines at one time.
    fn start_clock(&mut self) -> Result<Clock, LiveError> {
        self.remote.as_mut().map_or_else(|| Ok(Clock::start()), RemoteMachines::start)
    }

    /// Makes the driver, with the hosts attached to the network.
    fn driver(
        &self,
        hosts: &mut Hosts,
        network: Network,
        captures: HostCaptures,
        clock: Clock,
        tainted_from: Duration,
    ) -> Driver<'_> {
        let stacks = std::mem::take(&mut hosts.stacks);
        let is_in_process = |node| hosts.in_process.contains(&node);
        let attachments = attach(&network, &self.hosts, &|node| self.tunnel(node), stacks, &is_in_process);
        Driver::new(network, captures, clock, attachments, LatenessRecorder::new(tainted_from))
    }

    fn tunnel(&self, node: NodeId) -> Option<&Tunnel> {
        self.remote.as_ref()?.tunnel(node)
    }

    fn start_hosts(&self, clock: Clock) {
        start_all(&self.hosts, &self.named, clock, &self.barrier, &self.bus);
    }

    fn main_loop<'a>(&'a self, clock: Clock, end: Instant, flows: &'a [String]) -> MainLoop<'a> {
        let remote = self.remote.as_ref();
        MainLoop { reports: &self.reports, expected: self.expected, clock, end, flows, remote }
    }

    /// Ends the hosts everywhere, takes them down, and collects their results.
    fn finish(
        mut self,
        driven: Driven,
        scheduling: Scheduling,
        tainted_from: Duration,
    ) -> Result<Session, LiveError> {
        let parted = match (&mut self.remote, &driven.ended) {
            (Some(remote), Ok(_)) => remote.end(),
            _ => Ok(()),
        };
        self.stop.stop();
        let (mut sysctls, mut drops) = take_down(self.hosts);
        let (mut reports, all_done) = driven.ended?;
        parted?;
        reports.extend(driven.replicas.into_iter().map(|report| Report::Program(Box::new(report))));
        while let Some(report) = self.reports.try_recv() {
            reports.push(report?);
        }
        let Driven { network, captures, lateness, account, mut stacks, programs, at: ended, .. } = driven;
        let mut remote = RemoteResults::default();
        if let Some(machines) = self.remote {
            sysctls.extend(machines.sysctls());
            drops = [drops, machines.drops()].into_iter().sum();
            remote = machines.results(tainted_from, &|node| network.name(node));
        }
        for (node, reports) in remote.stacks.drain(..) {
            if let Some(place) = network.nodes().iter().position(|known| *known == node) {
                stacks[place] = reports;
            }
        }
        let lateness = lateness.summary();
        let privilege = self.privilege;
        Ok(Session {
            network,
            captures,
            reports,
            all_done,
            lateness,
            account,
            scheduling,
            privilege,
            sysctls,
            drops,
            ended,
            stacks,
            programs,
            remote,
            changes: Vec::new(),
        })
    }
}

impl Driven {
    /// Ends the programs and takes the driver apart.
    fn of(
        mut driver: Driver<'_>,
        scheduling: Scheduling,
        clock: Clock,
        ended: Result<Ended, LiveError>,
    ) -> Self {
        let (at, account) = (clock.now(), DriverAccount::new(driver.account(), scheduling));
        let (programs, replicas) = (driver.finish_programs(), driver.finish_replicas());
        let Driver { network, captures, lateness, attachments, .. } = driver;
        let reports = |host: Option<stacks::Host>| host.map(|mut host| host.report()).unwrap_or_default();
        let stacks = attachments.into_iter().map(|one| reports(one.into_stack())).collect();
        Self { network, captures, lateness, account, stacks, programs, replicas, at, ended }
    }
}

impl Hosts {
    /// Takes out the kernels of this machine; those of other machines are dropped.
    fn take_local_kernels(&mut self) -> Vec<HostSpec> {
        let is_remote = |node| self.machines.as_ref().is_some_and(|machines| machines.have(node));
        let kernels = std::mem::take(&mut self.kernels);
        kernels.into_iter().filter(|host| !is_remote(host.node)).collect()
    }
}

/// Obtains the privilege to make the namespaces of hosts.
fn privilege_for(hosts: &[HostSpec]) -> Result<Privilege, LiveError> {
    match hosts.is_empty() {
        true => Ok(Privilege::NotNeeded),
        false => namespace::obtain_privilege().map_err(LiveError::UserNamespace),
    }
}

fn set_up_hosts(
    hosts: Vec<HostSpec>,
    stop: &Arc<Stop>,
    reporting: &Reporting,
) -> Result<Vec<Host>, LiveError> {
    let set_up = |spec| Host::set_up(spec, Arc::clone(stop), reporting.clone());
    hosts.into_iter().map(set_up).collect()
}

/// Makes the copies of programs at the hosts with stacks in this process, by node.
fn replicas_of_stacks(
    hosts: &mut Hosts,
    bus: &Arc<MessageBus>,
) -> Result<BTreeMap<NodeId, StackReplicas>, LiveError> {
    let mut replicas = BTreeMap::new();
    for (node, host) in &mut hosts.stacks {
        if let Some(specs) = hosts.stack_replicas.get(node) {
            replicas.insert(*node, StackReplicas::new(specs, host, bus)?);
        }
    }
    Ok(replicas)
}

/// Starts the tasks of local hosts. `named` are all hosts of the run.
pub(crate) fn start_all(
    hosts: &[Host],
    named: &[Named],
    clock: Clock,
    barrier: &StartBarrier,
    bus: &Arc<MessageBus>,
) {
    let namespaces = hosts.iter().map(|host| (host.name.clone(), host.namespace.clone()));
    let namespaces: Arc<BTreeMap<String, String>> = Arc::new(namespaces.collect());
    for host in hosts {
        let environment = environment(named, hosts, &host.name);
        let (barrier, namespaces) = (barrier.clone(), Arc::clone(&namespaces));
        host.start(Start { clock, environment, namespaces, barrier, bus: Arc::clone(bus) });
    }
}

/// Ends the threads of hosts. Returns their settings, and the number of packets that their kernels dropped.
fn take_down(hosts: Vec<Host>) -> (Vec<Sysctls>, Drops) {
    let sysctls = hosts.iter().map(|host| host.sysctls.clone()).collect();
    (sysctls, hosts.into_iter().map(Host::join).sum())
}
