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
use sim::{FlowSpec, ObservedFlow, Summary};
use stacks::{Assignment, Observer, StackId, observe, observe_program, report_of};
use trace::flow::Side as FlowSide;
use units::{FlowId, Instant, Side};
use workload::{Amount, ProgramLog, ProgramOutcome, Transfer, Workload};

use crate::drive::account::DriverAccount;
use crate::drive::lateness::Lateness;
use crate::machines::MachineSummary;
use crate::run::congestion::KernelCongestion;
use crate::run::options::Options;
use crate::run::report::{ConnectionEnd, Received, Report, Sent};
use crate::run::samples::{Sample, records};
use crate::run::session::Session;
use crate::run::setup::Setup;
use crate::run::sockets_table::sockets;
use crate::run::state::LinkChange;
use crate::workload::ProgramReport;

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

/// The object that `lasthop live --json` prints: the keys of a run in virtual time, and the keys of real time.
#[derive(Clone, Debug, Serialize)]
pub struct LiveSummary {
    /// The keys of a run in virtual time. Flows are measured at the sending host's device.
    #[serde(flatten)]
    pub run: Summary,
    /// The lateness of deliveries.
    pub lateness: Lateness,
    /// Use of time by the driver, and its stalls.
    pub driver: DriverAccount,
    /// Packets that were lost outside the links.
    pub outside: Outside,
    /// The driver's scheduling class.
    pub scheduling: Scheduling,
    /// The privilege by which the namespaces were made.
    pub right: Privilege,
    /// The kernel under test.
    pub kernel: Kernel,
    /// The programs of flows of which a host has a stack in this process.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramSummary>,
    /// The exit of the user's program, if one ran.
    pub command: Option<CommandSummary>,
    /// The other machines with hosts of the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<MachineSummary>,
    /// The changes of links during the run; the scenario of the result is that before them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<LinkChange>,
    /// The reasons why the run is not valid, in sentences; empty if it is valid.
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
    /// Number of drops at devices and sockets from which they taint the run.
    pub bound: u64,
    /// Whether that number was reached.
    pub tainted: bool,
}

/// The kernel under test.
#[derive(Clone, Debug, Serialize)]
pub struct Kernel {
    /// Name and release.
    pub version: String,
    /// The congestion control that the scenario requests for all sockets, if it does.
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
    /// The congestion control of the sending sockets.
    pub congestion: String,
    /// Bytes that the receiving program read and checked; of datagrams, the bytes of the packets.
    pub received: u64,
    /// The reason why the connection broke, if it did; of several connections, that of the first.
    pub broken: Option<String>,
    /// The largest lateness of a wake-up of the flow's program, in milliseconds; null for bulk transfers, which have no
    /// timers, and for flows that [`LiveSummary::programs`] contains.
    pub woken_late_ms: Option<f64>,
    /// The largest lateness of a message between the copies of the flow's program, in milliseconds, where its hosts are
    /// not both with the emulator.
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
    /// The reason why a connection broke, if one did; of several, that of the first.
    pub broken: Option<String>,
    /// The largest lateness of a wake-up of the program, in milliseconds.
    pub woken_late_ms: f64,
    /// The largest lateness of an event at its end at a kernel, or of a message between its copies, in milliseconds; 0
    /// where it has neither.
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
        ProgramResults::take(setup, options, &mut session);
    let mut flows = observed(setup, &session, outcomes, &options.stacks);
    add_samples(setup, &mut flows, samples);
    let mut outcome = session.network.finish(session.ended, flows);
    if !samples.is_empty() {
        outcome.tables.push(sockets(samples));
    }
    if session.all_done {
        let what = if command.is_some() { "the program ended" } else { "every flow closed" };
        what.clone_into(&mut outcome.summary.stopped_by);
    }
    // Without a kernel here, the kernels under test are on other machines.
    let elsewhere = session.remote.summaries.first().filter(|_| session.privilege == Privilege::NotNeeded);
    let kernel = Kernel {
        version: elsewhere.map_or_else(kernel_version, |machine| machine.kernel.clone()),
        congestion: options.congestion.clone(),
        sysctls: of_all_hosts(session.sysctls, options),
        flows: kernel_flows,
    };
    let (lateness, scheduling, right) = (session.lateness, session.scheduling, session.privilege);
    let machines = session.remote.summaries;
    let of_kernels = kernel.flows.iter().filter_map(|flow| Some((flow.flow.as_str(), flow.woken_late_ms?)));
    let of_stacks = programs.iter().map(|program| (program.flow.as_str(), program.woken_late_ms));
    let woken_late: Vec<_> = of_kernels.chain(of_stacks).collect();
    let driver = session.account;
    let tainted_by = tainted_by(&lateness, &driver, &outside, &woken_late, &machines);
    let summary = LiveSummary {
        run: outcome.summary,
        lateness,
        driver,
        outside,
        scheduling,
        right,
        kernel,
        programs,
        command,
        machines,
        changes: session.changes,
        tainted_by,
    };
    outcome.captures.extend(session.remote.captures);
    LiveOutcome { summary, tables: outcome.tables, captures: outcome.captures }
}

