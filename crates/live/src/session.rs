//! One live run: sets up the hosts, drives the network between them, and takes everything down.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use stacks::HostCaptures;
use units::{Duration, Instant};

use crate::LiveError;
use crate::attachment::{Attachment, attach};
use crate::channel::{ReportReceiver, report_channel};
use crate::clock::Clock;
use crate::command::Environment;
use crate::driver::Driver;
use crate::drops::Drops;
use crate::host::{Host, HostSpec, Report, Start};
use crate::lateness::{Lateness, LatenessRecorder};
use crate::namespace::{self, Right};
use crate::network::Network;
use crate::options::Progress;
use crate::scheduling::{Priority, Scheduling};
use crate::stop::Stop;
use crate::sysctl::Sysctls;

/// The state at the end of a run, from which the results are computed.
pub(crate) struct Session {
    pub(crate) network: Network,
    pub(crate) captures: HostCaptures,
    pub(crate) reports: Vec<Report>,
    /// Whether the hosts ended the run, and not the stop time or a link.
    pub(crate) all_done: bool,
    pub(crate) lateness: Lateness,
    pub(crate) scheduling: Scheduling,
    pub(crate) right: Right,
    /// The settings of each host, in the order of the hosts.
    pub(crate) sysctls: Vec<Sysctls>,
    /// What the hosts' kernels dropped.
    pub(crate) drops: Drops,
    /// When the last packet was delivered, or the run was stopped.
    pub(crate) ended: Instant,
    /// The hosts with stacks in this process, in the order of the network's hosts; none where a kernel is.
    pub(crate) stacks: Vec<Option<stacks::Host>>,
}

/// The hosts of a run.
pub(crate) struct Hosts {
    /// Those that kernels stand for.
    pub(crate) kernels: Vec<HostSpec>,
    /// Those with stacks in this process that have a flow, by node.
    pub(crate) stacks: Vec<(usize, stacks::Host)>,
    /// The nodes of all with stacks in this process.
    pub(crate) in_process: BTreeSet<usize>,
    /// The names of the flows, in the stacks' order.
    pub(crate) flows: Vec<String>,
}

type Reports = ReportReceiver<Result<Report, LiveError>>;

/// Sets up the hosts, runs their senders, receivers and programs across the network, and takes everything down. The
/// run ends when every host has reported, when the user's program has exited, or at `end`.
pub(crate) fn run(
    hosts: Hosts,
    network: Network,
    captures: HostCaptures,
    end: Instant,
    tainted_from: Duration,
    mut progress: Option<Progress<'_>>,
) -> Result<Session, LiveError> {
    let Hosts { kernels: hosts, stacks, in_process, flows } = hosts;
    let right = match hosts.is_empty() {
        true => Right::NotNeeded,
        false => namespace::obtain_right().map_err(LiveError::UserNamespace)?,
    };
    let stop = Arc::new(Stop::default());
    let expected = hosts.iter().map(HostSpec::reports).sum();
    let with_programs = hosts.iter().filter(|host| !host.programs.is_empty()).count();
    let (hosts, reports) = set_up(hosts, &stop)?;
    let clock = Clock::start();
    let priority = Priority::raise();
    let attachments = attach(&network, &hosts, stacks, &|node| in_process.contains(&node));
    let mut driver = Driver::new(network, captures, clock, attachments, LatenessRecorder::new(tainted_from));
    let starting = Arc::new(AtomicUsize::new(with_programs));
    for (place, host) in hosts.iter().enumerate() {
        let environment = environment(&hosts, place);
        host.start(Start { clock, environment, starting: Arc::clone(&starting) });
    }
    let driven = MainLoop { reports: &reports, expected, clock, end, flows: &flows }
        .drive(&mut driver, progress.as_mut());
    let ended = clock.now();
    stop.stop();
    let Driver { network, captures, lateness, attachments, .. } = driver;
    let stacks = attachments.into_iter().map(Attachment::into_stack).collect();
    let scheduling = priority.scheduling();
    drop(priority);
    let sysctls = hosts.iter().map(|host| host.sysctls.clone()).collect();
    let drops = hosts.into_iter().map(Host::join).sum();
    let (mut received, all_done) = driven?;
    while let Some(report) = reports.try_recv() {
        received.push(report?);
    }
    Ok(Session {
        network,
        captures,
        reports: received,
        all_done,
        drops,
        lateness: lateness.summary(),
        scheduling,
        right,
        sysctls,
        ended,
        stacks,
    })
}

fn set_up(hosts: Vec<HostSpec>, stop: &Arc<Stop>) -> Result<(Vec<Host>, Reports), LiveError> {
    let (sender, reports) = report_channel().map_err(LiveError::Wait)?;
    let set_up = |spec| Host::set_up(spec, Arc::clone(stop), sender.clone());
    Ok((hosts.into_iter().map(set_up).collect::<Result<_, _>>()?, reports))
}

/// Returns the variables that tell a program in the host at `place` the hosts' addresses and namespaces.
fn environment(hosts: &[Host], place: usize) -> Environment {
    let named = hosts.iter().flat_map(|host| {
        let name = variable(&host.name);
        [
            (format!("LASTHOP_ADDRESS_{name}"), host.address.to_string()),
            (format!("LASTHOP_NETNS_{name}"), host.namespace.clone()),
        ]
    });
    let own = hosts.get(place).map(|host| ("LASTHOP_ADDRESS".to_owned(), host.address.to_string()));
    let peer =
        hosts.get(usize::from(place == 0)).map(|host| ("LASTHOP_PEER".to_owned(), host.address.to_string()));
    named.chain(own).chain(peer).collect()
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
