//! The results of a live run.

use std::os::unix::process::ExitStatusExt;

use arrow_array::RecordBatch;
use serde::Serialize;
use sim::{ObservedFlow, Summary};
use stacks::{Observer, TransferEnd, observe};

use crate::bulk::{ConnectionEnd, Sent};
use crate::doctor::kernel_version;
use crate::host::Report;
use crate::lateness::Lateness;
use crate::machines::MachineSummary;
use crate::namespace::Right;
use crate::options::Options;
use crate::scheduling::Scheduling;
use crate::session::Session;
use crate::setup::Setup;
use crate::sock_diag::{Sample, records};
use crate::socket::KernelCounts;
use crate::sockets_table::sockets;
use crate::sysctl::Sysctls;

/// The results of a live run.
#[derive(Clone, Debug)]
pub struct LiveOutcome {
    /// The statistics.
    pub summary: LiveSummary,
    /// The requested tables by name, and `flows`.
    pub tables: Vec<(&'static str, RecordBatch)>,
    /// The requested captures by the name of their capture point, as pcapng files.
    pub captures: Vec<(String, Vec<u8>)>,
}

/// The object that `lasthop live --json` prints: the keys of a run in virtual time, and those of real time.
#[derive(Clone, Debug, Serialize)]
pub struct LiveSummary {
    /// The keys of a run in virtual time. Flows are measured at the sending host's device.
    #[serde(flatten)]
    pub run: Summary,
    /// How late packets were delivered.
    pub lateness: Lateness,
    /// Packets that were lost outside the links.
    pub outside: Outside,
    /// The driver's scheduling class.
    pub scheduling: Scheduling,
    /// The right by which the namespaces were made.
    pub right: Right,
    /// The kernel under test.
    pub kernel: Kernel,
    /// The exit of the user's program, if one ran.
    pub command: Option<CommandSummary>,
    /// Other machines on which hosts were.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<MachineSummary>,
}

/// Packets that never reached a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Outside {
    /// Packets that a host's device dropped before they were read. The emulated link did not drop them, so a run with
    /// any is not valid.
    pub device_drops: u64,
    /// Segments and datagrams for which a socket of a host had no room (TCPBacklogDrop, TCPRcvQDrop, RcvbufErrors).
    pub socket_drops: u64,
    /// Packets without a route: to an unknown address, or not IPv4.
    pub unroutable: u64,
}

/// The kernel under test.
#[derive(Clone, Debug, Serialize)]
pub struct Kernel {
    /// Name and release.
    pub version: String,
    /// The requested congestion control, if any.
    pub congestion: Option<String>,
    /// The requested settings, as the kernel reads them back.
    pub sysctls: Sysctls,
    /// The sending kernels' counters of each flow.
    pub flows: Vec<KernelFlow>,
}

/// The sending kernel's counters of a flow.
#[derive(Clone, Debug, Serialize)]
pub struct KernelFlow {
    /// The flow's name.
    pub flow: String,
    /// Bytes that the receiving program read and checked.
    pub received: u64,
    /// Why the connection broke, if it did.
    pub broken: Option<String>,
    /// The counters.
    #[serde(flatten)]
    pub counts: KernelCounts,
}

/// The exit of the user's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CommandSummary {
    /// The exit status, unless a signal ended the program.
    pub status: Option<i32>,
    /// The signal that ended the program.
    pub signal: Option<i32>,
}

/// Computes the results of a session.
pub(crate) fn gather(
    setup: &Setup<'_>,
    mut session: Session,
    options: &Options<'_>,
    samples: &[(String, Vec<Sample>)],
) -> LiveOutcome {
    let command = session.reports.iter().find_map(CommandSummary::of);
    let outside = Outside {
        device_drops: session.drops.device,
        socket_drops: session.drops.socket,
        unroutable: session.network.unroutable(),
    };
    let mut flows = observed(setup, &mut session);
    for (index, flow) in flows.iter_mut().enumerate() {
        if let Some(sampled) = sampled(setup, index, samples) {
            flow.records[0] = records(sampled);
        }
    }
    let mut outcome = session.network.finish(session.ended, flows);
    if !samples.is_empty() {
        outcome.tables.push(sockets(samples));
    }
    if session.all_done {
        let what = if command.is_some() { "the program ended" } else { "every flow closed" };
        what.clone_into(&mut outcome.summary.stopped_by);
    }
    let kernel = Kernel {
        version: kernel_version(),
        congestion: options.congestion.clone(),
        sysctls: session.sysctls.into_iter().next().unwrap_or_default(),
        flows: setup.flows.iter().filter_map(|flow| KernelFlow::of(&flow.name, &session.reports)).collect(),
    };
    let (lateness, scheduling, right) = (session.lateness, session.scheduling, session.right);
    let machines = session.others.summaries;
    let summary =
        LiveSummary { run: outcome.summary, lateness, outside, scheduling, right, kernel, command, machines };
    outcome.captures.extend(session.others.captures);
    LiveOutcome { summary, tables: outcome.tables, captures: outcome.captures }
}

/// Returns the flows as captured at their senders, or as the senders' stacks count them.
fn observed(setup: &Setup<'_>, session: &mut Session) -> Vec<ObservedFlow> {
    let place = |node: usize| setup.hosts.iter().position(|host| *host == node).expect("a flow joins hosts");
    let mut flows = Vec::new();
    for (index, flow) in setup.flows.iter().enumerate() {
        let [from, to] = [place(flow.from), place(flow.to)];
        let mut observer =
            Observer { capture: from, sender: None, received: None, receiver_records: Vec::new() };
        observer.received = received(&flow.name, &session.reports);
        if let Some(receiver) = &mut session.stacks[to] {
            observer.received = receiver.transfer(index).map(TransferEnd::bytes);
            observer.receiver_records = receiver.take_records(index);
        }
        observer.sender = session.stacks[from].as_mut();
        flows.push(observe(setup.spec, flow, index, &session.captures, observer));
    }
    flows
}

/// Returns the samples of a flow's connection at its sender, if that is a kernel.
fn sampled<'a>(
    setup: &Setup<'_>,
    flow: usize,
    samples: &'a [(String, Vec<Sample>)],
) -> Option<impl Iterator<Item = &'a Sample>> {
    let ends = setup.ends(flow);
    let sender = &setup.spec.nodes[setup.flows[flow].from].name;
    let (_, of_host) = samples.iter().find(|(host, _)| host == sender)?;
    Some(of_host.iter().filter(move |sample| sample.ends == ends))
}

/// Returns how many bytes of a flow its receiver read.
fn received(flow: &str, reports: &[Report]) -> Option<u64> {
    reports.iter().find_map(|report| match report {
        Report::Received(received) if received.flow == flow => Some(received.bytes),
        _ => None,
    })
}

impl KernelFlow {
    fn of(flow: &str, reports: &[Report]) -> Option<Self> {
        let sent = reports.iter().find_map(|report| match report {
            Report::Sent(sent) if sent.flow == flow => Some(sent),
            _ => None,
        })?;
        let Sent { flow, end, counts, .. } = sent.clone();
        let received = received(&flow, reports).unwrap_or(0);
        let broken = match end {
            ConnectionEnd::Closed => None,
            ConnectionEnd::Stopped => Some("the run was over".to_owned()),
            ConnectionEnd::Broken(why) => Some(why),
        };
        Some(Self { flow, received, broken, counts })
    }
}

impl CommandSummary {
    fn of(report: &Report) -> Option<Self> {
        match report {
            Report::Exited(status) => Some(Self { status: status.code(), signal: status.signal() }),
            _ => None,
        }
    }
}
