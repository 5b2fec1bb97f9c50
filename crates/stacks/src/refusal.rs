//! Why flows cannot run over the stacks of their hosts.

use units::Bytes;

/// Why flows cannot run over the stacks of their hosts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no kernel in virtual time, and no program.
    #[error(
        "host {host} has the stack \"{stack}\", which runs in real time only; use lasthop live, or stack = \"lasthop\""
    )]
    RealTime {
        /// The host.
        host: String,
        /// Its stack.
        stack: &'static str,
    },
    /// The stack is not compiled into this build.
    #[error(
        "host {host} has the stack \"{stack}\", which builds for browsers lack; use the command lasthop, or stack = \"lasthop\""
    )]
    Lacking {
        /// The host.
        host: String,
        /// Its stack.
        stack: &'static str,
    },
    /// A program for a stack is given a number of bytes, and nothing else.
    #[error(
        "flow {flow}: host {host} has a program for its stack, which can send or read a number of bytes over TCP, and nothing else; give the flow bytes, and its other host the kernel or a stack of lasthop's that speaks TCP"
    )]
    Program {
        /// The flow.
        flow: String,
        /// The host.
        host: String,
    },
    /// Two stacks do not understand each other.
    #[error(
        "flow {flow}: {from} speaks {from_speaks} and {to} speaks {to_speaks}; give both hosts one transport"
    )]
    Transport {
        /// The flow.
        flow: String,
        /// The host that connects, with its stack.
        from: String,
        /// Protocol of the stack.
        from_speaks: &'static str,
        /// The host that listens, with its stack.
        to: String,
        /// Protocol of the stack.
        to_speaks: &'static str,
    },
    /// A client that sends data at once needs a server that takes them.
    #[error(
        "flow {flow}: host {with} has quinn.zero_rtt and host {without} has not; give it to both, or to neither"
    )]
    ZeroRtt {
        /// The flow.
        flow: String,
        /// The host that has it.
        with: String,
        /// The host that has not.
        without: String,
    },
    /// Streams and HTTP/3 are QUIC's.
    #[error(
        "flow {flow}: its workload has {what}, which {host} cannot; give both hosts stack = \"quinn\", or its workload {instead}"
    )]
    Streams {
        /// The flow.
        flow: String,
        /// What the workload wants.
        what: &'static str,
        /// The host without QUIC.
        host: String,
        /// What the workload can do instead.
        instead: &'static str,
    },
    /// Only connections of QUIC have an identity besides their addresses, and only the end that opened one moves it.
    #[error(
        "host {host} opens no connection of a flow, and servers of QUIC do not migrate (RFC 9000 §9); give it a flow with the workload parallel or web to it, or a transfer from it"
    )]
    OpensNone {
        /// The host that migrates.
        host: String,
    },
    /// Two hosts have one address.
    #[error("host {host} migrates to an address that {other} has; name another one")]
    AddressTaken {
        /// The host that migrates.
        host: String,
        /// The host with the address.
        other: String,
    },
    /// A path that is no new one.
    #[error(
        "host {host} migrates to the link {link}, which its flows cross from the beginning; name another link of the host, after it in the list of links, or an address"
    )]
    SameLink {
        /// The host that migrates.
        host: String,
        /// The link.
        link: String,
    },
    /// A path that leads nowhere.
    #[error(
        "host {host} migrates to the link {link}, from which no way leads to {peer}; let it end at {peer}, or at a router that reaches {peer}"
    )]
    NoWay {
        /// The host that migrates.
        host: String,
        /// The link.
        link: String,
        /// The peer of a connection.
        peer: String,
    },
    /// Addresses of hosts stay as they are in real time.
    #[error(
        "host {host} migrates during the run, which happens in virtual time only; use lasthop run, or leave migrate out"
    )]
    MigratesLive {
        /// The host that migrates.
        host: String,
    },
    /// A workload that DCCP does not carry: it delivers no stream.
    #[error("flow {flow}: {what}; {instead}")]
    Dccp {
        /// The flow.
        flow: String,
        /// The flow's key that says so.
        key: &'static str,
        /// What DCCP does not do.
        what: String,
        /// The remedy.
        instead: String,
    },
    /// DCCP has no place in real time: packets of its protocol cross no kernel here.
    #[error(
        "host {host} has the stack \"dccp\", which runs in virtual time only; use lasthop run, or another stack"
    )]
    DccpLive {
        /// The host.
        host: String,
    },
    /// QUIC's packets do not fit.
    #[error(
        "flow {flow}: the links at {host} carry packets of {mtu} at most; QUIC needs an mtu of 1228 bytes (RFC 9000 §14)"
    )]
    Mtu {
        /// The flow.
        flow: String,
        /// The host.
        host: String,
        /// Protocol that its links carry.
        mtu: Bytes,
    },
}
