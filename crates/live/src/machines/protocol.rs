//! What the emulator and the parts say to each other: one value of JSON to a line.
//!
//! Both ends have the same version and the same sources, which were compared before the first of these lines
//! (`SOURCES`); there is no other compatibility.

use std::net::SocketAddrV4;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use linux::namespace::Privilege;
use linux::sysctl::Sysctls;
use linux::tcp_info::TcpInfo;
use serde::{Deserialize, Serialize};
use stacks::TransferReport;
use units::{Instant, NodeId};

use super::tunnel::Counts;
use crate::run::bulk::{Received, Sent};
use crate::run::host::Report;
use crate::run::samples::Sample;
use crate::workload::{Envelope, ProgramReport};

/// What the emulator says to a part.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToPart {
    /// Set up hosts.
    Begin(Box<Begin>),
    /// Start what they do.
    Start {
        /// The time at which the run begins, by the part's clock.
        at_ns: u64,
        /// By how many nanoseconds the emulator's clock is ahead of the part's.
        ahead_ns: i64,
    },
    /// A host elsewhere has opened the ports of its programs.
    Up,
    /// Answer with [`FromPart::Pong`].
    Ping,
    /// A message to the copy of a program there.
    Message(Envelope),
    /// End, and say what there was.
    Stop {
        /// How many nanoseconds the part's clock has gained.
        gained_ns: i64,
        /// In how many of the emulator's.
        over_ns: u64,
    },
}

/// What a part is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Begin {
    /// The resolved scenario, as JSON.
    pub(crate) scenario: String,
    /// The hosts to set up, by node.
    pub(crate) hosts: Vec<NodeId>,
    /// The place of the first of them among all hosts that are elsewhere.
    pub(crate) first: u16,
    /// The program that is run instead of the flows, if there is one.
    pub(crate) command: Vec<String>,
    /// Programs of all hosts, with the nodes of these.
    pub(crate) programs: Vec<(NodeId, Vec<String>)>,
    /// The token of the tunnels.
    pub(crate) token: String,
    /// The port of the first tunnel, if it is chosen.
    pub(crate) port: Option<u16>,
}

/// What a part says to the emulator.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FromPart {
    /// The hosts are set up.
    Ready(Ready),
    /// A host has opened the ports of its programs.
    Up,
    /// The answer to [`ToPart::Ping`].
    Pong,
    /// A message to the copy of a program elsewhere.
    Message(Envelope),
    /// A host's task has ended.
    Report(ReportLine),
    /// The part cannot go on.
    Failed {
        /// Why.
        message: String,
    },
    /// The part has ended, as it was told to.
    Ended(Box<Ended>),
}

/// What a part has set up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Ready {
    /// The ports of the tunnels, in the order of the hosts.
    pub(crate) ports: Vec<u16>,
    /// Name and release of the kernel.
    pub(crate) kernel: String,
    /// By what the namespaces were made.
    pub(crate) right: Privilege,
    /// The settings of each host as the kernel reads them back.
    pub(crate) sysctls: Vec<Sysctls>,
    /// When the part's clock stood at zero, in nanoseconds since 1970.
    pub(crate) date_of_zero: u64,
}

/// [`Report`] as a line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReportLine {
    /// A sender has ended.
    Sent(Sent),
    /// A receiver has ended.
    Received(Received),
    /// The copy of a flow's program is done, or the flows of a host with a stack in the part are.
    Done,
    /// The copy of a flow's program has ended with the run.
    Program(Box<ProgramReport>),
    /// The user's program has exited, with this status of wait(2).
    Exited(i32),
}

/// What a part tells at its end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ended {
    /// Packets that its hosts' devices dropped.
    pub(crate) device_drops: u64,
    /// Packets that its hosts' sockets dropped.
    pub(crate) socket_drops: u64,
    /// What its tunnels' ends counted, in the order of the hosts.
    pub(crate) counts: Vec<Counts>,
    /// Samples of the kernel's connections, by host.
    pub(crate) samples: Vec<(String, Vec<SampleLine>)>,
    /// What programs beside the flows wrote, by their place among all programs, in hexadecimal digits.
    pub(crate) outputs: Vec<(usize, String)>,
    /// Captures at the hosts' devices by name: pcapng, in hexadecimal digits.
    pub(crate) captures: Vec<(String, String)>,
    /// How late the hosts began.
    pub(crate) late_ns: u64,
    /// The reports of the hosts with stacks in the part, by node.
    pub(crate) stacks: Vec<(NodeId, Vec<TransferReport>)>,
}

/// [`Sample`] as a line: time, ends, counters.
pub(crate) type SampleLine = (u64, [SocketAddrV4; 2], TcpInfo);

impl From<Report> for ReportLine {
    fn from(report: Report) -> Self {
        match report {
            Report::Sent(sent) => Self::Sent(sent),
            Report::Received(received) => Self::Received(received),
            Report::Program(report) => Self::Program(report),
            Report::Done => Self::Done,
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
            ReportLine::Program(report) => Self::Program(report),
            ReportLine::Exited(raw) => Self::Exited(ExitStatus::from_raw(raw)),
        }
    }
}

/// Returns a sample of a line.
pub(crate) fn sample((at, ends, info): SampleLine) -> Sample {
    Sample { at: Instant::from_nanos(at), ends, info }
}

/// Returns bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// Returns the bytes that hexadecimal digits stand for, up to the first that is none.
pub(crate) fn bytes_of(digits: &str) -> Vec<u8> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.as_bytes().chunks_exact(2).map_while(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_as_digits() {
        assert_eq!(hex(&[0, 255, 16]), "00ff10");
        assert_eq!(bytes_of("00ff10"), [0, 255, 16]);
        assert_eq!(bytes_of("00zz10"), [0]);
    }

    #[test]
    fn an_exit_status_survives_as_a_line() {
        let line = ReportLine::from(Report::Exited(ExitStatus::from_raw(7 << 8)));
        let text = serde_json::to_string(&FromPart::Report(line)).unwrap();
        assert_eq!(text, r#"{"report":{"exited":1792}}"#);
        let FromPart::Report(line) = serde_json::from_str(&text).unwrap() else { panic!("it is a report") };
        let Report::Exited(status) = Report::from(line) else { panic!("of an exit") };
        assert_eq!(status.code(), Some(7));
    }
}
