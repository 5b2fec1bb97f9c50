//! Why a live run did not work.

use std::io;

use crate::doctor::Check;

/// A live run could not start, or failed on its way.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// This machine or its kernel lacks something; each check says what, and the remedy.
    #[error("a live run is not possible here: {}", sentences(.0))]
    CannotStart(Vec<Check>),

    /// The scenario contradicts itself.
    #[error(transparent)]
    Build(#[from] sim::BuildError),

    /// The scenario asks for what only virtual time has.
    #[error(
        "flow {flow}: the workload {workload} runs in virtual time only; in real time flows have bytes or until"
    )]
    Workload {
        /// Which flow.
        flow: String,
        /// Its workload.
        workload: &'static str,
    },

    /// The kernel refused a setting.
    #[error("host {host}: the kernel refused {name} = {value:?}: {source}")]
    Sysctl {
        /// In which host.
        host: String,
        /// The setting.
        name: String,
        /// The value asked for.
        value: String,
        /// The kernel's answer.
        source: io::Error,
    },

    /// Without privilege, the process could not move into a user namespace.
    #[error("cannot move into a user namespace: {0}; that takes a process of its own with one thread")]
    UserNamespace(#[source] io::Error),

    /// A host's namespace, device or address could not be set up, or its device failed.
    #[error("host {host}: cannot {step}: {source}")]
    Host {
        /// Which host.
        host: String,
        /// What was being done.
        step: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },

    /// A flow's connection failed.
    #[error("flow {flow}: cannot {step}: {source}")]
    Flow {
        /// Which flow.
        flow: String,
        /// What was being done.
        step: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },

    /// The receiver read a byte that the sender never wrote there.
    #[error("flow {flow}: byte {position} of the stream is not the one that was sent")]
    Corrupted {
        /// Which flow.
        flow: String,
        /// Place of the first wrong byte, counted from 0.
        position: u64,
    },

    /// The program to run could not be started.
    #[error("cannot run {program}: {source}")]
    Command {
        /// The program.
        program: String,
        /// The system's answer.
        source: io::Error,
    },

    /// Whoever heard of the progress broke the run off.
    #[error("the run was broken off")]
    Interrupted,

    /// Waiting for the clock or the devices failed.
    #[error("waiting failed: {0}")]
    Wait(#[source] io::Error),
}

fn sentences(checks: &[Check]) -> String {
    checks.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