/// The settings that the hosts have in common, as the kernel of one reads them back; those of single hosts stand in the
/// scenario.
fn of_all_hosts(hosts: Vec<Sysctls>, options: &Options<'_>) -> Sysctls {
    let first = hosts.into_iter().next().unwrap_or_default();
    first.into_iter().filter(|(name, _)| options.sysctls.contains_key(name)).collect()
}

/// The results of the programs of flows.
struct ProgramResults {
    outcomes: BTreeMap<FlowId, ProgramOutcome>,
    /// The kernels' counters, of bulk transfers too.
    kernel_flows: Vec<KernelFlow>,
    /// The programs of flows with a host whose stack is in a process of lasthop's.
    summaries: Vec<ProgramSummary>,
}

impl ProgramResults {
    fn take(setup: &Setup<'_>, options: &Options<'_>, session: &mut Session) -> Self {
        let reports = session.take_program_reports();
        let of_sender = reports.iter().filter(|report| report.side == Side::From);
        let counts: BTreeMap<FlowId, KernelCounts> =
            of_sender.map(|report| (report.flow, report.counts)).collect();
        let outcomes = joined(std::mem::take(&mut session.programs), reports);
        let kernel_flow = |(id, flow): (FlowId, &FlowSpec)| {
            let congestion =
                KernelCongestion::of(&flow.sender, options.congestion.as_deref(), &options.sysctls).runs;
            match outcomes.get(&id) {
                Some(outcome) if setup.is_from_kernel(id) => {
                    let counts = counts.get(&id).copied().unwrap_or_default();
                    Some(KernelFlow::of_program(setup, id, congestion, outcome, counts))
                }
                Some(_) => None,
                None => KernelFlow::of_bulk(&flow.name, congestion, &session.reports),
            }
        };
        let kernel_flows = setup.flows().filter_map(kernel_flow).collect();
        let with_stacks = outcomes.iter().filter(|(id, _)| setup.has_stack(**id));
        let summaries = with_stacks.map(|(id, one)| ProgramSummary::of(&setup.flow(*id).name, one)).collect();
        Self { outcomes, kernel_flows, summaries }
    }
}

/// The outcomes of all programs, both of programs that the driver ran and of programs in reports; copies come in pairs.
fn joined(
    mut outcomes: BTreeMap<FlowId, ProgramOutcome>,
    mut reports: Vec<ProgramReport>,
) -> BTreeMap<FlowId, ProgramOutcome> {
    // The copy at `from` comes first.
    reports.sort_by_key(|report| (report.flow, report.side));
    for ProgramReport { flow, side, outcome, read, .. } in reports {
        let known = outcomes.remove(&flow);
        let joined = match (known, outcome) {
            (Some(from), Some(to)) => Some(ProgramOutcome::join(from, to)),
            (Some(known), None) if side == Side::To => {
                Some(ProgramOutcome { received: known.received + read, ..known })
            }
            (known, outcome) => known.or(outcome),
        };
        outcomes.extend(joined.map(|outcome| (flow, outcome)));
    }
    outcomes
}

/// Adds the samples of the sending kernels' connections.
fn add_samples(setup: &Setup<'_>, flows: &mut [ObservedFlow], samples: &[(String, Vec<Sample>)]) {
    let sampled = BySocket::new(samples);
    for ((id, spec), flow) in setup.flows().zip(flows) {
        let listens = setup.ends(id)[Side::To].port();
        for connection in &mut flow.connections {
            if let Some(found) = sampled.find(&setup.spec.node(spec.from).name, connection.ends) {
                let accepted = connection.ends[0].port() == listens;
                connection.records[0] = records(found.iter().copied(), accepted);
            }
        }
    }
}

impl Outside {
    /// `tainted_from` is the number of drops from which they taint the run; default 1.
    pub(crate) fn new(drops: Drops, unroutable: u64, tainted_from: Option<u64>) -> Self {
        let bound = tainted_from.unwrap_or(1);
        let tainted = drops.device + drops.socket >= bound.max(1);
        Self { device_drops: drops.device, socket_drops: drops.socket, unroutable, bound, tainted }
    }
}

