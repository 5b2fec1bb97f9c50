//! One live run: sets up the hosts, drives the network between them, and takes everything down.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use linux::channel::{ReportReceiver, ReportSender, report_channel};
use linux::drops::Drops;
use linux::namespace::{self, Privilege};
use linux::scheduling::{Priority, Scheduling};
use linux::sysctl::Sysctls;
use stacks::{HostCaptures, ProgramOutcome, Programs};
use units::{Duration, Instant};

use crate::LiveError;
use crate::clock::Clock;
use crate::drive::attachment::{Attachment, attach};
use crate::drive::driver::Driver;
use crate::drive::lateness::{Lateness, LatenessRecorder, TAINTED_FROM};
use crate::drive::network::Network;
use crate::machines::{Machines, RemoteMachines, RemoteResults};
use crate::run::command::Environment;
use crate::run::host::{Host, HostSpec, Report, Start};
use crate::run::options::{Options, Progress};
use crate::stop::Stop;
use crate::workload::kernel_hosts::KernelHosts;
use crate::workload::{HalfSpec, MessageBus, StackHalves};

/// The state at the end of a run, from which the results are computed.
pub(crate) struct Session {
    pub(crate) network: Network,
    pub(crate) captures: HostCaptures,
    pub(crate) reports: Vec<Report>,
    /// Whether the hosts ended the run, and not the stop time or a link.
    pub(crate) all_done: bool,
    pub(crate) lateness: Lateness,
    pub(crate) scheduling: Scheduling,
    pub(crate) right: Privilege,
    /// The settings of each host, in the order of the hosts.
    pub(crate) sysctls: Vec<Sysctls>,
    /// What the hosts' kernels dropped.
    pub(crate) drops: Drops,
    /// When the last packet was delivered, or the run was stopped.
    pub(crate) ended: Instant,
    /// The hosts with stacks in this process, in the order of the network's hosts; none where a kernel is.
    pub(crate) stacks: Vec<Option<stacks::Host>>,
    /// The programs of flows over these stacks, by the places of their flows.
    pub(crate) programs: BTreeMap<usize, ProgramOutcome>,
    /// What the other machines tell.
    pub(crate) remote: RemoteResults,
}

/// The hosts of a run.
pub(crate) struct Hosts {
    /// Those that kernels stand for.
    pub(crate) kernels: Vec<HostSpec>,
    /// Those with stacks in this process that have a flow, by node.
    pub(crate) stacks: Vec<(usize, stacks::Host)>,
    /// The nodes of all with stacks in this process.
    pub(crate) in_process: BTreeSet<usize>,
    /// How many hosts with stacks are in processes of other machines and have a flow.
    pub(crate) remote_stacks: usize,
    /// The sides at these of flows whose programs run in halves, by node.
    pub(crate) stack_halves: BTreeMap<usize, Vec<HalfSpec>>,
    /// The programs of flows between these.
    pub(crate) programs: Programs,
    /// The names of the flows, in the stacks' order.
    pub(crate) flows: Vec<String>,
    /// Where those kernels are that are not here.
    pub(crate) elsewhere: Option<Machines>,
}

type Reports = ReportReceiver<Result<Report, LiveError>>;
type Reporting = ReportSender<Result<Report, LiveError>>;

