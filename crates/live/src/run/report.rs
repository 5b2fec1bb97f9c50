//! The reports of hosts' tasks to the run. Tasks on other machines send theirs as messages.

use std::process::ExitStatus;

use linux::tcp_info::KernelCounts;
use serde::{Deserialize, Serialize};

use crate::workload::ProgramReport;

/// The result of a host's task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// A sender has ended.
    Sent(Sent),
    /// A receiver has ended.
    Received(Received),
    /// The program of a flow is done at this side, and continues to receive what is in transit.
    Done,
    /// The program of a flow has ended with the run.
    Program(Box<ProgramReport>),
    /// The user's program has exited.
    Exited(#[serde(with = "exit_status")] ExitStatus),
}

/// The result of a sender.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sent {
    pub(crate) flow: String,
    /// Kind of end of the connection.
    pub(crate) end: ConnectionEnd,
    pub(crate) counts: KernelCounts,
}

/// Kind of end of a connection, from the sender's view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ConnectionEnd {
    /// Both directions were closed.
    Closed,
    /// The run ended first.
    Stopped,
    /// The kernel gave up; its error message.
    Broken(String),
}

/// The result of a receiver.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Received {
    pub(crate) flow: String,
    /// Bytes that were read and checked.
    pub(crate) bytes: u64,
    /// Time at which the last of them was read, in nanoseconds of the run.
    pub(crate) last_read_ns: u64,
}

/// An exit status as a message: the status of wait(2).
mod exit_status {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(status: &ExitStatus, to: S) -> Result<S::Ok, S::Error> {
        status.into_raw().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ExitStatus, D::Error> {
        i32::deserialize(from).map(ExitStatus::from_raw)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn an_exit_status_survives_as_a_message() {
        let report = Report::Exited(ExitStatus::from_raw(7 << 8));
        let bytes = postcard::to_stdvec(&report).unwrap();
        let Report::Exited(status) = postcard::from_bytes(&bytes).unwrap() else { panic!("it is an exit") };
        assert_eq!(status.code(), Some(7));
    }
}