/// Returns the reasons why the run differs from the scenario: packets that were late or dropped outside the links, and
/// programs that were woken late. `woken_late` has the flows of these programs, with milliseconds.
pub(crate) fn tainted_by(
    lateness: &Lateness,
    driver: &DriverAccount,
    outside: &Outside,
    woken_late: &[(&str, f64)],
    machines: &[MachineSummary],
) -> Vec<String> {
    let mut reasons = Vec::new();
    let Lateness { misses, releases, bound_ms, .. } = lateness;
    if lateness.tainted {
        let blame = driver.blame();
        reasons
            .push(format!("{misses} of {releases} packets were released over {bound_ms} ms late; {blame}"));
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
    /// Takes the reports on programs.
    fn take_program_reports(&mut self) -> Vec<ProgramReport> {
        let taken = self.reports.extract_if(.., |report| matches!(report, Report::Program(_)));
        let reports = taken.filter_map(|report| match report {
            Report::Program(report) => Some(*report),
            _ => None,
        });
        reports.collect()
    }
}

/// Returns the flows as captured at their senders, or as the senders' stacks count them.
fn observed(
    setup: &Setup<'_>,
    session: &Session,
    mut programs: BTreeMap<FlowId, ProgramOutcome>,
    stacks: &Assignment,
) -> Vec<ObservedFlow> {
    let place = |node| setup.hosts.iter().position(|host| *host == node).expect("a flow joins hosts");
    let mut flows = Vec::new();
    for (id, flow) in setup.flows() {
        let [from, to] = flow.nodes().map(place).into_array();
        flows.push(match programs.remove(&id) {
            Some(outcome) => {
                // When no packet is in transit, datagrams that have not arrived are lost.
                let of_links = || session.captures.lost_datagrams(setup.ends(id).into_array());
                let lost = if session.all_done { u64::MAX } else { of_links() };
                observe_program(setup.spec, flow, id, &session.captures, (from, lost), outcome)
            }
            None => observed_bulk(setup, session, (id, flow), [from, to], stacks),
        });
    }
    flows
}

/// Returns a bulk flow between the hosts at two places.
fn observed_bulk(
    setup: &Setup<'_>,
    session: &Session,
    (id, flow): (FlowId, &FlowSpec),
    [from, to]: [usize; 2],
    stacks: &Assignment,
) -> ObservedFlow {
    let by_kernel = received(&flow.name, &session.reports);
    let by_stack = report_of(&session.stacks[to], id);
    let mut observer = Observer {
        capture: from,
        sender: report_of(&session.stacks[from], id),
        received: by_stack.map(|report| report.bytes).or(by_kernel.map(|received| received.bytes)),
        receiver_records: by_stack.map_or(&[], |report| &report.records),
        dccp: None,
    };
    if stacks.get(flow.to) == Some(StackId::PROGRAM) {
        // Only the program knows the bytes that it has read, so the bytes that its stack has acknowledged count.
        let captured = session.captures.flow(from, setup.ends(id).into_array());
        observer.received = captured.map(|flow| flow.half(FlowSide::Opener).acked().0);
    }
    let mut observed = observe(setup.spec, flow, id, &session.captures, &observer);
    if let Some(transfer) = by_kernel.and_then(|received| transfer(setup, flow, received)) {
        let mut log = ProgramLog::default();
        log.report(transfer);
        observed.add_program(&log, flow.workload.service(), 0, true);
        session.captures.complete(id, &mut observed.summary);
    }
    observed
}

/// Returns the transfer of a bulk flow whose last byte was read.
fn transfer(setup: &Setup<'_>, flow: &FlowSpec, received: &Received) -> Option<Transfer> {
    let Workload::Bulk(Amount::Bytes(bytes)) = flow.workload else { return None };
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

/// Returns the bytes that a flow's receiver read.
fn received<'a>(flow: &str, reports: &'a [Report]) -> Option<&'a Received> {
    reports.iter().find_map(|report| match report {
        Report::Received(received) if received.flow == flow => Some(received),
        _ => None,
    })
}

impl KernelFlow {
    fn of_program(
        setup: &Setup<'_>,
        id: FlowId,
        congestion: String,
        outcome: &ProgramOutcome,
        counts: KernelCounts,
    ) -> Self {
        let flow = setup.flow(id);
        let ms = |late: units::Duration| late.as_secs_f64() * 1e3;
        // The summary of the program has these where a host has a stack.
        let is_of_kernels = !setup.has_stack(id);
        Self {
            flow: flow.name.clone(),
            congestion,
            received: outcome.received + outcome.log.datagram_bytes().0,
            broken: outcome.broken.clone(),
            woken_late_ms: is_of_kernels.then(|| ms(outcome.woken_late_by)),
            heard_late_ms: (is_of_kernels && setup.is_split(flow)).then(|| ms(outcome.heard_late_by)),
            counts,
        }
    }

    fn of_bulk(flow: &str, congestion: String, reports: &[Report]) -> Option<Self> {
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
        Some(Self { flow, congestion, received, broken, woken_late_ms: None, heard_late_ms: None, counts })
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
