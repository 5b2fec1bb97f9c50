//! The errors of live runs.

use std::io;

use linux::doctor::Check;

/// A live run could not start, or failed.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// This machine does not allow live runs; the failed checks say what is missing, with remedies.
    #[error("a live run is not possible here: {}", sentences(.0))]
    CannotStart(Vec<Check>),

    /// The specification is contradictory.
    #[error(transparent)]
    Build(#[from] sim::BuildError),

    /// The stacks of two hosts do not support their flow.
    #[error(transparent)]
    Refused(#[from] stacks::Refusal),

    /// Traffic is forwarded between two hosts.
    #[error("traffic is forwarded between two hosts, and the scenario has {0}")]
    Ends(usize),

    /// The location of a router's end does not exist.
    #[error("{name} is neither an interface here nor a network namespace: {source}")]
    Place {
        /// The name of the location.
        name: String,
        /// The system's error.
        source: io::Error,
    },

    /// Without root only the far end can be reached.
    #[error(
        "{0} cannot be reached without root: only the far end of the link can, called \"gateway\", and what \
         --outside runs there; or run it as root"
    )]
    NoWayOut(std::net::Ipv4Addr),

    /// Without root a server is reached only by a program at the far end of the links.
    #[error(
        "without root the server cannot be reached from this network: give a COMMAND, which runs where it can be \
         reached, or run it as root"
    )]
    NoWayIn,

    /// A host's stack is a program, and there is none.
    #[error(
        "host {0} has stack = \"program\", and no program runs there: name one with --in {0} \"PROGRAM ARGUMENT…\""
    )]
    NoProgram(String),

    /// The program that is a host's stack has failed before its flows were over.
    #[error("the program that is the stack of host {host} ended early, with {status}")]
    ProgramFailed {
        /// The host.
        host: String,
        /// Kind of its end.
        status: std::process::ExitStatus,
    },

    /// A router or a live run of this name runs already.
    #[error("a router or live run called {0} runs already")]
    RouterRuns(String),

    /// The kernel refused a setting.
    #[error("host {host}: the kernel refused {name} = {value:?}: {source}")]
    Sysctl {
        /// The host.
        host: String,
        /// The setting.
        name: String,
        /// The requested value.
        value: String,
        /// The kernel's error.
        source: io::Error,
    },

    /// Without privilege, the process could not move into a user namespace.
    #[error("cannot move into a user namespace: {0}; that takes a process of its own with one thread")]
    UserNamespace(#[source] io::Error),

    /// A host's namespace, device or address could not be set up, or its device failed.
    #[error("host {host}: cannot {step}: {source}")]
    Host {
        /// The host.
        host: String,
        /// The step that failed.
        step: &'static str,
        /// The kernel's error.
        source: linux::Error,
    },

    /// A flow's connection failed.
    #[error("flow {flow}: cannot {step}: {source}")]
    Flow {
        /// The flow.
        flow: String,
        /// The step that failed.
        step: &'static str,
        /// The kernel's error.
        source: io::Error,
    },

    /// The receiver read a byte that differs from the sender's byte.
    #[error("flow {flow}: byte {position} of the stream is not the one that was sent")]
    Corrupted {
        /// The flow.
        flow: String,
        /// Position of the first wrong byte in the stream, from 0.
        position: u64,
    },

    /// The program to run could not be started.
    #[error("cannot run {program}: {source}")]
    Command {
        /// The program.
        program: String,
        /// The system's error.
        source: io::Error,
    },

    /// The progress callback ended the run.
    #[error("the run was interrupted")]
    Interrupted,

    /// Another machine has failed.
    #[error("{machine}: {message}")]
    Machine {
        /// The machine.
        machine: String,
        /// The reason.
        message: String,
    },

    /// A machine has not answered for a long time.
    #[error("a machine has not answered in time")]
    NoAnswer,

    /// The streams to other machines have ended.
    #[error("the control connection was lost")]
    ControlLost,

    /// The streams to other machines failed.
    #[error("the control connection to another machine failed: {0}")]
    Control(#[source] io::Error),

    /// Waiting for the clock or the devices failed.
    #[error("waiting failed: {0}")]
    Wait(#[source] io::Error),
}

/// Returns a function that makes the error of a host's step, for `map_err`.
pub(crate) fn failed<E: Into<linux::Error>>(host: &str, step: &'static str) -> impl FnOnce(E) -> LiveError {
    move |source| LiveError::Host { host: host.to_owned(), step, source: source.into() }
}

fn sentences(checks: &[Check]) -> String {
    checks.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
