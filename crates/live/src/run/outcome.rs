//! The results of a live run.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;

use arrow_array::RecordBatch;
use linux::doctor::kernel_version;
use linux::drops::Drops;
use linux::namespace::Privilege;
use linux::scheduling::Scheduling;
use linux::sysctl::Sysctls;
use linux::tcp_info::KernelCounts;
use serde::Serialize;
use sim::workload::{Side, Transfer};
use sim::{FlowSpec, ObservedFlow, ObservedProgram, Summary};
use stacks::{Assignment, Observer, ProgramOutcome, StackId, TransferEnd, observe, observe_program};
use trace::flow::Side as FlowSide;
use units::{Duration, Instant};

use crate::drive::lateness::Lateness;
use crate::machines::MachineSummary;
use crate::run::bulk::{ConnectionEnd, Received, Sent};
use crate::run::host::Report;
use crate::run::options::Options;
use crate::run::samples::{Sample, records};
use crate::run::session::Session;
use crate::run::setup::Setup;
use crate::run::sockets_table::sockets;
use crate::workload::{KernelEndRan, Ran};

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
    pub right: Privilege,
    /// The kernel under test.
    pub kernel: Kernel,
    /// The programs of flows of which a host has a stack in this process.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramSummary>,
    /// The exit of the user's program, if one ran.
    pub command: Option<CommandSummary>,
    /// Other machines on which hosts were.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<MachineSummary>,
    /// Why the run is not valid, in sentences; empty if it is.
    pub tainted_by: Vec<String>,
}

/// Packets that never reached a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Outside {
    /// Packets that a host's device dropped before they were read.
    pub device_drops: u64,
    /// Segments and datagrams for which a socket of a host had no room (TCPBacklogDrop, TCPRcvQDrop, RcvbufErrors).
    pub socket_drops: u64,
    /// Packets without a route: to an unknown address, or not IPv4.
    pub unroutable: u64,
    /// So many drops at devices and sockets taint the run.
    pub bound: u64,
    /// Whether there were as many.
    pub tainted: bool,
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
    /// Bytes that the receiving program read and checked; of datagrams those of the packets.
    pub received: u64,
    /// Why the connection broke, if it did; of several, the first.
    pub broken: Option<String>,
    /// How late the flow's program was woken at most, in milliseconds; null for bulk transfers, which wait for no time,
    /// and where [`LiveSummary::programs`] has it.
    pub woken_late_ms: Option<f64>,
    /// How late a half of the flow's program heard of the other at most, in milliseconds, where its hosts are not both
    /// with the emulator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard_late_ms: Option<f64>,
    /// The counters.
    #[serde(flatten)]
    pub counts: KernelCounts,
}

/// The program of a flow with a stack in this process.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramSummary {
    /// The flow's name.
    pub flow: String,
    /// Why a connection broke, if one did; of several, the first.
    pub broken: Option<String>,
    /// How late the program was woken at most, in milliseconds.
    pub woken_late_ms: f64,
    /// How late it heard at most of what had happened at its end at a kernel, or one of its halves of the other, in
    /// milliseconds; 0 where it has neither.
    pub heard_late_ms: f64,
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
    let outside = Outside::new(session.drops, session.network.unroutable(), options.tainted_from_drops);
    let ProgramResults { outcomes, kernel_flows, summaries: programs } =
        ProgramResults::take(setup, &mut session);
    let mut flows = observed(setup, &mut session, outcomes, &options.stacks);
    add_samples(setup, &mut flows, samples);
    let mut outcome = session.network.finish(session.ended, flows);
    if !samples.is_empty() {
        outcome.tables.push(sockets(samples));
    }
    if session.all_done {
        let what = if command.is_some() { "the program ended" } else { "every flow closed" };
        what.clone_into(&mut outcome.summary.stopped_by);
    }
    // With no kernel here, those under test are elsewhere.
    let elsewhere = session.remote.summaries.first().filter(|_| session.privilege == Privilege::NotNeeded);
    let kernel = Kernel {
        version: elsewhere.map_or_else(kernel_version, |machine| machine.kernel.clone()),
        congestion: options.congestion.clone(),
        sysctls: session.sysctls.into_iter().next().unwrap_or_default(),
        flows: kernel_flows,
    };
    let (lateness, scheduling, right) = (session.lateness, session.scheduling, session.privilege);
    let machines = session.remote.summaries;
    let of_kernels = kernel.flows.iter().filter_map(|flow| Some((flow.flow.as_str(), flow.woken_late_ms?)));
    let of_stacks = programs.iter().map(|program| (program.flow.as_str(), program.woken_late_ms));
    let woken_late: Vec<_> = of_kernels.chain(of_stacks).collect();
    let tainted_by = tainted_by(&lateness, &outside, &woken_late, &machines);
    let summary = LiveSummary {
        run: outcome.summary,
        lateness,
        outside,
        scheduling,
        right,
        kernel,
        programs,
        command,
        machines,
        tainted_by,
    };
    outcome.captures.extend(session.remote.captures);
    LiveOutcome { summary, tables: outcome.tables, captures: outcome.captures }
}