/// Sets up the hosts, runs their senders, receivers and programs across the network, and takes everything down. The
/// run ends when every host has reported, when the user's program has exited, or at `end`.
pub(crate) fn run(
    hosts: Hosts,
    network: Network,
    captures: HostCaptures,
    end: Instant,
    options: &Options<'_>,
    mut progress: Option<Progress<'_>>,
) -> Result<Session, LiveError> {
    let Hosts { kernels, mut stacks, in_process, remote_stacks, stack_halves, programs, flows, elsewhere } =
        hosts;
    let expected = kernels.iter().map(HostSpec::reports).sum::<usize>() + remote_stacks;
    let with_programs = kernels.iter().filter(|host| !host.programs.is_empty()).count();
    let named = named(&kernels);
    let kernel_hosts = KernelHosts::new(&kernels).map_err(LiveError::Wait)?;
    let is_elsewhere = |node| elsewhere.as_ref().is_some_and(|machines| machines.have(node));
    let hosts: Vec<_> = kernels.into_iter().filter(|host| !is_elsewhere(host.node)).collect();
    let right = match hosts.is_empty() {
        true => Privilege::NotNeeded,
        false => namespace::obtain_privilege().map_err(LiveError::UserNamespace)?,
    };
    let stop = Arc::new(Stop::default());
    let (sender, reports) = report_channel().map_err(LiveError::Wait)?;
    let halves = hosts.iter().flat_map(|host| &host.halves).chain(stack_halves.values().flatten());
    let bus = Arc::new(MessageBus::new(halves).map_err(LiveError::Wait)?);
    let stack_halves = halves_of_stacks(stack_halves, &mut stacks, &bus)?;
    let hosts = set_up(hosts, &stop, &sender)?;
    let starting = StartBarrier { expected: with_programs, left: Arc::new(AtomicUsize::new(with_programs)) };
    let reach = |machines| RemoteMachines::set_up(machines, options, sender.clone(), starting.clone(), &bus);
    let mut elsewhere = elsewhere.map(reach).transpose()?;
    let clock = elsewhere.as_mut().map_or_else(|| Ok(Clock::start()), RemoteMachines::start)?;
    let priority = Priority::raise();
    let tunnel = |node| elsewhere.as_ref().and_then(|elsewhere| elsewhere.tunnel(node));
    let attachments = attach(&network, &hosts, &tunnel, stacks, &|node| in_process.contains(&node));
    let tainted_from = options.tainted_from.unwrap_or(TAINTED_FROM);
    let mut driver = Driver::new(network, captures, clock, attachments, LatenessRecorder::new(tainted_from));
    (driver.programs, driver.kernel_hosts) = (programs, kernel_hosts);
    driver.add_halves(stack_halves);
    start_all(&hosts, &named, clock, &starting.left, &bus);
    let (elsewhere_now, flows) = (elsewhere.as_ref(), &flows[..]);
    let driven = MainLoop { reports: &reports, expected, clock, end, flows, elsewhere: elsewhere_now }
        .drive(&mut driver, progress.as_mut());
    let ended = clock.now();
    let programs = driver.finish_programs();
    let halves = driver.finish_halves();
    let Driver { network, captures, lateness, attachments, .. } = driver;
    let mut stacks: Vec<_> = attachments.into_iter().map(Attachment::into_stack).collect();
    let scheduling = priority.scheduling();
    drop(priority);
    let parted = match (&mut elsewhere, &driven) {
        (Some(elsewhere), Ok(_)) => elsewhere.end(),
        _ => Ok(()),
    };
    stop.stop();
    let mut taken = take_down(hosts, elsewhere, tainted_from, &network);
    for (node, ended) in taken.remote.stacks.drain(..) {
        if let Some(place) = network.nodes().iter().position(|known| *known == node) {
            stacks[place] = Some(stacks::Host::reported(ended));
        }
    }
    let (mut received, all_done) = driven?;
    parted?;
    received.extend(halves.into_iter().map(|half| Report::Half(Box::new(half))));
    while let Some(report) = reports.try_recv() {
        received.push(report?);
    }
    Ok(Session {
        network,
        captures,
        reports: received,
        all_done,
        drops: taken.drops,
        lateness: lateness.summary(),
        scheduling,
        right,
        sysctls: taken.sysctls,
        ended,
        stacks,
        programs,
        remote: taken.remote,
    })
}

/// Makes the halves of programs at the hosts with stacks in this process, by node.
fn halves_of_stacks(
    mut specs: BTreeMap<usize, Vec<HalfSpec>>,
    stacks: &mut [(usize, stacks::Host)],
    bus: &Arc<MessageBus>,
) -> Result<BTreeMap<usize, StackHalves>, LiveError> {
    let mut halves = BTreeMap::new();
    for (node, host) in stacks {
        if let Some(specs) = specs.remove(node) {
            halves.insert(*node, StackHalves::new(specs, host, bus)?);
        }
    }
    Ok(halves)
}

/// What the kernels tell once they are taken down.
struct TakenDown {
    sysctls: Vec<Sysctls>,
    drops: Drops,
    remote: RemoteResults,
}

fn take_down(
    hosts: Vec<Host>,
    elsewhere: Option<RemoteMachines>,
    bound: Duration,
    network: &Network,
) -> TakenDown {
    let sysctls = hosts.iter().map(|host| host.sysctls.clone()).collect();
    let drops = hosts.into_iter().map(Host::join).sum();
    let mut taken = TakenDown { sysctls, drops, remote: RemoteResults::default() };
    if let Some(elsewhere) = elsewhere {
        taken.sysctls.extend(elsewhere.sysctls());
        taken.drops = [taken.drops, elsewhere.drops()].into_iter().sum();
        taken.remote = elsewhere.results(bound, &|node| network.name(node));
    }
    taken
}

/// How many hosts have programs, and how many of these have yet to open their ports.
#[derive(Clone, Debug)]
pub(crate) struct StartBarrier {
    pub(crate) expected: usize,
    pub(crate) left: Arc<AtomicUsize>,
}

