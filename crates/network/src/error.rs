//! Errors of networks.

use std::net::Ipv4Addr;
use std::time::Duration;

use ::scenario::InputError;
use thiserror::Error;

/// Why a network could not be made, or a call was refused.
#[derive(Debug, Error)]
pub enum NetworkError {
    /// A mistake in the scenario, with its place and a remedy.
    #[error("{0}")]
    Scenario(#[from] InputError),
    /// Links and flows contradict each other.
    #[error("{0}")]
    Build(#[from] sim::BuildError),
    /// The links hold more packets than memory should, or the stream of cross traffic was damaged.
    #[error("{0}")]
    Run(#[from] sim::RunError),
    /// Stacks cannot do what their flows want.
    #[error("{0}")]
    Setup(#[from] stacks::SetupError),
    /// A name that no flow has.
    #[error("the scenario has no flow {0:?}")]
    Flow(String),
    /// Every host of the scenario is an end of a flow.
    #[error("every host of the scenario is an end of one of its flows: name a host in links and in no flow")]
    NoHost,
    /// A host that names a stack.
    #[error(
        "hosts.{0}: `stack` has no effect here: leave it out; cross traffic has lasthop's TCP, your hosts your own"
    )]
    Stack(String),
    /// A time before that of an earlier call.
    #[error("the time {asked:?} is before {now:?}, that of an earlier call")]
    Past {
        /// The time of this call.
        asked: Duration,
        /// The time of the earlier one.
        now: Duration,
    },
    /// A datagram from an address that no host of the caller has.
    #[error("no host of yours has the address {0}")]
    Address(Ipv4Addr),
    /// A datagram that no IPv4 packet can carry.
    #[error("a datagram of {0} bytes: 65507 fit into an IPv4 packet")]
    Length(usize),
    /// A result that could not be written.
    #[error("{file}: {error}")]
    File {
        /// The file or folder.
        file: String,
        /// The system's error.
        error: std::io::Error,
    },
}