/// What became of the programs of flows.
struct ProgramResults {
    /// By the places of their flows.
    outcomes: BTreeMap<usize, ProgramOutcome>,
    /// The kernels' counters, of bulk transfers too.
    kernel_flows: Vec<KernelFlow>,
    /// Those of flows with a host whose stack is in a process of lasthop's.
    summaries: Vec<ProgramSummary>,
}

impl ProgramResults {
    fn take(setup: &Setup<'_>, session: &mut Session) -> Self {
        let (over_stacks, ran): (Vec<Ran>, Vec<Ran>) =
            session.take_ran().into_iter().partition(|ran| setup.has_stack(&ran.flow));
        let mut outcomes = std::mem::take(&mut session.programs);
        let ends = session.take_ends();
        for end in ends.iter().filter(|end| end.side == Side::To) {
            outcomes.entry(end.index).and_modify(|outcome| outcome.received += end.read);
        }
        let place = |ran: &Ran| setup.flows.iter().position(|flow| flow.name == ran.flow);
        let of_ends = ends.iter().filter(|end| end.side == Side::From).map(|end| (end.index, end.counts));
        let mut counts: BTreeMap<usize, KernelCounts> = of_ends.collect();
        for one in over_stacks {
            let Some(index) = place(&one) else { continue };
            counts.extend(setup.is_from_kernel(index).then_some((index, one.counts)));
            outcomes.insert(index, one.into());
        }
        let of_end = |index| {
            let counts = counts.get(&index)?;
            Some(KernelFlow::of_end(&setup.flows[index].name, outcomes.get(&index)?, *counts))
        };
        let of_flow = |(index, flow): (usize, &FlowSpec)| {
            KernelFlow::of(&flow.name, &session.reports, &ran).or_else(|| of_end(index))
        };
        let kernel_flows = setup.flows.iter().enumerate().filter_map(of_flow).collect();
        let summary = |(index, one): (&usize, &_)| ProgramSummary::of(&setup.flows[*index].name, one);
        let summaries = outcomes.iter().map(summary).collect();
        outcomes.extend(ran.into_iter().filter_map(|ran| Some((place(&ran)?, ran.into()))));
        Self { outcomes, kernel_flows, summaries }
    }
}

/// Adds what samples tell of the sending kernels' connections.
fn add_samples(setup: &Setup<'_>, flows: &mut [ObservedFlow], samples: &[(String, Vec<Sample>)]) {
    let sampled = BySocket::new(samples);
    for (index, (spec, flow)) in setup.flows.iter().zip(flows).enumerate() {
        let listens = setup.ends(index)[1].port();
        for connection in &mut flow.connections {
            if let Some(found) = sampled.find(&setup.spec.nodes[spec.from].name, connection.ends) {
                let accepted = connection.ends[0].port() == listens;
                connection.records[0] = records(found.iter().copied(), accepted);
            }
        }
    }
}

impl Outside {
    /// `tainted_from` is how many drops taint the run; without it, one.
    pub(crate) fn new(drops: Drops, unroutable: u64, tainted_from: Option<u64>) -> Self {
        let bound = tainted_from.unwrap_or(1);
        let tainted = drops.device + drops.socket >= bound.max(1);
        Self { device_drops: drops.device, socket_drops: drops.socket, unroutable, bound, tainted }
    }
}