fn set_up(hosts: Vec<HostSpec>, stop: &Arc<Stop>, reports: &Reporting) -> Result<Vec<Host>, LiveError> {
    let set_up = |spec| Host::set_up(spec, Arc::clone(stop), reports.clone());
    hosts.into_iter().map(set_up).collect()
}

/// Starts the hosts here, of which `named` are the names and addresses, and those of all others.
pub(crate) fn start_all(
    hosts: &[Host],
    named: &[Named],
    clock: Clock,
    starting: &Arc<AtomicUsize>,
    bus: &Arc<MessageBus>,
) {
    let namespaces = namespaces(hosts);
    for host in hosts {
        let environment = environment(named, hosts, &host.name);
        let (starting, namespaces) = (Arc::clone(starting), Arc::clone(&namespaces));
        host.start(Start { clock, environment, namespaces, starting, bus: Arc::clone(bus) });
    }
}

/// Returns the namespaces of hosts here, by the hosts' names.
fn namespaces(here: &[Host]) -> Arc<BTreeMap<String, String>> {
    Arc::new(here.iter().map(|host| (host.name.clone(), host.namespace.clone())).collect())
}

/// A host's name and address.
pub(crate) type Named = (String, Ipv4Addr);

/// Returns the names and addresses of hosts.
pub(crate) fn named(hosts: &[HostSpec]) -> Vec<Named> {
    hosts.iter().map(|host| (host.name.clone(), host.address)).collect()
}

/// Returns the variables that tell a program in the host `own` the hosts' addresses, and the namespaces of those here.
fn environment(named: &[Named], here: &[Host], own: &str) -> Environment {
    let addresses = named
        .iter()
        .map(|(name, address)| (format!("LASTHOP_ADDRESS_{}", variable(name)), address.to_string()));
    let namespaces =
        here.iter().map(|host| (format!("LASTHOP_NETNS_{}", variable(&host.name)), host.namespace.clone()));
    let place = named.iter().position(|(name, _)| name == own).unwrap_or(0);
    let address = |place: usize| named.get(place).map(|(_, address)| address.to_string());
    let own = address(place).map(|address| ("LASTHOP_ADDRESS".to_owned(), address));
    let peer = address(usize::from(place == 0)).map(|address| ("LASTHOP_PEER".to_owned(), address));
    addresses.chain(namespaces).chain(own).chain(peer).collect()
}

/// Returns the name of a host as part of the name of an environment variable.
fn variable(name: &str) -> String {
    let letter =
        |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    name.chars().map(letter).collect()
}

/// The loop of a run, and what ends it.
struct MainLoop<'a> {
    reports: &'a Reports,
    /// How many reports the hosts send.
    expected: usize,
    clock: Clock,
    end: Instant,
    /// The names of the flows.
    flows: &'a [String],
    elsewhere: Option<&'a RemoteMachines>,
}

impl MainLoop<'_> {
    /// Drives until the hosts are done and the last packets are delivered. Returns the reports, and whether the hosts
    /// ended the run.
    fn drive(
        &self,
        driver: &mut Driver<'_>,
        mut progress: Option<&mut Progress<'_>>,
    ) -> Result<(Vec<Report>, bool), LiveError> {
        let mut reports = Vec::new();
        while !(self.is_done(&reports) && driver.stacks_are_done()) {
            if self.clock.now() >= self.end || driver.network.is_over() {
                return Ok((reports, false));
            }
            if let Some(wrong) = driver.corrupted() {
                return Err(LiveError::Corrupted {
                    flow: self.flows[wrong.flow].clone(),
                    position: wrong.position,
                });
            }
            if progress.as_mut().is_some_and(|callback| callback(self.clock.now()).is_break()) {
                return Err(LiveError::Interrupted);
            }
            self.elsewhere.map_or(Ok(()), RemoteMachines::look)?;
            let pause = self.clock.now() + PROGRESS_EVERY;
            driver.run(self.reports, pause.min(self.end)).map_err(LiveError::Wait)?;
            while let Some(report) = self.reports.try_recv() {
                reports.push(report?);
            }
        }
        let latest = (self.clock.now() + LONGEST_DRAIN).min(self.end);
        driver.drain(self.reports, latest).map_err(LiveError::Wait)?;
        Ok((reports, true))
    }

    /// Returns whether all reports are there, or that of the user's program, whose exit ends the run.
    fn is_done(&self, reports: &[Report]) -> bool {
        reports.len() >= self.expected || reports.iter().any(|report| matches!(report, Report::Exited(_)))
    }
}

/// Interval of the progress callback: as often as a person reads it.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);
/// How long the last packets may take once every host is done.
const LONGEST_DRAIN: Duration = Duration::from_secs(10);
