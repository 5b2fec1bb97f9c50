//! What a live run leaves behind.

use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;

use arrow_array::RecordBatch;
use serde::Serialize;
use sim::{ObservedFlow, Summary};
use trace::flow::Side;

use crate::bulk::{End, Sent};
use crate::doctor::kernel_version;
use crate::host::Report;
use crate::lateness::Lateness;
use crate::namespace::Right;
use crate::run::Options;
use crate::scene::Scene;
use crate::scheduling::Scheduling;
use crate::session::Session;
use crate::sightings::{Sightings, summarise};
use crate::socket::KernelCounts;
use crate::sysctl::Sysctls;

/// What is left of a live run.
#[derive(Clone, Debug)]
pub struct LiveOutcome {
    /// Its numbers.
    pub summary: LiveSummary,
    /// The tables that were asked for, by name, and `flows`.
    pub tables: Vec<(&'static str, RecordBatch)>,
    /// The captures that were asked for, by the name of their point: pcapng files.
    pub captures: Vec<(String, Vec<u8>)>,
}

/// The object that `lasthop live --json` prints: that of a run in virtual time, and what only a
/// run in real time has.
#[derive(Clone, Debug, Serialize)]
pub struct LiveSummary {
    /// The same as in virtual time. Flows are as seen at the sending host's boundary.
    #[serde(flatten)]
    pub run: Summary,
    /// How late packets were released.
    pub lateness: Lateness,
    /// Packets that were lost outside the links, or led nowhere.
    pub outside: Outside,
    /// How the driver was scheduled.
    pub scheduling: Scheduling,
    /// By what right the namespaces were made.
    pub right: Right,
    /// The stacks under test.
    pub kernel: Kernel,
    /// How the user's program ended, if one was run.
    pub command: Option<CommandSummary>,
}

/// Packets that never came to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Outside {
    /// Packets that a host's device dropped before they were read: no link had a part in their
    /// loss, so a run with any is not to be trusted.
    pub device_drops: u64,
    /// Packets to an address that nobody has, or other than IPv4.
    pub unroutable: u64,
}

/// The kernel under test.
#[derive(Clone, Debug, Serialize)]
pub struct Kernel {
    /// Its name and release.
    pub version: String,
    /// The congestion control asked for, if one was.
    pub congestion: Option<String>,
    /// The settings asked for, as the kernel reads them back.
    pub sysctls: Sysctls,
    /// What the sending kernels counted on each flow.
    pub flows: Vec<KernelFlow>,
}

/// A flow in the sending kernel's own eyes.
#[derive(Clone, Debug, Serialize)]
pub struct KernelFlow {
    /// The flow.
    pub flow: String,
    /// Bytes that the receiving program read, every one checked.
    pub received: u64,
    /// Why it ended, where not in order.
    pub broken: Option<String>,
    /// The kernel's counts.
    #[serde(flatten)]
    pub counts: KernelCounts,
}

/// How the user's program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CommandSummary {
    /// Its exit status, unless a signal ended it.
    pub status: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// Puts together what a session left.
pub(crate) fn gather(scene: &Scene<'_>, session: Session, options: &Options<'_>) -> LiveOutcome {
    let command = session.reports.iter().find_map(CommandSummary::of);
    let outside = Outside { device_drops: session.device_drops, unroutable: session.between.unroutable() };
    let flows = observed(scene, &session.sightings, &session.reports);
    let mut outcome = session.between.finish(session.ended, flows);
    if session.all_done {
        let what = if command.is_some() { "the program ended" } else { "every flow closed" };
        what.clone_into(&mut outcome.summary.stopped_by);
    }
    let kernel = Kernel {
        version: kernel_version(),
        congestion: options.congestion.clone(),
        sysctls: session.sysctls.into_iter().next().unwrap_or_default(),
        flows: scene.flows.iter().filter_map(|flow| KernelFlow::of(&flow.name, &session.reports)).collect(),
    };
    let (lateness, scheduling, right) = (session.lateness, session.scheduling, session.right);
    let summary = LiveSummary { run: outcome.summary, lateness, outside, scheduling, right, kernel, command };
    LiveOutcome { summary, tables: outcome.tables, captures: outcome.captures }
}

/// The flows as they were seen at their senders' boundaries.
fn observed(scene: &Scene<'_>, sightings: &Sightings, reports: &[Report]) -> Vec<ObservedFlow> {
    let flows = scene.flows.iter().enumerate();
    let observe = |(index, flow): (usize, &sim::FlowSpec)| {
        let ends = scene.ends(index);
        let host = scene.hosts.iter().position(|node| *node == flow.from).expect("a flow begins at a host");
        let seen = sightings.flow(host, ends);
        let name = |node: usize| scene.spec.nodes[node].name.as_str();
        let mut summary = summarise(flow, [name(flow.from), name(flow.to)], seen);
        summary.completed &= received(&flow.name, reports) == Some(summary.bytes);
        let diagnosis = seen.map(|flow| flow.half(Side::Opener).diagnosis()).unwrap_or_default();
        ObservedFlow { ends: ends.map(SocketAddr::V4), summary, diagnosis }
    };
    flows.map(observe).collect()
}

/// How many bytes of a flow its receiver read.
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
            End::Closed => None,
            End::Stopped => Some("the run was over".to_owned()),
            End::Broken(why) => Some(why),
        };
        Some(Self { flow, received, broken, counts })
    }
}

impl CommandSummary {
    fn of(report: &Report) -> Option<Self> {
        match report {
            Report::Ended(ended) => Some(Self { status: ended.status.code(), signal: ended.status.signal() }),
            _ => None,
        }
    }
}