/// Returns what makes the run differ from what the scenario says: packets that were late or dropped elsewhere than on a
/// link, programs that were woken late: `woken_late` has their flows and the milliseconds.
pub(crate) fn tainted_by(
    lateness: &Lateness,
    outside: &Outside,
    woken_late: &[(&str, f64)],
    machines: &[MachineSummary],
) -> Vec<String> {
    let mut reasons = Vec::new();
    let Lateness { misses, releases, bound_ms, .. } = lateness;
    if lateness.tainted {
        reasons.push(format!("{misses} of {releases} packets were released over {bound_ms} ms late"));
    }
    if outside.tainted && outside.device_drops > 0 {
        reasons.push(format!("a device dropped {} packets before the links saw them", outside.device_drops));
    }
    if outside.tainted && outside.socket_drops > 0 {
        reasons.push(format!("{} packets found no room at a socket behind the links", outside.socket_drops));
    }
    for (flow, late) in woken_late.iter().filter(|(_, late)| late > bound_ms) {
        reasons.push(format!("the program of flow {flow} was woken up to {late:.1} ms late"));
    }
    for machine in machines.iter().filter(|machine| machine.tainted) {
        let name = machine.machine.split('?').next().unwrap_or_default();
        reasons.push(format!("the tunnel to {name} lost, reordered or held up packets"));
    }
    reasons
}

impl Session {
    /// The programs in the hosts' threads that have ended.
    fn take_ran(&mut self) -> Vec<Ran> {
        let (ran, rest) = std::mem::take(&mut self.reports)
            .into_iter()
            .partition::<Vec<_>, _>(|report| matches!(report, Report::Ran(_)));
        self.reports = rest;
        let ran = ran.into_iter().filter_map(|report| match report {
            Report::Ran(ran) => Some(*ran),
            _ => None,
        });
        ran.collect()
    }

    /// What kernels' ends of programs have done.
    fn take_ends(&mut self) -> Vec<KernelEndRan> {
        let ends = self.reports.extract_if(.., |report| matches!(report, Report::EndRan(_)));
        let ends = ends.filter_map(|report| match report {
            Report::EndRan(end) => Some(end),
            _ => None,
        });
        ends.collect()
    }
}

impl From<Ran> for ProgramOutcome {
    fn from(ran: Ran) -> Self {
        Self {
            program: ran.program,
            is_done: ran.is_done,
            connections: ran.connections,
            all_closed: ran.all_closed,
            received: ran.received,
            counters: ran.counters,
            broken: ran.broken,
            woken_late_by: ran.woken_late_by,
            heard_late_by: ran.heard_late_by.unwrap_or(Duration::ZERO),
        }
    }
}

/// Returns the flows as captured at their senders, or as the senders' stacks count them.
fn observed(
    setup: &Setup<'_>,
    session: &mut Session,
    mut programs: BTreeMap<usize, ProgramOutcome>,
    stacks: &Assignment,
) -> Vec<ObservedFlow> {
    let place = |node: usize| setup.hosts.iter().position(|host| *host == node).expect("a flow joins hosts");
    let mut flows = Vec::new();
    for (index, flow) in setup.flows.iter().enumerate() {
        let [from, to] = [place(flow.from), place(flow.to)];
        if let Some(ran) = programs.remove(&index) {
            // Once the links have nothing more under way, what has not arrived is lost.
            let of_links = || session.captures.lost_datagrams(setup.ends(index));
            let lost = if session.all_done { u64::MAX } else { of_links() };
            flows.push(observe_program(setup.spec, flow, index, &session.captures, (from, lost), ran));
            continue;
        }
        let mut observer =
            Observer { capture: from, sender: None, received: None, receiver_records: Vec::new() };
        let received = received(&flow.name, &session.reports);
        observer.received = received.map(|received| received.bytes);
        let transfer = received.and_then(|received| transfer(setup, flow, received));
        if let Some(receiver) = &mut session.stacks[to] {
            observer.received = receiver.transfer(index).map(TransferEnd::bytes);
            observer.receiver_records = receiver.take_records(index);
        }
        if stacks.get(flow.to) == Some(StackId::PROGRAM) {
            // What a program has read, nobody here knows: what its stack has acknowledged counts.
            let captured = session.captures.flow(from, setup.ends(index));
            observer.received = captured.map(|flow| flow.half(FlowSide::Opener).acked().0);
        }
        observer.sender = session.stacks[from].as_mut();
        let mut observed = observe(setup.spec, flow, index, &session.captures, observer);
        if let Some(transfer) = transfer {
            let mut program = ObservedProgram::new(flow.program(setup.spec.seed).1);
            program.report(transfer);
            program.tell(0, true, &mut observed);
            session.captures.tell(index, &mut observed.summary);
        }
        flows.push(observed);
    }
    flows
}

