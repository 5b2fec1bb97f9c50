//! Messages between the emulator and the parts, as `control_stream.rs` frames them.
//!
//! Both ends have the same version and the same sources, which are compared before the first message (`SOURCES`);
//! there is no other compatibility.

use linux::namespace::Privilege;
use linux::sysctl::Sysctls;
use serde::{Deserialize, Serialize};
use stacks::TransferReport;
use units::NodeId;

use super::tunnel::Counts;
use crate::run::report::Report;
use crate::run::samples::Sample;
use crate::workload::Envelope;

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
    /// A message to the copy of a program there.
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
    pub(crate) hosts: Vec<NodeId>,
    /// The place of the first of them among all remote hosts.
    pub(crate) first: u16,
    /// The program that runs instead of the flows; empty if there is none.
    pub(crate) command: Vec<String>,
    /// The programs of all hosts, with the hosts' nodes.
    pub(crate) programs: Vec<(NodeId, Vec<String>)>,
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
    /// A message to the copy of a program elsewhere.
    Message(Envelope),
    /// A host's task has ended.
    Report(Report),
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
    /// The reports of the hosts with stacks in the part, by node.
    pub(crate) stacks: Vec<(NodeId, Vec<TransferReport>)>,
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddrV4};

    use linux::tcp_info::{KernelCounts, TcpInfo};
    use units::{Bytes, Duration, FlowId, Instant, PerSide, Side};
    use workload::{Counters, ProgramConnection, ProgramLog, ProgramOutcome, SocketId};

    use super::*;
    use crate::workload::ProgramReport;

    const END: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 7);

    /// Sends a message through its encoding, and returns both as texts.
    fn both_texts<T: std::fmt::Debug + Serialize + serde::de::DeserializeOwned>(message: &T) -> [String; 2] {
        let bytes = postcard::to_stdvec(message).unwrap();
        [format!("{message:?}"), format!("{:?}", postcard::from_bytes::<T>(&bytes).unwrap())]
    }

    #[test]
    fn the_results_of_a_part_survive_as_a_message() {
        let info = TcpInfo { cwnd: 10, ssthresh: Some(7), bytes_acked: 1 << 40, ..TcpInfo::default() };
        let sample = Sample { at: Instant::from_nanos(5), ends: [END, END], info };
        let counters =
            Counters { packets: 3, first_sent: Some(Instant::from_nanos(9)), ..Counters::default() };
        let report = TransferReport {
            flow: FlowId::new(1),
            is_sender: true,
            bytes: 1_000,
            is_closed: true,
            counters: Some(counters),
            records: Vec::new(),
        };
        let ended = Ended {
            samples: vec![("server".to_owned(), vec![sample])],
            outputs: vec![(2, vec![0, 255])],
            captures: vec![("server-device".to_owned(), vec![10, 13])],
            late_ns: 77,
            stacks: vec![(NodeId::new(3), vec![report])],
            ..Ended::default()
        };
        let [sent, received] = both_texts(&FromPart::Ended(Box::new(ended)));
        assert_eq!(sent, received);
    }

    #[test]
    fn the_report_of_a_program_survives_as_a_message() {
        let mut log = ProgramLog::default();
        log.send_datagram(Instant::from_nanos(1), Side::From, Bytes(1_200));
        let ends = PerSide::new(END, END);
        let outcome = ProgramOutcome {
            log,
            is_done: true,
            connections: vec![ProgramConnection {
                socket: SocketId(4),
                opener: Side::To,
                ends,
                records: PerSide::default(),
            }],
            all_closed: false,
            received: 9,
            counters: None,
            broken: Some("reset".to_owned()),
            woken_late_by: Duration::from_micros(123),
            heard_late_by: Duration::from_nanos(1_234_567),
        };
        let report = ProgramReport {
            flow: FlowId::new(0),
            side: Side::From,
            outcome: Some(outcome),
            read: 8,
            counts: KernelCounts::default(),
        };
        let [sent, received] = both_texts(&FromPart::Report(Report::Program(Box::new(report))));
        assert_eq!(sent, received);
    }
}
