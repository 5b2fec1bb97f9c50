//! What the emulator and the parts say to each other: one value of JSON to a line.
//!
//! Both ends have the same version and the same sources, which were compared before the first of these lines
//! (`SOURCES`); there is no other compatibility.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use linux::namespace::Privilege;
use linux::sysctl::Sysctls;
use serde::{Deserialize, Serialize};
use stacks::EndedTransfer;

use super::tunnel::Counts;
use crate::run::bulk::{Received, Sent};
use crate::run::host::Report;
use crate::run::samples::Sample;
use crate::workload::{CountersLine, Envelope, HalfRan, counters_line, counters_of};

/// A message of the emulator to a part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum ToPart {
    /// Set up the hosts.
    Begin(Box<Begin>),
    /// Start the hosts' tasks.
    Start {
        /// The time at which the run begins, by the part's clock.
        at_ns: u64,
        /// The offset of the emulator's clock: that clock less the part's, in nanoseconds.
        ahead_ns: i64,
    },
    /// A host on another machine has opened the ports of its programs.
    Up,
    /// Answer with [`FromPart::Pong`].
    Ping,
    /// A message to the half of a program there.
    Message(Envelope),
    /// End, and send the results. The drift of the part's clock is `gained_ns` over `over_ns`.
    Stop {
        /// The gain of the part's clock, in nanoseconds.
        gained_ns: i64,
        /// The time of the emulator's clock in which it gained them, in nanoseconds.
        over_ns: u64,
    },
}

/// The tasks of a part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Begin {
    /// The resolved scenario, as JSON.
    pub(crate) scenario: String,
    /// The hosts to set up, by node.
    pub(crate) hosts: Vec<usize>,
    /// The place of the first of them among all remote hosts.
    pub(crate) first: u16,
    /// The program that runs instead of the flows; empty if there is none.
    pub(crate) command: Vec<String>,
    /// The programs of all hosts, with the hosts' nodes.
    pub(crate) programs: Vec<(usize, Vec<String>)>,
    /// The token of the tunnels.
    pub(crate) token: String,
    /// The port of the first tunnel, if the user chose it.
    pub(crate) port: Option<u16>,
}

/// A message of a part to the emulator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum FromPart {
    /// The hosts are set up.
    Ready(Ready),
    /// A host has opened the ports of its programs.
    Up,
    /// The answer to [`ToPart::Ping`].
    Pong,
    /// A message to the half of a program that is not there.
    Message(Envelope),
    /// A host's task has ended.
    Report(ReportLine),
    /// The part has failed.
    Failed {
        /// The reason.
        message: String,
    },
    /// The part has ended, as ordered.
    Ended(Box<Ended>),
}

/// The hosts that a part has set up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Ready {
    /// The ports of the tunnels, in the order of the hosts.
    pub(crate) ports: Vec<u16>,
    /// Name and release of the kernel.
    pub(crate) kernel: String,
    /// The privilege by which the namespaces were made.
    pub(crate) privilege: Privilege,
    /// The settings of each host as the kernel reads them back.
    pub(crate) sysctls: Vec<Sysctls>,
    /// The date at which the part's clock stood at zero, in nanoseconds since 1970.
    pub(crate) date_of_zero: u64,
}

/// [`Report`] as a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum ReportLine {
    /// A sender has ended.
    Sent(Sent),
    /// A receiver has ended.
    Received(Received),
    /// The half of a flow's program is done, or what a host with a stack in the part sends and receives.
    Done,
    /// The half of a flow's program has ended with the run.
    Half(Box<HalfRan>),
    /// The user's program has exited, with this status of wait(2).
    Exited(i32),
}

/// The results of a part.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ended {
    /// Number of packets that its hosts' devices dropped.
    pub(crate) device_drops: u64,
    /// Number of packets that its hosts' sockets dropped.
    pub(crate) socket_drops: u64,
    /// The counters of its ends of the tunnels, in the order of the hosts.
    pub(crate) counts: Vec<Counts>,
    /// Samples of the kernel's connections, by host.
    pub(crate) samples: Vec<(String, Vec<Sample>)>,
    /// The output of programs, by their places among all programs.
    pub(crate) outputs: Vec<(usize, Vec<u8>)>,
    /// Captures at the hosts' devices, by name, as pcapng.
    pub(crate) captures: Vec<(String, Vec<u8>)>,
    /// The lateness of the hosts' start, in nanoseconds.
    pub(crate) late_ns: u64,
    /// The hosts with stacks in the part, by node, with their ends of flows.
    pub(crate) stacks: Vec<(usize, Vec<EndedTransferLine>)>,
}

/// [`EndedTransfer`] as a line: flow, whether it sends, bytes, whether it is closed, counters.
pub(crate) type EndedTransferLine = (usize, bool, u64, bool, Option<CountersLine>);

/// Returns an end of a transfer as a line.
pub(crate) fn ended_line(ended: &EndedTransfer) -> EndedTransferLine {
    let counters = ended.counters.map(counters_line);
    (ended.flow, ended.is_sender, ended.bytes, ended.is_closed, counters)
}

/// Returns the end of a transfer of a line.
pub(crate) fn ended_of((flow, is_sender, bytes, is_closed, counters): EndedTransferLine) -> EndedTransfer {
    EndedTransfer { flow, is_sender, bytes, is_closed, counters: counters.map(counters_of) }
}

impl From<Report> for ReportLine {
    fn from(report: Report) -> Self {
        match report {
            Report::Sent(sent) => Self::Sent(sent),
            Report::Received(received) => Self::Received(received),
            Report::Half(half) => Self::Half(half),
            // Whole programs run with the emulator, and so do those with a stack in its process.
            Report::Done | Report::Ran(_) | Report::EndRan(_) => Self::Done,
            Report::Exited(status) => Self::Exited(status.into_raw()),
        }
    }
}

impl From<ReportLine> for Report {
    fn from(line: ReportLine) -> Self {
        match line {
            ReportLine::Sent(sent) => Self::Sent(sent),
            ReportLine::Received(received) => Self::Received(received),
            ReportLine::Done => Self::Done,
            ReportLine::Half(half) => Self::Half(half),
            ReportLine::Exited(raw) => Self::Exited(ExitStatus::from_raw(raw)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_status_survives_as_a_message() {
        let line = ReportLine::from(Report::Exited(ExitStatus::from_raw(7 << 8)));
        let bytes = postcard::to_stdvec(&FromPart::Report(line)).unwrap();
        let FromPart::Report(line) = postcard::from_bytes(&bytes).unwrap() else { panic!("it is a report") };
        let Report::Exited(status) = Report::from(line) else { panic!("of an exit") };
        assert_eq!(status.code(), Some(7));
    }
}