/// Returns the transfer of a bulk flow whose last byte was read.
fn transfer(setup: &Setup<'_>, flow: &FlowSpec, received: &Received) -> Option<Transfer> {
    let sim::Workload::Bulk(sim::Amount::Bytes(bytes)) = flow.workload else { return None };
    let start = flow.start_at(setup.spec.seed);
    let end = Instant::from_nanos(received.last_read_ns).max(start);
    (received.bytes == bytes.0).then_some(Transfer { start, end, bytes })
}

/// The samples of each host by connection: the host's own end, then the other.
struct BySocket<'a>(BTreeMap<(&'a str, [SocketAddr; 2]), Vec<&'a Sample>>);

impl<'a> BySocket<'a> {
    fn new(samples: &'a [(String, Vec<Sample>)]) -> Self {
        let mut found: BTreeMap<_, Vec<&Sample>> = BTreeMap::new();
        for (host, of_host) in samples {
            for sample in of_host {
                found.entry((host.as_str(), sample.ends.map(SocketAddr::V4))).or_default().push(sample);
            }
        }
        Self(found)
    }

    fn find(&self, host: &'a str, ends: [SocketAddr; 2]) -> Option<&Vec<&'a Sample>> {
        self.0.get(&(host, ends))
    }
}

/// Returns what a flow's receiver read.
fn received<'a>(flow: &str, reports: &'a [Report]) -> Option<&'a Received> {
    reports.iter().find_map(|report| match report {
        Report::Received(received) if received.flow == flow => Some(received),
        _ => None,
    })
}

impl KernelFlow {
    fn of(flow: &str, reports: &[Report], programs: &[Ran]) -> Option<Self> {
        let ran = programs.iter().find(|ran| ran.flow == flow);
        ran.map(Self::of_program).or_else(|| Self::of_bulk(flow, reports))
    }

    fn of_program(ran: &Ran) -> Self {
        Self {
            flow: ran.flow.clone(),
            received: ran.received + ran.program.datagram_bytes().0,
            broken: ran.broken.clone(),
            woken_late_ms: Some(ran.woken_late_by.as_secs_f64() * 1e3),
            heard_late_ms: ran.heard_late_by.map(|late| late.as_secs_f64() * 1e3),
            counts: ran.counts,
        }
    }

    /// Of a program that has a stack in this process at its other end.
    fn of_end(flow: &str, outcome: &ProgramOutcome, counts: KernelCounts) -> Self {
        Self {
            flow: flow.to_owned(),
            received: outcome.received + outcome.program.datagram_bytes().0,
            broken: outcome.broken.clone(),
            woken_late_ms: None,
            heard_late_ms: None,
            counts,
        }
    }

    fn of_bulk(flow: &str, reports: &[Report]) -> Option<Self> {
        let sent = reports.iter().find_map(|report| match report {
            Report::Sent(sent) if sent.flow == flow => Some(sent),
            _ => None,
        })?;
        let Sent { flow, end, counts, .. } = sent.clone();
        let received = received(&flow, reports).map_or(0, |received| received.bytes);
        let broken = match end {
            ConnectionEnd::Closed => None,
            ConnectionEnd::Stopped => Some("the run was over".to_owned()),
            ConnectionEnd::Broken(why) => Some(why),
        };
        Some(Self { flow, received, broken, woken_late_ms: None, heard_late_ms: None, counts })
    }
}

impl ProgramSummary {
    fn of(flow: &str, outcome: &ProgramOutcome) -> Self {
        Self {
            flow: flow.to_owned(),
            broken: outcome.broken.clone(),
            woken_late_ms: outcome.woken_late_by.as_secs_f64() * 1e3,
            heard_late_ms: outcome.heard_late_by.as_secs_f64() * 1e3,
        }
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
